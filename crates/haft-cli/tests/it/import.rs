//! `haft import claude-code`: what is shown, what is written, and that it is written once.

use crate::place::Place;
use serde_json::json;

fn with_settings() -> Place {
    let place = Place::new();
    let shared = json!({
        "permissions": {
            "allow": ["Bash(npm run test:*)", "WebFetch(domain:example.com)", "Foo"],
            "deny": ["Read(./.env)", "Bash(curl * | sh)", "Read(../x)"],
        },
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "./check.sh", "timeout": 5},
        ]}]},
    });
    place.write(".claude/settings.json", &shared.to_string());
    let own = json!({"permissions": {"allow": ["Edit(/docs/**)"], "defaultMode": "acceptEdits"}});
    place.write(".claude/settings.local.json", &own.to_string());
    place
}

#[test]
fn it_only_shows_unless_it_is_told_to_write() {
    let place = with_settings();
    let shown = place.run(&["import", "claude-code"]).with(0).out;
    for part in [
        "allow  Bash(npm run test:*) → bash(npm run test:*)",
        "covers the command \"npm run test\"",
        "allow  Foo → not imported",
        "haft has no tool \"Foo\"",
        "! deny   Bash(curl * | sh) → bash(curl *)",
        "! deny   Read(../x) → not imported",
        "allow  Edit(/docs/**) → edit(/docs/**)",
        "mode   acceptEdits → accept-edits",
        "! hook   PreToolUse Bash ./check.sh → [[hooks.PreToolUse]]",
        "onError = \"deny\"",
        "add rewrite = true",
        "nothing was written",
        "look at the 3 marked with !",
    ] {
        assert!(shown.contains(part), "{part:?} is missing:\n{shown}");
    }
    assert_eq!((place.read(".haft/config.toml"), place.read(".haft/config.local.toml")), (None, None));
}

#[test]
fn it_writes_each_scope_to_its_file_and_nothing_twice() {
    let place = with_settings();
    place.write(".haft/config.toml", "# ours\n[permissions]\ndeny = [\"read(./.env)\"]\n");
    let ran = place.run(&["import", "claude-code", "--write"]).with(0);
    assert!(ran.out.contains("read back:") && ran.out.contains("only after `haft trust`"), "{ran:?}");
    let shared = place.read(".haft/config.toml").unwrap();
    assert!(shared.starts_with("# ours\n[permissions]\n"), "{shared}");
    assert_eq!(shared.matches("read(./.env)").count(), 1, "{shared}");
    for part in [
        "\"bash(curl *)\"",
        "\"bash(npm run test:*)\"",
        "[[hooks.PreToolUse]]",
        "matcher = \"Bash\"",
        "command = \"./check.sh\"",
        "timeoutMs = 5000",
        "onError = \"allow\"",
        "names = \"claude-code\"",
    ] {
        assert!(shared.contains(part), "{part}: {shared}");
    }
    assert!(!shared.lines().any(|line| line.starts_with("rewrite")), "{shared}");
    let own = place.read(".haft/config.local.toml").unwrap();
    assert!(own.contains("mode = \"accept-edits\"") && own.contains("\"edit(/docs/**)\""), "{own}");
    let again = place.run(&["import", "claude-code", "--write"]).with(0);
    assert!(again.out.contains("all of it was there already"), "{again:?}");
    assert_eq!(place.read(".haft/config.toml").unwrap(), shared);
    assert_eq!(place.read(".haft/config.local.toml").unwrap(), own);
}

#[test]
fn what_was_imported_holds() {
    let place = with_settings();
    place.run(&["import", "claude-code", "--write"]).with(0);
    place.write(".env", "KEY=1");
    let denied = place.run(&["explain", "--json", "read", r#"{"path":".env"}"#]).with(0).json();
    assert_eq!((&denied["verdict"], &denied["rule"]), (&json!("deny"), &json!("read(./.env)")));
}

#[test]
fn the_users_own_go_to_the_users_settings_and_a_path_can_be_named() {
    let place = Place::new();
    let home = place.home().parent().unwrap().join(".claude");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("settings.json"), r#"{"permissions": {"ask": ["Bash(git push:*)"]}}"#).unwrap();
    let object = place.run(&["import", "claude-code", "--json"]).with(0).json();
    let file = &object["files"][0];
    assert_eq!((&object["written"], &file["scope"]), (&json!(false), &json!("user")));
    assert_eq!(file["rules"][0]["becomes"][0]["rule"], "bash(git push:*)");
    place.run(&["import", "claude-code", "--write"]).with(0);
    let written = std::fs::read_to_string(place.home().join("config.toml")).unwrap();
    assert_eq!(written, "[permissions]\nask = [\n  \"bash(git push:*)\",\n]\n");
    place.write("elsewhere/settings.json", r#"{"permissions": {"deny": ["WebSearch"]}}"#);
    let named = place.run(&["import", "claude-code", "--from", "elsewhere", "--json"]).with(0).json();
    assert_eq!(named["files"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&named["files"][0]["scope"], &named["files"][0]["rules"][0]["becomes"][0]["rule"]),
        (&json!("workspace"), &json!("search"))
    );
}

#[test]
fn what_is_not_there_or_not_readable_is_said() {
    let place = Place::new();
    let none = place.run(&["import", "claude-code"]).with(0);
    assert!(none.out.contains("nothing to import"), "{none:?}");
    place.run(&["import", "claude-code", "--from", "missing"]).with(2);
    place.write(".claude/settings.json", "{\n\"permissions\": }");
    let broken = place.run(&["import", "claude-code", "--write"]).with(1);
    assert!(broken.err.contains(".claude/settings.json:2:") && broken.err.contains("fix:"), "{broken:?}");
}
