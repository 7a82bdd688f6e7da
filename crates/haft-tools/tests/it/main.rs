//! The built-in tools on real files and processes, every call through the executor.
//!
//! Cases from the field are named `case_<id>_<what>`, followed by further members of their kind. Limits on
//! time are one-sided: how long something may take at most, never how long it must.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::format_collect,
    reason = "tests fail by panicking, and make and look at their world with their own hands"
)]

mod bytes;
mod check;
mod children;
mod contract;
mod diff_tool;
mod edit;
mod environment;
mod exec;
mod fetch;
mod foreign;
mod gates;
mod git;
mod kit;
mod laws;
mod links;
mod meta;
mod names;
mod notebook;
mod output;
mod packages;
mod patch;
mod prompts;
mod races;
mod read;
mod read_kinds;
mod refusals;
mod replace;
mod search;
mod shell;
mod snapshot;
mod special;
mod swap;
mod undo_edit;
mod walks;
