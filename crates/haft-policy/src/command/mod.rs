//! Command lines: read exactly, or unclear.
//!
//! [`read_line`] lists what a line may run; what the listed programs do is told by tables of their own. What allows
//! a command builds on exact lines alone; of a line that is unclear the list is a guess, on which only what denies
//! and asks may build.

mod destructive;
mod git;
mod glance;
mod glob;
mod grammar;
mod hard;
mod line;
mod network;
mod operands;
mod parse;
mod place;
mod read_only;
#[cfg(test)]
pub(crate) mod typed;
mod variables;
mod wrappers;

pub(crate) use destructive::destructive;
pub use git::git_folder;
pub(crate) use glance::plainly;
pub use glob::{matches_name, pattern_parts};
pub use hard::OWN_SWITCHES;
pub(crate) use hard::is_downloader;
pub(crate) use hard::{hard_denied, hard_denied_paths};
pub use line::{
    Access, Cwd, Dialect, JudgedLine, Line, LinePath, PathWord, Redirect, RedirectKind, Simple, Word,
};
pub(crate) use network::way_out;
pub use operands::path_words;
pub use parse::read_line;
pub use place::{covers, normal};
pub(crate) use read_only::{is_among, read_only};
pub(crate) use variables::harmless;
pub(crate) use wrappers::{innermost, is_transparent};

/// The most commands that are listed of one line.
const COMMANDS_MAX: usize = 10_000;
