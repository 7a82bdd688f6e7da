//! `diff`: what differs between two files, or what git says has changed in the workspace.
//!
//! Keeps the invariant that only what may be read is shown: git is asked for the names first, those that a rule
//! denies are dropped and counted, and only the others' content is asked for. Nothing that a repository's settings
//! name is ever run.

mod files;
mod input;
mod tool;

pub(crate) use tool::DiffTool;
