//! One call from its place to its result, with progress on the way.

use crate::{
    desk::Desk,
    encode::{self, Era},
    fault::Fault,
    place::Call,
};
use haft_core::{CallId, Event, Outcome};
use haft_runtime::EventStream;
use serde_json::Value;
use std::{future::pending, time::Duration};
use tokio_util::sync::CancellationToken;

/// How long calls may still work once the client has closed its side: a script that pipes its requests in and
/// closes gets its answers.
pub(crate) const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a call may take to end once it was cancelled after that. Below the SDK's own 5 s, so that nothing is
/// left behind by it.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(3);

/// Runs a call through the executor; the result is JSON text.
///
/// # Errors
/// There is no such tool, which the protocol counts among its own errors. The log has the call all the same.
///
/// # Cancellation
/// `cancelled` (the client no longer wants it) and the desk's end cancel the call and wait for its end.
pub(crate) async fn run(
    desk: &Desk,
    call: &Call,
    era: Era,
    cancelled: &CancellationToken,
) -> Result<String, Fault> {
    let Some(seat) = call.take_seat() else {
        return Err(Fault::internal("this call ran already"));
    };
    // Before the call starts, so that nothing it says is missed.
    let token = call.progress_token.clone();
    let mut forward = token.map(|token| Forward { events: desk.session.events(), token, count: 0 });
    let running = desk.executor.start(&desk.session, seat, call.request());
    let (id, cancel) = (running.id.clone(), running.cancel.clone());
    let abandoned = async {
        desk.ending.cancelled().await;
        tokio::time::sleep(END_TIMEOUT).await;
    };
    tokio::pin!(running, abandoned);
    let mut is_stopped = false;
    let ended = loop {
        tokio::select! {
            biased;
            () = next_progress(forward.as_mut(), desk, &id) => {}
            ended = &mut running => break ended,
            () = stop(cancelled, &desk.ending), if !is_stopped => {
                is_stopped = true;
                forward = None;
                cancel.fire();
            }
            () = &mut abandoned => return Err(Fault::internal("the call outlived its client")),
        }
    };
    if let Some(forward) = &mut forward {
        forward.rest(desk, &id);
    }
    match ended.outcome {
        Outcome::Unknown => Err(Fault::invalid_params(ended.output.joined_text())),
        _ => Ok(encode::ended(&ended, era, &desk.server)),
    }
}

async fn stop(cancelled: &CancellationToken, ending: &CancellationToken) {
    tokio::select! {
        () = cancelled.cancelled() => {}
        () = ending.cancelled() => {}
    }
}

async fn next_progress(forward: Option<&mut Forward>, desk: &Desk, call: &CallId) {
    match forward {
        Some(forward) => forward.next(desk, call).await,
        None => pending().await,
    }
}

/// Passes a call's progress on.
struct Forward {
    events: EventStream,
    token: Value,
    count: u64,
}

impl Forward {
    /// Passes the next event on and waits until it was written: a slow client loses progress, which the
    /// stream drops, and costs no memory.
    async fn next(&mut self, desk: &Desk, call: &CallId) {
        let event = self.events.next().await;
        if let Some(line) = self.line(&event, call) {
            // A client that can't be written to has left, which the next read notices.
            drop(desk.outbox.write(line).await);
        }
    }

    /// Passes on what was said before the call ended.
    fn rest(&mut self, desk: &Desk, call: &CallId) {
        while let Some(event) = self.events.try_next() {
            if let Some(line) = self.line(&event, call) {
                drop(desk.outbox.push(line));
            }
        }
    }

    fn line(&mut self, event: &Event, call: &CallId) -> Option<String> {
        let Event::Progress { call: of, progress } = event else {
            return None;
        };
        if of != call && !of.is_inside(call) {
            return None;
        }
        let message = encode::progress_message(progress)?;
        self.count += 1;
        Some(encode::progress(&self.token, self.count, &message))
    }
}
