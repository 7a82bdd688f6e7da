//! Settings, trust and grants, as the commands show and change them.

use crate::place::Place;
use serde_json::json;

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
fn trusting_says_what_starts_to_count_and_lists_the_hooks() {
    let place = Place::new();
    place.write_home("config.toml", "[[hooks.PreToolUse]]\ncommand = \"true mine\"\n");
    place.write(".haft/config.toml", "[[hooks.PreToolUse]]\ncommand = \"true \\u001b[2Ktheirs\"\n");
    let trusted = place.run(&["trust"]).with(0);
    for part in ["hooks", "[taint]", "fetch", "timeouts", "exposure", "PreToolUse runs true \\u{1b}[2Ktheirs"]
    {
        assert!(trusted.out.contains(part), "no {part} in {trusted:?}");
    }
    assert!(!trusted.out.contains("mine"), "{trusted:?}");
    let listed = place.run(&["trust", "--revoke", "--json"]).with(0).json();
    assert_eq!(listed["hooks"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn a_hook_that_isnt_as_it_was_trusted_is_not_run_and_what_it_guards_is_refused() {
    let place = Place::new();
    place.write("a.txt", "text\n");
    let hook = |line: &str| format!("[[hooks.PreToolUse]]\nmatcher = \"read\"\ncommand = \"{line}\"\n");
    place.write(".haft/config.toml", &hook("sh .haft/guard.sh"));
    place.write(".haft/guard.sh", "exit 0\n");
    let read = ["call", "read", r#"{"path":"a.txt"}"#];
    place.run(&["trust"]).with(0);
    place.run(&read).with(0);
    let changes = [
        (hook("sh .haft/guard.sh"), "touch ran\n", "a file that it runs"),
        (hook("touch ran"), "exit 0\n", "another line"),
    ];
    for (settings, script, what) in changes {
        place.write(".haft/config.toml", &settings);
        place.write(".haft/guard.sh", script);
        let denied = place.run(&read).with(3);
        assert!(denied.err.contains("haft trust") && place.read("ran").is_none(), "{what}: {denied:?}");
        let listed = place.run(&["tools", "--problems"]).with(0).out;
        assert!(listed.contains("isn't as it was when the workspace was trusted"), "{what}: {listed}");
    }
    place.run(&["trust"]).with(0);
    place.run(&read).with(0);
    assert!(place.read("ran").is_some());
}

#[test]
fn the_workspaces_settings_are_never_written_by_a_tool() {
    let place = Place::new();
    for at in [".haft/config.toml", ".haft/config.local.toml"] {
        let input = json!({"path": at, "content": "x"}).to_string();
        let judged = place.run(&["--mode", "full", "explain", "--json", "write", &input]).with(0).json();
        assert_eq!(judged["verdict"], "deny", "{at} isn't there yet: {judged}");
    }
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
fn every_built_in_tool_is_known_where_rules_are_read() {
    let place = Place::new();
    let listed = place.run(&["tools", "--json"]).with(0).json();
    let core = listed.as_array().unwrap().iter().filter(|tool| tool["owner"] == "core");
    let names: Vec<&str> = core.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.len() > 20, "{names:?}");
    let problems_of = |rules: Vec<String>| {
        place.write_home("config.toml", &format!("[permissions]\nask = {rules:?}\n"));
        let problems = place.run(&["tools", "--problems", "--json"]).with(0).json();
        let unknown = problems.as_array().unwrap().iter().filter(|problem| {
            problem["text"].as_str().is_some_and(|text| text.starts_with("no built-in tool is called"))
        });
        unknown.map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(problems_of(names.iter().map(|name| format!("{name}(x)")).collect()), "");
    // What is known is also what a slip of the pen is mended by; a short name may be a word of its own.
    let slips = problems_of(names.iter().map(|name| format!("{name}x(y)")).collect());
    for name in names.iter().filter(|name| name.len() > 3) {
        assert!(slips.contains(&format!("write \\\"{name}\\\"")), "{name} isn't proposed: {slips}");
    }
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

const RULES: &str = r#"[permissions]
allow = ["write(./docs/**)"]
deny = ["read(secret/**)"]

[[test]]
tool = "read"
input = { path = "secret/key" }
expect = "deny"
rule = "read(secret/**)"

[[test]]
tool = "write"
input = { path = "docs/a.md", content = "x" }
expect = "allow"
rule = "write(./docs/**)"

[[test]]
tool = "write"
input = { path = "src/a.rs", content = "x" }
mode = "plan"
expect = "deny"
"#;

#[test]
fn a_rule_file_is_tested_by_its_own_examples() {
    let place = Place::new();
    place.write("rules.toml", RULES);
    let ran = place.run(&["rules", "test", "rules.toml"]).with(0);
    assert!(ran.out.contains("3 passed, 0 failed"), "{ran:?}");
    assert!(ran.out.contains("pass  rules.toml:5 read"), "{ran:?}");
    assert!(ran.out.contains("deny, by guard:deny: ") && ran.out.contains("rules.toml:3)"), "{ran:?}");
    let object = place.run(&["rules", "test", "--json", "rules.toml"]).with(0).json();
    assert_eq!((&object["passed"], &object["tests"][2]["gate"]), (&3.into(), &"guard:plan".into()));
}

#[test]
fn only_the_settings_of_a_rule_file_count_for_its_examples() {
    let place = Place::new();
    place.write("rules.toml", RULES);
    place.write_home("config.toml", "[permissions]\nmode = \"yolo\"\ndeny = [\"write\"]\n");
    place.run(&["permissions", "deny", "write(./docs/**)"]).with(0);
    place.run(&["permissions", "allow", "read"]).with(0);
    place.run(&["rules", "test", "rules.toml"]).with(0);
}

#[test]
fn an_example_that_fails_says_what_was_expected_and_what_decided() {
    let place = Place::new();
    let wrong_rule = "\n[[test]]\ntool = \"write\"\ninput = { path = \"docs/b\", content = \"\" }\n\
                      expect = \"allow\"\nrule = \"write\"\n";
    let wrong_verdict =
        "\n[[test]]\ntool = \"write\"\ninput = { path = \"c\", content = \"\" }\nexpect = \"deny\"\n";
    let unknown = "\n[[test]]\ntool = \"nothing\"\nexpect = \"deny\"\n";
    place.write("rules.toml", &format!("{RULES}{wrong_rule}{wrong_verdict}{unknown}"));
    let ran = place.run(&["rules", "test", "rules.toml"]).with(1);
    for part in [
        "fail  rules.toml:23 write",
        "expected the rule \"write\" to decide, and it was \"write(./docs/**)\"",
        "expected deny, and it is ask",
        "expected deny, and it is unknown",
        "3 passed, 3 failed",
    ] {
        assert!(ran.out.contains(part), "{part:?} is missing: {}", ran.out);
    }
}

#[test]
fn a_rule_file_that_is_broken_names_its_line() {
    let place = Place::new();
    let cases = [
        ("[permissions\n", 1, ":1: not valid TOML"),
        ("[permissions]\nallow = [\"bash(\"]\n", 1, ":2: \"bash(\""),
        ("[[test]]\ntool = \"read\"\nexpect = \"maybe\"\n", 1, ":3: an example can't be read"),
        ("[permissions]\n", 1, "has no examples"),
    ];
    for (text, status, says) in cases {
        place.write("rules.toml", text);
        let ran = place.run(&["rules", "test", "rules.toml"]).with(status);
        assert!(ran.err.contains(says) && ran.err.contains("fix:"), "{text:?}: {ran:?}");
    }
    place.run(&["rules", "test", "missing.toml"]).with(2);
}
