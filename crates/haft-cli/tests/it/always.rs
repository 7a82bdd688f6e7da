//! "Always allow": what is saved holds for the next call in whatever process, for just that, and for the tool as it
//! was then.

use crate::place::{Place, Ran, ended};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
};

/// How many processes save at once.
const SAVERS: usize = 20;

/// A workspace, and on the path an `npm` that says what it was given.
fn stage() -> Place {
    let place = Place::new();
    place.write_home("npm", "#!/bin/sh\necho \"npm ran: $*\"\n");
    fs::set_permissions(place.home().join("npm"), fs::Permissions::from_mode(0o755)).unwrap();
    place
}

fn command(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.home().display()));
    command
}

fn run(place: &Place, words: &[&str]) -> Ran {
    ended(command(place, words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn bash(place: &Place, line: &str) -> Ran {
    run(place, &["call", "bash", &json!({"command": line}).to_string()])
}

/// The workspace's trust file.
fn trust_file(place: &Place) -> PathBuf {
    let folder = place.home().join("state/trust");
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|extension| extension == "json")).unwrap()
}

#[test]
fn case_f29_what_is_always_allowed_runs_in_the_next_process_and_only_that() {
    let place = stage();
    bash(&place, "npm test").with(3);
    run(&place, &["permissions", "allow", "bash(npm test)"]).with(0);
    let ran = bash(&place, "npm test").with(0);
    assert!(ran.out.contains("npm ran: test"), "{ran:?}");
    // What only looks needs nobody's word, whatever it stands beside.
    bash(&place, "npm test 2>&1 | tail -5").with(0);
    for line in [
        "npm run x",
        "npm test x",
        "npm tests",
        "npm test; touch f",
        "npm test && npm run x",
        "npm test & touch f",
        "npm test | sh",
        "npm test > f",
        "npm test $(touch f)",
        "PATH=. npm test",
        "./npm test",
        "sudo npm test",
        "npm test\ntouch f",
    ] {
        let ran = bash(&place, line);
        assert_eq!(ran.status, 3, "{line}: {ran:?}");
        assert!(!ran.out.contains("npm ran"), "{line}: {ran:?}");
    }
    assert_eq!(place.read("f"), None);
    run(&place, &["permissions", "revoke", "bash(npm test)"]).with(0);
    bash(&place, "npm test").with(3);
}

#[test]
fn a_broader_rule_covers_its_arguments_and_no_other_command() {
    let place = stage();
    run(&place, &["permissions", "allow", "bash(npm run *)"]).with(0);
    for line in ["npm run t1", "npm run t2 -- --watch"] {
        bash(&place, line).with(0);
    }
    for line in ["npm publish", "npm run t1; npm publish", "npm  --prefix x run t1"] {
        let ran = bash(&place, line);
        assert_eq!(ran.status, 3, "{line}: {ran:?}");
    }
}

#[test]
fn no_saved_answer_beats_a_guard() {
    let place = stage();
    place.write_home(
        "config.toml",
        "[permissions]\ndeny = [\"bash(npm publish *)\"]\nask = [\"bash(npm ci)\"]\n",
    );
    run(&place, &["permissions", "allow", "bash"]).with(0);
    bash(&place, "npm test").with(0);
    for line in ["npm publish", "npm ci", "rm -rf ./a", "cat .env", "rm -rf /"] {
        let ran = bash(&place, line);
        assert_eq!(ran.status, 3, "{line}: {ran:?}");
    }
}

/// Writes the definition of a command tool with one file beside it.
fn tool(place: &Place, description: &str, content: &str) {
    let manifest = json!({"name": "greet", "description": description, "command": "cat words.txt"});
    place.write(".haft/tools/greet/tool.json", &manifest.to_string());
    place.write(".haft/tools/greet/words.txt", content);
}

#[test]
fn a_changed_tool_asks_again_and_says_what_changed() {
    let place = Place::new();
    tool(&place, "Says hello.", "hello\n");
    place.run(&["call", "greet", "{}"]).with(3);
    place.run(&["permissions", "allow", "greet"]).with(0);
    assert!(place.run(&["call", "greet", "{}"]).with(0).out.contains("hello"));
    place.run(&["call", "greet", "{}"]).with(0);
    tool(&place, "Says goodbye.", "hello\n");
    let ran = place.run(&["call", "greet", "{}"]).with(3);
    for part in ["description", "Says hello.", "Says goodbye."] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    tool(&place, "Says hello.", "boo\n");
    let ran = place.run(&["call", "greet", "{}"]).with(3);
    assert!(ran.err.contains("words.txt changed"), "{ran:?}");
    // As it was, it is what was allowed.
    tool(&place, "Says hello.", "hello\n");
    place.run(&["call", "greet", "{}"]).with(0);
}

#[test]
fn a_damaged_trust_file_grants_nothing_says_so_and_is_kept() {
    let place = stage();
    run(&place, &["permissions", "allow", "bash(npm test)"]).with(0);
    bash(&place, "npm test").with(0);
    let file = trust_file(&place);
    let whole = fs::read_to_string(&file).unwrap();
    let other = whole.replace("\"grants\"", "\"grants\": 3, \"x\"");
    for damage in ["", "{", "[]", other.as_str()] {
        fs::write(&file, damage).unwrap();
        let ran = bash(&place, "npm test").with(3);
        assert!(
            ran.err.contains("trust file is damaged") && ran.err.contains("nothing is granted"),
            "{ran:?}"
        );
        let refused = run(&place, &["permissions", "allow", "bash(npm ci)"]);
        assert_ne!(refused.status, 0, "{refused:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), damage, "it isn't written over");
    }
    // One that can't be read at all: no file stands there.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let ran = bash(&place, "npm test").with(3);
    assert!(ran.err.contains("nothing is granted"), "{ran:?}");
    fs::remove_dir(&file).unwrap();
    fs::write(&file, whole).unwrap();
    bash(&place, "npm test").with(0);
}

#[test]
fn processes_that_save_at_once_lose_nothing() {
    let place = Place::new();
    let rules: Vec<String> = (0..SAVERS).map(|at| format!("bash(tool{at} run)")).collect();
    let mut children: Vec<_> = rules
        .iter()
        .map(|rule| {
            let mut command = place.command(&["permissions", "allow", rule]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut trusting = place.command(&["trust"]);
    children.push(trusting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    for child in children {
        let ran = ended(child);
        assert_eq!(ran.status, 0, "{ran:?}");
    }
    let kept: Value = serde_json::from_slice(&fs::read(trust_file(&place)).unwrap()).unwrap();
    let mut saved: Vec<&str> =
        kept["grants"].as_array().unwrap().iter().map(|grant| grant["rule"].as_str().unwrap()).collect();
    let mut expected: Vec<&str> = rules.iter().map(String::as_str).collect();
    saved.sort_unstable();
    expected.sort_unstable();
    assert_eq!(saved, expected);
    assert_eq!(kept["trusted"], true);
}
