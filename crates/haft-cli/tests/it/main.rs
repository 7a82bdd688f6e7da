//! The built binary in workspaces of its own, as people and scripts use it.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a test fails by panicking, and sets its own stage"
)]

mod always;
mod author;
mod calls;
mod code;
mod commands;
mod deny_paths;
mod explain;
mod extension_files;
mod extensions;
mod folders;
mod import;
mod jobs;
mod masking;
mod mcp;
mod permissions;
mod place;
mod reports;
mod resume;
mod rules;
mod sandbox;
mod scripts;
mod search;
mod secrets;
mod serving;
mod serving_http;
mod stored;
mod taint;
mod terminal;
mod together;
mod undo;
