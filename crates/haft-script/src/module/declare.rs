//! What modules declare: each is loaded in a closed child, which lends it nothing, and asked.

use super::{
    ScriptModule,
    apart::apart,
    kept::Kept,
    load::{Loading, NotLoaded},
};
use crate::{engine::Engine, wire::Fault};
use futures::{StreamExt as _, stream};
use haft_core::{Failure, StateFolder};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};

/// How long loading all of a folder may take.
const ALL_TIMEOUT: Duration = Duration::from_secs(120);
/// How many are loaded at a time.
const AT_ONCE: usize = 2;

/// One tool as its module declares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// Its fields that are data, by the names that manifests have: `name`, `description`, `inputSchema` …
    pub data: Value,
    /// Which of its fields are functions.
    pub functions: BTreeSet<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct AllDeclared {
    tools: Vec<Declared>,
}

/// Why a module can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// Asks every module what it declares; what is known of a content in `kept`, also that it is broken, isn't asked again.
/// Blocking; also where there is no runtime.
pub fn declare_all(
    engine: &Engine,
    modules: &[ScriptModule],
    kept: Option<&dyn StateFolder>,
) -> Vec<Result<Vec<Declared>, ModuleFault>> {
    let kept = Kept::new(kept);
    let of = |module| Loading { engine, module, form: "tools", about: Value::Null };
    let loadings: Vec<Loading<'_>> = modules.iter().map(of).collect();
    let known: Vec<Option<Result<AllDeclared, ModuleFault>>> =
        loadings.iter().map(|loading| kept.known(loading)).collect();
    let unknown: Vec<&Loading<'_>> = loadings
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none())
        .map(|(loading, _)| loading)
        .collect();
    let asked = if unknown.is_empty() { Ok(Vec::new()) } else { ask_all(&unknown) };
    let mut asked = match asked {
        Ok(asked) => asked.into_iter(),
        Err(failure) => vec![Err(NotLoaded::untried(&failure)); unknown.len()].into_iter(),
    };
    let mut all = Vec::with_capacity(modules.len());
    for (loading, known) in loadings.iter().zip(known) {
        let declared = known.unwrap_or_else(|| {
            let untried = || Err(NotLoaded::untried(&Failure::internal("it wasn't asked")));
            kept.keep(loading, asked.next().unwrap_or_else(untried))
        });
        all.push(declared.map(|all| all.tools));
    }
    all
}

fn ask_all(loadings: &[&Loading<'_>]) -> Result<Vec<Result<AllDeclared, NotLoaded>>, Failure> {
    apart(ALL_TIMEOUT, || stream::iter(loadings).map(|loading| declare(loading)).buffered(AT_ONCE).collect())
}

async fn declare(loading: &Loading<'_>) -> Result<AllDeclared, NotLoaded> {
    let (value, _) = loading.apart().await?;
    serde_json::from_value(value).map_err(|error| {
        let failure = Failure::internal(format!("its declaration can't be read: {error}"));
        NotLoaded::Broken(ModuleFault::of_failure(&failure))
    })
}
