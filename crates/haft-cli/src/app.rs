//! Wiring: where things are, what holds there, and the parts that a command needs.
//!
//! Decides nothing: rules are the policy's, the call path is the executor's. Loading reads files and nothing
//! else; a catalogue, a world and a session are made only where a command asks for them.

mod adjust;
pub(crate) mod approved;
mod confirm;
mod extensions;
mod folders;
mod grants;
mod home;
mod keys;
mod live;
mod masker;
pub(crate) mod mcp;
mod model;
pub(crate) mod passphrase;
pub(crate) mod pins;
mod renewal;
mod sandbox;
mod scripts;
mod settings;

pub(crate) use extensions::{Brought, ExtensionCommand, ExtensionStanding, Meant};
pub(crate) use folders::{Tools, WORKSPACE_ROOTS};
pub(crate) use home::Home;
pub(crate) use keys::{Keys, MODEL_KEYS};
pub(crate) use live::{Live, Offered};
pub(crate) use scripts::{is_source_file, owner_of};

use crate::{
    cli::Common,
    terminal::{TerminalApprover, YesApprover},
    trouble::Trouble,
};
use haft_core::{Approver, Clock, NoApprover, Permission, RealPath, StateFolder, World};
use haft_mcp::Fronts;
use haft_os::{Environment, OsFiles, OsProcesses, OsState, Sandbox, SystemClock, host};
use haft_policy::{Action, Policy, Rule};
use haft_runtime::{
    Problem, SPILL_FOLDER, Snapshot, ToolSet,
    find::Deferral,
    hooks::Hook,
    settings::{Place, Settings, TrustFile},
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

/// What holds for one workspace.
pub(crate) struct App {
    /// The flags of every command.
    pub(crate) common: Common,
    /// The variables haft was started with.
    pub(crate) environment: Environment,
    /// haft's own folders.
    pub(crate) home: Home,
    /// The workspace's root, all links followed.
    pub(crate) workspace: PathBuf,
    /// What settings are read for.
    pub(crate) place: Place,
    /// All settings.
    pub(crate) settings: Settings,
    /// Whether the user trusts the workspace, and what may always run.
    pub(crate) trust: TrustFile,
    /// What the workspace brings that counts in full, as it was when the user trusted it; nothing of an untrusted one.
    pub(crate) approved: BTreeSet<String>,
    /// What is wrong with settings and trust.
    pub(crate) problems: Vec<Problem>,
    /// The credentials that settings refer to.
    pub(crate) keys: Keys,
    /// Who makes which call, where clients of the protocol do.
    pub(crate) fronts: Fronts,
}

impl App {
    /// Finds the workspace and reads what holds there.
    ///
    /// # Errors
    /// The workspace isn't a folder, or there is no place for haft's own files.
    pub(crate) fn load(environment: Environment, common: Common) -> anyhow::Result<Self> {
        let here = host::current_dir()?;
        let workspace = workspace(&here, common.workspace.as_deref())?;
        let home = Home::find(&environment, &here)?;
        let shown = utf8(&workspace)?;
        let state: Arc<dyn StateFolder> = Arc::new(OsState::new(home.state.clone()));
        let trust = TrustFile::new(state, &shown);
        let said = trust.load();
        let user_home = host::home().and_then(|home| home.to_str().map(str::to_owned));
        let place = Place { workspace: shown, home: user_home, trusted: said.trusted };
        let mut settings = settings::load(&home, &workspace, &place, &common);
        let mut problems = std::mem::take(&mut settings.problems);
        problems.extend(said.grants(&place).1);
        problems.extend(said.problems);
        let approved = if said.trusted { said.approved } else { BTreeSet::new() };
        problems.extend(approved::hold_back(&mut settings.hooks, &workspace, &approved));
        let keys = Keys::new(&environment, &home.state, &settings);
        let fronts = Fronts::new();
        Ok(Self {
            common,
            environment,
            home,
            workspace,
            place,
            settings,
            trust,
            approved,
            problems,
            keys,
            fronts,
        })
    }

    /// The tools of the workspace, from every source.
    ///
    /// # Errors
    /// A built-in tool can't be registered.
    pub(crate) fn tools(&self) -> anyhow::Result<Tools> {
        Tools::load(self, Arc::new(self.files(&[])?))
    }

    /// Which tools the settings show.
    pub(crate) fn tool_set(&self) -> ToolSet {
        self.settings.tool_set()
    }

    /// The tools that the settings show.
    pub(crate) fn snapshot(&self, tools: &Tools) -> Snapshot {
        tools.catalogue.snapshot().select(&self.tool_set())
    }

    /// When definitions of tools that leave it to haft are sent.
    pub(crate) fn deferral(&self) -> Deferral {
        self.settings.defer.as_ref().map(|set| set.value).unwrap_or_default()
    }

    /// What a session is judged by: settings, and what the trust file says now.
    pub(crate) fn policy(&self) -> Policy {
        let said = self.trust.load();
        let (grants, _) = said.grants(&self.place);
        let workspace = RealPath::new(&self.place.workspace, "");
        let mut policy = self.settings.policy(workspace, self.spill_roots(), grants);
        // Roots are compared with real paths.
        let real: Vec<String> = self.extra_roots().iter().filter_map(|root| real_text(root)).collect();
        policy.roots.extend(real);
        policy.trusted = self.place.trusted;
        policy.home = self
            .place
            .home
            .as_deref()
            .map(|home| real_text(Path::new(home)).unwrap_or_else(|| home.to_owned()));
        policy.own_process = Some(std::process::id());
        policy.own_files = self.own_files();
        policy.own_secrets = self.own_secrets();
        policy.rules.extend(said.denials(&self.place).0);
        policy.rules.extend(self.switched_off());
        for rule in &mut policy.rules {
            self.name_damage(rule);
        }
        policy
    }

    /// The hooks that the workspace's own settings declare, whether or not they count now.
    pub(crate) fn workspace_hooks(&self) -> Vec<Hook> {
        let place = Place { trusted: true, ..self.place.clone() };
        let all = settings::load(&self.home, &self.workspace, &place, &self.common).hooks;
        all.into_iter().filter(|hook| approved::is_own(hook, &self.workspace)).collect()
    }

    /// haft's own settings and state, which no tool may change: absolute, whether or not they are there.
    fn own_files(&self) -> Vec<String> {
        let folder = self.home.state.as_path();
        let own = [folder, self.home.config.as_path(), Path::new(settings::MANAGED_FOLDER)];
        let real = own
            .iter()
            .filter_map(|path| Some(host::real_path(path).as_deref().unwrap_or(path).to_str()?.to_owned()));
        // The workspace's settings needn't be there; where links lead to them, under both names.
        let written = settings::IN_WORKSPACE.map(|at| self.workspace.join(at));
        let linked = written.iter().filter_map(|path| real_text(path));
        let written = written.iter().filter_map(|path| path.to_str().map(str::to_owned));
        let mut all: Vec<String> = real.chain(written).chain(linked).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Where credentials are stored, which no tool may even read: under both names where links lead there.
    fn own_secrets(&self) -> Vec<String> {
        let state = host::real_path(&self.home.state);
        let folders = [Some(self.home.state.as_path()), state.as_deref()].into_iter().flatten();
        let mut all: Vec<String> =
            folders.filter_map(|folder| folder.join(keys::FOLDER).to_str().map(str::to_owned)).collect();
        all.dedup();
        all
    }

    /// A rule that asks about everything because its file is damaged says so wherever it is named.
    fn name_damage(&self, rule: &mut Rule) {
        let Some(source) = rule.source.clone() else { return };
        let is_here = |problem: &Problem| {
            let rest = problem.path.as_deref().and_then(|path| source.strip_prefix(path));
            let line = rest.and_then(|rest| rest.strip_prefix(':')).and_then(|line| line.parse().ok());
            line.is_some_and(|line: usize| problem.line.is_none_or(|at| at == line))
        };
        if rule.action == Action::Ask && rule.text == "*" && self.problems.iter().any(is_here) {
            rule.source = Some(format!(
                "{source}; that file is broken, so every call asks: see `haft tools --problems`"
            ));
        }
    }

    /// `permission = "deny"` of `[tools.NAME]` as rules, so that a denial names its file and line.
    fn switched_off(&self) -> impl Iterator<Item = Rule> {
        self.settings.tools.iter().filter_map(|(name, tool)| {
            let denied = tool.permission.as_ref().filter(|set| set.value == Permission::Deny)?;
            let at = self.place.rule_origin(Some(denied.origin.to_string()));
            Rule::parse(Action::Deny, name, &at).ok()
        })
    }

    /// The state folder of this workspace's sessions.
    pub(crate) fn state(&self) -> Arc<dyn StateFolder> {
        Arc::new(OsState::new(self.state_root()))
    }

    /// Who answers the questions of one call: `--yes`, the person at the terminal, or nobody.
    pub(crate) fn approver(&self) -> Arc<dyn Approver> {
        if self.common.yes {
            Arc::new(YesApprover)
        } else if io::stdin().is_terminal() && io::stderr().is_terminal() {
            Arc::new(TerminalApprover::for_one_call())
        } else {
            Arc::new(NoApprover)
        }
    }

    /// The session's name: as the flag says, a new one, or the command's own.
    pub(crate) fn session_name(&self, default: &str) -> String {
        match self.common.session.as_deref() {
            None => default.to_owned(),
            Some("new") => new_session_name(),
            Some(name) => name.to_owned(),
        }
    }

    /// Files, processes, HTTP; confined commands run in `sandbox`. Nothing is connected or started yet.
    ///
    /// # Errors
    /// The workspace can't be opened, or the state folder can't be made.
    pub(crate) fn world(&self, sandbox: Option<Sandbox>) -> anyhow::Result<World> {
        self.make_spill_folder()?;
        let files = self.files(&[self.state_root().join(SPILL_FOLDER)])?;
        let passed = self.settings.pass_env.iter().map(|set| set.value.clone());
        let environment = self.environment.clone().pass(passed).give(self.given());
        let mut processes = OsProcesses::new(environment).limited_to(self.limits());
        if let Some(sandbox) = sandbox {
            processes = processes.confined_by(sandbox);
        }
        Ok(haft_os::world(files, processes))
    }

    fn files(&self, roots: &[PathBuf]) -> anyhow::Result<OsFiles> {
        let mut all = self.extra_roots();
        all.extend_from_slice(roots);
        Ok(OsFiles::new(&self.workspace, &all, &self.home.state)?)
    }

    /// Further folders that count as inside.
    fn extra_roots(&self) -> Vec<PathBuf> {
        self.settings.extra_roots.iter().map(|set| PathBuf::from(&set.value.absolute)).collect()
    }

    /// Where a session's commands write temporary files without a question.
    fn temp_folder(&self, session: &str) -> Option<String> {
        let hash = format!("{:x}", Sha256::digest(format!("{}\n{session}", self.state_root().display())));
        let short: String = hash.chars().take(12).collect();
        host::private_temp_dir(&format!("haft-{short}"))?.to_str().map(str::to_owned)
    }

    fn spill_roots(&self) -> Vec<String> {
        real_text(&self.state_root().join(SPILL_FOLDER)).into_iter().collect()
    }

    /// Sessions are per workspace: a hash of its path keeps their files apart.
    fn state_root(&self) -> PathBuf {
        let hash = format!("{:x}", Sha256::digest(&self.place.workspace));
        let short: String = hash.chars().take(32).collect();
        // Real where it is there already: the runtime compares it with real paths.
        let state = host::real_path(&self.home.state).unwrap_or_else(|| self.home.state.clone());
        state.join("workspaces").join(short)
    }

    /// A root has to be there to be opened.
    fn make_spill_folder(&self) -> anyhow::Result<()> {
        made(self.state().as_ref(), SPILL_FOLDER)
    }
}

/// Makes a folder by the state folder itself, which keeps it private.
fn made(state: &dyn StateFolder, folder: &str) -> anyhow::Result<()> {
    let path = state.path(folder);
    if host::is_folder(Path::new(&path)) {
        return Ok(());
    }
    let probe = format!("{folder}/.made");
    let tried = state.open_spill(&probe).map(drop).and_then(|()| state.remove(&probe));
    tried.map_err(|failure| {
        let what = format!("haft's own folder {path} can't be made: {failure}");
        Trouble::failed(what, "set HAFT_HOME to a folder that can be written").into()
    })
}

/// The folder that was asked for, else the git root of the current one, else the current one.
fn workspace(here: &Path, asked: Option<&Path>) -> Result<PathBuf, Trouble> {
    let found = match asked {
        Some(folder) => here.join(folder),
        None => host::find_git_root(here).unwrap_or_else(|| here.to_owned()),
    };
    host::real_path(&found).filter(|real| host::is_folder(real)).ok_or_else(|| {
        Trouble::usage(
            format!("the workspace {} is not a folder", found.display()),
            "name a folder with --workspace DIR",
        )
    })
}

fn utf8(path: &Path) -> Result<String, Trouble> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Trouble::failed(
            format!("the path {} is not UTF-8, and rules and logs are", path.display()),
            "rename the folder, or name another with --workspace DIR",
        )
    })
}

fn real_text(path: &Path) -> Option<String> {
    host::real_path(path)?.to_str().map(str::to_owned)
}

/// Sorts by time; the process id keeps two of one millisecond apart.
fn new_session_name() -> String {
    let since = SystemClock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("s{}-{}", since.as_millis(), std::process::id())
}
