//! What `read` takes.

use super::{page::Columns, pages};
use haft_core::{Failure, PageRange, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadInput {
    /// File or folder
    pub(crate) path: PathArg,
    /// First line, from 1; negative counts from the end
    pub(crate) offset: Option<i64>,
    /// Number of lines
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<u64>,
    /// Part of long lines, as "200-400"
    pub(crate) columns: Option<String>,
    /// Pages of a PDF or cells of a notebook, as "1-5"
    pub(crate) pages: Option<String>,
}

impl ReadInput {
    /// The characters of each line to show.
    ///
    /// # Errors
    /// Invalid input where the text is no range.
    pub(crate) fn columns(&self) -> Result<Columns, Failure> {
        match self.columns.as_deref() {
            None => Ok(Columns::default()),
            Some(text) => Columns::parse(text).ok_or_else(|| {
                Failure::invalid(format!(
                    "/columns must be two numbers from 1, as \"200-400\", and is \"{text}\""
                ))
            }),
        }
    }

    /// The pages or cells to show, where some are asked for.
    ///
    /// # Errors
    /// Invalid input where the text is no range.
    pub(crate) fn pages(&self) -> Result<Option<PageRange>, Failure> {
        let Some(text) = self.pages.as_deref() else { return Ok(None) };
        pages::parse(text).map(Some).ok_or_else(|| {
            Failure::invalid(format!(
                "/pages must be one or two numbers from 1, as \"3\" or \"1-5\", and is \"{text}\""
            ))
        })
    }
}
