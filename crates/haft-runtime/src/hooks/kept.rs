//! The beginning of a stream, in bounded memory.

/// The first bytes of what came, and whether there was more.
pub(super) struct Kept {
    bytes: Vec<u8>,
    max: usize,
    is_cut: bool,
}

impl Kept {
    pub(super) fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), max, is_cut: false }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        let room = self.max.saturating_sub(self.bytes.len());
        self.is_cut |= piece.len() > room;
        self.bytes.extend(piece.iter().take(room));
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn into_text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A text of at most so many bytes; what is left out is counted.
pub(super) fn shortened(text: &str, max: usize) -> String {
    let shown = text.get(..text.floor_char_boundary(max)).unwrap_or(text);
    match text.len() - shown.len() {
        0 => text.to_owned(),
        left => format!("{shown}… [{left} bytes left out]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_known() {
        let mut kept = Kept::new(4);
        kept.push(b"abc");
        kept.push(b"d");
        assert!(!kept.is_cut());
        kept.push(b"ef");
        assert!(kept.is_cut());
        assert_eq!(kept.into_text(), "abcd");
        assert_eq!(shortened("ääb", 3), "ä… [3 bytes left out]");
        assert_eq!(shortened("ab", 2), "ab");
    }
}
