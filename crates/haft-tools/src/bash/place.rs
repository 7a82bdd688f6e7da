//! Where a command runs.

use super::input::BashInput;
use haft_core::{Cx, Failure, FailureKind, FileKind, Files, PathArg, RealPath, SHELL_FOLDER};
use std::sync::Arc;

/// The folder of one call.
#[derive(Debug)]
pub(super) struct Place {
    /// Where the shell starts.
    pub(super) at: RealPath,
    /// Whether later calls start where this one ends.
    pub(super) persists: bool,
    /// The folder where it should have started, but which is gone.
    pub(super) gone: Option<String>,
}

impl Place {
    /// The folder of the input, else the session's, else the workspace root.
    ///
    /// # Errors
    /// Not found where the input names no folder.
    pub(super) async fn choose(input: &BashInput, cx: &Cx) -> Result<Self, Failure> {
        let files = Arc::clone(&cx.world.files);
        if let Some(written) = &input.cwd {
            let at = cx.path(written)?;
            let asked = at.clone();
            return if cx.blocking(move || Ok(is_folder(files.as_ref(), &asked))).await? {
                Ok(Self { at, persists: false, gone: None })
            } else {
                Err(Failure::not_found(format!(
                    "there is no folder {}, so nothing ran; name one that exists (a relative cwd starts at \
                     the workspace root), or leave cwd out",
                    written.0
                )))
            };
        }
        let workspace = cx.world.files.workspace();
        let Some(last) = cx.session.state(SHELL_FOLDER).and_then(|value| value.as_str().map(str::to_owned))
        else {
            return Ok(Self { at: workspace, persists: true, gone: None });
        };
        let path = PathArg(last.clone());
        let found = cx
            .blocking(move || Ok(files.resolve(&path).ok().filter(|at| is_folder(files.as_ref(), at))))
            .await?;
        Ok(match found {
            Some(at) => Self { at, persists: true, gone: None },
            None => Self { at: workspace, persists: true, gone: Some(last) },
        })
    }
}

/// Whether a shell can start there; where that can't be told, starting it will.
fn is_folder(files: &dyn Files, at: &RealPath) -> bool {
    match files.stat(at) {
        Ok(stat) => stat.kind == FileKind::Folder,
        Err(failure) => failure.kind != FailureKind::NotFound,
    }
}
