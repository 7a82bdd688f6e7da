//! The tool `job`: what became of commands in the background.
//!
//! Starting them is left to `bash`, owning them to [`haft_core::Jobs`]. Keeps the invariants that what a command printed
//! is shown once and that how it stands is always said; what is written to one is judged as the line that it may be.

mod input;
mod say;
mod tool;

pub(crate) use say::{ended_meanwhile, how_to_go_on, kept};
pub(crate) use tool::JobTool;
