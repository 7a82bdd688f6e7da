//! Why a turn didn't come, and whether sending it again can help.

use super::wire::text;
use haft_core::{Failure, FailureKind};
use serde_json::Value;
use std::time::Duration;

/// Longest piece of a provider's own words that is shown, in characters.
const WORDS_MAX_CHARS: usize = 400;

/// Why a model gave no turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
#[non_exhaustive]
pub struct ModelError {
    /// What kind of fault.
    pub kind: ModelErrorKind,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// For people: the fault and what to do.
    pub text: String,
}

/// What kind of fault it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// No connection, or no answer in time.
    Unreachable,
    /// The provider has too much to do, or a fault of its own.
    Overloaded,
    /// The answer broke off.
    Dropped,
    /// The provider refuses this request: key, model, quota or form.
    Refused,
    /// The answer isn't what the protocol says.
    Protocol,
}

impl ModelError {
    fn new(kind: ModelErrorKind, text: impl Into<String>) -> Self {
        Self { kind, retry_after: None, text: text.into() }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        use ModelErrorKind::{Dropped, Overloaded, Protocol, Refused, Unreachable};
        match self.kind {
            Unreachable | Overloaded | Dropped => true,
            Refused | Protocol => false,
        }
    }

    /// No response came.
    pub(crate) fn unreachable(failure: &Failure) -> Self {
        let passing = matches!(
            failure.kind,
            FailureKind::Unavailable | FailureKind::Timeout | FailureKind::Internal | FailureKind::Conflict
        );
        let kind = if passing { ModelErrorKind::Unreachable } else { ModelErrorKind::Refused };
        Self::new(kind, format!("the model endpoint can't be reached ({}): check the base URL", failure.text))
    }

    /// The answer broke off.
    pub(crate) fn dropped(why: &str) -> Self {
        Self::new(ModelErrorKind::Dropped, format!("the model's answer broke off ({})", shortened(why)))
    }

    /// The answer isn't what the protocol says.
    pub(crate) fn protocol(why: &str) -> Self {
        Self::new(ModelErrorKind::Protocol, format!("the model endpoint {why}"))
    }

    /// A response with an error status.
    pub(crate) fn answered(status: u16, retry_after: Option<Duration>, body: &str) -> Self {
        // A spent quota has the status of a rate limit, but no wait helps.
        let spent = body.contains("insufficient_quota");
        let passing = matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 529) && !spent;
        let kind = if passing { ModelErrorKind::Overloaded } else { ModelErrorKind::Refused };
        let words = said(body);
        let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
        let advice = match status {
            _ if spent => ": the account's quota is spent",
            401 | 403 => ": check the API key",
            404 => ": check the model's name and the base URL",
            413 => ": the conversation is too long for the model",
            _ => "",
        };
        let mut error = Self::new(kind, format!("the model endpoint answered {status}{words}{advice}"));
        error.retry_after = retry_after;
        error
    }

    /// An error told inside the stream, as the `error` object of either protocol.
    pub(crate) fn reported(error: &Value) -> Self {
        let code = error.get("code").and_then(Value::as_u64);
        let name = format!("{} {}", text(error, "type"), text(error, "code"));
        let by_code = code.is_some_and(|code| matches!(code, 408 | 429 | 500..=599));
        let by_name = ["overloaded", "rate_limit", "api_error", "server_error", "timeout"]
            .iter()
            .any(|one| name.contains(one));
        let kind = if by_code || by_name { ModelErrorKind::Overloaded } else { ModelErrorKind::Refused };
        let words = match error {
            Value::String(words) => shortened(words),
            other => shortened(other.get("message").and_then(Value::as_str).unwrap_or(name.trim())),
        };
        Self::new(kind, format!("the model endpoint reported an error ({words})"))
    }
}

/// The provider's own words in an error body.
fn said(body: &str) -> String {
    let words = serde_json::from_str::<Value>(body).ok().and_then(|body| {
        let places = ["/error/message", "/error", "/message", "/detail"];
        places.iter().find_map(|place| body.pointer(place).and_then(Value::as_str).map(str::to_owned))
    });
    shortened(words.as_deref().unwrap_or(body))
}

fn shortened(words: &str) -> String {
    let mut short: String = words.trim().chars().take(WORDS_MAX_CHARS).collect();
    if short.len() < words.trim().len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_passing_faults_are_tried_again() {
        for status in [408, 429, 500, 502, 503, 529] {
            assert!(ModelError::answered(status, None, "").is_retryable(), "{status}");
        }
        for status in [400, 401, 404, 413, 422] {
            assert!(!ModelError::answered(status, None, "").is_retryable(), "{status}");
        }
        let spent = r#"{"error":{"message":"no money","code":"insufficient_quota"}}"#;
        assert!(!ModelError::answered(429, None, spent).is_retryable());
        assert!(ModelError::reported(&json!({"type": "overloaded_error", "message": "x"})).is_retryable());
        assert!(ModelError::reported(&json!({"code": 502, "message": "x"})).is_retryable());
        assert!(!ModelError::reported(&json!({"type": "invalid_request_error"})).is_retryable());
        assert!(ModelError::unreachable(&Failure::new(FailureKind::Unavailable, "refused")).is_retryable());
        assert!(!ModelError::unreachable(&Failure::invalid("no URL")).is_retryable());
    }

    #[test]
    fn the_text_has_the_providers_words_and_what_to_do() {
        let error = ModelError::answered(401, None, r#"{"error":{"message":"invalid x-api-key"}}"#);
        assert_eq!(
            error.to_string(),
            "the model endpoint answered 401 (invalid x-api-key): check the API key"
        );
    }
}
