//! The shortest way in: a workspace, its state folder, and one session on the real world.

use haft_core::{AnyTool, Approver, Ended, Failure, NoApprover, Request, StateFolder};
use haft_os::{Environment, OsFiles, OsProcesses, OsState};
use haft_policy::{Mode, Policy};
use haft_runtime::{Catalogue, Executor, RegisterError, SPILL_FOLDER, Session, SessionSetup};
use std::{path::Path, sync::Arc};

/// A runtime with one session.
pub struct Embedded {
    /// The tools.
    pub catalogue: Catalogue,
    /// The call path.
    pub executor: Executor,
    /// The session.
    pub session: Arc<Session>,
}

impl Embedded {
    /// Opens a workspace with nobody to ask: what needs a person's word is refused.
    ///
    /// # Errors
    /// Not found where the workspace isn't a folder; unavailable where the state folder can't be made.
    pub fn open(workspace: &Path, state: &Path, mode: Mode) -> Result<Self, Failure> {
        Self::open_with(workspace, state, mode, Arc::new(NoApprover))
    }

    /// Opens a workspace with somebody who answers questions.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open_with(
        workspace: &Path,
        state: &Path,
        mode: Mode,
        approver: Arc<dyn Approver>,
    ) -> Result<Self, Failure> {
        let spill = state.join(SPILL_FOLDER);
        haft_os::host::make_dirs(&spill)?;
        let files = OsFiles::new(workspace, std::slice::from_ref(&spill), state)?;
        let world = haft_os::world(files, OsProcesses::new(Environment::of_process()));
        let folder: Arc<dyn StateFolder> = Arc::new(OsState::new(state));
        let executor = Executor::new(world.clone(), Some(folder.as_ref()));
        let catalogue = Catalogue::new();
        let mut policy = Policy::new(mode, world.files.workspace());
        policy.roots.push(spill.to_string_lossy().into_owned());
        let setup = SessionSetup::new("embedded", catalogue.clone(), policy, Arc::clone(&world.clock));
        let session = Session::open(SessionSetup { approver, state: Some(folder), ..setup })?;
        Ok(Self { catalogue, executor, session })
    }

    /// Adds tools for good.
    ///
    /// # Errors
    /// The first tool's that can't be registered.
    pub fn add(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn AnyTool>>,
        owner: &str,
    ) -> Result<(), RegisterError> {
        for handle in self.catalogue.register_all(tools, owner)? {
            handle.keep();
        }
        self.session.refresh();
        Ok(())
    }

    /// Adds the built-in tools.
    ///
    /// # Errors
    /// Where another owner has one of their names.
    #[cfg(feature = "tools")]
    pub fn add_builtin(&self) -> Result<(), RegisterError> {
        let media = Arc::new(haft_os::OsMedia::default());
        let tools = haft_tools::tools_with(haft_tools::ToolSettings::default(), media);
        let help = haft_runtime::tool_help(&self.catalogue);
        let search = haft_runtime::find::tool_search(&self.catalogue);
        self.add(tools.into_iter().chain([help, search, haft_runtime::undo_tool()]), "core")
    }

    /// Makes one call and waits for its end.
    pub async fn call(&self, request: Request) -> Ended {
        self.executor.submit(&self.session, request).await
    }
}
