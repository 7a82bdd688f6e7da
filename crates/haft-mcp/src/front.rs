//! The client in front of haft, as a running call sees it: whom a server behind haft may ask, and where its progress and
//! log lines go.
//!
//! The host registers who makes a call before it starts; a tool finds them by its call. Keeps "questions go to whoever
//! made the call".

use crate::{RpcError, Sampler};
use haft_core::{BoxFuture, CallId, Cx};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Who made a call.
pub trait Front: Send + Sync {
    /// What it declares that it can do: `elicitation`, `sampling`, `roots` and so on, as the protocol writes it. Empty
    /// where nobody is there.
    fn capabilities(&self) -> Map<String, Value>;

    /// What of its request's `_meta` isn't the protocol's own: it goes on to the server.
    fn meta(&self) -> Map<String, Value> {
        Map::new()
    }

    /// Puts requests of servers to it, each as `{"method": …, "params": …}` under a key, and waits for all results under
    /// the same keys. One that it has no capability for is [`RpcError::missing_capability`].
    ///
    /// # Errors
    /// What the client says, or that it can't be asked.
    ///
    /// # Cancellation
    /// Dropping the future withdraws the requests.
    fn ask(&self, requests: Map<String, Value>) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>>;

    /// Puts a question of haft's own, as one such request; what the client sent before it was put is no answer.
    ///
    /// # Errors
    /// As [`Front::ask`].
    ///
    /// # Cancellation
    /// Dropping the future withdraws the question.
    fn ask_person(&self, request: Value) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(async move {
            let requests = Map::from_iter([("question".to_owned(), request)]);
            let mut answers = self.ask(requests).await?;
            answers.remove("question").ok_or_else(|| RpcError::internal("the question was left out"))
        })
    }

    /// Passes progress on, where the client wants it: `progress`, `total`, `message` of a server's notification. Never
    /// waits.
    fn progress(&self, step: &Map<String, Value>);

    /// The least level of log lines that the client wants; none for no lines at all.
    fn log_level(&self) -> Option<String>;

    /// Passes a log line on: the parameters of `notifications/message`. Below the level it is dropped. Never waits.
    fn log(&self, line: &Map<String, Value>);

    /// Has the call answered by this error of the protocol and not by a result. The call fails all the same.
    fn refuse(&self, error: RpcError);
}

/// Who makes which call. Cheap to clone; the host and the tools of servers share one.
#[derive(Clone, Default)]
pub struct Fronts {
    calls: Arc<Mutex<HashMap<CallId, Arc<dyn Front>>>>,
    are_expected: Arc<AtomicBool>,
    sampler: Arc<Mutex<Option<Arc<dyn Sampler>>>>,
}

impl Fronts {
    /// Nobody makes any call yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that clients will make calls: servers behind haft that are told once what their client can do are told of what
    /// such clients may have. To be said before those are started.
    pub fn expect_clients(&self) {
        self.are_expected.store(true, Ordering::Release);
    }

    /// Whether clients make calls.
    pub fn are_expected(&self) -> bool {
        self.are_expected.load(Ordering::Acquire)
    }

    /// Lends the session's own model to servers, for calls that no client makes. To be said before they are started: those of
    /// the older era are told of it once.
    pub fn lend_model(&self, sampler: Arc<dyn Sampler>) {
        let former = self.sampler.lock().unwrap_or_else(PoisonError::into_inner).replace(sampler);
        drop(former);
    }

    /// The model that is lent, where one is.
    pub fn sampler(&self) -> Option<Arc<dyn Sampler>> {
        self.sampler.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says who makes a call, until the result is dropped.
    #[must_use = "dropping it forgets who made the call"]
    pub fn register(&self, call: CallId, front: Arc<dyn Front>) -> Registered {
        let former = self.lock().insert(call.clone(), front);
        drop(former);
        Registered { fronts: self.clone(), call }
    }

    /// Who made the call that a tool runs for, or the call around it.
    pub fn of(&self, cx: &Cx) -> Option<Arc<dyn Front>> {
        self.of_call(&cx.call)
    }

    /// Who made a call, or the call around it.
    pub fn of_call(&self, call: &CallId) -> Option<Arc<dyn Front>> {
        let calls = self.lock();
        let own = calls.get(call).or_else(|| {
            let around = CallId::outer(*call.0.first()?);
            calls.get(&around)
        });
        own.cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, Arc<dyn Front>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call's front is known as long as this is held.
pub struct Registered {
    fronts: Fronts,
    call: CallId,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let gone = self.fronts.lock().remove(&self.call);
        // Not under the lock: what a front does when it goes is its own affair.
        drop(gone);
    }
}
