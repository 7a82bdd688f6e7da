//! From a model's text to the input that runs.

use crate::kit::{Listener, log_of, probe};
use haft_core::{AnyTool, Bound, BoxFuture, Failure, Input, Outcome, Request, Spec};
use haft_runtime::{LogEntry, Registrar};
use haft_test::Harness;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::{Semaphore, mpsc::unbounded_channel};

/// A tool that says its input back, and how often it ran.
fn echo(kit: &Harness, name: &str, schema: Value) -> Arc<AtomicUsize> {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let tool = probe(name).with(|spec| {
        spec.with_input_schema(schema).with_aliases(&["Echo"]).with_input_aliases("path", &["file_path"])
    });
    kit.register(tool.run(move |input, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(input.to_string()) }
    }));
    runs
}

fn logged_raw(kit: &Harness) -> Vec<String> {
    let raw = log_of(kit, "test").into_iter().filter_map(|entry| match entry {
        LogEntry::Requested { raw, .. } => Some(raw),
        _ => None,
    });
    raw.collect()
}

fn said(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Field case F37: arrays, objects and numbers arrive as JSON text.
#[tokio::test]
async fn case_f37_json_text_becomes_what_the_schema_asks_for_and_the_log_keeps_the_raw_text() {
    let kit = Harness::new();
    let schema = json!({"type": "object", "properties": {
        "ids": {"type": "array", "items": {"type": "integer"}},
        "opt": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "body": {"type": "string"},
    }});
    echo(&kit, "save", schema);
    let raw = r#"{"ids":"[1,2]","opt":"{\"a\":1}","body":"[1,2]"}"#;
    let ended = kit.executor().submit(kit.session(), Request::new("save", raw)).await;
    assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
    let effective = json!({"ids": [1, 2], "opt": {"a": 1}, "body": "[1,2]"});
    assert_eq!(said(&ended.output.joined_text()), effective);
    assert_eq!(logged_raw(&kit), [raw]);
    let started = log_of(&kit, "test").into_iter().find_map(|entry| match entry {
        LogEntry::Started { input, .. } => Some(input),
        _ => None,
    });
    assert_eq!(started.as_deref(), Some(&effective));
    assert!(ended.trace.iter().any(|step| step.step == "parse" && step.verdict == "coerced"));
}

#[tokio::test]
async fn case_f37_what_cant_be_read_names_the_place_and_the_type() {
    let kit = Harness::new();
    let schema =
        json!({"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}});
    let runs = echo(&kit, "save", schema);
    let ended = kit.call("save", json!({"ids": "[1,"})).await;
    assert_eq!(ended.outcome, Outcome::Invalid);
    assert_eq!(ended.output.joined_text(), "Invalid input for \"save\": /ids must be array, got \"[1,\"");
    let ended = kit.call("save", json!({"ids": "[1,\"x\"]"})).await;
    assert_eq!(ended.output.joined_text(), "Invalid input for \"save\": /ids/1 must be integer, got \"x\"");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn arguments_that_were_cut_are_never_run() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let runs = echo(&kit, "save", json!({"type": "object", "properties": {}}));
    // Whole by chance, or broken: it was cut either way.
    for text in ["{\"a\": 1}", "{\"a\": \"hal"] {
        let request = Request { input: Input::CutOff(text.to_owned()), ..Request::new("save", "") };
        let ended = kit.executor().submit(kit.session(), request).await;
        assert_eq!(ended.outcome, Outcome::Invalid);
        assert!(
            ended.output.joined_text().contains("arguments incomplete"),
            "{}",
            ended.output.joined_text()
        );
        listener.assert_ended_once(&ended);
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(logged_raw(&kit), ["{\"a\": 1}", "{\"a\": \"hal"]);
}

#[tokio::test]
async fn broken_json_says_where() {
    let kit = Harness::new();
    let runs = echo(&kit, "save", json!({"type": "object", "properties": {}}));
    let ended = kit.executor().submit(kit.session(), Request::new("save", "{\"a\" 1}")).await;
    let text = ended.output.joined_text();
    assert!(text.starts_with("Invalid input for \"save\": not valid JSON at line 1, column "), "{text}");
    assert_eq!((ended.outcome, runs.load(Ordering::SeqCst)), (Outcome::Invalid, 0));
}

#[tokio::test]
async fn no_arguments_at_all_are_an_empty_object() {
    let kit = Harness::new();
    echo(&kit, "save", json!({"type": "object", "properties": {}}));
    for text in ["", "null", "{}"] {
        let ended = kit.executor().submit(kit.session(), Request::new("save", text)).await;
        assert_eq!(ended.output.joined_text(), "{}", "{text:?}");
    }
}

#[tokio::test]
async fn other_names_lead_to_the_tool_and_never_hide_one() {
    let kit = Harness::new();
    let runs = echo(&kit, "word_count", json!({"type": "object", "properties": {}}));
    for name in ["word_count", "Echo", "Word_Count"] {
        let ended = kit.call(name, json!({})).await;
        assert_eq!((ended.outcome, ended.tool.as_ref()), (Outcome::Completed, "word_count"), "{name}");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    kit.register(probe("Echo").run(|_, _| async { Ok("the real one") }));
    assert_eq!(kit.call("Echo", json!({})).await.output.joined_text(), "the real one");
    kit.register(probe("WORD_COUNT").run(|_, _| async { Ok("shouted") }));
    assert_eq!(
        kit.call("Word_Count", json!({})).await.outcome,
        Outcome::Unknown,
        "two names differ in case only"
    );
}

#[tokio::test]
async fn a_property_under_a_declared_other_name_is_taken() {
    let kit = Harness::new();
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
        "additionalProperties": false});
    echo(&kit, "save", schema);
    let ended = kit.call("save", json!({"file_path": "a.txt"})).await;
    assert_eq!(said(&ended.output.joined_text()), json!({"path": "a.txt"}));
    let ended = kit.call("save", json!({"filename": "a.txt"})).await;
    assert_eq!(ended.outcome, Outcome::Invalid);
}

#[tokio::test]
async fn at_most_ten_problems_are_named_and_the_rest_is_counted() {
    let kit = Harness::new();
    let names: Vec<String> = (0..14).map(|number| format!("p{number}")).collect();
    let properties: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({"type": "integer"}))).collect();
    echo(&kit, "save", json!({"type": "object", "properties": properties, "required": names}));
    let wrong: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!([true]))).collect();
    for input in [json!({}), Value::Object(wrong)] {
        let ended = kit.call("save", input).await;
        assert_eq!(ended.outcome, Outcome::Invalid);
        let text = ended.output.joined_text();
        assert_eq!(text.lines().count(), 11, "{text}");
        assert!(text.ends_with("… and 4 more"), "{text}");
    }
}

#[tokio::test]
async fn a_path_that_cant_be_one_is_invalid_before_anybody_is_asked() {
    let kit = Harness::new();
    kit.register(crate::kit::putter().asks().run(crate::kit::put_input));
    for path in ["", "a\0b", "file:///etc/passwd"] {
        let ended = kit.call("put", json!({"path": path, "text": "x"})).await;
        assert_eq!(ended.outcome, Outcome::Invalid, "{path:?}");
    }
    assert!(kit.answers().asked().is_empty());
}

#[tokio::test]
async fn case_f36_what_a_lowered_schema_lets_through_is_refused_before_the_tool_runs() {
    let kit = Harness::new();
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let schema = json!({"type": "object", "oneOf": [
        {"properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false},
        {"properties": {"url": {"type": "string", "format": "uri"}}, "required": ["url"], "additionalProperties": false},
    ]});
    kit.register(probe("open").with(|spec| spec.with_input_schema(schema.clone())).run(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok("opened") }
    }));
    let both = json!({"path": "a", "url": "http://b/"});
    let lowered = haft_runtime::lower::lower(&schema, haft_runtime::lower::Dialect::Anthropic).unwrap();
    assert!(jsonschema::is_valid(&lowered.schema, &both), "{}", lowered.schema);
    for input in [both, json!({}), json!({"path": 7})] {
        assert_eq!(kit.call("open", input).await.outcome, Outcome::Invalid);
    }
    assert_eq!(kit.call("open", json!({"path": "a"})).await.outcome, Outcome::Completed);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

/// Schemas of which something can't be said to one provider or another.
fn schemas() -> impl Strategy<Value = Value> {
    let property = prop::sample::select(vec![
        json!({"type": "string"}),
        json!({"type": "integer", "exclusiveMinimum": 1, "multipleOf": 2}),
        json!({"type": ["boolean", "null"]}),
        json!({"const": "a"}),
        json!({"enum": ["a", 2]}),
        json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "contains": {"const": "x"}}),
    ]);
    let further = vec![
        json!({"required": ["a"]}),
        json!({"additionalProperties": false}),
        json!({"minProperties": 2}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"not": {"required": ["c"]}}),
        json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        json!({"patternProperties": {"^b": {"type": "string"}}}),
        json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"anyOf": [{"properties": {"a": {"const": "a"}}}, {"properties": {"b": {"minimum": 2}}}]}),
        json!({"allOf": [{"properties": {"c": {"maxLength": 1}}}]}),
    ];
    let properties = prop::collection::btree_map("[abc]", property, 1..4);
    (properties, prop::sample::subsequence(further, 0..4)).prop_map(|(properties, further)| {
        let mut schema = json!({"type": "object", "properties": properties});
        for (key, value) in further.iter().filter_map(Value::as_object).flatten() {
            schema[key] = value.clone();
        }
        schema
    })
}

fn inputs() -> impl Strategy<Value = Vec<Value>> {
    let value = prop::sample::select(vec![
        json!("a"),
        json!("bb"),
        json!("2"),
        json!(1),
        json!(2),
        json!(true),
        json!(null),
        json!(["x"]),
        json!(["x", "x"]),
        json!("[\"x\"]"),
    ]);
    let input = prop::collection::btree_map("[abc]", value, 0..4).prop_map(Value::from_iter);
    prop::collection::vec(input, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However little of a schema a provider was sent, a tool is given only what fits all of it.
    #[test]
    fn what_reaches_a_tool_fits_the_whole_schema(schema in schemas(), inputs in inputs()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let kit = Harness::new();
            let (say, mut said) = unbounded_channel();
            let tool = probe("odd").with(|spec| spec.with_input_schema(schema.clone()));
            kit.register(tool.run(move |input, _| {
                drop(say.send(input));
                async { Ok("ran") }
            }));
            for input in inputs {
                let outcome = kit.call("odd", input.clone()).await.outcome;
                if let Ok(reached) = said.try_recv() {
                    prop_assert!(jsonschema::is_valid(&schema, &reached), "{reached} reached {schema}");
                } else {
                    prop_assert_eq!(outcome, Outcome::Invalid);
                    prop_assert!(!jsonschema::is_valid(&schema, &input), "{input} fits {schema}");
                }
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}

#[tokio::test]
async fn a_schema_that_nobody_could_be_sent_sets_its_tool_aside_by_name() {
    let kit = Harness::new();
    let union = json!({"type": "object", "anyOf": [{"type": "string"}, {"type": "null"}]});
    let tool = probe("odd").with(|spec| spec.with_input_schema(union)).run(|_, _| async { Ok("") });
    let error = kit.catalogue().register(tool, "somebody").err().unwrap().to_string();
    assert!(error.contains("\"odd\"") && error.contains("takes no object"), "{error}");
}

/// A tool that has to be asked about its input before that is bound.
struct Asked {
    tool: Arc<dyn AnyTool>,
    /// It answers once there is a permit.
    bell: Arc<Semaphore>,
    answers: AtomicUsize,
}

impl AnyTool for Asked {
    fn spec(&self) -> &Arc<Spec> {
        self.tool.spec()
    }

    fn consult(self: Arc<Self>, _: Arc<Value>) -> Option<BoxFuture<'static, ()>> {
        Some(Box::pin(async move {
            drop(self.bell.acquire().await);
            self.answers.fetch_add(1, Ordering::SeqCst);
        }))
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        if self.answers.load(Ordering::SeqCst) == 0 {
            return Err(Failure::invalid("nobody waited for its word"));
        }
        Arc::clone(&self.tool).bind(input)
    }
}

#[tokio::test]
async fn a_tools_own_word_is_waited_for_beside_others_also_where_the_tool_is_wrapped() {
    let kit = Harness::new();
    let bell = Arc::new(Semaphore::new(0));
    let tool = probe("asked").run(|_, _| async { Ok("ran".to_owned()) });
    kit.register(Arc::new(Asked { tool, bell: Arc::clone(&bell), answers: AtomicUsize::new(0) }));
    let by = Registrar::Official("settings".to_owned());
    kit.catalogue().wrap("asked", &by, |tool| tool).unwrap().keep();
    let running = kit.executor().submit(kit.session(), Request::new("asked", "{}"));
    // One thread for all: what blocked it would never be let go.
    let ringing = async { bell.add_permits(1) };
    let (ended, ()) = tokio::join!(running, ringing);
    assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
}

#[tokio::test]
async fn who_explains_a_call_waits_for_the_tools_own_word_beside_others() {
    let kit = Harness::new();
    let bell = Arc::new(Semaphore::new(0));
    let tool = probe("asked").run(|_, _| async { Ok("ran".to_owned()) });
    kit.register(Arc::new(Asked { tool, bell: Arc::clone(&bell), answers: AtomicUsize::new(0) }));
    let request = Request::new("asked", "{}");
    let explaining = kit.executor().explained(kit.session(), &request);
    let (explained, ()) = tokio::join!(explaining, async { bell.add_permits(1) });
    assert_eq!(explained.verdict, "allow", "{}", explained.reason);
}
