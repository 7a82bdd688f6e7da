//! `patch`: hunks in many files, all or none, in the `*** Begin Patch` format or as unified diffs.
//!
//! [`parse`] reads both formats into one form, [`place`] finds where a hunk stands, [`splice`] turns it into spans
//! of the file's own bytes, and [`plan`] does so for every file before anything is written. Keeps the invariant that
//! bytes outside the changed lines never change. Leaves all-or-none to [`haft_core::Files::apply`].

mod envelope;
mod input;
mod lines;
mod name;
mod parse;
mod place;
mod plan;
mod refusal;
mod result;
mod section;
mod splice;
mod tool;
mod unified;

#[cfg(feature = "fuzzing")]
pub(crate) use plan::patched;
pub(crate) use tool::PatchTool;
