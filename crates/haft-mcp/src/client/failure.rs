//! What went wrong with a server, in words for a model: what it was, and what to do next.

use super::{greet::GreetError, refusal::Refusal, wire::CallError};
use crate::RpcError;
use haft_core::{Failure, FailureKind};
use std::time::Duration;

/// How much of a server's own words is shown.
const WORDS_MAX_CHARS: usize = 2_000;

/// Why a call has no result. `what` is the tool, or whatever else was asked for.
pub(crate) fn of_call(server: &str, what: &str, error: CallError) -> Failure {
    match error {
        CallError::Rpc(error) => of_rpc(server, what, &error),
        CallError::Lost { why, may_have_run: true } => Failure {
            retryable: false,
            ..Failure::new(
                FailureKind::Unavailable,
                format!(
                    "the server {server} was lost while it worked on \"{what}\": {why}. It may have done it or not: look \
                     at what is there before you ask for it again."
                ),
            )
        },
        CallError::Lost { why, may_have_run: false } => Failure::new(
            FailureKind::Unavailable,
            format!("the server {server} couldn't be asked: {why}. Nothing was done; try again."),
        ),
        CallError::Refused(refusal) => of_refusal(server, &refusal),
        CallError::TooLong(bytes) => Failure::new(
            FailureKind::Internal,
            format!(
                "the result of \"{what}\" from the server {server} is longer than the 16 MiB that are read ({bytes} bytes): ask \
                 for less at once, or for a part of it"
            ),
        ),
        CallError::Silent(time) => Failure {
            retryable: false,
            ..Failure::new(
                FailureKind::Timeout,
                format!(
                    "the server {server} gave no sign of life for {} while it worked on \"{what}\", and was told to stop; it may \
                     have done a part of it. Look at what is there, then ask for less at once.",
                    seconds(time)
                ),
            )
        },
        CallError::Cancelled => Failure::cancelled(),
    }
}

fn of_rpc(server: &str, what: &str, error: &RpcError) -> Failure {
    let said: String = error.message.chars().take(WORDS_MAX_CHARS).collect();
    let kind = if error.code == RpcError::INVALID_PARAMS {
        FailureKind::InvalidInput
    } else {
        FailureKind::Internal
    };
    let data = error.data.as_ref().map(ToString::to_string).unwrap_or_default();
    let text = format!(
        "the server {server} answered \"{what}\" with an error ({}): {said}. Change the input if that says so; else try \
         another way.",
        error.code
    );
    if data.is_empty() { Failure::new(kind, text) } else { Failure::new(kind, text).diagnose(data) }
}

fn of_refusal(server: &str, refusal: &Refusal) -> Failure {
    let kind = match refusal.status {
        Some(401 | 403) => FailureKind::Permission,
        Some(404 | 405) => FailureKind::NotFound,
        _ => FailureKind::Unavailable,
    };
    Failure::new(kind, format!("the server {server} couldn't be asked: {}", refusal.text))
}

/// Why a server couldn't be started; `tail` is the end of what it wrote beside the protocol.
pub(crate) fn of_start(server: &str, error: GreetError, tail: &[String]) -> Failure {
    let (kind, why) = match error {
        GreetError::EndedOverProbe(why) => (FailureKind::Unavailable, why),
        GreetError::Foreign(why) => (FailureKind::Unavailable, format!("{why}; haft can't talk to it")),
        GreetError::Call(CallError::Lost { why, .. }) => (FailureKind::Unavailable, why),
        GreetError::Call(CallError::Rpc(error)) => (
            FailureKind::Unavailable,
            format!("it answered with an error ({}): {}", error.code, error.message),
        ),
        GreetError::Call(CallError::Refused(refusal)) => return of_refusal(server, &refusal),
        GreetError::Call(CallError::TooLong(_)) => {
            (FailureKind::Unavailable, "its answer is longer than the 16 MiB that are read".to_owned())
        }
        GreetError::Call(CallError::Silent(time)) => {
            (FailureKind::Timeout, format!("it gave no answer for {}", seconds(time)))
        }
        GreetError::Call(CallError::Cancelled) => return Failure::cancelled(),
    };
    let said = if tail.is_empty() { String::new() } else { format!("\n[stderr]\n{}", tail.join("\n")) };
    Failure::new(kind, format!("the server {server} couldn't be started: {why}{said}{}", advice(server)))
}

/// Where there is more to see.
fn advice(server: &str) -> String {
    format!("\nTell the user; `haft mcp test {server}` shows more.")
}

/// The same for whoever is looking there already.
pub(crate) fn without_advice(server: &str, mut failure: Failure) -> Failure {
    if let Some(text) = failure.text.strip_suffix(&advice(server)) {
        failure.text = text.to_owned();
    }
    failure
}

/// The time to start has passed.
pub(crate) fn of_slow_start(server: &str, time: Duration, tail: &[String]) -> Failure {
    let said = if tail.is_empty() { String::new() } else { format!("\n[stderr]\n{}", tail.join("\n")) };
    Failure::new(
        FailureKind::Timeout,
        format!(
            "the server {server} wasn't ready after {}{said}\nTry again later, or have `startTimeoutMs` raised in its settings.",
            seconds(time)
        ),
    )
}

/// It failed so often that it is let be for a while.
pub(crate) fn of_pause(server: &str, failures: u32, left: Duration, why: &str) -> Failure {
    Failure::new(
        FailureKind::Unavailable,
        format!(
            "the server {server} failed {failures} times in a row and is started again in {}: {why}",
            seconds(left + Duration::from_millis(999))
        ),
    )
}

fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{} s", time.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_tries_a_server_isnt_told_to_try_it() {
        let failure =
            of_start("s", GreetError::Foreign("it speaks nothing".to_owned()), &["boom".to_owned()]);
        assert!(failure.text.contains("haft mcp test s"), "{}", failure.text);
        let text = without_advice("s", failure).text;
        assert!(text.ends_with("boom") && !text.contains("haft mcp test"), "{text}");
    }

    #[test]
    fn each_failure_says_what_to_do_and_whether_it_may_be_repeated() {
        let lost = |may_have_run| CallError::Lost { why: "it crashed".to_owned(), may_have_run };
        let rpc = RpcError { code: RpcError::INVALID_PARAMS, message: "no id".to_owned(), data: None };
        let refused = |status| {
            CallError::Refused(Refusal { status: Some(status), text: "no".to_owned(), is_untouched: true })
        };
        for (error, kind, retryable, says) in [
            (lost(true), FailureKind::Unavailable, false, "may have done it or not"),
            (lost(false), FailureKind::Unavailable, true, "Nothing was done"),
            (CallError::Rpc(rpc), FailureKind::InvalidInput, false, "no id"),
            (refused(401), FailureKind::Permission, false, "no"),
            (refused(500), FailureKind::Unavailable, true, "no"),
            (CallError::TooLong(9), FailureKind::Internal, false, "ask for less"),
            (
                CallError::Silent(Duration::from_secs(3)),
                FailureKind::Timeout,
                false,
                "no sign of life for 3 s",
            ),
            (CallError::Cancelled, FailureKind::Cancelled, false, "cancelled"),
        ] {
            let failure = of_call("s", "t", error);
            assert_eq!((failure.kind, failure.retryable), (kind, retryable), "{}", failure.text);
            assert!(failure.text.contains(says), "{}", failure.text);
        }
    }
}
