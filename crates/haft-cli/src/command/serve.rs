//! `haft serve`: the tools for other programs.

use super::{Interrupts, block_on};
use crate::{app::App, status::Status};
use haft_core::{Approver, CallId, Event, NoApprover};
use haft_mcp::{McpServer, ServerInfo};
use haft_os::FolderWatch;
use haft_runtime::{EventStream, Session};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::timeout};

/// How long cancelled calls have to end, so that the log says how.
const END_TIMEOUT: Duration = Duration::from_secs(5);

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
        let _following = live.tools.followed();
        let mut open = Open::on(&live.session);
        // "Always" in another process counts here from the next call on.
        let (sender, mut trust_changes) = mpsc::unbounded_channel();
        let watch = FolderWatch::new(&[app.trust_folder()?], move |_| {
            let _ = sender.send(());
        });
        let tools = live.tools.clone();
        let server = McpServer::new(live.executor.clone(), Arc::clone(&live.session), ServerInfo::default())
            .with_renewal(move || tools.sync());
        let served = {
            let serving = server.serve(haft_os::standard::input(), haft_os::standard::output());
            tokio::pin!(serving);
            loop {
                tokio::select! {
                    served = &mut serving => break served,
                    Some(()) = trust_changes.recv() => renew(app, &live.session),
                    () = open.hear() => {}
                    () = interrupts.next() => break Ok(()),
                }
            }
        };
        drop(watch);
        live.session.end_run();
        // A call that doesn't end is left behind.
        let _ = timeout(END_TIMEOUT, open.ended()).await;
        served?;
        Ok(Status::Completed)
    })
}

fn renew(app: &App, session: &Session) {
    let mut policy = haft_policy::Policy::clone(&session.policy());
    policy.grants = app.policy().grants;
    session.set_policy(policy);
}

/// The calls of a session that haven't ended.
struct Open {
    events: EventStream,
    calls: BTreeSet<CallId>,
}

impl Open {
    fn on(session: &Session) -> Self {
        Self { events: session.events(), calls: BTreeSet::new() }
    }

    /// Takes the next event.
    ///
    /// # Cancellation
    /// Safe: no event is lost.
    async fn hear(&mut self) {
        let event = self.events.next().await;
        self.take(event);
    }

    /// Waits until none is open.
    async fn ended(&mut self) {
        loop {
            while let Some(event) = self.events.try_next() {
                self.take(event);
            }
            if self.calls.is_empty() {
                return;
            }
            self.hear().await;
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Requested { call, .. } => {
                self.calls.insert(call);
            }
            Event::Ended { call, .. } => {
                self.calls.remove(&call);
            }
            _ => {}
        }
    }
}
