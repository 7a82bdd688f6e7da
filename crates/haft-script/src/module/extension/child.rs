//! An extension's own child: started with the first call, shared by all, started anew where it ended.

use super::super::{
    ScriptModule,
    lend::Lent,
    live::Live,
    load::{LOAD_TIMEOUT, Loading, nothing_lent},
    run::{DEAF, ModuleCall, Returned, failure},
    tool::{CallOf, told},
};
use super::command::Say;
use crate::{
    engine::Engine,
    guest::Teller,
    wire::{Order, Refused, Word},
};
use haft_core::{Cx, Failure, FailureKind};
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::{mpsc::Receiver, oneshot},
    task::spawn_blocking,
    time::timeout,
};

/// How long `deactivate` may take.
const DEACTIVATE_TIMEOUT: Duration = Duration::from_secs(2);

/// What an extension is told of itself, and what is granted to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtensionAbout {
    /// Its id: its folder's name.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its version.
    pub version: String,
    /// `storage`, `secrets`, `http`, as far as it asks for them.
    pub grants: BTreeSet<String>,
    /// Names of built-in tools, which it can't register.
    pub core: Vec<String>,
}

/// What is kept for an extension. Blocking.
pub trait ExtensionStore: Send + Sync {
    /// All of it by key.
    ///
    /// # Errors
    /// Unavailable where it can't be read.
    fn read(&self) -> Result<serde_json::Map<String, Value>, Failure>;

    /// Keeps a value, or removes it.
    ///
    /// # Errors
    /// Unavailable where it can't be kept; invalid input where it is too long.
    fn write(&self, key: &str, value: Option<Value>) -> Result<(), Failure>;

    /// A secret that the user lets it have.
    fn secret(&self, name: &str) -> Option<String>;
}

/// An extension, and its child while it lives.
pub struct Extension {
    about: ExtensionAbout,
    engine: Arc<Engine>,
    module: ScriptModule,
    store: Arc<dyn ExtensionStore>,
    live: tokio::sync::Mutex<Option<Live>>,
    /// What runs in it.
    running: Mutex<HashMap<u64, Arc<Lent>>>,
    /// Who is told what it prints, of each command that runs in it.
    listening: Mutex<HashMap<u64, Say>>,
    /// Numbers and names of what it registered, and names that it took back.
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    registered: HashMap<u64, String>,
    gone: BTreeSet<String>,
}

impl Extension {
    /// An extension whose child isn't started yet.
    pub fn new(
        engine: &Arc<Engine>,
        module: ScriptModule,
        (about, store): (ExtensionAbout, Arc<dyn ExtensionStore>),
    ) -> Arc<Self> {
        Arc::new(Self {
            about,
            engine: Arc::clone(engine),
            module,
            store,
            live: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            listening: Mutex::default(),
            names: Mutex::default(),
        })
    }

    /// Its code.
    pub fn module(&self) -> &ScriptModule {
        &self.module
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(in crate::module) fn loading(&self) -> Loading<'_> {
        let about = json!({
            "id": self.about.id,
            "name": self.about.name,
            "version": self.about.version,
            "grants": self.about.grants,
            "core": self.about.core,
        });
        Loading { engine: self.engine.as_ref(), module: &self.module, form: "extension", about }
    }

    /// Whether it hasn't taken a tool back since.
    pub(crate) fn offers(&self, name: &str) -> bool {
        !lock(&self.names).gone.contains(name)
    }

    /// Calls one of its tools.
    ///
    /// # Errors
    /// What the tool threw, or what keeps the extension from being active.
    pub(crate) async fn call(
        self: &Arc<Self>,
        of: CallOf<'_>,
        input: &Value,
        (lent, cx): (&Arc<Lent>, &Cx),
    ) -> Result<Returned, Failure> {
        let live = tokio::select! {
            biased;
            () = cx.cancel.fired() => return Err(Failure::cancelled()),
            live = self.live() => live?,
        };
        let (id, words) = live.open();
        lock(&self.running).insert(id, Arc::clone(lent));
        live.tell(&told(id, of, input, lent.told(of.checks_first)));
        let ended = ModuleCall { live: &live, id, words, lent, cx }.until_it_ends().await;
        lock(&self.running).remove(&id);
        if ended.as_ref().is_err_and(|failure| failure.diagnostic.as_deref() == Some(DEAF)) {
            // It would keep all others waiting.
            self.let_go().await;
        }
        ended
    }

    /// Has a tool tidy up, where the child that it ran in is still there.
    ///
    /// # Errors
    /// What the tool threw.
    pub(crate) async fn tidy(
        self: &Arc<Self>,
        of: CallOf<'_>,
        input: &Value,
        lent: (&Arc<Lent>, &Cx),
    ) -> Result<(), Failure> {
        let is_live = self.live.lock().await.as_ref().is_some_and(Live::is_alive);
        if is_live { self.call(of, input, lent).await.map(drop) } else { Ok(()) }
    }

    /// Tells one of its hooks of an event, and gives what it says.
    ///
    /// # Errors
    /// As with a tool; cancelled by dropping the future.
    pub async fn hook(self: &Arc<Self>, number: u64, input: &Value) -> Result<Value, Failure> {
        let live = self.live().await?;
        let name = number.to_string();
        self.ask(&live, CallOf { function: "hook", name: &name, checks_first: false }, input).await
    }

    /// Lets it go: what runs goes on to its end, and `deactivate` is called.
    pub fn retire(self: &Arc<Self>) {
        let Ok(handle) = Handle::try_current() else { return };
        let extension = Arc::clone(self);
        handle.spawn(async move {
            let live = extension.live.lock().await.take();
            if let Some(live) = live.filter(Live::is_alive) {
                let of = CallOf { function: "deactivate", name: "", checks_first: false };
                drop(timeout(DEACTIVATE_TIMEOUT, extension.ask(&live, of, &Value::Null)).await);
            }
        });
    }

    /// Calls a function that is lent nothing.
    async fn ask(&self, live: &Live, of: CallOf<'_>, input: &Value) -> Result<Value, Failure> {
        let (id, mut words) = live.open();
        live.tell(&told(id, of, input, nothing()));
        loop {
            match words.recv().await {
                Some(Word::Done { value, .. }) => return Ok(value),
                Some(Word::Failed { fault, .. }) => return Err(failure(&fault)),
                Some(Word::Ask { id, what, .. }) => live.tell(&nothing_lent(id, &what)),
                Some(_) => {}
                None => return Err(live.ending()),
            }
        }
    }

    /// Has `say` told what it prints as long as the result is held.
    pub(super) fn listens(&self, call: u64, say: &Say) -> Listening<'_> {
        lock(&self.listening).insert(call, Arc::clone(say));
        Listening { extension: self, call }
    }

    /// Ends its child where nothing else runs in it; the next call starts a new one.
    pub(super) async fn let_go(&self) {
        let is_idle = lock(&self.running).is_empty() && lock(&self.listening).is_empty();
        if is_idle {
            self.live.lock().await.take();
        }
    }

    /// Its child, active.
    pub(super) async fn live(self: &Arc<Self>) -> Result<Live, Failure> {
        let mut slot = self.live.lock().await;
        if let Some(live) = slot.as_ref().filter(|live| live.is_alive()) {
            return Ok(live.clone());
        }
        let (live, own) = Live::new(self.engine.start().await?);
        lock(&self.names).registered.clear();
        live.tell(&self.loading().order());
        let (sender, activated) = oneshot::channel();
        tokio::spawn(hear(Arc::downgrade(self), (live.teller(), own), sender));
        let said = match timeout(LOAD_TIMEOUT, activated).await {
            Ok(Ok(said)) => said,
            Ok(Err(_)) => Err(live.ending()),
            Err(_) => {
                Err(Failure::internal(format!("activate didn't end within {} s", LOAD_TIMEOUT.as_secs())))
            }
        };
        said.map_err(|failure| {
            let text = format!("the extension {} couldn't be activated: {}", self.about.id, failure.text);
            Failure { text, ..failure }
        })?;
        *slot = Some(live.clone());
        Ok(live)
    }

    /// What it asks for beside its calls: what is kept for it, and what the one call that runs is lent.
    async fn give(&self, (what, name): (&str, &[String]), input: &Value) -> Result<Value, Failure> {
        match what {
            "storage" => self.stored(name.first().map(String::as_str).unwrap_or_default(), input).await,
            "secret" => {
                let name = input.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                let is_granted = self.about.grants.contains("secrets");
                Ok(self.store.secret(&name).filter(|_| is_granted).map_or(Value::Null, Value::from))
            }
            "fetch" => {
                let only = {
                    let running = lock(&self.running);
                    let mut all = running.values();
                    all.next().cloned().filter(|_| all.next().is_none())
                };
                let lent = only.ok_or_else(|| {
                    Failure::new(
                        FailureKind::Permission,
                        "ctx.api.http works while one call of the extension runs, whose capabilities it has; use the \
                         fetch of the call's own ctx",
                    )
                })?;
                lent.give(what, name, input)
                    .await
                    .map_err(|refused| Failure::new(FailureKind::Permission, refused.text))
            }
            other => Err(Failure::new(FailureKind::Permission, format!("an extension isn't lent {other}"))),
        }
    }

    async fn stored(&self, action: &str, input: &Value) -> Result<Value, Failure> {
        if !self.about.grants.contains("storage") {
            return Err(Failure::new(FailureKind::Permission, "storage isn't granted to this extension"));
        }
        let key = input.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = input.get("value").cloned().unwrap_or(Value::Null);
        let (store, action) = (Arc::clone(&self.store), action.to_owned());
        let done = spawn_blocking(move || match action.as_str() {
            "get" => Ok(store.read()?.get(&key).cloned().unwrap_or(Value::Null)),
            "set" => store.write(&key, Some(value)).map(|()| Value::Null),
            "delete" => store.write(&key, None).map(|()| Value::Null),
            "keys" => Ok(Value::from(store.read()?.keys().cloned().collect::<Vec<_>>())),
            other => Err(Failure::invalid(format!("storage has no {other}"))),
        });
        done.await.map_err(|_| Failure::internal("the storage failed"))?
    }

    /// Takes in what it registers and takes back while it lives.
    fn take_in(&self, event: &Value) {
        let number = event.get("number").and_then(Value::as_u64).unwrap_or_default();
        let mut names = lock(&self.names);
        match event.get("type").and_then(Value::as_str) {
            Some("register") => {
                let name = event.pointer("/data/name").and_then(Value::as_str).unwrap_or_default().to_owned();
                names.gone.remove(&name);
                names.registered.insert(number, name);
            }
            Some("dispose") => {
                if let Some(name) = names.registered.remove(&number) {
                    names.gone.insert(name);
                }
            }
            _ => {}
        }
    }

    /// What it prints is told with what runs.
    fn print(&self, level: &str, text: &str) {
        for say in lock(&self.listening).values() {
            say(text);
        }
        for lent in lock(&self.running).values() {
            if level == "warn" || level == "error" { lent.cx().warn(text) } else { lent.cx().log(text) }
        }
    }
}

/// What a function has that is lent nothing.
pub(super) fn nothing() -> Value {
    json!({"grants": [], "callId": "", "sessionId": "", "workspace": "", "isExtension": true})
}

/// Somebody who is told what an extension prints, until this is dropped.
pub(super) struct Listening<'e> {
    extension: &'e Extension,
    call: u64,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        lock(&self.extension.listening).remove(&self.call);
    }
}

/// Hears what an extension says of itself, as long as both are there.
async fn hear(
    extension: Weak<Extension>,
    (teller, mut own): (Teller, Receiver<Word>),
    activated: oneshot::Sender<Result<(), Failure>>,
) {
    let mut activated = Some(activated);
    while let Some(word) = own.recv().await {
        let Some(extension) = extension.upgrade() else { return };
        match word {
            Word::Done { .. } => drop(activated.take().map(|sender| sender.send(Ok(())))),
            Word::Failed { fault, .. } => {
                drop(activated.take().map(|sender| sender.send(Err(failure(&fault)))));
            }
            Word::Ask { id, what, name, input, .. } => {
                let given = extension.give((&what, &name), &input).await;
                teller.tell(&Order::answer(id, given.map_err(|failure| Refused::of_failure(&failure))));
            }
            Word::Event { event, .. } => extension.take_in(&event),
            Word::Log { level, text } => extension.print(&level, &text),
            Word::Stripped { files } => extension.module.keep_stripped(files),
            Word::Ready { .. } => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
