//! The tool `glob`: which files have a name like this.
//!
//! Matches by itself, so that Unicode spellings compare alike and a literal path wins over ignore rules;
//! leaves walking, ignore rules and denied paths to [`haft_core::Files`]. Keeps the invariant that what is
//! left out is counted.

mod answer;
mod input;
mod matcher;
mod newest;
mod say;
mod search;
mod split;
mod tool;

pub(crate) use say::{counted, unreadable};
pub(crate) use search::Hidden;
pub(crate) use tool::GlobTool;
