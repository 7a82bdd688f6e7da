//! Private keys in blocks: PEM, PGP, SSH2 and those of `PuTTY`.
//!
//! A block is followed line by line from its header: as long as the lines are of a key, they belong to it,
//! through the footer if there is one. So a key whose end was cut off is found too, and code that only speaks of
//! headers is left alone. Lines may be parted by `\n` written out, as in JSON, and have quotes, line numbers, file
//! names, the marks of a diff or a comment around them. What is left of a key without its header is read by `rows`.

use super::{
    find::{Rest, Sight},
    rows,
};
use memchr::{memchr2, memmem};
use regex::bytes::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// A longer block is masked in its first so many bytes. The largest keys in use take a quarter of it.
pub(super) const BLOCK_MAX_BYTES: usize = 64 * 1024;
/// A block with less base64 is no key.
const KEY_MIN_BYTES: usize = 24;
/// A shorter line of base64 is the last of its key.
const LINE_MIN_BYTES: usize = 16;
/// A header is no longer.
const HEADER_MAX_BYTES: usize = 96;

static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pem = r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}";
    let putty = r"Private-Lines: [0-9]{1,4}";
    RegexBuilder::new(&format!("^(?:{pem}|{putty})")).unicode(false).build().ok()
});

/// What a line of a block is.
enum Line {
    /// A field such as `Proc-Type: …`, or nothing.
    Around,
    /// So many bytes of base64.
    Key(usize),
    /// The footer, which ends so many bytes into the line; before it so many of base64.
    Footer(usize, usize),
    /// None of a key.
    Other,
}

/// Whether a private key begins at `start`, and where it ends.
pub(super) fn block(text: &[u8], start: usize, rest: Rest) -> Sight {
    let whole = text.get(start..).unwrap_or_default();
    let (body, is_cut) = match whole.get(..BLOCK_MAX_BYTES) {
        Some(body) => (body, true),
        None => (whole, false),
    };
    let may_grow = rest == Rest::Open && !is_cut;
    let head = body.get(..HEADER_MAX_BYTES).unwrap_or(body);
    let Some(header) = HEADER.as_ref().and_then(|header| header.find(head)) else {
        return if may_grow && head.len() < HEADER_MAX_BYTES && !head.contains(&b'\n') {
            Sight::Undecided
        } else {
            Sight::Nothing
        };
    };
    let (mut at, mut end, mut key) = (header.end(), header.end(), 0);
    let (mut is_last, mut is_over) = (false, false);
    while at < body.len() {
        let (line_end, next) = line(body, at);
        if next.is_none() && may_grow {
            return Sight::Undecided;
        }
        let Some(content) = body.get(at..line_end) else { break };
        match read(content) {
            Line::Footer(length, bytes) => {
                return secret(start, at + length, key + bytes);
            }
            _ if is_over => return secret(start, end, key),
            Line::Around if key == 0 => {}
            // White space and quotes between lines of a key.
            Line::Around if is_blank(content) => {}
            Line::Key(bytes) if !is_last => {
                key += bytes;
                end = line_end;
                is_last = bytes < LINE_MIN_BYTES;
            }
            // The last line of a key, behind a file's name, may be too short to be told from words: its footer tells.
            _ if key > 0 => is_over = true,
            _ => return Sight::Nothing,
        }
        let Some(next) = next else { break };
        at = next;
    }
    if may_grow { Sight::Undecided } else { secret(start, end, key) }
}

fn secret(start: usize, length: usize, key: usize) -> Sight {
    if key >= KEY_MIN_BYTES { Sight::Secret(start..start + length) } else { Sight::Nothing }
}

/// The end of the line that begins at `at`, and the start of the next if there is one: after `\n`, or after a
/// backslash, be it of a `\n` or `\r` written out or at the end of a line.
fn line(text: &[u8], at: usize) -> (usize, Option<usize>) {
    let from = text.get(at..).unwrap_or_default();
    let Some(length) = memchr2(b'\n', b'\\', from) else { return (text.len(), None) };
    let end = at + length;
    if text.get(end) == Some(&b'\n') {
        return (end, Some(end + 1));
    }
    let slashes = text.get(end..).unwrap_or_default().iter().take_while(|byte| **byte == b'\\').count();
    match text.get(end + slashes) {
        Some(b'n' | b'r') => (end, Some(end + slashes + 1)),
        Some(_) => (end, Some(end + slashes)),
        // More of the same may follow.
        None => (end, None),
    }
}

fn read(line: &[u8]) -> Line {
    if let Some(at) = memmem::find(line, b"-----END ").or_else(|| memmem::find(line, b"---- END ")) {
        let before = line.get(..at).map(trimmed).unwrap_or_default();
        let bytes = key_bytes(before).unwrap_or_default();
        let text_at = at + b"-----END ".len();
        let footer = line.get(text_at..).unwrap_or_default();
        let closes = memmem::find(footer, b"----").map_or(footer.len(), |dashes| {
            let run = footer.get(dashes..).unwrap_or_default();
            dashes + run.iter().take_while(|byte| **byte == b'-').count()
        });
        return Line::Footer(text_at + closes, bytes);
    }
    if is_blank(line) {
        return Line::Around;
    }
    let content = trimmed(line);
    if let Some(bytes) = key_bytes(content).or_else(|| rows::row(line).map(|row| row.len())) {
        return Line::Key(bytes);
    }
    let name = content.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    let is_field = name > 0 && name < 32 && content.get(name..name + 2) == Some(b": ".as_slice());
    if is_field { Line::Around } else { Line::Other }
}

/// Whether nothing but quotes, marks and what joins texts in code is there.
fn is_blank(line: &[u8]) -> bool {
    !trimmed(line).iter().any(u8::is_ascii_alphanumeric)
}

/// How much base64 a line is, if it is nothing else. Where a key was put on one line, spaces stand for its line
/// ends; then its first word is long.
fn key_bytes(line: &[u8]) -> Option<usize> {
    let first = line.split(|byte| *byte == b' ').next().map(<[u8]>::len).unwrap_or_default();
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/= ".contains(byte);
    ((first == line.len() || first >= LINE_MIN_BYTES) && line.iter().all(is_key)).then_some(line.len())
}

/// A line without white space, quotes, a line number and the marks of diffs and listings around it.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = without(line, b" \t\r\"'`,;");
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let line = match line.get(digits..) {
        Some(
            [0xe2, 0x86, 0x92, rest @ ..]
            | [0xe2, 0x94, 0x82, rest @ ..]
            | [b':' | b'|' | b'\t' | b' ' | b'-', rest @ ..],
        ) if digits > 0 => rest,
        _ => line,
    };
    let marks = line.iter().take_while(|byte| b" \t\"'`>|-".contains(byte)).count();
    let is_rule = line.starts_with(b"----");
    without(if is_rule { line } else { line.get(marks..).unwrap_or_default() }, b" \t\r\"'`,;")
}

fn without<'a>(line: &'a [u8], around: &[u8]) -> &'a [u8] {
    let start = line.iter().position(|byte| !around.contains(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !around.contains(byte)).map_or(start, |last| last + 1);
    line.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nq8Zt3nV7cX1mK4wPx2Ld9sYt\nab3=\n";

    #[test]
    fn a_key_is_masked_as_read_numbers_it() {
        let text: String = pem("PRIVATE KEY", KEY)
            .lines()
            .enumerate()
            .map(|(at, line)| format!("{}│{line}\n", at + 1))
            .collect();
        assert!(masked_bytes(&text).is_some_and(|bytes| bytes > 100), "{text}");
    }

    fn masked_bytes(text: &str) -> Option<usize> {
        let start = text.find("----").unwrap();
        match block(text.as_bytes(), start, Rest::None) {
            Sight::Secret(range) => Some(range.len()),
            Sight::Nothing => None,
            other => panic!("{other:?} at the end"),
        }
    }

    fn pem(label: &str, body: &str) -> String {
        format!("-----BEGIN {label}-----\n{body}-----END {label}-----")
    }

    #[test]
    fn blocks_of_private_keys_are_masked_whole() {
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            let text = pem(label, KEY);
            assert_eq!(masked_bytes(&text), Some(text.len()), "{label}");
            let fields = pem(label, &format!("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n{KEY}"));
            assert_eq!(masked_bytes(&fields), Some(fields.len()), "{label}");
            let one_line = text.replace('\n', "\\n");
            assert_eq!(masked_bytes(&one_line), Some(one_line.len()), "{label}");
        }
    }

    #[test]
    fn public_blocks_and_bare_headers_are_left_alone() {
        for text in [
            pem("PUBLIC KEY", KEY),
            pem("CERTIFICATE", KEY),
            pem("PRIVATE KEY", ""),
            "if text.startswith(\"-----BEGIN PRIVATE KEY-----\"):\n    return read(text)\n".to_owned(),
        ] {
            assert_eq!(masked_bytes(&text), None, "{text}");
        }
    }

    #[test]
    fn a_key_cut_off_ends_with_its_last_line() {
        let text = format!("-----BEGIN EC PRIVATE KEY-----\n{KEY}");
        let with_more = format!("{text}Some words.\n");
        assert_eq!(masked_bytes(&with_more), Some(text.len() - 1));
    }

    #[test]
    fn line_numbers_and_quotes_do_not_hide_a_key() {
        let numbered: Vec<String> =
            pem("PRIVATE KEY", KEY).lines().enumerate().map(|(n, line)| format!("{n:>6}→{line}")).collect();
        assert!(masked_bytes(&numbered.join("\n")).unwrap() > KEY.len());
        let quoted: Vec<String> =
            pem("PRIVATE KEY", KEY).lines().map(|line| format!("  \"{line}\\n\",")).collect();
        assert!(masked_bytes(&quoted.join("\n")).unwrap() > KEY.len());
    }

    #[test]
    fn what_listings_and_comments_put_before_lines_does_not_hide_a_key() {
        let row = "q8Zt3nV7cX1mK4wPx2Ld9sYtB6hR5jGfA0eUq8Zt3nV7cX1mK4wPx2Ld9sYtB6hR";
        let key = pem("RSA PRIVATE KEY", &format!("{row}\n{row}\n{row}\nab3=\n"));
        let before: [fn(usize) -> String; 9] = [
            |at| format!("keys/a.pem:{at}:"),
            |at| format!("keys/a.pem-{at}-"),
            |at| format!("a1b2c3d{at} (Some One 2031-01-02 03:04:05 +0000 {at}) "),
            |_| "+".to_owned(),
            |_| "# ".to_owned(),
            |_| "// ".to_owned(),
            |_| " * ".to_owned(),
            |_| "web-1  | ".to_owned(),
            |at| format!("{at}│    "),
        ];
        for before in before {
            let lines: Vec<String> =
                key.lines().enumerate().map(|(at, line)| format!("{}{line}", before(at + 1))).collect();
            let text = lines.join("\n");
            let start = before(1).len();
            let found = block(text.as_bytes(), start, Rest::None);
            assert!(
                matches!(&found, Sight::Secret(range) if *range == (start..text.len())),
                "{found:?} of {text}"
            );
        }
        let code: Vec<String> = key.lines().map(|line| format!("    \"{line}\\n\" +")).collect();
        let code = code.join("\n");
        assert!(masked_bytes(&code).is_some_and(|bytes| bytes > key.len()), "{code}");
    }

    #[test]
    fn a_block_without_end_is_bounded() {
        let text = format!("-----BEGIN PRIVATE KEY-----\n{}", "A1b2C3d4E5f6G7h8\n".repeat(20_000));
        assert!(masked_bytes(&text).unwrap() <= BLOCK_MAX_BYTES);
        assert!(masked_bytes(&text).unwrap() > BLOCK_MAX_BYTES - 100);
        assert!(!matches!(block(text.as_bytes(), 0, Rest::Open), Sight::Undecided));
    }
}
