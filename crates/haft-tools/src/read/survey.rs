//! What a whole file is, found in one pass over its blocks.

use super::source::Source;
use crate::text::{Coding, Ends, LineEnd, coding, whole::WHOLE_MAX_BYTES};
use haft_core::{Cancel, ContentHasher, Failure};
use std::sync::Arc;

/// A file is read in blocks of this size; even, so that UTF-16 is never split.
pub(crate) const BLOCK_BYTES: usize = 1_024 * 1_024;

/// What is known of a file after a pass over it.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Its [`haft_core::content_hash`]; none for a file over [`WHOLE_MAX_BYTES`].
    pub(crate) hash: Option<Arc<str>>,
    /// How many lines it has, none where the pass ended early.
    pub(crate) lines: Option<u64>,
    /// Its encoding.
    pub(crate) coding: Coding,
    /// Its line ends.
    pub(crate) ends: Ends,
    /// The number of line ends before each block.
    before_block: Vec<u64>,
}

impl Survey {
    /// Reads the whole file; for a file too long for a hash, only until `enough` line ends were seen.
    ///
    /// # Errors
    /// What [`Source::read`] answers, and cancelled.
    pub(crate) fn of(source: &Source<'_>, enough: u64, cancel: &Cancel) -> Result<Self, Failure> {
        let mut pass = Pass::new();
        loop {
            if cancel.is_fired() {
                return Err(Failure::cancelled());
            }
            let block = block(source, pass.len)?;
            if block.is_empty() {
                break;
            }
            pass.take(&block);
            if pass.hasher.is_none() && pass.ends_of(pass.ends.line_end()) > enough {
                pass.is_whole = false;
                break;
            }
        }
        let coding = match (pass.coding, pass.odd_at()) {
            (Some(coding), _) => coding,
            (None, None) => Coding::Utf8,
            (None, Some(odd)) => {
                let start = coding::sample_start(usize::try_from(odd).unwrap_or(usize::MAX));
                let start = u64::try_from(start).unwrap_or(u64::MAX);
                let sample = source.read(start, coding::SAMPLE_BYTES)?;
                let end = start.saturating_add(u64::try_from(sample.len()).unwrap_or(u64::MAX));
                Coding::guess(&sample, end >= pass.len)
            }
        };
        Ok(pass.finish(coding))
    }

    /// Where to start reading for a line, as the offset of a block and the line ends to pass from there.
    pub(crate) fn place(&self, line: u64) -> (u64, u64) {
        let wanted = line.saturating_sub(1);
        // The line may start anywhere in the last block that has fewer line ends before it, or, for the first
        // block of all, at its beginning.
        let block = self.before_block.partition_point(|before| *before < wanted).saturating_sub(1);
        let before = self.before_block.get(block).copied().unwrap_or(0);
        let offset = u64::try_from(block.saturating_mul(BLOCK_BYTES)).unwrap_or(u64::MAX);
        (offset, wanted - before.min(wanted))
    }
}

/// The block at an offset, whole unless the file ends in it.
///
/// # Errors
/// What [`Source::read`] answers.
pub(crate) fn block(source: &Source<'_>, offset: u64) -> Result<Vec<u8>, Failure> {
    let mut block = source.read(offset, BLOCK_BYTES)?;
    while block.len() < BLOCK_BYTES {
        let next = offset.saturating_add(u64::try_from(block.len()).unwrap_or(u64::MAX));
        let rest = source.read(next, BLOCK_BYTES - block.len())?;
        if rest.is_empty() {
            break;
        }
        block.extend_from_slice(&rest);
    }
    Ok(block)
}

struct Pass {
    len: u64,
    hasher: Option<ContentHasher>,
    /// What the byte order mark says, once the first block is there.
    coding: Option<Coding>,
    /// Whether the last line has no end, by either line end.
    is_open: [bool; 2],
    ends: Ends,
    /// The number of line feeds and of carriage returns before each block: which of them part the lines is
    /// known at the end.
    before_block: Vec<[u64; 2]>,
    utf8: Utf8Check,
    is_whole: bool,
}

impl Pass {
    fn new() -> Self {
        Self {
            len: 0,
            hasher: Some(ContentHasher::default()),
            coding: None,
            is_open: [false; 2],
            ends: Ends::default(),
            before_block: Vec::new(),
            utf8: Utf8Check::default(),
            is_whole: true,
        }
    }

    fn take(&mut self, block: &[u8]) {
        let is_first = self.len == 0;
        if is_first {
            self.coding = Coding::by_bom(block);
        }
        let units = self.coding.unwrap_or(Coding::Utf8);
        let text = if is_first { block.get(units.bom().len()..).unwrap_or_default() } else { block };
        self.before_block.push([self.ends_of(LineEnd::Feed), self.ends_of(LineEnd::Return)]);
        self.count(units, text);
        if self.coding.is_none() {
            self.utf8.take(block, self.len);
        }
        self.len = self.len.saturating_add(u64::try_from(block.len()).unwrap_or(u64::MAX));
        if self.len > u64::try_from(WHOLE_MAX_BYTES).unwrap_or(u64::MAX) {
            self.hasher = None;
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(block);
        }
    }

    fn count(&mut self, coding: Coding, text: &[u8]) {
        match coding {
            Coding::Utf16Le => {
                text.chunks(2).for_each(|unit| self.ends.feed(wide_unit(unit.first(), unit.get(1))));
            }
            Coding::Utf16Be => {
                text.chunks(2).for_each(|unit| self.ends.feed(wide_unit(unit.get(1), unit.first())));
            }
            _ => text.iter().for_each(|byte| self.ends.feed(*byte)),
        }
        if !text.is_empty() {
            self.is_open = [LineEnd::Feed, LineEnd::Return].map(|end| !text.ends_with(coding.line_end(end)));
        }
    }

    /// How many of these there were so far.
    fn ends_of(&self, end: LineEnd) -> u64 {
        match end {
            LineEnd::Feed => self.ends.lf + self.ends.crlf,
            LineEnd::Return => self.ends.returns(),
        }
    }

    fn odd_at(&self) -> Option<u64> {
        self.utf8.odd_at.or_else(|| {
            let open = u64::try_from(self.utf8.open.len()).unwrap_or(0);
            (open > 0 && self.is_whole).then(|| self.len.saturating_sub(open))
        })
    }

    fn finish(mut self, coding: Coding) -> Survey {
        self.ends.finish();
        let end = self.ends.line_end();
        let of = |[feeds, returns]: [u64; 2]| if end == LineEnd::Feed { feeds } else { returns };
        let [feed_open, return_open] = self.is_open;
        let is_open = if end == LineEnd::Feed { feed_open } else { return_open };
        let lines = self.ends_of(end) + u64::from(is_open);
        Survey {
            len: self.len,
            hash: self.hasher.filter(|_| self.is_whole).map(|hasher| hasher.finish()),
            lines: self.is_whole.then_some(lines),
            coding,
            ends: self.ends,
            before_block: self.before_block.into_iter().map(of).collect(),
        }
    }
}

/// The ASCII character of a UTF-16 unit, 0 for others.
fn wide_unit(low: Option<&u8>, high: Option<&u8>) -> u8 {
    match (low, high) {
        (Some(low), Some(0)) => *low,
        _ => 0,
    }
}

/// Whether blocks together are UTF-8; characters may be split between them.
#[derive(Default)]
struct Utf8Check {
    open: Vec<u8>,
    odd_at: Option<u64>,
}

impl Utf8Check {
    fn take(&mut self, block: &[u8], offset: u64) {
        if self.odd_at.is_some() {
            return;
        }
        let start = offset.saturating_sub(u64::try_from(self.open.len()).unwrap_or(0));
        let joined;
        let bytes = if self.open.is_empty() {
            block
        } else {
            joined = [self.open.as_slice(), block].concat();
            joined.as_slice()
        };
        let (open, odd) = match std::str::from_utf8(bytes) {
            Ok(_) => (Vec::new(), None),
            Err(error) if error.error_len().is_none() => {
                (bytes.get(error.valid_up_to()..).unwrap_or_default().to_vec(), None)
            }
            Err(error) => (Vec::new(), Some(u64::try_from(error.valid_up_to()).unwrap_or(0))),
        };
        self.open = open;
        self.odd_at = odd.map(|odd| start + odd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey(blocks: &[&[u8]]) -> Survey {
        let mut pass = Pass::new();
        for block in blocks {
            pass.take(block);
        }
        let coding =
            pass.coding.unwrap_or(if pass.odd_at().is_some() { Coding::Damaged } else { Coding::Utf8 });
        pass.finish(coding)
    }

    #[test]
    fn lines_are_counted_across_blocks() {
        for (blocks, lines) in [
            (vec![b"".as_slice()], 0),
            (vec![b"a".as_slice()], 1),
            (vec![b"a\n".as_slice()], 1),
            (vec![b"a\r".as_slice(), b"\nb"], 2),
            (vec![b"\xFF\xFEa\0\n\0".as_slice(), b"b\0"], 2),
            (vec![b"a\r".as_slice(), b"b\rc"], 3),
            (vec![b"a\r".as_slice(), b"b\r"], 2),
            (vec![b"\xFE\xFF\0a\0\r".as_slice(), b"\0b"], 2),
            (vec![b"a\rb\r".as_slice(), b"c\n"], 1),
        ] {
            assert_eq!(survey(&blocks).lines, Some(lines), "{blocks:?}");
        }
        assert!(survey(&[b"a\r", b"\nb"]).ends.is_crlf());
    }

    #[test]
    fn a_character_split_between_blocks_is_no_fault() {
        assert_eq!(survey(&[b"a\xC3", b"\xA9b"]).coding, Coding::Utf8);
        assert_eq!(survey(&[b"a\xC3", b"b"]).coding, Coding::Damaged);
        assert_eq!(survey(&[b"a\xC3"]).coding, Coding::Damaged);
        let mut check = Utf8Check::default();
        check.take(b"ab\xC3", 0);
        check.take(b"(", 3);
        assert_eq!(check.odd_at, Some(2));
    }

    #[test]
    fn a_line_is_found_by_its_block() {
        let survey = Survey { before_block: vec![0, 3, 3, 8], ..survey(&[b"x"]) };
        let block = u64::try_from(BLOCK_BYTES).unwrap();
        assert_eq!(survey.place(1), (0, 0));
        assert_eq!(survey.place(4), (0, 3));
        assert_eq!(survey.place(5), (2 * block, 1));
        assert_eq!(survey.place(9), (2 * block, 5));
        assert_eq!(survey.place(20), (3 * block, 11));
        let returns = self::survey(&[b"a\r", b"b\rc"]);
        assert_eq!([returns.place(2), returns.place(3)], [(0, 1), (block, 1)]);
    }
}
