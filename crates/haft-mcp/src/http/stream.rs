//! The messages of one way over HTTP: what was said for one request, or to a session besides its requests. They are
//! numbered from 1, and kept until they were taken; where they can be asked for again, a while longer.

use crate::reach::{Reach, Reply};
use hyper::body::Bytes;
use std::{
    collections::VecDeque,
    io,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, futures::Notified},
    time::sleep,
};

/// How many untaken messages there may be before what may be lost is lost.
const OFFERED_MAX: u64 = 64;
/// How many bytes of them.
const OFFERED_MAX_BYTES: usize = 256 * 1024;
/// How many bytes of taken messages are kept to be asked for again.
const KEPT_MAX_BYTES: usize = 4 * 1024 * 1024;

/// What kind of stream it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// Whether messages that were taken can be asked for again.
    pub(super) is_kept: bool,
    /// Whether requests of ours reach the client by it.
    pub(super) can_ask: bool,
}

/// One stream of messages.
pub(super) struct Stream {
    kind: Kind,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// UTF-8, the reply at the end.
    events: VecDeque<Bytes>,
    /// The number of the first that is kept, less one.
    dropped: u64,
    /// The last that was taken.
    taken: u64,
    kept_bytes: usize,
    /// Who reads it now; an earlier reader reads no more.
    reader: Option<u64>,
    last_reader: u64,
    is_closed: bool,
    /// What HTTP says with the reply, where there was one.
    status: Option<u16>,
}

/// What a stream begins with.
pub(super) enum First {
    /// The reply, and nothing before it.
    Reply { text: Bytes, status: u16 },
    /// Nothing: the client no longer wants it.
    Nothing,
    /// More than that, or it takes longer.
    Stream,
}

/// What comes next for a reader.
pub(super) enum Next {
    Event(Bytes),
    /// Nothing yet.
    Wait,
    /// Nothing more, or another reader has it now.
    End,
}

impl Stream {
    pub(super) fn new(kind: Kind) -> Arc<Self> {
        Arc::new(Self { kind, state: Mutex::default(), changed: Notify::new() })
    }

    /// Waits for the reply, or until it shows that there is more than that; at most `patience`.
    pub(super) async fn first(&self, patience: Duration) -> First {
        let decided = async {
            loop {
                let mut changed = pin!(self.changed.notified());
                changed.as_mut().enable();
                let first = self.lock().first();
                match first {
                    Some(first) => return first,
                    None => changed.await,
                }
            }
        };
        tokio::select! {
            biased;
            first = decided => first,
            () = sleep(patience) => First::Stream,
        }
    }

    /// Waits for the reply, whatever else is said.
    pub(super) async fn reply(&self) -> First {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let state = self.lock();
                if state.is_closed {
                    return state.reply().unwrap_or(First::Nothing);
                }
            }
            changed.await;
        }
    }

    /// A new reader takes over, from after message `after`; none where some of what follows isn't kept any more.
    pub(super) fn read_from(&self, after: u64) -> Option<u64> {
        let reader = {
            let mut state = self.lock();
            if after < state.dropped {
                return None;
            }
            state.last_reader += 1;
            state.reader = Some(state.last_reader);
            state.last_reader
        };
        self.changed.notify_waiters();
        Some(reader)
    }

    /// The last message that was taken.
    pub(super) fn taken(&self) -> u64 {
        self.lock().taken
    }

    /// The message after `after`, for a reader.
    pub(super) fn next(&self, after: u64, reader: u64) -> Next {
        let mut state = self.lock();
        if state.reader != Some(reader) {
            return Next::End;
        }
        let at = usize::try_from(after.saturating_sub(state.dropped)).unwrap_or(usize::MAX);
        let Some(event) = state.events.get(at).cloned() else {
            return if state.is_closed { Next::End } else { Next::Wait };
        };
        state.took(after + 1, self.kind.is_kept);
        Next::Event(event)
    }

    /// Fires when there may be something new.
    pub(super) fn changes(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Whether somebody reads it.
    pub(super) fn is_read(&self) -> bool {
        self.lock().reader.is_some()
    }

    /// A reader has gone.
    pub(super) fn left(&self, reader: u64) {
        let mut state = self.lock();
        if state.reader == Some(reader) {
            state.reader = None;
        }
    }

    /// Whether nothing more comes.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn add(&self, text: String) {
        {
            let mut state = self.lock();
            if state.is_closed {
                return;
            }
            state.events.push_back(text.into());
        }
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn first(&self) -> Option<First> {
        match (self.status, self.is_closed) {
            (Some(_), true) if self.events.len() == 1 => self.reply(),
            (None, true) if self.events.is_empty() => Some(First::Nothing),
            _ if self.events.is_empty() => None,
            _ => Some(First::Stream),
        }
    }

    fn reply(&self) -> Option<First> {
        Some(First::Reply { text: self.events.back()?.clone(), status: self.status? })
    }

    fn waiting(&self) -> u64 {
        let all = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        (self.dropped.saturating_add(all)).saturating_sub(self.taken)
    }

    fn untaken(&self) -> impl Iterator<Item = &Bytes> {
        let count = usize::try_from(self.waiting()).unwrap_or(usize::MAX);
        self.events.iter().rev().take(count)
    }

    fn waits(&self, text: &str) -> bool {
        self.untaken().any(|event| event == text)
    }

    /// Whether something may wait besides that could as well be lost.
    fn has_room(&self) -> bool {
        self.waiting() < OFFERED_MAX && self.untaken().map(Bytes::len).sum::<usize>() < OFFERED_MAX_BYTES
    }

    /// A message was taken; what isn't kept goes, and of what is the oldest.
    fn took(&mut self, number: u64, is_kept: bool) {
        if number <= self.taken {
            return;
        }
        let at = usize::try_from(number - self.dropped - 1).unwrap_or(usize::MAX);
        self.kept_bytes += self.events.get(at).map_or(0, Bytes::len);
        self.taken = number;
        while self.dropped < self.taken && (!is_kept || self.kept_bytes > KEPT_MAX_BYTES) {
            let Some(event) = self.events.pop_front() else { return };
            self.kept_bytes = self.kept_bytes.saturating_sub(event.len());
            self.dropped += 1;
        }
    }
}

impl Reach for Stream {
    fn push(&self, text: String) -> io::Result<()> {
        self.add(text);
        Ok(())
    }

    fn tell(&self, text: String) -> io::Result<()> {
        let waits = self.lock().waits(&text);
        if waits { Ok(()) } else { self.push(text) }
    }

    fn offer(&self, text: String) {
        let has_room = self.lock().has_room();
        if has_room {
            self.add(text);
        }
    }

    fn close(&self, reply: Option<Reply>) {
        {
            let mut state = self.lock();
            if state.is_closed {
                return;
            }
            state.is_closed = true;
            if let Some(Reply { text, status }) = reply {
                state.events.push_back(text.into());
                state.status = Some(status);
            }
        }
        self.changed.notify_waiters();
    }

    fn can_ask(&self) -> bool {
        self.kind.can_ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Kind = Kind { is_kept: true, can_ask: true };

    fn reply(text: &str) -> Reply {
        Reply { text: text.to_owned(), status: 200 }
    }

    fn texts(stream: &Stream, mut after: u64, reader: u64) -> Vec<String> {
        let mut seen = Vec::new();
        while let Next::Event(event) = stream.next(after, reader) {
            seen.push(String::from_utf8(event.to_vec()).unwrap());
            after += 1;
        }
        seen
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_alone_is_no_stream() {
        let alone = Stream::new(KEPT);
        alone.close(Some(reply("r")));
        let first = alone.first(Duration::ZERO).await;
        assert!(matches!(first, First::Reply { text, status: 200 } if text == "r"));
        assert!(matches!(alone.reply().await, First::Reply { text, .. } if text == "r"), "it is kept");
        let more = Stream::new(KEPT);
        more.offer("p".to_owned());
        more.close(Some(reply("r")));
        assert!(matches!(more.first(Duration::from_secs(9)).await, First::Stream));
        let none = Stream::new(KEPT);
        assert!(matches!(none.first(Duration::from_secs(9)).await, First::Stream), "it takes longer");
        none.close(None);
        assert!(matches!(none.first(Duration::from_secs(9)).await, First::Nothing));
    }

    #[test]
    fn what_was_taken_can_be_asked_for_again_by_another_reader() {
        let stream = Stream::new(KEPT);
        for text in ["1", "2", "3"] {
            stream.push(text.to_owned()).unwrap();
        }
        let first = stream.read_from(0).unwrap();
        assert_eq!(texts(&stream, 0, first), ["1", "2", "3"]);
        let second = stream.read_from(1).unwrap();
        assert!(matches!(stream.next(3, first), Next::End), "another reads it now");
        stream.close(Some(reply("4")));
        assert_eq!(texts(&stream, 1, second), ["2", "3", "4"]);
        assert!(matches!(stream.next(4, second), Next::End));
    }

    #[test]
    fn what_isnt_kept_is_gone_once_it_was_taken() {
        let stream = Stream::new(Kind { is_kept: false, can_ask: false });
        stream.push("1".to_owned()).unwrap();
        stream.push("2".to_owned()).unwrap();
        let reader = stream.read_from(0).unwrap();
        assert_eq!(texts(&stream, 0, reader), ["1", "2"]);
        assert_eq!(stream.read_from(1), None);
        assert!(stream.lock().events.is_empty());
    }

    #[test]
    fn what_may_be_lost_is_lost_where_nobody_takes_it() {
        let stream = Stream::new(KEPT);
        for number in 0..OFFERED_MAX * 2 {
            stream.offer(number.to_string());
        }
        stream.push("must".to_owned()).unwrap();
        let reader = stream.read_from(0).unwrap();
        let seen = texts(&stream, 0, reader);
        assert_eq!(u64::try_from(seen.len()).unwrap(), OFFERED_MAX + 1);
        assert_eq!(seen.last().map(String::as_str), Some("must"));
        let stream = Stream::new(KEPT);
        for _ in 0..8 {
            stream.offer("x".repeat(OFFERED_MAX_BYTES / 2));
        }
        let reader = stream.read_from(0).unwrap();
        assert_eq!(texts(&stream, 0, reader).len(), 2, "long ones are lost sooner");
    }

    #[test]
    fn the_same_news_wait_once() {
        let stream = Stream::new(KEPT);
        for text in ["a", "b", "a", "a"] {
            stream.tell(text.to_owned()).unwrap();
        }
        let reader = stream.read_from(0).unwrap();
        assert_eq!(texts(&stream, 0, reader), ["a", "b"]);
        stream.tell("a".to_owned()).unwrap();
        assert_eq!(texts(&stream, 2, reader), ["a"], "it is news again");
    }
}
