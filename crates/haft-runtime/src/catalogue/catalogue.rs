//! Every registered tool of one location, stacked by name.

use super::{
    Handle, Offer, Problem, Snapshot,
    stack::{Kind, Layer, Stack, Wrapper},
};
use haft_core::AnyTool;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, atomic::Ordering},
};
use tokio::sync::watch;

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
}

#[derive(Default)]
struct Stacks {
    tools: BTreeMap<Arc<str>, Stack>,
    /// Names that were offered once and are gone.
    gone: BTreeMap<Arc<str>, Arc<str>>,
    problems: BTreeMap<String, Vec<Problem>>,
    next: u64,
    snapshot: Option<Arc<Snapshot>>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalogue {
    /// An empty catalogue.
    pub fn new() -> Self {
        Self { inner: Arc::new(Inner { stacks: Mutex::default(), changes: watch::Sender::new(0) }) }
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
            let core = below.owner.as_ref() == "core" && matches!(by, Registrar::External { .. });
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
        let wrapper = Wrapper { by: by.id().into(), make: Arc::new(wrapper) };
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

    /// Replaces the problems of one source.
    pub fn report(&self, source: &str, problems: Vec<Problem>) {
        let mut stacks = self.lock();
        if problems.is_empty() {
            stacks.problems.remove(source);
        } else {
            stacks.problems.insert(source.to_owned(), problems);
        }
    }

    /// All problems, by source.
    pub fn problems(&self) -> Vec<Problem> {
        self.lock().problems.values().flatten().cloned().collect()
    }

    /// What there is now; later changes don't show in it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let mut stacks = self.lock();
        if let Some(snapshot) = &stacks.snapshot {
            return Arc::clone(snapshot);
        }
        let shown = stacks.tools.values().filter_map(|stack| stack.shown.clone());
        let snapshot = Arc::new(Snapshot::new(shown, stacks.gone.clone()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Permission, Risk, Spec, tool};
    use serde_json::json;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Nothing {}

    fn named(name: &str, said: &'static str) -> Arc<dyn AnyTool> {
        with(name, said, |spec| spec)
    }

    fn with(name: &str, said: &'static str, change: impl FnOnce(Spec) -> Spec) -> Arc<dyn AnyTool> {
        tool(name, said).with(change).run(move |_: Nothing, _| async move { Ok(said) })
    }

    fn shown(catalogue: &Catalogue, name: &str) -> Option<String> {
        catalogue.snapshot().get(name).map(|offer| offer.spec().description.clone())
    }

    fn external(mutates: &[&str]) -> Registrar {
        Registrar::External {
            id: "ext".into(),
            mutates: mutates.iter().map(|tag| (*tag).to_owned()).collect(),
        }
    }

    #[test]
    fn another_owner_is_refused_by_name() {
        let catalogue = Catalogue::new();
        let _one = catalogue.register(named("x", "one"), "a").unwrap();
        let error = catalogue.register(named("x", "two"), "b").err().unwrap();
        assert_eq!(error.to_string(), "Tool \"x\" already registered by \"a\"");
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("one"));
    }

    #[test]
    fn the_same_owner_replaces_and_the_old_handle_removes_nothing() {
        let catalogue = Catalogue::new();
        let mut old = catalogue.register(named("x", "one"), "a").unwrap();
        let new = catalogue.register(named("x", "two"), "a").unwrap();
        old.dispose();
        old.dispose();
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("two"));
        drop(new);
        assert_eq!(shown(&catalogue, "x"), None);
    }

    #[test]
    fn an_override_reveals_what_it_covered() {
        let catalogue = Catalogue::new();
        let below = catalogue.register(named("x", "core's"), "core").unwrap();
        assert!(catalogue.register_over(named("x", "ext's"), &external(&[])).is_err());
        let over = catalogue.register_over(named("x", "mine"), &Registrar::Official("pack".into())).unwrap();
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("mine"));
        drop(over);
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("core's"));
        below.keep();
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("core's"));
    }

    #[test]
    fn disposing_the_covered_one_first_leaves_the_override() {
        let catalogue = Catalogue::new();
        let below = catalogue.register(named("x", "low"), "a").unwrap();
        let over = catalogue.register_over(named("x", "high"), &Registrar::Official("pack".into())).unwrap();
        drop(below);
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("high"));
        drop(over);
        assert_eq!(shown(&catalogue, "x"), None);
    }

    #[test]
    fn a_wrapper_only_tightens() {
        let catalogue = Catalogue::new();
        let tool = with("x", "asks", |spec| {
            spec.with_permission(Permission::Confirm).with_capabilities(&["fs.read"])
        });
        let _tool = catalogue.register(tool, "a").unwrap();
        let lax: [fn(Spec) -> Spec; 5] = [
            |spec| spec.with_permission(Permission::Auto).with_capabilities(&["fs.read"]),
            |spec| spec.with_risk(Risk::Safe).with_capabilities(&["fs.read"]),
            |spec| spec,
            |spec| spec.read_only().with_permission(Permission::Confirm).with_capabilities(&["fs.read"]),
            |spec| spec.concurrency_safe().with_capabilities(&["fs.read"]),
        ];
        for change in lax {
            let error = catalogue
                .wrap("x", &external(&["fs.read"]), move |_| with("x", "lax", change))
                .err()
                .unwrap();
            assert!(matches!(error, RegisterError::Loosens { .. }), "{error}");
        }
        let strict =
            |spec: Spec| spec.with_permission(Permission::Deny).with_capabilities(&["fs.read", "extra"]);
        let wrapped =
            catalogue.wrap("x", &external(&["fs.read"]), move |_| with("x", "strict", strict)).unwrap();
        assert_eq!(catalogue.snapshot().get("x").unwrap().spec().permission(), Permission::Deny);
        drop(wrapped);
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("asks"));
    }

    #[test]
    fn a_wrapper_stays_around_what_takes_the_tools_place() {
        let catalogue = Catalogue::new();
        let tool = |said| with("x", said, |spec| spec.with_capabilities(&["fs.read"]));
        let _first = catalogue.register(tool("one"), "a").unwrap();
        let strict = |spec: Spec| spec.with_permission(Permission::Deny).with_capabilities(&["fs.read"]);
        let wrapped =
            catalogue.wrap("x", &external(&["fs.read"]), move |_| with("x", "strict", strict)).unwrap();
        let second = catalogue.register(tool("two"), "a").unwrap();
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("strict"));
        drop(second);
        assert_eq!(shown(&catalogue, "x"), None);
        let _third = catalogue.register(tool("three"), "a").unwrap();
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("strict"));
        // A wrapper that would loosen the new one is set aside with the tool, visibly.
        let _stricter = catalogue
            .register(
                with("x", "four", |spec| {
                    spec.with_permission(Permission::Deny)
                        .with_risk(Risk::Destructive)
                        .with_capabilities(&["fs.read"])
                }),
                "a",
            )
            .unwrap();
        assert_eq!(shown(&catalogue, "x"), None);
        assert!(catalogue.problems()[0].text.contains("may only tighten"));
        drop(wrapped);
        assert_eq!(shown(&catalogue, "x").as_deref(), Some("four"));
    }

    #[test]
    fn a_hidden_tool_can_not_be_covered_either() {
        let catalogue = Catalogue::new();
        let tool = with("x", "core's", |spec| spec.with_capabilities(&["fs.read"]));
        let _tool = catalogue.register(tool, "core").unwrap();
        let _hidden = catalogue.remove("x", &external(&["fs.read"])).unwrap();
        assert!(catalogue.register_over(named("x", "mine"), &external(&["fs.read"])).is_err());
    }

    #[test]
    fn an_extension_needs_overlapping_capabilities() {
        let catalogue = Catalogue::new();
        let _closed = catalogue.register(named("closed", "d"), "a").unwrap();
        let _open =
            catalogue.register(with("open", "d", |spec| spec.with_capabilities(&["fs.read"])), "a").unwrap();
        assert!(catalogue.remove("closed", &external(&["fs.read"])).is_err());
        assert!(catalogue.remove("open", &external(&["net.outbound"])).is_err());
        assert!(catalogue.remove("missing", &external(&[])).is_err());
        let hidden = catalogue.remove("open", &external(&["fs.read"])).unwrap();
        assert!(catalogue.snapshot().get("open").is_none());
        drop(hidden);
        assert!(catalogue.snapshot().get("open").is_some());
    }

    #[test]
    fn a_bad_tool_is_refused_with_the_reason() {
        let catalogue = Catalogue::new();
        let bad = |change: fn(Spec) -> Spec| {
            let spec = change(Spec::new("x", "d"));
            catalogue.register(Arc::new(Declared(Arc::new(spec))), "a").err().unwrap().to_string()
        };
        assert!(
            bad(|spec| spec.with_input_schema(json!({"type": "object", "properties": {"a": {"type": 3}}})))
                .starts_with("Invalid inputSchema for tool \"x\": ")
        );
        assert!(
            bad(|spec| spec.with_input_schema(json!({"type": "string"}))).contains("\"type\": \"object\"")
        );
        assert!(bad(|spec| spec.with_input_schema(json!([]))).contains("must be an object"));
        assert!(
            bad(|mut spec| {
                spec.name = "x.y".into();
                spec
            })
            .contains("Invalid tool name \"x.y\"")
        );
        assert!(
            bad(|mut spec| {
                spec.description = " ".into();
                spec
            })
            .contains("no description")
        );
    }

    struct Declared(Arc<Spec>);

    impl AnyTool for Declared {
        fn spec(&self) -> &Arc<Spec> {
            &self.0
        }

        fn bind(
            self: Arc<Self>,
            _: Arc<serde_json::Value>,
        ) -> Result<Box<dyn haft_core::Bound>, haft_core::Failure> {
            Err(haft_core::Failure::internal("never bound"))
        }
    }

    #[test]
    fn two_tools_of_one_name_do_not_start() {
        let catalogue = Catalogue::new();
        assert!(catalogue.register_all([named("x", "one"), named("x", "two")], "a").is_err());
        assert!(catalogue.snapshot().get("x").is_none());
    }

    #[test]
    fn a_snapshot_does_not_change_and_knows_what_is_gone() {
        let catalogue = Catalogue::new();
        let handle = catalogue.register(named("x", "one"), "a").unwrap();
        let before = catalogue.snapshot();
        drop(handle);
        assert!(before.get("x").is_some_and(|offer| !offer.is_live()));
        assert!(catalogue.snapshot().was_offered("x"));
        let _again = catalogue.register(named("x", "two"), "a").unwrap();
        assert!(!catalogue.snapshot().was_offered("x"));
    }
}
