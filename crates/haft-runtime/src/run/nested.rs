//! Calls made inside a call.

use super::Lease;
use crate::{executor::Executor, lend::Parent};
use haft_core::{BoxFuture, CallId, Ended, Nested, Request, Why};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

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
}
