//! Where secrets stand in a text.
//!
//! Whether a secret stands at a place is a function of a bounded window around it, so that a text may be looked
//! at in pieces: each hit of a word is judged once, as soon as its window is there, and judged the same however
//! the text was cut. Windows end with their line, except for keys in blocks and for exact values.

use super::{
    assigned, border,
    kinds::{BACK_MAX_BYTES, Check, KINDS, Kind, Place},
    known::Known,
    list, pem, rows,
    value::{self, Quotes},
    words::{Word, Words},
};
use aho_corasick::BuildError;
use memchr::{memchr, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use std::{
    cmp::Reverse,
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

/// A pattern sees at most so many bytes from its word on.
const WINDOW_MAX_BYTES: usize = 8 * 1024;
/// A pattern that looks back sees at most so many bytes from its word on.
const AROUND_MAX_BYTES: usize = 512;
/// What an earlier secret left of one that overlaps it is masked if it is at least so long.
const LEFTOVER_MIN_BYTES: usize = 6;
/// So many bytes before the next hit to judge must be kept.
pub(super) const CONTEXT_BYTES: usize = BACK_MAX_BYTES + border::LOOK_BACK_BYTES + rows::LOOK_BACK_BYTES;

/// One secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it stands.
    pub range: Range<usize>,
    /// The name of its kind, or of the configured value.
    pub kind: Arc<str>,
}

/// The words of secrets could not be put into one search.
#[derive(Debug, thiserror::Error)]
#[error("build the search for secrets")]
pub struct DetectorError(#[from] BuildError);

/// Knows the forms of secrets and the values of a configuration.
pub struct Detector {
    words: Words,
    /// Of each kind, compiled when its word first stands in a text.
    patterns: Vec<OnceLock<Option<Regex>>>,
    names: Vec<Arc<str>>,
    /// The kind of keys in blocks, which those without a header are of too.
    block: usize,
    known: Known,
}

/// Whether more text may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    None,
    Open,
}

/// What a look at one hit says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Nothing,
    Secret(Range<usize>),
    /// The values of a list.
    Several(Vec<Range<usize>>),
    /// It takes text that isn't there yet.
    Undecided,
}

/// A secret that others may overlap.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) range: Range<usize>,
    /// Exact values first, then kinds in their order.
    rank: usize,
    kind: Arc<str>,
}

/// What a look at a text found.
pub(super) struct Look {
    pub(super) candidates: Vec<Candidate>,
    /// All hits that begin before were judged.
    pub(super) until: usize,
}

impl Detector {
    /// A detector of all kinds, and of these named values with at least six bytes.
    ///
    /// # Errors
    /// If the values are too many and too long for one search.
    pub fn new(known: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, DetectorError> {
        Ok(Self {
            words: Words::new(),
            patterns: KINDS.iter().map(|_| OnceLock::new()).collect(),
            names: KINDS.iter().map(|kind| Arc::from(kind.name)).collect(),
            block: KINDS.iter().position(|kind| kind.place == Place::Block).unwrap_or_default(),
            known: Known::new(known)?,
        })
    }

    /// The secrets of a text in their order; none overlaps another.
    ///
    /// Of two that overlap, the one that begins first, then the longer, then the exact value, then the specific
    /// kind is taken; what it leaves of the other is taken too if it is six bytes or more.
    pub fn find(&self, text: &[u8]) -> Vec<Found> {
        let mut candidates = self.look(text, 0, Rest::None).candidates;
        settle(&mut candidates, 0, text.len() + 1)
    }

    /// Judges all hits that begin at `from` or later, as far as the text suffices.
    pub(super) fn look(&self, text: &[u8], from: usize, rest: Rest) -> Look {
        let mut until = match rest {
            Rest::None => text.len(),
            Rest::Open => self.whole_until(text).max(from),
        };
        let tail = text.get(from..).unwrap_or_default();
        let mut seen = Vec::new();
        self.words.find(tail).for_each(|(start, word)| {
            let at = from + start..from + start + word.text.len();
            if at.start >= until {
                return;
            }
            match self.judge(text, word, at.clone(), rest) {
                Sight::Nothing => {}
                Sight::Secret(range) => seen.push((at.start, self.candidate(word.kind, range))),
                Sight::Several(ranges) => {
                    seen.extend(ranges.into_iter().map(|range| (at.start, self.candidate(word.kind, range))));
                }
                Sight::Undecided => until = at.start,
            }
        });
        let mut line = first_line(text, from);
        while let Some(at) = line.filter(|at| *at < until) {
            match rows::run(text, at, rest) {
                Sight::Secret(range) => seen.push((at, self.candidate(self.block, range))),
                Sight::Undecided => until = at,
                Sight::Nothing | Sight::Several(_) => {}
            }
            line = next_line(text, at);
        }
        for (range, kind) in self.known.find(tail) {
            let range = from + range.start..from + range.end;
            seen.push((range.start, Candidate { range, rank: 0, kind }));
        }
        // A hit that was judged after an undecided one comes again.
        let candidates =
            seen.into_iter().filter(|(start, _)| *start < until).map(|(_, found)| found).collect();
        Look { candidates, until }
    }

    fn candidate(&self, kind: usize, range: Range<usize>) -> Candidate {
        Candidate { range, rank: kind + 1, kind: self.names.get(kind).cloned().unwrap_or_default() }
    }

    /// Up to where each word and value that begins there is whole.
    fn whole_until(&self, text: &[u8]) -> usize {
        let line = memrchr(b'\n', text).map_or(0, |end| end + 1);
        let words = (text.len() + 1).saturating_sub(self.words.longest()).max(line);
        words.min(self.known.whole_until(text, line))
    }

    fn judge(&self, text: &[u8], word: &Word, hit: Range<usize>, rest: Rest) -> Sight {
        let Some(kind) = KINDS.get(word.kind) else { return Sight::Nothing };
        if kind.place == Place::Head && !border::opens(text, hit.start) {
            return Sight::Nothing;
        }
        if kind.place == Place::Block {
            return pem::block(text, hit.start, rest);
        }
        let Some(end) = window_end(text, hit.start, rest) else { return Sight::Undecided };
        let range = match kind.place {
            Place::Assigned => {
                let (before, after) = (text.get(..hit.start), text.get(hit.end..end));
                let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                // These two are also the beginning of many words, and the end of some.
                if matches!(word.text, "pass" | "auth") && !stands_alone(before, after) {
                    return Sight::Nothing;
                }
                let value = assigned::value_after(before, after, kind.check)
                    .map(|range| hit.end + range.start..hit.end + range.end);
                if value.is_none() {
                    return list::values(text, hit, kind.check, rest);
                }
                value
            }
            _ => self.pattern_at(text, word.kind, hit, end),
        };
        range.map_or(Sight::Nothing, Sight::Secret)
    }

    fn pattern_at(&self, text: &[u8], index: usize, hit: Range<usize>, end: usize) -> Option<Range<usize>> {
        let kind = KINDS.get(index)?;
        let (start, end) = match kind.place {
            Place::Around(back) => (line_start(text, hit.start, back), end.min(hit.end + AROUND_MAX_BYTES)),
            Place::Near | Place::After => (hit.end, end),
            _ => (hit.start, end),
        };
        let found = self.pattern(index)?.captures(text.get(start..end)?)?.get(1)?;
        let range = start + found.start()..start + found.end();
        if matches!(kind.place, Place::Around(_))
            && !(range.start <= hit.start && hit.end <= range.end && border::opens(text, range.start))
        {
            return None;
        }
        // A letter or digit more is a longer word of another kind.
        let goes_on = range.end < end && text.get(range.end).is_some_and(u8::is_ascii_alphanumeric);
        (!goes_on && holds(kind, found.as_bytes(), text, &hit)).then_some(range)
    }

    fn pattern(&self, index: usize) -> Option<&Regex> {
        let compile = || {
            let source = KINDS.get(index).map(Kind::source)?;
            // That each one compiles is tested.
            RegexBuilder::new(&source).unicode(false).build().ok()
        };
        self.patterns.get(index)?.get_or_init(compile).as_ref()
    }
}

impl fmt::Debug for Detector {
    /// Without the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detector").field("kinds", &KINDS.len()).finish_non_exhaustive()
    }
}

/// Whether the secret is what its kind asks for.
fn holds(kind: &Kind, secret: &[u8], text: &[u8], hit: &Range<usize>) -> bool {
    match kind.check {
        Check::Form => !value::is_stand_in(secret),
        Check::Mixed => !value::is_stand_in(secret) && value::is_mixed(secret),
        Check::AllClasses => !value::is_stand_in(secret) && value::has_all_classes(secret),
        Check::Pair => value::is_pair(secret),
        Check::Address => value::is_address_password(secret),
        Check::Password => value::is_password(secret, Quotes::Around),
        Check::Given => value::is_given(secret),
        Check::LineStart => {
            let start = line_start(text, hit.start, BACK_MAX_BYTES);
            let before = text.get(start..hit.start).unwrap_or_default();
            before.iter().all(u8::is_ascii_whitespace) && value::is_password(secret, Quotes::None)
        }
        Check::Token => value::is_token(secret),
    }
}

/// Whether a short word is a name of its own, or one part of it.
fn stands_alone(before: &[u8], after: &[u8]) -> bool {
    !before.last().is_some_and(u8::is_ascii_alphanumeric)
        && !after.first().is_some_and(u8::is_ascii_alphabetic)
}

/// The end of the line or of the window that begins at `start`; nothing if neither is there yet.
fn window_end(text: &[u8], start: usize, rest: Rest) -> Option<usize> {
    let most = start + WINDOW_MAX_BYTES;
    let window = text.get(start..most.min(text.len())).unwrap_or_default();
    match memchr(b'\n', window) {
        Some(length) => Some(start + length),
        None if most <= text.len() || rest == Rest::None => Some(start + window.len()),
        None => None,
    }
}

/// The start of the line that `at` is in, but at most so many bytes before.
fn line_start(text: &[u8], at: usize, back: usize) -> usize {
    let start = at.saturating_sub(back);
    let before = text.get(start..at).unwrap_or_default();
    memrchr(b'\n', before).map_or(start, |end| start + end + 1)
}

/// The start of the first line that begins at `from` or later.
fn first_line(text: &[u8], from: usize) -> Option<usize> {
    match from.checked_sub(1) {
        None => Some(0),
        Some(before) => next_line(text, before),
    }
}

/// The start of the line after the one that `at` is in.
fn next_line(text: &[u8], at: usize) -> Option<usize> {
    memchr(b'\n', text.get(at..)?).map(|length| at + length + 1)
}

/// No hit at `looked` or later leads to a secret that begins before this.
pub(super) fn final_until(text: &[u8], looked: usize) -> usize {
    line_start(text, looked, BACK_MAX_BYTES)
}

/// Takes out the candidates that begin before `until` and gives each what those before it left, from `from` on.
pub(super) fn settle(candidates: &mut Vec<Candidate>, from: usize, until: usize) -> Vec<Found> {
    candidates.sort_by_key(|found| (found.range.start, Reverse(found.range.end), found.rank));
    let count = candidates.partition_point(|found| found.range.start < until);
    let mut taken: Vec<Found> = Vec::new();
    let mut done = from;
    for Candidate { range, kind, .. } in candidates.drain(..count) {
        let is_first = range.start >= done && !range.is_empty();
        if is_first || range.end >= done + LEFTOVER_MIN_BYTES {
            let range = range.start.max(done)..range.end;
            done = range.end;
            taken.push(Found { range, kind });
        }
    }
    taken
}
