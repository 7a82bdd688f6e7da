//! `haft serve`: the tools for other programs.

use super::{Interrupts, block_on, end_jobs};
use crate::{app::App, print, status::Status};
use haft_core::{Approver, CallId, Cancel, Event, NoApprover};
use haft_mcp::{McpServer, ServerInfo};
use haft_runtime::{EventStream, Session, hooks::SessionEvent};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::time::timeout;

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
        live.meet().await;
        let _following = live.tools.followed();
        let mut open = Open::on(&live.session);
        let tools = live.tools.clone();
        // What hooks want the model to know stands in what the client tells it of this server.
        let mut info = ServerInfo::default();
        tokio::select! {
            context = tell(&live.session, SessionEvent::Start { source: "startup" }) => {
                for text in context {
                    info.instructions.push_str("\n\n");
                    info.instructions.push_str(&text);
                }
            }
            () = interrupts.next() => return Ok(Status::Completed),
        }
        let server = McpServer::new(live.executor.clone(), Arc::clone(&live.session), info)
            .with_renewal(move || tools.sync());
        let served = {
            let serving = server.serve(haft_os::standard::input(), haft_os::standard::output());
            tokio::pin!(serving);
            loop {
                tokio::select! {
                    served = &mut serving => break served,
                    () = open.hear() => {}
                    () = interrupts.next() => break Ok(()),
                }
            }
        };
        live.session.end_run();
        // A call that doesn't end is left behind.
        let _ = timeout(END_TIMEOUT, open.ended()).await;
        end_jobs(&live.session).await;
        let _ = timeout(END_TIMEOUT, tell(&live.session, SessionEvent::End { reason: "exit" })).await;
        live.close().await;
        served?;
        Ok(Status::Completed)
    })
}

/// Has hooks hear of the session, and gives what they want the model to know.
async fn tell(session: &Session, event: SessionEvent<'_>) -> Vec<String> {
    let (told, cancel) = (session.hook_session(), Cancel::new());
    let said = session.hooks().notify(&told, event, &cancel).await;
    for warning in &said.warnings {
        print::note(warning);
    }
    said.context
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
