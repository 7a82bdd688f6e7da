//! The built-in tools, one folder each.
//!
//! A folder reads the same everywhere: `tool.rs` declares the tool and does its input and output, `input.rs`
//! is the schema, `prompt.md` is what the model reads, and the pure algorithm stands in a file named for it.
//! Everything outside is reached through the traits of `haft-core`. Keeps the invariants "no lossy decode
//! before a write; bytes outside an edit's span never change" and "a failure text says what to do next".

mod bash;
mod builtin;
mod edit;
mod field;
mod glob;
mod grep;
mod read;
mod text;
mod tree;
mod write;

pub use builtin::tools;
