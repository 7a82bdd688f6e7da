//! What a request is about: whoever comes back to a call asks for the same again.

use crate::{canonical::canonical, frame::Asked};
use serde_json::{Map, Value, value::RawValue};

/// A request, copied as it came: few are ever asked again, and only those are read and compared.
pub(crate) struct About {
    method: String,
    params: String,
}

impl About {
    pub(crate) fn of(asked: &Asked<'_>) -> Self {
        let params = asked.params.map_or("{}", RawValue::get);
        Self { method: asked.method.clone(), params: params.to_owned() }
    }

    /// The same text for the same request in another spelling, without what belongs to one of its rounds.
    pub(crate) fn identity(&self) -> String {
        let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(&self.params) else {
            // Too deep to be read, and so like nothing but itself.
            return format!("{} {}", self.method, self.params);
        };
        fields.retain(|key, _| !matches!(key.as_str(), "_meta" | "inputResponses" | "requestState"));
        format!("{} {}", self.method, canonical(&Value::Object(fields)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, parse};

    fn identity(params: &str) -> String {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let Frame::Request(asked) = parse(&line) else { panic!("a request") };
        About::of(&asked).identity()
    }

    #[test]
    fn a_request_is_the_same_in_another_spelling_and_another_round() {
        let first = identity(r#"{"name":"t","arguments":{"a":1,"b":[2]},"_meta":{"x":1}}"#);
        let again = r#"{ "requestState":"s", "inputResponses":{}, "arguments":{"b":[2],"a":1}, "name":"t" }"#;
        assert_eq!(first, identity(again));
        for other in [r#"{"name":"t"}"#, r#"{"name":"t","arguments":{"a":1,"b":[3]}}"#] {
            assert_ne!(first, identity(other), "{other}");
        }
    }
}
