//! What the tests share: a tool made of closures, a gate inside tools, a person with a channel, and looks at
//! events and log.

use haft_core::{
    Answer, AnyTool, Approver, Bound, BoxFuture, CallId, Clock, Cx, Effects, Ended, Event, Failure, Files,
    Flags, IntoOutput, Outcome, Output, OwnCheck, PathArg, Permission, Preview, Question, RealPath, Request,
    SessionView, Spec, StateFolder, Touch, WriteMode,
};
use haft_policy::{Action, Grant, Mode, Policy, Rule, RuleOrigin};
use haft_runtime::{EventStream, Grants, Keep, LogEntry, Session, SessionSetup, read_log};
use haft_test::Harness;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    task::yield_now,
    time::timeout,
};

/// Far more than anything here takes; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Set for this binary where it runs again as a child.
const CHILD: &str = "HAFT_IT_CHILD";

type Ask<T> = Box<dyn Fn(&Value) -> T + Send + Sync>;
type Work<T> = Box<dyn Fn(Value, Cx) -> BoxFuture<'static, T> + Send + Sync>;

/// A tool in the making; unless told otherwise it touches nothing, runs without a question and beside others.
pub(crate) struct Probe {
    spec: Spec,
    effects: Ask<Effects>,
    flags: Ask<Flags>,
    check: Ask<Option<OwnCheck>>,
    preview: Work<Result<Preview, Failure>>,
    cleanup: Work<()>,
}

/// Starts a tool; end with [`Probe::run`].
pub(crate) fn probe(name: &str) -> Probe {
    Probe {
        spec: Spec::new(name, "A tool of a test.").with_permission(Permission::Auto).concurrency_safe(),
        effects: Box::new(|_| Effects::none()),
        flags: Box::new(|_| Flags::default()),
        check: Box::new(|_| None),
        preview: Box::new(|_, _| Box::pin(async { Ok(Preview::default()) })),
        cleanup: Box::new(|_, _| Box::pin(async {})),
    }
}

impl Probe {
    pub(crate) fn with(mut self, change: impl FnOnce(Spec) -> Spec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// A person must be asked.
    pub(crate) fn asks(self) -> Self {
        self.with(|spec| spec.with_permission(Permission::Confirm))
    }

    pub(crate) fn touches(mut self, effects: impl Fn(&Value) -> Effects + Send + Sync + 'static) -> Self {
        self.effects = Box::new(effects);
        self
    }

    pub(crate) fn flags(mut self, flags: impl Fn(&Value) -> Flags + Send + Sync + 'static) -> Self {
        self.flags = Box::new(flags);
        self
    }

    pub(crate) fn check(
        mut self,
        check: impl Fn(&Value) -> Option<OwnCheck> + Send + Sync + 'static,
    ) -> Self {
        self.check = Box::new(check);
        self
    }

    pub(crate) fn preview<F>(mut self, preview: impl Fn(Value, Cx) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Preview, Failure>> + Send + 'static,
    {
        self.preview = Box::new(move |input, cx| Box::pin(preview(input, cx)));
        self
    }

    pub(crate) fn cleanup<F>(mut self, cleanup: impl Fn(Value, Cx) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.cleanup = Box::new(move |input, cx| Box::pin(cleanup(input, cx)));
        self
    }

    /// What `run` does before its future is made, it does in [`Bound::run`] itself.
    pub(crate) fn run<O, F>(self, run: impl Fn(Value, Cx) -> F + Send + Sync + 'static) -> Arc<dyn AnyTool>
    where
        O: IntoOutput,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        let run = move |input: Value, cx: Cx| -> BoxFuture<'static, Result<Output, Failure>> {
            let future = run(input, cx);
            Box::pin(async move { future.await?.into_output() })
        };
        Arc::new(Made { spec: Arc::new(self.spec.clone()), probe: self, run: Box::new(run) })
    }
}

struct Made {
    spec: Arc<Spec>,
    probe: Probe,
    run: Work<Result<Output, Failure>>,
}

struct BoundMade {
    made: Arc<Made>,
    input: Arc<Value>,
}

impl AnyTool for Made {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        Ok(Box::new(BoundMade { made: self, input }))
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        (self.probe.cleanup)(Value::clone(&input), cx)
    }
}

impl Bound for BoundMade {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        (self.made.probe.effects)(&self.input)
    }

    fn flags(&self) -> Flags {
        (self.made.probe.flags)(&self.input)
    }

    fn check(&self, _: &dyn SessionView) -> Option<OwnCheck> {
        (self.made.probe.check)(&self.input)
    }

    fn preview<'a>(&'a self, cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        (self.made.probe.preview)(Value::clone(&self.input), cx.clone())
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        (self.made.run)(Value::clone(&self.input), cx)
    }
}

/// The path in the input.
pub(crate) fn path_in(input: &Value) -> PathArg {
    PathArg(input["path"].as_str().unwrap_or_default().to_owned())
}

/// One touch of the path in the input.
pub(crate) fn only(touch: Touch<PathArg>) -> Effects {
    Effects::Only(vec![touch])
}

/// `get`: the text of a file.
pub(crate) fn getter() -> Arc<dyn AnyTool> {
    probe("get").with(Spec::read_only).touches(|input| only(Touch::Read(path_in(input)))).run(
        |input, cx| async move {
            let at = cx.path(&path_in(&input))?;
            let files = Arc::clone(&cx.world.files);
            let bytes = cx.blocking(move || files.read(&at, 0, 1 << 20)).await?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        },
    )
}

/// `put`: writes a text over a file.
pub(crate) fn putter() -> Probe {
    probe("put").touches(|input| only(Touch::Write(path_in(input))))
}

/// What [`putter`] does.
pub(crate) async fn put_input(input: Value, cx: Cx) -> Result<&'static str, Failure> {
    let at = cx.path(&path_in(&input))?;
    let text = input["text"].as_str().unwrap_or_default().to_owned();
    let files = Arc::clone(&cx.world.files);
    cx.blocking(move || put(files.as_ref(), &at, &text)).await?;
    Ok("written")
}

/// Writes a whole file, new or not.
pub(crate) fn put(files: &dyn Files, at: &RealPath, text: &str) -> Result<(), Failure> {
    let mode = match files.read(at, 0, 1 << 20) {
        Ok(bytes) => WriteMode::Over { before: haft_core::content_hash(&bytes) },
        Err(_) => WriteMode::New,
    };
    files.write(at, text.as_bytes(), &mode).map(drop)
}

pub(crate) fn request(tool: &str, input: &Value) -> Request {
    Request::new(tool, input.to_string())
}

/// Where tools wait until the test lets them go.
#[derive(Clone)]
pub(crate) struct Gate {
    started: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn closed() -> Self {
        Self { started: Arc::new(Semaphore::new(0)), go: Arc::new(Semaphore::new(0)) }
    }

    /// In the tool: says that it is here, and waits.
    pub(crate) async fn pass(&self) {
        self.started.add_permits(1);
        self.go.acquire().await.unwrap().forget();
    }

    /// In the test: waits until so many more are here.
    pub(crate) async fn reached(&self, count: u32) {
        soon(self.started.acquire_many(count)).await.unwrap().forget();
    }

    /// How many are here that weren't waited for.
    pub(crate) fn more(&self) -> usize {
        self.started.available_permits()
    }

    /// Lets so many go.
    pub(crate) fn open(&self, count: usize) {
        self.go.add_permits(count);
    }
}

/// Fails where it takes longer than anything may; not for tests on a paused clock.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it hangs")
}

/// Lets every task do all it can do by now.
pub(crate) async fn settle() {
    for _ in 0..500 {
        yield_now().await;
    }
}

/// Somebody who answers when the test says so.
pub(crate) struct Person(mpsc::UnboundedSender<Asked>);

/// An open question.
pub(crate) struct Asked {
    pub(crate) question: Question,
    pub(crate) answer: oneshot::Sender<Answer>,
}

/// A person, and the questions put to them.
pub(crate) fn person() -> (Arc<Person>, mpsc::UnboundedReceiver<Asked>) {
    let (sender, questions) = mpsc::unbounded_channel();
    (Arc::new(Person(sender)), questions)
}

impl Approver for Person {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        let (answer, answered) = oneshot::channel();
        drop(self.0.send(Asked { question, answer }));
        Box::pin(async move { answered.await.unwrap_or(Answer::Dismissed) })
    }
}

/// Grants kept in memory.
struct Kept(RealPath);

impl Grants for Kept {
    fn grant(&self, rule: &str, tool_hash: Option<Arc<str>>, _: Keep) -> Result<Grant, Failure> {
        let folder = self.0.absolute();
        let at = RuleOrigin { workspace: folder.clone(), folder, ..RuleOrigin::default() };
        let rule =
            Rule::parse(Action::Allow, rule, &at).map_err(|error| Failure::invalid(error.to_string()))?;
        Ok(Grant { rule, tool_hash })
    }

    fn deny(&self, rule: &str) -> Result<Rule, Failure> {
        let folder = self.0.absolute();
        let at = RuleOrigin { workspace: folder.clone(), folder, ..RuleOrigin::default() };
        Rule::parse(Action::Deny, rule, &at).map_err(|error| Failure::invalid(error.to_string()))
    }
}

/// A recorded session beside the harness's own; nobody is there to answer unless `change` says who.
pub(crate) fn session_of(
    kit: &Harness,
    id: &str,
    change: impl FnOnce(SessionSetup) -> SessionSetup,
) -> Arc<Session> {
    let workspace = kit.world().files.workspace();
    let policy = Policy::new(Mode::Default, workspace.clone());
    let clock = Arc::clone(kit.clock()) as Arc<dyn Clock>;
    Session::open(change(SessionSetup {
        state: Some(Arc::clone(kit.state()) as Arc<dyn StateFolder>),
        grants: Some(Arc::new(Kept(workspace)) as Arc<dyn Grants>),
        ..SessionSetup::new(id, kit.catalogue().clone(), policy, clock)
    }))
    .unwrap()
}

/// What the log of a session holds.
pub(crate) fn log_of(kit: &Harness, session: &str) -> Vec<LogEntry> {
    let (lines, _) = read_log(&**kit.state(), session).unwrap();
    lines.into_iter().map(|line| line.entry).collect()
}

/// The ends of a call in the log.
pub(crate) fn logged_ends(kit: &Harness, session: &str, id: &CallId) -> Vec<Outcome> {
    let ends = log_of(kit, session).into_iter().filter_map(|entry| match entry {
        LogEntry::Ended { call, outcome, .. } if call == *id => Some(outcome),
        _ => None,
    });
    ends.collect()
}

/// Listens to the harness's own session.
pub(crate) struct Listener<'a> {
    kit: &'a Harness,
    stream: EventStream,
    heard: Vec<Event>,
}

impl<'a> Listener<'a> {
    pub(crate) fn on(kit: &'a Harness) -> Self {
        Self { kit, stream: kit.session().events(), heard: Vec::new() }
    }

    /// All events of a call so far.
    pub(crate) fn events_of(&mut self, call: &CallId) -> Vec<Event> {
        while let Some(event) = self.stream.try_next() {
            self.heard.push(event);
        }
        self.heard.iter().filter(|event| call_of(event) == Some(call)).cloned().collect()
    }

    /// Asserts that the call has one terminal event, the last of its events, and one end in the log.
    pub(crate) fn assert_ended_once(&mut self, ended: &Ended) -> Vec<Event> {
        let events = self.events_of(&ended.call);
        let finals = events.iter().filter(|event| matches!(event, Event::Ended { .. })).count();
        assert_eq!(finals, 1, "terminal events of {}: {events:?}", ended.call);
        assert!(
            matches!(events.last(), Some(Event::Ended { outcome, .. }) if *outcome == ended.outcome),
            "the last event of {}: {:?}",
            ended.call,
            events.last()
        );
        assert_eq!(
            logged_ends(self.kit, "test", &ended.call),
            vec![ended.outcome.clone()],
            "ends of {} in the log",
            ended.call
        );
        events
    }
}

fn call_of(event: &Event) -> Option<&CallId> {
    match event {
        Event::Requested { call, .. }
        | Event::Resolved { call, .. }
        | Event::Judged { call, .. }
        | Event::Asked { call }
        | Event::Answered { call, .. }
        | Event::Started { call }
        | Event::Progress { call, .. }
        | Event::Ended { call, .. }
        | Event::FileChanged { call, .. } => Some(call),
        _ => None,
    }
}

/// This binary once more, running one test alone; killed when it is dropped.
pub(crate) struct Again(pub(crate) Child);

impl Again {
    pub(crate) fn run(test: &str, folder: &Path) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(CHILD, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder that the parent gave, where this is a child.
pub(crate) fn given_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}
