//! One request that may need several rounds: the call behind it, who waits for it now, and what it asks them.
//!
//! To a client of the legacy era questions are requests of ours. One of the modern era gets them as the result of its
//! request, and comes back with the answers; meanwhile the call waits. Keeps "one call, however many rounds".

use crate::{
    Front, RpcError, asks::Asks, encode, era::Era, fault::Fault, level::Level, parked::PARK_TIMEOUT,
    reach::Reach, seal::Ticket,
};
use futures::future::try_join_all;
use haft_core::BoxFuture;
use haft_runtime::{EventStream, Session};
use serde_json::{Map, Value, json};
use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

/// Under which key haft's own questions stand among those of servers.
const OWN_KEY: &str = "haft_approval";

/// Who waits for a call, and how it is reached.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) era: Era,
    /// What it declares that it can do.
    pub(crate) capabilities: Map<String, Value>,
    /// The least level of log lines that it wants.
    pub(crate) level: Option<Level>,
    /// Under which it wants to hear of progress.
    pub(crate) token: Option<Value>,
    /// What of its `_meta` isn't the protocol's own.
    pub(crate) meta: Map<String, Value>,
    /// Where its messages go.
    pub(crate) via: Arc<dyn Reach>,
}

impl Caller {
    /// Whether it wants to hear what happens.
    fn wants_news(&self) -> bool {
        self.token.is_some() || self.level.is_some()
    }
}

/// What waiting for a call led to.
pub(crate) enum Turn {
    /// It is over; the result is JSON text.
    Ended(Result<String, Fault>),
    /// It asks for these first.
    Asks(Map<String, Value>),
}

/// One request and its call.
pub(crate) struct Exchange {
    /// Ends the call.
    pub(crate) cancel: CancellationToken,
    asks: Asks,
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    caller: Caller,
    /// What it asks a client of the modern era.
    open: Vec<Question>,
    last: u64,
    /// Answers that came before anything was asked.
    given: Map<String, Value>,
    ended: Option<Result<String, Fault>>,
    refusal: Option<RpcError>,
    /// The last number of progress.
    progress: Option<f64>,
    /// Under which the call waits for its client, and how often it did.
    ticket: Option<Ticket>,
    /// Until when the client may stay away; none while it waits itself.
    parked_until: Option<Instant>,
    /// Where the call happens, until somebody wants to hear of it.
    session: Option<Arc<Session>>,
    /// What happens since then, until whoever tells of it has taken it.
    heard: Option<EventStream>,
}

/// Requests that are answered together.
struct Question {
    number: u64,
    parts: Vec<Part>,
    sender: oneshot::Sender<Map<String, Value>>,
    whose: Whose,
    /// Whether the client has seen what is still unanswered.
    is_shown: bool,
}

struct Part {
    /// The key that the client sees.
    shown: String,
    /// The key that whoever asks knows.
    own: String,
    body: Value,
    answer: Option<Value>,
}

impl Exchange {
    /// A call for `caller`, which ends with `ending`; `given` are answers that came with its request.
    pub(crate) fn new(
        caller: Caller,
        given: Map<String, Value>,
        asks: Asks,
        ending: &CancellationToken,
    ) -> Arc<Self> {
        let state = State {
            caller,
            open: Vec::new(),
            last: 0,
            given,
            ended: None,
            refusal: None,
            progress: None,
            ticket: None,
            parked_until: None,
            session: None,
            heard: None,
        };
        Arc::new(Self {
            cancel: ending.child_token(),
            asks,
            state: Mutex::new(state),
            changed: Notify::new(),
        })
    }

    /// Waits until the call is over or asks something.
    pub(crate) async fn turn(&self) -> Turn {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let turn = self.lock().turn();
            match turn {
                Some(turn) => return turn,
                None => changed.await,
            }
        }
    }

    /// Says that the call is over.
    pub(crate) fn end(&self, result: Result<String, Fault>) {
        {
            let mut state = self.lock();
            let refusal = state.refusal.take();
            state.open.clear();
            state.ended = Some(match refusal {
                Some(error) => Err(error.into()),
                None => result,
            });
        }
        self.changed.notify_waiters();
    }

    /// The client goes away to answer; `number` is taken if it is the first time. None where the call has just ended, and
    /// nobody would look after what waits.
    pub(crate) fn park(&self, number: u64) -> Option<Ticket> {
        let ticket = {
            let mut state = self.lock();
            if state.ended.is_some() {
                return None;
            }
            let before = state.ticket.unwrap_or(Ticket { number, round: 0 });
            let ticket = Ticket { round: before.round + 1, ..before };
            state.ticket = Some(ticket);
            state.parked_until = Some(Instant::now() + PARK_TIMEOUT);
            ticket
        };
        self.changed.notify_waiters();
        Some(ticket)
    }

    /// The client is back with answers to a round's questions; whether it was waited for.
    pub(crate) fn resume(&self, round: u64, caller: Caller, answers: &Map<String, Value>) -> bool {
        {
            let mut state = self.lock();
            if !state.is_parked() || state.ticket.is_none_or(|ticket| ticket.round != round) {
                return false;
            }
            state.parked_until = None;
            state.caller = caller;
            // Before the call goes on, so that nothing it says is missed.
            state.hear();
            state.take_in(answers);
        }
        self.changed.notify_waiters();
        true
    }

    /// Under which number the call has waited.
    pub(crate) fn number(&self) -> Option<u64> {
        self.lock().ticket.map(|ticket| ticket.number)
    }

    /// Whether what asks runs already: it holds one of the places for running calls meanwhile.
    pub(crate) fn holds_place(&self) -> bool {
        self.lock().open.iter().any(|question| question.whose == Whose::Servers)
    }

    /// Waits until the client has stayed away for too long, whatever else is asked meanwhile.
    pub(crate) async fn left_alone(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let until = self.lock().parked_until;
            let Some(until) = until else {
                changed.await;
                continue;
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = sleep_until(until) => return,
            }
        }
    }

    /// The same, or until the client is back.
    pub(crate) async fn left_alone_or_taken(&self) {
        let taken = async {
            loop {
                let mut changed = pin!(self.changed.notified());
                changed.as_mut().enable();
                if !self.lock().is_parked() {
                    return;
                }
                changed.await;
            }
        };
        tokio::select! {
            () = taken => {}
            () = sleep(PARK_TIMEOUT) => {}
        }
    }

    /// The era of whoever waits.
    pub(crate) fn era(&self) -> Era {
        self.lock().caller.era
    }

    /// Has what happens in the call's session heard from when whoever waits wants it: now, or once it comes back.
    pub(crate) fn hear(&self, session: &Arc<Session>) {
        let mut state = self.lock();
        state.session = Some(Arc::clone(session));
        state.hear();
    }

    /// What happens since somebody wanted to hear of it; waits until then, and gives it once.
    ///
    /// # Cancellation
    /// Safe: what is heard stays here.
    pub(crate) async fn heard(&self) -> EventStream {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let heard = self.heard_so_far();
            match heard {
                Some(heard) => return heard,
                None => changed.await,
            }
        }
    }

    /// The same without waiting.
    pub(crate) fn heard_so_far(&self) -> Option<EventStream> {
        self.lock().heard.take()
    }

    /// Says one step of progress in words, counted on from the last.
    pub(crate) fn say(&self, message: &str) {
        let mut state = self.lock();
        let next = state.progress.map_or(1.0, |last| last.floor() + 1.0);
        // A whole number, as clients expect of one that only counts.
        let next = format!("{next:.0}").parse().unwrap_or(Value::Null);
        let step = Map::from_iter([("progress".to_owned(), next), ("message".to_owned(), json!(message))]);
        state.progress(&step);
    }

    /// Puts requests to a client of the modern era.
    async fn put(&self, requests: Map<String, Value>, whose: Whose) -> Result<Map<String, Value>, RpcError> {
        let (sender, receiver) = oneshot::channel();
        let number = self.lock().open(requests, sender, whose);
        self.changed.notify_waiters();
        let _open = Withdrawn { exchange: self, number };
        receiver.await.map_err(|_| RpcError::internal("the call ended before the client had answered"))
    }

    async fn ask_all(
        &self,
        requests: Map<String, Value>,
        whose: Whose,
    ) -> Result<Map<String, Value>, RpcError> {
        tokio::select! {
            answers = self.put_all(requests, whose) => answers,
            () = self.cancel.cancelled() => Err(RpcError::internal("the call was cancelled")),
        }
    }

    async fn put_all(
        &self,
        requests: Map<String, Value>,
        whose: Whose,
    ) -> Result<Map<String, Value>, RpcError> {
        let (era, via) = {
            let state = self.lock();
            let can_do = &state.caller.capabilities;
            if let Some(lacking) = requests.values().find_map(|request| lacking(can_do, request)) {
                return Err(RpcError::missing_capability(&[lacking]));
            }
            (state.caller.era, Arc::clone(&state.caller.via))
        };
        if era == Era::Modern {
            return self.put(requests, whose).await;
        }
        let each = requests.into_iter().map(|(key, request)| {
            let (asks, via) = (&self.asks, &via);
            async move {
                let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
                let answer = asks.put(via, method, request.get("params")).await?;
                Ok::<_, RpcError>((key, Value::Object(answer)))
            }
        });
        let answers = match whose {
            // They have a deadline where they are put.
            Whose::Own => try_join_all(each).await,
            // As long as one of the modern era may stay away.
            Whose::Servers => timeout(PARK_TIMEOUT, try_join_all(each))
                .await
                .unwrap_or_else(|_| Err(RpcError::internal("the client didn't answer in time"))),
        };
        answers.map(Map::from_iter)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Front for Exchange {
    fn capabilities(&self) -> Map<String, Value> {
        self.lock().caller.capabilities.clone()
    }

    fn meta(&self) -> Map<String, Value> {
        self.lock().caller.meta.clone()
    }

    fn ask(&self, requests: Map<String, Value>) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>> {
        Box::pin(self.ask_all(requests, Whose::Servers))
    }

    fn ask_person(&self, request: Value) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(async move {
            let requests = Map::from_iter([(OWN_KEY.to_owned(), request)]);
            let mut answers = self.ask_all(requests, Whose::Own).await?;
            answers.remove(OWN_KEY).ok_or_else(|| RpcError::internal("the client left the question out"))
        })
    }

    fn progress(&self, step: &Map<String, Value>) {
        self.lock().progress(step);
    }

    fn log_level(&self) -> Option<String> {
        self.lock().caller.level.map(|level| level.name().to_owned())
    }

    fn log(&self, line: &Map<String, Value>) {
        let level = line.get("level").and_then(Value::as_str).and_then(Level::parse);
        let state = self.lock();
        let is_wanted = state.caller.level.is_some_and(|least| level.is_some_and(|level| level >= least));
        if is_wanted && !state.is_parked() {
            state.caller.via.offer(encode::note("notifications/message", line));
        }
    }

    fn refuse(&self, error: RpcError) {
        self.lock().refusal.get_or_insert(error);
    }
}

/// Whose questions they are. What came before anything was asked may answer a server's, never haft's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Servers,
}

impl State {
    fn turn(&mut self) -> Option<Turn> {
        if let Some(ended) = self.ended.take() {
            return Some(Turn::Ended(ended));
        }
        if self.is_parked() || self.open.iter().all(|question| question.is_shown) {
            return None;
        }
        let mut requests = Map::new();
        for question in &mut self.open {
            question.is_shown = true;
            for part in question.parts.iter().filter(|part| part.answer.is_none()) {
                requests.insert(part.shown.clone(), part.body.clone());
            }
        }
        Some(Turn::Asks(requests))
    }

    fn is_parked(&self) -> bool {
        self.parked_until.is_some()
    }

    /// Hears from now on what happens, where that is wanted.
    fn hear(&mut self) {
        if self.caller.wants_news()
            && let Some(session) = self.session.take()
        {
            self.heard = Some(session.events());
        }
    }

    fn open(
        &mut self,
        requests: Map<String, Value>,
        sender: oneshot::Sender<Map<String, Value>>,
        whose: Whose,
    ) -> u64 {
        self.last += 1;
        let mut parts = Vec::with_capacity(requests.len());
        for (own, body) in requests {
            let answer = if whose == Whose::Servers { self.given.remove(&own) } else { None };
            let shown = self.free_key(&own, &parts);
            parts.push(Part { shown, own, body, answer });
        }
        self.open.push(Question { number: self.last, parts, sender, whose, is_shown: false });
        let number = self.last;
        self.settle();
        number
    }

    /// The key itself, unless a question that is open has it, or another part of its own.
    fn free_key(&self, own: &str, siblings: &[Part]) -> String {
        let is_free = |key: &str| {
            let mut parts = self.open.iter().flat_map(|question| &question.parts).chain(siblings);
            parts.all(|part| part.shown != key)
        };
        if is_free(own) {
            return own.to_owned();
        }
        let mut numbered = (2_u64..).map(|number| format!("{own}_{number}"));
        numbered.find(|key| is_free(key)).unwrap_or_default()
    }

    fn take_in(&mut self, answers: &Map<String, Value>) {
        for question in &mut self.open {
            // One that wasn't shown may have the key of one that was, and was withdrawn since.
            let is_shown = question.is_shown;
            for part in question.parts.iter_mut().filter(|part| is_shown && part.answer.is_none()) {
                part.answer = answers.get(&part.shown).cloned();
            }
            // What is missing is asked again.
            question.is_shown = false;
        }
        self.settle();
    }

    /// Gives whole sets of answers to whoever waits for them.
    fn settle(&mut self) {
        let is_whole = |question: &Question| question.parts.iter().all(|part| part.answer.is_some());
        let (whole, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open).into_iter().partition(is_whole);
        self.open = open;
        for Question { parts, sender, .. } in whole {
            let answers = parts.into_iter().filter_map(|part| Some((part.own, part.answer?)));
            // Whoever asked may have gone.
            let _ = sender.send(answers.collect::<Map<_, _>>());
        }
    }

    fn progress(&mut self, step: &Map<String, Value>) {
        let Some(token) = self.caller.token.clone().filter(|_| !self.is_parked()) else { return };
        let Some(number) = step.get("progress").and_then(Value::as_f64) else { return };
        if self.progress.is_some_and(|last| number <= last) {
            return;
        }
        self.progress = Some(number);
        let mut params = Map::from_iter([("progressToken".to_owned(), token)]);
        let known = ["progress", "total", "message"];
        params.extend(known.iter().filter_map(|key| Some(((*key).to_owned(), step.get(*key)?.clone()))));
        self.caller.via.offer(encode::note("notifications/progress", &params));
    }
}

/// What a client must declare for a request and doesn't.
fn lacking(capabilities: &Map<String, Value>, request: &Value) -> Option<&'static str> {
    let needed = match request.get("method").and_then(Value::as_str)? {
        "elicitation/create" => {
            let mode = request.get("params").and_then(|params| params.get("mode")).and_then(Value::as_str);
            return (!elicits(capabilities, mode.unwrap_or("form"))).then_some("elicitation");
        }
        "sampling/createMessage" => "sampling",
        "roots/list" => "roots",
        _ => return None,
    };
    (!capabilities.contains_key(needed)).then_some(needed)
}

/// Whether a client shows forms, or opens addresses; one that doesn't say which shows forms.
pub(crate) fn elicits(capabilities: &Map<String, Value>, mode: &str) -> bool {
    let Some(modes) = capabilities.get("elicitation").and_then(Value::as_object) else { return false };
    let says = modes.contains_key("form") || modes.contains_key("url");
    modes.contains_key(mode) || (mode == "form" && !says)
}

/// A question whose asker has gone is withdrawn.
struct Withdrawn<'a> {
    exchange: &'a Exchange,
    number: u64,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        self.exchange.lock().open.retain(|question| question.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{outbox::Outbox, reach::Pipe};
    use futures::FutureExt;
    use tokio::io::sink;

    fn exchange(era: Era) -> Arc<Exchange> {
        let caller = Caller {
            era,
            capabilities: Map::from_iter([("elicitation".to_owned(), json!({}))]),
            level: None,
            token: None,
            meta: Map::new(),
            via: Arc::new(Pipe(Arc::new(Outbox::open(sink()).0))),
        };
        Exchange::new(caller, Map::new(), Asks::default(), &CancellationToken::new())
    }

    fn question() -> Value {
        json!({"method": "elicitation/create"})
    }

    fn questions() -> Map<String, Value> {
        Map::from_iter([("q".to_owned(), question())])
    }

    /// What is asked now, and the ticket under which the client goes away to answer it.
    async fn asked(exchange: &Exchange) -> (Map<String, Value>, Ticket) {
        let Turn::Asks(requests) = exchange.turn().await else { panic!("it asks") };
        (requests, exchange.park(1).unwrap())
    }

    fn back(exchange: &Exchange, ticket: Ticket) {
        let caller = exchange.lock().caller.clone();
        let answers = Map::from_iter([(OWN_KEY.to_owned(), json!({"action": "accept"}))]);
        assert!(exchange.resume(ticket.round, caller, &answers));
    }

    #[tokio::test]
    async fn an_answer_is_for_the_question_that_was_shown_and_no_later_one() {
        let exchange = exchange(Era::Modern);
        let mut first = exchange.ask_person(question());
        assert_eq!((&mut first).now_or_never(), None);
        let (shown, ticket) = asked(&exchange).await;
        drop(first);
        let mut second = exchange.ask_person(question());
        assert_eq!((&mut second).now_or_never(), None);
        back(&exchange, ticket);
        assert_eq!((&mut second).now_or_never(), None, "nobody has seen it");
        let (again, ticket) = asked(&exchange).await;
        assert_eq!(again, shown, "they look alike");
        back(&exchange, ticket);
        assert_eq!((&mut second).now_or_never(), Some(Ok(json!({"action": "accept"}))));
    }

    #[tokio::test]
    async fn a_call_that_has_ended_isnt_left_to_wait() {
        let exchange = exchange(Era::Modern);
        exchange.end(Ok("{}".to_owned()));
        assert_eq!(exchange.park(1), None);
        assert!(matches!(exchange.turn().await, Turn::Ended(Ok(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_legacy_client_has_as_long_to_answer_a_server() {
        let exchange = exchange(Era::Legacy);
        let begun = Instant::now();
        let answer = timeout(PARK_TIMEOUT * 2, exchange.ask(questions())).await.unwrap();
        assert!(answer.is_err() && begun.elapsed() >= PARK_TIMEOUT, "{answer:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_may_stay_away_as_long_whatever_else_is_asked_meanwhile() {
        let exchange = exchange(Era::Modern);
        let parked = Instant::now();
        exchange.park(1).unwrap();
        let more = async {
            for _ in 0..70 {
                sleep(PARK_TIMEOUT / 7).await;
                assert_eq!(exchange.ask(questions()).now_or_never(), None);
            }
        };
        tokio::select! {
            () = exchange.left_alone() => {}
            () = more => panic!("it is waited for still"),
        }
        assert!(parked.elapsed() < PARK_TIMEOUT * 2, "{:?}", parked.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_came_back_may_stay_away_again() {
        let exchange = exchange(Era::Modern);
        let first = exchange.park(1).unwrap();
        let mut waits = pin!(exchange.left_alone());
        assert!(timeout(PARK_TIMEOUT / 2, waits.as_mut()).await.is_err());
        back(&exchange, first);
        assert!(timeout(PARK_TIMEOUT, waits.as_mut()).await.is_err(), "it is here");
        exchange.park(1).unwrap();
        assert!(timeout(PARK_TIMEOUT / 2, waits.as_mut()).await.is_err());
        timeout(PARK_TIMEOUT, waits).await.unwrap();
    }
}
