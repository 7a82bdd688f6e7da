//! `replace`: a pattern replaced in many files, all or none.
//!
//! [`pattern`] is what is looked for and what comes instead, [`change`] does so in the bytes of one file, and
//! [`sweep`] in all files beneath the paths given. Keeps the invariant that bytes outside the matches never change.
//! Leaves all-or-none to [`haft_core::Files::apply`].

mod change;
mod input;
mod pattern;
mod sweep;
mod tool;

pub(crate) use tool::ReplaceTool;
