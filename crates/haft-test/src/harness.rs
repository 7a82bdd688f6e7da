//! A workspace in a temporary folder with a session on it.

use crate::{Answers, FakeClock};
use haft_core::{AnyTool, Approver, Cancel, Command, Ended, Failure, Request, StateFolder, World};
use haft_os::{Environment, OsFiles, OsProcesses, OsState};
use haft_policy::{Action, Grant, Mode, Policy, Rule, RuleOrigin};
use haft_runtime::{Catalogue, Executor, Grants, Keep, Session, SessionSetup};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// What a harness is made of; the default asks a person who always says yes.
pub struct HarnessSetup {
    /// The approval mode.
    pub mode: Mode,
    /// Who answers.
    pub answers: Answers,
    /// Rules, as in a settings file.
    pub rules: Vec<(Action, String)>,
    /// Whether log and long results are kept.
    pub recorded: bool,
}

impl Default for HarnessSetup {
    fn default() -> Self {
        Self { mode: Mode::Default, answers: Answers::yes(), rules: Vec::new(), recorded: true }
    }
}

/// A real workspace, executor and session, gone when it is dropped.
pub struct Harness {
    folder: TempDir,
    world: World,
    state: Arc<OsState>,
    clock: Arc<FakeClock>,
    catalogue: Catalogue,
    executor: Executor,
    answers: Answers,
    setup_rules: Vec<(Action, String)>,
    mode: Mode,
    recorded: bool,
    session: Arc<Session>,
}

impl Default for Harness {
    fn default() -> Self {
        Self::new()
    }
}

impl Harness {
    /// A harness with the default setup.
    ///
    /// # Panics
    /// Where the temporary folder can't be made: a test can't go on without it.
    pub fn new() -> Self {
        Self::with(HarnessSetup::default())
    }

    /// A harness in an approval mode.
    pub fn in_mode(mode: Mode) -> Self {
        Self::with(HarnessSetup { mode, ..HarnessSetup::default() })
    }

    /// A harness with these answers.
    pub fn answering(answers: Answers) -> Self {
        Self::with(HarnessSetup { answers, ..HarnessSetup::default() })
    }

    /// A harness by setup.
    ///
    /// # Panics
    /// Where the temporary folder can't be made, or a rule doesn't parse.
    #[expect(clippy::expect_used, reason = "a test can't go on without its workspace")]
    pub fn with(setup: HarnessSetup) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let root = std::fs::canonicalize(folder.path()).expect("its real path");
        let workspace = root.join("workspace");
        std::fs::create_dir(&workspace).expect("the workspace");
        let state = Arc::new(OsState::new(root.join("state")));
        let spill = root.join("state").join(haft_runtime::SPILL_FOLDER);
        std::fs::create_dir_all(&spill).expect("the spill folder");
        let files = OsFiles::new(&workspace, &[spill], &root.join("state")).expect("the files");
        let world = haft_os::world(files, OsProcesses::new(Environment::of_process()));
        let executor = Executor::new(world.clone(), None);
        let catalogue = Catalogue::new();
        let clock = Arc::new(FakeClock::default());
        let seed = Seed { world: &world, state: &state, clock: &clock, catalogue: &catalogue };
        let approver = Arc::new(setup.answers.clone());
        let session = seed.open("test", &setup, approver).expect("the session");
        Self {
            folder,
            state,
            clock,
            executor,
            answers: setup.answers,
            setup_rules: setup.rules,
            mode: setup.mode,
            recorded: setup.recorded,
            session,
            catalogue,
            world,
        }
    }

    /// Registers a tool for good, as its own owner.
    ///
    /// # Panics
    /// Where the tool is refused: the text says why.
    #[expect(clippy::expect_used, reason = "a test of a refused tool can't go on")]
    pub fn register(&self, tool: Arc<dyn AnyTool>) {
        let owner = format!("test:{}", tool.spec().name);
        self.catalogue.register(tool, &owner).expect("the tool registers").keep();
        self.session.refresh();
    }

    /// Registers built-in tools for good.
    ///
    /// # Panics
    /// Where one is refused: the text says why.
    #[expect(clippy::expect_used, reason = "a test of a refused tool can't go on")]
    pub fn register_core(&self, tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) {
        for handle in self.catalogue.register_all(tools, "core").expect("the tools register") {
            handle.keep();
        }
        self.session.refresh();
    }

    /// Opens another session on the same workspace and state, for example the same one again.
    ///
    /// # Errors
    /// Whatever keeps it from being opened.
    pub fn open_session(&self, id: &str) -> Result<Arc<Session>, Failure> {
        self.open_session_asking(id, Arc::new(self.answers.clone()))
    }

    /// The same, with questions going to somebody else.
    ///
    /// # Errors
    /// Whatever keeps it from being opened.
    pub fn open_session_asking(
        &self,
        id: &str,
        approver: Arc<dyn Approver>,
    ) -> Result<Arc<Session>, Failure> {
        let seed =
            Seed { world: &self.world, state: &self.state, clock: &self.clock, catalogue: &self.catalogue };
        let setup = HarnessSetup {
            mode: self.mode,
            answers: self.answers.clone(),
            rules: self.setup_rules.clone(),
            recorded: self.recorded,
        };
        seed.open(id, &setup, approver)
    }

    /// Makes a call and waits for its end.
    pub async fn call(&self, tool: &str, input: Value) -> Ended {
        self.executor.submit(&self.session, Request::new(tool, input.to_string())).await
    }

    /// The executor.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The catalogue.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The world, unleased.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The state folder.
    pub fn state(&self) -> &Arc<OsState> {
        &self.state
    }

    /// The person.
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Wall time.
    pub fn clock(&self) -> &Arc<FakeClock> {
        &self.clock
    }

    /// The workspace's folder.
    pub fn workspace(&self) -> PathBuf {
        PathBuf::from(self.world.files.workspace().absolute())
    }

    /// A folder beside the workspace, outside of it.
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    /// Writes a file of the workspace, with its folders.
    ///
    /// # Panics
    /// Where it can't be written.
    #[expect(clippy::expect_used, reason = "a test can't go on without its file")]
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("the folder");
        }
        std::fs::write(path, content).expect("the file");
    }

    /// Reads a file of the workspace.
    ///
    /// # Panics
    /// Where it can't be read.
    #[expect(clippy::expect_used, reason = "a test can't go on without its file")]
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("the file")
    }

    /// Runs a shell line in the workspace, outside of any call, and returns its standard output.
    ///
    /// # Panics
    /// Where it fails.
    #[expect(clippy::expect_used, reason = "a test can't go on without what the line makes")]
    pub async fn sh(&self, line: &str) -> String {
        let argv = ["sh", "-c", line].map(str::to_owned).to_vec();
        let command = Command::new(argv, self.world.files.workspace());
        let mut out = Vec::new();
        let exit = self
            .world
            .processes
            .run(command, &Cancel::new(), &mut |_, bytes| out.extend_from_slice(bytes))
            .await
            .expect("sh starts");
        assert_eq!(exit.status, haft_core::Status::Code(0), "{line}: {}", String::from_utf8_lossy(&out));
        String::from_utf8_lossy(&out).into_owned()
    }
}

struct Seed<'a> {
    world: &'a World,
    state: &'a Arc<OsState>,
    clock: &'a Arc<FakeClock>,
    catalogue: &'a Catalogue,
}

impl Seed<'_> {
    fn open(
        &self,
        id: &str,
        setup: &HarnessSetup,
        approver: Arc<dyn Approver>,
    ) -> Result<Arc<Session>, Failure> {
        let workspace = self.world.files.workspace();
        let origin = RuleOrigin {
            source: Some("test:1".to_owned()),
            workspace: workspace.absolute(),
            home: None,
            folder: workspace.absolute(),
        };
        let mut policy = Policy::new(setup.mode, workspace);
        for (action, text) in &setup.rules {
            let rule =
                Rule::parse(*action, text, &origin).map_err(|error| Failure::invalid(error.to_string()))?;
            policy.rules.push(rule);
        }
        policy.roots.push(self.state.root.join(haft_runtime::SPILL_FOLDER).to_string_lossy().into_owned());
        let clock: Arc<dyn haft_core::Clock> = self.clock.clone();
        let state: Arc<dyn StateFolder> = self.state.clone();
        Session::open(SessionSetup {
            approver,
            grants: Some(Arc::new(Parsed(origin))),
            state: setup.recorded.then_some(state),
            ..SessionSetup::new(id, self.catalogue.clone(), policy, clock)
        })
    }
}

/// Grants that are parsed and kept in memory.
struct Parsed(RuleOrigin);

impl Grants for Parsed {
    fn grant(&self, rule: &str, tool_hash: Option<Arc<str>>, _: Keep) -> Result<Grant, Failure> {
        let rule =
            Rule::parse(Action::Allow, rule, &self.0).map_err(|error| Failure::invalid(error.to_string()))?;
        Ok(Grant { rule, tool_hash })
    }

    fn deny(&self, rule: &str) -> Result<Rule, Failure> {
        Rule::parse(Action::Deny, rule, &self.0).map_err(|error| Failure::invalid(error.to_string()))
    }
}
