//! Several messages at once, as only revision 2025-03-26 has them: taken in one after another, answered by one array.
//!
//! Leaves the meaning of each to `peer`. Keeps "one answer for each that wants one, in the order of the messages".

use crate::{
    era::Era,
    fault::Fault,
    frame::{Frame, parse},
    peer::{Heard, Peer},
    reach::{Reach, Reply},
    work::{Work, refusal},
};
use serde::{
    Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

/// How many messages are read of one batch: their answers are kept until all of them are there.
pub(crate) const BATCH_MAX: usize = 256;

/// Hands each message of a batch on as raw text, one after another, so that none of them needs to be kept.
///
/// # Errors
/// It is no array, or breaks off: what came before that has been handed on.
pub(crate) fn each<'a>(text: &'a str, take: impl FnMut(&'a RawValue)) -> serde_json::Result<()> {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_seq(Pieces(take))?;
    json.end()
}

/// Visits them.
struct Pieces<F>(F);

impl<'de, F: FnMut(&'de RawValue)> Visitor<'de> for Pieces<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(message) = items.next_element::<&'de RawValue>()? {
            (self.0)(message);
        }
        Ok(())
    }
}

/// The messages of a batch as raw text.
#[derive(Debug, Default)]
struct Batch<'a> {
    /// The first of them, at most [`BATCH_MAX`].
    messages: Vec<&'a RawValue>,
    /// How many more there are.
    further: usize,
}

impl<'a> Batch<'a> {
    /// # Errors
    /// It is no array of JSON.
    fn read(text: &'a str) -> serde_json::Result<Self> {
        let mut batch = Self::default();
        each(text, |message| {
            if batch.messages.len() < BATCH_MAX {
                batch.messages.push(message);
            } else {
                batch.further += 1;
            }
        })?;
        Ok(batch)
    }
}

/// Takes the messages of a batch in, and gives what is to be worked on. What they come to goes by `via` once all of it is
/// there, as the reply to the whole; `era` says what a request is of.
///
/// # Errors
/// It is no batch, or too long a one: nothing of it was taken in.
pub(crate) fn take(
    peer: &Arc<Peer>,
    via: &Arc<dyn Reach>,
    text: &str,
    era: impl Fn(&Frame<'_>) -> Result<Era, Fault>,
) -> Result<Vec<Work>, Fault> {
    let batch = Batch::read(text).map_err(|error| Fault::not_json(&error.to_string()))?;
    if batch.messages.is_empty() {
        return Err(Fault::invalid_request("a batch has at least one message"));
    }
    if batch.further > 0 {
        let why =
            format!("a batch has at most {BATCH_MAX} messages; nothing of it was done, send it in parts");
        return Err(Fault::invalid_request(&why));
    }
    let mut works = Vec::new();
    for (message, way) in batch.messages.iter().zip(Part::open(via, batch.messages.len())) {
        let heard = match part(message.get(), &era) {
            Ok(frame) => peer.hear(&frame, &way, Era::Legacy),
            Err(refused) => refused,
        };
        match heard {
            Heard::Request(work) => works.push(work),
            Heard::Taken => way.close(None),
            Heard::Fault { raw_id, fault } => {
                way.close(Some(refusal(raw_id.as_deref(), &fault, Era::Legacy)));
            }
        }
    }
    Ok(works)
}

/// Reads one message of a batch; the error is what becomes of one that has no place there.
fn part(text: &str, era: impl Fn(&Frame<'_>) -> Result<Era, Fault>) -> Result<Frame<'_>, Heard> {
    if text.starts_with('[') {
        let why = "this is an array within an array; put its messages beside the others of the batch";
        return Err(Heard::Fault { raw_id: None, fault: Fault::invalid_request(why) });
    }
    let frame = parse(text);
    let Frame::Request(asked) = &frame else { return Ok(frame) };
    let fault = match era(&frame) {
        Ok(Era::Legacy) if asked.method != "initialize" => return Ok(frame),
        Ok(Era::Legacy) => Fault::invalid_request("initialize can't be part of a batch; send it by itself"),
        Ok(Era::Modern) => {
            Fault::invalid_request("a batch is of 2025-03-26 alone; send each request by itself")
        }
        Err(fault) => fault,
    };
    Err(Heard::Fault { raw_id: Some(asked.raw_id.to_owned()), fault })
}

/// What gathers the answers to one batch.
struct Gathering {
    via: Arc<dyn Reach>,
    open: Mutex<Open>,
}

struct Open {
    /// In the order of the messages; none where none is wanted, or it isn't there yet.
    replies: Vec<Option<String>>,
    waiting: usize,
}

/// The way of one message: what is said meanwhile goes out at once, its reply with those of the others.
struct Part {
    whole: Arc<Gathering>,
    at: usize,
}

impl Part {
    /// The ways of so many messages.
    fn open(via: &Arc<dyn Reach>, count: usize) -> Vec<Arc<dyn Reach>> {
        let open = Mutex::new(Open { replies: vec![None; count], waiting: count });
        let whole = Arc::new(Gathering { via: Arc::clone(via), open });
        let part = |at: usize| -> Arc<dyn Reach> { Arc::new(Self { whole: Arc::clone(&whole), at }) };
        (0..count).map(part).collect()
    }
}

impl Reach for Part {
    fn push(&self, text: String) -> io::Result<()> {
        self.whole.via.push(text)
    }

    fn tell(&self, text: String) -> io::Result<()> {
        self.whole.via.tell(text)
    }

    fn offer(&self, text: String) {
        self.whole.via.offer(text);
    }

    fn close(&self, reply: Option<Reply>) {
        let replies = {
            let mut open = self.whole.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(slot) = open.replies.get_mut(self.at) {
                *slot = reply.map(|reply| reply.text);
            }
            open.waiting = open.waiting.saturating_sub(1);
            if open.waiting > 0 {
                return;
            }
            std::mem::take(&mut open.replies)
        };
        let replies: Vec<String> = replies.into_iter().flatten().collect();
        // Where nothing wanted an answer there is none, not an empty array.
        let reply =
            (!replies.is_empty()).then(|| Reply { text: format!("[{}]", replies.join(",")), status: 200 });
        self.whole.via.close(reply);
    }

    fn can_ask(&self) -> bool {
        self.whole.via.can_ask()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_read_as_far_as_it_may_go_and_the_rest_counted() {
        let batch = Batch::read(r#"[ {"a": 1.50} , 7 ]"#).unwrap();
        let texts: Vec<&str> = batch.messages.iter().map(|message| message.get()).collect();
        assert_eq!((texts.as_slice(), batch.further), (&[r#"{"a": 1.50}"#, "7"][..], 0));
        let long = format!("[{}]", vec!["1"; BATCH_MAX + 3].join(","));
        let batch = Batch::read(&long).unwrap();
        assert_eq!((batch.messages.len(), batch.further), (BATCH_MAX, 3));
        for broken in ["[1,", "[1] 2", "{}"] {
            assert!(Batch::read(broken).is_err(), "{broken}");
        }
    }
}
