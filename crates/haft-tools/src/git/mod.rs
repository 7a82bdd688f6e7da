//! `git`: what a workspace's repository says, and changes to it, by named fields.
//!
//! What an action may do is for the gates to say: one that changes something states the line that a person would
//! type, one that only asks states what it reads. Keeps these invariants: no program that a repository names is run
//! (hooks, filters, drivers, monitors, signers, remote helpers), and where one would be needed the action is refused
//! or says so; no value of the caller's is taken for an option; nothing is told as done that wasn't read back; names
//! and contents that a rule denies are left out and counted.

mod act;
mod beneath;
mod change;
mod filters;
mod hooks;
mod input;
mod log;
mod look;
mod name;
mod plan;
mod refs;
mod remote;
mod repository;
mod status;
mod tool;
mod visible;

pub(crate) use beneath::beneath;
pub(crate) use repository::{DIFF, Repository};
pub(crate) use tool::GitTool;
pub(crate) use visible::{Sorted, sorted};
