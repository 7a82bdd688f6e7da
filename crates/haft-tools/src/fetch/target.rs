//! The URL as people and models write it.

use haft_core::{Failure, WebUrl};

/// Reads a URL; one without a scheme is taken as `https`.
///
/// # Errors
/// Invalid input for what can't be fetched.
pub(super) fn read(written: &str) -> Result<WebUrl, Failure> {
    let text = written.trim();
    if text.is_empty() {
        return Err(Failure::invalid("/url is empty; give a URL, as https://host/path"));
    }
    if has_scheme(text) {
        return WebUrl::parse(text);
    }
    WebUrl::parse(&format!("https://{}", text.trim_start_matches('/')))
}

/// Whether what stands before the first colon is a scheme and not a host with its port.
fn has_scheme(text: &str) -> bool {
    let Some((before, after)) = text.split_once(':') else {
        return false;
    };
    let is_word = before.starts_with(|first: char| first.is_ascii_alphabetic())
        && before.chars().all(|other| other.is_ascii_alphanumeric() || "+-.".contains(other));
    let is_port = after.starts_with(|first: char| first.is_ascii_digit())
        && !["http", "https"].contains(&before.to_ascii_lowercase().as_str());
    is_word && !is_port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_is_what_nobody_has_to_write() {
        for (written, url) in [
            ("example.com", "https://example.com/"),
            (" //example.com/a ", "https://example.com/a"),
            ("localhost:3000/x?y=a:b", "https://localhost:3000/x?y=a:b"),
            ("example.com/a:b", "https://example.com/a:b"),
            ("[::1]:80", "https://[::1]:80/"),
            ("http://example.com", "http://example.com/"),
            ("HTTP:example.com", "http://example.com/"),
        ] {
            assert_eq!(read(written).unwrap().as_str(), url, "{written}");
        }
        for written in ["", "file:/etc/passwd", "javascript:alert(1)", "mailto:a@b.c", "data:text/html,x"] {
            assert!(read(written).is_err(), "{written}");
        }
    }
}
