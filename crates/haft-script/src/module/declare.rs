//! What modules declare: each is loaded in a closed child, which lends it nothing, and asked.

use super::{ScriptModule, apart::apart};
use crate::{
    engine::Engine,
    wire::{Bounds, Fault, Order, Refused, Word},
};
use futures::{StreamExt as _, stream};
use haft_core::{Failure, StateFolder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};
use tokio::time::timeout;

/// How long loading one module may take.
pub(super) const LOAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long loading all of a folder may take.
const ALL_TIMEOUT: Duration = Duration::from_secs(120);
/// How many are loaded at a time.
const AT_ONCE: usize = 2;
/// A longer declaration isn't kept.
const KEPT_MAX_BYTES: usize = 1 << 20;
/// What modules may use; for the calls of one child together.
pub(super) const BOUNDS: Bounds = Bounds { at_once: 8, timer_ms: 600_000 };

/// One tool as its module declares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// Its fields that are data, by the names that manifests have: `name`, `description`, `inputSchema` …
    pub data: Value,
    /// Which of its fields are functions.
    pub functions: BTreeSet<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AllDeclared {
    tools: Vec<Declared>,
}

/// Why a module can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFault {
    /// The file in it, where it is another than its main one.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
    /// What would mend it.
    pub fix: String,
}

impl ModuleFault {
    pub(crate) fn new(fault: &Fault, module: &ScriptModule) -> Self {
        let place = fault.place.as_ref();
        let name = fault.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        Self {
            file: place.map(|place| place.file.clone()).filter(|file| *file != module.entry),
            line: place.and_then(|place| usize::try_from(place.line).ok()),
            text: format!("{name}{}", fault.text),
            fix: "mend the module; it is loaded without files, network or packages".to_owned(),
        }
    }

    pub(crate) fn of_failure(failure: &Failure) -> Self {
        let text = failure
            .diagnostic
            .as_ref()
            .map_or_else(|| failure.text.clone(), |more| format!("{failure} ({more})"));
        Self { file: None, line: None, text, fix: "mend the module, or try again".to_owned() }
    }
}

/// Asks every module what it declares; what is known of a content in `kept` isn't asked again. Blocking; also where
/// there is no runtime.
pub fn declare_all(
    engine: &Engine,
    modules: &[ScriptModule],
    kept: Option<&dyn StateFolder>,
) -> Vec<Result<Vec<Declared>, ModuleFault>> {
    let known: Vec<Option<Vec<Declared>>> = modules.iter().map(|module| known(kept, module)).collect();
    let unknown: Vec<&ScriptModule> =
        modules.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(module, _)| module).collect();
    let asked = if unknown.is_empty() { Ok(Vec::new()) } else { ask_all(engine, &unknown) };
    let mut asked = match asked {
        Ok(asked) => asked.into_iter(),
        Err(failure) => vec![Err(ModuleFault::of_failure(&failure)); unknown.len()].into_iter(),
    };
    let mut all = Vec::with_capacity(modules.len());
    for (module, known) in modules.iter().zip(known) {
        let declared = match known {
            Some(known) => Ok(known),
            None => asked
                .next()
                .unwrap_or_else(|| Err(ModuleFault::of_failure(&Failure::internal("it wasn't asked")))),
        };
        if let (Ok(tools), Some(state)) = (&declared, kept) {
            keep(state, module, tools);
        }
        all.push(declared);
    }
    all
}

fn ask_all(
    engine: &Engine,
    modules: &[&ScriptModule],
) -> Result<Vec<Result<Vec<Declared>, ModuleFault>>, Failure> {
    apart(ALL_TIMEOUT, || {
        stream::iter(modules).map(|module| declare(engine, module)).buffered(AT_ONCE).collect()
    })
}

async fn declare(engine: &Engine, module: &ScriptModule) -> Result<Vec<Declared>, ModuleFault> {
    let of_failure = |failure: Failure| ModuleFault::of_failure(&failure);
    let mut guest = engine.fresh().await.map_err(of_failure)?;
    guest.tell(&load(module, "tools", Value::Null));
    let loaded = timeout(LOAD_TIMEOUT, async {
        loop {
            match guest.next().await {
                Ok(Word::Done { id: 0, value, .. }) => return Ok(Ok(value)),
                Ok(Word::Failed { id: 0, fault }) => return Ok(Err(fault)),
                Ok(Word::Ask { id, what, .. }) => guest.tell(&nothing_lent(id, &what)),
                Ok(_) => {}
                Err(gone) => return Err(gone),
            }
        }
    })
    .await;
    let ending = guest.end().await;
    match (loaded, ending) {
        (Ok(Ok(Ok(value))), _) => {
            let all: Result<AllDeclared, _> = serde_json::from_value(value);
            all.map(|all| all.tools).map_err(|error| {
                of_failure(Failure::internal(format!("its declaration can't be read: {error}")))
            })
        }
        (Ok(Ok(Err(fault))), _) => Err(ModuleFault::new(&fault, module)),
        (Ok(Err(_)), Ok(ending)) => Err(of_failure(ending.failure())),
        (_, Err(failure)) => Err(of_failure(failure)),
        (Err(_), _) => Err(of_failure(Failure::internal(format!(
            "loading it didn't end within {} s; what takes time belongs into execute",
            LOAD_TIMEOUT.as_secs()
        )))),
    }
}

/// The order that loads a module.
pub(super) fn load(module: &ScriptModule, form: &str, about: Value) -> Order {
    Order::Load {
        files: module.files.clone(),
        entry: module.entry.clone(),
        form: form.to_owned(),
        about,
        bounds: BOUNDS,
    }
}

/// The answer while a module is loaded or asked about an input. What an extension keeps is empty then.
pub(super) fn nothing_lent(id: u64, what: &str) -> Order {
    let error = (what != "storage" && what != "secret").then(|| Refused {
        text: "nothing is lent while a module is loaded or asked about an input; do it in execute".to_owned(),
        tool: None,
        kind: "permission".to_owned(),
    });
    Order::Answer { id, value: Value::Null, error }
}

fn file_of(module: &ScriptModule) -> String {
    format!("scripts/{}.json", module.hash)
}

fn known(kept: Option<&dyn StateFolder>, module: &ScriptModule) -> Option<Vec<Declared>> {
    let bytes = kept?.read_from(&file_of(module), 0, KEPT_MAX_BYTES).ok().flatten()?;
    serde_json::from_slice::<AllDeclared>(&bytes).ok().map(|all| all.tools)
}

fn keep(state: &dyn StateFolder, module: &ScriptModule, tools: &[Declared]) {
    let all = AllDeclared { tools: tools.to_vec() };
    // Where it can't be kept, it is asked anew the next time.
    let _ = state.keep(&file_of(module), &mut || {
        serde_json::to_vec(&all).map_err(|error| Failure::internal(error.to_string()))
    });
}
