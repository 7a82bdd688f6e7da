//! `haft serve`: the tools for other programs.

use super::{Interrupts, block_on};
use crate::{app::App, status::Status};
use haft_core::{Approver, NoApprover};
use haft_mcp::{McpServer, ServerInfo};
use haft_os::FolderWatch;
use haft_runtime::Session;
use std::sync::Arc;
use tokio::{sync::mpsc, task::AbortHandle};

/// Serves the Model Context Protocol over standard input and output until the client leaves.
///
/// Questions are denials, unless `--yes` answers them: the terminal belongs to the protocol.
///
/// # Errors
/// The session can't be opened, or input or output broke.
pub(super) fn mcp(app: &App) -> anyhow::Result<Status> {
    block_on(async {
        let approver: Arc<dyn Approver> = if app.common.yes { app.approver() } else { Arc::new(NoApprover) };
        let live = app.live(&app.session_name("mcp"), approver)?;
        let mut interrupts = Interrupts::listen()?;
        let _following = AbortOnDrop(tokio::spawn(live.tools.clone().follow()).abort_handle());
        // "Always" in another process counts here from the next call on.
        let (sender, mut trust_changes) = mpsc::unbounded_channel();
        let watch = FolderWatch::new(&[app.trust_folder()?], move |_| {
            let _ = sender.send(());
        });
        let tools = live.tools.clone();
        let server = McpServer::new(live.executor.clone(), Arc::clone(&live.session), ServerInfo::default())
            .with_renewal(move || tools.sync());
        let served = {
            let serving = server.serve(tokio::io::stdin(), tokio::io::stdout());
            tokio::pin!(serving);
            loop {
                tokio::select! {
                    served = &mut serving => break served,
                    Some(()) = trust_changes.recv() => renew(app, &live.session),
                    () = interrupts.next() => break Ok(()),
                }
            }
        };
        drop(watch);
        live.session.end_run();
        served?;
        Ok(Status::Completed)
    })
}

fn renew(app: &App, session: &Session) {
    let mut policy = haft_policy::Policy::clone(&session.policy());
    policy.grants = app.policy().grants;
    session.set_policy(policy);
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
