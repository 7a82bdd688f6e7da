//! A tool that a module exports, as the catalogue keeps it.

use super::{
    ScriptModule,
    apart::apart,
    extension::Extension,
    lend::Lent,
    live::Live,
    load::{Loading, answered},
    result,
    run::{ModuleCall, Returned},
};
use crate::{
    engine::Engine,
    guest::Guest,
    wire::{Order, Word},
};
use haft_core::{
    AnyTool, Bound, BoxFuture, CallId, Cx, Effects, Failure, FailureKind, Flags, Output, OwnCheck, Preview,
    Risk, SessionView, Spec, Why,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::time::timeout;

/// How long a tool may take to say something about an input before it runs.
const CONSULT_TIMEOUT: Duration = Duration::from_secs(5);
/// The functions by which a tool says something about an input.
const CONSULTED: [&str; 6] =
    ["validateInput", "checkPermissions", "isReadOnly", "isConcurrencySafe", "isDestructive", "isMutating"];
const EXECUTE: &str = "execute";
const CLEANUP: &str = "cleanup";
/// How long telling what was printed may take.
const LOGS_TIMEOUT: Duration = Duration::from_millis(500);

/// What a tool of a module is made of.
#[derive(Debug, Clone)]
pub struct ModuleTool {
    /// Its declaration.
    pub spec: Spec,
    /// Its name in the module.
    pub name: String,
    /// Which of its fields are functions.
    pub functions: BTreeSet<String>,
}

/// A tool whose code is a module.
pub struct ScriptTool {
    spec: Arc<Spec>,
    name: String,
    functions: BTreeSet<String>,
    code: Code,
    /// Children of calls that were stopped, until they have tidied up.
    stopped: Mutex<HashMap<CallId, Live>>,
    /// What it said of inputs, as long as somebody holds them: a wrapped tool is bound more than once.
    said: Mutex<Vec<Said>>,
}

/// An input, and what the tool said of it.
type Said = (Weak<Value>, Result<Consulted, Failure>);

/// Where a tool's code is.
#[derive(Clone)]
enum Code {
    /// In a module that each call loads in a child of its own.
    Module(Arc<Engine>, Arc<ScriptModule>),
    /// In an extension, whose child lives on.
    Extension(Arc<Extension>),
}

impl Code {
    fn engine(&self) -> &Arc<Engine> {
        match self {
            Self::Module(engine, _) => engine,
            Self::Extension(extension) => extension.engine(),
        }
    }

    fn module(&self) -> &ScriptModule {
        match self {
            Self::Module(_, module) => module,
            Self::Extension(extension) => extension.module(),
        }
    }

    fn loading(&self) -> Loading<'_> {
        match self {
            Self::Module(engine, module) => Loading { engine, module, form: "tools", about: Value::Null },
            Self::Extension(extension) => extension.loading(),
        }
    }
}

impl ScriptTool {
    /// A tool of a module. Each call has a child of its own.
    pub fn new(engine: &Arc<Engine>, module: &Arc<ScriptModule>, tool: ModuleTool) -> Self {
        Self::of(Code::Module(Arc::clone(engine), Arc::clone(module)), tool)
    }

    /// A tool that an extension registers. All calls go to the extension's own child.
    pub fn of_extension(extension: &Arc<Extension>, tool: ModuleTool) -> Self {
        Self::of(Code::Extension(Arc::clone(extension)), tool)
    }

    fn of(code: Code, tool: ModuleTool) -> Self {
        Self {
            spec: Arc::new(tool.spec),
            name: tool.name,
            functions: tool.functions,
            code,
            stopped: Mutex::default(),
            said: Mutex::default(),
        }
    }

    /// Whether it says something of inputs.
    fn has_word(&self) -> bool {
        CONSULTED.iter().any(|name| self.functions.contains(*name))
    }

    /// What it said of an input.
    fn said_of(&self, input: &Arc<Value>) -> Option<Result<Consulted, Failure>> {
        let said = lock(&self.said);
        said.iter()
            .find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(input)))
            .map(|(_, said)| said.clone())
    }

    /// Keeps what it said of an input, as long as somebody holds that.
    fn keep_said(&self, input: &Arc<Value>, asked: Result<Consulted, Failure>) -> Result<Consulted, Failure> {
        let consulted = match asked {
            // Who can't be asked counts as one who says the most careful thing.
            Err(failure) if failure.kind != FailureKind::InvalidInput => {
                let text = format!("the tool's own check of this input failed: {failure}");
                Ok(Consulted { check: Some(OwnSay::Ask(text)), ..Consulted::default() })
            }
            asked => asked,
        };
        let mut said = lock(&self.said);
        said.retain(|(of, _)| of.strong_count() > 0);
        said.push((Arc::downgrade(input), consulted.clone()));
        consulted
    }
}

impl AnyTool for ScriptTool {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn parts(&self) -> Vec<(String, String)> {
        let mut parts = self.spec.said();
        parts.extend(self.code.module().parts());
        parts
    }

    fn enabled(&self) -> bool {
        let is_there = match &self.code {
            Code::Module(..) => true,
            Code::Extension(extension) => extension.offers(&self.name),
        };
        self.spec.enabled && is_there
    }

    fn consult(self: Arc<Self>, input: Arc<Value>) -> Option<BoxFuture<'static, ()>> {
        if !self.has_word() {
            return None;
        }
        Some(Box::pin(async move {
            if self.said_of(&input).is_some() {
                return;
            }
            let asked = timeout(CONSULT_TIMEOUT, consult(&self.code, (&self.name, &input))).await;
            let asked = asked.unwrap_or_else(|_| {
                let text = format!("it took longer than {} s", CONSULT_TIMEOUT.as_secs());
                Err(Failure::new(FailureKind::Timeout, text))
            });
            // It waits there for whoever binds the input.
            let _ = self.keep_said(&input, asked);
        }))
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        let consulted = if self.has_word() {
            // Who couldn't wait for it waits now.
            self.said_of(&input).unwrap_or_else(|| {
                let asked = apart(CONSULT_TIMEOUT, || consult(&self.code, (&self.name, &input)));
                self.keep_said(&input, asked.flatten())
            })?
        } else {
            Consulted::default()
        };
        if let Some(why) = &consulted.invalid {
            return Err(Failure::invalid(why.clone()));
        }
        Ok(Box::new(BoundScript { tool: self, input, consulted }))
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        let live = lock(&self.stopped).remove(&cx.call);
        Box::pin(async move {
            if !self.functions.contains(CLEANUP) {
                return;
            }
            let lent = Arc::new(Lent::new(&cx, &self.spec));
            let of = CallOf { function: CLEANUP, name: &self.name, checks_first: false };
            // What it says of its end is nobody's any more.
            let _ = match (&self.code, live) {
                (Code::Module(..), Some(live)) => call(&live, of, &input, (&lent, &cx)).await.map(drop),
                (Code::Module(..), None) => Ok(()),
                (Code::Extension(extension), _) => extension.tidy(of, &input, (&lent, &cx)).await,
            };
        })
    }
}

/// What a tool said of one input.
#[derive(Debug, Clone, Default)]
struct Consulted {
    invalid: Option<String>,
    check: Option<OwnSay>,
    flags: Flags,
}

/// A tool's own word.
#[derive(Debug, Clone)]
enum OwnSay {
    Ask(String),
    Deny(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Answered {
    valid: Value,
    check: Option<OwnWord>,
    read_only: Option<bool>,
    concurrency_safe: Option<bool>,
    destructive: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnWord {
    ask: Option<String>,
    deny: Option<String>,
}

impl From<Answered> for Consulted {
    fn from(answered: Answered) -> Self {
        let check = answered.check.and_then(|word| match (word.deny, word.ask) {
            (Some(why), _) => Some(OwnSay::Deny(why)),
            (None, ask) => ask.map(OwnSay::Ask),
        });
        let risk = answered.destructive.filter(|is| *is).map(|_| Risk::Destructive);
        let flags = Flags {
            read_only: answered.read_only,
            concurrency_safe: answered.concurrency_safe,
            risk,
            ..Flags::default()
        };
        Self { invalid: answered.valid.as_str().map(str::to_owned), check, flags }
    }
}

async fn consult(code: &Code, (name, input): (&str, &Value)) -> Result<Consulted, Failure> {
    let mut guest = code.engine().fresh().await?;
    let said = said_of(&mut guest, &code.loading(), (name, input)).await;
    // So that nothing of it is left when this runtime ends.
    guest.end().await?;
    let answered: Answered = serde_json::from_value(said?).map_err(|error| {
        Failure::internal("what the tool says of the input can't be read").diagnose(error.to_string())
    })?;
    Ok(answered.into())
}

async fn said_of(
    guest: &mut Guest,
    loading: &Loading<'_>,
    (name, input): (&str, &Value),
) -> Result<Value, Failure> {
    loading.within(guest).await?;
    let nothing = json!({"grants": [], "callId": "", "sessionId": "", "workspace": "", "isExtension": false});
    guest.tell(&Order::Call {
        id: 1,
        function: "consult".to_owned(),
        of: name.to_owned(),
        input: input.clone(),
        cx: nothing,
    });
    answered(guest, 1).await
}

/// Which function is called.
#[derive(Clone, Copy)]
pub(crate) struct CallOf<'a> {
    pub(crate) function: &'a str,
    pub(crate) name: &'a str,
    /// Whether the tool's own word on the input wasn't heard yet.
    pub(crate) checks_first: bool,
}

/// Calls a function of a live module.
async fn call(
    live: &Live,
    of: CallOf<'_>,
    input: &Value,
    (lent, cx): (&Lent, &Cx),
) -> Result<Returned, Failure> {
    let (id, words) = live.open();
    live.tell(&told(id, of, input, lent.told(of.checks_first)));
    ModuleCall { live, id, words, lent, cx }.until_it_ends().await
}

/// The order for a call.
pub(super) fn told(id: u64, of: CallOf<'_>, input: &Value, cx: Value) -> Order {
    Order::Call { id, function: of.function.to_owned(), of: of.name.to_owned(), input: input.clone(), cx }
}

struct BoundScript {
    tool: Arc<ScriptTool>,
    input: Arc<Value>,
    consulted: Consulted,
}

impl Bound for BoundScript {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        effects(&self.tool.spec, &self.input)
    }

    fn flags(&self) -> Flags {
        self.consulted.flags
    }

    fn check(&self, _: &dyn SessionView) -> Option<OwnCheck> {
        let word = self.consulted.check.clone()?;
        Some(match word {
            OwnSay::Ask(why) => OwnCheck::Ask(Why::new("own", why)),
            OwnSay::Deny(why) => OwnCheck::Deny(Why::new("own", why)),
        })
    }

    fn preview<'a>(&'a self, _: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        let module = self.tool.code.module();
        let text = format!("{} of {}", self.tool.name, module.shown);
        Box::pin(std::future::ready(Ok(Preview { text, digest: module.hash.as_bytes().to_vec() })))
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move {
            let tool = &self.tool;
            let lent = Arc::new(Lent::new(&cx, &tool.spec));
            let returned = match &tool.code {
                Code::Module(engine, _) => tool.run_alone(engine, &self.input, (&lent, &cx)).await?,
                Code::Extension(extension) => {
                    // One that wakes its extension couldn't be asked before.
                    let checks_first = tool.functions.is_empty();
                    let of = CallOf { function: EXECUTE, name: &tool.name, checks_first };
                    extension.call(of, &self.input, (&lent, &cx)).await?
                }
            };
            let output = result::output(returned.value, returned.is_nothing, &tool.spec)?;
            Ok(Output { messages: returned.messages, files: lent.changed(), ..output })
        })
    }
}

impl ScriptTool {
    /// Runs it in a child of this call's own.
    async fn run_alone(
        &self,
        engine: &Arc<Engine>,
        input: &Value,
        (lent, cx): (&Lent, &Cx),
    ) -> Result<Returned, Failure> {
        let mut guest = engine.start().await?;
        for gap in std::mem::take(&mut guest.gaps) {
            cx.warn(gap);
        }
        let loading = self.code.loading();
        tokio::select! {
            biased;
            () = cx.cancel.fired() => return Err(Failure::cancelled()),
            loaded = loading.within(&mut guest) => loaded?,
        }
        engine.warm_up();
        let (live, own) = Live::new(guest);
        let logs = tokio::spawn(tell_logs(own, cx.clone()));
        let of = CallOf { function: EXECUTE, name: &self.name, checks_first: false };
        let ended = call(&live, of, input, (lent, cx)).await;
        if cx.cancel.is_fired() && live.is_alive() {
            lock(&self.stopped).insert(cx.call.clone(), live);
        } else {
            // Once its child is gone, what it printed has been told.
            drop(live);
            let _ = timeout(LOGS_TIMEOUT, logs).await;
        }
        ended
    }
}

/// What a tool with that declaration touches with an input: what it states; nothing, where it is lent nothing; else
/// calls of its own.
pub(crate) fn effects(spec: &Spec, input: &Value) -> Effects {
    match &spec.effects {
        Some(template) => template.fill(input).unwrap_or(Effects::Everything),
        None if spec.capabilities.is_empty() => Effects::none(),
        None => Effects::Delegated,
    }
}

/// What a module prints is for people.
async fn tell_logs(mut own: tokio::sync::mpsc::Receiver<Word>, cx: Cx) {
    while let Some(word) = own.recv().await {
        if let Word::Log { level, text } = word {
            if level == "warn" || level == "error" { cx.warn(text) } else { cx.log(text) }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SourceFile;
    use haft_core::Processes;
    use haft_test::NoProcesses;

    #[tokio::test]
    async fn an_input_is_asked_about_once_however_often_it_is_bound() {
        let host = Arc::new(NoProcesses::default());
        let processes: Arc<dyn Processes> = Arc::<NoProcesses>::clone(&host);
        let engine = Arc::new(Engine::new(processes, vec!["x".to_owned()], 1 << 20));
        let file = SourceFile { path: "picky.ts".to_owned(), text: String::new() };
        let module = ScriptModule::new("picky", "t/picky.ts".to_owned(), (file.path.clone(), vec![file]));
        let functions = BTreeSet::from(["execute".to_owned(), "checkPermissions".to_owned()]);
        let declared = ModuleTool { spec: Spec::new("picky", "d"), name: "picky".to_owned(), functions };
        let tool = Arc::new(ScriptTool::new(&engine, &Arc::new(module), declared));
        let asked = || host.asked();

        let input = Arc::new(json!({"n": 1}));
        Arc::clone(&tool).consult(Arc::clone(&input)).expect("it has a word of its own").await;
        assert_eq!(asked(), 1);
        for _ in 0..2 {
            Arc::clone(&tool).consult(Arc::clone(&input)).expect("it may be asked again").await;
            assert!(Arc::clone(&tool).bind(Arc::clone(&input)).is_ok(), "who can't be asked asks a person");
        }
        assert_eq!(asked(), 1, "each wrapper binds it, and none asks again");

        // Another input, though it says the same; and one that nobody could wait for.
        let other = Arc::new(json!({"n": 1}));
        for _ in 0..2 {
            assert!(Arc::clone(&tool).bind(Arc::clone(&other)).is_ok());
        }
        assert_eq!(asked(), 2);
        drop((input, other));
        let third = Arc::new(json!({}));
        assert!(Arc::clone(&tool).bind(Arc::clone(&third)).is_ok());
        assert_eq!(lock(&tool.said).len(), 1, "what nobody holds is forgotten");
    }

    #[test]
    fn a_tool_without_a_word_of_its_own_is_not_waited_for() {
        let engine = Arc::new(Engine::new(Arc::new(NoProcesses::default()), Vec::new(), 1 << 20));
        let module =
            Arc::new(ScriptModule::new("plain", "t/plain.ts".to_owned(), (String::new(), Vec::new())));
        let functions = BTreeSet::from(["execute".to_owned()]);
        let declared = ModuleTool { spec: Spec::new("plain", "d"), name: "plain".to_owned(), functions };
        let tool = Arc::new(ScriptTool::new(&engine, &module, declared));
        assert!(tool.consult(Arc::new(json!({}))).is_none());
    }
}
