//! `read`: a file with numbered lines, or a folder.
//!
//! A file of any size is read in blocks and never held whole: one pass finds its encoding, line ends,
//! number of lines and hash, a second one shows the lines asked for.

mod folder;
mod input;
mod look;
mod page;
mod source;
mod survey;
mod tool;

pub(crate) use page::{COLUMNS_MAX, LINE_MAX_CHARS};
pub(crate) use tool::ReadTool;
