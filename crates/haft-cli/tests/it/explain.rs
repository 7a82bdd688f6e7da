//! `haft explain --why-not` and `--all`: what would let a call run, and every gate.

use crate::place::Place;

const WRITE: &str = r#"{"path":"src/b.txt","content":"x"}"#;

#[test]
fn why_not_names_rules_narrowest_first_and_each_would_do() {
    let place = Place::new();
    let asked = place.run(&["explain", "write", WRITE, "--why-not", "--json"]).with(0).json();
    let said: Vec<&str> =
        asked["whyNot"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(said[0], "the rule \"write(./src/b.txt)\" under allow would let it run", "{said:?}");
    assert!(said.iter().any(|text| text.contains("the mode accept-edits")), "{said:?}");
    for text in said.iter().filter(|text| text.starts_with("the rule")) {
        let rule = text.split('"').nth(1).unwrap();
        place.write_home("config.toml", &format!("[permissions]\nallow = ['{rule}']\n"));
        let explained = place.run(&["explain", "--json", "write", WRITE]).with(0).json();
        assert_eq!(explained["verdict"], "allow", "{rule}");
        assert!(explained.get("whyNot").is_none(), "{explained}");
    }
    let runs = place.run(&["explain", "--why-not", "write", WRITE]).with(0);
    assert!(runs.out.contains("nothing more is needed"), "{runs:?}");
}

#[test]
fn why_not_names_the_rule_that_stands_in_the_way() {
    let place = Place::new();
    place.write_home(
        "config.toml",
        "[permissions]\nallow = [\"write\"]\ndeny = [\n  \"edit(./src/**)\",\n]\n",
    );
    let denied = place.run(&["explain", "write", WRITE, "--why-not"]).with(0);
    assert!(denied.out.contains("no allow rule beats the rule \"edit(./src/**)\" at "), "{denied:?}");
    assert!(denied.out.contains("config.toml:4"), "{denied:?}");
    assert!(!denied.out.contains("under allow would"), "{denied:?}");
}

#[test]
fn a_denial_where_nobody_answers_gives_the_narrowest_rule() {
    let place = Place::new();
    let denied = place.run(&["explain", "--mode", "headless", "--json", "write", WRITE]).with(0).json();
    assert_eq!(denied["verdict"], "deny");
    let reason = denied["reason"].as_str().unwrap();
    assert!(reason.ends_with("the rule \"write(./src/b.txt)\" under allow would let it run"), "{reason}");
}

#[test]
fn all_shows_the_gates_that_are_silent_too() {
    let place = Place::new();
    let steps = |flags: &[&str]| {
        let mut words = vec!["explain", "--json"];
        words.extend(flags);
        words.extend(["write", WRITE]);
        let explained = place.run(&words).with(0).json();
        let steps = explained["trace"].as_array().unwrap().iter();
        steps.map(|step| step["step"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (few, all) = (steps(&[]), steps(&["--all"]));
    assert!(!few.contains(&"guard:plan".to_owned()) && all.contains(&"guard:plan".to_owned()), "{all:?}");
    assert!(few.iter().all(|step| all.contains(step)), "{few:?} {all:?}");
    let at = |name: &str| all.iter().position(|step| step == name).unwrap();
    assert!(at("effects") < at("guard:disabled") && at("settler:default") < at("judge"), "{all:?}");
}

#[test]
fn a_damaged_settings_file_is_named_once() {
    let place = Place::new();
    place.write_home("config.toml", "[permissions]\ndeny = [1]\nask = [2]\n");
    let asked = place.run(&["explain", "--json", "write", WRITE]).with(0).json();
    let reason = asked["reason"].as_str().unwrap();
    assert_eq!(asked["verdict"], "ask");
    assert!(reason.contains("config.toml:2 is mended") && reason.contains("list of strings"), "{reason}");
    assert!(!reason.contains("the rule \"*\" asks for it"), "{reason}");
}
