//! A compiled query, and how the bytes of one open file are searched with it.
//!
//! A file is searched as the text that `read` shows of it: without a byte order mark, decoded where it is in UTF-16 or
//! in an encoding from before Unicode, its lines parted at carriage returns where it has no line feed. The first
//! mebibyte decides, and most files are no longer and searched where they were read to; the rest of a longer one is
//! streamed. A pattern that is plain ASCII needs no decoding to be looked for: only where it was found, and the file
//! isn't UTF-8, is the text searched once more, for the lines.

use super::{
    coding::{by_mark, has_returns_alone, legacy, put_feeds, text},
    found::{Found, Outcome},
};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Encoding, Searcher, SearcherBuilder};
use haft_core::{Cancel, Failure, GrepQuery};
use std::{
    fs::File,
    io::{self, Chain, Read},
    os::unix::fs::FileExt,
};

/// A line, or with `multiline` a file, longer than this is an error of that file.
const HEAP_MAX_BYTES: usize = 256 * 1024 * 1024;
/// So much of a file is held; the rest of a longer one is streamed.
const HEAD_BYTES: usize = 1024 * 1024;
/// So much is read at once where only line feeds are looked for.
const SCAN_BYTES: usize = 64 * 1024;
/// What stands for itself in a pattern, beside letters and digits.
const PLAIN: &str = " _-/,:;'\"<>=!@%&~`";

/// Searches one file after the other.
pub(super) struct Engine {
    finder: Finder,
    /// Makes a searcher for another encoding.
    builder: SearcherBuilder,
    /// Whether the pattern is ASCII and stands for itself.
    is_plain: bool,
    /// The beginning of the file at hand; empty before the first.
    head: Vec<u8>,
}

/// A pattern, made ready.
#[derive(Clone)]
enum Pattern {
    /// In linear time, whatever it is.
    Plain(RegexMatcher),
    /// With look-around and references to groups.
    #[cfg(feature = "pcre")]
    Pcre(grep_pcre2::RegexMatcher),
}

/// What searches text.
#[derive(Clone)]
struct Finder {
    matcher: Pattern,
    searcher: Searcher,
    cancel: Cancel,
}

impl Engine {
    /// # Errors
    /// Invalid input for a pattern that can't be used.
    pub(super) fn new(query: &GrepQuery) -> Result<Self, Failure> {
        let mut builder = SearcherBuilder::new();
        builder
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .multi_line(query.multiline)
            .before_context(query.context)
            .after_context(query.context)
            .heap_limit(Some(HEAP_MAX_BYTES))
            .bom_sniffing(true);
        let stands_for_itself =
            |character: char| query.fixed || character.is_ascii_alphanumeric() || PLAIN.contains(character);
        Ok(Self {
            finder: Finder {
                matcher: matcher(query)?,
                searcher: builder.build(),
                cancel: query.walk.cancel.clone(),
            },
            builder,
            is_plain: query.pattern.is_ascii() && query.pattern.chars().all(stands_for_itself),
            head: Vec::new(),
        })
    }

    /// The same for another thread.
    pub(super) fn another(&self) -> Self {
        Self {
            finder: self.finder.clone(),
            builder: self.builder.clone(),
            is_plain: self.is_plain,
            head: Vec::new(),
        }
    }

    /// Searches a file from its beginning; `len` is how long the system says it is.
    pub(super) fn search(&mut self, file: &File, len: u64) -> io::Result<Outcome> {
        if self.head.is_empty() {
            self.head = vec![0; HEAD_BYTES];
        }
        match fill(file, &mut self.head, len)? {
            Filled { bytes, is_whole: true } => self.whole(bytes),
            Filled { bytes, is_whole: false } => self.long(file, bytes),
        }
    }

    /// Searches a file that is held whole.
    fn whole(&mut self, filled: usize) -> io::Result<Outcome> {
        let bytes = self.head.get_mut(..filled).unwrap_or_default();
        if let Some((encoding, mark)) = by_mark(bytes) {
            let bytes = bytes.get_mut(mark..).unwrap_or_default();
            return if encoding == encoding_rs::UTF_8 {
                self.finder.search(bytes)
            } else {
                self.finder.search(&mut text(encoding, bytes).into_owned())
            };
        }
        if self.is_plain {
            let outcome = self.finder.search(bytes)?;
            if !matches!(outcome, Outcome::Lines { .. }) {
                return Ok(outcome);
            }
            return match legacy(bytes, true) {
                Some(encoding) => self.finder.search(&mut text(encoding, bytes).into_owned()),
                None => Ok(outcome),
            };
        }
        if memchr::memchr(0, bytes).is_some() {
            return Ok(Outcome::Binary);
        }
        match legacy(bytes, true) {
            Some(encoding) => self.finder.search(&mut text(encoding, bytes).into_owned()),
            None => self.finder.search(bytes),
        }
    }

    /// Searches a file that is longer than what is held of it.
    fn long(&mut self, file: &File, filled: usize) -> io::Result<Outcome> {
        let head = self.head.get(..filled).unwrap_or_default();
        let (mut other, mut returns) = (None, false);
        // The searcher itself knows byte order marks.
        if by_mark(head).is_none() {
            if memchr::memchr(0, head).is_some() {
                return Ok(Outcome::Binary);
            }
            other = legacy(head, false)
                .and_then(|encoding| Encoding::new(encoding.name()).ok())
                .map(|encoding| self.builder.clone().encoding(Some(encoding)).build());
            returns = has_returns_alone(head) && !has_feed(file, filled, &self.finder.cancel)?;
        }
        let cancel = &self.finder.cancel;
        let text = Text { bytes: head.chain(file), returns, cancel };
        let mut found = Found::new(cancel);
        let searcher = other.as_mut().unwrap_or(&mut self.finder.searcher);
        match &self.finder.matcher {
            Pattern::Plain(matcher) => searcher.search_reader(matcher, text, &mut found)?,
            #[cfg(feature = "pcre")]
            Pattern::Pcre(matcher) => searcher.search_reader(matcher, text, &mut found)?,
        }
        Ok(found.outcome())
    }
}

impl Finder {
    /// Searches a whole text.
    fn search(&mut self, text: &mut [u8]) -> io::Result<Outcome> {
        if memchr::memchr(0, text).is_some() {
            return Ok(Outcome::Binary);
        }
        if has_returns_alone(text) {
            put_feeds(text);
        }
        let mut found = Found::new(&self.cancel);
        match &self.matcher {
            Pattern::Plain(matcher) => self.searcher.search_slice(matcher, text, &mut found)?,
            #[cfg(feature = "pcre")]
            Pattern::Pcre(matcher) => self.searcher.search_slice(matcher, text, &mut found)?,
        }
        Ok(found.outcome())
    }
}

/// A long file as it is streamed. Ends early once nobody wants more of it.
struct Text<'a> {
    bytes: Chain<&'a [u8], &'a File>,
    /// Whether carriage returns part its lines.
    returns: bool,
    cancel: &'a Cancel,
}

impl Read for Text<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_fired() {
            return Ok(0);
        }
        let read = self.bytes.read(room)?;
        if self.returns {
            put_feeds(room.get_mut(..read).unwrap_or_default());
        }
        Ok(read)
    }
}

/// How much was read of a file.
struct Filled {
    bytes: usize,
    is_whole: bool,
}

/// Reads until the file ends or the room. One that is as long as the system said isn't asked for more.
fn fill(mut file: &File, room: &mut [u8], len: u64) -> io::Result<Filled> {
    let mut bytes = 0;
    loop {
        let rest = room.get_mut(bytes..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(Filled { bytes, is_whole: false });
        }
        match file.read(rest) {
            Ok(0) => return Ok(Filled { bytes, is_whole: true }),
            Ok(read) => bytes += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if bytes < room.len() && u64::try_from(bytes).is_ok_and(|bytes| bytes == len) {
            return Ok(Filled { bytes, is_whole: true });
        }
    }
}

/// Whether there is a line feed in the rest of a file.
fn has_feed(file: &File, from: usize, cancel: &Cancel) -> io::Result<bool> {
    let mut room = vec![0; SCAN_BYTES];
    let mut offset = u64::try_from(from).unwrap_or(u64::MAX);
    while !cancel.is_fired() {
        let read = match file.read_at(&mut room, offset) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if memchr::memchr(b'\n', room.get(..read).unwrap_or_default()).is_some() {
            return Ok(true);
        }
        offset = offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    Ok(false)
}

/// What only the larger engine knows is left to it, where it is built in.
fn matcher(query: &GrepQuery) -> Result<Pattern, Failure> {
    let plain = plain(query);
    #[cfg(feature = "pcre")]
    if plain.is_err()
        && !query.fixed
        && let Ok(matcher) = pcre(query)
    {
        return Ok(Pattern::Pcre(matcher));
    }
    plain.map(Pattern::Plain)
}

#[cfg(feature = "pcre")]
fn pcre(query: &GrepQuery) -> Result<grep_pcre2::RegexMatcher, grep_pcre2::Error> {
    // Text that isn't UTF-8 is searched too, so that characters count only where the pattern has some.
    let has_characters = !query.pattern.is_ascii();
    grep_pcre2::RegexMatcherBuilder::new()
        .multi_line(true)
        .caseless(query.ignore_case)
        .dotall(query.multiline)
        .crlf(true)
        .utf(has_characters)
        .ucp(has_characters)
        .jit_if_available(true)
        .build(&query.pattern)
}

fn plain(query: &GrepQuery) -> Result<RegexMatcher, Failure> {
    let mut matcher = RegexMatcherBuilder::new();
    // `^` and `$` are those of each line, and a `\r` before the line's end is none of its text; so the
    // line terminator has to be set after `crlf`, which sets another.
    matcher.multi_line(true).case_insensitive(query.ignore_case).fixed_strings(query.fixed).crlf(true);
    if query.multiline {
        matcher.line_terminator(None).dot_matches_new_line(true);
    } else {
        matcher.line_terminator(Some(b'\n'));
    }
    matcher.build(&query.pattern).map_err(|error| {
        // Written out, a line break can be found only by a search across lines, fixed or not.
        let has_break = query.pattern.contains('\n');
        let spans_lines = has_break || (!query.fixed && query.pattern.contains("\\n"));
        let hint = match (spans_lines && !query.multiline, query.fixed) {
            (true, _) if has_break => "set multiline to match across lines",
            (true, _) => "set multiline to match across lines, or fixed to search for it as plain text",
            (false, false) => "correct it, or set fixed to search for it as plain text",
            (false, true) => "search for a shorter part of it",
        };
        Failure::invalid(format!("the pattern can't be used: {error}; {hint}"))
    })
}
