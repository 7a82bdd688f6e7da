//! `edit`: replacements in one file, all or none.
//!
//! Keeps the invariant that bytes outside an edit's span never change: replacements are found in a view
//! of the file's own bytes, and nothing but the spans they stand for is ever written anew.

mod fold;
mod indent;
mod input;
#[path = "match.rs"]
mod matching;
mod nearest;
mod plan;
mod refusal;
mod tool;

pub(crate) use tool::EditTool;
#[cfg(feature = "fuzzing")]
pub(crate) use {
    input::Replacement,
    plan::{apply, plan},
};
