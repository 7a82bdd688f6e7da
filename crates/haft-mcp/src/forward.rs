//! What came from another server of the protocol and goes on as it came: definitions and results, their fields and their
//! order kept. What belongs to the era of the connection is `encode`'s.

use haft_core::{Ended, Spec};
use serde_json::{Map, Value};

/// A definition as its source gave it, under the name that counts here.
pub(crate) fn definition(name: &str, spec: &Spec) -> Option<Value> {
    let mut tool = spec.foreign.as_ref()?.as_object()?.clone();
    // In the place where its own name stood.
    tool.insert("name".to_owned(), Value::String(name.to_owned()));
    Some(Value::Object(tool))
}

/// A result as its source gave it, where it says the same of the call's end as haft does.
pub(crate) fn result(ended: &Ended) -> Option<&Map<String, Value>> {
    let raw = ended.output.foreign.as_ref()?.as_object()?;
    let is_error = raw.get("isError").and_then(Value::as_bool).unwrap_or(false);
    (is_error != ended.outcome.is_completed()).then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, FailureKind, Outcome, Output};
    use serde_json::json;
    use std::{sync::Arc, time::Duration};

    #[test]
    fn a_definition_goes_on_with_all_its_fields_in_their_order() {
        let raw = r#"{"title":"T","name":"cal.add","x-own":[1.5],"inputSchema":{"type":"object"},"icons":[{"src":"a"}]}"#;
        let mut spec = Spec::new("mcp__s__cal_add_12345678", "d");
        assert_eq!(definition("n", &spec), None);
        spec.foreign = Some(Arc::new(serde_json::from_str(raw).unwrap()));
        assert_eq!(definition("n", &spec).unwrap().to_string(), raw.replace("cal.add", "n"));
    }

    #[test]
    fn a_result_goes_on_where_it_says_what_haft_says() {
        let ended = |outcome: Outcome, foreign: Option<Value>| Ended {
            call: CallId::outer(1),
            tool: "t".into(),
            owner: None,
            outcome,
            output: Output { foreign, ..Output::text("a") },
            failure: None,
            trace: Vec::new(),
            duration: Duration::ZERO,
        };
        let failed = || Outcome::Failed { kind: FailureKind::Internal };
        assert!(result(&ended(Outcome::Completed, Some(json!({"content": []})))).is_some());
        assert!(result(&ended(failed(), Some(json!({"content": [], "isError": true})))).is_some());
        assert!(result(&ended(failed(), Some(json!({"content": []})))).is_none());
        assert!(result(&ended(Outcome::TimedOut, Some(json!({"content": []})))).is_none());
        assert!(result(&ended(Outcome::Completed, None)).is_none());
    }
}
