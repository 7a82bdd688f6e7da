//! Settings, trust and grants, as the commands show and change them.

use crate::place::Place;

const WRITE: &str = r#"{"path":"b.txt","content":"x"}"#;

#[test]
fn explain_names_the_rule_and_its_line_and_runs_nothing() {
    let place = Place::new();
    place.write("secret/key", "s");
    place.write(".haft/config.toml", "[permissions]\ndeny = [\n  \"read(./secret/**)\",\n]\n");
    let explained = place.run(&["explain", "--json", "read", "--path", "secret/key"]).with(0).json();
    assert_eq!(explained["verdict"], "deny");
    assert_eq!(explained["rule"], "read(./secret/**)");
    assert!(explained["source"].as_str().unwrap().ends_with(".haft/config.toml:3"), "{explained}");
    let mut keys: Vec<&str> = explained.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["reason", "rule", "source", "trace", "verdict"]);
    let asked = place.run(&["explain", "--json", "write", WRITE]).with(0).json();
    assert_eq!(asked["verdict"], "ask");
    assert_eq!(place.read("b.txt"), None);
    for (words, reason) in [
        (["explain", "--json", "nothing", "{}"], "Unknown tool: nothing"),
        (["explain", "--json", "read", "{}"], "Invalid input"),
    ] {
        let explained = place.run(&words).with(2).json();
        assert_eq!(explained["verdict"], "deny");
        assert!(explained["reason"].as_str().unwrap().starts_with(reason), "{explained}");
    }
    let ran = place.run(&["explain", "read", "--path", "secret/key"]).with(0);
    assert!(ran.out.starts_with("deny"), "{ran:?}");
}

#[test]
fn an_untrusted_workspace_only_tightens() {
    let place = Place::new();
    place.write(".haft/config.toml", "[permissions]\nallow = [\"write\"]\n");
    place.run(&["call", "write", WRITE]).with(3);
    let trusted = place.run(&["trust"]).with(0);
    assert!(trusted.out.contains(".haft/config.toml"), "{trusted:?}");
    place.run(&["call", "write", WRITE]).with(0);
    place.run(&["trust", "--revoke"]).with(0);
    place.run(&["call", "write", r#"{"path":"c.txt","content":"x"}"#]).with(3);
}

#[test]
fn always_lasts_until_it_is_revoked() {
    let place = Place::new();
    place.run(&["permissions", "add", "write(./b.txt)"]).with(0);
    let listed = place.run(&["permissions", "--json"]).with(0).json();
    assert_eq!(listed["grants"][0]["rule"], "write(./b.txt)");
    place.run(&["call", "write", WRITE]).with(0);
    place.run(&["call", "write", r#"{"path":"c.txt","content":"x"}"#]).with(3);
    place.run(&["permissions", "revoke", "write(./b.txt)"]).with(0);
    place.run(&["permissions", "revoke", "write(./b.txt)"]).with(2);
    place.run(&["permissions", "add", "write(./b.txt"]).with(2);
    assert_eq!(place.run(&["explain", "--json", "write", WRITE]).with(0).json()["verdict"], "ask");
}

#[test]
fn the_users_settings_hold_everywhere_and_name_their_line() {
    let place = Place::new();
    place.write_home("config.toml", "[tools.bash]\npermission = \"deny\"\n");
    let denied = place.run(&["call", "--yes", "--json", "bash", r#"{"command":"true"}"#]).with(3).json();
    assert_eq!(denied["outcome"], "denied");
    let explained = place.run(&["explain", "--json", "bash", r#"{"command":"true"}"#]).with(0).json();
    assert_eq!(explained["verdict"], "deny");
}

#[test]
fn settings_that_are_damaged_ask_and_are_listed() {
    let place = Place::new();
    place.write(".haft/config.toml", "[permissions\n");
    let problems = place.run(&["tools", "--problems"]).with(0);
    assert!(problems.out.contains(".haft/config.toml:1") && problems.out.contains("fix:"), "{problems:?}");
    place.write("a.txt", "x");
    place.run(&["call", "read", "--path", "a.txt"]).with(3);
}

#[test]
fn a_question_that_broken_settings_raise_names_them() {
    let place = Place::new();
    place.write_home("config.toml", "[permissions\n");
    let denied = place.run(&["call", "read", "--path", "."]).with(3);
    assert!(denied.err.contains("that file is broken"), "{denied:?}");
    assert!(denied.err.contains("haft tools --problems"), "{denied:?}");
    let explained = place.run(&["explain", "--json", "read", "--path", "."]).with(0).json();
    assert!(explained["source"].as_str().unwrap().contains("; that file is broken"), "{explained}");
}
