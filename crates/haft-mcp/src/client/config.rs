//! What one server is to its client: how it is reached, and how its tools are taken in.

use haft_core::{Command, Exposure, Http, Processes};
use haft_runtime::settings::McpToolSetting;
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// How long a server may take to start and to say what it is.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call may go without a sign of life.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a call may take at most, whatever signs of life there are.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(600);
/// How many calls a server is asked at once.
pub const CONCURRENCY: usize = 16;

/// What a server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// To start and to say what it is.
    pub start: Duration,
    /// Without a sign of life during a call.
    pub idle: Duration,
    /// For one call.
    pub call: Duration,
    /// How many calls it is asked at once.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { start: START_TIMEOUT, idle: IDLE_TIMEOUT, call: CALL_TIMEOUT, concurrency: CONCURRENCY }
    }
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A process of its own, over its standard streams.
    Stdio {
        /// What runs.
        command: Command,
        /// Who starts it: with what of the environment, and how it is kept in.
        processes: Arc<dyn Processes>,
    },
    /// Over HTTP.
    Http(Endpoint),
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, .. } => write!(f, "{:?}", command.argv),
            // Headers hold secrets.
            Self::Http(endpoint) => f.write_str(&endpoint.url),
        }
    }
}

/// An address.
#[derive(Clone)]
pub struct Endpoint {
    /// The whole address.
    pub url: String,
    /// Headers that are sent there, and nowhere else.
    pub headers: Vec<(String, String)>,
    /// Whether it is only spoken with in the form of 2024-11-05.
    pub older: bool,
    /// Who sends.
    pub http: Arc<dyn Http>,
    /// Who has tokens for it.
    pub tokens: Option<Arc<dyn Tokens>>,
}

/// Gives tokens for one server.
pub trait Tokens: Send + Sync {
    /// What to send as `Authorization`; none where the user hasn't logged in.
    ///
    /// # Errors
    /// Permission where it has to be done anew.
    fn authorization(&self) -> haft_core::BoxFuture<'_, Result<Option<String>, haft_core::Failure>>;

    /// The server refused what was sent as `Authorization`; says whether there is another to try.
    ///
    /// # Errors
    /// As [`Tokens::authorization`].
    fn refused(
        &self,
        sent: Option<&str>,
        challenge: Option<&str>,
    ) -> haft_core::BoxFuture<'_, Result<bool, haft_core::Failure>>;
}

/// One server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// What the user calls it.
    pub name: Arc<str>,
    /// How it is reached.
    pub transport: Transport,
    /// The same part by part, as it is approved and pinned: nothing secret.
    pub parts: Vec<(String, String)>,
    /// What stands before the names of its tools, in place of `mcp__NAME__`.
    pub prefix: Option<String>,
    /// Whether its texts are cleaned and its results marked as a stranger's.
    pub screen: bool,
    /// Whether its results count as strangers' words.
    pub untrusted: bool,
    /// How its tools are offered.
    pub exposure: Exposure,
    /// Whether it is started before it is needed.
    pub eager: bool,
    /// What it may take.
    pub limits: Limits,
    /// Folders that it is told of, absolute.
    pub roots: Vec<String>,
    /// Whether it is told of the folders of the client in front, where it is told of no others.
    pub pass_roots: bool,
    /// Whether it may ask the session's model during a call without a person's word each time.
    pub sampling: bool,
    /// The tools that are used, by the names that the server gives them; none for all of them.
    pub only: Option<Vec<String>>,
    /// What the user says of single tools, by the names that the server gives them.
    pub tools: BTreeMap<String, McpToolSetting>,
}

impl ServerConfig {
    /// A server with the usual settings.
    pub fn new(name: &str, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            parts: Vec::new(),
            prefix: None,
            screen: true,
            untrusted: true,
            exposure: Exposure::Auto,
            eager: false,
            limits: Limits::default(),
            roots: Vec::new(),
            pass_roots: false,
            sampling: false,
            only: None,
            tools: BTreeMap::new(),
        }
    }

    /// Who owns its tools in the catalogue.
    pub fn owner(&self) -> String {
        format!("mcp:{}", self.name)
    }

    /// Whether one of its tools is offered, by the name that the server gives it.
    pub(crate) fn uses(&self, tool: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == tool))
            && self.tools.get(tool).is_none_or(|set| set.enabled != Some(false))
    }

    /// How it is reached, on one line, for people.
    pub(crate) fn shown(&self) -> String {
        match self.parts.first() {
            Some((_, text)) => text.clone(),
            None => format!("{:?}", self.transport),
        }
    }
}
