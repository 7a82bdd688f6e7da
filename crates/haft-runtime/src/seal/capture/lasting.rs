//! A stream that goes on beyond its call, and texts that are waited for in it.

use super::{State, wide};
use haft_core::Captured;

/// A stream that is looked at part by part while it goes on. Secrets are masked across the looks; each part is bounded,
/// and has a spill file of its own where it is long.
pub(crate) struct Lasting {
    state: State,
    wanted: Vec<Wanted>,
    next: u64,
}

/// A text that somebody waits for.
struct Wanted {
    number: u64,
    text: Vec<u8>,
    /// The end of what was looked through, in which the text may begin.
    before: Vec<u8>,
    is_found: bool,
}

impl Lasting {
    pub(super) fn new(state: State) -> Self {
        Self { state, wanted: Vec::new(), next: 0 }
    }

    /// Takes what was printed.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (wanted, state) = (&mut self.wanted, &mut self.state);
        state.push_with(bytes, &mut |clean| wanted.iter_mut().for_each(|wanted| wanted.look(clean)));
    }

    /// Lets be seen what was held back for what might still have come.
    pub(crate) fn settle(&mut self) {
        let (wanted, state) = (&mut self.wanted, &mut self.state);
        state.settle(&mut |clean| wanted.iter_mut().for_each(|wanted| wanted.look(clean)));
    }

    /// Nothing comes any more.
    pub(crate) fn end(&mut self) {
        let (wanted, state) = (&mut self.wanted, &mut self.state);
        state.end(&mut |clean| wanted.iter_mut().for_each(|wanted| wanted.look(clean)));
    }

    /// What there is since the last cut; the next part begins.
    pub(crate) fn cut(&mut self) -> Captured {
        self.state.cut()
    }

    /// How many bytes came since the last cut.
    pub(crate) fn unread(&self) -> u64 {
        self.state.raw_total.max(self.state.total_bytes)
    }

    /// Waits for a text from here on, and in what came since the last cut, as far as that is held.
    pub(crate) fn want(&mut self, text: &str) -> u64 {
        self.next += 1;
        let mut wanted = Wanted { number: self.next, text: text.into(), before: Vec::new(), is_found: false };
        wanted.look(&self.state.head);
        if wide(self.state.head.len() + self.state.tail.len()) != self.state.total_bytes {
            // Something between the two isn't held.
            wanted.before.clear();
        }
        wanted.look(self.state.tail.make_contiguous());
        self.wanted.push(wanted);
        self.next
    }

    /// Whether the text has come.
    pub(crate) fn has_come(&self, number: u64) -> bool {
        self.wanted.iter().any(|wanted| wanted.number == number && wanted.is_found)
    }

    /// Waits for it no longer.
    pub(crate) fn forget(&mut self, number: u64) {
        self.wanted.retain(|wanted| wanted.number != number);
    }
}

impl Wanted {
    fn look(&mut self, clean: &[u8]) {
        if self.is_found {
            return;
        }
        self.before.extend_from_slice(clean);
        self.is_found = memchr::memmem::find(&self.before, &self.text).is_some();
        let kept = self.text.len().saturating_sub(1);
        self.before.drain(..self.before.len().saturating_sub(kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{CaptureSlot, SpillStore};
    use haft_core::{CallId, Shape};

    fn lasting() -> Lasting {
        CaptureSlot::new(SpillStore::new(None, "s"), CallId::outer(1), 51_200).lasting(Shape::HeadTail)
    }

    #[test]
    fn each_look_gives_what_came_since_the_last_one() {
        let mut lasting = lasting();
        lasting.push(b"one\ntwo");
        assert_eq!((lasting.cut().text.as_str(), lasting.unread()), ("one\n", 0));
        // What might have gone on is seen once nothing comes.
        lasting.settle();
        assert_eq!(lasting.cut().text, "two");
        lasting.push(b" more\n");
        assert_eq!(lasting.cut().text, " more\n");
        assert_eq!(lasting.cut(), Captured::default());
        let long: String = (1..=60_000).map(|n| format!("{n}\n")).collect();
        lasting.push(long.as_bytes());
        let part = lasting.cut();
        assert_eq!(part.truncation.unwrap().total_lines, 60_000);
        lasting.push(b"last");
        lasting.end();
        assert_eq!(lasting.cut(), Captured { text: "last".to_owned(), truncation: None });
    }

    #[test]
    fn a_character_that_a_look_would_split_stays_whole() {
        let mut lasting = lasting();
        let text = "é✓😀\n".as_bytes();
        let mut seen = String::new();
        for byte in text {
            lasting.push(&[*byte]);
            lasting.settle();
            seen.push_str(&lasting.cut().text);
        }
        assert_eq!(seen, "é✓😀\n");
    }

    #[test]
    fn a_text_is_found_wherever_it_was_cut_and_also_in_what_was_there() {
        let mut lasting = lasting();
        lasting.push(b"server is up\n");
        let there = lasting.want("is up");
        let later = lasting.want("ready>");
        assert!(lasting.has_come(there) && !lasting.has_come(later));
        for piece in ["a\nre", "ad", "y> "] {
            assert!(!lasting.has_come(later), "{piece}");
            lasting.push(piece.as_bytes());
            lasting.settle();
        }
        assert!(lasting.has_come(later));
        lasting.forget(later);
        assert!(!lasting.has_come(later));
    }
}
