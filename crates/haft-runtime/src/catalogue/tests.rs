//! Owners, stacking, wrapping, and what each refuses.

use super::{Catalogue, Problem, RegisterError, Registrar};
use haft_core::{AnyTool, Permission, Profile, Risk, Spec, tool};
use serde_json::json;
use std::sync::Arc;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

fn named(name: &str, said: &'static str) -> Arc<dyn AnyTool> {
    with(name, said, |spec| spec)
}

fn with(name: &str, said: &'static str, change: impl FnOnce(Spec) -> Spec) -> Arc<dyn AnyTool> {
    tool(name, said).with(change).run(move |_: Nothing, _| async move { Ok(said) })
}

fn shown(catalogue: &Catalogue, name: &str) -> Option<String> {
    catalogue.snapshot().get(name).map(|offer| offer.spec().description.clone())
}

fn external(mutates: &[&str]) -> Registrar {
    Registrar::External { id: "ext".into(), mutates: mutates.iter().map(|tag| (*tag).to_owned()).collect() }
}

#[test]
fn another_owner_is_refused_by_name() {
    let catalogue = Catalogue::new();
    let _one = catalogue.register(named("x", "one"), "a").unwrap();
    let error = catalogue.register(named("x", "two"), "b").err().unwrap();
    assert_eq!(error.to_string(), "Tool \"x\" already registered by \"a\"");
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("one"));
}

#[test]
fn the_same_owner_replaces_and_the_old_handle_removes_nothing() {
    let catalogue = Catalogue::new();
    let mut old = catalogue.register(named("x", "one"), "a").unwrap();
    let new = catalogue.register(named("x", "two"), "a").unwrap();
    old.dispose();
    old.dispose();
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("two"));
    drop(new);
    assert_eq!(shown(&catalogue, "x"), None);
}

#[test]
fn an_override_reveals_what_it_covered() {
    let catalogue = Catalogue::new();
    let below = catalogue.register(named("x", "core's"), "core").unwrap();
    assert!(catalogue.register_over(named("x", "ext's"), &external(&[])).is_err());
    let over = catalogue.register_over(named("x", "mine"), &Registrar::Official("pack".into())).unwrap();
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("mine"));
    drop(over);
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("core's"));
    below.keep();
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("core's"));
}

#[test]
fn disposing_the_covered_one_first_leaves_the_override() {
    let catalogue = Catalogue::new();
    let below = catalogue.register(named("x", "low"), "a").unwrap();
    let over = catalogue.register_over(named("x", "high"), &Registrar::Official("pack".into())).unwrap();
    drop(below);
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("high"));
    drop(over);
    assert_eq!(shown(&catalogue, "x"), None);
}

#[test]
fn a_wrapper_only_tightens() {
    let catalogue = Catalogue::new();
    let tool =
        with("x", "asks", |spec| spec.with_permission(Permission::Confirm).with_capabilities(&["fs.read"]));
    let _tool = catalogue.register(tool, "a").unwrap();
    let lax: [fn(Spec) -> Spec; 5] = [
        |spec| spec.with_permission(Permission::Auto).with_capabilities(&["fs.read"]),
        |spec| spec.with_risk(Risk::Safe).with_capabilities(&["fs.read"]),
        |spec| spec,
        |spec| spec.read_only().with_permission(Permission::Confirm).with_capabilities(&["fs.read"]),
        |spec| spec.concurrency_safe().with_capabilities(&["fs.read"]),
    ];
    for change in lax {
        let error =
            catalogue.wrap("x", &external(&["fs.read"]), move |_| with("x", "lax", change)).err().unwrap();
        assert!(matches!(error, RegisterError::Loosens { .. }), "{error}");
    }
    let strict = |spec: Spec| spec.with_permission(Permission::Deny).with_capabilities(&["fs.read", "extra"]);
    let wrapped = catalogue.wrap("x", &external(&["fs.read"]), move |_| with("x", "strict", strict)).unwrap();
    assert_eq!(catalogue.snapshot().get("x").unwrap().spec().permission(), Permission::Deny);
    drop(wrapped);
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("asks"));
}

#[test]
fn only_the_operators_own_wrapper_opens_a_sandbox() {
    let catalogue = Catalogue::new();
    let kept = |spec: Spec| spec.with_capabilities(&["fs.read"]).with_profile(Profile::default());
    let _tool = catalogue.register(with("x", "kept in", kept), "a").unwrap();
    let profile = || catalogue.snapshot().get("x").unwrap().spec().profile.clone().unwrap();
    let open = |spec: Spec| spec.with_capabilities(&["fs.read"]).with_profile(Profile::outside());
    let bare = |spec: Spec| spec.with_capabilities(&["fs.read"]);
    let makes: [fn(Spec) -> Spec; 2] = [open, bare];
    for make in makes {
        let by = external(&["fs.read"]);
        let _wrapped = catalogue.wrap("x", &by, move |_| with("x", "wrapped", make)).unwrap();
        assert_eq!((shown(&catalogue, "x").unwrap().as_str(), profile()), ("wrapped", Profile::default()));
    }
    let by = Registrar::Official("settings".into());
    let silent = catalogue.wrap("x", &by, move |_| with("x", "wrapped", bare)).unwrap();
    assert_eq!(profile(), Profile::default());
    drop(silent);
    let _wrapped = catalogue.wrap("x", &by, move |_| with("x", "wrapped", open)).unwrap();
    assert_eq!(profile(), Profile::outside());
}

#[test]
fn a_wrapper_stays_around_what_takes_the_tools_place() {
    let catalogue = Catalogue::new();
    let tool = |said| with("x", said, |spec| spec.with_capabilities(&["fs.read"]));
    let _first = catalogue.register(tool("one"), "a").unwrap();
    let strict = |spec: Spec| spec.with_permission(Permission::Deny).with_capabilities(&["fs.read"]);
    let wrapped = catalogue.wrap("x", &external(&["fs.read"]), move |_| with("x", "strict", strict)).unwrap();
    let second = catalogue.register(tool("two"), "a").unwrap();
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("strict"));
    drop(second);
    assert_eq!(shown(&catalogue, "x"), None);
    let _third = catalogue.register(tool("three"), "a").unwrap();
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("strict"));
    // A wrapper that would loosen the new one is set aside with the tool, visibly.
    let _stricter = catalogue
        .register(
            with("x", "four", |spec| {
                spec.with_permission(Permission::Deny)
                    .with_risk(Risk::Destructive)
                    .with_capabilities(&["fs.read"])
            }),
            "a",
        )
        .unwrap();
    assert_eq!(shown(&catalogue, "x"), None);
    assert!(catalogue.problems()[0].text.contains("may only tighten"));
    drop(wrapped);
    assert_eq!(shown(&catalogue, "x").as_deref(), Some("four"));
}

#[test]
fn a_hidden_tool_can_not_be_covered_either() {
    let catalogue = Catalogue::new();
    let tool = with("x", "core's", |spec| spec.with_capabilities(&["fs.read"]));
    let _tool = catalogue.register(tool, "core").unwrap();
    let _hidden = catalogue.remove("x", &external(&["fs.read"])).unwrap();
    assert!(catalogue.register_over(named("x", "mine"), &external(&["fs.read"])).is_err());
}

#[test]
fn an_extension_needs_overlapping_capabilities() {
    let catalogue = Catalogue::new();
    let _closed = catalogue.register(named("closed", "d"), "a").unwrap();
    let _open =
        catalogue.register(with("open", "d", |spec| spec.with_capabilities(&["fs.read"])), "a").unwrap();
    assert!(catalogue.remove("closed", &external(&["fs.read"])).is_err());
    assert!(catalogue.remove("open", &external(&["net.outbound"])).is_err());
    assert!(catalogue.remove("missing", &external(&[])).is_err());
    let hidden = catalogue.remove("open", &external(&["fs.read"])).unwrap();
    assert!(catalogue.snapshot().get("open").is_none());
    drop(hidden);
    assert!(catalogue.snapshot().get("open").is_some());
}

#[test]
fn a_bad_tool_is_refused_with_the_reason() {
    let catalogue = Catalogue::new();
    let bad = |change: fn(Spec) -> Spec| {
        let spec = change(Spec::new("x", "d"));
        catalogue.register(Arc::new(Declared(Arc::new(spec))), "a").err().unwrap().to_string()
    };
    assert!(
        bad(|spec| spec.with_input_schema(json!({"type": "object", "properties": {"a": {"type": 3}}})))
            .starts_with("Invalid inputSchema for tool \"x\": ")
    );
    assert!(bad(|spec| spec.with_input_schema(json!({"type": "string"}))).contains("\"type\": \"object\""));
    assert!(bad(|spec| spec.with_input_schema(json!([]))).contains("must be an object"));
    assert!(
        bad(|mut spec| {
            spec.name = "x.y".into();
            spec
        })
        .contains("Invalid tool name \"x.y\"")
    );
    assert!(
        bad(|mut spec| {
            spec.description = " ".into();
            spec
        })
        .contains("no description")
    );
}

struct Declared(Arc<Spec>);

impl AnyTool for Declared {
    fn spec(&self) -> &Arc<Spec> {
        &self.0
    }

    fn bind(
        self: Arc<Self>,
        _: Arc<serde_json::Value>,
    ) -> Result<Box<dyn haft_core::Bound>, haft_core::Failure> {
        Err(haft_core::Failure::internal("never bound"))
    }
}

#[test]
fn two_tools_of_one_name_do_not_start() {
    let catalogue = Catalogue::new();
    assert!(catalogue.register_all([named("x", "one"), named("x", "two")], "a").is_err());
    assert!(catalogue.snapshot().get("x").is_none());
}

#[test]
fn changes_that_belong_together_show_together() {
    let catalogue = Catalogue::new();
    let _tool = catalogue.register(named("x", "one"), "a").unwrap();
    let by = Registrar::Official("b".to_owned());
    let hidden = catalogue.remove("x", &by).unwrap();
    let changes = catalogue.changes();
    let hold = catalogue.hold();
    let inner = catalogue.hold();
    drop(hidden);
    assert!(catalogue.snapshot().get("x").is_none(), "it isn't seen without what hid it");
    let _hidden = catalogue.remove("x", &by).unwrap();
    let _other = catalogue.register(named("y", "two"), "a").unwrap();
    drop(inner);
    assert!(catalogue.snapshot().get("y").is_none(), "who began first still holds it");
    drop(hold);
    let now = catalogue.snapshot();
    assert!(now.get("x").is_none() && now.get("y").is_some());
    assert!(changes.has_changed().unwrap());
}

#[test]
fn a_snapshot_does_not_change_and_knows_what_is_gone() {
    let catalogue = Catalogue::new();
    let handle = catalogue.register(named("x", "one"), "a").unwrap();
    let before = catalogue.snapshot();
    drop(handle);
    assert!(before.get("x").is_some_and(|offer| !offer.is_live()));
    assert!(catalogue.snapshot().was_offered("x"));
    let _again = catalogue.register(named("x", "two"), "a").unwrap();
    assert!(!catalogue.snapshot().was_offered("x"));
}

#[test]
fn what_scripts_may_find_is_indexed_once_for_each_snapshot() {
    let catalogue = Catalogue::new();
    catalogue.register(named("x", "one"), "a").unwrap().keep();
    let snapshot = catalogue.snapshot();
    let index = snapshot.index_of_scripts();
    assert_eq!(index.len(), 1);
    assert!(std::ptr::eq(index, snapshot.index_of_scripts()));
    catalogue.register(named("y", "two"), "a").unwrap().keep();
    assert_eq!((index.len(), catalogue.snapshot().index_of_scripts().len()), (1, 2));
}

#[test]
fn one_source_of_many_problems_drowns_no_other() {
    let catalogue = Catalogue::new();
    let problem = |source: &str| Problem {
        source: source.to_owned(),
        path: None,
        line: None,
        text: "t".to_owned(),
        fix: "f".to_owned(),
    };
    catalogue.report("a", vec![problem("a"); 100_000]);
    catalogue.report("b", vec![problem("b")]);
    let told = catalogue.problems();
    assert!(told.len() < 1_000 && told.iter().any(|problem| problem.source == "b"), "{}", told.len());
    assert!(told.iter().any(|problem| problem.text.contains("more problems")));
}
