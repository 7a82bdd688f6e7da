//! What `fetch` takes.

use super::{format::Format, target};
use haft_core::{Failure, PathArg, WebUrl};
use schemars::JsonSchema;
use serde::Deserialize;

/// Bytes that are read unless asked otherwise, after decompression.
const SHOWN_BYTES: usize = 5 * 1024 * 1024;
/// Bytes that are read at most to be shown.
const SHOWN_MAX_BYTES: usize = 10 * 1024 * 1024;
/// Bytes that are read at most to be saved.
const SAVED_MAX_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FetchInput {
    /// https is tried first
    pub(crate) url: String,
    /// markdown (default), text, html, json, or raw with the headers
    // A plain string in the schema, so that the tool itself says what is wrong with it.
    #[schemars(with = "Option<String>")]
    pub(crate) format: Option<Format>,
    /// Bytes read at most
    pub(crate) max_bytes: Option<u64>,
    /// New file for the content, instead of showing it
    pub(crate) save: Option<PathArg>,
}

impl FetchInput {
    /// The URL in canonical form.
    ///
    /// # Errors
    /// Invalid input for what can't be fetched.
    pub(super) fn target(&self) -> Result<WebUrl, Failure> {
        target::read(&self.url)
    }

    /// How much of the body is read.
    ///
    /// # Errors
    /// Invalid input for none, and for more than is ever read.
    pub(super) fn limit(&self) -> Result<usize, Failure> {
        let (usual, most) = match self.save {
            Some(_) => (SAVED_MAX_BYTES, SAVED_MAX_BYTES),
            None => (SHOWN_BYTES, SHOWN_MAX_BYTES),
        };
        match self.max_bytes.map(usize::try_from) {
            None => Ok(usual),
            Some(Ok(limit)) if (1..=most).contains(&limit) => Ok(limit),
            Some(_) => Err(Failure::invalid(format!("/maxBytes must be a number from 1 to {most}"))),
        }
    }
}
