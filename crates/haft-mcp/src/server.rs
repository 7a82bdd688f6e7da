//! The server as its host sees it.

use crate::{
    Fronts, HttpSetup, McpError, Upstreams, http,
    lines::Lines,
    office::Office,
    outbox::Outbox,
    peer::Peer,
    reach::{Pipe, Reach},
    stdio,
};
use futures::Stream;
use haft_runtime::{Executor, Session};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

/// How long a client that has left may take to read the last replies.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

const INSTRUCTIONS: &str = "Tools of this machine, under haft's permissions. \
    A call that is refused, fails or has invalid input comes back as an error result whose text says what \
    went wrong and what would put it right. Calls that touch the same files take effect in the order in \
    which they were sent. A long result is cut, and its text names the file that holds all of it.";

/// What the server says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// Its name for machines.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What a model should know about all of its tools; one short paragraph.
    pub instructions: String,
}

impl ServerInfo {
    /// A server of this name and version, with haft's instructions.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), instructions: INSTRUCTIONS.to_owned() }
    }

    /// Replaces the instructions.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = instructions.into();
        self
    }
}

impl Default for ServerInfo {
    fn default() -> Self {
        Self::new("haft", env!("CARGO_PKG_VERSION"))
    }
}

/// Serves one session's tools to one client over a pair of pipes, or to many over HTTP.
///
/// Questions go to the session's approver: a [`crate::ClientApprover`] puts them to the client that made the call, one
/// without a person behind it denies them.
pub struct McpServer {
    pub(crate) executor: Executor,
    pub(crate) session: Arc<Session>,
    pub(crate) info: ServerInfo,
    pub(crate) renewal: Option<Renewal>,
    pub(crate) upstream: Option<Arc<dyn Upstreams>>,
    pub(crate) fronts: Fronts,
    pub(crate) secret: Option<[u8; 32]>,
}

/// Brings the catalogue up to date.
pub(crate) type Renewal = Arc<dyn Fn() + Send + Sync>;

impl McpServer {
    /// A server for `session`; nothing happens before [`McpServer::serve`].
    pub fn new(executor: Executor, session: Arc<Session>, info: ServerInfo) -> Self {
        Self { executor, session, info, renewal: None, upstream: None, fronts: Fronts::new(), secret: None }
    }

    /// Calls `renewal` before tools are listed, and before a call of a name that isn't there: what a source has
    /// just gained is then there too. It may block for a moment.
    #[must_use]
    pub fn with_renewal(mut self, renewal: impl Fn() + Send + Sync + 'static) -> Self {
        self.renewal = Some(Arc::new(renewal));
        self
    }

    /// Offers what the servers behind haft have besides their tools.
    #[must_use]
    pub fn with_upstreams(mut self, upstream: Arc<dyn Upstreams>) -> Self {
        self.upstream = Some(upstream);
        self
    }

    /// Says in `fronts` who makes which call: share it with the session's [`crate::ClientApprover`] and with the tools of
    /// servers behind haft.
    #[must_use]
    pub fn with_fronts(mut self, fronts: Fronts) -> Self {
        fronts.expect_clients();
        self.fronts = fronts;
        self
    }

    /// The secret that seals what clients bring back to calls that wait for them; without it, one of its own.
    #[must_use]
    pub fn with_secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Serves until the client leaves: the end of `input`, or an `output` that takes no more. The session
    /// stays open; ending its run is up to whoever opened it.
    ///
    /// # Errors
    /// Input or output broke, other than by the client going away.
    ///
    /// # Cancellation
    /// Dropping the future cancels the calls that run.
    ///
    /// # Limits
    /// A line has at most 16 MiB, a client at most 1,024 open requests; what is beyond is answered with an
    /// error. Once the client has closed its side, calls have 10 s to finish, and what they ask it has no answer; then
    /// they are cancelled and get 3 s to end.
    pub async fn serve<I, O>(self, input: I, output: O) -> Result<(), McpError>
    where
        I: AsyncRead + Send + Unpin + 'static,
        O: AsyncWrite + Send + Unpin + 'static,
    {
        let (outbox, mut writer) = Outbox::open(output);
        let outbox = Arc::new(outbox);
        let office = Office::new(self);
        let (leaving, ending) = (office.leaving.clone().drop_guard(), office.ending.clone().drop_guard());
        let aside: Arc<dyn Reach> = Arc::new(Pipe(Arc::clone(&outbox)));
        let peer = Peer::new(&office, aside);
        let read = stdio::serve(&peer, &outbox, Lines::new(input)).await;
        drop((leaving, ending));
        outbox.close();
        match timeout(FLUSH_TIMEOUT, &mut writer).await {
            Ok(Ok(Err(error))) if has_left(&error) => return Ok(()),
            Ok(Ok(Err(error))) => return Err(McpError::Output(error)),
            Ok(_) => {}
            Err(_) => writer.abort(),
        }
        match read {
            Err(error) if !has_left(&error) => Err(McpError::Input(error)),
            _ => Ok(()),
        }
    }

    /// Serves all clients that connect, by streamable HTTP at `/mcp`, until `stop` is done or no more connections come.
    /// The session stays open, and is shared by all of them.
    ///
    /// # Cancellation
    /// Dropping the future cancels the calls that run and closes the connections.
    ///
    /// # Limits
    /// 512 connections, 64 sessions of the legacy era, a body of 16 MiB, 30 s for head and body of a request. After
    /// `stop`, streams end at once, calls are cancelled and get 3 s to end.
    pub async fn serve_http<C, S>(
        self,
        connections: C,
        setup: HttpSetup,
        stop: impl Future<Output = ()> + Send,
    ) where
        C: Stream<Item = io::Result<S>> + Send,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        http::serve(Office::new(self), connections, setup, stop).await;
    }
}

fn has_left(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}
