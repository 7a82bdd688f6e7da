//! A body as it comes in: unpacked piece by piece, and never more of it kept than was asked for.

use flate2::write::MultiGzDecoder;
use std::io::{self, Write};

/// Takes a body's pieces.
pub(super) enum Intake {
    /// As they are.
    Plain(Bounded),
    /// Compressed. What they unpack to counts, so that a small bomb ends at the same limit as a long page.
    Gzip(Box<MultiGzDecoder<Bounded>>),
}

/// What came of a body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
}

/// Keeps so many bytes and refuses the next.
#[derive(Debug)]
pub(super) struct Bounded {
    body: Body,
    max: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.max.saturating_sub(self.body.bytes.len());
        if room == 0 && !bytes.is_empty() {
            self.body.cut = true;
            return Err(io::Error::other("more than was asked for"));
        }
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.body.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Intake {
    /// An intake for a content coding; none for one that wasn't offered.
    pub(super) fn new(coding: &str, max: usize) -> Option<Self> {
        let bounded = Bounded { body: Body::default(), max };
        match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Plain(bounded)),
            "gzip" | "x-gzip" => Some(Self::Gzip(Box::new(MultiGzDecoder::new(bounded)))),
            _ => None,
        }
    }

    /// Takes the next piece and says whether more is wanted.
    ///
    /// # Errors
    /// The compressed data is damaged.
    pub(super) fn push(&mut self, piece: &[u8]) -> io::Result<bool> {
        let pushed = match self {
            Self::Plain(bounded) => bounded.write_all(piece),
            Self::Gzip(decoder) => decoder.write_all(piece),
        };
        self.settled(pushed)
    }

    /// Ends it.
    ///
    /// # Errors
    /// The compressed data is damaged or ends too early.
    pub(super) fn finish(mut self) -> io::Result<Body> {
        let finished = match &mut self {
            Self::Plain(_) => Ok(()),
            // A cut one has no end to look for.
            Self::Gzip(decoder) if decoder.get_ref().body.cut => Ok(()),
            Self::Gzip(decoder) => decoder.try_finish(),
        };
        self.settled(finished)?;
        Ok(match &mut self {
            Self::Plain(bounded) => std::mem::take(&mut bounded.body),
            Self::Gzip(decoder) => {
                let kept = std::mem::take(&mut decoder.get_mut().body);
                // The decoder looks once more for output when it is dropped.
                decoder.get_mut().max = 0;
                kept
            }
        })
    }

    /// How much is kept so far.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(bounded) => bounded.body.bytes.len(),
            Self::Gzip(decoder) => decoder.get_ref().body.bytes.len(),
        }
    }

    /// An error of our own making, at the limit, is no error.
    fn settled(&self, result: io::Result<()>) -> io::Result<bool> {
        let cut = match self {
            Self::Plain(bounded) => bounded.body.cut,
            Self::Gzip(decoder) => decoder.get_ref().body.cut,
        };
        if cut { Ok(false) } else { result.map(|()| true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn taken(coding: &str, max: usize, bytes: &[u8]) -> io::Result<Body> {
        let mut intake = Intake::new(coding, max).unwrap();
        for piece in bytes.chunks(700) {
            if !intake.push(piece)? {
                break;
            }
        }
        intake.finish()
    }

    #[test]
    fn a_body_ends_at_the_limit_and_not_before_it() {
        let page = vec![b'a'; 5_000];
        for (coding, sent) in [("", page.clone()), ("GZip", gzip(&page))] {
            let whole = taken(coding, 5_000, &sent).unwrap();
            assert!(whole.bytes == page && !whole.cut, "{coding}");
            let cut = taken(coding, 4_999, &sent).unwrap();
            assert!(cut.bytes == page[..4_999] && cut.cut, "{coding}");
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked_beyond_the_limit() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert!(bomb.len() < 1 << 20);
        let body = taken("gzip", 10_000, &bomb).unwrap();
        assert_eq!((body.bytes.len(), body.cut), (10_000, true));
    }

    #[test]
    fn damage_and_unknown_codings_are_told() {
        let sent = gzip(&(0..5_000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        assert!(taken("gzip", 100_000, &sent[..sent.len() / 2]).is_err());
        assert!(taken("gzip", 100_000, b"<html>").is_err());
        assert!(Intake::new("br", 1).is_none());
        assert!(Intake::new("gzip, gzip", 1).is_none());
    }
}
