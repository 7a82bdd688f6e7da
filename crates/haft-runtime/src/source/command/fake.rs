//! A world for tests: files in memory, a process that says what it is told to.

use haft_core::{
    BoxFuture, CallId, Cancel, Capture, Captured, Clock, Command, Confined, Cx, Ended, Entry, Exit, Failure,
    FileChange, FileKind, FileLock, FileOp, Files, GrepHit, GrepQuery, Http, HttpRequest, HttpResponse,
    Layer, Listing, Nested, NoJobs, PathArg, Pool, Processes, Progress, RealPath, Request, Seen, SessionView,
    Shape, Sink, Stat, Status, Stdio, StopReason, WalkOptions, WalkReport, Web, WebPage, WebRequest, World,
    WriteMode,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::SystemTime,
};

/// Files by absolute path, each with its permission bits.
#[derive(Default, Clone)]
pub(super) struct Tree(pub(super) BTreeMap<String, (Vec<u8>, u32)>);

impl Tree {
    pub(super) fn with(mut self, path: &str, content: &str, mode: u32) -> Self {
        self.0.insert(path.to_owned(), (content.as_bytes().to_vec(), mode));
        self
    }

    fn missing(at: &RealPath) -> Failure {
        Failure::not_found(format!("{at} isn't there"))
    }
}

fn unused<T>() -> Result<T, Failure> {
    Err(Failure::internal("unused in tests"))
}

impl Files for Tree {
    fn workspace(&self) -> RealPath {
        RealPath::new("/w", "")
    }

    fn resolve(&self, path: &PathArg) -> Result<RealPath, Failure> {
        let beneath = path.0.strip_prefix("/w").unwrap_or(&path.0).trim_matches('/').replace("/./", "/");
        Ok(RealPath::new("/w", &beneath))
    }

    fn stat(&self, at: &RealPath) -> Result<Stat, Failure> {
        let stat = |kind, len: usize, mode| Stat {
            kind,
            len: u64::try_from(len).unwrap(),
            modified: None,
            links: 1,
            mode,
        };
        if let Some((content, mode)) = self.0.get(&at.absolute()) {
            return Ok(stat(FileKind::File, content.len(), *mode));
        }
        let folder = format!("{}/", at.absolute());
        if self.0.keys().any(|path| path.starts_with(&folder)) {
            return Ok(stat(FileKind::Folder, 0, 0o755));
        }
        Err(Self::missing(at))
    }

    fn read(&self, at: &RealPath, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        let (content, _) = self.0.get(&at.absolute()).ok_or_else(|| Self::missing(at))?;
        let start = usize::try_from(offset).unwrap().min(content.len());
        Ok(content[start..(start + max_bytes).min(content.len())].to_vec())
    }

    fn list(&self, at: &RealPath, _: usize) -> Result<Listing, Failure> {
        let folder = format!("{}/", at.absolute());
        let inside = self.0.keys().filter_map(|path| path.strip_prefix(&folder));
        let names: BTreeSet<&str> = inside.filter_map(|rest| rest.split('/').next()).collect();
        if names.is_empty() {
            return Err(Self::missing(at));
        }
        let entry = |name: &&str| {
            let path = at.join(name);
            let kind = self.stat(&path).map_or(FileKind::File, |stat| stat.kind);
            Entry { path, kind, len: 0, modified: None, depth: 1 }
        };
        Ok(Listing { entries: names.iter().map(entry).collect(), left_out: 0 })
    }

    fn write(&self, _: &RealPath, _: &[u8], _: &WriteMode) -> Result<FileChange, Failure> {
        unused()
    }

    fn apply(&self, _: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
        unused()
    }

    fn walk(
        &self,
        _: &RealPath,
        _: &WalkOptions,
        _: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        unused()
    }

    fn grep(
        &self,
        _: &RealPath,
        _: &GrepQuery,
        _: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        unused()
    }

    fn lock(&self, _: &RealPath, _: &Cancel) -> Result<Box<dyn FileLock>, Failure> {
        unused()
    }
}

/// A process that prints and ends.
#[derive(Clone)]
pub(super) struct Process {
    out: Vec<u8>,
    err: Vec<u8>,
    status: Status,
    reason: StopReason,
    confined: Option<Confined>,
    /// What was run.
    pub(super) seen: Arc<Mutex<Option<Command>>>,
}

impl Process {
    fn new(status: Status, reason: StopReason) -> Self {
        Self { out: Vec::new(), err: Vec::new(), status, reason, confined: None, seen: Arc::default() }
    }

    pub(super) fn exits(code: i32) -> Self {
        Self::new(Status::Code(code), StopReason::Itself)
    }

    pub(super) fn signalled(signal: i32) -> Self {
        Self::new(Status::Signal(signal), StopReason::Itself)
    }

    pub(super) fn cancelled() -> Self {
        Self::new(Status::Signal(15), StopReason::Cancelled)
    }

    pub(super) fn out(mut self, text: &str) -> Self {
        self.out = text.as_bytes().to_vec();
        self
    }

    pub(super) fn err(mut self, text: &str) -> Self {
        self.err = text.as_bytes().to_vec();
        self
    }

    /// In a sandbox of which this couldn't be done.
    pub(super) fn confined(mut self, gaps: &[&'static str]) -> Self {
        let gaps = gaps.iter().map(|gap| (*gap).into()).collect();
        self.confined = Some(Confined { layers: vec![Layer::Landlock], gaps, ..Confined::default() });
        self
    }
}

impl Processes for Process {
    fn locate(&self, _: &str) -> Option<String> {
        None
    }

    fn run<'a>(
        &'a self,
        command: Command,
        cancel: &'a Cancel,
        output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> BoxFuture<'a, Result<Exit, Failure>> {
        *self.seen.lock().unwrap() = Some(command);
        for piece in self.out.chunks(65_536) {
            output(Stdio::Out, piece);
        }
        for piece in self.err.chunks(65_536) {
            output(Stdio::Err, piece);
        }
        let reason = if cancel.is_fired() { StopReason::Cancelled } else { self.reason };
        let exit = Exit {
            status: self.status,
            reason,
            survivors: Vec::new(),
            survivor_count: 0,
            report: Vec::new(),
            confined: self.confined.clone(),
        };
        Box::pin(std::future::ready(Ok(exit)))
    }
}

/// Everything else that a call is given, and that these tests don't look at.
struct Rest;

impl Http for Rest {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, Failure>> {
        Box::pin(std::future::ready(unused()))
    }
}

impl Web for Rest {
    fn fetch(&self, _: WebRequest) -> BoxFuture<'_, Result<WebPage, Failure>> {
        Box::pin(std::future::ready(unused()))
    }
}

impl Clock for Rest {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

impl Pool for Rest {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}

impl SessionView for Rest {
    fn id(&self) -> Arc<str> {
        "s".into()
    }

    fn state(&self, _: &str) -> Option<Value> {
        None
    }

    fn seen(&self, _: &RealPath) -> Option<Seen> {
        None
    }

    fn on_run_end(&self, _: Box<dyn FnOnce() + Send>) {}
}

impl Nested for Rest {
    fn call(&self, _: Request) -> BoxFuture<'static, Ended> {
        Box::pin(std::future::pending())
    }
}

impl Sink for Rest {
    fn progress(&self, _: Progress) {}

    fn capture(&self, _: Shape) -> Box<dyn Capture> {
        Box::new(Whole(Vec::new()))
    }
}

struct Whole(Vec<u8>);

impl Capture for Whole {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(self: Box<Self>) -> Captured {
        Captured { text: String::from_utf8_lossy(&self.0).into_owned(), truncation: None }
    }
}

/// What call 3 of session `s` is given, with one process to start.
pub(super) fn cx(process: Process) -> Cx {
    Cx {
        call: CallId::outer(3),
        world: World {
            files: Arc::new(Tree::default()),
            processes: Arc::new(process),
            http: Arc::new(Rest),
            web: Arc::new(Rest),
            clock: Arc::new(Rest),
            pool: Arc::new(Rest),
        },
        session: Arc::new(Rest),
        nested: Arc::new(Rest),
        sink: Arc::new(Rest),
        jobs: Arc::new(NoJobs),
        cancel: Cancel::new(),
        paths: Arc::from([]),
    }
}
