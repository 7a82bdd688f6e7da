//! Keeps the catalogue in step with what one server offers: new and changed tools are registered, gone ones dropped, bad
//! ones set aside with a visible reason.

use super::{
    config::ServerConfig,
    definition::Definition,
    greet::Greeting,
    name::{name_beginnings, shown_name, tool_name},
    names::{Claim, Names},
    pages::Listed,
    screen::Screened,
    server::Server,
    tool::{Made, McpTool},
};
use haft_core::{Failure, exact};
use haft_runtime::{Catalogue, Handle, Missing, Problem, RegisterError};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How large one definition may be, and all of a server's together.
const DEFINITION_MAX_BYTES: usize = 512 * 1024;
const DEFINITIONS_MAX_BYTES: usize = 10 * 1024 * 1024;
/// How many problems of one server are listed.
const PROBLEMS_MAX: usize = 50;
/// How many of its tools are named where the settings name another.
const NAMED_MAX: usize = 10;
/// What to do where two servers have one name for their tools.
const PREFIX: &str = "give one of the two servers another `prefix`, or none";
/// What to do about a definition that can't be a tool.
const LOOK: &str = "look at it with `haft mcp test`, and tell whoever makes the server";

/// The tools of one server in the catalogue.
pub(crate) struct Registry {
    catalogue: Catalogue,
    names: Names,
    /// Which server it is in the settings, the first one 0.
    rank: usize,
    inner: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    /// By the name they have here.
    tools: BTreeMap<Arc<str>, Kept>,
    /// By the name that the server gives them: the hash of what it says they are now.
    hashes: BTreeMap<String, Arc<str>>,
    problems: Vec<Problem>,
}

/// What became of a list.
pub(crate) struct TakenIn {
    /// What of it is a definition.
    pub(crate) definitions: Vec<Definition>,
    /// What was wrong with it.
    pub(crate) warnings: Vec<String>,
}

struct Kept {
    hash: Arc<str>,
    /// What was done to its definition.
    notes: Vec<String>,
    _handle: Handle,
}

impl Registry {
    pub(crate) fn new(catalogue: Catalogue, names: Names, rank: usize) -> Self {
        Self { catalogue, names, rank, inner: Mutex::default() }
    }

    /// Takes over what the server offers now.
    pub(crate) fn take_in(&self, server: &Arc<Server>, greeting: &Greeting, listed: Listed) -> TakenIn {
        let config = &server.config;
        let Listed { entries, mut warnings } = listed;
        let definitions = read(entries, &mut warnings);
        let mut problems: Vec<Problem> = warnings.iter().map(|text| problem(config, text, LOOK)).collect();
        problems.extend(unknown(config, &definitions));
        if let Some(about) = about(config, greeting) {
            self.catalogue.describe(&config.owner(), &about);
        }
        // One list after another, and what changes hands shows as one change.
        let mut names = self.names.lock();
        let _shown_together = self.catalogue.hold();
        let mut inner = self.lock();
        let mut before = std::mem::take(&mut inner.tools);
        inner.hashes.clear();
        for definition in &definitions {
            let hash = definition.hash(&config.parts, greeting.instructions.as_deref());
            inner.hashes.insert(definition.name().to_owned(), Arc::clone(&hash));
            if !config.uses(definition.name()) {
                continue;
            }
            let name = tool_name(&config.name, config.prefix.as_deref(), definition.name());
            if inner.tools.contains_key(&name) {
                let why = format!("another of its tools is called {name} too");
                problems.push(set_aside(config, definition, &why, LOOK));
                continue;
            }
            match names.claim(&name, self.rank) {
                Claim::Free => {}
                Claim::Taken(first) => {
                    problems.push(second(config, definition.name(), &first.config));
                    continue;
                }
                Claim::From(later) => later.registry.give_up(&later.config, &name, config),
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
                        names.release(&name, self.rank);
                        problems.push(problem);
                        continue;
                    }
                },
            };
            problems.extend(kept.notes.iter().map(|text| {
                let fix = "look at it with `haft tools show`; `screen = \"off\"` takes a server's texts as they are";
                problem(config, &format!("the tool \"{}\": {text}", shown_name(definition.name())), fix)
            }));
            names.hold(&name, self.rank, server);
            inner.tools.insert(name, kept);
        }
        for gone in before.keys() {
            names.release(gone, self.rank);
        }
        let further = problems.len().saturating_sub(PROBLEMS_MAX);
        problems.truncate(PROBLEMS_MAX);
        if further > 0 {
            problems.push(problem(config, &format!("{further} more problems aren't listed"), LOOK));
        }
        inner.problems.clone_from(&problems);
        drop(inner);
        // What is gone leaves the catalogue here.
        drop(before);
        let first = problems.first().map(|problem| problem.text.clone());
        self.catalogue.report(&config.owner(), problems);
        self.catalogue.miss(&config.owner(), None);
        if let Some(why) = first {
            self.missing(config, &why);
        }
        TakenIn { definitions, warnings }
    }

    /// A name goes over to a server that comes first in the settings.
    fn give_up(&self, config: &ServerConfig, name: &str, first: &ServerConfig) {
        let (gone, problems) = {
            let mut inner = self.lock();
            let gone = inner.tools.remove(name);
            inner.problems.push(second(config, name, first));
            (gone, inner.problems.clone())
        };
        drop(gone);
        self.catalogue.report(&config.owner(), problems);
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

    /// The server is being started, and nobody knows its tools yet: until they are heard, that is what is wrong with it.
    pub(crate) fn starting(&self, config: &ServerConfig) {
        let text = format!("the server {} hasn't said yet what tools it has: they are missing", config.name);
        let fix = format!("wait for it, or see what keeps it: haft mcp test {}", config.name);
        self.missing(config, &format!("{text} until it has. Try again later."));
        self.report(config, problem(config, &text, &fix));
    }

    /// The server can't be started: its tools stay as they were, and the problem is listed beside those of its list.
    pub(crate) fn failed(&self, config: &ServerConfig, failure: &Failure) {
        let text = failure.text.lines().next().unwrap_or_default();
        let fix = format!("`haft mcp test {}` shows what it says", config.name);
        self.missing(config, &failure.text);
        self.report(config, problem(config, text, &fix));
    }

    /// Lists a problem before those of its list.
    fn report(&self, config: &ServerConfig, first: Problem) {
        let mut problems = vec![first];
        problems.extend(self.problems());
        self.catalogue.report(&config.owner(), problems);
    }

    /// Says why a tool of the server isn't there, where none of them is.
    fn missing(&self, config: &ServerConfig, why: &str) {
        if self.lock().tools.is_empty() {
            let beginnings = name_beginnings(&config.name, config.prefix.as_deref());
            let why = format!(
                "It would be one of the MCP server {}'s, and none of them is there: {why}",
                config.name
            );
            self.catalogue.miss(&config.owner(), Some(Missing { beginnings, why }));
        }
    }

    /// What of its tools can't be used, and what was done to them, by its last list.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        self.lock().problems.clone()
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

/// The definitions among what a server lists; what is wrong with others is added to the warnings.
fn read(raw: Vec<Value>, warnings: &mut Vec<String>) -> Vec<Definition> {
    let (mut definitions, mut total, mut left_out) = (Vec::new(), 0_usize, 0_usize);
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
                warnings.push(format!("its tool {} is set aside: {why}", at + 1));
            }
        }
    }
    if left_out > 0 {
        warnings
            .push(format!("{left_out} of its tools are set aside, since their definitions are too large"));
    }
    let further = warnings.len().saturating_sub(PROBLEMS_MAX);
    warnings.truncate(PROBLEMS_MAX);
    if further > 0 {
        warnings.push(format!("{further} more problems of its list aren't named"));
    }
    definitions
}

/// What the settings say of tools that the server doesn't have.
fn unknown(config: &ServerConfig, definitions: &[Definition]) -> Vec<Problem> {
    let known: BTreeSet<&str> = definitions.iter().map(Definition::name).collect();
    let named: BTreeSet<&String> = config.tools.keys().chain(config.only.iter().flatten()).collect();
    let some: Vec<String> = known.iter().take(NAMED_MAX).map(|name| shown_name(name)).collect();
    let fix = match known.len().saturating_sub(NAMED_MAX) {
        0 if some.is_empty() => "it has no tools at all; take the name out".to_owned(),
        0 => format!("write the name of one that it has: {}", some.join(", ")),
        further => format!("write the name of one that it has: {} or {further} others", some.join(", ")),
    };
    let strange = named.into_iter().filter(|name| !known.contains(name.as_str()));
    strange
        .map(|name| {
            let text = format!("the settings name its tool \"{}\", which it doesn't have", shown_name(name));
            problem(config, &text, &fix)
        })
        .collect()
}

/// A tool whose name another server's has, which comes first.
fn second(config: &ServerConfig, tool: &str, first: &ServerConfig) -> Problem {
    let text = format!(
        "the tool \"{}\" is set aside: the server {} has one of that name, and comes first",
        shown_name(tool),
        first.name
    );
    problem(config, &text, PREFIX)
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
