//! The list of the built-in tools.

use crate::{
    bash::BashTool, edit::EditTool, glob::GlobTool, grep::GrepTool, read::ReadTool, tree::TreeTool,
    write::WriteTool,
};
use haft_core::{AnyTool, erase};
use std::sync::Arc;

/// Every tool of this crate, erased; those that aren't sent with each request say so themselves.
pub fn tools() -> Vec<Arc<dyn AnyTool>> {
    vec![
        erase(ReadTool),
        erase(WriteTool),
        erase(EditTool),
        erase(GlobTool),
        erase(GrepTool),
        erase(TreeTool),
        erase(BashTool),
    ]
}
