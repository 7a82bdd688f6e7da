//! `fetch`: a page of the web, readable.
//!
//! Which hosts may be contacted is for the gates and the guarded client to say; this is about what a page
//! says. HTML is read by its tokens into a small, flat, well-formed rest first, so that neither deep nesting
//! nor broken markup reaches the Markdown writer.

mod content;
mod format;
mod grid;
mod html;
mod input;
mod json;
mod markup;
mod render;
mod settings;
mod target;
mod tool;

pub use settings::{FetchHeader, FetchSettings};
pub(crate) use tool::FetchTool;
