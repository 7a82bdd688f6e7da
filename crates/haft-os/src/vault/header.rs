//! How the file begins: its form, and where its key comes from. Two lines of text, which what follows is bound to.

use crate::hash;
use memchr::memchr;

/// The form of the file that is written.
const VERSION: &str = "1";
const BEGIN: &str = "haft vault ";
/// A longer line is none of ours.
const LINE_MAX_BYTES: usize = 200;
/// The salt of a passphrase, as long as the function's authors advise.
pub(super) const SALT_BYTES: usize = 16;
/// What a file may ask for at most; more would be somebody's who wants memory or time used up.
const MEMORY_MAX_KIB: u32 = 1024 * 1024;
const PASSES_MAX: u32 = 64;
const LANES_MAX: u32 = 16;

/// Where the key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeySource {
    /// From a file beside it, by the number in its name.
    File(String),
    /// From a passphrase.
    Passphrase(Stretch),
}

/// How a key is made of a passphrase: by Argon2id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) memory_kib: u32,
    pub(super) passes: u32,
    pub(super) lanes: u32,
    pub(super) salt: [u8; SALT_BYTES],
}

impl Stretch {
    /// What is asked for of a new passphrase: a guess takes a tenth of a second and 64 MiB.
    pub(super) fn new(salt: [u8; SALT_BYTES]) -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 1, salt }
    }

    fn parse([memory, passes, lanes, salt]: [&str; 4]) -> Option<Self> {
        let number =
            |text: &str, max: u32| text.parse::<u32>().ok().filter(|number| (1..=max).contains(number));
        Some(Self {
            memory_kib: number(memory, MEMORY_MAX_KIB)?,
            passes: number(passes, PASSES_MAX)?,
            lanes: number(lanes, LANES_MAX)?,
            salt: unhex(salt)?,
        })
    }
}

/// Why the beginning of a file can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderError {
    /// Another version's.
    #[error("it was written by another version of haft, in form {0}; this one knows form {VERSION}")]
    Version(u32),
    /// Nothing that haft has written.
    #[error("its beginning is damaged")]
    Damaged,
}

/// A file in its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) source: KeySource,
    /// The two lines as they stand there.
    pub(super) header: &'a [u8],
    pub(super) sealed: &'a [u8],
}

impl KeySource {
    /// The two lines.
    pub(super) fn header(&self) -> String {
        let key = match self {
            Self::File(id) => format!("file {id}"),
            Self::Passphrase(Stretch { memory_kib, passes, lanes, salt }) => {
                format!("passphrase argon2id {memory_kib} {passes} {lanes} {}", hash::hex(salt))
            }
        };
        format!("{BEGIN}{VERSION}\nkey {key}\n")
    }

    /// Takes a file apart.
    pub(super) fn parse(file: &[u8]) -> Result<Parts<'_>, HeaderError> {
        let (first, rest) = line(file).ok_or(HeaderError::Damaged)?;
        match first.strip_prefix(BEGIN) {
            Some(VERSION) => {}
            other => {
                let number = other.and_then(|number| number.parse().ok());
                return Err(number.map_or(HeaderError::Damaged, HeaderError::Version));
            }
        }
        let (second, sealed) = line(rest).ok_or(HeaderError::Damaged)?;
        let words: Vec<&str> = second.split(' ').collect();
        let source = match words.as_slice() {
            ["key", "file", id] if is_id(id) => Some(Self::File((*id).to_owned())),
            ["key", "passphrase", "argon2id", memory, passes, lanes, salt] => {
                Stretch::parse([*memory, *passes, *lanes, *salt]).map(Self::Passphrase)
            }
            _ => None,
        };
        let header = file.get(..file.len() - sealed.len()).unwrap_or_default();
        Ok(Parts { source: source.ok_or(HeaderError::Damaged)?, header, sealed })
    }
}

/// The first line without its end, and what follows.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr(b'\n', bytes.get(..bytes.len().min(LINE_MAX_BYTES))?)?;
    let text = std::str::from_utf8(bytes.get(..end)?).ok()?;
    Some((text, bytes.get(end + 1..)?))
}

/// It becomes a part of a file's name.
fn is_id(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn unhex(text: &str) -> Option<[u8; SALT_BYTES]> {
    if text.len() != SALT_BYTES * 2 || !is_id(text) {
        return None;
    }
    let mut bytes = [0; SALT_BYTES];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let stretch = Stretch::new([0xa5; SALT_BYTES]);
        for source in [KeySource::File("0123456789abcdef".to_owned()), KeySource::Passphrase(stretch)] {
            let header = source.header();
            let file = [header.as_bytes(), b"\n\x00rest"].concat();
            let parts = KeySource::parse(&file).unwrap();
            assert_eq!(parts, Parts { source, header: header.as_bytes(), sealed: b"\n\x00rest" });
        }
    }

    #[test]
    fn what_isnt_ours_is_told_from_what_is_newer() {
        let salt = "a5".repeat(SALT_BYTES);
        let damaged = [
            String::new(),
            "haft vault 1".to_owned(),
            "haft vault 1\n".to_owned(),
            "haft vault x\nkey file 0123456789abcdef\n".to_owned(),
            "{\"version\": 1}\n\n".to_owned(),
            "haft vault 1\nkey file ../../etc/passwd\n".to_owned(),
            "haft vault 1\nkey file 0123456789ABCDEF\n".to_owned(),
            format!("haft vault 1\nkey passphrase argon2id 4194304 3 1 {salt}\n"),
            format!("haft vault 1\nkey passphrase argon2id 65536 0 1 {salt}\n"),
            "haft vault 1\nkey passphrase argon2id 65536 3 1 a5\n".to_owned(),
            format!("haft vault 1\nkey {}\n", "x".repeat(10_000)),
        ];
        for text in damaged {
            assert_eq!(KeySource::parse(text.as_bytes()), Err(HeaderError::Damaged), "{text:?}");
        }
        assert_eq!(KeySource::parse(b"haft vault 2\nanything"), Err(HeaderError::Version(2)));
        assert_eq!(KeySource::parse(b"\xff\xfe\n\n"), Err(HeaderError::Damaged));
    }
}
