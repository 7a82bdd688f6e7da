//! `exec`: one program of the user's list with its arguments, and no shell.
//!
//! Which programs there are is the user's word alone; what a call may do is judged by the line that a person would
//! type. Keeps these invariants: no word of the caller's is read by a shell; a program that starts others, by which
//! the list would mean nothing, is never run.

mod input;
mod settings;
mod tool;

pub use settings::ExecSettings;
pub(crate) use tool::ExecTool;
