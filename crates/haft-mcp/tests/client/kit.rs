//! A bench: one server that behaves as a script says, one that is well, and a session that calls their tools.

use haft_core::{Cancel, Command, Ended, Failure, NoMedia, StateFolder};
use haft_mcp::{
    Fronts, Sampler, ServerInfo,
    client::{ClientSetup, Limits, McpClients, Oddities, ServerConfig, Transport},
};
use haft_os::{Environment, OsProcesses};
use haft_test::Harness;
use serde_json::{Value, json};
use std::{
    fs, process,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::time::timeout;

/// Far more than anything here takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// What servers of the bench may take.
const LIMITS: Limits = Limits {
    start: Duration::from_secs(20),
    idle: Duration::from_secs(20),
    call: Duration::from_secs(30),
    concurrency: 16,
};

static BENCHES: AtomicUsize = AtomicUsize::new(0);

pub(crate) struct Bench {
    pub(crate) harness: Harness,
    pub(crate) clients: McpClients,
    mark: String,
}

impl Bench {
    /// A server with a script.
    pub(crate) fn new(script: &Value) -> Self {
        Self::with(Harness::new(), script, |_| {})
    }

    /// The same, set otherwise.
    pub(crate) fn with(harness: Harness, script: &Value, change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mark = mark();
        let mut config = ServerConfig::new("s", stdio(&harness, script, &mark));
        config.limits = LIMITS;
        change(&mut config);
        Self::of(harness, config, mark)
    }

    /// A server with a script, and the session's model lent to it.
    pub(crate) fn lending(
        harness: Harness,
        script: &Value,
        model: Arc<dyn Sampler>,
        change: impl FnOnce(&mut ServerConfig),
    ) -> Self {
        let mark = mark();
        let mut config = ServerConfig::new("s", stdio(&harness, script, &mark));
        config.limits = LIMITS;
        change(&mut config);
        let good = ServerConfig::new("good", stdio(&harness, &json!({}), &mark));
        let setup = setup(&harness);
        setup.fronts.lend_model(model);
        let clients = McpClients::new(setup, vec![config, good]);
        Self { harness, clients, mark }
    }

    /// A server that is reached in any way.
    pub(crate) fn reaching(
        harness: Harness,
        transport: Transport,
        change: impl FnOnce(&mut ServerConfig),
    ) -> Self {
        let mut config = ServerConfig::new("s", transport);
        config.limits = LIMITS;
        change(&mut config);
        Self::of(harness, config, mark())
    }

    fn of(harness: Harness, config: ServerConfig, mark: String) -> Self {
        let good = ServerConfig::new("good", stdio(&harness, &json!({}), &mark));
        let clients = McpClients::new(setup(&harness), vec![config, good]);
        Self { harness, clients, mark }
    }

    /// The same workspace with the servers started anew, as by another process of haft's.
    pub(crate) async fn anew(self, script: &Value) -> Self {
        self.anew_as(script, |_| {}).await
    }

    /// The same, set otherwise.
    pub(crate) async fn anew_as(self, script: &Value, change: impl FnOnce(&mut ServerConfig)) -> Self {
        timeout(PATIENCE, self.clients.close()).await.unwrap();
        drop(self.clients);
        Self::with(self.harness, script, change)
    }

    /// Waits until both servers are known, or can't be.
    pub(crate) async fn ready(self) -> Self {
        self.clients.ready(PATIENCE).await;
        self
    }

    /// A call of a tool of the server's, by the server's name for it.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> Ended {
        self.call_of("s", tool, input).await
    }

    async fn call_of(&self, server: &str, tool: &str, input: Value) -> Ended {
        self.harness.session().refresh();
        let name = format!("mcp__{server}__{tool}");
        timeout(PATIENCE, self.harness.call(&name, input)).await.unwrap()
    }

    /// What a call that has to succeed says.
    pub(crate) async fn text(&self, tool: &str, input: Value) -> String {
        let ended = self.call(tool, input).await;
        assert!(ended.outcome.is_completed(), "{ended:?}");
        ended.output.joined_text()
    }

    /// Why a call that has to fail failed.
    pub(crate) async fn failure(&self, tool: &str, input: Value) -> Failure {
        let ended = self.call(tool, input).await;
        assert!(!ended.outcome.is_completed(), "{ended:?}");
        ended.failure.unwrap()
    }

    /// Why the server can't be started.
    pub(crate) async fn refusal(&self) -> String {
        let looked = timeout(PATIENCE, self.clients.look("s", &Cancel::new())).await.unwrap();
        looked.unwrap_err().text
    }

    /// The problems with the server that people see.
    pub(crate) fn problems(&self) -> Vec<String> {
        let problems = self.harness.catalogue().problems();
        let own = problems.into_iter().filter(|problem| problem.source == "mcp:s");
        own.map(|problem| problem.text).collect()
    }

    pub(crate) fn oddities(&self) -> Oddities {
        self.clients.log("s").unwrap().1
    }

    /// What the server wrote beside the protocol.
    pub(crate) fn log(&self) -> String {
        self.clients.log("s").unwrap().0.join("\n")
    }

    /// The names of the server's tools.
    pub(crate) fn tools(&self) -> Vec<String> {
        let snapshot = self.harness.catalogue().snapshot();
        let own = snapshot.offers().filter(|offer| &*offer.owner == "mcp:s");
        own.map(|offer| offer.name.to_string()).collect()
    }

    /// The processes of the servers that live.
    pub(crate) fn processes(&self) -> usize {
        marked(&self.mark)
    }

    /// Nobody closes the servers, and they go all the same.
    pub(crate) async fn gone(self) {
        drop(self.clients);
        until("processes live on", || marked(&self.mark) == 0).await;
    }

    /// The other server is as well as ever, and nothing outlives the bench.
    pub(crate) async fn finish(self) {
        timeout(PATIENCE, self.clients.look("good", &Cancel::new())).await.unwrap().unwrap();
        let ended = self.call_of("good", "echo", json!({"text": "all is well"})).await;
        assert!(ended.output.joined_text().contains("all is well"), "{ended:?}");
        timeout(PATIENCE, self.clients.close()).await.unwrap();
        drop(self.clients);
        until("processes live on", || marked(&self.mark) == 0).await;
        let snapshot = self.harness.catalogue().snapshot();
        assert!(!snapshot.offers().any(|offer| offer.owner.starts_with("mcp:")), "tools live on");
    }
}

pub(crate) fn setup(harness: &Harness) -> ClientSetup {
    let state: Arc<dyn StateFolder> = harness.state().clone();
    ClientSetup {
        catalogue: harness.catalogue().clone(),
        state: Some(state),
        media: Arc::new(NoMedia),
        info: ServerInfo::default(),
        fronts: Fronts::new(),
    }
}

fn mark() -> String {
    format!("haft-bench-{}-{}-", process::id(), BENCHES.fetch_add(1, Ordering::Relaxed))
}

/// The fixture with a script.
pub(crate) fn stdio(harness: &Harness, script: &Value, mark: &str) -> Transport {
    program(harness, &[env!("CARGO_BIN_EXE_haft-mcp-fixture"), &script.to_string(), mark])
}

/// The fixture with a script, started by a line of the shell that may do more: `"$0"`, the fixture, and `"$@"`, its
/// arguments.
pub(crate) fn by_shell(harness: &Harness, script: &Value, line: &str) -> Transport {
    let fixture = env!("CARGO_BIN_EXE_haft-mcp-fixture");
    program(harness, &["sh", "-c", line, fixture, &script.to_string()])
}

pub(crate) fn program(harness: &Harness, argv: &[&str]) -> Transport {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let command = Command::new(argv, harness.world().files.workspace());
    Transport::Stdio { command, processes: Arc::new(OsProcesses::new(Environment::of_process())) }
}

pub(crate) fn trace(harness: &Harness, name: &str) -> String {
    harness.outside().join(name).to_str().unwrap().to_owned()
}

/// How many lines a trace has.
pub(crate) fn lines(trace: &str) -> usize {
    fs::read_to_string(trace).unwrap_or_default().lines().count()
}

/// How many processes have this mark among their arguments.
pub(crate) fn marked(mark: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let has_mark = |path: std::path::PathBuf| {
        let arguments = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(mark)
    };
    let numbered =
        all.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    numbered.filter(|entry| has_mark(entry.path())).count()
}

/// Waits for what another process does.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
