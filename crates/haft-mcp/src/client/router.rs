//! Open requests by id, and where all that a server says goes. Synchronous and bounded: it runs where the bytes come in.
//!
//! Keeps the invariants "each request gets one answer" and "what answers nothing is counted and dropped".

use super::{
    log::ServerLog,
    message::{self, Message},
    pulse::Pulse,
    refusal::Refusal,
};
use crate::{
    Front, RpcError,
    frame::Id,
    lines::{Line, LineBuffer, Overlong},
};
use haft_core::{Nested, Sink};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{mpsc, oneshot};

/// How many requests and changes of a server may wait to be looked at.
const ARRIVALS_MAX: usize = 64;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The server's result.
    Result(Value),
    /// The server's error.
    Error(RpcError),
    /// The connection ended first.
    Lost(String),
    /// The server refused the message that carried it.
    Refused(Refusal),
    /// The result was longer than is read.
    TooLong(usize),
}

/// What a server wants or says by itself.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// It asks this client something.
    Request {
        /// Its id as it was written.
        raw_id: String,
        method: String,
        params: Option<Value>,
        /// The request of ours during which it came, where that is known.
        about: Option<i64>,
    },
    /// It tells of something.
    Notification { method: String, params: Option<Value> },
}

/// A request that waits for its answer. Dropping it forgets the request: what comes for it later is counted.
pub(crate) struct Ticket {
    /// Its id.
    pub(crate) id: i64,
    /// Where the answer comes.
    pub(crate) answer: oneshot::Receiver<Answer>,
    /// Its signs of life.
    pub(crate) pulse: Arc<Pulse>,
    router: Arc<Router>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.router.lock().open.remove(&self.id);
    }
}

/// Who made a request, for what the server asks meanwhile.
#[derive(Clone, Default)]
pub(crate) struct Asker {
    /// Where progress goes.
    pub(crate) sink: Option<Arc<dyn Sink>>,
    /// Whom the server may ask.
    pub(crate) person: Option<Arc<dyn Nested>>,
    /// The client in front of haft that made the call, where one did.
    pub(crate) front: Option<Arc<dyn Front>>,
}

struct Open {
    answer: oneshot::Sender<Answer>,
    pulse: Arc<Pulse>,
    asker: Asker,
}

#[derive(Default)]
struct Inner {
    next: i64,
    open: BTreeMap<i64, Open>,
    /// Why nothing can be asked any more.
    lost: Option<String>,
}

/// The open requests of one connection.
pub(crate) struct Router {
    inner: Mutex<Inner>,
    arrivals: mpsc::Sender<Arrival>,
    log: Arc<ServerLog>,
}

impl Router {
    /// A router, and where what the server says by itself comes out.
    pub(crate) fn new(log: Arc<ServerLog>) -> (Arc<Self>, mpsc::Receiver<Arrival>) {
        let (arrivals, receiver) = mpsc::channel(ARRIVALS_MAX);
        (Arc::new(Self { inner: Mutex::default(), arrivals, log }), receiver)
    }

    /// Opens a request.
    ///
    /// # Errors
    /// Why the connection is lost.
    pub(crate) fn open(self: &Arc<Self>, asker: Asker) -> Result<Ticket, String> {
        let (sender, answer) = oneshot::channel();
        let pulse = Arc::new(Pulse::new(&asker));
        let mut inner = self.lock();
        if let Some(why) = &inner.lost {
            return Err(why.clone());
        }
        inner.next += 1;
        let id = inner.next;
        let open = Open { answer: sender, pulse: Arc::clone(&pulse), asker };
        inner.open.insert(id, open);
        drop(inner);
        Ok(Ticket { id, answer, pulse, router: Arc::clone(self) })
    }

    /// Answers a request from this side.
    pub(crate) fn settle(&self, id: i64, answer: Answer) {
        let open = self.lock().open.remove(&id);
        if let Some(open) = open {
            // Whoever asked has left.
            let _ = open.answer.send(answer);
        }
    }

    /// Whether a request still waits.
    pub(crate) fn waits(&self, id: i64) -> bool {
        self.lock().open.contains_key(&id)
    }

    /// Ends all requests; further ones are refused.
    pub(crate) fn lose(&self, why: &str) {
        let open = {
            let mut inner = self.lock();
            inner.lost.get_or_insert_with(|| why.to_owned());
            std::mem::take(&mut inner.open)
        };
        for request in open.into_values() {
            let _ = request.answer.send(Answer::Lost(why.to_owned()));
        }
    }

    /// Why the connection is lost, if it is.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lock().lost.clone()
    }

    /// Whom a server may ask that asks by itself: whoever made the request it came with, else the last one made.
    pub(crate) fn person(&self, about: Option<i64>) -> Option<(Asker, Arc<Pulse>)> {
        let inner = self.lock();
        let asked = |open: &Open| {
            let has_any = open.asker.person.is_some() || open.asker.front.is_some();
            has_any.then(|| (open.asker.clone(), Arc::clone(&open.pulse)))
        };
        match about.and_then(|id| inner.open.get(&id)) {
            Some(open) => asked(open),
            None => inner.open.values().rev().find_map(asked),
        }
    }

    /// Takes bytes of a stream of lines in.
    pub(crate) fn bytes(&self, buffer: &mut LineBuffer, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (used, line) = buffer.take(bytes);
            bytes = bytes.get(used..).unwrap_or_default();
            if let Some(line) = line {
                self.line(&line, buffer.overlong());
            }
        }
    }

    /// Takes the last line of a stream in, which had no end.
    pub(crate) fn end(&self, buffer: &mut LineBuffer) {
        if let Some(line) = buffer.end() {
            self.line(&line, buffer.overlong());
        }
    }

    fn line(&self, line: &Line, overlong: &Overlong) {
        match line {
            Line::Text(text) => self.text(text, None),
            Line::NotText => self.log.count(|odd| &mut odd.not_text),
            Line::TooLong => {
                self.log.count(|odd| &mut odd.overlong);
                self.overlong(overlong);
            }
        }
    }

    /// A result that is too long fails the request it was for, as far as that can be told.
    fn overlong(&self, overlong: &Overlong) {
        let open: Vec<i64> = self.lock().open.keys().copied().collect();
        let named = |ids: &[u8]| {
            let text = String::from_utf8_lossy(ids).replace(' ', "");
            let is_in = |id: &&i64| {
                text.contains(&format!("\"id\":{id},")) || text.contains(&format!("\"id\":{id}}}"))
            };
            open.iter().find(is_in).copied()
        };
        let only = || <[i64; 1]>::try_from(open.as_slice()).ok().map(|[id]| id);
        if let Some(id) = named(&overlong.head).or_else(|| named(&overlong.tail)).or_else(only) {
            self.settle(id, Answer::TooLong(overlong.bytes));
        }
    }

    /// Takes one text in; `about` is the request of ours that it came with.
    pub(crate) fn text(&self, text: &str, about: Option<i64>) {
        let seen = message::read(text, |message| self.message(message, about));
        if seen.taken == 0 {
            self.log.noise(text);
        }
        if seen.further > 0 {
            self.log.leave_out(seen.further);
        }
    }

    fn message(&self, message: Message<'_>, about: Option<i64>) {
        match message {
            Message::Reply { id, result } => self.reply(id, result, about),
            Message::Request { raw_id, method, params } => {
                self.arrive(Arrival::Request { raw_id: raw_id.to_owned(), method, params, about });
            }
            Message::Notification { method, params } => match (method.as_str(), params) {
                ("notifications/progress", Some(params)) => self.progress(&params),
                ("notifications/message", Some(params)) => self.logged(&params, about),
                (_, params) => self.arrive(Arrival::Notification { method, params }),
            },
        }
    }

    fn reply(&self, id: Option<Id>, result: Result<Value, RpcError>, about: Option<i64>) {
        let id = match id {
            Some(Id::Number(number)) => Some(number),
            Some(Id::Text(_)) => None,
            // An error without an id is about what couldn't be read; where one request waits, about that.
            None => about.or_else(|| {
                let inner = self.lock();
                (inner.open.len() == 1).then(|| inner.open.keys().next().copied()).flatten()
            }),
        };
        let Some(id) = id.filter(|id| self.waits(*id)) else {
            self.log.count(|odd| &mut odd.unasked);
            return;
        };
        let answer = match result {
            Ok(result) => Answer::Result(result),
            Err(error) => Answer::Error(error),
        };
        self.settle(id, answer);
    }

    /// The token of a request's progress is its id.
    fn progress(&self, params: &Value) {
        let token = params.get("progressToken").and_then(|token| match token {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        });
        let pulse = token.and_then(|id| self.lock().open.get(&id).map(|open| Arc::clone(&open.pulse)));
        match pulse {
            Some(pulse) => pulse.progress(params),
            None => self.log.count(|odd| &mut odd.unasked),
        }
    }

    /// A line of the server's own log goes into that of this client, and to whoever made the call.
    fn logged(&self, params: &Value, about: Option<i64>) {
        self.log.line(&logged(params));
        let front = self.person(about).and_then(|(asker, _)| asker.front);
        if let (Some(front), Some(line)) = (front, params.as_object()) {
            front.log(line);
        }
    }

    fn arrive(&self, arrival: Arrival) {
        if self.arrivals.try_send(arrival).is_err() {
            self.log.count(|odd| &mut odd.left_out);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line of the server's own log.
fn logged(params: &Value) -> String {
    let level = params.get("level").and_then(Value::as_str).unwrap_or("log");
    match params.get("data") {
        Some(Value::String(text)) => format!("[{level}] {text}"),
        Some(data) => format!("[{level}] {data}"),
        None => format!("[{level}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{batch::BATCH_MAX, lines::LINE_MAX_BYTES};
    use serde_json::json;
    use std::time::Duration;
    use tokio::time::{advance, timeout};

    fn router() -> (Arc<Router>, mpsc::Receiver<Arrival>, Arc<ServerLog>) {
        let log = Arc::new(ServerLog::default());
        let (router, arrivals) = Router::new(Arc::clone(&log));
        (router, arrivals, log)
    }

    fn open(router: &Arc<Router>) -> Ticket {
        router.open(Asker::default()).unwrap()
    }

    #[tokio::test]
    async fn each_request_gets_its_own_answer_and_only_one() {
        let (router, _arrivals, log) = router();
        let (mut first, mut second) = (open(&router), open(&router));
        router.text(r#"{"jsonrpc":"2.0","id":2,"result":{"n":2}}"#, None);
        router.text(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#, None);
        for odd in ["{\"id\":2,\"result\":{}}", "{\"id\":7,\"result\":{}}", "{\"id\":\"1\",\"result\":{}}"] {
            router.text(odd, None);
        }
        assert!(matches!((&mut second.answer).await, Ok(Answer::Result(value)) if value == json!({"n": 2})));
        assert!(matches!((&mut first.answer).await, Ok(Answer::Error(error)) if error.message == "no"));
        assert_eq!(log.oddities().unasked, 3);
    }

    #[tokio::test]
    async fn a_reply_far_down_a_batch_reaches_its_request() {
        let (router, _arrivals, log) = router();
        let mut ticket = open(&router);
        let unasked = vec![r#"{"id":7,"result":{}}"#; BATCH_MAX + 1].join(",");
        router.text(&format!(r#"[{unasked},{{"method":"n"}},{{"id":1,"result":{{"n":1}}}}]"#), None);
        assert!(matches!((&mut ticket.answer).await, Ok(Answer::Result(value)) if value == json!({"n": 1})));
        assert_eq!((log.oddities().unasked, log.oddities().left_out), (BATCH_MAX + 1, 1));
    }

    #[tokio::test]
    async fn a_late_answer_is_dropped_and_a_lost_connection_answers_all() {
        let (router, _arrivals, log) = router();
        drop(open(&router));
        router.text(r#"{"id":1,"result":{}}"#, None);
        assert_eq!(log.oddities().unasked, 1);
        let mut waiting = open(&router);
        router.lose("it crashed");
        router.lose("later");
        assert!(matches!((&mut waiting.answer).await, Ok(Answer::Lost(why)) if why == "it crashed"));
        assert_eq!(router.open(Asker::default()).err().as_deref(), Some("it crashed"));
    }

    #[tokio::test]
    async fn an_error_without_id_is_about_the_only_request() {
        let (router, _arrivals, _log) = router();
        let mut only = open(&router);
        router.text(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}"#, None);
        assert!(matches!((&mut only.answer).await, Ok(Answer::Error(_))));
    }

    #[tokio::test]
    async fn a_result_that_is_too_long_fails_the_request_it_was_for() {
        let (router, _arrivals, log) = router();
        let mut buffer = LineBuffer::new(100);
        for (line, at) in [
            (format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}\n", "x".repeat(5_000)), 1),
            (format!("{{\"result\":\"{}\",\"jsonrpc\":\"2.0\", \"id\": 3}}\n", "x".repeat(5_000)), 3),
        ] {
            let (mut one, mut two) = (open(&router), open(&router));
            router.bytes(&mut buffer, line.as_bytes());
            let named = if one.id == at { &mut one } else { &mut two };
            assert!(matches!((&mut named.answer).await, Ok(Answer::TooLong(bytes)) if bytes > 5_000), "{at}");
        }
        assert_eq!(log.oddities().overlong, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn case_f35_progress_is_a_sign_of_life_and_silence_is_none() {
        let (router, _arrivals, log) = router();
        let ticket = open(&router);
        for _ in 0..8 {
            advance(Duration::from_secs(1)).await;
            router.text(
                r#"{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
                None,
            );
        }
        let silence = ticket.pulse.silent_for(Duration::from_secs(3));
        assert!(timeout(Duration::from_secs(2), silence).await.is_err());
        ticket.pulse.silent_for(Duration::from_secs(3)).await;
        router.text(r#"{"method":"notifications/progress","params":{"progressToken":9,"progress":1}}"#, None);
        assert_eq!(log.oddities().unasked, 1);
        let held = ticket.pulse.hold();
        assert!(
            timeout(Duration::from_secs(60), ticket.pulse.silent_for(Duration::from_secs(3))).await.is_err()
        );
        drop(held);
    }

    #[tokio::test]
    async fn noise_is_counted_and_kept_and_the_messages_around_it_are_read() {
        let (router, mut arrivals, log) = router();
        let mut ticket = open(&router);
        let mut buffer = LineBuffer::new(LINE_MAX_BYTES);
        let stream = b"\xef\xbb\xbfServer started\r\n\xff\xfe\n\n{\"id\":1,\"result\":{}}\r\n{\"method\":\"n\"}\n{\"half\"";
        for piece in stream.chunks(3) {
            router.bytes(&mut buffer, piece);
        }
        router.end(&mut buffer);
        assert!(matches!((&mut ticket.answer).await, Ok(Answer::Result(_))));
        assert!(matches!(arrivals.recv().await, Some(Arrival::Notification { method, .. }) if method == "n"));
        assert_eq!((log.oddities().noise, log.oddities().not_text), (2, 1));
        assert_eq!(log.last(9).0[0], "Server started");
        for _ in 0..ARRIVALS_MAX + 2 {
            router.text("{\"method\":\"n\"}", None);
        }
        assert_eq!(log.oddities().left_out, 2);
    }
}
