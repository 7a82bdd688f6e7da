//! Pictures and documents, decoded: what a model can look at or read of a file that isn't text.
//!
//! Decoders are heavy, and what they are given may be made to harm: they stand behind this trait, so that a tool
//! author needs none of them and a host may leave them out.

use crate::{BoxFuture, Cancel, Failure, FailureKind};

/// What a model takes of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// The longest side in pixels.
    pub side_max_px: u32,
    /// The length of the encoded picture in bytes, before base64.
    pub data_max_bytes: usize,
}

/// A picture that was decoded once, so that it is known to be whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What `data` is, by its content: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// The encoded picture in base64.
    pub data: String,
    /// Width and height of `data` in pixels.
    pub size: [u32; 2],
    /// What the file is, by its content.
    pub file_type: &'static str,
    /// Width and height of what the file shows in pixels.
    pub file_size: [u32; 2],
    /// Whether it moves, and only its first frame is in `data`.
    pub is_animated: bool,
}

/// Pages of a document, from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRange {
    /// The first page.
    pub first: u32,
    /// The last page, which may lie behind the end.
    pub last: u32,
}

/// The text of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfPage {
    /// Its number, from 1.
    pub number: u32,
    /// Its text, or why there is none to be had.
    pub text: Result<String, String>,
}

/// The text of some pages of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfText {
    /// How many pages the document has.
    pub total: u32,
    /// Those asked for that exist, in order.
    pub pages: Vec<PdfPage>,
}

/// Decodes pictures and documents.
///
/// The text of a failure is a sentence about the content, without its name and a full stop: "it isn't a whole PNG:
/// …".
pub trait Media: Send + Sync {
    /// Decodes a picture and makes it fit the limits. Blocks; call it inside [`crate::Cx::blocking`].
    ///
    /// # Errors
    /// Invalid input where the content is no whole PNG, JPEG, GIF or WebP, or too large to be decoded;
    /// unavailable where there is no decoder.
    fn image(&self, bytes: &[u8], limits: ImageLimits) -> Result<Image, Failure>;

    /// The text of a PDF's pages.
    ///
    /// # Errors
    /// Invalid input where the content is no readable PDF; timeout; cancelled; unavailable where there is no
    /// decoder.
    fn pdf<'a>(
        &'a self,
        bytes: Vec<u8>,
        pages: PageRange,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<PdfText, Failure>>;
}

/// For a host without decoders.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMedia;

impl Media for NoMedia {
    fn image(&self, _: &[u8], _: ImageLimits) -> Result<Image, Failure> {
        Err(Failure::new(
            FailureKind::Unavailable,
            "it isn't shown, since this host decodes no pictures; a command through bash may describe it",
        ))
    }

    fn pdf<'a>(&'a self, _: Vec<u8>, _: PageRange, _: &'a Cancel) -> BoxFuture<'a, Result<PdfText, Failure>> {
        let failure = Failure::new(
            FailureKind::Unavailable,
            "its text isn't shown, since this host reads no PDF; pdftotext through bash may give it",
        );
        Box::pin(std::future::ready(Err(failure)))
    }
}
