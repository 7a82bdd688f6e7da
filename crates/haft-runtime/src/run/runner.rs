//! Runs a bound tool in a task of its own, so that one that hangs, panics or ignores its cancel can't hold the
//! session.

use crate::call::Notes;

use super::{CallSink, Lease, Stopwatch};
use haft_core::{AnyTool, Block, Bound, Cancel, Cx, Failure, FailureKind, Output, World};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

/// How long a tool may take to end after its token fired: the 2 s its processes have, and a little to report.
pub(crate) const STOP_TIME: Duration = Duration::from_millis(2_800);
/// How long a cleanup may take.
pub(crate) const CLEANUP_TIME: Duration = Duration::from_secs(2);

/// All that a run needs.
pub(crate) struct RunTask {
    pub(crate) tool: Arc<dyn AnyTool>,
    pub(crate) bound: Box<dyn Bound>,
    pub(crate) input: Arc<Value>,
    pub(crate) cx: Cx,
    pub(crate) sink: Arc<CallSink>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) watch: Stopwatch,
    /// Unleased, for the cleanup's own lease.
    pub(crate) world: World,
    pub(crate) notes: Notes,
}

/// How a run ended.
pub(crate) enum Ran {
    /// The tool returned.
    Returned(Output),
    /// The tool failed by itself.
    Failed(Failure),
    /// Its time ran out; with what the tool still said.
    TimedOut(Option<Failure>),
    /// It was cancelled; with what the tool still said.
    Cancelled(Option<Failure>),
}

/// Runs it to its end, which comes at the latest [`STOP_TIME`] + [`CLEANUP_TIME`] after its token fired.
pub(crate) async fn run(task: RunTask) -> Ran {
    let RunTask { tool, bound, input, cx, sink, lease, watch, world, notes } = task;
    let cancel = cx.cancel.clone();
    let own = cx.clone();
    // Within the task, so that a panic before the first await is the task's too.
    let mut handle = tokio::spawn(async move { bound.run(own).await });
    // Most tools are done at once; then no timer is set.
    step_aside().await;
    let why = tokio::select! {
        biased;
        done = &mut handle => {
            lease.end();
            return with_warning(finished(done), &lease);
        }
        () = cancel.fired() => Stop::Cancelled,
        () = watch.expired() => Stop::TimedOut,
        () = sink.pass_on() => Stop::Cancelled,
    };
    cancel.fire();
    let last_word = stop(handle, &notes).await;
    // From here on the old handles are dead; the cleanup gets the world once more, through a lease of its own.
    lease.end();
    let own = lease.again();
    let cx = Cx { world: own.lend(&world), cancel: Cancel::new(), ..cx };
    tidy(tool, input, cx, &notes).await;
    own.end();
    match why {
        Stop::TimedOut => Ran::TimedOut(last_word),
        Stop::Cancelled => Ran::Cancelled(last_word),
    }
}

/// A change that can't be undone is told with the result, not only when it is to be undone.
fn with_warning(ran: Ran, lease: &Lease) -> Ran {
    match (ran, lease.warning()) {
        (Ran::Returned(mut output), Some(warning)) => {
            output.content.push(Block::text(warning));
            Ran::Returned(output)
        }
        (ran, _) => ran,
    }
}

/// Lets other tasks of this thread run once. Not tokio's own yield, which comes back only when the thread is
/// idle: a tool that blocks it must not keep this task from being taken over by another thread.
async fn step_aside() {
    let mut has_stepped = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_stepped, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

enum Stop {
    TimedOut,
    Cancelled,
}

fn finished(done: Result<Result<Output, Failure>, tokio::task::JoinError>) -> Ran {
    match done {
        Ok(Ok(output)) => Ran::Returned(output),
        Ok(Err(failure)) => Ran::Failed(failure),
        Err(error) => Ran::Failed(panicked(error)),
    }
}

fn panicked(error: tokio::task::JoinError) -> Failure {
    let what = match error.try_into_panic() {
        Ok(payload) => payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without text".to_owned()),
        Err(error) => error.to_string(),
    };
    Failure::internal("the tool failed with a fault of its own. Try another way, or another tool.")
        .diagnose(what)
}

/// Gives the tool its grace, then leaves it behind; what it had to say in time is kept.
async fn stop(mut handle: JoinHandle<Result<Output, Failure>>, notes: &Notes) -> Option<Failure> {
    match timeout(STOP_TIME, &mut handle).await {
        Ok(Ok(Ok(output))) => Some(Failure::new(FailureKind::Cancelled, "").with_partial(output)),
        Ok(Ok(Err(failure))) => Some(failure),
        Ok(Err(_)) => None,
        Err(_) => {
            handle.abort();
            let notes = notes.clone();
            tokio::spawn(async move {
                let late = match handle.await {
                    Ok(Ok(_)) => "returned a result".to_owned(),
                    Ok(Err(failure)) => format!("failed: {failure}"),
                    Err(error) if error.is_cancelled() => "was ended".to_owned(),
                    Err(_) => "panicked".to_owned(),
                };
                notes.write(format!(
                    "the tool ignored its cancel and was left behind; later it {late}, which was discarded"
                ));
            });
            None
        }
    }
}

async fn tidy(tool: Arc<dyn AnyTool>, input: Arc<Value>, cx: Cx, notes: &Notes) {
    let cleanup = tokio::spawn(async move { tool.cleanup(input, cx).await });
    let abort = cleanup.abort_handle();
    match timeout(CLEANUP_TIME, cleanup).await {
        Ok(Ok(())) => {}
        // Logged, never in place of the first failure.
        Ok(Err(error)) => notes.write(format!("the tool's cleanup failed: {error}")),
        Err(_) => {
            abort.abort();
            notes.write("the tool's cleanup took too long and was left".to_owned());
        }
    }
}
