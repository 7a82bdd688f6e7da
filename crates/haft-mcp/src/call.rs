//! One call from its place in the order to its result, with what happens on the way told to its client.

use crate::{Front, encode, exchange::Exchange, fault::Fault, front::Registered, office::Office};
use futures::FutureExt;
use haft_core::{CallId, Event, Outcome, Progress, Request};
use haft_runtime::{EventStream, Seat};
use serde_json::{Map, json};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

/// How long calls may still work once the client has closed its side: a script that pipes its requests in and
/// closes gets the answers that are soon had. No longer, since to most clients closing is leaving, and they wait for
/// the server's end.
pub(crate) const FINISH_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a call may take to end once it was cancelled after that.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(3);

/// A tool call that has its place.
pub(crate) struct Call {
    /// The name in the catalogue.
    pub(crate) tool: String,
    /// The text of the arguments exactly as it came.
    pub(crate) arguments: String,
    /// The request's id, for the log.
    pub(crate) foreign_id: String,
    pub(crate) seat: Seat,
}

/// Starts the call; what becomes of it is told to the exchange.
pub(crate) fn start(office: &Arc<Office>, exchange: &Arc<Exchange>, call: Call) {
    let front: Arc<dyn Front> = exchange.clone();
    // Before it starts, so that nothing it says or asks is missed.
    let registered = office.fronts.register(call.seat.call().clone(), front);
    exchange.hear(&office.session);
    let (office, exchange) = (Arc::clone(office), Arc::clone(exchange));
    tokio::spawn(async move {
        let result = drive(&office, &exchange, call, registered).await;
        exchange.end(result);
        office.parked.outlast(&exchange).await;
    });
}

async fn drive(
    office: &Office,
    exchange: &Exchange,
    call: Call,
    _registered: Registered,
) -> Result<String, Fault> {
    // A call that panics would never be answered.
    AssertUnwindSafe(run(office, exchange, call))
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(Fault::internal("haft failed while it ran the call")))
}

/// Runs a call through the executor; the result is JSON text.
///
/// # Errors
/// There is no such tool, which the protocol counts among its own errors. The log has the call all the same.
async fn run(office: &Office, exchange: &Exchange, call: Call) -> Result<String, Fault> {
    let Call { tool, arguments, foreign_id, seat } = call;
    let request = Request { foreign_id: Some(foreign_id), ..Request::new(tool, arguments) };
    let running = office.executor.start(&office.session, seat, request);
    let (id, cancel) = (running.id.clone(), running.cancel.clone());
    let stop = async {
        tokio::select! {
            () = exchange.cancel.cancelled() => {}
            () = exchange.left_alone() => {}
        }
    };
    let abandoned = async {
        office.ending.cancelled().await;
        tokio::time::sleep(END_TIMEOUT).await;
    };
    tokio::pin!(running, stop, abandoned);
    let (mut heard, mut is_stopped) = (None, false);
    let ended = loop {
        tokio::select! {
            biased;
            event = next(exchange, &mut heard), if !is_stopped => tell(exchange, &id, &event),
            ended = &mut running => break ended,
            () = &mut stop, if !is_stopped => {
                is_stopped = true;
                heard = None;
                cancel.fire();
            }
            () = &mut abandoned => return Err(Fault::internal("the call outlived its client")),
        }
    };
    // What was said before the call ended.
    if heard.is_none() && !is_stopped {
        heard = exchange.heard_so_far();
    }
    while let Some(event) = heard.as_mut().and_then(EventStream::try_next) {
        tell(exchange, &id, &event);
    }
    match ended.outcome {
        // Where a call inside had a name that leads nowhere, the model that wrote it can mend it.
        Outcome::Unknown if ended.owner.is_none() => Err(Fault::invalid_params(ended.output.joined_text())),
        _ => Ok(encode::ended(&ended, exchange.era(), &office.server)),
    }
}

/// The next of what happens, once somebody wants to hear of it.
async fn next(exchange: &Exchange, heard: &mut Option<EventStream>) -> Event {
    let heard = match heard {
        Some(heard) => heard,
        None => heard.insert(exchange.heard().await),
    };
    heard.next().await
}

/// Passes on what the call, or one inside it, says.
fn tell(exchange: &Exchange, call: &CallId, event: &Event) {
    let Event::Progress { call: of, progress } = event else { return };
    if of != call && !of.is_inside(call) {
        return;
    }
    let Some(message) = encode::progress_message(progress) else { return };
    exchange.say(&message);
    let level = match progress {
        Progress::Log(_) => "info",
        Progress::Warning(_) => "warning",
        _ => return,
    };
    let line = Map::from_iter([
        ("level".to_owned(), json!(level)),
        ("logger".to_owned(), json!("haft")),
        ("data".to_owned(), json!(message)),
    ]);
    exchange.log(&line);
}
