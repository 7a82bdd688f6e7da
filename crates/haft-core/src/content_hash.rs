//! The name that a content goes by: of files as they were seen, changed and kept.
//!
//! BLAKE3, since a change of a file hashes it several times and this is several times as fast as SHA-256. Hashes that
//! outlive a session and that people compare (pins, trust) are SHA-256.

use std::{
    io::{self, Write},
    sync::Arc,
};

/// The BLAKE3 hash of some bytes: 64 lower-case hex digits.
pub fn content_hash(bytes: &[u8]) -> Arc<str> {
    blake3::hash(bytes).to_hex().as_str().into()
}

/// Makes the [`content_hash`] of what comes in pieces.
#[derive(Debug, Clone, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all that was added.
    pub fn finish(&self) -> Arc<str> {
        self.0.finalize().to_hex().as_str().into()
    }
}

/// So that a reader can be copied into it.
impl Write for ContentHasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_have_the_published_value_whatever_the_pieces() {
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(&*content_hash(b""), empty);
        let mut hasher = ContentHasher::default();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), content_hash(b"abc"));
        assert_ne!(hasher.finish(), content_hash(b""));
    }
}
