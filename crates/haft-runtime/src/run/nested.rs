//! Calls made inside a call.

use super::Lease;
use crate::{approve::ANSWER_TIME, executor::Executor, lend::Parent};
use haft_core::{BoxFuture, CallId, Ended, Filled, Form, Nested, Request, Why};
use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::time::timeout;

/// Sends inner calls down the one call path; only for tools that declared that this is all they do.
pub(crate) struct NestedCalls {
    pub(crate) executor: Executor,
    pub(crate) parent: Parent,
    pub(crate) call: CallId,
    pub(crate) next: AtomicU64,
    pub(crate) delegates: bool,
    pub(crate) lease: Arc<Lease>,
}

impl Nested for NestedCalls {
    fn call(&self, request: Request) -> BoxFuture<'static, Ended> {
        let call = self.call.inner(self.next.fetch_add(1, Ordering::Relaxed) + 1);
        if !self.delegates || self.lease.is_over() {
            let reason =
                if self.delegates { "its own call has ended" } else { "its effects aren't Delegated" };
            let why = Why::new("nested", format!("this tool can't make further calls: {reason}"));
            let ended = Executor::refuse_inner(&self.parent, call, request, why);
            return Box::pin(std::future::ready(ended));
        }
        let running = self.executor.start_inner(&self.parent, call, request);
        Box::pin(running)
    }

    fn pause(&self) -> Box<dyn Any + Send> {
        Box::new(self.parent.watch.pause())
    }

    fn fill(&self, form: Form) -> BoxFuture<'static, Filled> {
        if self.lease.is_over() || !self.parent.session.approver().is_present() {
            return Box::pin(std::future::ready(Filled::Declined));
        }
        let (session, watch) = (Arc::clone(&self.parent.session), Arc::clone(&self.parent.watch));
        let cancel = self.parent.cancel.clone();
        let form = Form { call: self.call.clone(), ..form };
        Box::pin(async move {
            let _paused = watch.pause();
            tokio::select! {
                filled = timeout(ANSWER_TIME, session.approver().fill(form)) => {
                    filled.unwrap_or(Filled::Dismissed)
                }
                () = cancel.fired() => Filled::Dismissed,
            }
        })
    }
}
