//! `write`: a file's whole content.
//!
//! Keeps the read–edit contract: nothing that the session hasn't seen is overwritten, judged by content.

mod fit;
mod input;
mod plan;
mod tool;

pub(crate) use tool::WriteTool;
