//! The list of the built-in tools.

use crate::{
    bash::BashTool,
    batch::BatchTool,
    check::CheckTool,
    diff::DiffTool,
    edit::EditTool,
    exec::{ExecSettings, ExecTool},
    fetch::{FetchSettings, FetchTool},
    git::GitTool,
    glob::GlobTool,
    grep::GrepTool,
    notebook_edit::NotebookEditTool,
    packages::PackagesTool,
    patch::PatchTool,
    read::ReadTool,
    replace::ReplaceTool,
    tool_use::ToolUseTool,
    tree::TreeTool,
    write::WriteTool,
};
use haft_core::{AnyTool, Media, NoMedia, erase};
use std::sync::Arc;

/// Every tool of this crate, erased; those that aren't sent with each request say so themselves.
pub fn tools() -> Vec<Arc<dyn AnyTool>> {
    tools_with(ToolSettings::default(), Arc::new(NoMedia))
}

/// What an operator set for single tools.
#[derive(Default)]
pub struct ToolSettings {
    /// For `fetch`.
    pub fetch: FetchSettings,
    /// For `exec`.
    pub exec: ExecSettings,
}

/// The same, with what an operator set, and with what decodes pictures and documents for `read`.
pub fn tools_with(settings: ToolSettings, media: Arc<dyn Media>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        erase(ReadTool { media }),
        erase(WriteTool),
        erase(EditTool),
        erase(GlobTool),
        erase(GrepTool),
        erase(TreeTool),
        erase(BashTool),
        erase(CheckTool),
        erase(ExecTool::new(settings.exec)),
        erase(GitTool),
        erase(PackagesTool),
        erase(FetchTool::new(settings.fetch)),
        erase(NotebookEditTool),
        erase(DiffTool),
        erase(PatchTool),
        erase(ReplaceTool),
        erase(ToolUseTool),
        erase(BatchTool),
    ]
}
