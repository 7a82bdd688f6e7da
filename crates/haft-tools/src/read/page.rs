//! The lines asked for, taken from a stream of blocks.

use crate::text::{Coding, LineEnd, grouped, visible};
use encoding_rs::Decoder;
use haft_core::{OUTPUT_MAX_BYTES, OUTPUT_MAX_LINES};
use std::fmt::Write as _;

/// Characters of a line that are shown unless a range is asked for.
pub(crate) const LINE_MAX_CHARS: usize = 2_000;
/// Characters of a line that are shown at most.
pub(crate) const COLUMNS_MAX: usize = 10_000;
/// So much of the output is kept for what is said after the lines.
const NOTES_BYTES: usize = 1_024;
/// Stands between a line's number and its text: never part of an indentation.
const SEPARATOR: char = '│';

/// A range of characters of each line, from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Default for Columns {
    fn default() -> Self {
        Self { first: 1, last: LINE_MAX_CHARS }
    }
}

impl Columns {
    /// Reads `200-400`, `200-` and `200`; at most [`COLUMNS_MAX`] characters.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.trim().split_once('-').unwrap_or((text.trim(), ""));
        let first: usize = first.trim().parse().ok().filter(|first| *first > 0)?;
        let last = match last.trim() {
            "" => first.saturating_add(LINE_MAX_CHARS - 1),
            last => last.parse().ok()?,
        };
        (first <= last).then(|| Self { first, last: last.min(first.saturating_add(COLUMNS_MAX - 1)) })
    }
}

/// Which lines to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// The number of the first line.
    pub(crate) first: u64,
    /// How many lines.
    pub(crate) limit: u64,
    /// Which part of each.
    pub(crate) columns: Columns,
}

/// The lines as the model gets them.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Numbered lines, each with a line end.
    pub(crate) text: String,
    /// How many lines that is.
    pub(crate) shown: u64,
    /// How many bytes of the file are shown, line ends included.
    pub(crate) bytes: u64,
    /// The ranges of lines that are shown from their first to their last character.
    pub(crate) whole: Vec<(u64, u64)>,
    /// Whether characters were replaced by visible signs.
    pub(crate) signs: bool,
}

impl Page {
    /// Adds a line, which comes after those before.
    fn add(&mut self, number: u64, text: &str, is_whole: bool) {
        self.text.push_str(text);
        self.shown += 1;
        if !is_whole {
            return;
        }
        match self.whole.last_mut() {
            Some((_, last)) if last.saturating_add(1) == number => *last = number,
            _ => self.whole.push((number, number)),
        }
    }
}

/// Makes a page of pieces of a file, in memory that depends on neither file nor line length.
pub(crate) struct Pager {
    coding: Coding,
    end: LineEnd,
    decoder: Decoder,
    wish: Wish,
    skip: u64,
    left: u64,
    line: Line,
    decoded: String,
    page: Page,
}

#[derive(Default)]
struct Line {
    shown: String,
    chars: usize,
    /// In the file, its end included.
    bytes: usize,
    started: bool,
    after_cr: bool,
    signs: bool,
}

impl Line {
    /// Adds text; most is shown as it is, which needs no look at each character.
    fn push_text(&mut self, text: &str, columns: Columns) {
        let is_shown = self.chars + 1 >= columns.first && self.chars + text.len() <= columns.last;
        if is_shown && !self.after_cr && visible::is_plain(text) {
            self.chars += text.len();
            self.shown.push_str(text);
        } else {
            text.chars().for_each(|character| self.push(character, columns));
        }
    }

    fn push(&mut self, character: char, columns: Columns) {
        if self.after_cr {
            self.after_cr = false;
            self.put('\r', columns);
        }
        if character == '\r' {
            self.after_cr = true;
        } else {
            self.put(character, columns);
        }
    }

    fn put(&mut self, character: char, columns: Columns) {
        self.chars += 1;
        if (columns.first..=columns.last).contains(&self.chars) {
            self.signs |= visible::push(&mut self.shown, character);
        }
    }
}

impl Pager {
    /// A pager that is fed from the start of a line, `skip` line ends before the first line of the wish.
    pub(crate) fn new(coding: Coding, end: LineEnd, wish: Wish, skip: u64) -> Self {
        let most = u64::try_from(OUTPUT_MAX_LINES).unwrap_or(u64::MAX);
        Self {
            coding,
            end,
            decoder: coding.encoding().new_decoder_without_bom_handling(),
            wish,
            skip,
            left: wish.limit.min(most),
            line: Line::default(),
            decoded: String::new(),
            page: Page::default(),
        }
    }

    /// Takes the next piece, which holds whole units of the coding; says whether more is wanted.
    pub(crate) fn feed(&mut self, mut piece: &[u8]) -> bool {
        let width = self.coding.line_end(self.end).len();
        while self.left > 0 && !piece.is_empty() {
            let end = self.coding.find_line_end(self.end, piece);
            let (content, rest) = match end {
                Some(at) => (piece.get(..at), piece.get(at + width..)),
                None => (Some(piece), None),
            };
            if self.skip == 0 {
                self.take(content.unwrap_or_default());
                if end.is_some() {
                    self.line.bytes += width;
                    self.line.after_cr = false;
                    self.close();
                }
            } else if end.is_some() {
                self.skip -= 1;
            }
            piece = rest.unwrap_or_default();
        }
        self.left > 0
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Page {
        if self.left > 0 && self.line.started {
            if self.line.after_cr {
                self.line.after_cr = false;
                self.line.put('\r', self.wish.columns);
            }
            self.close();
        }
        self.page
    }

    fn take(&mut self, content: &[u8]) {
        if !content.is_empty() {
            self.line.started = true;
            self.line.bytes += content.len();
            self.decode(content, false);
        }
    }

    fn decode(&mut self, bytes: &[u8], is_last: bool) {
        self.decoded.clear();
        let room = self.decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
        self.decoded.reserve(room);
        let _ = self.decoder.decode_to_string(bytes, &mut self.decoded, is_last);
        self.line.push_text(&self.decoded, self.wish.columns);
    }

    /// Writes the line that is over, unless it is too much.
    fn close(&mut self) {
        self.decode(&[], true);
        self.decoder = self.coding.encoding().new_decoder_without_bom_handling();
        let line = std::mem::take(&mut self.line);
        let columns = self.wish.columns;
        let number = self.wish.first + self.page.shown;
        let before = if columns.first > 1 && line.chars > 0 { "…" } else { "" };
        let mut text = format!("{number}{SEPARATOR}{before}{}", line.shown);
        if line.chars > columns.last {
            let more = line.chars - columns.last;
            let next = columns.last.saturating_add(LINE_MAX_CHARS).min(line.chars);
            let _ = write!(
                text,
                "… [{} more characters; columns=\"{}-{next}\" shows them]",
                grouped(u64::try_from(more).unwrap_or(u64::MAX)),
                columns.last + 1
            );
        } else if columns.first > line.chars && line.chars > 0 {
            let _ = write!(text, " [only {} characters]", line.chars);
        }
        text.push('\n');
        if self.page.shown > 0 && self.page.text.len() + text.len() > OUTPUT_MAX_BYTES - NOTES_BYTES {
            self.left = 0;
            return;
        }
        let is_whole = line.chars == 0 || (columns.first == 1 && line.chars <= columns.last);
        self.page.add(number, &text, is_whole);
        let bytes = if is_whole { line.bytes } else { line.bytes.min(line.shown.len()) };
        self.page.bytes += u64::try_from(bytes).unwrap_or(u64::MAX);
        self.page.signs |= line.signs;
        self.left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: &[u8], first: u64, limit: u64, columns: Columns) -> Page {
        // Two bytes at a time: nothing may depend on where pieces end.
        page_of(bytes, 2, Wish { first, limit, columns })
    }

    fn page_of(bytes: &[u8], piece_bytes: usize, wish: Wish) -> Page {
        let coding = Coding::of(bytes);
        let mut pager = Pager::new(coding, LineEnd::of(bytes), wish, wish.first - 1);
        for piece in bytes[coding.bom().len()..].chunks(piece_bytes) {
            if !pager.feed(piece) {
                break;
            }
        }
        pager.finish()
    }

    fn text(bytes: &[u8]) -> String {
        page(bytes, 1, 100, Columns::default()).text
    }

    #[test]
    fn case_f04_the_separator_is_no_indentation() {
        assert_eq!(text(b"if a:\n\tif b:\n\t\tgo()\n"), "1│if a:\n2│\tif b:\n3│\t\tgo()\n");
    }

    #[test]
    fn line_ends_and_control_characters_are_shown_as_they_should() {
        assert_eq!(text(b"a\r\nb\rc\r\n"), "1│a\n2│b␍c\n");
        assert_eq!(text(b"a\x1b[0m\n\n"), "1│a␛[0m\n2│\n");
        assert_eq!(text(b"a\nb\r"), "1│a\n2│b␍\n");
        assert_eq!(text(b"a\r\rb\r"), "1│a\n2│\n3│b\n");
        assert!(page(b"a\x07", 1, 1, Columns::default()).signs);
        assert!(!page(b"a\tb", 1, 1, Columns::default()).signs);
    }

    #[test]
    fn encodings_are_decoded_whatever_the_pieces() {
        assert_eq!(text("aé✓\nü".as_bytes()), "1│aé✓\n2│ü\n");
        let wide: Vec<u8> =
            [0xFF, 0xFE].into_iter().chain("é\nb".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(text(&wide), "1│é\n2│b\n");
    }

    #[test]
    fn a_page_is_the_same_whatever_the_pieces() {
        let bytes =
            "plain text\n\tab\r\ne\u{301}\u{7}g\rplain\r\n\na longer line that ends open\r".as_bytes();
        for (first, last) in [(1, 2_000), (1, 10), (1, 4), (2, 9), (5, 7), (11, 40), (99, 100)] {
            let wish = Wish { first: 1, limit: 9, columns: Columns { first, last } };
            let by_bytes = format!("{:?}", page_of(bytes, 1, wish));
            for piece_bytes in [2, 3, 7, bytes.len()] {
                assert_eq!(format!("{:?}", page_of(bytes, piece_bytes, wish)), by_bytes, "{first}-{last}");
            }
        }
    }

    #[test]
    fn a_window_has_the_numbers_of_the_file() {
        let whole: String = (1..=9).map(|n| format!("l{n}\n")).collect();
        let page = page(whole.as_bytes(), 4, 2, Columns::default());
        assert_eq!((page.text.as_str(), page.shown), ("4│l4\n5│l5\n", 2));
    }

    #[test]
    fn long_lines_are_cut_and_read_on_by_columns() {
        let long = "x".repeat(2_000) + "yz";
        let cut = text(long.as_bytes());
        assert!(cut.ends_with("x… [2 more characters; columns=\"2001-2002\" shows them]\n"), "{cut}");
        assert_eq!(page(long.as_bytes(), 1, 1, Columns { first: 2_001, last: 4_000 }).text, "1│…yz\n");
        assert_eq!(page(b"ab", 1, 1, Columns { first: 9, last: 10 }).text, "1│… [only 2 characters]\n");
    }

    #[test]
    fn a_line_shown_in_part_is_none_of_the_whole_ones() {
        let cut = "x".repeat(2_001);
        let mixed = format!("a\nb\n{cut}\n\nc");
        assert_eq!(page(mixed.as_bytes(), 1, 9, Columns::default()).whole, [(1, 2), (4, 5)]);
        assert_eq!(page(mixed.as_bytes(), 2, 2, Columns::default()).whole, [(2, 2)]);
        assert_eq!(page(mixed.as_bytes(), 1, 9, Columns { first: 1, last: 9_999 }).whole, [(1, 5)]);
        assert_eq!(page(b"ab\nc\n\n", 1, 9, Columns { first: 1, last: 1 }).whole, [(2, 3)]);
        assert_eq!(page(b"ab\nc\n\n", 1, 9, Columns { first: 2, last: 9 }).whole, [(3, 3)]);
    }

    #[test]
    fn ranges_of_columns_are_read() {
        for (text, range) in [
            ("200-400", Some((200, 400))),
            ("5-", Some((5, 2_004))),
            ("1-99999", Some((1, 10_000))),
            ("0-4", None),
            ("9-3", None),
            ("x", None),
        ] {
            assert_eq!(Columns::parse(text).map(|columns| (columns.first, columns.last)), range, "{text}");
        }
    }

    #[test]
    fn a_page_stays_within_the_output() {
        let whole: String = (0..3_000).map(|_| format!("{}\n", "w".repeat(50))).collect();
        let page = page(whole.as_bytes(), 1, 5_000, Columns::default());
        assert!(page.text.len() <= OUTPUT_MAX_BYTES - NOTES_BYTES && page.shown < 2_000);
    }
}
