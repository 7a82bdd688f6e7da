//! A command whose output people see as it comes, run to its end.

use super::seconds;
use haft_core::{Captured, Command, Cx, Exit, Failure, FailureKind, Output, Shape, Stdio, StopReason};
use std::time::Duration;

/// A command that ended by itself.
#[derive(Debug)]
pub(crate) struct Shown {
    /// How it ended.
    pub(crate) exit: Exit,
    /// Its output, bounded.
    pub(crate) captured: Captured,
    /// How long it ran.
    pub(crate) took: Duration,
}

/// Runs it; `late` says what it means that its deadline passed.
///
/// # Errors
/// As [`haft_core::Processes::run`], `late` and cancelled, each with the output there was until then.
pub(crate) async fn show(
    cx: &Cx,
    command: Command,
    late: impl FnOnce() -> Failure + Send,
) -> Result<Shown, Failure> {
    let started = cx.world.clock.now();
    let mut capture = cx.sink.capture(Shape::HeadTail);
    let exit = {
        let mut push = |_: Stdio, bytes: &[u8]| {
            capture.push(bytes);
            cx.partial(String::from_utf8_lossy(bytes));
        };
        cx.world.processes.run(command, &cx.cancel, &mut push).await
    };
    let took = cx.world.clock.now().duration_since(started).unwrap_or_default();
    let captured = capture.finish();
    match exit {
        Ok(exit) => match exit.reason {
            StopReason::Itself => Ok(Shown { exit, captured, took }),
            StopReason::Deadline => Err(with_partial(late(), captured)),
            StopReason::Cancelled => Err(with_partial(Failure::cancelled(), captured)),
        },
        Err(failure) => Err(with_partial(failure, captured)),
    }
}

/// What it means that a command took longer than it was given.
pub(crate) fn timed_out(deadline: Duration, longest: Duration) -> Failure {
    let advice = if deadline < longest {
        format!("pass a larger timeout (at most {}), or do less in one call", longest.as_millis())
    } else {
        "do less in one call".to_owned()
    };
    let text = format!(
        "timed out after {}; the whole process tree was stopped. To go on, {advice}",
        seconds(deadline)
    );
    // What ran may have had effects, so nobody should repeat it unasked.
    Failure { retryable: false, ..Failure::new(FailureKind::Timeout, text) }
}

/// The failure with the output there was until then.
pub(crate) fn with_partial(failure: Failure, captured: Captured) -> Failure {
    if captured.text.is_empty() {
        return failure;
    }
    let output = Output { shape: Shape::HeadTail, ..Output::text(captured.text) };
    failure.with_partial(Output { truncation: captured.truncation, ..output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_says_what_to_do_and_keeps_the_output() {
        let captured = Captured { text: "half".to_owned(), truncation: None };
        let longest = Duration::from_secs(600);
        let failure = with_partial(timed_out(Duration::from_secs(2), longest), captured);
        assert!(
            failure.text.starts_with("timed out after 2 s; the whole process tree was stopped."),
            "{failure}"
        );
        assert!(failure.text.contains("larger timeout (at most 600000)") && !failure.retryable);
        assert_eq!(failure.partial.unwrap().joined_text(), "half");
        assert!(!timed_out(longest, longest).text.contains("larger timeout"));
    }
}
