//! The tool `bash`: runs a command line in a shell.
//!
//! Hands the caller's bytes to the shell unchanged and tells how it ended; owning and stopping the tree of
//! processes is left to [`haft_core::Processes`]. Keeps the invariant that the end of a command is always
//! stated: exit code, signal, time, what was stopped.

mod input;
mod place;
mod script;
mod tool;

pub(crate) use tool::BashTool;
