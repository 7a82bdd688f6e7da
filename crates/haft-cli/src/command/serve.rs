//! `haft serve`: the tools for other programs.

mod answered;
mod token;

use super::{Interrupts, block_on, end_jobs};
use crate::{
    app::{App, Live},
    print,
    status::Status,
    trouble::Trouble,
};
use answered::Answered;
use haft_core::{Approver, CallId, Cancel, Event};
use haft_mcp::{ClientApprover, Fronts, HttpSetup, McpError, McpServer, ServerInfo};
use haft_os::{Listener, host, memory};
use haft_runtime::{EventStream, Session, hooks::SessionEvent};
use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr},
    panic::resume_unwind,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::oneshot,
    task::JoinError,
    time::{sleep, timeout},
};

/// How long no call may have run before memory is given back.
const QUIET: Duration = Duration::from_secs(1);
/// How long cancelled calls have to end, so that the log says how.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// `haft serve`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) how: ServeCommand,
}

/// How to serve.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum ServeCommand {
    /// The Model Context Protocol over standard input and output, or over HTTP
    Mcp(ServeMcpArgs),
}

/// `haft serve mcp`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ServeMcpArgs {
    /// Serve by streamable HTTP at this address, such as 127.0.0.1:8642; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// Let clients in without a token; only on loopback
    #[arg(long, requires = "http")]
    pub(crate) no_token: bool,
    /// Make a new token; the former one opens no more
    #[arg(long, requires = "http", conflicts_with = "no_token")]
    pub(crate) new_token: bool,
    /// Another name by which clients reach the server; may come several times
    #[arg(long, requires = "http", value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// A web page that may use the server from a browser, such as <https://app.example>; may come several times
    #[arg(long, requires = "http", value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
}

/// An address to listen at; a port alone is one of loopback.
fn address(text: &str) -> Result<SocketAddr, String> {
    let on_loopback = text.strip_prefix("localhost").unwrap_or(text).trim_start_matches(':').parse::<u16>();
    match (text.parse::<SocketAddr>(), on_loopback) {
        (Ok(address), _) => Ok(address),
        (_, Ok(port)) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        _ => Err("write an address and a port, such as 127.0.0.1:8642".to_owned()),
    }
}

/// Serves the Model Context Protocol over standard input and output until the client leaves, or over HTTP until a signal.
///
/// Questions go to the client that makes the call, unless `--yes` answers them; where it can't show them they are denials.
///
/// # Errors
/// The session can't be opened, the address can't be listened at, or input or output broke.
pub(super) fn mcp(app: &App, args: &ServeMcpArgs) -> anyhow::Result<Status> {
    block_on(async {
        let forms = ClientApprover::new(app.fronts.clone());
        let approver: Arc<dyn Approver> = if app.common.yes {
            Arc::new(Answered { questions: app.approver(), forms })
        } else {
            Arc::new(forms)
        };
        let live = app.live(&app.session_name("mcp"), approver)?;
        let mut interrupts = Interrupts::listen()?;
        live.meet().await;
        let _following = live.tools.followed();
        let open = Open::on(&live.session);
        let info = tokio::select! {
            info = introduced(&live.session) => info,
            () = interrupts.next() => return Ok(Status::Completed),
        };
        let server = server(&live, info, app.fronts.clone())?;
        let (mut open, served) = match args.http {
            Some(address) => {
                let mut open = open;
                let served = over_http(app, args, address, server, (&mut open, &mut interrupts)).await;
                (open, served)
            }
            None => over_stdio(server, open, &mut interrupts).await,
        };
        live.session.end_run();
        // A call that doesn't end is left behind.
        let _ = timeout(END_TIMEOUT, open.ended()).await;
        end_jobs(&live.session).await;
        let _ = timeout(END_TIMEOUT, tell(&live.session, SessionEvent::End { reason: "exit" })).await;
        live.close().await;
        served?;
        Ok(Status::Completed)
    })
}

fn server(live: &Live, info: ServerInfo, fronts: Fronts) -> anyhow::Result<McpServer> {
    let tools = live.tools.clone();
    let server = McpServer::new(live.executor.clone(), Arc::clone(&live.session), info)
        .with_renewal(move || tools.sync())
        .with_fronts(fronts)
        .with_upstreams(live.tools.servers().gathered())
        .with_secret(host::random()?);
    Ok(server)
}

/// By a task of its own: a future that the runtime itself waits for is woken through the system each time.
async fn over_stdio(
    server: McpServer,
    mut open: Open,
    interrupts: &mut Interrupts,
) -> (Open, anyhow::Result<()>) {
    let (stop, mut stopped) = oneshot::channel::<()>();
    let mut task = tokio::spawn(async move {
        let serving = server.serve(haft_os::standard::input(), haft_os::standard::output());
        tokio::pin!(serving);
        let served = loop {
            tokio::select! {
                served = &mut serving => break served,
                () = open.hear() => {}
                _ = &mut stopped => break Ok(()),
            }
        };
        (open, served)
    });
    tokio::select! {
        done = &mut task => return ended(done),
        // Nobody is left to hear what calls come to.
        () = haft_os::standard::output_gone() => {}
        () = interrupts.next() => {}
    }
    drop(stop);
    ended(task.await)
}

/// What the task came to; where it panicked, so does this.
fn ended(done: Result<(Open, Result<(), McpError>), JoinError>) -> (Open, anyhow::Result<()>) {
    match done {
        Ok((open, served)) => (open, served.map_err(Into::into)),
        Err(error) => resume_unwind(error.into_panic()),
    }
}

async fn over_http(
    app: &App,
    args: &ServeMcpArgs,
    address: SocketAddr,
    server: McpServer,
    (open, interrupts): (&mut Open, &mut Interrupts),
) -> anyhow::Result<()> {
    if args.no_token && !address.ip().is_loopback() {
        let what = format!("{address} can be reached from elsewhere, so clients need a token");
        return Err(Trouble::usage(what, "leave --no-token out, or listen at 127.0.0.1").into());
    }
    let listener = Listener::open(address).await?;
    let setup = admitted(app, args, listener.address())?;
    print::line(&format!("listening at http://{}/mcp", listener.address()));
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = server.serve_http(listener, setup, async { _ = stopped.await });
    tokio::pin!(serving);
    let mut stop = Some(stop);
    loop {
        tokio::select! {
            () = &mut serving => return Ok(()),
            () = open.hear() => {}
            () = interrupts.next() => match stop.take() {
                // It ends by itself then.
                Some(stop) => drop(stop.send(())),
                None => return Ok(()),
            },
        }
    }
}

/// Who may come in; what the person has to know of it is said.
fn admitted(app: &App, args: &ServeMcpArgs, address: SocketAddr) -> anyhow::Result<HttpSetup> {
    let mut setup = if args.no_token {
        print::note("warning: without a token every program of this machine may use haft's tools here");
        HttpSetup::without_token()
    } else {
        let token = token::of(app.state().as_ref(), args.new_token)?;
        if token.is_new {
            print::line(&format!("token, shown only now: {}", token.text));
        }
        print::note(&format!("the token is in {}", token.path));
        HttpSetup::with_token(token.text)
    };
    if !address.ip().is_loopback() {
        print::note(
            "warning: it can be reached from elsewhere, and what is said goes unencrypted: put a server with TLS before it",
        );
    }
    let own = match address {
        SocketAddr::V4(own) => own.ip().to_string(),
        SocketAddr::V6(own) => format!("[{}]", own.ip()),
    };
    if !address.ip().is_unspecified() {
        setup = setup.allow_host(own);
    }
    for host in &args.allow_host {
        setup = setup.allow_host(host.as_str());
    }
    for origin in &args.allow_origin {
        setup = setup.allow_origin(origin.as_str());
    }
    Ok(setup)
}

/// What the server says about itself, with what hooks want the model to know.
async fn introduced(session: &Session) -> ServerInfo {
    let mut info = ServerInfo::default();
    for text in tell(session, SessionEvent::Start { source: "startup" }).await {
        info.instructions.push_str("\n\n");
        info.instructions.push_str(&text);
    }
    info
}

/// Has hooks hear of the session, and gives what they want the model to know.
async fn tell(session: &Session, event: SessionEvent<'_>) -> Vec<String> {
    let (told, cancel) = (session.hook_session(), Cancel::new());
    let said = session.hooks().notify(&told, event, &cancel).await;
    for warning in &said.warnings {
        print::note(warning);
    }
    said.context
}

/// The calls of a session that haven't ended. While there are none, memory is given back.
struct Open {
    events: EventStream,
    calls: BTreeSet<CallId>,
    /// Whether nothing was called since memory was given back.
    is_at_rest: bool,
    has_rested: bool,
}

impl Open {
    fn on(session: &Session) -> Self {
        Self { events: session.events(), calls: BTreeSet::new(), is_at_rest: false, has_rested: false }
    }

    /// Takes the next event, or rests where there is none for long.
    ///
    /// # Cancellation
    /// Safe: no event is lost.
    async fn hear(&mut self) {
        let is_idle = self.calls.is_empty() && !self.is_at_rest;
        tokio::select! {
            biased;
            event = self.events.next() => self.take(event),
            () = sleep(QUIET), if is_idle => self.rest(),
        }
    }

    fn rest(&mut self) {
        self.is_at_rest = true;
        memory::trim();
        // Only once: what calls use is soon mapped again, and each time would slow a call.
        if !self.has_rested {
            self.has_rested = true;
            memory::unmap_start();
        }
    }

    /// Waits until none is open.
    async fn ended(&mut self) {
        loop {
            while let Some(event) = self.events.try_next() {
                self.take(event);
            }
            if self.calls.is_empty() {
                return;
            }
            self.hear().await;
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Requested { call, .. } => {
                self.calls.insert(call);
                self.is_at_rest = false;
            }
            Event::Ended { call, .. } => {
                self.calls.remove(&call);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn a_port_alone_is_one_of_loopback() {
        for text in ["127.0.0.1:8642", "localhost:8642", ":8642", "8642"] {
            assert_eq!(address(text).unwrap().to_string(), "127.0.0.1:8642", "{text}");
        }
        assert_eq!(address("[::1]:0").unwrap().to_string(), "[::1]:0");
        assert!(address("127.0.0.1").is_err() && address("box:80").is_err());
    }
}
