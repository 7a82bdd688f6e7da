//! Values that nobody sees: keys, tokens, passwords.

use crate::Failure;
use std::fmt;
use zeroize::Zeroizing;

/// The longest value that is kept: the largest keys in use have a few KiB.
pub const SECRET_MAX_BYTES: usize = 64 * 1024;

/// A value that is shown to nobody: not for debugging, not in JSON. What it held is wiped from memory when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

/// Why some bytes are no value that can be kept. Says nothing of what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// Nothing at all, or nothing but a line end.
    #[error("the value is empty; give the key, token or password itself")]
    Empty,
    /// No credential is that long.
    #[error(
        "the value is longer than {SECRET_MAX_BYTES} bytes; keep it in a file of its own, and its path here"
    )]
    TooLong,
    /// Bytes that are no UTF-8.
    #[error("the value is no text; put it into base64 first")]
    NotText,
    /// What a key pressed by mistake leaves, or the beginning of a binary file.
    #[error("the value has control characters in it; give it without them, or put it into base64 first")]
    Control,
}

impl Secret {
    /// Takes a value as it is.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// Takes what a person typed or piped: one line end at its end isn't part of it.
    ///
    /// # Errors
    /// It is empty, too long, or no text.
    pub fn given(bytes: &[u8]) -> Result<Self, SecretError> {
        let value = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let value = value.strip_suffix(b"\r").unwrap_or(value);
        if value.is_empty() {
            return Err(SecretError::Empty);
        }
        if value.len() > SECRET_MAX_BYTES {
            return Err(SecretError::TooLong);
        }
        let text = std::str::from_utf8(value).map_err(|_| SecretError::NotText)?;
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return Err(SecretError::Control);
        }
        Ok(Self::new(text))
    }

    /// The value itself, for the place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The value for a header, which is one line.
    ///
    /// # Errors
    /// Invalid input where it has line breaks.
    pub fn line(&self) -> Result<&str, Failure> {
        if self.0.contains(['\n', '\r']) {
            return Err(Failure::invalid(
                "its value has several lines, and a header takes one; store the value without line breaks",
            ));
        }
        Ok(self.reveal())
    }
}

/// Without the value.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_taken_off_and_nothing_else() {
        for (given, kept) in
            [("k3y\n", "k3y"), ("k3y\r\n", "k3y"), ("a\nb\n\n", "a\nb\n"), (" k3y ", " k3y ")]
        {
            assert_eq!(Secret::given(given.as_bytes()).unwrap().reveal(), kept);
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let long = "x".repeat(SECRET_MAX_BYTES + 1);
        let cases: [(&[u8], SecretError); 6] = [
            (b"", SecretError::Empty),
            (b"\n", SecretError::Empty),
            (b"\xff\xfe", SecretError::NotText),
            (b"a\0b", SecretError::Control),
            (b"a\x1b[Db", SecretError::Control),
            (long.as_bytes(), SecretError::TooLong),
        ];
        for (given, error) in cases {
            assert_eq!(Secret::given(given), Err(error));
        }
        assert!(Secret::given(&long.as_bytes()[1..]).is_ok());
    }

    #[test]
    fn a_value_is_never_shown_and_only_one_line_goes_into_a_header() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(…) Some(Secret(…))");
        assert_eq!(secret.line().unwrap(), "hunter2");
        let failure = Secret::new("hunter2\nhunter3").line().unwrap_err();
        assert!(!failure.text.contains("hunter"), "{failure}");
    }
}
