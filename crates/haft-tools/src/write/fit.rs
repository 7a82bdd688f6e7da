//! New content in the form of the file that it replaces.

use crate::text::{Coding, Ends, View, coding::Unencodable};

/// New bytes, and what was done to the text to get them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fitted {
    /// The bytes to write.
    pub(crate) bytes: Vec<u8>,
    /// What a reader should know.
    pub(crate) notes: Vec<String>,
}

/// Gives the text the encoding, the byte order mark and, where the file has nothing but CRLF, the line
/// ends of the content before.
///
/// # Errors
/// Characters that the encoding can't hold.
pub(crate) fn fit(before: &[u8], text: &str) -> Result<Fitted, Unencodable> {
    let coding = Coding::of(before);
    let view = View::of(before, coding);
    let mut notes = Vec::new();
    let text = if coding.bom().is_empty() { text } else { text.strip_prefix('\u{feff}').unwrap_or(text) };
    let lines = if Ends::of(view.text()).is_crlf() { with_crlf(text) } else { None };
    if lines.is_some() {
        notes.push("with CRLF line ends, as the file had".to_owned());
    }
    let text = lines.as_deref().unwrap_or(text);
    let mut bytes = coding.bom().to_vec();
    bytes.extend(coding.encode(text)?);
    if !matches!(coding, Coding::Utf8 | Coding::Damaged) {
        notes.push(format!("in {}, as the file was", coding.name()));
    }
    Ok(Fitted { bytes, notes })
}

/// Line feeds alone turned into CRLF; none where there are none.
fn with_crlf(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut changed = false;
    let mut previous = '\0';
    for character in text.chars() {
        if character == '\n' && previous != '\r' {
            out.push('\r');
            changed = true;
        }
        out.push(character);
        previous = character;
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_text_takes_the_form_of_the_file() {
        for (before, text, after) in [
            (b"a\r\nb\r\n".as_slice(), "x\ny\r\n", b"x\r\ny\r\n".as_slice()),
            (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
            (b"a\n", "x\r\n", b"x\r\n"),
            (b"\xEF\xBB\xBFa\n", "x\n", b"\xEF\xBB\xBFx\n"),
            (b"\xEF\xBB\xBFa\n", "\u{feff}x\n", b"\xEF\xBB\xBFx\n"),
            (b"\xFF\xFEa\0\r\0\n\0", "\u{e9}\n", b"\xFF\xFE\xe9\0\r\0\n\0"),
            (b"", "\u{e9}", b"\xC3\xA9"),
        ] {
            assert_eq!(fit(before, text).unwrap().bytes, after, "{text:?} over {before:?}");
        }
    }

    #[test]
    fn what_the_encoding_cannot_hold_is_refused_by_name() {
        let error = fit(b"price \xa2 40\n", "\u{2603}").unwrap_err();
        assert_eq!(error.characters, ['\u{2603}']);
    }
}
