//! Requests to who gives tokens: small, bounded, without redirects.

use futures::StreamExt;
use haft_core::{Failure, FailureKind, Http, HttpRequest, WebUrl};
use serde_json::Value;
use std::time::Duration;

/// How much of an answer is read.
const BODY_MAX_BYTES: usize = 1024 * 1024;
/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// How much of an error is shown.
const SHOWN_MAX_CHARS: usize = 300;

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

impl Answer {
    /// What it says, where it is JSON.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok()
    }

    /// What it says, for people: the error of the protocol where there is one.
    pub(super) fn words(&self) -> String {
        let json = self.json().unwrap_or_default();
        let part = |name: &str| json.get(name).and_then(Value::as_str);
        let said = match (part("error"), part("error_description")) {
            (Some(error), Some(more)) => format!("{error}: {more}"),
            (Some(error), None) => error.to_owned(),
            _ => self.text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let said: String = said.chars().filter(|c| !haft_core::is_hidden(*c)).take(SHOWN_MAX_CHARS).collect();
        format!("status {}: {said}", self.status)
    }
}

/// Fetches a document.
pub(super) async fn get(http: &dyn Http, url: &WebUrl) -> Result<Answer, Failure> {
    let headers = vec![("accept".to_owned(), "application/json".to_owned())];
    send(
        http,
        HttpRequest {
            method: "GET".to_owned(),
            url: url.to_string(),
            headers,
            body: Vec::new(),
            idle_timeout: ANSWER_TIME,
        },
    )
    .await
}

/// Posts a form, or JSON.
pub(super) async fn post(
    http: &dyn Http,
    url: &WebUrl,
    mut headers: Vec<(String, String)>,
    (kind, body): (&str, String),
) -> Result<Answer, Failure> {
    headers.push(("accept".to_owned(), "application/json".to_owned()));
    headers.push(("content-type".to_owned(), kind.to_owned()));
    let (method, url, body) = ("POST".to_owned(), url.to_string(), body.into_bytes());
    send(http, HttpRequest { method, url, headers, body, idle_timeout: ANSWER_TIME }).await
}

async fn send(http: &dyn Http, request: HttpRequest) -> Result<Answer, Failure> {
    let response = http.send(request).await?;
    let (status, mut body) = (response.status, response.body);
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece?;
        if bytes.len() + piece.len() > BODY_MAX_BYTES {
            return Err(Failure::new(
                FailureKind::Unavailable,
                "the answer is longer than 1 MiB; nothing was done",
            ));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Answer { status, text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// `a=b&c=d`, as forms and addresses have it.
pub(super) fn form<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// One value of such a text.
pub(super) fn value(query: &str, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
