//! The tool `grep`: which lines of which files match.
//!
//! Pages and counts here; searching, ignore rules and denied paths are left to [`haft_core::Files`]. Keeps
//! the invariant that counts are of what there is, not of what is shown.

mod input;
mod page;
mod tool;
mod verdict;

pub(crate) use tool::GrepTool;
