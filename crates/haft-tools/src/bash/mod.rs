//! The tool `bash`: runs a command line in a shell.
//!
//! Hands the caller's bytes to the shell unchanged and tells how it ended; owning and stopping the tree of
//! processes is left to [`haft_core::Jobs`], also of a command that goes on in the background. Keeps the invariant that
//! the end of a command is always stated: exit code, signal, time, what was stopped; and of one that goes on, how to go
//! on with it.

mod editor;
mod input;
mod place;
mod script;
mod settings;
mod tool;

pub use settings::BashSettings;
pub(crate) use tool::BashTool;
