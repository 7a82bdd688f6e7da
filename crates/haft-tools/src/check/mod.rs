//! The tool `check`: runs the project's own tests, linter, formatter, type checker or build.
//!
//! Finds the runner by the project's manifests (`project.rs`), takes the first of a fixed list of commands that the
//! project has (`plan.rs`), reads what it printed (`parse`) and says what that shows (`verdict.rs`). Starting and
//! stopping processes is left to [`haft_core::Processes`]. Keeps two invariants: nothing is called passed without
//! evidence, and no command runs that wasn't among those stated before the call was judged.

mod asked;
mod finding;
mod heard;
mod input;
mod makefile;
mod manifest;
mod parse;
mod plan;
mod project;
mod render;
mod run;
mod runner;
mod tool;
mod verdict;

pub(crate) use tool::CheckTool;
