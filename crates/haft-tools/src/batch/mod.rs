//! `batch`: several calls in one, which run together where they don't touch the same things.

mod input;
mod tool;

pub(crate) use tool::BatchTool;
