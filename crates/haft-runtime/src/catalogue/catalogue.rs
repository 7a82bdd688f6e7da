//! Every registered tool of one location, stacked by name.

use super::{
    Handle, Missing, Offer, Problem, Snapshot,
    missing::AllMissing,
    stack::{Kind, Layer, Stack, Wrapper},
    wrap::Opens,
};
use crate::find::ModelSource;
use haft_core::AnyTool;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::Ordering},
};
use tokio::sync::watch;

/// How many problems of one source are told.
const PROBLEMS_MAX: usize = 500;

/// Why a tool wasn't registered. No other tool is affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name breaks the rule for names.
    #[error("{0}")]
    Name(String),
    /// Nothing for the model to read.
    #[error("tool \"{0}\" has no description — say what it does, what it returns and when to choose it")]
    Description(String),
    /// The input schema can't be used.
    #[error("Invalid inputSchema for tool \"{tool}\": {why}")]
    InputSchema {
        /// The tool.
        tool: String,
        /// Why.
        why: String,
    },
    /// The output schema can't be used.
    #[error("Invalid outputSchema for tool \"{tool}\": {why}")]
    OutputSchema {
        /// The tool.
        tool: String,
        /// Why.
        why: String,
    },
    /// Another owner has that name.
    #[error("Tool \"{tool}\" already registered by \"{owner}\"")]
    Taken {
        /// The tool.
        tool: String,
        /// The other owner.
        owner: String,
    },
    /// The one who asks may not do that to a tool of somebody else.
    #[error("\"{by}\" may not {what} tool \"{tool}\": {why}")]
    Forbidden {
        /// Who asked.
        by: String,
        /// `cover`, `wrap` or `remove`.
        what: &'static str,
        /// The tool.
        tool: String,
        /// Why.
        why: String,
    },
    /// A wrapper that would loosen what it wraps.
    #[error("a wrapper of tool \"{tool}\" may only tighten, but it {why}")]
    Loosens {
        /// The tool.
        tool: String,
        /// What it would loosen.
        why: String,
    },
    /// There is no such tool to wrap or remove.
    #[error("there is no tool \"{0}\" to change")]
    Missing(String),
}

/// Who changes somebody else's tool, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registrar {
    /// haft itself and sources the operator counts as its own.
    Official(String),
    /// An extension, with the capabilities whose tools it may change.
    External {
        /// Its id.
        id: String,
        /// Its `toolMutateCapabilities`.
        mutates: BTreeSet<String>,
    },
}

impl Registrar {
    fn id(&self) -> &str {
        match self {
            Self::Official(id) | Self::External { id, .. } => id,
        }
    }

    /// Whether it may cover, wrap or remove `offer`.
    fn may_change(&self, offer: &Offer) -> Result<(), String> {
        match self {
            Self::Official(_) => Ok(()),
            Self::External { id, .. } if offer.owner.as_ref() == id => Ok(()),
            Self::External { .. } if offer.spec().capabilities.is_empty() => {
                Err("a tool without capabilities is closed to others".to_owned())
            }
            Self::External { mutates, .. } if mutates.is_disjoint(&offer.spec().capabilities) => {
                Err("its toolMutateCapabilities don't meet the tool's capabilities".to_owned())
            }
            Self::External { .. } => Ok(()),
        }
    }
}

/// All tools of one location (a workspace), from every source.
#[derive(Clone)]
pub struct Catalogue {
    inner: Arc<Inner>,
}

struct Inner {
    stacks: Mutex<Stacks>,
    changes: watch::Sender<u64>,
    missing: AllMissing,
}

#[derive(Default)]
struct Stacks {
    tools: BTreeMap<Arc<str>, Stack>,
    /// Names that were offered once and are gone.
    gone: BTreeMap<Arc<str>, Arc<str>>,
    problems: BTreeMap<String, Vec<Problem>>,
    /// What owners say their tools are for.
    about: Arc<BTreeMap<String, String>>,
    /// What tools mean is told by this.
    model: Option<ModelSource>,
    next: u64,
    snapshot: Option<Arc<Snapshot>>,
    /// What is seen while several changes are made that belong together, and how many hold it.
    held: Option<(Arc<Snapshot>, usize)>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalogue {
    /// An empty catalogue.
    pub fn new() -> Self {
        let changes = watch::Sender::new(0);
        Self { inner: Arc::new(Inner { stacks: Mutex::default(), changes, missing: AllMissing::default() }) }
    }

    /// Registers a tool. The same owner's tool of that name is replaced.
    ///
    /// # Errors
    /// [`RegisterError`] where the declaration is unusable or another owner has the name.
    pub fn register(&self, tool: Arc<dyn AnyTool>, owner: &str) -> Result<Handle, RegisterError> {
        self.register_hashed(tool, owner, None)
    }

    /// Registers a tool whose definition and content have a hash, for pinning and grants.
    ///
    /// # Errors
    /// As [`Catalogue::register`].
    pub fn register_hashed(
        &self,
        tool: Arc<dyn AnyTool>,
        owner: &str,
        hash: Option<Arc<str>>,
    ) -> Result<Handle, RegisterError> {
        let offer = Offer::new(tool, owner, hash)?;
        let name = Arc::clone(&offer.name);
        let mut stacks = self.lock();
        let id = stacks.number();
        stacks.tools.entry(Arc::clone(&name)).or_default().put(id, offer)?;
        self.changed(stacks, &name);
        Ok(self.handle(id))
    }

    /// Registers several tools of one owner, all or none.
    ///
    /// # Errors
    /// The first tool's that can't be registered; two of one name are refused.
    pub fn register_all(
        &self,
        tools: impl IntoIterator<Item = Arc<dyn AnyTool>>,
        owner: &str,
    ) -> Result<Vec<Handle>, RegisterError> {
        let mut names = BTreeSet::new();
        let mut handles = Vec::new();
        for tool in tools {
            let name = tool.spec().model_name();
            if !names.insert(Arc::clone(&name)) {
                return Err(RegisterError::Taken { tool: name.to_string(), owner: owner.to_owned() });
            }
            handles.push(self.register(tool, owner)?);
        }
        Ok(handles)
    }

    /// Puts a tool on top of another owner's; disposing the handle shows the earlier one again.
    ///
    /// # Errors
    /// As [`Catalogue::register`]; forbidden where `by` may not change the earlier tool.
    pub fn register_over(&self, tool: Arc<dyn AnyTool>, by: &Registrar) -> Result<Handle, RegisterError> {
        let offer = Offer::new(tool, by.id(), None)?;
        let name = Arc::clone(&offer.name);
        let mut stacks = self.lock();
        // Also one that is hidden: it would show again.
        if let Some(below) = stacks.tools.get(&name).and_then(Stack::top_tool) {
            let core = below.is_core() && matches!(by, Registrar::External { .. });
            let allowed =
                if core { Err("only official sources may".to_owned()) } else { by.may_change(below) };
            allowed.map_err(|why| forbidden(by, "cover", &name, why))?;
        }
        Ok(self.push(stacks.number(), stacks, &name, Kind::Tool(offer)))
    }

    /// Puts a wrapper around a tool, and around what its owner puts in its place later. It can only tighten: what
    /// it declares per input is joined with what the wrapped tool declares, the more careful answer holds.
    ///
    /// # Errors
    /// Missing; forbidden; loosens where the wrapper's declaration is laxer than the tool's.
    pub fn wrap(
        &self,
        name: &str,
        by: &Registrar,
        wrapper: impl Fn(Arc<dyn AnyTool>) -> Arc<dyn AnyTool> + Send + Sync + 'static,
    ) -> Result<Handle, RegisterError> {
        let mut stacks = self.lock();
        let below = stacks.shown(name)?.clone();
        by.may_change(&below).map_err(|why| forbidden(by, "wrap", name, why))?;
        let opens = match by {
            Registrar::Official(_) => Opens::AsItSays,
            Registrar::External { .. } => Opens::Never,
        };
        let wrapper = Wrapper { by: by.id().into(), opens, make: Arc::new(wrapper) };
        wrapper.around(&below)?;
        Ok(self.push(stacks.number(), stacks, &below.name, Kind::Wrap(wrapper)))
    }

    /// Hides a tool until the handle is disposed.
    ///
    /// # Errors
    /// Missing; forbidden.
    pub fn remove(&self, name: &str, by: &Registrar) -> Result<Handle, RegisterError> {
        let mut stacks = self.lock();
        let below = stacks.shown(name)?.clone();
        by.may_change(&below).map_err(|why| forbidden(by, "remove", name, why))?;
        Ok(self.push(stacks.number(), stacks, &below.name, Kind::Hide))
    }

    /// Says what the tools of an owner are for: what a model reads of them while they aren't sent.
    pub fn describe(&self, owner: &str, about: &str) {
        let mut stacks = self.lock();
        Arc::make_mut(&mut stacks.about).insert(owner.to_owned(), about.to_owned());
        stacks.snapshot = None;
    }

    /// Has searches go by what words mean too.
    pub fn set_model(&self, model: ModelSource) {
        let mut stacks = self.lock();
        stacks.model = Some(model);
        stacks.snapshot = None;
    }

    /// Reads the model for searches where that wasn't done yet, so that its problem is among the others. Blocking.
    pub fn try_model(&self) {
        let model = self.lock().model.clone();
        if let Some(model) = model {
            // What is wrong stays with it.
            let _ = model.model();
        }
    }

    /// Why searches go on without the model, once it was to be read.
    pub fn model_problem(&self) -> Option<Problem> {
        self.lock().model.as_ref().and_then(ModelSource::problem)
    }

    /// Says why tools of an owner aren't there, or that none is missing any more. Calls are told at once, also in snapshots
    /// that were taken before.
    pub fn miss(&self, owner: &str, missing: Option<Missing>) {
        self.inner.missing.set(owner, missing);
    }

    /// Replaces the problems of one source. Of very many the first are kept, so that none drowns those of the others.
    pub fn report(&self, source: &str, mut problems: Vec<Problem>) {
        let further = problems.len().saturating_sub(PROBLEMS_MAX);
        if further > 0 {
            problems.truncate(PROBLEMS_MAX);
            problems.push(Problem {
                source: source.to_owned(),
                path: None,
                line: None,
                text: format!("there are {further} more problems, which aren't listed"),
                fix: "mend those that are".to_owned(),
            });
        }
        let mut stacks = self.lock();
        if problems.is_empty() {
            stacks.problems.remove(source);
        } else {
            stacks.problems.insert(source.to_owned(), problems);
        }
    }

    /// All problems, by source; that of the model for searches once it was to be read.
    pub fn problems(&self) -> Vec<Problem> {
        let stacks = self.lock();
        let of_model = stacks.model.as_ref().and_then(ModelSource::problem);
        stacks.problems.values().flatten().cloned().chain(of_model).collect()
    }

    /// Keeps every new snapshot as the last one was until the result is dropped, so that changes that belong together
    /// show together: nobody sees a tool without what tightens it. To be held for registering only, which waits for
    /// nothing.
    #[must_use = "what is changed shows at once where this isn't held"]
    pub fn hold(&self) -> Hold {
        let now = self.snapshot();
        let mut stacks = self.lock();
        let held = stacks.held.get_or_insert((now, 0));
        held.1 += 1;
        Hold(self.clone())
    }

    /// What there is now; later changes don't show in it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let mut stacks = self.lock();
        if let Some((held, _)) = &stacks.held {
            return Arc::clone(held);
        }
        if let Some(snapshot) = &stacks.snapshot {
            return Arc::clone(snapshot);
        }
        let shown = stacks.tools.values().filter_map(|stack| stack.shown.clone());
        let (gone, about) = (stacks.gone.clone(), Arc::clone(&stacks.about));
        let (model, missing) = (stacks.model.clone(), self.inner.missing.clone());
        let snapshot = Arc::new(Snapshot::new(shown, gone, (about, model, missing)));
        stacks.snapshot = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// Changes whenever the catalogue does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Stacks> {
        self.inner.stacks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, id: u64, mut stacks: MutexGuard<'_, Stacks>, name: &Arc<str>, kind: Kind) -> Handle {
        stacks.tools.entry(Arc::clone(name)).or_default().layers.push(Layer { id, kind });
        self.changed(stacks, name);
        self.handle(id)
    }

    /// Settles what shows under a name now.
    fn changed(&self, mut stacks: MutexGuard<'_, Stacks>, name: &Arc<str>) {
        stacks.snapshot = None;
        let Stacks { tools, gone, problems, .. } = &mut *stacks;
        if let Some(stack) = tools.get_mut(name) {
            for (by, problem) in stack.settle() {
                problems.entry(by).or_default().push(problem);
            }
            if stack.layers.is_empty() {
                tools.remove(name);
            } else if stack.shown.is_some() {
                gone.remove(name);
            }
        }
        drop(stacks);
        self.inner.changes.send_modify(|count| *count += 1);
    }

    fn handle(&self, id: u64) -> Handle {
        let inner = Arc::downgrade(&self.inner);
        Handle::new(move || dispose(&inner, id))
    }
}

impl Stacks {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn shown(&self, name: &str) -> Result<&Offer, RegisterError> {
        let shown = self.tools.get(name).and_then(|stack| stack.shown.as_ref());
        shown.ok_or_else(|| RegisterError::Missing(name.to_owned()))
    }
}

/// Changes show when this is dropped: what [`Catalogue::hold`] gives.
pub struct Hold(Catalogue);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut stacks = self.0.lock();
        let Some((_, count)) = &mut stacks.held else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        stacks.held = None;
        let is_changed = stacks.snapshot.is_none();
        drop(stacks);
        if is_changed {
            self.0.inner.changes.send_modify(|count| *count += 1);
        }
    }
}

fn dispose(inner: &Weak<Inner>, id: u64) {
    let Some(inner) = inner.upgrade() else { return };
    let catalogue = Catalogue { inner };
    let mut stacks = catalogue.lock();
    let found = stacks.tools.iter_mut().find_map(|(name, stack)| Some((Arc::clone(name), stack.take(id)?)));
    // Replaced by its owner meanwhile: then there is nothing of this registration left to remove.
    let Some((name, layer)) = found else { return };
    if let Kind::Tool(offer) = layer.kind {
        offer.live.store(false, Ordering::Release);
        stacks.gone.insert(Arc::clone(&name), offer.owner);
    }
    catalogue.changed(stacks, &name);
}

fn forbidden(by: &Registrar, what: &'static str, tool: &str, why: String) -> RegisterError {
    RegisterError::Forbidden { by: by.id().to_owned(), what, tool: tool.to_owned(), why }
}
