//! `undo`: puts files back to how they were before calls changed them.
//!
//! It lives here and not with the built-in tools, since it goes by what the runtime remembers of calls. Which calls
//! are meant is decided in `target.rs`, what is to be done in `plan.rs`: both pure. A file that changed since is never
//! overwritten; then nothing is undone.

mod diff;
mod input;
mod job;
mod plan;
mod refusal;
mod target;
mod tool;

use haft_core::{AnyTool, ChangedBy, Failure, StateFolder, erase};
use std::sync::Arc;

/// The tool.
pub fn undo_tool() -> Arc<dyn AnyTool> {
    erase(tool::UndoTool)
}

/// The calls of a session that changed files and weren't undone, oldest first, as `undo` without input takes them:
/// calls made inside another belong to it.
///
/// # Errors
/// Unavailable where the session's log can't be read.
pub fn undoable(state: &dyn StateFolder, session: &str) -> Result<Vec<ChangedBy>, Failure> {
    let (changes, undone) = crate::session::changes_in(state, session, target::UNDONE)?;
    let shared = crate::session::shared_in(state, session, target::UNDONE);
    let undone = target::Undone::of(undone.as_ref()).joined(target::Undone::shared(shared.as_deref()));
    Ok(target::open(&changes, &undone))
}
