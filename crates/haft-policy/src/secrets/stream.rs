//! Masking of a text that arrives in pieces.

use super::{
    Masker,
    find::{CONTEXT_BYTES, Candidate, Rest, final_until, settle},
};
use memchr::memchr;
use std::{fmt, sync::Arc};

/// Masks a stream so that what it gives, put together, is what [`Masker::mask`] makes of the whole text, wherever
/// the pieces were cut.
///
/// # What is held back
/// Text is given with its line: of a line without end, what may still be part of a secret is held, and at most
/// 256 bytes where no word of a kind stands, since they may become a key's row. From such a word on, up to 8 KiB are
/// held until it is decided, so the values of a list, 16 KiB of rows of base64, and 64 KiB of a private key's block. A
/// configured value with line ends in it holds back the length of its longest form. Nothing else grows with the text.
///
/// # Limits
/// The same for a stream and for a whole text:
/// - A token of a published form is masked as a whole up to 8 KiB from the start of its word, the form's prefix
///   or the name before it; of a longer one, what lies within is masked and the rest is given as it is.
/// - A value assigned to a credential's name is masked in its first 2 KiB.
/// - A private key's block is masked as one up to 64 KiB, with or without its footer.
/// - Of a list, the values in the first 8 KiB after its name are masked; rows of a key without its header are masked
///   up to 16 KiB.
/// - A configured value is masked whatever its length.
pub struct StreamMasker {
    masker: Arc<Masker>,
    held: Vec<u8>,
    /// Of `held`, what was given already and is kept only to look back at.
    given: usize,
    /// Hits of words that begin before were judged.
    looked: usize,
    /// Secrets that one not yet seen may overlap.
    waiting: Vec<Candidate>,
    /// With fewer bytes and no line end more, another look isn't worth it.
    look_at: usize,
}

impl StreamMasker {
    /// A stream's beginning.
    pub fn new(masker: Arc<Masker>) -> Self {
        Self { masker, held: Vec::new(), given: 0, looked: 0, waiting: Vec::new(), look_at: 0 }
    }

    /// Takes a piece and gives what of the masked text is certain.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        if self.held.len() < self.look_at && memchr(b'\n', piece).is_none() {
            return Vec::new();
        }
        let masked = self.advance(Rest::Open);
        // What is undecided is looked at again from its start: a quarter more each time, for linear time.
        self.look_at = self.held.len() + (self.held.len() - self.given) / 4;
        masked
    }

    /// Gives what is left.
    pub fn finish(mut self) -> Vec<u8> {
        self.advance(Rest::None)
    }

    fn advance(&mut self, rest: Rest) -> Vec<u8> {
        let look = self.masker.detector().look(&self.held, self.looked, rest);
        self.looked = look.until;
        self.waiting.extend(look.candidates);
        let until = match rest {
            Rest::None => self.held.len(),
            Rest::Open => final_until(&self.held, self.looked),
        };
        let found = settle(&mut self.waiting, self.given, until);
        let end = found.last().map_or(0, |last| last.range.end).max(until).max(self.given);
        let mut masked = Vec::new();
        self.masker.write(&mut masked, &self.held, self.given..end, found);
        self.given = end;
        self.forget();
        masked
    }

    /// Drops what was given and isn't looked back at any more.
    fn forget(&mut self) {
        let count = self.given.min(self.looked.saturating_sub(CONTEXT_BYTES));
        self.held.drain(..count);
        self.given -= count;
        self.looked -= count;
        for found in &mut self.waiting {
            found.range = found.range.start - count..found.range.end - count;
        }
    }
}

impl fmt::Debug for StreamMasker {
    /// Without the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamMasker").field("held", &self.held.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Detector;
    use super::*;

    fn masker() -> Arc<Masker> {
        let known = [
            ("note".to_owned(), b"two lines\nof one value".to_vec()),
            ("db".to_owned(), b"hunter2!".to_vec()),
        ];
        Arc::new(Masker::new(Arc::new(Detector::new(known).unwrap()), [7; 32]))
    }

    fn streamed(masker: &Arc<Masker>, pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = StreamMasker::new(Arc::clone(masker));
        let mut masked: Vec<u8> = pieces.iter().flat_map(|piece| stream.push(piece)).collect();
        masked.extend(stream.finish());
        masked
    }

    fn token(start: usize) -> String {
        let letters = b"q8Zt3nV7cX1mK4wPx2Ld9sYtB6hR5jGfA0eU";
        (0..36).map(|at| char::from(letters[(start + at * 7) % 36])).collect()
    }

    /// A row as a key's is wide.
    fn row(start: usize) -> String {
        [token(start).as_str(), &token(start + 5)[..28]].concat()
    }

    fn samples() -> Vec<String> {
        let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(5);
        vec![
            format!("a ghp_{} b\nTOKEN={}\nlast", token(1), token(2)),
            format!("x\n-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\ny ghp_{}", token(3)),
            format!(
                "-----BEGIN PRIVATE KEY-----\n{key}not a key\nhunter2! two lines\nof one value two lines\n"
            ),
            format!("https://me:{}@host/ghp_{} hunter2!hunter2!", token(4), token(5)),
            format!("{{\"private_key\":\"-----BEGIN PRIVATE KEY-----\\n{}\"}}", key.replace('\n', "\\n")),
            "password=password=token=secret= two lines\nof".to_owned(),
            format!("a:1:{0}\na:2:{0}\na:3:ab3=\na:4:-----END RSA PRIVATE KEY-----\n", row(1)),
            format!("{0}\n{0}\n{0}\n{0}\nx\n-----BEGIN CERTIFICATE-----\n{0}\n{0}\n{0}\n{0}\n", row(2)),
            format!("tokens:\n- {}\n- {}\nkeys: [\n  \"a\",\n", token(6), token(7)),
            String::new(),
        ]
    }

    #[test]
    fn every_border_gives_the_whole() {
        let masker = masker();
        for text in samples() {
            let text = text.as_bytes();
            let whole = masker.mask(text).text.into_owned();
            for border in 0..=text.len() {
                let (one, two) = text.split_at(border);
                assert_eq!(streamed(&masker, &[one, two]), whole, "{border} of {}", text.escape_ascii());
            }
        }
    }

    #[test]
    fn every_size_of_pieces_gives_the_whole() {
        let masker = masker();
        let text = samples().concat().repeat(3);
        let whole = masker.mask(text.as_bytes()).text.into_owned();
        for size in [1, 2, 3, 7, 64, 100, 1_000, 5_000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(streamed(&masker, &pieces), whole, "pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_masked_and_stays_flat() {
        let masker = masker();
        let mut text = String::new();
        for at in 0..2_000 {
            text += &["{\"token\":\"", &token(at), "\",\"text\":\"some words\"},"].concat();
        }
        let whole = masker.mask(text.as_bytes());
        assert_eq!(whole.secrets.len(), 2_000);
        let mut stream = StreamMasker::new(Arc::clone(&masker));
        let mut masked = Vec::new();
        for piece in text.as_bytes().chunks(4_096) {
            masked.extend(stream.push(piece));
            assert!(stream.held.len() < 32 * 1024, "{}", stream.held.len());
        }
        masked.extend(stream.finish());
        assert_eq!(masked, whole.text.into_owned());
    }

    #[test]
    fn a_line_is_given_as_soon_as_it_ends() {
        let mut stream = StreamMasker::new(masker_of_one_line());
        assert_eq!(stream.push(b"token = \"x\" and more"), b"");
        assert_eq!(stream.push(b"\nnext"), b"token = \"x\" and more\n");
        assert_eq!(stream.finish(), b"next");
    }

    fn masker_of_one_line() -> Arc<Masker> {
        Arc::new(Masker::new(Arc::new(Detector::new([]).unwrap()), [7; 32]))
    }

    #[test]
    fn a_key_is_held_until_its_end() {
        let mut stream = StreamMasker::new(masker_of_one_line());
        let line = format!("{}\n", "A1b2C3d4".repeat(8));
        let mut masked = stream.push(b"-----BEGIN RSA PRIVATE KEY-----\n");
        for _ in 0..100 {
            masked.extend(stream.push(line.as_bytes()));
        }
        assert!(masked.is_empty());
        let masked = stream.push(b"-----END RSA PRIVATE KEY-----\ndone\n");
        let masked = String::from_utf8(masked).unwrap();
        assert!(masked.starts_with("[secret:private-key:") && masked.ends_with("]\ndone\n"), "{masked}");
    }
}
