//! Which line ends a text has.

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

    /// Whether every line ends with carriage return and line feed.
    pub(crate) fn is_crlf(&self) -> bool {
        self.crlf > 0 && self.lf == 0 && self.cr == 0
    }

    /// In words, none for plain line feeds.
    pub(crate) fn describe(&self) -> Option<String> {
        match (self.lf, self.crlf, self.cr) {
            (_, 0, 0) => None,
            (0, _, 0) => Some("CRLF line ends".to_owned()),
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
        assert_eq!(
            Ends::of(b"a\r\r\nb\nc\r").describe().unwrap(),
            "mixed line ends: 1 LF, 1 CRLF, 2 CR alone"
        );
    }
}
