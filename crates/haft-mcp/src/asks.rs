//! Requests of ours to a client of the legacy era, and its replies.

use crate::{RpcError, frame::Id, reach::Reach};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

type Answer = Result<Map<String, Value>, RpcError>;

/// The requests that one client hasn't answered yet. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Asks(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    waiting: HashMap<Id, oneshot::Sender<Answer>>,
    last: u64,
    /// Whether nobody answers any more.
    is_over: bool,
}

#[derive(Deserialize)]
struct ErrorFields {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Asks {
    /// Puts a request to the client and waits for its reply.
    ///
    /// # Errors
    /// The client's own error, a result that is no object, or that it can't be reached.
    ///
    /// # Cancellation
    /// Dropping the future withdraws the request, and tells the client so.
    pub(crate) async fn put(&self, via: &Arc<dyn Reach>, method: &str, params: Option<&Value>) -> Answer {
        let (sender, receiver) = oneshot::channel();
        let gone = || RpcError::internal("the client has gone");
        let id = {
            let mut open = self.lock();
            if open.is_over {
                return Err(gone());
            }
            open.last += 1;
            let id = format!("haft-{}", open.last);
            open.waiting.insert(Id::Text(id.as_str().into()), sender);
            id
        };
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let (Some(params), Some(fields)) = (params, message.as_object_mut()) {
            fields.insert("params".to_owned(), params.clone());
        }
        let mut asked = Asked { asks: self, via, id, is_over: false };
        via.push(message.to_string()).map_err(|_| gone())?;
        let answer = receiver.await;
        asked.is_over = true;
        answer.unwrap_or_else(|_| Err(gone()))
    }

    /// Takes a reply in; one to nothing is dropped.
    pub(crate) fn answered(&self, id: &Id, answer: Result<&RawValue, &RawValue>) {
        let Some(sender) = self.lock().waiting.remove(id) else { return };
        let answer = match answer {
            Ok(result) => serde_json::from_str(result.get())
                .map_err(|error| RpcError::internal(format!("the client's result is no object: {error}"))),
            Err(error) => Err(match serde_json::from_str::<ErrorFields>(error.get()) {
                Ok(ErrorFields { code, message, data }) => RpcError { code, message, data },
                Err(error) => {
                    RpcError::internal(format!("the client's error is none of the protocol: {error}"))
                }
            }),
        };
        // Whoever waited may have gone.
        let _ = sender.send(answer);
    }

    /// Nobody will answer any more: what waits gets an error, and so does what would be asked later.
    pub(crate) fn end(&self) {
        let mut open = self.lock();
        open.is_over = true;
        open.waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for its reply.
struct Asked<'a> {
    asks: &'a Asks,
    via: &'a Arc<dyn Reach>,
    id: String,
    is_over: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.asks.lock().waiting.remove(&Id::Text(self.id.as_str().into())).is_some() {
            let params = json!({"requestId": self.id, "reason": "it needs no answer any more"});
            let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            // One that has gone needn't know.
            drop(self.via.push(note.to_string()));
        }
    }
}
