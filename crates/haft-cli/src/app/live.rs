//! A session on the tools of the workspace, with all that a command needs to make calls in it.

use super::{App, Tools, grants::SavedGrants, keys, made, masker::Masking, renewal::TrustRenewal};
use crate::print;
use haft_core::{Approver, Clock, Credential};
use haft_os::{OsState, SystemClock};
use haft_runtime::{
    Executor, JOBS_MAX, Resolved, Session, SessionSetup, ToolSet, hooks::Hooks, settings::TrustPins,
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// How long a conversation waits for servers whose tools nobody knows yet.
const MEETING_TIME: Duration = Duration::from_secs(3);

/// How long a session's process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// For one call.
    OneCall,
    /// For as many as come.
    Lasting,
}

/// What a host offers its model.
pub(crate) struct Offered {
    /// The tools that it may see; what the settings leave out stays out.
    pub(crate) tools: ToolSet,
    /// How many tokens the model takes at all, where that is known.
    pub(crate) window_tokens: Option<u64>,
}

/// What a command needs to make calls.
pub(crate) struct Live {
    /// The one call path.
    pub(crate) executor: Executor,
    /// The conversation.
    pub(crate) session: Arc<Session>,
    /// The tools of the workspace; they go when this is dropped.
    pub(crate) tools: Tools,
}

impl Live {
    /// Has the session see the tools of servers that nobody knew yet, as far as they can be had soon; others come when
    /// they come, and a server that is slow holds nobody up.
    pub(crate) async fn meet(&self) {
        let tools = self.tools.clone();
        let meeting = tokio::spawn(async move { tools.meet().await });
        let _ = timeout(MEETING_TIME, meeting).await;
        self.session.refresh();
    }

    /// The same where one tool is wanted: where it is known, nothing is waited for.
    pub(crate) async fn meet_for(&self, tool: &str) {
        if !matches!(self.session.snapshot().resolve(tool), Resolved::Tool(..)) {
            self.tools.meet().await;
            self.session.refresh();
        }
    }

    /// Lets servers end by themselves.
    pub(crate) async fn close(&self) {
        self.tools.servers().close().await;
    }
}

impl App {
    /// Opens a session on the tools of the workspace. Must be called within the tokio runtime.
    ///
    /// # Errors
    /// The name is no session's; the state folder can't be written.
    pub(crate) fn live(&self, name: &str, approver: Arc<dyn Approver>) -> anyhow::Result<Live> {
        self.live_with(name, approver, self.offered())
    }

    /// As [`App::live`], for a process that makes one call and ends.
    ///
    /// # Errors
    /// As [`App::live`].
    pub(crate) fn live_for_one_call(&self, name: &str, approver: Arc<dyn Approver>) -> anyhow::Result<Live> {
        self.open(name, approver, self.offered(), Life::OneCall)
    }

    /// As [`App::live`], with what the host offers its model.
    ///
    /// # Errors
    /// As [`App::live`].
    pub(crate) fn live_with(
        &self,
        name: &str,
        approver: Arc<dyn Approver>,
        offered: Offered,
    ) -> anyhow::Result<Live> {
        self.open(name, approver, offered, Life::Lasting)
    }

    /// What the settings show, to nobody knows which model.
    fn offered(&self) -> Offered {
        Offered { tools: self.tool_set(), window_tokens: None }
    }

    fn open(
        &self,
        name: &str,
        approver: Arc<dyn Approver>,
        offered: Offered,
        life: Life,
    ) -> anyhow::Result<Live> {
        // There before any command starts: what is stored later is hidden from it then as well.
        made(&OsState::new(self.home.state.clone()), keys::FOLDER)?;
        // Before what is made of it, so that a change meanwhile is seen at the first call.
        let trusted = self.trust.bytes();
        let mut policy = self.policy();
        let world = self.world(self.sandbox(&policy))?;
        let state = self.state();
        let tools = Tools::load(self, Arc::clone(&world.files))?;
        policy.confines = self.confines(world.processes.sandbox().as_ref());
        let (masking, unopened) = self.masking()?.unzip();
        if let Some(failure) = unopened.flatten() {
            let problem = self.unopened(&failure);
            print::note(&problem.to_string());
            tools.catalogue.report("secrets", vec![problem]);
        }
        let masker = masking.as_ref().map(Masking::masker).transpose()?;
        let renewal = TrustRenewal::new(self, trusted, policy.clone()).masking(masking);
        policy.temp.extend(self.temp_folder(name));
        let keys = self.keys.clone();
        let mut hooks = self.settings.hooks.clone();
        hooks.extend(tools.hooks());
        let hooks = Hooks::new(world.clone(), hooks)
            .with_credentials(Arc::new(move |credential: &Credential| keys.find(credential)));
        let executor = Executor::new(world, Some(state.as_ref()));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let setup = SessionSetup {
            tools: offered.tools,
            deferral: self.deferral(),
            window_tokens: offered.window_tokens,
            approver,
            grants: Some(Arc::new(SavedGrants::new(self.trust.clone(), self.place.clone()))),
            pins: Some(Arc::new(TrustPins::new(self.trust.clone(), Arc::clone(&clock)))),
            renewal: Some(Arc::new(renewal)),
            state: Some(state),
            hooks: Arc::new(hooks),
            masker,
            jobs_max: self.jobs_max(),
            lasting: life == Life::Lasting,
            ..SessionSetup::new(name, tools.catalogue.clone(), policy, clock)
        };
        let session = Session::open(setup)?;
        Ok(Live { executor, session, tools })
    }

    /// How many jobs there may be at once.
    fn jobs_max(&self) -> usize {
        let set = self.settings.tools.get("bash").and_then(|tool| tool.jobs.as_ref());
        set.and_then(|set| usize::try_from(set.value).ok()).unwrap_or(JOBS_MAX)
    }
}
