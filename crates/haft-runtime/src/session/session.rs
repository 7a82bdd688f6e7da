//! The session itself.

use super::{
    ContentStore, Grants, Interrupted, Keep, LogEntry, Numbers, Pins, Renewal, SessionSetup,
    changes::Changes,
    jobs::JobTable,
    marks::OwnMarked,
    record::{Recorder, log_file},
    resume::{Lost, Past, past},
};
use crate::{
    admission::Queue,
    catalogue::{Catalogue, Offer, Snapshot, ToolSet},
    event::{Bus, EventStream},
    find::Deferring,
    hooks::{HookSession, Hooks},
    seal::{Masks, SpillStore},
};
use haft_core::{Approver, CallId, Cancel, ChangedBy, Event, Failure, Output, RealPath, Seen, StateFolder};
use haft_policy::Policy;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

type Hook = Box<dyn FnOnce() + Send>;

/// What a session sees, and of what.
#[derive(Clone)]
struct Selected {
    /// The catalogue's snapshot.
    from: Arc<Snapshot>,
    /// The session's own part of it.
    snapshot: Arc<Snapshot>,
}

impl Selected {
    fn of(catalogue: &Catalogue, tools: &ToolSet) -> Self {
        let from = catalogue.snapshot();
        let snapshot = Arc::new(from.select(tools));
        Self { from, snapshot }
    }
}

/// One conversation.
pub struct Session {
    /// Its id.
    pub id: Arc<str>,
    parent: Option<Arc<Session>>,
    catalogue: Catalogue,
    tools: ToolSet,
    deferral: Deferring,
    selected: Mutex<Selected>,
    policy: watch::Sender<Arc<Policy>>,
    approver: Arc<dyn Approver>,
    grants: Option<Arc<dyn Grants>>,
    state: Mutex<BTreeMap<Arc<str>, Value>>,
    seen: Mutex<HashMap<RealPath, Seen>>,
    hooks: Mutex<Vec<Hook>>,
    queue: Queue,
    numbers: Numbers,
    bus: Bus,
    recorder: Option<Recorder>,
    spill: SpillStore,
    masks: Masks,
    contents: ContentStore,
    changes: Mutex<Changes>,
    folder: Option<Arc<dyn StateFolder>>,
    hooks_of_settings: Arc<Hooks>,
    pins: Option<Arc<dyn Pins>>,
    renewal: Option<Arc<dyn Renewal>>,
    renewing: Mutex<()>,
    /// Files that this session wrote while it bore marks.
    own_marked: Mutex<OwnMarked>,
    stop: Mutex<Option<String>>,
    run: Mutex<Cancel>,
    epoch: AtomicU64,
    interrupted: Vec<Interrupted>,
    pub(super) jobs: JobTable,
    lasting: bool,
}

impl Session {
    /// Opens a session, new or known. Calls that its last process left without an outcome get `interrupted`.
    ///
    /// # Errors
    /// Invalid input for an unusable id; unavailable where the log can't be opened.
    pub fn open(setup: SessionSetup) -> Result<Arc<Self>, Failure> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if setup.id.is_empty() || setup.id.len() > 64 || !setup.id.chars().all(allowed) {
            return Err(Failure::invalid(format!(
                "\"{}\" is no session name — use up to 64 letters, digits, hyphens, underscores",
                setup.id
            )));
        }
        let masks = match (setup.masker, &setup.parent) {
            (None, Some(parent)) => parent.masks.clone(),
            (own, _) => Masks::new(own),
        };
        let (past, lost, recorder) = match &setup.state {
            Some(state) => {
                let (past, lost) = past(state.as_ref(), &setup.id)?;
                let recorder =
                    Recorder::open(state.as_ref(), &setup.id, Arc::clone(&setup.clock), masks.clone())?;
                (past, lost, Some(recorder))
            }
            None => (Past::default(), Lost::default(), None),
        };
        let numbers = |of: &str| match &setup.state {
            Some(state) => {
                let counter = state.open_counter(&format!("sessions/{}/{of}.count", setup.id))?;
                Ok::<_, Failure>(Numbers::Shared(counter))
            }
            None => Ok(Numbers::Own(0.into())),
        };
        let jobs = JobTable::new(setup.jobs_max, numbers("jobs")?, &lost.jobs);
        let numbers = numbers("calls")?;
        let mut policy = setup.policy;
        policy.marks = Self::known_marks(&past.state);
        let session = Arc::new(Self {
            id: setup.id.as_str().into(),
            selected: Mutex::new(Selected::of(&setup.catalogue, &setup.tools)),
            parent: setup.parent,
            catalogue: setup.catalogue,
            tools: setup.tools,
            deferral: Deferring { deferral: setup.deferral, window_tokens: setup.window_tokens },
            spill: SpillStore::new(setup.state.clone(), &setup.id),
            masks,
            contents: ContentStore::new(setup.state.clone(), &setup.id),
            changes: Mutex::new(past.changes),
            folder: setup.state,
            policy: watch::Sender::new(Arc::new(policy)),
            hooks_of_settings: setup.hooks,
            pins: setup.pins,
            renewal: setup.renewal,
            renewing: Mutex::default(),
            own_marked: Mutex::default(),
            stop: Mutex::default(),
            approver: setup.approver,
            grants: setup.grants,
            state: Mutex::new(past.state),
            seen: Mutex::new(past.seen.into_iter().collect()),
            hooks: Mutex::default(),
            queue: Queue::default(),
            numbers,
            bus: Bus::default(),
            recorder,
            run: Mutex::default(),
            epoch: AtomicU64::new(0),
            interrupted: lost.calls,
            jobs,
            lasting: setup.lasting,
        });
        session.say_opened()?;
        Ok(session)
    }

    fn say_opened(&self) -> Result<(), Failure> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        let policy = self.policy();
        recorder.write([LogEntry::Opened {
            run: recorder.run,
            workspace: policy.workspace.absolute(),
            mode: policy.mode.to_string(),
        }])
    }

    /// The calls that got `interrupted` when the session was opened.
    pub fn interrupted(&self) -> &[Interrupted] {
        &self.interrupted
    }

    /// What takes secrets out.
    pub(crate) fn masks(&self) -> &Masks {
        &self.masks
    }

    /// The catalogue that snapshots are taken from.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// When definitions of tools that leave it to haft are sent.
    pub(crate) fn deferral(&self) -> Deferring {
        self.deferral
    }

    /// The snapshot of the request being made.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&lock(&self.selected).snapshot)
    }

    /// Takes a new snapshot, for the next request. A host leaves out what [`Session::denies`] whole.
    pub fn refresh(&self) -> Arc<Snapshot> {
        let from = self.catalogue.snapshot();
        let before = lock(&self.selected).clone();
        // Most calls come between two changes, and making a snapshot takes longer than a look whether it is due. No lock is
        // held meanwhile: whether a tool is enabled is said by its own code.
        if Arc::ptr_eq(&before.from, &from) && from.selects(&self.tools, &before.snapshot) {
            return before.snapshot;
        }
        let snapshot = Arc::new(from.select(&self.tools));
        let now = Selected { from, snapshot: Arc::clone(&snapshot) };
        let before = std::mem::replace(&mut *lock(&self.selected), now).snapshot;
        if !before.has_same_offers(&snapshot) {
            self.bus.publish(|| Event::ToolsChanged { count: snapshot.offers().count() });
        }
        snapshot
    }

    /// Says that the model goes round in circles.
    pub fn loop_detected(&self, what: &str) {
        self.bus.publish(|| Event::LoopDetected { what: what.to_owned() });
    }

    /// Whether a rule denies a tool whole: then a model needn't see it.
    pub fn denies(&self, offer: &Offer) -> bool {
        self.policies().iter().any(|policy| policy.denies_tool_whole(offer.spec(), &offer.name))
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.borrow())
    }

    /// Changes the policy; open questions are judged again.
    ///
    /// What the session has taken in stays.
    pub fn set_policy(&self, policy: Policy) {
        self.policy.send_modify(|before| {
            let (marks, temp) = (before.marks.clone(), before.temp.clone());
            *before = Arc::new(Policy { marks, temp, ..policy });
        });
    }

    /// Events of this session's calls.
    pub fn events(&self) -> EventStream {
        self.bus.subscribe()
    }

    /// One value of the session's state.
    pub fn state_of(&self, key: &str) -> Option<Value> {
        lock(&self.state).get(key).cloned()
    }

    /// What of a file the model has been shown.
    pub fn seen_of(&self, path: &RealPath) -> Option<Seen> {
        lock(&self.seen).get(path).cloned()
    }

    /// Registers something to do when the run ends; last registered, first called.
    pub fn add_hook(&self, hook: Hook) {
        lock(&self.hooks).push(hook);
    }

    /// Adds a line to the session's log.
    ///
    /// # Errors
    /// Unavailable where it can't be written.
    pub fn record(&self, entry: LogEntry) -> Result<(), Failure> {
        self.record_all([entry])
    }

    /// The same for several, which stand one after another in the log.
    pub(crate) fn record_all(&self, entries: impl IntoIterator<Item = LogEntry>) -> Result<(), Failure> {
        self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.write(entries))
    }

    /// Cancels what still runs and calls the hooks of the run, each once, last registered first.
    /// A hook that panics is passed over.
    pub fn end_run(&self) {
        std::mem::take(&mut *lock(&self.run)).fire();
        loop {
            // One at a time: a hook may register another.
            let Some(hook) = lock(&self.hooks).pop() else { return };
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(hook));
        }
    }

    /// Whether the session goes on after a call.
    pub(crate) fn is_lasting(&self) -> bool {
        self.lasting
    }

    /// How often the session's state changed.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(crate) fn cancel(&self) -> Cancel {
        lock(&self.run).child()
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.bus
    }

    pub(crate) fn spill(&self) -> &SpillStore {
        &self.spill
    }

    /// The session above.
    pub(crate) fn parent(&self) -> Option<&Self> {
        self.parent.as_deref()
    }

    /// Where the workspace's state is kept.
    pub(crate) fn state_folder(&self) -> Option<&Arc<dyn StateFolder>> {
        self.folder.as_ref()
    }

    /// What is asked before and after calls.
    pub fn hooks(&self) -> &Arc<Hooks> {
        &self.hooks_of_settings
    }

    /// The session as hooks are told of it.
    pub fn hook_session(&self) -> HookSession {
        let transcript = self.folder.as_ref().map(|state| state.path(&log_file(&self.id)));
        HookSession { id: Arc::clone(&self.id), transcript, mode: self.policy().mode }
    }

    /// Has the host end the run after this turn, since a hook said so.
    pub(crate) fn ask_to_stop(&self, reason: String) {
        lock(&self.stop).get_or_insert(reason);
    }

    /// Why a hook wants the run to end, once.
    pub fn take_stop(&self) -> Option<String> {
        lock(&self.stop).take()
    }

    /// Which foreign tools the user knows.
    pub(crate) fn pins(&self) -> Option<&dyn Pins> {
        self.pins.as_deref()
    }

    /// Takes over what was said elsewhere meanwhile, here and in the sessions above.
    pub(crate) fn renew(&self) {
        let mut at = Some(self);
        while let Some(session) = at {
            if let Some(renewal) = &session.renewal {
                // One at a time, so that nobody goes by what another one is about to replace.
                let _turn = lock(&session.renewing);
                if renewal.is_due() {
                    session.change_policy(|policy| renewal.renew(policy));
                }
            }
            at = session.parent();
        }
    }

    /// Learns of secrets that were stored elsewhere meanwhile, here and in the sessions above.
    pub(crate) fn renew_masks(&self) {
        let mut at = Some(self);
        while let Some(session) = at {
            if let Some(renewal) = &session.renewal {
                let _turn = lock(&session.renewing);
                if let Some(masker) = renewal.masker() {
                    session.masks.replace(masker);
                }
            }
            at = session.parent();
        }
    }

    /// Files that this session wrote while it bore marks.
    pub(super) fn own_marked(&self) -> MutexGuard<'_, OwnMarked> {
        lock(&self.own_marked)
    }

    /// Contents of files before and after they were changed.
    pub(crate) fn contents(&self) -> &ContentStore {
        &self.contents
    }

    /// The last changes of files by calls, in order.
    pub(crate) fn known_changes(&self) -> Vec<ChangedBy> {
        lock(&self.changes).list()
    }

    /// Remembers what a call did to files.
    pub(crate) fn changed(&self, change: ChangedBy) {
        if change.files.is_empty() {
            return;
        }
        lock(&self.changes).add(change);
        // After it, so that a call that waits and goes by it looks again.
        self.epoch.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn run_number(&self) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.run)
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    pub(crate) fn next_call(&self) -> CallId {
        CallId::outer(self.numbers.next())
    }

    pub(crate) fn approver(&self) -> &Arc<dyn Approver> {
        &self.approver
    }

    /// Changes of the policies that hold here, from now on.
    pub(crate) fn policy_changes(&self) -> PolicyChanges {
        let mut receivers = vec![self.policy.subscribe()];
        let mut above = self.parent.as_deref();
        while let Some(session) = above {
            receivers.push(session.policy.subscribe());
            above = session.parent.as_deref();
        }
        PolicyChanges(receivers)
    }

    /// Own policy first, then those of the sessions above.
    pub(crate) fn policies(&self) -> Vec<Arc<Policy>> {
        let mut policies = vec![self.policy()];
        let mut above = self.parent.as_deref();
        while let Some(session) = above {
            policies.push(session.policy());
            above = session.parent.as_deref();
        }
        policies
    }

    /// Applies what a call changes, before its claims are released.
    pub(crate) fn apply(&self, output: &Output) {
        if !output.session.is_empty() {
            self.epoch.fetch_add(1, Ordering::Release);
            let mut state = lock(&self.state);
            for (key, value) in &output.session {
                state.insert(Arc::clone(key), value.clone());
            }
        }
        if !output.seen.is_empty() {
            let mut known = lock(&self.seen);
            for (path, seen) in &output.seen {
                known
                    .entry(path.clone())
                    .and_modify(|before| before.merge(seen))
                    .or_insert_with(|| seen.clone());
            }
        }
    }

    /// Turns an answer into a grant that holds from the next call on.
    pub(crate) fn grant(&self, rule: &str, hash: Option<Arc<str>>, keep: Keep) -> Result<(), Failure> {
        let grants = self.grants.as_ref().ok_or_else(|| {
            Failure::internal("this host saves no grants; the answer holds for this call only")
        })?;
        let grant = grants.grant(rule, hash, keep)?;
        self.change_policy(|policy| policy.grants.push(grant));
        self.bus.publish(|| Event::GrantSaved { rule: rule.to_owned() });
        let keep = if keep == Keep::Always { "always" } else { "session" };
        self.record(LogEntry::Granted { rule: rule.to_owned(), keep: keep.to_owned() })
    }

    /// Turns a refusal into a rule that holds from the next call on.
    pub(crate) fn deny_always(&self, rule: &str) -> Result<(), Failure> {
        let grants = self.grants.as_ref().ok_or_else(|| {
            Failure::internal("this host saves no answers; the refusal holds for this call only")
        })?;
        let denial = grants.deny(rule)?;
        self.change_policy(|policy| policy.rules.push(denial));
        self.record(LogEntry::Granted { rule: rule.to_owned(), keep: "deny".to_owned() })
    }

    pub(crate) fn change_policy(&self, change: impl FnOnce(&mut Policy)) {
        self.policy.send_modify(|policy| change(Arc::make_mut(policy)));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end_run();
    }
}

/// Watches a session's policy and those above it.
pub(crate) struct PolicyChanges(Vec<watch::Receiver<Arc<Policy>>>);

impl PolicyChanges {
    /// Waits for the next change.
    ///
    /// # Cancellation
    /// Safe: a change is seen by the next wait.
    pub(crate) async fn next(&mut self) {
        let each = self.0.iter_mut().map(|receiver| Box::pin(receiver.changed()));
        let _ = futures::future::select_all(each).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
