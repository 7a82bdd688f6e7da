//! Which line ends a text has.

/// The character that parts the lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// A line feed, whether or not a carriage return stands before it.
    Feed,
    /// A carriage return, where a text has those and no line feed.
    Return,
}

impl LineEnd {
    /// The line end of a text.
    pub(crate) fn of(text: &[u8]) -> Self {
        let is_return = memchr::memchr(b'\n', text).is_none() && memchr::memchr(b'\r', text).is_some();
        if is_return { Self::Return } else { Self::Feed }
    }

    /// Its character.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Feed => b'\n',
            Self::Return => b'\r',
        }
    }
}

/// A text whose lines end with carriage returns, with line feeds in their place: every byte stays where it is.
/// None for any other text.
pub(crate) fn with_feeds(text: &[u8]) -> Option<Vec<u8>> {
    let feed = |byte: &u8| if *byte == b'\r' { b'\n' } else { *byte };
    (LineEnd::of(text) == LineEnd::Return).then(|| text.iter().map(feed).collect())
}

/// Counts of each kind of line end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Line feeds alone.
    pub(crate) lf: u64,
    /// Carriage return and line feed.
    pub(crate) crlf: u64,
    /// Carriage returns alone.
    pub(crate) cr: u64,
    after_cr: bool,
}

impl Ends {
    /// The line ends of a text.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut ends = Self::default();
        for byte in text {
            ends.feed(*byte);
        }
        ends.finish();
        ends
    }

    /// Takes the next character, 0 for any that isn't ASCII.
    pub(crate) fn feed(&mut self, byte: u8) {
        match byte {
            b'\n' if self.after_cr => self.crlf += 1,
            b'\n' => self.lf += 1,
            _ if self.after_cr => self.cr += 1,
            _ => {}
        }
        self.after_cr = byte == b'\r';
    }

    /// Ends the text.
    pub(crate) fn finish(&mut self) {
        self.cr += u64::from(self.after_cr);
        self.after_cr = false;
    }

    /// All carriage returns so far, those before a line feed too.
    pub(crate) fn returns(&self) -> u64 {
        self.cr + self.crlf + u64::from(self.after_cr)
    }

    /// The character that parts the lines.
    pub(crate) fn line_end(&self) -> LineEnd {
        let has_feeds = self.lf + self.crlf > 0;
        if has_feeds || self.returns() == 0 { LineEnd::Feed } else { LineEnd::Return }
    }

    /// Whether every line ends with carriage return and line feed.
    pub(crate) fn is_crlf(&self) -> bool {
        self.crlf > 0 && self.lf == 0 && self.cr == 0
    }

    /// In words, none for plain line feeds.
    pub(crate) fn describe(&self) -> Option<String> {
        match (self.lf, self.crlf, self.cr) {
            (_, 0, 0) => None,
            (0, _, 0) => Some("CRLF line ends".to_owned()),
            (0, 0, _) => Some("CR line ends".to_owned()),
            (lf, crlf, cr) => {
                let kinds = [(lf, "LF"), (crlf, "CRLF"), (cr, "CR alone")];
                let named: Vec<String> = kinds
                    .iter()
                    .filter(|(count, _)| *count > 0)
                    .map(|(count, name)| format!("{count} {name}"))
                    .collect();
                Some(format!("mixed line ends: {}", named.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_and_named() {
        assert_eq!(Ends::of(b"a\nb\n").describe(), None);
        assert_eq!(Ends::of(b"a\r\nb\r\n").describe().unwrap(), "CRLF line ends");
        assert!(Ends::of(b"a\r\nb").is_crlf());
        assert_eq!(Ends::of(b"a\rb\r").describe().unwrap(), "CR line ends");
        assert_eq!(
            Ends::of(b"a\r\r\nb\nc\r").describe().unwrap(),
            "mixed line ends: 1 LF, 1 CRLF, 2 CR alone"
        );
    }

    #[test]
    fn carriage_returns_part_lines_only_where_no_line_feed_does() {
        for (text, end) in [
            (b"".as_slice(), LineEnd::Feed),
            (b"a", LineEnd::Feed),
            (b"a\rb", LineEnd::Return),
            (b"a\r", LineEnd::Return),
            (b"a\r\nb\rc", LineEnd::Feed),
            (b"a\rb\n", LineEnd::Feed),
        ] {
            assert_eq!((LineEnd::of(text), Ends::of(text).line_end()), (end, end), "{text:?}");
        }
        assert_eq!(with_feeds(b"a\rb\r").unwrap(), b"a\nb\n");
        assert_eq!(with_feeds(b"a\rb\n"), None);
    }
}
