//! The declaration of one hook.

use super::{HookEvent, HookFolder, HookOutcome, Matcher, Names, names::names_of};
use haft_core::{BoxFuture, Credential, Failure, TraceStep};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{fmt, sync::Arc, time::Duration};

/// How long a hook may take unless its declaration says otherwise.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest time that a declaration can give.
pub const HOOK_TIMEOUT_MAX: Duration = Duration::from_secs(600);
/// How much of a command or an address serves as a name.
const NAME_MAX_CHARS: usize = 80;

/// What follows where a hook doesn't work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// What it guards is refused.
    Deny,
    /// It goes on without the hook, and a person is warned.
    Allow,
}

impl OnError {
    /// What holds where a declaration says nothing: only a guard in haft's own format fails closed; hooks
    /// written for another tool keep that tool's rule.
    pub fn default_of(event: HookEvent, names: Names) -> Self {
        if event == HookEvent::PreToolUse && names == Names::Haft { Self::Deny } else { Self::Allow }
    }
}

/// A hook written in Rust, for embedding programs.
pub trait HookHandler: Send + Sync {
    /// Takes the event's JSON and answers with the JSON that a script would print; null says nothing.
    ///
    /// A panic counts as a failure, and so does an answer that breaks the contract. Dropped at the hook's
    /// timeout.
    fn handle(&self, input: Value) -> BoxFuture<'_, Result<Value, Failure>>;
}

/// An HTTP endpoint of the operator's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The whole address.
    pub url: String,
    /// Header names, each with where its value is.
    pub headers: Vec<(String, Credential)>,
}

/// Who answers.
#[derive(Clone)]
pub enum Handler {
    /// A shell line: JSON on its standard input.
    Command(String),
    /// An endpoint: JSON as the body of a POST.
    Http(Endpoint),
    /// Rust code.
    Rust(Arc<dyn HookHandler>),
    /// A declaration that can't be read: as good as a program that isn't there. The text says what is wrong.
    Broken(String),
    /// A declaration of a workspace that isn't as it was when the user trusted that: nothing of it is run.
    Held,
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(line) => f.debug_tuple("Command").field(line).finish(),
            Self::Http(endpoint) => f.debug_tuple("Http").field(endpoint).finish(),
            Self::Rust(_) => f.write_str("Rust(..)"),
            Self::Broken(text) => f.debug_tuple("Broken").field(text).finish(),
            Self::Held => f.write_str("Held"),
        }
    }
}

/// One hook.
#[derive(Debug, Clone)]
pub struct Hook {
    /// What people know it by.
    pub name: String,
    /// What it waits for.
    pub event: HookEvent,
    /// Which tools (or reasons) it is about.
    pub matcher: Matcher,
    /// Who answers.
    pub handler: Handler,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether it may change the input; such hooks run first, one after another.
    pub rewrite: bool,
    /// What follows where it doesn't work.
    pub on_error: OnError,
    /// Whose names for tools, inputs and modes it knows.
    pub names: Names,
    /// Whether only what it has against something counts: what it allows, tells the model or puts in the place of a
    /// result is passed over.
    pub tightens_only: bool,
    /// The folder that its line starts in and that paths in it are relative to; none for the workspace.
    pub folder: Option<HookFolder>,
    /// Where it was declared, `path:line`.
    pub source: Option<String>,
}

impl Hook {
    /// A hook for everything, in haft's own names, with the default time.
    pub fn new(event: HookEvent, handler: Handler) -> Self {
        Self {
            name: named(&handler),
            event,
            matcher: Matcher::all(),
            handler,
            timeout: HOOK_TIMEOUT,
            rewrite: false,
            on_error: OnError::default_of(event, Names::Haft),
            names: Names::Haft,
            tightens_only: false,
            folder: None,
            source: None,
        }
    }

    /// The hook as one that isn't run before a person has looked at it; what it guards goes by its `on_error`.
    #[must_use]
    pub fn held(self) -> Self {
        Self { handler: Handler::Held, ..self }
    }

    /// The hash of all that it declares; where that stands and what people call it is no part of it.
    pub fn fingerprint(&self) -> String {
        let handler = match &self.handler {
            Handler::Command(line) => json!(["command", line]),
            Handler::Http(Endpoint { url, headers }) => {
                let headers: Vec<[String; 2]> =
                    headers.iter().map(|(name, value)| [name.clone(), value.to_string()]).collect();
                json!(["http", url, headers])
            }
            Handler::Rust(_) => json!(["rust"]),
            Handler::Broken(why) => json!(["broken", why]),
            Handler::Held => json!(["held"]),
        };
        let declared = json!([
            self.event.name(),
            self.matcher.to_string(),
            handler,
            u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            self.rewrite,
            self.on_error,
            self.names,
        ]);
        format!("{:x}", Sha256::digest(declared.to_string()))
    }

    /// Whether it may change the input.
    pub(super) fn rewrites(&self) -> bool {
        self.rewrite && !self.tightens_only
    }

    /// Whether it hears of a tool.
    pub(super) fn is_about(&self, event: HookEvent, tool: &str, is_core: bool) -> bool {
        let is_meant = || {
            let (own, others) = names_of(self.names, (tool, is_core));
            self.matcher.matches(&own, &others)
        };
        self.event == event && is_meant()
    }

    /// What `explain` says of a hook that would be heard.
    pub(crate) fn listed(&self) -> TraceStep {
        let kind = match (self.tightens_only, self.rewrite) {
            (true, _) => "would be heard and may only tighten",
            (false, true) => "would be heard and may rewrite the input",
            (false, false) => "would be heard",
        };
        self.step("matches", format!("{} {kind}", self.shown()))
    }

    /// What the trace says of it.
    pub(super) fn ran(&self, outcome: HookOutcome, took: Duration, reason: Option<&str>) -> TraceStep {
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        self.step(outcome.name(), format!("{}, {} ms{reason}", self.shown(), took.as_millis()))
    }

    fn step(&self, verdict: &'static str, reason: String) -> TraceStep {
        let mut step = TraceStep::new(format!("hook:{}", self.event), verdict).because(reason);
        step.source.clone_from(&self.source);
        step
    }

    /// Its name in texts.
    pub(super) fn shown(&self) -> String {
        format!("hook \"{}\"", self.name)
    }

    /// Where it can be mended, in texts.
    pub(super) fn place(&self) -> String {
        self.source.as_ref().map(|source| format!(" at {source}")).unwrap_or_default()
    }
}

/// What a hook without a name of its own is called; without an address's query, which may carry a key.
fn named(handler: &Handler) -> String {
    let text = match handler {
        Handler::Command(line) => line.trim(),
        Handler::Http(endpoint) => endpoint.url.split(['?', '#']).next().unwrap_or_default(),
        Handler::Rust(_) => "rust",
        Handler::Broken(_) => "unreadable",
        Handler::Held => "held back",
    };
    let line = text.lines().next().unwrap_or_default();
    let mut name: String = line.chars().take(NAME_MAX_CHARS).collect();
    if name.len() < text.len() {
        name.push('…');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_own_guard_fails_closed_by_default() {
        for event in HookEvent::ALL {
            let own = event == HookEvent::PreToolUse;
            assert_eq!(OnError::default_of(event, Names::Haft) == OnError::Deny, own, "{event}");
            assert_eq!(OnError::default_of(event, Names::ClaudeCode), OnError::Allow, "{event}");
        }
    }

    #[test]
    fn whatever_is_declared_otherwise_is_another_hook() {
        let hook = |line: &str| Hook::new(HookEvent::PreToolUse, Handler::Command(line.to_owned()));
        let one = hook("./guard");
        let same = Hook { source: Some("f:7".to_owned()), name: "mine".to_owned(), ..one.clone() };
        assert_eq!(one.fingerprint(), same.fingerprint());
        for other in [
            hook("./other"),
            Hook { event: HookEvent::PostToolUse, ..one.clone() },
            Hook { matcher: Matcher::parse("bash").unwrap(), ..one.clone() },
            Hook { timeout: Duration::from_secs(1), ..one.clone() },
            Hook { rewrite: true, ..one.clone() },
            Hook { on_error: OnError::Allow, ..one.clone() },
            Hook { names: Names::ClaudeCode, ..one.clone() },
            one.clone().held(),
        ] {
            assert_ne!(one.fingerprint(), other.fingerprint(), "{other:?}");
        }
    }

    #[test]
    fn a_name_is_short_and_holds_no_query() {
        let endpoint = Endpoint { url: "http://h/x?key=1".to_owned(), headers: Vec::new() };
        assert_eq!(named(&Handler::Http(endpoint)), "http://h/x");
        assert_eq!(named(&Handler::Command("a\nb".to_owned())), "a…");
        assert_eq!(named(&Handler::Command("ä".repeat(100))).chars().count(), NAME_MAX_CHARS + 1);
    }
}
