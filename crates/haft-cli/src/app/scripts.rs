//! The engine for scripts, code mode on it, and the tools that modules in folders of tools export.

use super::App;
use haft_core::{AnyTool, Failure, Files, StateFolder};
use haft_os::{OsProcesses, host};
use haft_runtime::{
    Catalogue, Problem,
    source::{
        Found, Registered,
        command::{CommandRoot, ManifestText, declared, line_of},
    },
};
use haft_script::{
    CodeSettings, Declared, Engine, MEMORY_BYTES, ModuleFault, ModuleTool, SOURCE_ENDINGS, ScriptModule,
    ScriptTool, code_tool, declare_all, discover,
};
use std::{path::Path, sync::Arc, time::Duration};

/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

impl App {
    /// What starts the children that run scripts: this program again.
    ///
    /// # Errors
    /// The program's own file isn't known.
    pub(crate) fn engine(&self) -> Result<Arc<Engine>, Failure> {
        let processes = Arc::new(OsProcesses::new(self.environment.clone()));
        let memory = self.settings.code.memory_mib.as_ref().map(|set| set.value.saturating_mul(MIB));
        Ok(Arc::new(Engine::of_this_program(processes, memory.unwrap_or(MEMORY_BYTES))?))
    }

    /// The `code` tool, as the settings bound it.
    pub(super) fn code_tool(&self, engine: Arc<Engine>) -> Arc<dyn AnyTool> {
        let (set, usual) = (&self.settings.code, CodeSettings::default());
        let settings = CodeSettings {
            timeout: set.timeout_ms.as_ref().map_or(usual.timeout, |set| Duration::from_millis(set.value)),
            calls: set.calls.as_ref().map_or(usual.calls, |set| set.value),
            at_once: set.at_once.as_ref().map_or(usual.at_once, |set| set.value),
            output_bytes: set
                .output_bytes
                .as_ref()
                .map_or(usual.output_bytes, |set| usize::try_from(set.value).unwrap_or(usize::MAX)),
        };
        code_tool(engine, settings)
    }
}

/// The modules in one folder of tools, and what is registered of them.
pub(super) struct ScriptFolder {
    root: CommandRoot,
    registered: Registered,
}

impl ScriptFolder {
    /// Nothing is read before the first sync.
    pub(super) fn new(root: CommandRoot) -> Self {
        Self { root, registered: Registered::default() }
    }

    /// Reads the folder anew. Blocking.
    pub(super) fn sync(&mut self, catalogue: &Catalogue, files: &dyn Files, scripts: &Scripts) {
        let found = scripts.found_in(&self.root, files);
        self.registered.sync(catalogue, &owner_of(&self.root), found);
    }
}

/// What modules are loaded by.
#[derive(Clone)]
pub(crate) struct Scripts {
    pub(super) engine: Arc<Engine>,
    /// Where what they declare is kept, by their content.
    pub(super) state: Arc<dyn StateFolder>,
}

/// Who owns the tools of modules in a folder.
pub(crate) fn owner_of(root: &CommandRoot) -> String {
    format!("script:{}", root.shown)
}

impl Scripts {
    /// The tools of all modules of a folder, and what is wrong with the others.
    fn found_in(&self, root: &CommandRoot, files: &dyn Files) -> (Vec<Found>, Vec<Problem>) {
        let owner = owner_of(root);
        let discovered = discover(files, &root.path, &root.shown);
        let problems = discovered.faults.into_iter().map(|(path, text, fix)| Problem {
            source: owner.clone(),
            path: Some(path),
            line: Some(1),
            text: format!("the module can't be read: {text}"),
            fix,
        });
        let (mut found, mut problems) = (Vec::new(), problems.collect::<Vec<_>>());
        for module in self.found(&owner, discovered.modules) {
            found.extend(module.found);
            problems.extend(module.problems);
        }
        (found, problems)
    }

    /// The tools of modules, one entry each, with what is wrong.
    pub(crate) fn found(&self, owner: &str, modules: Vec<ScriptModule>) -> Vec<OfModule> {
        let declared = declare_all(&self.engine, &modules, Some(self.state.as_ref()));
        modules
            .into_iter()
            .zip(declared)
            .map(|(module, declared)| self.tools_of(owner, module, declared))
            .collect()
    }

    fn tools_of(
        &self,
        owner: &str,
        module: ScriptModule,
        tools: Result<Vec<Declared>, ModuleFault>,
    ) -> OfModule {
        let tools = match tools {
            Ok(tools) => tools,
            Err(fault) => {
                let problem = fault_of(owner, &module, ("the module can't be used", fault));
                return OfModule { problems: vec![problem], set_aside: 1, ..OfModule::default() };
            }
        };
        let module = Arc::new(module);
        found_of(owner, &module, tools, |tool| ScriptTool::new(&self.engine, &module, tool))
    }
}

/// Whether there is a file that may be a module, by its ending.
pub(crate) fn is_source_file(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    host::is_file(path) && ending.is_some_and(|ending| SOURCE_ENDINGS.contains(&ending))
}

/// What one module brings.
#[derive(Default)]
pub(crate) struct OfModule {
    /// Its tools that can be registered.
    pub(crate) found: Vec<Found>,
    /// What is wrong with it and its tools.
    pub(crate) problems: Vec<Problem>,
    /// How many of its tools can't be used, or it itself.
    pub(crate) set_aside: usize,
}

/// What the code of a module declares as tools that can be registered, and what is wrong with the others.
pub(super) fn found_of(
    owner: &str,
    module: &ScriptModule,
    tools: Vec<Declared>,
    made: impl Fn(ModuleTool) -> ScriptTool,
) -> OfModule {
    let from = ManifestText { text: module.text(), folder: &module.name, path: &module.shown, owner };
    let mut all = OfModule::default();
    for Declared { data, functions } in tools {
        match declared(&from, data) {
            Ok((spec, warnings)) => {
                all.problems.extend(warnings);
                let name = spec.name.to_string();
                let line = line_of(module.text(), &name);
                all.found.push(Found {
                    tool: Arc::new(made(ModuleTool { spec, name, functions })),
                    hash: Arc::clone(&module.hash),
                    path: module.shown.clone(),
                    line,
                });
            }
            Err(faults) => {
                all.problems.extend(faults);
                all.set_aside += 1;
            }
        }
    }
    all
}

/// What is wrong with a module, at its place.
pub(super) fn fault_of(owner: &str, module: &ScriptModule, (what, fault): (&str, ModuleFault)) -> Problem {
    let path = match &fault.file {
        Some(file) => format!("{} ({file})", module.shown),
        None => module.shown.clone(),
    };
    Problem {
        source: owner.to_owned(),
        path: Some(path),
        line: Some(fault.line.unwrap_or(1)),
        text: format!("{what}: {}", fault.text),
        fix: fault.fix,
    }
}
