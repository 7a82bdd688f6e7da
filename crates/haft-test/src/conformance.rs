//! What every tool must keep, tried over one tool.

use crate::{Answers, Harness, HarnessSetup};
use haft_core::{AnyTool, CallId, Event, Outcome, Request};
use haft_policy::Mode;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Which promise a tool broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The promise.
    pub promise: &'static str,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.promise, self.what)
    }
}

/// A tool, an input that works, and the workspace it works on.
pub struct Conformance {
    tool: Arc<dyn AnyTool>,
    input: Value,
    files: Vec<(String, Vec<u8>)>,
    path_field: Option<String>,
    stop_time: Duration,
}

impl Conformance {
    /// A tool with an input that it completes.
    pub fn of(tool: Arc<dyn AnyTool>, input: Value) -> Self {
        Self { tool, input, files: Vec::new(), path_field: None, stop_time: Duration::from_secs(2) }
    }

    /// A file that must be in the workspace.
    #[must_use]
    pub fn file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// The input field that names a path; then paths outside must be asked for.
    #[must_use]
    pub fn path_field(mut self, field: &str) -> Self {
        self.path_field = Some(field.to_owned());
        self
    }

    /// How long it may take to stop after a cancel.
    #[must_use]
    pub fn stops_within(mut self, time: Duration) -> Self {
        self.stop_time = time;
        self
    }

    /// Tries all promises and returns those it broke.
    pub async fn breaches(&self) -> Vec<Breach> {
        let mut breaches = Vec::new();
        breaches.extend(self.ends_once().await);
        breaches.extend(self.stops().await);
        breaches.extend(self.touches_what_it_said().await);
        breaches.extend(self.asks_for_outside().await);
        breaches.extend(self.refuses_nonsense().await);
        breaches
    }

    /// Tries all promises.
    ///
    /// # Panics
    /// Where the tool breaks one; the text names each.
    pub async fn assert(&self) {
        let breaches = self.breaches().await;
        let list: Vec<String> = breaches.iter().map(ToString::to_string).collect();
        assert!(breaches.is_empty(), "{} breaks:\n{}", self.tool.spec().name, list.join("\n"));
    }

    fn kit(&self, answers: Answers) -> Harness {
        let kit = Harness::with(HarnessSetup { mode: Mode::Default, answers, ..HarnessSetup::default() });
        for (name, content) in &self.files {
            kit.write(name, content);
        }
        kit.register(Arc::clone(&self.tool));
        kit
    }

    fn request(&self) -> Request {
        Request::new(self.tool.spec().model_name().as_ref(), self.input.to_string())
    }

    async fn ends_once(&self) -> Option<Breach> {
        let promise = "completes its input with exactly one final";
        let kit = self.kit(Answers::yes());
        let mut events = kit.session().events();
        let ended = kit.executor().submit(kit.session(), self.request()).await;
        let mut finals: BTreeMap<CallId, usize> = BTreeMap::new();
        while let Some(event) = events.try_next() {
            if let Event::Ended { call, .. } = event {
                *finals.entry(call).or_default() += 1;
            }
        }
        if finals.get(&ended.call) != Some(&1) {
            return Some(Breach { promise, what: format!("finals by call: {finals:?}") });
        }
        (!ended.outcome.is_completed())
            .then(|| Breach { promise, what: format!("{:?}: {}", ended.outcome, ended.output.joined_text()) })
    }

    async fn stops(&self) -> Option<Breach> {
        let kit = self.kit(Answers::yes());
        let mut events = kit.session().events();
        let running = kit.executor().submit(kit.session(), self.request());
        while !matches!(events.next().await, Event::Started { .. } | Event::Ended { .. }) {}
        let cancelled = Instant::now();
        running.cancel.fire();
        let ended = running.await;
        let took = cancelled.elapsed();
        let ended_well =
            matches!(ended.outcome, Outcome::Cancelled | Outcome::Completed | Outcome::Failed { .. });
        (took > self.stop_time || !ended_well).then(|| Breach {
            promise: "stops when it is cancelled",
            what: format!("{:?} after {} ms", ended.outcome, took.as_millis()),
        })
    }

    async fn touches_what_it_said(&self) -> Option<Breach> {
        let kit = self.kit(Answers::yes());
        let before = tree(&kit.workspace());
        let mut events = kit.session().events();
        let ended = kit.executor().submit(kit.session(), self.request()).await;
        let after = tree(&kit.workspace());
        while events.try_next().is_some() {}
        let stated =
            ended.trace.iter().find(|step| step.step == "effects")?.reason.clone().unwrap_or_default();
        if stated.starts_with("not stated") {
            return None;
        }
        let root = kit.workspace();
        let changed = before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
        let undeclared: Vec<String> = changed
            .filter_map(|path| path.strip_prefix(&root).ok())
            .map(|path| path.to_string_lossy().into_owned())
            .filter(|path| !stated.contains("runs ") && !covered(&stated, path))
            .collect();
        (!undeclared.is_empty()).then(|| Breach {
            promise: "touches only what it stated",
            what: format!("changed {undeclared:?}, stated: {stated}"),
        })
    }

    async fn asks_for_outside(&self) -> Option<Breach> {
        let field = self.path_field.as_ref()?;
        let kit = self.kit(Answers::no());
        let outside = kit.outside().join("outside.txt");
        std::fs::write(&outside, "outside").ok()?;
        let mut input = self.input.clone();
        input.as_object_mut()?.insert(field.clone(), outside.to_string_lossy().into());
        let ended = kit.call(self.tool.spec().model_name().as_ref(), input).await;
        let refused = matches!(ended.outcome, Outcome::Denied { .. });
        (!refused
            || !kit
                .answers()
                .asked()
                .iter()
                .any(|question| question.why.iter().any(|why| why.gate == "outside")))
        .then(|| Breach {
            promise: "asks before it touches a path outside",
            what: format!("{:?}: {}", ended.outcome, ended.output.joined_text()),
        })
    }

    async fn refuses_nonsense(&self) -> Option<Breach> {
        let kit = self.kit(Answers::yes());
        let name = self.tool.spec().model_name();
        let ended = kit.executor().submit(kit.session(), Request::new(name.as_ref(), "[1]")).await;
        (ended.outcome != Outcome::Invalid).then(|| Breach {
            promise: "refuses input that isn't an object",
            what: format!("{:?}", ended.outcome),
        })
    }
}

/// Whether the stated effects name a write of that path, or of a folder above it.
fn covered(stated: &str, path: &str) -> bool {
    stated.split(", ").any(|touch| {
        let named = touch.strip_prefix("writes in ").or_else(|| touch.strip_prefix("writes "));
        named.is_some_and(|named| {
            path == named
                || path.strip_prefix(named).is_some_and(|rest| rest.starts_with('/'))
                || named.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        })
    })
}

fn tree(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path.clone());
                found.insert(path, None);
            } else {
                found.insert(path.clone(), std::fs::read(path).ok());
            }
        }
    }
    found
}
