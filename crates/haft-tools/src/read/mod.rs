//! `read`: a file with numbered lines, a folder, a picture, the text of a PDF, or the cells of a notebook. What a
//! file is, its content says and not its name; only a notebook, which is text too, has to be called one.
//!
//! A text file of any size is read in blocks and never held whole: one pass finds its encoding, line ends,
//! number of lines and hash, a second one shows the lines asked for.

mod cells;
mod folder;
mod input;
mod look;
mod media;
mod page;
mod pages;
mod roll;
mod source;
mod survey;
mod tool;

pub(crate) use page::{COLUMNS_MAX, LINE_MAX_CHARS};
pub(crate) use tool::ReadTool;
