//! Everything that goes out, as JSON text: definitions and results in the shape of either era.
//!
//! Each shape must be right for its era by itself: the modern one wants `resultType` on each result and hints for caching
//! on lists, the legacy one has peers that reject both.

use crate::{
    content,
    era::{self, Era, SERVER_KEY, SUBSCRIPTION_KEY},
    fault::Fault,
    forward, names,
    server::ServerInfo,
};
use haft_core::{Ended, Exposure, Output, Progress, Risk, Spec};
use haft_runtime::Offer;
use serde_json::{Map, Value, json};

/// Where a result says how the call ended, with the name of the outcome.
const OUTCOME_KEY: &str = "dev.haft/outcome";
/// The capability of tools that contact other hosts.
const OUTBOUND: &str = "net.outbound";
/// Most characters of one progress message: it is a line for a status bar.
const MESSAGE_MAX_CHARS: usize = 400;

/// The reply to a request; both parts are JSON text.
pub(crate) fn reply(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The reply to a request that has no result; both parts are JSON text.
pub(crate) fn error(id: &str, error: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

/// An error of ours; without an id where none could be read, as the protocol has it (JSON-RPC says `null`
/// there, which clients of the protocol don't take).
pub(crate) fn fault(id: Option<&str>, fault: &Fault) -> String {
    let body = fault.to_json();
    match id {
        Some(id) => error(id, &body.to_string()),
        None => json!({"jsonrpc": "2.0", "error": body}).to_string(),
    }
}

/// A notification.
pub(crate) fn note(method: &str, params: &Map<String, Value>) -> String {
    if params.is_empty() {
        return json!({"jsonrpc": "2.0", "method": method}).to_string();
    }
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// A notification on the stream that a `subscriptions/listen` opened; `id` is JSON text.
pub(crate) fn told(id: &str, method: &str, mut params: Map<String, Value>) -> String {
    params.insert("_meta".to_owned(), subscription(id));
    note(method, &params)
}

/// The result that ends such a stream.
pub(crate) fn unsubscribed(id: &str, server: &Value) -> String {
    let mut result = opened(Era::Modern);
    result.insert("_meta".to_owned(), subscription(id));
    closed(result, Era::Modern, server)
}

fn subscription(id: &str) -> Value {
    let id = serde_json::from_str(id).unwrap_or(Value::Null);
    Value::Object(Map::from_iter([(SUBSCRIPTION_KEY.to_owned(), id)]))
}

/// Progress in words; of long output only the last line that says something.
pub(crate) fn progress_message(progress: &Progress) -> Option<String> {
    let text = match progress {
        Progress::Log(text) => text.trim().to_owned(),
        Progress::PartialOutput(text) => {
            text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
        }
        Progress::Metric(numbers) => {
            numbers.iter().map(|(name, number)| format!("{name} {number}")).collect::<Vec<_>>().join(", ")
        }
        Progress::FileChanged(path) => format!("changed {path}"),
        Progress::Warning(text) => format!("warning: {}", text.trim()),
        _ => return None,
    };
    (!text.is_empty()).then(|| text.chars().take(MESSAGE_MAX_CHARS).collect())
}

/// Name and version of the server.
pub(crate) fn server(info: &ServerInfo) -> Value {
    json!({"name": info.name, "version": info.version})
}

/// The result of `initialize`.
pub(crate) fn initialized(version: &str, capabilities: &Value, info: &ServerInfo) -> String {
    let instructions = info.instructions.as_str();
    json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": server(info),
        "instructions": instructions,
    })
    .to_string()
}

/// The result of `server/discover`.
pub(crate) fn discovered(capabilities: &Value, info: &ServerInfo) -> String {
    let mut result = opened(Era::Modern);
    result.insert("supportedVersions".to_owned(), json!(era::MODERN_VERSIONS));
    result.insert("capabilities".to_owned(), capabilities.clone());
    result.insert("instructions".to_owned(), json!(info.instructions));
    cacheable(&mut result);
    closed(result, Era::Modern, &server(info))
}

/// The result of `tools/list`: all tools on one page, in the order in which they come.
pub(crate) fn list<'a>(offers: impl Iterator<Item = &'a Offer>, era: Era, server: &Value) -> String {
    let listed = offers.map(Offer::spec).filter(|spec| is_listed(spec));
    let tools: Vec<Value> = listed.map(|spec| definition(&names::of(spec), spec, era)).collect();
    let mut result = opened(era);
    result.insert("tools".to_owned(), Value::Array(tools));
    if era == Era::Modern {
        cacheable(&mut result);
    }
    closed(result, era, server)
}

/// Clients load no tools on demand, so deferred ones are listed too; code mode and what is called only by
/// those who know the name are not.
fn is_listed(spec: &Spec) -> bool {
    matches!(spec.exposure, Exposure::Direct | Exposure::Auto | Exposure::Deferred)
}

fn definition(name: &str, spec: &Spec, era: Era) -> Value {
    if let Some(foreign) = forward::definition(name, spec, era) {
        return foreign;
    }
    let mut tool = Map::new();
    tool.insert("name".to_owned(), json!(name));
    tool.insert("title".to_owned(), json!(spec.label()));
    tool.insert("description".to_owned(), json!(spec.prompt()));
    tool.insert("inputSchema".to_owned(), spec.input_schema.clone());
    if let Some(schema) = spec.output_schema.as_ref().filter(|schema| is_output_schema(schema, era)) {
        tool.insert("outputSchema".to_owned(), schema.clone());
    }
    tool.insert("annotations".to_owned(), annotations(spec));
    Value::Object(tool)
}

/// The legacy era knows only objects as structured output, the modern one any schema that is written out.
pub(crate) fn is_output_schema(schema: &Value, era: Era) -> bool {
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    is_object || (era == Era::Modern && schema.is_object())
}

/// Clients gate on these, so each follows the declaration exactly, and where nothing was declared it is the
/// protocol's careful default: a tool that may change things may destroy them, until it declares its risk.
fn annotations(spec: &Spec) -> Value {
    let may_destroy = spec.declared_risk.is_none_or(|risk| risk == Risk::Destructive);
    json!({
        "title": spec.label(),
        "readOnlyHint": spec.read_only,
        "destructiveHint": spec.mutates() && may_destroy,
        "idempotentHint": spec.idempotent,
        "openWorldHint": spec.untrusted_source || spec.capabilities.contains(OUTBOUND),
    })
}

/// The result of `tools/call`. Everything but a completed call is an error result, which a model can read
/// and act on.
pub(crate) fn ended(ended: &Ended, era: Era, server: &Value) -> String {
    let mut result = opened(era);
    match forward::result(ended, era) {
        Some(own) => result.extend(own),
        None => say(&mut result, ended, era),
    }
    closed(result, era, server)
}

/// A result of haft's own tools.
fn say(result: &mut Map<String, Value>, ended: &Ended, era: Era) {
    let is_completed = ended.outcome.is_completed();
    let items = ended.output.content.iter().map(content::item_of).collect();
    result.insert("content".to_owned(), Value::Array(items));
    if let Some(structured) = structured(&ended.output, era).filter(|_| is_completed) {
        result.insert("structuredContent".to_owned(), structured.clone());
    }
    result.insert("isError".to_owned(), json!(!is_completed));
    set_meta(result, OUTCOME_KEY, json!(ended.outcome.name()));
}

/// Fields that belong to one era; haft says itself what its client's wants.
pub(crate) fn is_of_an_era(key: &str) -> bool {
    matches!(key, "resultType" | "ttlMs" | "cacheScope")
}

/// The structured output, where the text carries the same: some clients show the model nothing else.
fn structured(output: &Output, era: Era) -> Option<&Value> {
    let value = output.structured.as_ref().filter(|value| era == Era::Modern || value.is_object())?;
    content::says(&output.joined_text(), value).then_some(value)
}

/// The result of a request that servers behind haft answered.
pub(crate) fn relayed(method: &str, answer: Map<String, Value>, era: Era, server: &Value) -> String {
    let mut result = opened(era);
    result.extend(answer.into_iter().filter(|(key, _)| !is_of_an_era(key)));
    let is_cacheable = method == "resources/read" || method.ends_with("/list");
    if era == Era::Modern && is_cacheable {
        cacheable(&mut result);
    }
    closed(result, era, server)
}

/// The result that asks the client for something first.
pub(crate) fn input_required(requests: &Map<String, Value>, state: &str, server: &Value) -> String {
    let mut result = Map::new();
    result.insert("resultType".to_owned(), json!("input_required"));
    result.insert("inputRequests".to_owned(), json!(requests));
    result.insert("requestState".to_owned(), json!(state));
    closed(result, Era::Modern, server)
}

fn opened(era: Era) -> Map<String, Value> {
    let mut result = Map::new();
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    result
}

/// May be kept by nobody for any time: rules, trust and servers may change at each moment.
fn cacheable(result: &mut Map<String, Value>) {
    result.insert("ttlMs".to_owned(), json!(0));
    result.insert("cacheScope".to_owned(), json!("private"));
}

/// Sets one field of `_meta`, which stays where it stands.
fn set_meta(result: &mut Map<String, Value>, key: &str, value: Value) {
    if let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.insert(key.to_owned(), value);
    } else {
        result.insert("_meta".to_owned(), Value::Object(Map::from_iter([(key.to_owned(), value)])));
    }
}

fn closed(mut result: Map<String, Value>, era: Era, server: &Value) -> String {
    if era == Era::Modern {
        set_meta(&mut result, SERVER_KEY, server.clone());
    }
    Value::Object(result).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Block, CallId, FailureKind, Outcome};
    use std::time::Duration;

    fn hints(spec: Spec) -> [bool; 4] {
        let all = annotations(&spec);
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"].map(|hint| all[hint] == true)
    }

    fn result(output: Output, outcome: Outcome, era: Era) -> Value {
        let (call, tool, duration) = (CallId::outer(1), "t".into(), Duration::ZERO);
        let over = Ended { call, tool, owner: None, outcome, output, failure: None, trace: vec![], duration };
        serde_json::from_str(&ended(&over, era, &json!({"name": "haft"}))).unwrap()
    }

    #[test]
    fn hints_follow_the_declaration() {
        let spec = || Spec::new("t", "does t");
        assert_eq!(hints(spec()), [false, true, false, false]);
        assert_eq!(hints(spec().read_only()), [true, false, false, false]);
        assert_eq!(hints(spec().with_risk(Risk::Standard).idempotent()), [false, false, true, false]);
        assert_eq!(hints(spec().with_risk(Risk::Destructive)), [false, true, false, false]);
        assert_eq!(hints(spec().read_only().with_capabilities(&[OUTBOUND])), [true, false, false, true]);
    }

    #[test]
    fn a_schema_is_listed_as_declared() {
        let schema = json!({"type": "object", "properties": {"b": {"type": "string", "x-b": 1}}, "x-a": [2]});
        let mut spec = Spec::new("t", "does t").with_input_schema(schema.clone());
        spec.output_schema = Some(json!({"type": "array"}));
        let legacy = definition("t", &spec, Era::Legacy);
        assert_eq!(legacy["inputSchema"].to_string(), schema.to_string());
        assert_eq!(legacy.get("outputSchema"), None);
        assert_eq!(definition("t", &spec, Era::Modern)["outputSchema"], json!({"type": "array"}));
    }

    #[test]
    fn structured_output_goes_only_beside_a_text_that_carries_it() {
        let same = Output { structured: Some(json!({"n": 1})), ..Output::text("{\"n\": 1}") };
        let other = Output { structured: Some(json!({"n": 1})), ..Output::text("one") };
        let list = Output { structured: Some(json!([1])), ..Output::text("[1]") };
        let done = Outcome::Completed;
        assert_eq!(result(same.clone(), done.clone(), Era::Legacy)["structuredContent"], json!({"n": 1}));
        assert_eq!(result(same, Outcome::TimedOut, Era::Legacy).get("structuredContent"), None);
        assert_eq!(result(other, done.clone(), Era::Modern).get("structuredContent"), None);
        assert_eq!(result(list.clone(), done.clone(), Era::Legacy).get("structuredContent"), None);
        assert_eq!(result(list, done, Era::Modern)["structuredContent"], json!([1]));
    }

    #[test]
    fn each_era_has_its_shape_of_a_result() {
        let link = Block::ResourceLink { uri: "file:///a".into(), name: "a".into() };
        let image = Block::Image { data: "AA==".into(), media_type: "image/png".into(), dims: None };
        let output = Output { content: vec![Block::text("x"), image, link], ..Output::default() };
        let content = json!([
            {"type": "text", "text": "x"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
        ]);
        assert_eq!(
            result(output.clone(), Outcome::Completed, Era::Legacy),
            json!({"content": content, "isError": false, "_meta": {OUTCOME_KEY: "completed"}})
        );
        assert_eq!(
            result(output, Outcome::TimedOut, Era::Modern),
            json!({
                "resultType": "complete", "content": content, "isError": true,
                "_meta": {OUTCOME_KEY: "timed-out", SERVER_KEY: {"name": "haft"}},
            })
        );
    }

    #[test]
    fn a_servers_result_goes_on_as_it_came() {
        let own = json!({
            "x-own": [1, 2],
            "content": [{"type": "text", "text": "x", "annotations": {"audience": ["user"]}}],
            "structuredContent": {"n": 1},
            "_meta": {"com.example/a": 1},
        });
        let output = Output { foreign: Some(own.clone()), ..Output::text("x") };
        let legacy = result(output.clone(), Outcome::Completed, Era::Legacy);
        assert_eq!(legacy.to_string(), own.to_string());
        let mut expected = own.clone();
        expected["resultType"] = json!("complete");
        expected["_meta"][SERVER_KEY] = json!({"name": "haft"});
        assert_eq!(result(output.clone(), Outcome::Completed, Era::Modern), expected);
        // What ended some other way says so.
        for outcome in [Outcome::TimedOut, Outcome::Failed { kind: FailureKind::Internal }] {
            let ended = result(output.clone(), outcome, Era::Legacy);
            assert_eq!((&ended["isError"], ended.get("x-own")), (&json!(true), None));
        }
        let own = json!({"content": [{"type": "text", "text": "no"}], "isError": true, "x-own": 1});
        let output = Output { foreign: Some(own.clone()), ..Output::text("no") };
        assert_eq!(result(output, Outcome::Failed { kind: FailureKind::Internal }, Era::Legacy), own);
    }

    #[test]
    fn progress_is_one_short_line() {
        let message = |progress| progress_message(&progress);
        assert_eq!(message(Progress::PartialOutput("a\nb\n\n".into())).as_deref(), Some("b"));
        assert_eq!(message(Progress::PartialOutput("\n".into())), None);
        let long = message(Progress::Log("ä".repeat(500)));
        assert_eq!(long.map(|text| text.chars().count()), Some(MESSAGE_MAX_CHARS));
    }
}
