//! Everything that goes out, as JSON text: definitions and results in the shape of either era.
//!
//! Results that the SDK's types would thin out are made here whole, so they must be right for the era by
//! themselves: the modern one wants `resultType` on each and hints for caching on lists, the legacy one has
//! peers that reject both.

use crate::{fault::Fault, forward, server::ServerInfo};
use haft_core::{Block, Ended, Exposure, Output, Progress, Risk, Spec};
use haft_runtime::Offer;
use serde_json::{Map, Value, json};

/// Where a result says how the call ended, with the name of the outcome.
const OUTCOME_KEY: &str = "dev.haft/outcome";
/// Where the modern era wants name and version of the server.
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// The capability of tools that contact other hosts.
const OUTBOUND: &str = "net.outbound";
/// Most characters of one progress message: it is a line for a status bar.
const MESSAGE_MAX_CHARS: usize = 400;

/// Which shape of the protocol a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25: a handshake, then a session.
    Legacy,
    /// From 2026-07-28: each request stands alone.
    Modern,
}

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
    let body = json!({"code": fault.code, "message": fault.message});
    match id {
        Some(id) => error(id, &body.to_string()),
        None => json!({"jsonrpc": "2.0", "error": body}).to_string(),
    }
}

/// The legacy word that the list of tools is another one.
pub(crate) fn list_changed() -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string()
}

/// One step of a call's progress; `count` must rise.
pub(crate) fn progress(token: &Value, count: u64, message: &str) -> String {
    let params = json!({"progressToken": token, "progress": count, "message": message});
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).to_string()
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

/// The result of `tools/list`: all tools on one page, in the order in which they come.
pub(crate) fn list<'a>(offers: impl Iterator<Item = &'a Offer>, era: Era, server: &Value) -> String {
    let listed = offers.filter(|offer| is_listed(offer.spec()));
    let tools: Vec<Value> = listed.map(|offer| definition(&offer.name, offer.spec(), era)).collect();
    let mut result = opened(era);
    result.insert("tools".to_owned(), Value::Array(tools));
    if era == Era::Modern {
        result.insert("ttlMs".to_owned(), json!(0));
        result.insert("cacheScope".to_owned(), json!("private"));
    }
    closed(result, Map::new(), era, server)
}

/// Clients load no tools on demand, so deferred ones are listed too; code mode and what is called only by
/// those who know the name are not.
fn is_listed(spec: &Spec) -> bool {
    matches!(spec.exposure, Exposure::Direct | Exposure::Auto | Exposure::Deferred)
}

fn definition(name: &str, spec: &Spec, era: Era) -> Value {
    if let Some(foreign) = forward::definition(name, spec) {
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
fn is_output_schema(schema: &Value, era: Era) -> bool {
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
    if let Some(raw) = forward::result(ended) {
        result.extend(raw.clone());
        if era == Era::Modern
            && let Some(meta) =
                result.entry("_meta").or_insert_with(|| Value::Object(Map::new())).as_object_mut()
        {
            meta.insert(SERVER_KEY.to_owned(), server.clone());
        }
        return Value::Object(result).to_string();
    }
    let content = ended.output.content.iter().map(block).collect();
    result.insert("content".to_owned(), Value::Array(content));
    let is_completed = ended.outcome.is_completed();
    if let Some(structured) = carried(&ended.output, era).filter(|_| is_completed) {
        result.insert("structuredContent".to_owned(), structured.clone());
    }
    result.insert("isError".to_owned(), json!(!is_completed));
    let mut meta = Map::new();
    meta.insert(OUTCOME_KEY.to_owned(), json!(ended.outcome.name()));
    closed(result, meta, era, server)
}

/// The structured output where the text carries the same: some clients show the model nothing else.
fn carried(output: &Output, era: Era) -> Option<&Value> {
    let value = output.structured.as_ref().filter(|value| era == Era::Modern || value.is_object())?;
    let (text, compact) = (output.joined_text(), value.to_string());
    let is_same = value.as_str() == Some(text.as_str())
        || compact == text
        || serde_json::from_str::<Value>(&text).is_ok_and(|read| read == *value);
    is_same.then_some(value)
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Image { data, media_type, .. } => {
            json!({"type": "image", "data": data, "mimeType": media_type})
        }
        Block::Audio { data, media_type } => json!({"type": "audio", "data": data, "mimeType": media_type}),
        Block::ResourceLink { uri, name } => json!({"type": "resource_link", "uri": uri, "name": name}),
        // A kind that this table doesn't know yet still reaches the model.
        other => json!({"type": "text", "text": json!(other).to_string()}),
    }
}

fn opened(era: Era) -> Map<String, Value> {
    let mut result = Map::new();
    if era == Era::Modern {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    result
}

fn closed(mut result: Map<String, Value>, mut meta: Map<String, Value>, era: Era, server: &Value) -> String {
    if era == Era::Modern {
        meta.insert(SERVER_KEY.to_owned(), server.clone());
    }
    if !meta.is_empty() {
        result.insert("_meta".to_owned(), Value::Object(meta));
    }
    Value::Object(result).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Outcome};
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
    fn progress_is_one_short_line() {
        let message = |progress| progress_message(&progress);
        assert_eq!(message(Progress::PartialOutput("a\nb\n\n".into())).as_deref(), Some("b"));
        assert_eq!(message(Progress::PartialOutput("\n".into())), None);
        let long = message(Progress::Log("ä".repeat(500)));
        assert_eq!(long.map(|text| text.chars().count()), Some(MESSAGE_MAX_CHARS));
    }
}
