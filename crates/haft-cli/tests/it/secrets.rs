//! What haft was started with stays with haft: a command sees what is allowed to it, and no key.

use crate::place::{Place, ended};
use serde_json::json;
use std::process::Stdio;

/// Prints its own variables and those that the system shows of each process above it, up to the one named.
const PEEK: &str = r#"env
pid=$$
while [ "$pid" -gt 1 ] && [ "$pid" -ne "$1" ]; do
    echo "looks at $pid"
    { tr -s '\0' '\n' < "/proc/$pid/environ"; } 2> /dev/null
    parent=0
    while read -r key value; do
        if [ "$key" = PPid: ]; then parent=$value; fi
    done < "/proc/$pid/status"
    pid=$parent
done
echo "looked at all"
"#;

#[test]
fn case_f42_no_secret_reaches_a_command_folder() {
    let place = Place::new();
    let above = std::process::id();
    let manifest =
        json!({"name": "peek", "description": "Looks.", "command": ["sh", "peek.sh", above.to_string()]});
    place.write(".haft/tools/peek/tool.json", &manifest.to_string());
    place.write(".haft/tools/peek/peek.sh", PEEK);
    place
        .write_home("config.toml", "[environment]\npass = [\"PASSED_BY_NAME\"]\n[sandbox]\nmode = \"off\"\n");
    let line = json!({"command": format!("sh .haft/tools/peek/peek.sh {above}")}).to_string();
    for (tool, input) in [("peek", "{}"), ("bash", line.as_str())] {
        let child = place
            .command(&["call", "--yes", "--json", tool, input])
            .env("X_API_KEY", "s3cr3t-1")
            .env("HAFT_TOKEN", "s3cr3t-2")
            .env("LANG", "C.UTF-8")
            .env("PASSED_BY_NAME", "passed on")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let haft = child.id();
        let ran = ended(child).with(0);
        let object = ran.json();
        let text = object["content"].to_string();
        assert!(text.contains(&format!("looks at {haft}\\n")), "{tool} got up to haft: {text}");
        assert!(text.contains("LANG=C.UTF-8"), "{tool}: {text}");
        assert!(text.contains("PASSED_BY_NAME=passed on"), "{tool}: {text}");
        assert!(object["truncation"].is_null(), "{tool}: {text}");
        for hidden in ["s3cr3t", "X_API_KEY", "HAFT_TOKEN"] {
            assert!(!ran.out.contains(hidden) && !ran.err.contains(hidden), "{tool} saw {hidden}: {ran:?}");
        }
    }
}
