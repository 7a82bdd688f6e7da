//! Asking a child from a place where nothing can be awaited: on a thread with a runtime of its own.

use haft_core::{Failure, FailureKind};
use std::{thread, time::Duration};
use tokio::{runtime::Builder, time::timeout};

/// Does the work on a thread of its own, and waits for it, `limit` at most.
///
/// # Errors
/// Unavailable where there is no thread; timeout.
pub(crate) fn apart<T, F>(limit: Duration, work: impl FnOnce() -> F + Send) -> Result<T, Failure>
where
    T: Send,
    F: Future<Output = T>,
{
    let none = || Failure::new(FailureKind::Unavailable, "the system gives no thread now; try again later");
    thread::scope(|scope| {
        let spawned = thread::Builder::new().spawn_scoped(scope, || {
            let runtime = Builder::new_current_thread().enable_all().build().map_err(|_| none())?;
            let done = runtime.block_on(async { timeout(limit, work()).await });
            runtime.shutdown_background();
            done.map_err(|_| {
                Failure::new(FailureKind::Timeout, format!("it took longer than {} s", limit.as_secs()))
            })
        });
        let thread = spawned.map_err(|_| none())?;
        thread.join().unwrap_or_else(|_| Err(Failure::internal("asking the module failed")))
    })
}
