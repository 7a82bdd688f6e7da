//! The tools of a workspace: built in, from command folders that may change at any time, and from servers.

use super::{
    App, Keys,
    adjust::adjust,
    extensions::{Brought, ExtensionCommand, Extensions},
    scripts::{ScriptFolder, Scripts},
};
use crate::command::block_on;
use haft_core::{Files, Media, PathArg, RealPath};
use haft_mcp::client::McpClients;
use haft_os::{FolderWatch, OsMedia, OsProcesses, host};
use haft_runtime::{
    Catalogue, Handle, Problem, Registrar,
    find::tool_search,
    hooks::Hook,
    settings::{Setting, ToolSandbox, ToolSetting},
    source::{
        SKILL_TOOL, Skill,
        command::{CommandFolders, CommandRoot},
        skill_tool,
    },
    tool_help, undo_tool,
};
use haft_script::lent_tools;
use haft_tools::{ExecSettings, FetchHeader, FetchSettings, ToolSettings};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::mpsc, task::AbortHandle};

/// The owner of the built-in tools.
const CORE: &str = "core";
/// Folders of tools in a workspace.
pub(crate) const WORKSPACE_ROOTS: [&str; 2] = [".haft/tools", ".pequenin/tools"];
/// How soon a folder of tools is seen that wasn't there.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// After so many looks, folders that can't be watched are read again.
const UNWATCHED_LOOKS: u32 = 8;
/// How long servers whose tools nobody knows yet are waited for.
const SERVERS_TIME: Duration = Duration::from_secs(10);

/// The catalogue of a workspace and what keeps it in step. Cheap to clone; the tools go with the last clone.
#[derive(Clone)]
pub(crate) struct Tools {
    /// Every tool.
    pub(crate) catalogue: Catalogue,
    inner: Arc<Inner>,
}

struct Inner {
    files: Arc<dyn Files>,
    settings: BTreeMap<String, ToolSetting>,
    keys: Keys,
    paths: Vec<PathBuf>,
    scripts: Scripts,
    sources: Mutex<Sources>,
    servers: McpClients,
}

struct Sources {
    folders: Vec<CommandFolders>,
    modules: Vec<ScriptFolder>,
    extensions: Extensions,
    skills: Skills,
    /// Settings put over tools.
    adjusted: BTreeMap<String, Handle>,
}

/// The skills that models are told of, and the tool that gives them; there is none where there are no skills.
#[derive(Default)]
struct Skills {
    known: Vec<Skill>,
    tool: Vec<Handle>,
}

impl Tools {
    /// Registers the built-in tools and reads the command folders.
    ///
    /// # Errors
    /// A built-in tool can't be registered.
    pub(super) fn load(app: &App, files: Arc<dyn Files>) -> anyhow::Result<Self> {
        let catalogue = Catalogue::new();
        let mut problems = app.problems.clone();
        problems.extend(fetch_problems(app));
        problems.extend(exec_problems(app));
        problems.extend(app.credential_problems());
        catalogue.report("settings", problems);
        if let Some(model) = app.search_model() {
            catalogue.set_model(model);
        }
        let scripts = Scripts { engine: app.engine()?, state: app.state() };
        let code = app.code_tool(Arc::clone(&scripts.engine));
        let built_in = haft_tools::tools_with(
            ToolSettings { fetch: fetch(app), exec: exec(app), ..ToolSettings::default() },
            media(app),
        )
        .into_iter()
        .chain([tool_help(&catalogue), tool_search(&catalogue), undo_tool(), code])
        .chain(lent_tools());
        let adjusted = built_in.map(|tool| match app.settings.tools.get(tool.spec().name.as_ref()) {
            Some(setting) => adjust(tool, setting, &app.keys),
            None => tool,
        });
        for handle in catalogue.register_all(adjusted, CORE)? {
            handle.keep();
        }
        catalogue.report("sandbox", sandbox_problems(app, &catalogue));
        let roots = roots(app, files.as_ref());
        let extensions = Extensions::new(app, files.as_ref());
        let watched = roots.iter().map(|root| &root.path).chain(extensions.paths());
        let paths = watched.map(|path| PathBuf::from(path.absolute())).collect();
        let modules = roots.iter().cloned().map(ScriptFolder::new).collect();
        let folders = roots.into_iter().map(CommandFolders::new).collect();
        let (skills, adjusted) = (Skills::default(), BTreeMap::new());
        let sources = Mutex::new(Sources { folders, modules, extensions, skills, adjusted });
        let (settings, keys) = (app.settings.tools.clone(), app.keys.clone());
        let servers = app.clients(&catalogue);
        let inner = Inner { files, settings, keys, paths, scripts, sources, servers };
        let tools = Self { catalogue, inner: Arc::new(inner) };
        tools.sync();
        Ok(tools)
    }

    /// Reads the command folders anew. Blocking.
    pub(crate) fn sync(&self) {
        let mut sources = self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let sources = &mut *sources;
        for folders in &mut sources.folders {
            folders.sync(&self.catalogue, self.inner.files.as_ref());
        }
        for modules in &mut sources.modules {
            modules.sync(&self.catalogue, self.inner.files.as_ref(), &self.inner.scripts);
        }
        sources.extensions.sync(&self.catalogue, self.inner.files.as_ref(), &self.inner.scripts);
        self.offer(&mut sources.skills, sources.extensions.skills());
        self.adjust(&mut sources.adjusted);
    }

    /// Puts a tool for the skills that there are now in the place of the one before.
    fn offer(&self, skills: &mut Skills, now: Vec<Skill>) {
        if skills.known == now {
            return;
        }
        let _together = self.catalogue.hold();
        skills.tool.clear();
        let mut problems = Vec::new();
        if !now.is_empty() {
            let tool = skill_tool(now.clone());
            let tool = match self.inner.settings.get(SKILL_TOOL) {
                Some(setting) => adjust(tool, setting, &self.inner.keys),
                None => tool,
            };
            match self.catalogue.register_all([tool], CORE) {
                Ok(handles) => skills.tool = handles,
                Err(error) => problems.push(Problem {
                    source: SKILL_TOOL.to_owned(),
                    path: None,
                    line: None,
                    text: format!("skills can't be offered: {error}"),
                    fix: format!("call that tool something else than {SKILL_TOOL}"),
                }),
            }
        }
        self.catalogue.report(SKILL_TOOL, problems);
        skills.known = now;
    }

    /// The servers whose tools are here.
    pub(crate) fn servers(&self) -> &McpClients {
        &self.inner.servers
    }

    /// Waits for the tools of servers that nobody knows yet, and starts what is to run from the beginning. Must be called
    /// within the tokio runtime.
    pub(crate) async fn meet(&self) {
        if self.servers().is_empty() {
            return;
        }
        self.servers().ready(SERVERS_TIME).await;
        self.servers().start();
        self.renew().await;
    }

    /// The same for a command that only looks at what there is.
    ///
    /// # Errors
    /// No threads can be started.
    pub(crate) fn look_up(&self) -> anyhow::Result<()> {
        if self.servers().is_empty() || self.servers().are_known() {
            return Ok(());
        }
        block_on(async {
            self.servers().ready(SERVERS_TIME).await;
            self.servers().close().await;
            Ok(())
        })?;
        self.sync();
        Ok(())
    }

    /// The roots of command folders.
    pub(crate) fn roots(&self) -> Vec<CommandRoot> {
        let sources = self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.folders.iter().map(|folders| folders.root().clone()).collect()
    }

    /// Owners and folders of all extensions, also of those that can't be used.
    pub(crate) fn extensions(&self) -> Vec<(String, RealPath)> {
        self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner).extensions.seen().to_vec()
    }

    /// What each extension brings that can be used.
    pub(crate) fn brought(&self) -> Vec<Brought> {
        self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner).extensions.brought()
    }

    /// The commands that extensions have for people.
    pub(crate) fn commands(&self) -> Vec<ExtensionCommand> {
        self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner).extensions.commands()
    }

    /// The hooks that extensions register and declare.
    pub(crate) fn hooks(&self) -> Vec<Hook> {
        self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner).extensions.hooks()
    }

    /// What modules are loaded by.
    pub(crate) fn scripts(&self) -> &Scripts {
        &self.inner.scripts
    }

    /// The files that the folders are read by.
    pub(crate) fn files(&self) -> &dyn Files {
        self.inner.files.as_ref()
    }

    /// Reads the command folders anew, apart from whoever waits for it.
    pub(crate) async fn renew(&self) {
        let tools = self.clone();
        drop(tokio::task::spawn_blocking(move || tools.sync()).await);
    }

    /// Keeps the catalogue in step with the folders until what it gives is dropped. Must be called within the tokio
    /// runtime.
    #[must_use]
    pub(crate) fn followed(&self) -> Following {
        Following(tokio::spawn(self.clone().follow()).abort_handle())
    }

    async fn follow(self) {
        loop {
            let present = self.present();
            let (sender, mut changes) = mpsc::unbounded_channel();
            let watched: Vec<PathBuf> = present.iter().cloned().collect();
            // Nobody listens any more when the next round has begun.
            let _watch = FolderWatch::new(&watched, move |_| {
                let _ = sender.send(());
            });
            // After the watch began, so that nothing falls between.
            self.renew().await;
            let mut looks = 0;
            let mut catalogue = self.catalogue.changes();
            loop {
                tokio::select! {
                    Some(()) = changes.recv() => break,
                    // A server has other tools now, over which settings go too.
                    Ok(()) = catalogue.changed(), if !self.servers().is_empty() => self.readjust(),
                    () = tokio::time::sleep(LOOK_AGAIN) => {
                        looks += 1;
                        // A closed channel means that nothing is watched: then time is all there is to go by.
                        let is_due = changes.is_closed() && !present.is_empty() && looks >= UNWATCHED_LOOKS;
                        if is_due || self.present() != present {
                            break;
                        }
                    }
                }
            }
        }
    }

    fn readjust(&self) {
        let mut sources = self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner);
        self.adjust(&mut sources.adjusted);
    }

    fn present(&self) -> BTreeSet<PathBuf> {
        self.inner.paths.iter().filter(|path| host::is_folder(path)).cloned().collect()
    }

    /// Puts the settings over the tools that aren't built in; those were adjusted before they were registered. What
    /// is put over a tool stays over what its folder puts in its place.
    fn adjust(&self, adjusted: &mut BTreeMap<String, Handle>) {
        let by = Registrar::Official("settings".to_owned());
        let snapshot = self.catalogue.snapshot();
        for (name, setting) in &self.inner.settings {
            let is_foreign = snapshot.get(name).is_some_and(|offer| !offer.is_core());
            if is_foreign && !adjusted.contains_key(name) {
                let (setting, keys) = (setting.clone(), self.inner.keys.clone());
                if let Ok(handle) = self.catalogue.wrap(name, &by, move |tool| adjust(tool, &setting, &keys))
                {
                    adjusted.insert(name.clone(), handle);
                }
            }
        }
    }
}

/// What the settings say about `fetch`.
fn fetch(app: &App) -> FetchSettings {
    let Some(set) = app.settings.tools.get("fetch") else { return FetchSettings::default() };
    let headers = set.headers.iter().filter_map(|header| {
        // A header whose value isn't there, or is no line, isn't sent.
        let value = app.keys.find(&header.value).ok()?.line().ok()?.to_owned();
        Some(FetchHeader { host: header.host.clone(), name: header.name.clone(), value })
    });
    FetchSettings {
        allow_private: set.allow_private.iter().map(|entry| entry.value.clone()).collect(),
        headers: headers.collect(),
    }
}

/// What the settings say about `exec`.
fn exec(app: &App) -> ExecSettings {
    let set = app.settings.tools.get("exec");
    let programs = set.map(|set| set.programs.iter().map(|entry| entry.value.clone()).collect());
    ExecSettings { programs: programs.unwrap_or_default() }
}

/// Entries of `programs` that never match.
fn exec_problems(app: &App) -> Vec<Problem> {
    let Some(set) = app.settings.tools.get("exec") else { return Vec::new() };
    let wrong = |entry: &Setting<String>| {
        let one = ExecSettings { programs: vec![entry.value.clone()] };
        one.problems().into_iter().next().map(|text| Problem {
            source: entry.origin.scope.name().to_owned(),
            path: Some(entry.origin.path.clone()),
            line: Some(entry.origin.line),
            text,
            fix: "name programs that do one thing, such as \"make\"".to_owned(),
        })
    };
    set.programs.iter().filter_map(wrong).collect()
}

/// Entries of `allowPrivate` that never match.
fn fetch_problems(app: &App) -> Vec<Problem> {
    let Some(set) = app.settings.tools.get("fetch") else { return Vec::new() };
    let wrong = |entry: &Setting<String>| {
        let one = FetchSettings { allow_private: vec![entry.value.clone()], headers: Vec::new() };
        one.problems().into_iter().next().map(|text| Problem {
            source: entry.origin.scope.name().to_owned(),
            path: Some(entry.origin.path.clone()),
            line: Some(entry.origin.line),
            text,
            fix: "write host and port".to_owned(),
        })
    };
    set.allow_private.iter().filter_map(wrong).collect()
}

/// Sandboxes of built-in tools: those that run commands have the one of all commands, the others start nothing in one.
fn sandbox_problems(app: &App, catalogue: &Catalogue) -> Vec<Problem> {
    let snapshot = catalogue.snapshot();
    let set = app.settings.tools.iter().filter_map(|(name, tool)| {
        let sandbox = tool.sandbox.as_ref()?;
        snapshot.get(name).is_some_and(haft_runtime::Offer::is_core).then_some((name, sandbox))
    });
    let problem = |(name, sandbox): (&String, &Setting<ToolSandbox>)| Problem {
        source: sandbox.origin.scope.name().to_owned(),
        path: Some(sandbox.origin.path.clone()),
        line: Some(sandbox.origin.line),
        text: format!("\"tools.{name}.sandbox\" does nothing, since {name} is built in"),
        fix: "write [sandbox], which holds for the commands of all built-in tools".to_owned(),
    };
    set.map(problem).collect()
}

/// What decodes pictures, and documents in a child of this program.
pub(super) fn media(app: &App) -> Arc<dyn Media> {
    let processes = OsProcesses::new(app.environment.clone());
    Arc::new(OsMedia::of_this_program(Arc::new(processes)))
}

/// The catalogue stays in step for as long as this is held.
pub(crate) struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Where command folders are: in the workspace, in the user's folder, and where the settings say. A tool's first use
/// asks wherever it comes from.
fn roots(app: &App, files: &dyn Files) -> Vec<CommandRoot> {
    let mut roots: Vec<CommandRoot> = Vec::new();
    let mut add = |path: String, shown: String| {
        let Ok(real) = files.resolve(&PathArg(path)) else { return };
        if !roots.iter().any(|known| known.path.absolute() == real.absolute()) {
            roots.push(CommandRoot::new(real, shown));
        }
    };
    for at in WORKSPACE_ROOTS {
        add(format!("{}/{at}", app.place.workspace), at.to_owned());
    }
    let user = app.home.tools.to_string_lossy().into_owned();
    add(user.clone(), user);
    for set in &app.settings.folders {
        add(set.value.absolute.clone(), set.value.written.clone());
    }
    roots
}
