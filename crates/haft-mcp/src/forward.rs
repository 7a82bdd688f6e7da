//! What came from another server of the protocol and goes on as it came: definitions and results, their fields and their
//! order kept. Only what the client's era can't take is left out or said some other way.

use crate::{
    content,
    encode::{is_of_an_era, is_output_schema},
    era::{Era, is_own},
};
use haft_core::{Ended, Outcome, Spec};
use serde_json::{Map, Value};

/// A definition as its source gave it, under the name that counts here.
pub(crate) fn definition(name: &str, spec: &Spec, era: Era) -> Option<Value> {
    let mut tool = spec.foreign.as_ref()?.as_object()?.clone();
    // In the place where its own name stood.
    tool.insert("name".to_owned(), Value::String(name.to_owned()));
    if tool.get("outputSchema").is_some_and(|schema| !is_output_schema(schema, era)) {
        tool.shift_remove("outputSchema");
    }
    Some(Value::Object(tool))
}

/// Takes out of a server's result what is between this client and that server: fields of its era, and the protocol's own
/// keys of `_meta`.
pub(crate) fn plain(result: &mut Map<String, Value>) {
    result.retain(|key, _| !is_of_an_era(key));
    let is_emptied = match result.get_mut("_meta").and_then(Value::as_object_mut) {
        Some(meta) => {
            let had_any = !meta.is_empty();
            meta.retain(|key, _| !is_own(key));
            had_any && meta.is_empty()
        }
        None => false,
    };
    if is_emptied {
        result.shift_remove("_meta");
    }
}

/// A result as its source gave it, where it says the same of the call's end as haft does.
pub(crate) fn result(ended: &Ended, era: Era) -> Option<Map<String, Value>> {
    let own = ended.output.foreign.as_ref()?.as_object()?;
    let is_error = own.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let is_so = match ended.outcome {
        Outcome::Completed => !is_error,
        Outcome::Failed { .. } => is_error,
        _ => false,
    };
    if !is_so {
        return None;
    }
    let fields = own.iter().filter(|(key, _)| !is_of_an_era(key));
    let mut result: Map<String, Value> = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
    if era == Era::Legacy && result.get("structuredContent").is_some_and(|value| !value.is_object()) {
        into_text(&mut result);
    }
    Some(result)
}

/// Structured content that is no object is unknown to the legacy era; in a text it still reaches the model.
fn into_text(result: &mut Map<String, Value>) {
    let Some(value) = result.shift_remove("structuredContent") else { return };
    let items = result.entry("content").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(items) = items.as_array_mut().filter(|items| !content::carries(items, &value)) {
        items.push(content::text_item(&value.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, FailureKind, Output};
    use serde_json::json;
    use std::{sync::Arc, time::Duration};

    fn ended(outcome: Outcome, foreign: Option<Value>) -> Ended {
        Ended {
            call: CallId::outer(1),
            tool: "t".into(),
            owner: None,
            outcome,
            output: Output { foreign, ..Output::text("a") },
            failure: None,
            trace: Vec::new(),
            duration: Duration::ZERO,
        }
    }

    #[test]
    fn a_definition_goes_on_with_all_its_fields_in_their_order() {
        let raw = r#"{"title":"T","name":"cal.add","x-own":[1.5],"inputSchema":{"type":"object"},"icons":[{"src":"a"}]}"#;
        let mut spec = Spec::new("mcp__s__cal_add_12345678", "d");
        assert_eq!(definition("n", &spec, Era::Legacy), None);
        spec.foreign = Some(Arc::new(serde_json::from_str(raw).unwrap()));
        let listed = definition("n", &spec, Era::Legacy).unwrap();
        assert_eq!(listed.to_string(), raw.replace("cal.add", "n"));
    }

    #[test]
    fn a_schema_that_an_era_lacks_is_left_out_there() {
        let mut spec = Spec::new("t", "d");
        spec.foreign = Some(Arc::new(json!({"name": "t", "outputSchema": {"type": "array"}})));
        assert_eq!(definition("t", &spec, Era::Legacy).unwrap(), json!({"name": "t"}));
        assert!(definition("t", &spec, Era::Modern).unwrap().get("outputSchema").is_some());
    }

    #[test]
    fn a_result_goes_on_where_it_says_what_haft_says() {
        let goes_on = |outcome, foreign| result(&ended(outcome, foreign), Era::Modern).is_some();
        let failed = || Outcome::Failed { kind: FailureKind::Internal };
        assert!(goes_on(Outcome::Completed, Some(json!({"content": []}))));
        assert!(goes_on(failed(), Some(json!({"content": [], "isError": true}))));
        assert!(!goes_on(failed(), Some(json!({"content": []}))));
        assert!(!goes_on(Outcome::TimedOut, Some(json!({"content": [], "isError": true}))));
        assert!(!goes_on(Outcome::Completed, None));
    }

    #[test]
    fn what_is_between_a_client_and_its_server_stays_there_and_nothing_else() {
        let before = json!({"ttlMs": 1, "x": 1, "resultType": "complete", "_meta": {
            "progressToken": 1, "io.modelcontextprotocol/serverInfo": {}, "own/k": [1.5], "modelcontextprotocol.io/x": 1,
        }});
        for (before, after) in [
            (before, json!({"x": 1, "_meta": {"own/k": [1.5]}})),
            (json!({"_meta": {"io.modelcontextprotocol/serverInfo": {}}}), json!({})),
            (json!({"_meta": {}}), json!({"_meta": {}})),
            (json!({"_meta": 7}), json!({"_meta": 7})),
        ] {
            let mut fields = before.as_object().cloned().unwrap();
            plain(&mut fields);
            assert_eq!(Value::Object(fields), after, "{before}");
        }
    }

    #[test]
    fn structured_content_that_an_era_lacks_is_still_said() {
        let own = json!({"content": [{"type": "text", "text": "x"}], "structuredContent": [1]});
        let ended = ended(Outcome::Completed, Some(own.clone()));
        let legacy = Value::Object(result(&ended, Era::Legacy).unwrap());
        assert_eq!((legacy.get("structuredContent"), &legacy["content"][1]["text"]), (None, &json!("[1]")));
        assert_eq!(Value::Object(result(&ended, Era::Modern).unwrap()), own);
    }
}
