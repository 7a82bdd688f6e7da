//! A request from its place to its reply.

use crate::{
    about::About,
    encode,
    era::Era,
    exchange::{Exchange, Turn},
    fault::Fault,
    listen::Listening,
    office::Office,
    peer::{Peer, Working},
    place::Place,
    reach::{Reach, Reply},
    subscriptions::Subscribing,
};
use futures::FutureExt;
use std::{panic::AssertUnwindSafe, sync::Arc};
use tokio_util::sync::CancellationToken;

/// A request that is to be worked on.
pub(crate) struct Work {
    pub(crate) place: Place,
    /// Where its reply goes.
    pub(crate) via: Arc<dyn Reach>,
    pub(crate) era: Era,
    pub(crate) task: Task,
    pub(crate) peer: Arc<Peer>,
    pub(crate) working: Working,
}

/// What it wants.
pub(crate) enum Task {
    /// The result is known already.
    Known(String),
    /// The list of tools.
    Tools,
    /// What becomes of a call, and what it is about where it may ask its client by its result.
    Talk { exchange: Arc<Exchange>, about: Option<About> },
    /// To be told of changes in the modern era.
    Listen(Listening),
    /// To be told of one resource in the legacy era.
    Subscribe(Subscribing),
}

/// How it ends.
enum Answer {
    Result(String),
    Fault(Fault),
    /// Nobody wants one.
    Nothing,
}

impl Work {
    /// What fires when nobody wants the reply.
    pub(crate) fn cancelled(&self) -> CancellationToken {
        self.place.cancelled.clone()
    }

    /// Works on it and gives the reply.
    pub(crate) async fn perform(self) {
        let Self { place, via, era, task, peer, working } = self;
        // One that panics would never be answered.
        let answer = AssertUnwindSafe(answer(&peer, &place, task, era))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Answer::Fault(Fault::internal("haft failed while it worked on the request")));
        let reply = match answer {
            Answer::Result(result) => {
                Some(Reply { text: encode::reply(&place.raw_id, &result), status: 200 })
            }
            Answer::Fault(fault) => Some(refusal(Some(&place.raw_id), &fault, era)),
            Answer::Nothing => None,
        };
        let is_wanted = place.close();
        via.close(reply.filter(|_| is_wanted));
        drop(working);
    }
}

/// The reply to a request that is refused.
pub(crate) fn refusal(raw_id: Option<&str>, fault: &Fault, era: Era) -> Reply {
    // In the legacy era what was a request is answered by 200, whatever the answer.
    let status = if era == Era::Legacy && raw_id.is_some() { 200 } else { fault.status };
    Reply { text: encode::fault(raw_id, fault), status }
}

async fn answer(peer: &Peer, place: &Place, task: Task, era: Era) -> Answer {
    match task {
        Task::Known(result) => Answer::Result(result),
        Task::Tools => Answer::Result(tools(&peer.office, era).await),
        Task::Talk { exchange, about } => {
            let result = talk(&peer.office, place, &exchange, about.as_ref()).await;
            result.map_or_else(Answer::Fault, Answer::Result)
        }
        Task::Listen(listening) => {
            let told = listening.run(peer, place).await;
            told.map_or(Answer::Nothing, Answer::Result)
        }
        Task::Subscribe(subscribing) => tokio::select! {
            biased;
            () = place.cancelled.cancelled() => Answer::Nothing,
            () = peer.ending.cancelled() => Answer::Nothing,
            done = subscribing.settle(&peer.office) => {
                done.map_or_else(Answer::Fault, |()| Answer::Result("{}".to_owned()))
            }
        },
    }
}

async fn tools(office: &Office, era: Era) -> String {
    let snapshot = office.tools().await;
    // What a rule denies whole, nobody needs to see.
    let offers = snapshot.offers().filter(|offer| !office.session.denies(offer));
    encode::list(offers, era, &office.server)
}

/// Waits for a call, until it is over or asks its client something.
async fn talk(
    office: &Office,
    place: &Place,
    exchange: &Arc<Exchange>,
    about: Option<&About>,
) -> Result<String, Fault> {
    let mut is_cancelled = false;
    loop {
        let turn = tokio::select! {
            biased;
            turn = exchange.turn() => turn,
            () = place.cancelled.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                exchange.cancel.cancel();
                continue;
            }
        };
        match (turn, about) {
            (Turn::Ended(result), _) => return result,
            (Turn::Asks(requests), Some(about)) if !is_cancelled => {
                // One that has just ended says so in its next turn.
                let Some(ticket) = office.parked.park(exchange)? else { continue };
                let state = office.seal.close(ticket, &about.identity());
                return Ok(encode::input_required(&requests, &state, &office.server));
            }
            (Turn::Asks(_), _) => {
                exchange.cancel.cancel();
                let why = "a server asked for something where the protocol doesn't allow it";
                return Err(Fault::internal(why));
            }
        }
    }
}
