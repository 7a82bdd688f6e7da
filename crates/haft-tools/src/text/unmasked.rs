//! Placeholders of masked secrets in what a model wrote, turned back into the bytes of the file they came from.

use haft_core::{Failure, SessionView};

/// The text as it is meant for a file; `file` is its present content.
///
/// # Errors
/// Invalid input where a placeholder stands for nothing in the file, or for bytes that are no text.
pub(crate) fn unmasked(session: &dyn SessionView, text: &str, file: &[u8]) -> Result<String, Failure> {
    let bytes = session.unmask(text.as_bytes(), file)?;
    String::from_utf8(bytes.into_owned()).map_err(|_| {
        Failure::invalid(
            "a masked secret of this file isn't UTF-8, so it can't be written back. Change other parts of the file",
        )
    })
}
