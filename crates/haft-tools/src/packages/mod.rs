//! `packages`: dependencies of a project, by its own package manager.
//!
//! What a call may do is judged by the manager's own line. A call that names no manager looks for it in the folder
//! and makes the same call with it, which is judged for itself. Keeps these invariants: a package is a name and a
//! version, never an option, a path or an address; what packages bring along as scripts isn't run unless the caller
//! says so and a person saw it; a dry run that changed a file is a failure; what is told as added was read from the
//! project's files; that nothing is known against a package is said only where the answer says so.

mod answer;
mod audit;
mod choice;
mod ground;
mod input;
mod manager;
mod name;
mod outdated;
mod plan;
mod standing;
mod tool;

pub(crate) use tool::PackagesTool;
