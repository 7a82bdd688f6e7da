//! SHA-256 in hex, the name that content goes by.

use sha2::{Digest, Sha256};
use std::{
    fmt::Write as _,
    io::{self, Read},
    sync::Arc,
};

/// The hash of some bytes.
pub(crate) fn of(bytes: &[u8]) -> Arc<str> {
    hex(&Sha256::digest(bytes)).into()
}

/// The hash of all that a reader still has.
pub(crate) fn of_reader(mut reader: impl Read) -> io::Result<Arc<str>> {
    let mut hasher = Sha256::new();
    io::copy(&mut reader, &mut hasher)?;
    Ok(hex(&hasher.finalize()).into())
}

/// Bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_have_the_published_value() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(of(b"").as_ref(), empty);
        assert_eq!(of_reader(&b"abc"[..]).unwrap(), of(b"abc"));
    }
}
