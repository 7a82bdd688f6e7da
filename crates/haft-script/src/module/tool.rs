//! A tool that a module exports, as the catalogue keeps it.

use super::{
    ScriptModule,
    apart::apart,
    declare::{load, nothing_lent},
    lend::Lent,
    live::Live,
    result,
    run::{ModuleCall, failure},
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
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// How long a tool may take to say something about an input before it runs.
const CONSULT_TIMEOUT: Duration = Duration::from_secs(5);
/// The functions by which a tool says something about an input.
const CONSULTED: [&str; 6] =
    ["validateInput", "checkPermissions", "isReadOnly", "isConcurrencySafe", "isDestructive", "isMutating"];
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

/// A tool whose code is a module. Each call has a child of its own.
pub struct ScriptTool {
    spec: Arc<Spec>,
    name: String,
    functions: BTreeSet<String>,
    module: Arc<ScriptModule>,
    engine: Arc<Engine>,
    /// Children of calls that were stopped, until they have tidied up.
    stopped: Mutex<HashMap<CallId, Live>>,
}

impl ScriptTool {
    /// A tool of a module.
    pub fn new(engine: &Arc<Engine>, module: &Arc<ScriptModule>, tool: ModuleTool) -> Self {
        Self {
            spec: Arc::new(tool.spec),
            name: tool.name,
            functions: tool.functions,
            module: Arc::clone(module),
            engine: Arc::clone(engine),
            stopped: Mutex::default(),
        }
    }

    /// What the tool says of an input: whether it is valid, how it wants to be allowed.
    fn consult(&self, input: &Value) -> Result<Consulted, Failure> {
        if !CONSULTED.iter().any(|name| self.functions.contains(*name)) {
            return Ok(Consulted::default());
        }
        let asked = apart(CONSULT_TIMEOUT, || consult(&self.engine, &self.module, (&self.name, input)));
        match asked.flatten() {
            Ok(consulted) => Ok(consulted),
            // Who can't be asked counts as one who says the most careful thing.
            Err(failure) if failure.kind == FailureKind::InvalidInput => Err(failure),
            Err(failure) => {
                let text = format!("the tool's own check of this input failed: {failure}");
                Ok(Consulted { check: Some(OwnSay::Ask(text)), ..Consulted::default() })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, Live>> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AnyTool for ScriptTool {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn parts(&self) -> Vec<(String, String)> {
        let mut parts = self.spec.said();
        parts.extend(self.module.parts());
        parts
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        let consulted = self.consult(&input)?;
        if let Some(why) = &consulted.invalid {
            return Err(Failure::invalid(why.clone()));
        }
        Ok(Box::new(BoundScript { tool: self, input, consulted }))
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        let live = self.lock().remove(&cx.call);
        Box::pin(async move {
            let Some(live) = live.filter(|_| self.functions.contains(CLEANUP)) else { return };
            let lent = Lent::new(&cx, &self.spec);
            // What it says of its end is nobody's any more.
            let _ = call(&live, (CLEANUP, &self.name), &input, (&lent, &cx)).await;
        })
    }
}

/// What a tool said of one input.
#[derive(Debug, Default)]
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

async fn consult(
    engine: &Engine,
    module: &ScriptModule,
    (name, input): (&str, &Value),
) -> Result<Consulted, Failure> {
    let mut guest = engine.fresh().await?;
    let said = said_of(&mut guest, module, (name, input)).await;
    // So that nothing of it is left when this runtime ends.
    guest.end().await?;
    let answered: Answered = serde_json::from_value(said?).map_err(|error| {
        Failure::internal("what the tool says of the input can't be read").diagnose(error.to_string())
    })?;
    Ok(answered.into())
}

async fn said_of(
    guest: &mut Guest,
    module: &ScriptModule,
    (name, input): (&str, &Value),
) -> Result<Value, Failure> {
    guest.tell(&load(module, "tools", Value::Null));
    answered(guest, 0).await?;
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

/// Waits for the end of one thing, while nothing is lent.
pub(crate) async fn answered(guest: &mut Guest, wanted: u64) -> Result<Value, Failure> {
    loop {
        match guest.next().await {
            Ok(Word::Done { id, value, .. }) if id == wanted => return Ok(value),
            Ok(Word::Failed { id, fault }) if id == wanted => return Err(failure(&fault)),
            Ok(Word::Ask { id, .. }) => {
                guest.tell(&Order::Answer { id, value: Value::Null, error: Some(nothing_lent()) });
            }
            Ok(_) => {}
            Err(gone) => {
                return Err(Failure::internal("the module's process ended").diagnose(format!("{gone:?}")));
            }
        }
    }
}

/// Calls a function of a live module.
pub(super) async fn call(
    live: &Live,
    (function, of): (&str, &str),
    input: &Value,
    (lent, cx): (&Lent, &Cx),
) -> Result<super::run::Returned, Failure> {
    let (id, words) = live.open();
    live.tell(&Order::Call {
        id,
        function: function.to_owned(),
        of: of.to_owned(),
        input: input.clone(),
        cx: lent.told(false),
    });
    ModuleCall { live, id, words, lent, cx }.to_its_end().await
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
        let (tool, hash) = (&self.tool, &self.tool.module.hash);
        let text = format!("{} of {}", tool.name, tool.module.shown);
        Box::pin(std::future::ready(Ok(Preview { text, digest: hash.as_bytes().to_vec() })))
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move {
            let tool = &self.tool;
            let mut guest = tool.engine.start().await?;
            for gap in std::mem::take(&mut guest.gaps) {
                cx.warn(gap);
            }
            guest.tell(&load(&tool.module, "tools", Value::Null));
            tokio::select! {
                biased;
                () = cx.cancel.fired() => return Err(Failure::cancelled()),
                loaded = answered(&mut guest, 0) => loaded.map(drop)?,
            }
            tool.engine.warm_up();
            let (live, own) = Live::new(guest);
            let logs = tokio::spawn(tell_logs(own, cx.clone()));
            let lent = Lent::new(&cx, &tool.spec);
            let ended = call(&live, ("execute", &tool.name), &self.input, (&lent, &cx)).await;
            if cx.cancel.is_fired() && live.is_alive() {
                tool.lock().insert(cx.call.clone(), live);
            } else {
                // Once its child is gone, what it printed has been told.
                drop(live);
                let _ = timeout(LOGS_TIMEOUT, logs).await;
            }
            let returned = ended?;
            let output = result::output(returned.value, returned.is_nothing, &tool.spec)?;
            Ok(Output { messages: returned.messages, files: lent.changed(), ..output })
        })
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
pub(super) async fn tell_logs(mut own: tokio::sync::mpsc::Receiver<Word>, cx: Cx) {
    while let Some(word) = own.recv().await {
        if let Word::Log { level, text } = word {
            if level == "warn" || level == "error" { cx.warn(text) } else { cx.log(text) }
        }
    }
}
