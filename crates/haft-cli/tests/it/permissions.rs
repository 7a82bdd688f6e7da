//! `haft permissions`: rules added, explained, listed and taken back, in the trust file and in settings.

use crate::place::Place;
use serde_json::json;

const WRITE: &str = r#"{"path":"b.txt","content":"x"}"#;

fn verdict(place: &Place, words: &[&str]) -> String {
    let mut all = vec!["explain", "--json"];
    all.extend(words);
    place.run(&all).with(0).json()["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn a_refusal_lasts_beats_allow_rules_and_is_taken_back() {
    let place = Place::new();
    place.write_home("config.toml", "[permissions]\nallow = [\"write\"]\n");
    assert_eq!(verdict(&place, &["write", WRITE]), "allow");
    let said = place.run(&["permissions", "deny", "edit(./b.txt)"]).with(0);
    assert!(said.out.contains("always denied in this workspace: edit(./b.txt)"), "{said:?}");
    assert!(said.out.contains("whatever tool writes b.txt beneath the workspace"), "{said:?}");
    place.run(&["call", "--yes", "write", WRITE]).with(3);
    let listed = place.run(&["permissions", "list", "--json"]).with(0).json();
    assert_eq!(listed["denied"][0]["rule"], "edit(./b.txt)");
    assert_eq!(listed["rules"].as_array().unwrap().len(), 1, "the refusal is listed once: {listed}");
    assert!(listed["rules"][0]["source"].as_str().unwrap().ends_with("config.toml:2"), "{listed}");
    let shown = place.run(&["permissions"]).with(0);
    assert!(shown.out.contains("always denied:\n  edit(./b.txt)"), "{shown:?}");
    place.run(&["permissions", "revoke", "edit(./b.txt)"]).with(0);
    assert_eq!(verdict(&place, &["write", WRITE]), "allow");
}

#[test]
fn all_that_was_saved_is_taken_back_at_once() {
    let place = Place::new();
    place.run(&["permissions", "allow", "write(./b.txt)"]).with(0);
    place.run(&["permissions", "deny", "write(./c.txt)"]).with(0);
    let revoked = place.run(&["permissions", "revoke", "--all", "--json"]).with(0).json();
    assert_eq!(revoked["revoked"], json!(["write(./b.txt)", "write(./c.txt)"]));
    let listed = place.run(&["permissions", "--json"]).with(0).json();
    assert_eq!((&listed["grants"], &listed["denied"]), (&json!([]), &json!([])));
    let again = place.run(&["permissions", "revoke", "--all"]).with(0);
    assert!(again.out.contains("nothing was always allowed or denied"), "{again:?}");
}

#[test]
fn a_rule_that_asks_goes_to_ones_own_settings_and_keeps_what_is_there() {
    let place = Place::new();
    place.write(".haft/config.local.toml", "# mine\n[permissions]\nask = [\n  \"bash\", # always\n]\n");
    let added = place.run(&["permissions", "ask", "read(./b.txt)", "--json"]).with(0).json();
    assert!(added["file"].as_str().unwrap().ends_with(".haft/config.local.toml"), "{added}");
    assert_eq!((&added["isNew"], &added["countsAfterTrust"]), (&json!(true), &json!(false)));
    let expected = "# mine\n[permissions]\nask = [\n  \"bash\", # always\n  \"read(./b.txt)\",\n]\n";
    assert_eq!(place.read(".haft/config.local.toml").as_deref(), Some(expected));
    place.write("b.txt", "x");
    assert_eq!(verdict(&place, &["read", r#"{"path":"b.txt"}"#]), "ask");
    let again = place.run(&["permissions", "ask", "read(./b.txt)"]).with(0);
    assert!(again.out.contains("stood there already"), "{again:?}");
    assert_eq!(place.read(".haft/config.local.toml").as_deref(), Some(expected));
}

#[test]
fn each_flag_writes_its_file_and_an_untrusted_workspace_says_so() {
    let place = Place::new();
    let said = place.run(&["permissions", "allow", "write(./b.txt)", "--project"]).with(0);
    assert!(said.out.contains("counts only after `haft trust`"), "{said:?}");
    assert_eq!(
        place.read(".haft/config.toml").as_deref(),
        Some("[permissions]\nallow = [\n  \"write(./b.txt)\",\n]\n")
    );
    assert_eq!(verdict(&place, &["write", WRITE]), "ask");
    place.run(&["trust"]).with(0);
    assert_eq!(verdict(&place, &["write", WRITE]), "allow");
    let said = place.run(&["permissions", "deny", "--user", "write(./b.txt)"]).with(0);
    assert!(said.out.contains("config.toml") && !said.out.contains("haft trust"), "{said:?}");
    assert_eq!(verdict(&place, &["write", WRITE]), "deny");
    let revoked = place.run(&["permissions", "revoke", "write(./b.txt)"]).with(2);
    assert!(revoked.err.contains("it is written at"), "{revoked:?}");
}

#[test]
fn what_is_no_rule_is_refused_with_what_would_be_one() {
    let place = Place::new();
    let refused = place.run(&["permissions", "allow", "bash(git status"]).with(2);
    assert!(refused.err.contains("'bash(git status)'"), "{refused:?}");
    let refused = place.run(&["permissions", "deny", "bash(git status"]).with(2);
    assert!(refused.err.contains("haft permissions deny 'bash(git status)'"), "{refused:?}");
    for words in [["permissions", "deny", "risk:high"], ["permissions", "explain", "read(../x)"]] {
        let refused = place.run(&words).with(2);
        assert!(refused.out.is_empty() && refused.err.contains("fix:"), "{refused:?}");
    }
}

#[test]
fn a_damaged_file_is_left_as_it_is() {
    let place = Place::new();
    place.write(".haft/config.toml", "[permissions\n");
    let refused = place.run(&["permissions", "deny", "bash", "--project"]).with(1);
    assert!(
        refused.err.contains("not valid TOML") && refused.err.contains("nothing was written"),
        "{refused:?}"
    );
    assert_eq!(place.read(".haft/config.toml").as_deref(), Some("[permissions\n"));
}

#[test]
fn settings_that_lead_out_of_the_workspace_are_not_written_to() {
    let place = Place::new();
    place.write_home("config.toml", "");
    place.write(".haft/x", "");
    let link = place.workspace().join(".haft/config.toml");
    std::os::unix::fs::symlink(place.home().join("config.toml"), link).unwrap();
    let refused = place.run(&["permissions", "allow", "bash", "--project"]).with(1);
    assert!(refused.err.contains("leads out of the workspace"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(place.home().join("config.toml")).unwrap(), "");
}

#[test]
fn a_rule_is_explained_with_the_tools_it_means() {
    let place = Place::new();
    let said = place.run(&["permissions", "explain", "edit(./src/**)"]).with(0);
    assert!(said.out.starts_with("edit(./src/**) covers whatever tool writes anything in src/"), "{said:?}");
    assert!(said.out.contains("edit") && said.out.contains("write"), "{said:?}");
    let object = place.run(&["permissions", "explain", "--json", "bash(git *)"]).with(0).json();
    assert_eq!(object["tools"], json!(["bash"]));
    let none = place.run(&["permissions", "explain", "mcp__nothing"]).with(0);
    assert!(none.out.contains("no tool of this workspace"), "{none:?}");
    let tools =
        |rule: &str| place.run(&["permissions", "explain", "--json", rule]).with(0).json()["tools"].clone();
    assert_eq!(tools("param.command=rm*"), json!(["bash", "exec"]));
    assert!(tools("risk:standard").as_array().unwrap().contains(&json!("write")));
    let said = place.run(&["permissions", "explain", "read(secret/**)"]).with(0);
    assert!(said.out.contains("bash, diff, edit, patch"), "{said:?}");
}
