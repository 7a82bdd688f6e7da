//! No secret leaves a call: not in its result, its progress, its log or the files that hold long output.

use crate::place::{Place, Ran};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// A token of a published form, never in use; in two parts, so that nobody takes it for a leak.
fn token() -> String {
    ["ghp", "_", "q8Zt3nV7cX1mK4wPx2Ld9sYtB6hR5jGfA0eU"].concat()
}

const CONFIGURED: &str = "correct-horse-battery";

fn call(place: &Place, tool: &str, input: &Value) -> Ran {
    let mut command = place.command(&["call", "--yes", "--json", tool, &input.to_string()]);
    command.env("DEPLOY_TOKEN", CONFIGURED);
    crate::place::ended(
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap(),
    )
}

/// Every file beneath a folder as text, but what undo keeps as it was.
fn all_text(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().unwrap() != "content" {
                text.push_str(&all_text(&path));
            }
        } else {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
    }
    text
}

#[test]
fn what_is_secret_is_masked_wherever_it_would_leave() {
    let place = Place::new();
    place.write(".envs", &format!("A=1\nGITHUB_TOKEN={}\nB={CONFIGURED}\n", token()));
    place.write("long.sh", "i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done; cat .envs\n");
    let calls = [
        ("read", json!({"path": ".envs"})),
        ("grep", json!({"pattern": "GITHUB", "path": ".envs"})),
        ("bash", json!({"command": "cat .envs; cat .envs >&2; cat .envs | base64 | base64 -d"})),
        ("bash", json!({"command": "sh long.sh"})),
        ("bash", json!({"command": format!("echo {CONFIGURED}; exit 3")})),
        ("diff", json!({"a": ".envs", "b": "long.sh"})),
        ("fetch", json!({"url": format!("http://127.0.0.1:1/?k={}", token())})),
    ];
    for (tool, input) in calls {
        let ran = call(&place, tool, &input);
        for secret in [token().as_str(), CONFIGURED] {
            assert!(!ran.out.contains(secret) && !ran.err.contains(secret), "{tool} {input}: {ran:?}");
        }
        if tool != "fetch" {
            assert!(ran.out.contains("[secret:"), "{tool} {input}: {ran:?}");
        }
    }
    let kept = all_text(&place.home());
    assert!(
        kept.contains("[secret:github-token:") && kept.contains("line 3999"),
        "the log and a long result are there"
    );
    for secret in [token().as_str(), CONFIGURED] {
        assert!(!kept.contains(secret));
    }
}

#[test]
fn a_placeholder_is_the_same_in_all_sessions_and_goes_back_into_its_file_only() {
    let place = Place::new();
    let before = format!("a = 1\ntoken = \"{}\"\nb = 2\n", token());
    place.write("app.toml", &before);
    let shown = call(&place, "read", &json!({"path": "app.toml"})).json()["content"][0]["text"].clone();
    let shown = shown.as_str().unwrap();
    let start = shown.find("[secret:").unwrap();
    let placeholder = &shown[start..=start + shown[start..].find(']').unwrap()];
    // An edit across it.
    let old = format!("token = \"{placeholder}\"\nb = 2");
    let ran =
        call(&place, "edit", &json!({"path": "app.toml", "old": old, "new": old.replace("b = 2", "b = 3")}));
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(place.read("app.toml").unwrap(), before.replace("b = 2", "b = 3"));
    // A patch, and a whole new content.
    let patch = format!(
        "*** Begin Patch\n*** Update File: app.toml\n-token = \"{placeholder}\"\n+token = \"{placeholder}\" # kept\n*** End Patch\n"
    );
    assert_eq!(call(&place, "patch", &json!({"patch": patch})).status, 0);
    call(&place, "read", &json!({"path": "app.toml"}));
    let whole = format!("token = \"{placeholder}\"\n");
    assert_eq!(call(&place, "write", &json!({"path": "app.toml", "content": whole})).status, 0);
    assert_eq!(place.read("app.toml").unwrap(), format!("token = \"{}\"\n", token()));
    // No other file gets it, by whatever tool.
    place.write("other.toml", "x = 1\n");
    let others = [
        ("write", json!({"path": "new.toml", "content": whole})),
        ("edit", json!({"path": "other.toml", "old": "x = 1", "new": whole})),
        (
            "patch",
            json!({"patch": format!("*** Begin Patch\n*** Add File: new.toml\n+{placeholder}\n*** End Patch\n")}),
        ),
        ("replace", json!({"pattern": "x = 1", "replacement": placeholder, "paths": ["other.toml"]})),
    ];
    for (tool, input) in others {
        let ran = call(&place, tool, &input);
        assert_ne!(ran.status, 0, "{tool}: {ran:?}");
        let said = ran.out + &ran.err;
        assert!(
            said.contains("only the file that the secret is in") && !said.contains("somebody else"),
            "{said}"
        );
    }
    assert_eq!((place.read("new.toml"), place.read("other.toml").as_deref()), (None, Some("x = 1\n")));
}

#[test]
fn a_placeholder_is_handed_to_no_program() {
    let place = Place::new();
    let placeholder = "[secret:github-token:3f9a2c41]";
    for (tool, input) in [
        ("bash", json!({"command": format!("echo {placeholder} > made")})),
        ("exec", json!({"program": "touch", "args": ["made", placeholder]})),
        ("exec", json!({"program": "tee", "args": ["made"], "stdin": placeholder})),
        ("git", json!({"action": "commit", "message": format!("Use {placeholder}")})),
        ("packages", json!({"action": "install", "manager": "npm", "names": [placeholder]})),
    ] {
        let ran = call(&place, tool, &input);
        let said = ran.out.clone() + &ran.err;
        assert!(
            ran.status != 0 && said.contains("shown in the place of a secret"),
            "{tool} {input}: {ran:?}"
        );
    }
    assert_eq!(place.read("made"), None);
}

/// The lines of a key that never was one.
fn key() -> Vec<String> {
    let row = "q8Zt3nV7cX1mK4wPx2Ld9sYtB6hR5jGfA0eUq8Zt3nV7cX1mK4wPx2Ld9sYtB6hR";
    let rows = (0..8).map(|at| format!("{}{}", &row[at * 3..], &row[..at * 3]));
    let begin = ["-----BEGIN RSA ", "PRIVATE KEY-----"].concat();
    std::iter::once(begin.clone()).chain(rows).chain([begin.replace("BEGIN", "END")]).collect()
}

#[test]
fn no_row_of_a_key_leaves_by_a_listing_of_its_file() {
    let place = Place::new();
    place.write("deploy.txt", &format!("{}\n", key().join("\n")));
    let calls = [
        ("read", json!({"path": "deploy.txt", "offset": 3})),
        ("read", json!({"path": "deploy.txt", "offset": 3, "limit": 5})),
        ("grep", json!({"pattern": "[a-z]", "path": "deploy.txt"})),
        ("bash", json!({"command": "grep -rn . deploy.txt; tail -n 4 deploy.txt; sed 's/^/+/' deploy.txt"})),
        ("bash", json!({"command": "sed -n 3,8p deploy.txt; sed 's/^/# /' deploy.txt | tail -n +2"})),
    ];
    for (tool, input) in calls {
        let ran = call(&place, tool, &input);
        assert!(ran.out.contains("[secret:private-key:"), "{tool} {input}: {ran:?}");
        let said = ran.out.clone() + &ran.err;
        assert!(key()[1..9].iter().all(|row| !said.contains(row.as_str())), "{tool} {input}: {ran:?}");
    }
}

#[test]
fn masking_can_be_switched_off_by_the_user_alone() {
    let place = Place::new();
    place.write("t", &token());
    place.write(".haft/config.toml", "[secrets]\nmask = false\n");
    let read = json!({"path": "t"});
    assert!(!call(&place, "read", &read).out.contains(&token()), "an untrusted workspace can't");
    place.write_home("config.toml", "[secrets]\nmask = false\n");
    assert!(call(&place, "read", &read).out.contains(&token()));
}
