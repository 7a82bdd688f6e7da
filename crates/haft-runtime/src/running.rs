//! A call in flight, as its host holds it.

use haft_core::{BoxFuture, CallId, Cancel, Ended, Outcome, Output};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::sync::oneshot;

/// A future of [`Ended`]; dropping it cancels the call.
#[must_use = "dropping it cancels the call"]
pub struct Running {
    /// The call.
    pub id: CallId,
    /// Ends it early.
    pub cancel: Cancel,
    ended: oneshot::Receiver<Ended>,
}

impl Running {
    /// `call` is boxed, since the runtime moves what it is given several times before it runs.
    pub(crate) fn spawn(id: CallId, cancel: Cancel, call: BoxFuture<'static, Ended>) -> Self {
        let (sender, ended) = oneshot::channel();
        tokio::spawn(async move { drop(sender.send(call.await)) });
        Self { id, cancel, ended }
    }
}

impl Future for Running {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let Poll::Ready(ended) = Pin::new(&mut self.ended).poll(context) else { return Poll::Pending };
        // Only a runtime that is shutting down drops the call's task before it has ended.
        Poll::Ready(ended.unwrap_or_else(|_| Ended {
            call: self.id.clone(),
            tool: "".into(),
            owner: None,
            outcome: Outcome::Cancelled,
            output: Output::text("the runtime ended before the call did"),
            failure: None,
            trace: Vec::new(),
            duration: Duration::ZERO,
        }))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.fire();
    }
}
