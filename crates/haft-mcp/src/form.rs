//! What a server behind haft wants a person to fill in, as a request to the client, and what its answer comes to. Pure.

use haft_core::{Filled, Form, exact};
use serde_json::{Map, Value, json};

/// How much of an address's hash names it.
const ID_CHARS: usize = 16;

/// In which way it is shown, as clients declare what they can do.
pub(crate) fn mode(form: &Form) -> &'static str {
    if form.url.is_some() { "url" } else { "form" }
}

/// The request that puts it.
pub(crate) fn request(form: &Form) -> Value {
    // Whoever answers must see who asks: there may be many servers behind haft.
    let message = format!("{} asks: {}", exact(&form.source), exact(&form.message));
    let params = match &form.url {
        Some(url) => {
            let hash = blake3::hash(format!("{} {url}", form.call).as_bytes()).to_hex();
            let id: String = hash.chars().take(ID_CHARS).collect();
            json!({"mode": "url", "message": message, "url": url, "elicitationId": id})
        }
        None => json!({"message": message, "requestedSchema": form.schema}),
    };
    json!({"method": "elicitation/create", "params": params})
}

/// What the client's result comes to.
pub(crate) fn filled(result: &Value) -> Filled {
    match result.get("action").and_then(Value::as_str) {
        Some("accept") => {
            let content = result.get("content").filter(|content| content.is_object());
            Filled::Accepted(content.cloned().unwrap_or_else(|| Value::Object(Map::new())))
        }
        Some("decline") => Filled::Declined,
        _ => Filled::Dismissed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::CallId;

    fn form(url: Option<&str>) -> Form {
        Form {
            call: CallId::outer(1),
            source: "the server s".into(),
            message: "Which\u{200b}?".to_owned(),
            schema: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            url: url.map(str::to_owned),
        }
    }

    #[test]
    fn the_request_says_who_asks_and_has_the_form_as_it_came() {
        let put = request(&form(None));
        assert_eq!(put["method"], "elicitation/create");
        assert_eq!(put["params"]["message"], "the server s asks: Which\\u{200b}?");
        assert_eq!(put["params"]["requestedSchema"], form(None).schema);
        let page = request(&form(Some("https://a.example")))["params"].take();
        assert_eq!((&page["mode"], &page["url"]), (&json!("url"), &json!("https://a.example")));
        assert_eq!((page.get("requestedSchema"), mode(&form(None))), (None, "form"));
        assert_ne!(
            page["elicitationId"],
            request(&form(Some("https://b.example")))["params"]["elicitationId"]
        );
    }

    #[test]
    fn only_an_acceptance_accepts() {
        let accepted = json!({"action": "accept", "content": {"a": "b"}});
        assert_eq!(filled(&accepted), Filled::Accepted(json!({"a": "b"})));
        assert_eq!(filled(&json!({"action": "accept"})), Filled::Accepted(json!({})));
        assert_eq!(filled(&json!({"action": "decline", "content": {"a": "b"}})), Filled::Declined);
        assert_eq!(
            (filled(&json!({"action": "cancel"})), filled(&json!({}))),
            (Filled::Dismissed, Filled::Dismissed)
        );
    }
}
