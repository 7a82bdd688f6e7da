//! Files that aren't text: pictures that the model looks at, documents whose text it reads, and the others, of
//! which type, size and first bytes are told.

use super::{look::Job, pages};
use crate::text::{binary, size, whole::read_whole};
use haft_core::{Block, Cancel, Failure, FailureKind, ImageLimits, Media, Output, PageRange};
use serde_json::json;
use std::fmt::Write as _;

/// A longer file isn't decoded.
pub(crate) const MEDIA_MAX_BYTES: u64 = 32 << 20;
/// What models take at most, as their vendors document it: Anthropic scales longer sides than 1,568 pixels down
/// and refuses more than 5 MB of base64, which are 3.75 MB of data; the others take more.
const IMAGE_LIMITS: ImageLimits = ImageLimits { side_max_px: 1_568, data_max_bytes: 3_750_000 };

/// What was found at a path.
pub(crate) enum Found {
    /// What there is to show of it.
    Shown(Output),
    /// A document whose text is still to be had, which takes a process.
    Document(Document),
}

/// A file that begins as a PDF.
pub(crate) struct Document {
    bytes: Vec<u8>,
    name: String,
    path: String,
    /// What is said of it where it has no text.
    described: String,
    pages: PageRange,
    skip: usize,
    /// What else is to be said of it.
    pub(crate) note: Option<Block>,
}

/// A file that isn't text.
pub(crate) struct Binary<'a> {
    /// The path as it is written for readers.
    pub(crate) name: &'a str,
    pub(crate) head: &'a [u8],
    pub(crate) len: u64,
}

impl Binary<'_> {
    /// Looks at what it is, by its content.
    ///
    /// # Errors
    /// What [`haft_core::Files`] answers.
    pub(crate) fn found(
        &self,
        job: &Job<'_>,
        pages: Option<PageRange>,
        offset: i64,
    ) -> Result<Found, Failure> {
        let described = binary::describe(self.name, self.head, self.len);
        let kind = binary::kind(self.head);
        let is_picture = matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
        let is_document = kind == "application/pdf";
        if !is_picture && !is_document {
            return Ok(Found::Shown(Output::text(described)));
        }
        if self.len > MEDIA_MAX_BYTES {
            let text =
                format!("{described}\nLonger than {}, so nothing of it is shown.", size(MEDIA_MAX_BYTES));
            return Ok(Found::Shown(Output::text(text)));
        }
        let bytes = read_whole(job.files, job.at, job.cancel)?;
        if is_document {
            let (name, path) = (self.name.to_owned(), job.at.absolute());
            let skip = usize::try_from(offset).unwrap_or(1).saturating_sub(1);
            let pages = pages::shown(pages);
            return Ok(Found::Document(Document { bytes, name, path, described, pages, skip, note: None }));
        }
        match job.media.image(&bytes, IMAGE_LIMITS) {
            Ok(image) => {
                let [width, height] = image.file_size;
                let mut text = format!(
                    "{}: {}, {width}×{height} pixels, {}",
                    self.name,
                    image.file_type,
                    size(self.len)
                );
                if image.is_animated {
                    text.push_str("; of its frames the first is shown");
                }
                if image.size != image.file_size || image.media_type != image.file_type {
                    let [width, height] = image.size;
                    let _ = write!(text, "; shown as {}, {width}×{height}", image.media_type);
                }
                let metadata = json!({
                    "path": job.at.absolute(),
                    "mediaType": image.media_type,
                    "size": image.size,
                    "fileSize": image.file_size,
                });
                let picture = Block::Image {
                    data: image.data,
                    media_type: image.media_type.to_owned(),
                    dims: Some(image.size),
                };
                let output = Output { content: vec![Block::text(text), picture], ..Output::default() };
                Ok(Found::Shown(output.with_metadata(metadata)))
            }
            Err(failure) => Ok(Found::Shown(Output::text(why(&described, &failure)))),
        }
    }
}

impl Document {
    /// Has its text read.
    ///
    /// # Errors
    /// Cancelled. What can't be read is described instead.
    pub(crate) async fn show(self, media: &dyn Media, cancel: &Cancel) -> Result<Output, Failure> {
        let mut output = match media.pdf(self.bytes, self.pages, cancel).await {
            Ok(text) => {
                let shown = pages::show(&self.name, &text, self.skip, self.pages);
                let metadata = json!({"path": self.path, "pages": text.total});
                Output::text(shown).with_metadata(metadata)
            }
            Err(failure) if failure.kind == FailureKind::Cancelled => return Err(failure),
            Err(failure) => Output::text(why(&self.described, &failure)),
        };
        output.content.extend(self.note);
        Ok(output)
    }
}

/// What a file is, and why nothing more of it is shown.
fn why(described: &str, failure: &Failure) -> String {
    let mut letters = failure.text.chars();
    let first = letters.next().map_or_else(String::new, |first| first.to_uppercase().to_string());
    format!("{described}\n{first}{}.", letters.as_str())
}
