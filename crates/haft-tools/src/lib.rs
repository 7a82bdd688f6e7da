//! The built-in tools, one folder each.
//!
//! A folder reads the same everywhere: `tool.rs` declares the tool and does its input and output, `input.rs`
//! is the schema, `prompt.md` is what the model reads, and the pure algorithm stands in a file named for it.
//! Everything outside is reached through the traits of `haft-core`. Keeps the invariants "no lossy decode
//! before a write; bytes outside an edit's span never change" and "a failure text says what to do next".

mod bash;
mod batch;
mod builtin;
mod check;
mod diff;
mod edit;
mod exec;
mod fetch;
mod field;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod git;
mod glob;
mod grep;
mod notebook;
mod notebook_edit;
mod packages;
mod patch;
mod program;
mod read;
mod replace;
mod text;
mod tool_use;
mod tree;
mod write;

pub use builtin::{ToolSettings, tools, tools_with};
pub use exec::ExecSettings;
pub use fetch::{FetchHeader, FetchSettings};
