//! Servers of the Model Context Protocol that the settings, the workspace's own list and extensions name: which of them
//! are used here, and as what.
//!
//! Leaves to `haft-mcp` to start and to speak with them. Keeps the invariant "what came with a workspace is started only
//! as the user approved it".

use super::{
    App,
    extensions::{EXTENSIONS_MAX, MANIFEST, WORKSPACE_ROOT},
    folders::media,
};
use haft_core::{
    Allowance, Clock, Command, Credential, Credentials, Exposure, RealPath, WebUrl, without_bom,
};
use haft_mcp::{
    ServerInfo,
    client::{
        CALL_TIMEOUT, CONCURRENCY, ClientSetup, Endpoint, IDLE_TIMEOUT, Limits, McpClients, OAuth,
        OAuthSetup, OwnClient, START_TIMEOUT, ServerConfig, Tokens, Transport, name_beginnings,
    },
};
use haft_os::{OsHttp, OsProcesses, SystemClock, host};
use haft_runtime::{
    Catalogue, Missing, Problem,
    settings::{
        McpLaunch, McpSetting, Placed, SavedPin, Scope, ServerListForm, SettingsSource, Template, server_list,
    },
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

/// The list that a workspace brings, as other tools know it.
pub(crate) const LIST: &str = ".mcp.json";
/// More than that is no list of servers.
const LIST_MAX_BYTES: u64 = 1024 * 1024;
/// Says to a server how many servers of haft's it stands behind.
const DEPTH: &str = "HAFT_SERVER_DEPTH";
/// So many may stand behind each other; more of them start each other in circles.
const DEPTH_MAX: u8 = 3;
/// Under which the problems of all servers are listed.
const SOURCE: &str = "mcp";

/// Whether a server is used, and why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is.
    InUse,
    /// It is switched off.
    Off,
    /// It is haft, listed for other tools.
    Own,
    /// It came with the workspace, and the user hasn't approved it as it is; with what changed since they did.
    Unapproved(Option<String>),
    /// It can't be used as it is written.
    Broken(String),
}

/// A server that is named somewhere.
pub(crate) struct Listed {
    /// What it is called.
    pub(crate) name: String,
    /// What is written of it.
    pub(crate) setting: McpSetting,
    /// Whether it is used.
    pub(crate) standing: Standing,
    pub(crate) config: Option<ServerConfig>,
    /// Its login, of one that is reached over HTTP and brings no header of its own for that.
    pub(crate) oauth: Option<Arc<OAuth>>,
}

impl App {
    /// All servers that are named, whether they are used, and what is wrong with lists of them.
    pub(crate) fn mcp_servers(&self) -> (Vec<Listed>, Vec<Problem>) {
        let (all, problems) = self.mcp_named();
        let approved = self.trust.load().servers;
        let listed = all.into_iter().map(|(name, setting)| {
            let (standing, configured) = match kept_back(&setting, approved.get(&name)) {
                Some(standing) => (standing, None),
                None => match self.mcp_config(&name, &setting) {
                    Ok(configured) => (Standing::InUse, Some(configured)),
                    Err(why) => (Standing::Broken(why), None),
                },
            };
            let (config, oauth) = configured.map_or((None, None), |(config, oauth)| (Some(config), oauth));
            Listed { name, setting, standing, config, oauth }
        });
        (listed.collect(), problems)
    }

    /// What is written of the servers that nothing but what they lack keeps from being started. Unlike
    /// [`App::mcp_servers`] this fills nothing in: no value is looked up.
    pub(super) fn mcp_startable(&self) -> Vec<(String, McpSetting)> {
        let approved = self.trust.load().servers;
        let named = self.mcp_named().0.into_iter();
        named.filter(|(name, setting)| kept_back(setting, approved.get(name)).is_none()).collect()
    }

    /// All servers as they are written, and what is wrong with lists of them.
    fn mcp_named(&self) -> (BTreeMap<String, McpSetting>, Vec<Problem>) {
        let (mut all, mut problems) = (self.settings.mcp.clone(), Vec::new());
        let [own, theirs] = [Scope::User, Scope::Workspace].map(|scope| self.mcp_of_extensions(scope));
        let listed = self.mcp_list(&mut problems).map(|source| (source, None));
        for (source, at) in own.into_iter().chain(listed).chain(theirs) {
            let found = server_list(&source, ServerListForm::Json, &self.place);
            problems.extend(found.problems);
            for (name, mut setting) in found.servers {
                if let McpLaunch::Command { folder, .. } = &mut setting.launch
                    && folder.is_none()
                {
                    folder.clone_from(&at);
                }
                match all.get(&name) {
                    // Kept off on purpose, whoever names it.
                    Some(known) if !known.enabled => {}
                    Some(known) => problems.push(passed_over(&name, &setting, known)),
                    None => drop(all.insert(name, setting)),
                }
            }
        }
        (all, problems)
    }

    /// What extensions of the user's or of the workspace list, each with its folder, in which its programs start unless it
    /// says otherwise. What is wrong with a manifest is told where extensions are read, and one of the user's covers one of
    /// its name.
    fn mcp_of_extensions(&self, scope: Scope) -> Vec<(SettingsSource, Option<Placed>)> {
        let (user, workspace) = (&self.home.extensions, self.workspace.join(WORKSPACE_ROOT));
        let root = if scope.is_in_workspace() { &workspace } else { user };
        // Where the folder can't be read there are none.
        let names = host::folder_names(root).unwrap_or_default().into_iter();
        let own = names.filter(|name| {
            let is_covered = scope.is_in_workspace() && host::is_file(&user.join(name).join(MANIFEST));
            !name.starts_with('.') && !is_covered
        });
        let lists = own.take(EXTENSIONS_MAX).filter_map(|name| {
            let folder = root.join(name);
            let path = folder.join(MANIFEST);
            let text = String::from_utf8(host::read_file(&path, LIST_MAX_BYTES).ok().flatten()?).ok()?;
            let manifest: Value = serde_json::from_str(without_bom(&text)).ok()?;
            manifest.get("mcpServers")?;
            let absolute = folder.to_str()?.to_owned();
            let at = Placed { written: absolute.clone(), absolute };
            Some((SettingsSource::new(scope, path.to_string_lossy(), text), Some(at)))
        });
        lists.collect()
    }

    /// What a server lacks to be started, approved or not.
    pub(crate) fn lacks(&self, server: &Listed) -> Option<String> {
        self.mcp_config(&server.name, &server.setting).err()
    }

    /// The workspace's own list.
    fn mcp_list(&self, problems: &mut Vec<Problem>) -> Option<SettingsSource> {
        let path = self.workspace.join(LIST);
        let shown = path.to_string_lossy().into_owned();
        let read = host::read_file(&path, LIST_MAX_BYTES);
        let text = match read.map(|bytes| bytes.map(String::from_utf8)) {
            Ok(None) => return None,
            Ok(Some(Ok(text))) => return Some(SettingsSource::new(Scope::Workspace, shown, text)),
            Ok(Some(Err(_))) => "it isn't UTF-8".to_owned(),
            Err(failure) => failure.text,
        };
        problems.push(Problem {
            source: SOURCE.to_owned(),
            path: Some(shown),
            line: None,
            text: format!("the list of servers can't be read: {text}"),
            fix: "make it a readable file, or remove it".to_owned(),
        });
        None
    }

    /// Remembers that a server may be started as it is.
    ///
    /// # Errors
    /// The trust file is damaged or can't be written.
    pub(crate) fn approve_server(&self, name: &str, setting: &McpSetting) -> anyhow::Result<()> {
        let parts = setting.parts();
        let pin = SavedPin::of_parts(&parts, launch_hash(&parts), SystemClock.now());
        Ok(self.trust.approve_server(name, &pin)?)
    }

    /// The servers that are used here, their tools in the catalogue.
    pub(super) fn clients(&self, catalogue: &Catalogue) -> McpClients {
        let (listed, mut problems) = self.mcp_servers();
        let mut configs = Vec::new();
        for server in listed {
            if let Some(problem) = server.problem() {
                let why = format!("{}. Tell the user: {}.", problem.text, problem.fix);
                let beginnings = name_beginnings(&server.name, server.setting.prefix.as_deref());
                catalogue.miss(&format!("mcp:{}", server.name), Some(Missing { beginnings, why }));
                problems.push(problem);
            }
            configs.extend(server.config);
        }
        catalogue.report(SOURCE, problems);
        let setup = ClientSetup {
            catalogue: catalogue.clone(),
            state: Some(self.state()),
            media: media(self),
            info: ServerInfo::default(),
            fronts: self.fronts.clone(),
        };
        McpClients::new(setup, configs)
    }

    /// What a server is to its client: names filled in, paths real.
    fn mcp_config(
        &self,
        name: &str,
        setting: &McpSetting,
    ) -> Result<(ServerConfig, Option<Arc<OAuth>>), String> {
        let mut oauth = None;
        let depth = self.environment.get(DEPTH).and_then(|depth| depth.parse::<u8>().ok()).unwrap_or(0);
        if depth >= DEPTH_MAX {
            return Err(
                "haft is itself a server of haft's, several times over: they start each other in circles"
                    .to_owned(),
            );
        }
        let transport = match &setting.launch {
            McpLaunch::Command { argv, folder, env } => {
                let argv = argv.iter().map(|word| self.filled(word)).collect::<Result<Vec<_>, _>>()?;
                let folder =
                    folder.as_ref().map_or(self.place.workspace.as_str(), |folder| folder.absolute.as_str());
                let real =
                    host::real_path(Path::new(folder)).and_then(|path| path.to_str().map(str::to_owned));
                let real = real.ok_or_else(|| format!("its folder {folder} isn't there"))?;
                let mut command = Command::new(argv, RealPath::new(&real, ""));
                for (variable, value) in env {
                    command.env.push((variable.clone(), self.filled(value)?));
                }
                command.env.push((DEPTH.to_owned(), (depth + 1).to_string()));
                command.confined = setting.sandbox.as_ref().map(|_| Allowance::default());
                let passed = self.settings.pass_env.iter().map(|set| set.value.clone());
                let mut processes =
                    OsProcesses::new(self.environment.clone().pass(passed)).limited_to(self.limits());
                if let Some(sandbox) = &setting.sandbox {
                    processes = processes.confined_by(self.server_sandbox(sandbox));
                }
                Transport::Stdio { command, processes: Arc::new(processes) }
            }
            McpLaunch::Url { url, headers, older } => {
                let mut filled = Vec::new();
                for (header, value) in headers {
                    filled.push((header.clone(), self.filled(value)?));
                }
                let http = Arc::new(OsHttp::default());
                let (url, older) = (self.filled(url)?, *older);
                if !filled.iter().any(|(header, _)| header.eq_ignore_ascii_case("authorization")) {
                    oauth = Some(Arc::new(self.oauth(name, &url, setting)?));
                }
                let tokens = oauth.clone().map(|oauth| -> Arc<dyn Tokens> { oauth });
                Transport::Http(Endpoint { url, headers: filled, older, http, tokens })
            }
        };
        let millis = |set: Option<u64>, usual: Duration| set.map_or(usual, Duration::from_millis);
        let concurrency = setting.concurrency.and_then(|most| usize::try_from(most).ok());
        let config = ServerConfig {
            parts: setting.parts(),
            prefix: setting.prefix.clone(),
            screen: setting.screen,
            untrusted: setting.untrusted,
            exposure: setting.exposure.unwrap_or(Exposure::Auto),
            eager: setting.eager,
            limits: Limits {
                start: millis(setting.start_timeout_ms, START_TIMEOUT),
                idle: millis(setting.timeout_ms, IDLE_TIMEOUT),
                call: millis(setting.max_timeout_ms, CALL_TIMEOUT),
                concurrency: concurrency.unwrap_or(CONCURRENCY),
            },
            roots: setting.roots.iter().map(|root| root.absolute.clone()).collect(),
            pass_roots: setting.pass_roots,
            sampling: setting.sampling,
            only: setting.only.clone(),
            tools: setting.tools.clone(),
            ..ServerConfig::new(name, transport)
        };
        Ok((config, oauth))
    }

    /// The login of a server over HTTP.
    fn oauth(&self, name: &str, url: &str, setting: &McpSetting) -> Result<OAuth, String> {
        let url = WebUrl::parse(url).map_err(|failure| failure.text)?;
        let secret = setting.login.client_secret.as_ref();
        let secret =
            secret.map(|secret| self.keys.find(secret)).transpose().map_err(|failure| failure.text)?;
        let client = setting.login.client_id.clone().map(|id| OwnClient { id, secret });
        let store: Arc<dyn Credentials> = self.keys.vault.clone();
        Ok(OAuth::new(OAuthSetup {
            name: name.into(),
            store,
            http: Arc::new(OsHttp::public_and([url.host().to_owned()])),
            url,
            clock: Arc::new(SystemClock),
            random: host::random,
            client,
            scope: setting.login.scope.clone(),
        }))
    }

    /// One server alone, its tools in no catalogue that anybody else sees.
    pub(crate) fn alone(&self, config: ServerConfig) -> McpClients {
        let setup = ClientSetup {
            catalogue: Catalogue::new(),
            state: None,
            media: media(self),
            info: ServerInfo::default(),
            fronts: self.fronts.clone(),
        };
        McpClients::new(setup, vec![config])
    }

    /// A text with the values of its names.
    fn filled(&self, template: &Template) -> Result<String, String> {
        let find = |credential: &Credential| Ok(self.keys.find(credential)?.reveal().to_owned());
        template.fill(&self.place.workspace, &find).map_err(|failure| failure.text)
    }
}

impl Listed {
    /// Why it isn't used, where something can be done about that.
    fn problem(&self) -> Option<Problem> {
        let name = &self.name;
        let reached = self.reached();
        let (text, fix) = match &self.standing {
            Standing::InUse | Standing::Off | Standing::Own => return None,
            Standing::Unapproved(None) => (
                format!("the server \"{name}\" came with the workspace and isn't started: {reached}"),
                format!("look at it; if it is what you want, run: haft mcp approve {name}"),
            ),
            Standing::Unapproved(Some(changed)) => (
                format!("the server \"{name}\" changed since you approved it and isn't started: {changed}"),
                format!("look at it; if it is what you want, run: haft mcp approve {name}"),
            ),
            Standing::Broken(why) => (
                format!("the server \"{name}\" can't be used: {why}"),
                "put that right, or correct what is written of the server".to_owned(),
            ),
        };
        let origin = &self.setting.origin;
        Some(Problem {
            source: SOURCE.to_owned(),
            path: Some(origin.path.clone()),
            line: Some(origin.line),
            text,
            fix,
        })
    }

    /// How it is reached, on one line.
    pub(crate) fn reached(&self) -> String {
        self.setting.parts().into_iter().next().map(|(_, text)| text).unwrap_or_default()
    }
}

/// What is said of a server that comes after another one of its name.
fn passed_over(name: &str, setting: &McpSetting, known: &McpSetting) -> Problem {
    Problem {
        source: SOURCE.to_owned(),
        path: Some(setting.origin.path.clone()),
        line: Some(setting.origin.line),
        text: format!("the server \"{name}\" is passed over, since {} names one too", known.origin),
        fix: "rename one of the two".to_owned(),
    }
}

/// Why a server isn't used, whatever it lacks; `approved` is what the user approved of it.
fn kept_back(setting: &McpSetting, approved: Option<&SavedPin>) -> Option<Standing> {
    if !setting.enabled {
        return Some(Standing::Off);
    }
    if setting.foreign && is_haft(&setting.launch) {
        return Some(Standing::Own);
    }
    if !setting.needs_approval() {
        return None;
    }
    let parts = setting.parts();
    let is_approved = approved.is_some_and(|pin| pin.hash == launch_hash(&parts));
    (!is_approved).then(|| Standing::Unapproved(approved.map(|pin| pin.changes_of(&parts))))
}

/// `haft serve mcp`, which a list for other tools commonly names.
fn is_haft(launch: &McpLaunch) -> bool {
    let McpLaunch::Command { argv, .. } = launch else { return false };
    let [program, rest @ ..] = argv.as_slice() else { return false };
    let is_program = Path::new(program.as_str()).file_stem().is_some_and(|name| name == "haft");
    is_program
        && rest.iter().any(|word| word.as_str() == "serve")
        && rest.iter().any(|word| word.as_str() == "mcp")
}

/// What an approval holds for.
fn launch_hash(parts: &[(String, String)]) -> Arc<str> {
    // Texts always have a JSON form.
    let text = serde_json::to_string(parts).unwrap_or_default();
    format!("{:x}", Sha256::digest(text)).into()
}
