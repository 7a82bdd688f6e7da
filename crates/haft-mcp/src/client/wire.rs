//! Requests to a server and their answers, whatever carries them.

use super::{
    headers::{self, ParamHeader},
    http::{HttpOwner, Outgoing, Sending},
    lent::{self, Lends},
    refusal::Refusal,
    router::{Answer, Asker, Router},
    stdio::Stdio,
};
use crate::{
    Front, RpcError, encode,
    era::{CAPABILITIES_KEY, CLIENT_KEY, LEVEL_KEY, MODERN, TOKEN_KEY, VERSION_KEY},
};
use haft_core::Cancel;
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// What carries messages.
pub(crate) enum Link {
    Stdio(Stdio),
    Http(HttpOwner),
}

/// A request.
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Map<String, Value>,
    /// Whether it says itself who asks, as the modern era wants it.
    pub(crate) is_modern: bool,
    pub(crate) asker: Asker,
    /// Headers that the tool asks for.
    pub(crate) wanted: &'a [ParamHeader],
    /// How long it may go without a sign of life; none for what is meant to last.
    pub(crate) idle: Option<Duration>,
    pub(crate) cancel: &'a Cancel,
}

impl<'a> Ask<'a> {
    /// A request that nobody waits for but this client.
    pub(crate) fn new(method: &'a str, params: Map<String, Value>, cancel: &'a Cancel) -> Self {
        Self { method, params, is_modern: false, asker: Asker::default(), wanted: &[], idle: None, cancel }
    }
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The server's error.
    Rpc(RpcError),
    /// The connection ended.
    Lost {
        why: String,
        /// Whether the server may have done what it was asked.
        may_have_run: bool,
    },
    /// The message wasn't taken.
    Refused(Refusal),
    /// The result was longer than is read.
    TooLong(usize),
    /// Nothing was heard for so long.
    Silent(Duration),
    /// Nobody wants it any more.
    Cancelled,
}

/// A connection: what carries messages, and what is open on it.
pub(crate) struct Wire {
    pub(crate) link: Link,
    pub(crate) router: Arc<Router>,
    /// Name and version of this client.
    pub(crate) client: Value,
    /// What this client can do for a server.
    pub(crate) capabilities: Value,
    /// What of a client in front of haft the server is told of.
    pub(crate) lends: Lends,
}

impl Wire {
    /// Asks, and waits for the answer.
    ///
    /// # Cancellation
    /// Dropping the future forgets the request without a word to the server; `Ask::cancel` tells it.
    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Value, CallError> {
        let lost = |why| CallError::Lost { why, may_have_run: false };
        let front = ask.asker.front.clone();
        let mut ticket = self.router.open(ask.asker).map_err(lost)?;
        let (id, pulse) = (ticket.id, Arc::clone(&ticket.pulse));
        let params = self.params(ask.params, (id, ask.is_modern), front.as_ref());
        let headers =
            if ask.is_modern { headers::of_request(ask.method, &params, ask.wanted) } else { Vec::new() };
        let line = written(Some(id), ask.method, &params);
        let answer = &mut ticket.answer;
        let answered = async {
            let sending = self
                .send(Outgoing { line, id: Some(id), lasts: ask.idle.is_none(), headers })
                .await
                .map_err(lost)?;
            let answer = match &self.link {
                Link::Stdio(stdio) => stdio.eager.wait(answer).await,
                Link::Http(_) => answer.await,
            };
            drop(sending);
            answer
                .map_err(|_| CallError::Lost { why: "the connection is gone".to_owned(), may_have_run: true })
        };
        let silence = async {
            match ask.idle {
                Some(idle) => pulse.silent_for(idle).await,
                None => std::future::pending().await,
            }
        };
        let error = tokio::select! {
            biased;
            answer = answered => return from(answer?),
            () = ask.cancel.fired() => CallError::Cancelled,
            () = silence => CallError::Silent(ask.idle.unwrap_or_default()),
        };
        self.give_up(id, ask.is_modern, &error);
        Err(error)
    }

    /// Tells the server that an answer isn't wanted any more. Over HTTP the modern era says so by closing the stream,
    /// which has happened.
    fn give_up(&self, id: i64, is_modern: bool, error: &CallError) {
        if is_modern && matches!(self.link, Link::Http(_)) {
            return;
        }
        let reason =
            if matches!(error, CallError::Silent(_)) { "it took too long" } else { "it was cancelled" };
        self.note("notifications/cancelled", &json!({"requestId": id, "reason": reason}));
    }

    /// Says something that wants no answer, as far as the server takes it.
    pub(crate) fn note(&self, method: &str, params: &Value) {
        self.push(written(None, method, params));
    }

    /// Answers what the server asked; `raw_id` is its id as it wrote it.
    pub(crate) fn answer(&self, raw_id: &str, answer: Result<Value, RpcError>) {
        self.push(match answer {
            Ok(result) => encode::reply(raw_id, &result.to_string()),
            Err(error) => encode::error(raw_id, &error.to_json().to_string()),
        });
    }

    fn push(&self, line: String) {
        match &self.link {
            Link::Stdio(stdio) => stdio.push(line),
            Link::Http(owner) => {
                let link = Arc::clone(&owner.0);
                tokio::spawn(async move {
                    // Whoever doesn't take it doesn't want it.
                    drop(link.send(Outgoing { line, id: None, lasts: false, headers: Vec::new() }).await);
                });
            }
        }
    }

    async fn send(&self, out: Outgoing) -> Result<Option<Sending>, String> {
        match &self.link {
            Link::Stdio(stdio) => stdio.send(out.line).await.map(|()| None),
            Link::Http(owner) => owner.0.send(out).await.map(Some),
        }
    }

    fn params(
        &self,
        mut params: Map<String, Value>,
        (id, is_modern): (i64, bool),
        front: Option<&Arc<dyn Front>>,
    ) -> Value {
        let mut meta = match params.shift_remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        meta.insert(TOKEN_KEY.to_owned(), json!(id));
        if is_modern {
            meta.insert(VERSION_KEY.to_owned(), json!(MODERN));
            meta.insert(CLIENT_KEY.to_owned(), self.client.clone());
            let capabilities = lent::capabilities(&self.capabilities, self.lends, front);
            meta.insert(CAPABILITIES_KEY.to_owned(), capabilities);
            if let Some(level) = front.and_then(|front| front.log_level()) {
                meta.insert(LEVEL_KEY.to_owned(), Value::String(level));
            }
        }
        params.insert("_meta".to_owned(), Value::Object(meta));
        Value::Object(params)
    }

    /// Ends the connection: a process gets its time to end by itself.
    pub(crate) async fn stop(&self) {
        match &self.link {
            Link::Stdio(stdio) => stdio.stop().await,
            Link::Http(owner) => owner.0.stop().await,
        }
    }
}

/// A message of this client; its parameters are written once and copied nowhere.
fn written(id: Option<i64>, method: &str, params: &Value) -> String {
    let id = id.map(|id| format!("\"id\":{id},")).unwrap_or_default();
    format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":{},\"params\":{params}}}", Value::from(method))
}

fn from(answer: Answer) -> Result<Value, CallError> {
    match answer {
        Answer::Result(result) => Ok(result),
        Answer::Error(error) => Err(CallError::Rpc(error)),
        Answer::Lost(why) => Err(CallError::Lost { why, may_have_run: true }),
        Answer::Refused(refusal) => Err(CallError::Refused(refusal)),
        Answer::TooLong(bytes) => Err(CallError::TooLong(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_written_as_the_protocol_has_it() {
        let params: Value = serde_json::from_str(r#"{"z":1.50,"a":"é\n"}"#).unwrap();
        assert_eq!(
            written(Some(7), "tools/call", &params),
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
        );
        let note: Value = serde_json::from_str(&written(None, "a\"b", &json!({}))).unwrap();
        assert_eq!(note, json!({"jsonrpc": "2.0", "method": "a\"b", "params": {}}));
    }
}
