//! Keeps the catalogue in step with what one server offers: new and changed tools are registered, gone ones dropped, bad
//! ones set aside with a visible reason.

use super::{
    config::ServerConfig,
    definition::Definition,
    greet::Greeting,
    name::{shown_name, tool_name},
    screen::Screened,
    server::Server,
    tool::{Made, McpTool},
};
use haft_core::{Failure, exact};
use haft_runtime::{Catalogue, Handle, Problem, RegisterError};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How large one definition may be, and all of a server's together.
const DEFINITION_MAX_BYTES: usize = 512 * 1024;
const DEFINITIONS_MAX_BYTES: usize = 10 * 1024 * 1024;
/// How many problems of one server are listed.
const PROBLEMS_MAX: usize = 50;
/// What to do about a definition that can't be a tool.
const LOOK: &str = "look at it with `haft mcp test`, and tell whoever makes the server";

/// The tools of one server in the catalogue.
pub(crate) struct Registry {
    catalogue: Catalogue,
    inner: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    /// By the name they have here.
    tools: BTreeMap<Arc<str>, Kept>,
    /// By the name that the server gives them: the hash of what it says they are now.
    hashes: BTreeMap<String, Arc<str>>,
}

struct Kept {
    hash: Arc<str>,
    /// What was done to its definition.
    notes: Vec<String>,
    _handle: Handle,
}

impl Registry {
    pub(crate) fn new(catalogue: Catalogue) -> Self {
        Self { catalogue, inner: Mutex::default() }
    }

    /// Takes over what the server offers now; gives what of it is a definition.
    pub(crate) fn take_in(
        &self,
        server: &Arc<Server>,
        greeting: &Greeting,
        raw: Vec<Value>,
        warnings: Vec<String>,
    ) -> Vec<Definition> {
        let config = &server.config;
        let mut problems: Vec<Problem> = warnings.iter().map(|text| problem(config, text, LOOK)).collect();
        let definitions = read(config, raw, &mut problems);
        if let Some(about) = about(config, greeting) {
            self.catalogue.describe(&config.owner(), &about);
        }
        let mut inner = self.lock();
        let mut before = std::mem::take(&mut inner.tools);
        inner.hashes.clear();
        for definition in &definitions {
            let hash = definition.hash(&config.parts, greeting.instructions.as_deref());
            inner.hashes.insert(definition.name().to_owned(), Arc::clone(&hash));
            if config.tools.get(definition.name()).is_some_and(|set| set.enabled == Some(false)) {
                continue;
            }
            let name = tool_name(&config.name, config.prefix.as_deref(), definition.name());
            if inner.tools.contains_key(&name) {
                let why = format!("another of its tools is called {name} too");
                problems.push(set_aside(config, definition, &why, LOOK));
                continue;
            }
            let old = before.remove(&name);
            let kept = match old {
                // What says the same is the same, and made once.
                Some(old) if old.hash == hash => old,
                old => match self.register(server, definition, greeting, hash) {
                    Ok(new) => {
                        // After the new one is there, so that both are one to calls on their way.
                        drop(old);
                        new
                    }
                    Err(problem) => {
                        problems.push(problem);
                        continue;
                    }
                },
            };
            problems.extend(kept.notes.iter().map(|text| {
                let fix = "look at it with `haft tools show`; `screen = \"off\"` takes a server's texts as they are";
                problem(config, &format!("the tool \"{}\": {text}", shown_name(definition.name())), fix)
            }));
            inner.tools.insert(name, kept);
        }
        drop(inner);
        // What is gone leaves the catalogue here.
        drop(before);
        let further = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        if further > 0 {
            problems.push(problem(config, &format!("{further} more problems aren't listed"), LOOK));
        }
        self.catalogue.report(&config.owner(), problems);
        definitions
    }

    /// Makes a tool and registers it, in place of the one that had its name.
    fn register(
        &self,
        server: &Arc<Server>,
        definition: &Definition,
        greeting: &Greeting,
        hash: Arc<str>,
    ) -> Result<Kept, Problem> {
        let config = &server.config;
        let Made { tool, notes } = McpTool::make(server, definition, greeting, Arc::clone(&hash))
            .map_err(|why| set_aside(config, definition, &why, LOOK))?;
        let registered =
            self.catalogue.register_hashed(Arc::new(tool), &config.owner(), Some(Arc::clone(&hash)));
        match registered {
            Ok(handle) => Ok(Kept { hash, notes, _handle: handle }),
            Err(error) => Err(refused(config, definition, &error)),
        }
    }

    /// The server can't be started: its tools stay as they were, and the problem is listed.
    pub(crate) fn failed(&self, config: &ServerConfig, failure: &Failure) {
        let text = failure.text.lines().next().unwrap_or_default();
        let fix = format!("`haft mcp test {}` shows what it says", config.name);
        self.catalogue.report(&config.owner(), vec![problem(config, text, &fix)]);
    }

    /// What a tool is now, by the name that the server gives it; none where it is no longer offered.
    pub(crate) fn hash_of(&self, tool: &str) -> Option<Arc<str>> {
        self.lock().hashes.get(tool).cloned()
    }

    /// The tools that are registered: the server's name for each isn't told, only the one that it has here.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.lock().tools.keys().cloned().collect()
    }

    /// Takes all tools out of the catalogue.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut *self.lock());
        drop(gone);
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the server says that it is for, on one line: it stands where its tools are listed by name only.
fn about(config: &ServerConfig, greeting: &Greeting) -> Option<String> {
    let info = |key: &str| greeting.info.get(key).and_then(Value::as_str);
    let said = info("description").or(greeting.instructions.as_deref()).or_else(|| info("title"))?;
    let text = if config.screen { Screened::default().text(said) } else { said.to_owned() };
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// The definitions among what a server lists.
fn read(config: &ServerConfig, raw: Vec<Value>, problems: &mut Vec<Problem>) -> Vec<Definition> {
    let (mut definitions, mut total, mut left_out) = (Vec::new(), 0_usize, 0_usize);
    let fix = "tell whoever makes the server";
    for (at, value) in raw.into_iter().enumerate() {
        let size = value.to_string().len();
        if size > DEFINITION_MAX_BYTES || total + size > DEFINITIONS_MAX_BYTES {
            left_out += 1;
            continue;
        }
        total += size;
        match Definition::read(value) {
            Ok(definition) => definitions.push(definition),
            Err(why) => {
                problems.push(problem(config, &format!("its tool {} is set aside: {why}", at + 1), fix));
            }
        }
    }
    if left_out > 0 {
        let text = format!("{left_out} of its tools are set aside, since their definitions are too large");
        problems.push(problem(config, &text, fix));
    }
    definitions
}

fn refused(config: &ServerConfig, definition: &Definition, error: &RegisterError) -> Problem {
    let fix = match error {
        RegisterError::Taken { .. } => "give the server another `prefix`, or none",
        _ => "tell whoever makes the server",
    };
    set_aside(config, definition, &error.to_string(), fix)
}

fn set_aside(config: &ServerConfig, definition: &Definition, why: &str, fix: &str) -> Problem {
    let name = shown_name(definition.name());
    problem(config, &format!("the tool \"{name}\" is set aside: {why}"), fix)
}

fn problem(config: &ServerConfig, text: &str, fix: &str) -> Problem {
    Problem { source: config.owner(), path: None, line: None, text: exact(text), fix: fix.to_owned() }
}
