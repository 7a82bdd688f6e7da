//! Private keys without their first line: rows of base64, as `tail`, `sed -n` or a read from the middle show them.
//!
//! A run of rows is a key's if a private key's footer ends it, or if its first row begins as private keys do. Four
//! full rows of a key's width that nothing says to be something else are taken for the middle of one: what a
//! certificate is in its own block isn't, nor what is named as base64, a picture or text. Rows may have numbers, file
//! names, the marks of diffs and comments before them.

use super::find::{Rest, Sight};
use base64::{Engine, engine::general_purpose};
use memchr::{memchr, memmem, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use std::{ops::Range, sync::LazyLock};

/// A longer line is no row.
const LINE_MAX_BYTES: usize = 256;
/// So many bytes before a line are looked at: the line before it, with the line ends around that.
pub(super) const LOOK_BACK_BYTES: usize = LINE_MAX_BYTES + 2;
/// A shorter piece of base64 is no row.
const ROW_MIN_BYTES: usize = 32;
/// And a longer one.
const ROW_MAX_BYTES: usize = 100;
/// The widths of full rows: PEM and PGP, OpenSSH, and what `base64` makes.
const WIDTHS: [usize; 3] = [64, 70, 76];
/// So many full rows are taken for a key that has neither header nor footer.
const ROWS_MIN: usize = 4;
/// A longer run is no key: the largest in use have less.
const RUN_MAX_BYTES: usize = 16 * 1024;
/// So many letters in a row within what rows encode are text. Chance hardly makes them.
const TEXT_MIN_BYTES: usize = 14;
/// Before rows: they are said to be something else.
const OTHERS: &[&str] = &["base64", "certificate", "signature"];
/// How rows begin that hold pictures, archives, documents, fonts and public keys.
const OTHER_HEADS: &[&str] =
    &["iVBORw0K", "/9j/", "R0lGOD", "UEsD", "H4sI", "JVBER", "d09G", "AAAAB3Nza", "AAAAC3Nza", "AAAAE2Vj"];

static FOOTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"-{4,5} ?END ([A-Z0-9 ]{0,40})-{4,5}";
    RegexBuilder::new(pattern).unicode(false).build().ok()
});

/// The last line of a block.
struct Footer {
    is_private: bool,
    /// Where it ends in its line.
    end: usize,
}

/// The base64 that a line ends with, if it is a row's.
pub(super) fn row(line: &[u8]) -> Option<Range<usize>> {
    if line.len() > LINE_MAX_BYTES {
        return None;
    }
    let body = body(line);
    if body.len() < ROW_MIN_BYTES {
        return None;
    }
    let is_open = opens(line.get(..body.start)?);
    let body = fitted(line, body);
    let row = line.get(body.clone())?;
    let has = |is: fn(&u8) -> bool| row.iter().any(is);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    (is_open && is_mixed && (ROW_MIN_BYTES..=ROW_MAX_BYTES).contains(&body.len())).then_some(body)
}

/// The base64 at the end of a line, which quotes and what joins texts in code may close.
fn body(line: &[u8]) -> Range<usize> {
    let mut rest = line;
    loop {
        rest = match rest {
            // A line end written out.
            [before @ .., b'\\', b'n' | b'r'] => before,
            [before @ .., b' ' | b'\t' | b'\r' | b'"' | b'\'' | b'`' | b',' | b';' | b'.' | b'&' | b'\\'] => {
                before
            }
            // It is a letter of base64 too.
            [before @ .., b'+'] if !before.last().is_some_and(|byte| is_base64(*byte)) => before,
            _ => break,
        };
    }
    let padding = rest.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let digits = rest.iter().rev().skip(padding).take_while(|byte| is_base64(**byte)).count();
    rest.len() - padding - digits..rest.len()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// Without the marks of a diff or a comment that are letters of base64 too, if a full row is left.
fn fitted(line: &[u8], body: Range<usize>) -> Range<usize> {
    if WIDTHS.contains(&body.len()) {
        return body;
    }
    let letters = line.get(body.clone()).unwrap_or_default();
    let marks = letters.iter().take(3).take_while(|byte| matches!(byte, b'+' | b'/')).count();
    let fit = (1..=marks).find(|count| WIDTHS.contains(&(body.len() - count)));
    fit.map_or_else(|| body.clone(), |count| body.start + count..body.end)
}

/// Whether a row may begin after this: nothing, or what listings, logs, comments and code put before it.
fn opens(before: &[u8]) -> bool {
    let is_hash = || {
        let tail = before.get(before.len().saturating_sub(7)..).unwrap_or_default().to_ascii_lowercase();
        [b"sha256-".as_slice(), b"sha384-", b"sha512-"].iter().any(|name| tail.ends_with(name))
    };
    match before {
        [] | [.., 0xe2, 0x86, 0x92] | [.., 0xe2, 0x94, 0x82] => true,
        [.., b'-'] => !is_hash(),
        [.., last] => b" \t:\"'`|>*#;)]<".contains(last),
    }
}

/// Whether a key goes on with the line that begins at `start`, and where it ends. Only a run's first line has one.
pub(super) fn run(text: &[u8], start: usize, rest: Rest) -> Sight {
    let whole = text.get(start..).unwrap_or_default();
    let (window, is_cut) = whole.get(..RUN_MAX_BYTES).map_or((whole, false), |window| (window, true));
    let may_grow = rest == Rest::Open && !is_cut;
    let (first, mut next) = line(window, 0);
    if next.is_none() && may_grow {
        return if first.len() <= LINE_MAX_BYTES { Sight::Undecided } else { Sight::Nothing };
    }
    let Some(body) = row(first) else { return Sight::Nothing };
    if follows_row(text, start) {
        return Sight::Nothing;
    }
    let begin = start + body.start;
    let until = |end: usize| Sight::Secret(begin..start + end);
    let mut rows = vec![body];
    let mut end = rows.first().map_or(0, |row| row.end);
    while let Some(at) = next {
        let (content, after) = line(window, at);
        if after.is_none() && may_grow {
            return Sight::Undecided;
        }
        if let Some(footer) = footer(content) {
            return if footer.is_private { until(at + footer.end) } else { Sight::Nothing };
        }
        let width = rows.get(1).or(rows.first()).map_or(0, Range::len);
        let body = row(content);
        if let Some(body) = body.filter(|body| rows.len() == 1 || body.len() == width) {
            end = at + body.end;
            rows.push(at + body.start..end);
            next = after;
            continue;
        }
        // The last line may be too short to be told from words: what follows tells.
        let (content_after, is_whole) = match after {
            Some(after) => {
                let (content, next) = line(window, after);
                (content, next.is_some())
            }
            None => (<&[u8]>::default(), true),
        };
        if !is_whole && may_grow {
            return Sight::Undecided;
        }
        if let Some(footer) = footer(content_after) {
            let at = after.unwrap_or_default();
            return if footer.is_private { until(at + footer.end) } else { Sight::Nothing };
        }
        end = padded(content).map_or(end, |length| at + length);
        next = None;
    }
    let before = text.get(start.saturating_sub(LOOK_BACK_BYTES)..start).unwrap_or_default();
    if end < RUN_MAX_BYTES - LINE_MAX_BYTES && is_key(window, &rows, before) {
        until(end)
    } else {
        Sight::Nothing
    }
}

/// The line that begins at `at`, and the start of the next.
fn line(text: &[u8], at: usize) -> (&[u8], Option<usize>) {
    let rest = text.get(at..).unwrap_or_default();
    match memchr(b'\n', rest) {
        Some(length) => (rest.get(..length).unwrap_or_default(), Some(at + length + 1)),
        None => (rest, None),
    }
}

fn follows_row(text: &[u8], start: usize) -> bool {
    let before = text.get(start.saturating_sub(LOOK_BACK_BYTES)..start).unwrap_or_default();
    let Some(before) = before.strip_suffix(b"\n") else { return false };
    let line = match memrchr(b'\n', before) {
        Some(end) => before.get(end + 1..).unwrap_or_default(),
        None if start <= LOOK_BACK_BYTES => before,
        // It is longer than a row.
        None => return false,
    };
    row(line).is_some()
}

fn footer(line: &[u8]) -> Option<Footer> {
    let found = FOOTER.as_ref()?.captures(line)?;
    let label = found.get(1).map(|label| label.as_bytes()).unwrap_or_default();
    let is_private = memmem::find(label, b"PRIVATE KEY").is_some();
    Some(Footer { is_private, end: found.get(0)?.end() })
}

/// Where base64 ends that a line is padded out with: the last of its run.
fn padded(line: &[u8]) -> Option<usize> {
    let body = body(line);
    let letters = line.get(body.clone())?;
    (body.len() >= 4 && letters.ends_with(b"=") && opens(line.get(..body.start)?)).then_some(body.end)
}

/// Whether rows without a footer are a key's.
fn is_key(window: &[u8], rows: &[Range<usize>], before: &[u8]) -> bool {
    let letters: Vec<u8> = rows
        .iter()
        .filter_map(|row| window.get(row.clone()))
        .flatten()
        .copied()
        .filter(|byte| *byte != b'=')
        .collect();
    let whole = letters.get(..letters.len() / 4 * 4).unwrap_or_default();
    let bytes = general_purpose::STANDARD_NO_PAD.decode(whole).unwrap_or_default();
    if begins_private(&bytes) {
        return true;
    }
    let width = rows.get(1).or(rows.first()).map_or(0, Range::len);
    let full = rows.iter().filter(|row| row.len() == width).count();
    full >= ROWS_MIN && WIDTHS.contains(&width) && !is_said_other(before) && !is_other(&letters, &bytes)
}

/// A private key in DER is a sequence that begins with its version; certificates and public keys begin otherwise.
fn begins_private(bytes: &[u8]) -> bool {
    let content = match bytes {
        [0x30, 0x82, _, _, content @ ..] | [0x30, 0x81, _, content @ ..] => content,
        [0x30, length, content @ ..] if *length < 0x80 => content,
        _ => return bytes.starts_with(b"openssh-key-v1"),
    };
    matches!(content, [0x02, 0x01, 0x00 | 0x01 | 0x03, ..])
}

/// Whether what stands before the rows says what they are.
fn is_said_other(before: &[u8]) -> bool {
    let begins = memmem::rfind(before, b"BEGIN ");
    let is_open = begins.is_some() && begins > memmem::rfind(before, b"END ");
    let header = begins.and_then(|at| before.get(at..)).unwrap_or_default();
    let is_other_block = is_open && memmem::find(header, b"PRIVATE KEY").is_none();
    let lower = before.to_ascii_lowercase();
    is_other_block || OTHERS.iter().any(|word| memmem::find(&lower, word.as_bytes()).is_some())
}

/// Whether rows hold something of a known form, or text.
fn is_other(letters: &[u8], bytes: &[u8]) -> bool {
    let zeros = memchr::memchr_iter(0, bytes).count();
    // A certificate, or a public key; the two names are those of encrypted private ones.
    let is_sequence = matches!(bytes, [0x30, 0x82, _, _, 0x30, ..]);
    let head = bytes.get(..24).unwrap_or(bytes);
    let is_encrypted = [0x05, 0x0c]
        .iter()
        .any(|kind| memmem::find(head, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, *kind]).is_some());
    let has_text = bytes
        .chunk_by(|one, next| is_text(*one) == is_text(*next))
        .any(|run| run.len() >= TEXT_MIN_BYTES && run.first().is_some_and(|byte| is_text(*byte)));
    OTHER_HEADS.iter().any(|head| letters.starts_with(head.as_bytes()))
        || is_sequence && !is_encrypted
        || zeros * 16 > bytes.len()
        || has_text
}

fn is_text(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_graphic()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters without an order that anyone would see, the same for a seed.
    fn letters(seed: u64, count: usize) -> String {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 58).unwrap()
        };
        (0..count).map(|_| char::from(alphabet[next()])).collect()
    }

    fn rows(width: usize, count: u64) -> Vec<String> {
        (0..count).map(|at| letters(at + 7, width)).collect()
    }

    /// What of a text is masked, begun at its first line.
    fn masked(text: &str) -> Option<String> {
        match run(text.as_bytes(), 0, Rest::None) {
            Sight::Secret(range) => Some(text[range].to_owned()),
            Sight::Nothing => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_footer_ends_a_key_whose_beginning_is_cut_off() {
        for width in [64, 70, 76] {
            let text = format!("{}\nab3=\n-----END RSA PRIVATE KEY-----", rows(width, 2).join("\n"));
            assert_eq!(masked(&format!("{text}\nmore\n")).as_deref(), Some(text.as_str()), "{width}");
            assert_eq!(masked(&text.replace("RSA PRIVATE KEY", "CERTIFICATE")), None);
        }
        let one = format!("{}\n-----END OPENSSH PRIVATE KEY-----", letters(3, 40));
        assert_eq!(masked(&one).as_deref(), Some(one.as_str()));
    }

    #[test]
    fn four_full_rows_are_the_middle_of_a_key() {
        for before in
            ["", "  ", "12│", "    12\t", "k/a.pem:12:", "k/a.pem-12-", "+", "# ", "// ", " * ", "\"", "[x] "]
        {
            let lines: Vec<String> = rows(64, 4).iter().map(|row| format!("{before}{row}")).collect();
            let text = format!("{}\nand words\n", lines.join("\n"));
            let found = masked(&text).unwrap_or_else(|| panic!("{before}"));
            assert_eq!(found.len(), 4 * 64 + 3 * (before.len() + 1), "{before}: {found}");
            assert_eq!(masked(&lines[..3].join("\n")), None, "{before}");
        }
        let code: Vec<String> = rows(64, 5).iter().map(|row| format!("    \"{row}\\n\" +")).collect();
        assert!(masked(&code.join("\n")).is_some_and(|found| found.len() > 5 * 64));
    }

    #[test]
    fn the_first_row_of_a_private_key_tells_itself() {
        let head = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7";
        assert!(masked(&format!("{head}{}\nrest\n", letters(1, 12))).is_some());
        let openssh = format!("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ{}", letters(1, 28));
        assert!(masked(&openssh).is_some());
    }

    #[test]
    fn other_rows_are_left_alone() {
        let key = rows(64, 6).join("\n");
        for before in
            ["-----BEGIN CERTIFICATE-----\n", "Content-Transfer-Encoding: base64\n\n", "<X509Certificate>\n"]
        {
            let text = format!("{before}{key}\n");
            assert!(matches!(run(text.as_bytes(), before.len(), Rest::None), Sight::Nothing), "{before}");
        }
        assert!(masked(&key).is_some());
        for text in [
            format!("iVBORw0KGgo{}\n{key}", letters(2, 53)),
            format!("MIIDdzCCAl+g{}\n{key}", letters(2, 52)),
            rows(60, 6).join("\n"),
            rows(64, 300).join("\n"),
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n".repeat(8),
            general_purpose::STANDARD
                .encode("Some words that go on and on, for as long as six rows. ".repeat(8))
                .as_bytes()
                .chunks(64)
                .map(|row| format!("{}\n", String::from_utf8_lossy(row)))
                .collect(),
            rows(64, 6).iter().map(|row| format!("sha384-{row}\n")).collect(),
        ] {
            assert_eq!(masked(&text), None, "{text}");
        }
    }

    #[test]
    fn only_the_first_row_begins_a_run() {
        let text = format!("{}\n", rows(64, 5).join("\n"));
        assert!(matches!(run(text.as_bytes(), 65, Rest::None), Sight::Nothing));
    }

    #[test]
    fn a_run_waits_for_what_follows_it() {
        let text = format!("{}\n", rows(64, 5).join("\n"));
        assert!(matches!(run(text.as_bytes(), 0, Rest::Open), Sight::Undecided));
        assert!(matches!(run(b"unfinished", 0, Rest::Open), Sight::Undecided));
        assert!(matches!(run("x".repeat(300).as_bytes(), 0, Rest::Open), Sight::Nothing));
    }
}
