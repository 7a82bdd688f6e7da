//! `haft check`: what is wrong with command folders and modules, with file, line and fix.

use crate::{
    app::{App, Tools, WORKSPACE_ROOTS, is_source_file, owner_of},
    print,
    status::Status,
    terminal::clean,
    trouble::Trouble,
};
use haft_core::{PathArg, RealPath};
use haft_os::host;
use haft_runtime::{
    Problem, RegisterError,
    source::{
        Found,
        command::{CommandRoot, CommandTool, load_folder},
    },
};
use haft_script::{Discovered, ScriptModule, discover, load_module};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The file that makes a folder one of a tool.
const MANIFEST: &str = "tool.json";
const FIX: &str = "name a tool, its folder or module, or a folder of such folders";

/// What was found.
#[derive(Default)]
struct Findings {
    problems: Vec<Problem>,
    /// Folders that can't be used, or whose tool can't.
    set_aside: usize,
    usable: Vec<String>,
    /// Whose tools of modules were looked at, by their names, with what they are made of.
    modules: BTreeMap<(String, Arc<str>), Arc<str>>,
}

/// `haft check`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CheckArgs {
    /// A tool's folder, a folder of such folders, or a tool's name [default: all that are in use]
    pub(crate) what: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Checks one folder, a folder of folders, or all.
///
/// # Errors
/// There is nothing of that name or path.
pub(super) fn check(app: &App, args: &CheckArgs) -> anyhow::Result<Status> {
    let tools = app.tools()?;
    let mut findings = Findings::default();
    let what = args.what.as_deref();
    let extensions = extensions(&tools, what)?;
    let is_named = extensions.iter().any(|(_, is_named)| *is_named);
    for (owner, _) in &extensions {
        one_extension(&tools, owner, &mut findings);
    }
    let things = match things(app, &tools, what) {
        _ if is_named => Vec::new(),
        Err(_) if !extensions.is_empty() => Vec::new(),
        things => things?,
    };
    for thing in things {
        match thing {
            Thing::Folder(root, name) => one(&tools, &root, &name, &mut findings),
            Thing::Module((root, module)) => one_module(&tools, &root, module, &mut findings),
        }
    }
    if args.what.is_none() {
        // Settings hold tools up too.
        findings.problems.extend(app.problems.iter().cloned());
    }
    if args.json {
        print::json(&json!({
            "usable": findings.usable,
            "setAside": findings.set_aside,
            "problems": findings.problems,
        }))?;
    } else {
        for problem in &findings.problems {
            print::line(&clean(&problem.to_string()));
        }
        let (usable, aside) = (findings.usable.len(), findings.set_aside);
        print::line(&format!("{usable} usable, {aside} set aside, {} problem(s)", findings.problems.len()));
    }
    Ok(if findings.set_aside == 0 { Status::Completed } else { Status::Failed })
}

/// What is checked by itself.
enum Thing {
    Folder(CommandRoot, String),
    Module(Module),
}

/// The command folders and modules to check.
fn things(app: &App, tools: &Tools, what: Option<&str>) -> anyhow::Result<Vec<Thing>> {
    let named = named(app, tools, what)?;
    if !named.is_empty() {
        return Ok(named.into_iter().map(Thing::Module).collect());
    }
    let modules = modules(app, tools, what)?;
    let folders = match targets(app, tools, what) {
        Err(_) if !modules.is_empty() => Vec::new(),
        folders => folders?,
    };
    let folders = folders.into_iter().map(|(root, name)| Thing::Folder(root, name));
    Ok(folders.chain(modules.into_iter().map(Thing::Module)).collect())
}

/// The owners of the extensions to check: all, the one that is named, or those at a path; and whether it is named.
fn extensions(tools: &Tools, what: Option<&str>) -> anyhow::Result<Vec<(String, bool)>> {
    let all = tools.extensions();
    let Some(what) = what else { return Ok(all.into_iter().map(|(owner, _)| (owner, false)).collect()) };
    let path = host::real_path(&host::current_dir()?.join(what));
    let meant = |(owner, folder): (String, RealPath)| {
        let at = host::real_path(Path::new(&folder.absolute()))?;
        let is_named = folder.file_name() == what || path.as_ref() == Some(&at);
        let is_below = path.as_ref().is_some_and(|path| at.starts_with(path));
        (is_named || is_below).then_some((owner, is_named))
    };
    Ok(all.into_iter().filter_map(meant).collect())
}

/// What was found when the extension was loaded.
fn one_extension(tools: &Tools, owner: &str, findings: &mut Findings) {
    findings
        .problems
        .extend(tools.catalogue.problems().into_iter().filter(|problem| problem.source == owner));
    let snapshot = tools.catalogue.snapshot();
    let usable: Vec<String> = snapshot
        .offers()
        .filter(|offer| offer.owner.as_ref() == owner)
        .map(|offer| offer.name.to_string())
        .collect();
    let brought = tools.brought().into_iter().find(|extension| extension.owner == owner);
    findings.set_aside += match &brought {
        Some(extension) if !extension.is_broken => extension.declared.saturating_sub(usable.len()),
        // What it tightened may still hold; it itself can't be used.
        _ => 1,
    };
    findings.usable.extend(usable);
    for root in brought.iter().flat_map(|extension| &extension.roots) {
        for (root, name) in all(root) {
            one(tools, &root, &name, findings);
        }
    }
}

/// The folders to check, each with its root.
fn targets(app: &App, tools: &Tools, what: Option<&str>) -> anyhow::Result<Vec<(CommandRoot, String)>> {
    let roots = tools.roots();
    let Some(what) = what else {
        return Ok(roots.iter().flat_map(all).collect());
    };
    let is_name = !what.contains('/') && what != "." && what != "..";
    if is_name && let Some(root) = roots.iter().find(|root| host::is_folder(&folder(root, what))) {
        return Ok(vec![(root.clone(), what.to_owned())]);
    }
    let here = host::current_dir()?.join(what);
    let is_manifest = here.file_name().is_some_and(|name| name == MANIFEST);
    let path = if is_manifest || host::is_file(&here) {
        here.parent().map_or(here.clone(), Path::to_path_buf)
    } else {
        here
    };
    let missing = || Trouble::usage(format!("there is no tool or folder \"{what}\""), FIX);
    let path = host::real_path(&path).filter(|path| host::is_folder(path)).ok_or_else(missing)?;
    if has_manifest(&path) {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?.to_owned();
        let parent = path.parent().unwrap_or(&path);
        return Ok(vec![(root_at(app, tools, parent)?, name)]);
    }
    let mut found = all(&root_at(app, tools, &path)?);
    for below in WORKSPACE_ROOTS.map(|root| path.join(root)) {
        // A link may lead one to the other.
        if let Some(below) = host::real_path(&below).filter(|below| host::is_folder(below)) {
            found.extend(all(&root_at(app, tools, &below)?));
        }
    }
    if found.is_empty() {
        let what = format!("{} is no tool's folder and holds none: there is no tool.json", path.display());
        return Err(Trouble::usage(what, FIX).into());
    }
    Ok(found)
}

/// A module, or why it can't be read, with the folder of tools that it is in.
type Module = (CommandRoot, Result<ScriptModule, Problem>);

/// The modules of that name, of which there may be one in each root and of each ending, or the one that a path leads to.
fn named(app: &App, tools: &Tools, what: Option<&str>) -> anyhow::Result<Vec<Module>> {
    let Some(what) = what else { return Ok(Vec::new()) };
    let is_name = !what.contains('/') && what != "." && what != "..";
    let of_roots = tools.roots().into_iter().filter(|_| is_name).flat_map(|root| modules_in(tools, &root));
    let is_meant = |(_, module): &Module| module.as_ref().is_ok_and(|module| module.name == what);
    let meant: Vec<Module> = of_roots.filter(is_meant).collect();
    if !meant.is_empty() {
        return Ok(meant);
    }
    let Some(path) = host::real_path(&host::current_dir()?.join(what)) else { return Ok(Vec::new()) };
    let is_other_file = host::is_file(&path) && !is_source_file(&path);
    if is_other_file || has_manifest(&path) {
        return Ok(Vec::new());
    }
    let shown = path.strip_prefix(&app.workspace).unwrap_or(&path).to_string_lossy().into_owned();
    let at = tools.files().resolve(&PathArg(path.to_string_lossy().into_owned()))?;
    let root = root_at(app, tools, path.parent().unwrap_or(&path))?;
    Ok(read(tools, &root, (&at, &shown)).map(|module| (root, module)).into_iter().collect())
}

/// All modules of the folders of tools in use, or of those at a path.
fn modules(app: &App, tools: &Tools, what: Option<&str>) -> anyhow::Result<Vec<Module>> {
    let Some(what) = what else {
        return Ok(tools.roots().iter().flat_map(|root| modules_in(tools, root)).collect());
    };
    let mut found = Vec::new();
    let Some(path) = host::real_path(&host::current_dir()?.join(what)) else { return Ok(found) };
    // A folder with a manifest is a tool of another kind, whatever lies in it.
    if has_manifest(&path) {
        return Ok(found);
    }
    for folder in std::iter::once(path.clone()).chain(WORKSPACE_ROOTS.map(|root| path.join(root))) {
        if let Some(folder) = host::real_path(&folder).filter(|folder| host::is_folder(folder)) {
            found.extend(modules_in(tools, &root_at(app, tools, &folder)?));
        }
    }
    Ok(found)
}

/// One module, or why it can't be read; none where there is none.
fn read(
    tools: &Tools,
    root: &CommandRoot,
    (at, shown): (&RealPath, &str),
) -> Option<Result<ScriptModule, Problem>> {
    match load_module(tools.files(), at, shown) {
        Ok(module) => module.map(Ok),
        Err((path, text)) => Some(Err(unreadable(root, (path, text, "make it readable".to_owned())))),
    }
}

fn modules_in(tools: &Tools, root: &CommandRoot) -> Vec<Module> {
    let Discovered { modules, faults } = discover(tools.files(), &root.path, &root.shown);
    let faults = faults.into_iter().map(|fault| Err(unreadable(root, fault)));
    modules.into_iter().map(Ok).chain(faults).map(|module| (root.clone(), module)).collect()
}

fn unreadable(root: &CommandRoot, (path, text, fix): (String, String, String)) -> Problem {
    Problem {
        source: owner_of(root),
        path: Some(path),
        line: Some(1),
        text: format!("the module can't be read: {text}"),
        fix,
    }
}

fn one_module(
    tools: &Tools,
    root: &CommandRoot,
    module: Result<ScriptModule, Problem>,
    findings: &mut Findings,
) {
    let module = match module {
        Ok(module) => module,
        Err(problem) => {
            findings.problems.push(problem);
            findings.set_aside += 1;
            return;
        }
    };
    let owner = owner_of(root);
    for module in tools.scripts().found(&owner, vec![module]) {
        findings.problems.extend(module.problems);
        findings.set_aside += module.set_aside;
        let mut names = BTreeSet::new();
        for found in module.found {
            let name = found.tool.spec().model_name();
            let key = (owner.clone(), Arc::clone(&name));
            let before = findings.modules.insert(key, Arc::clone(&found.hash));
            let is_second = !names.insert(Arc::clone(&name)) || before.is_some_and(|hash| hash != found.hash);
            match refused(tools, &owner, &found).or_else(|| is_second.then(|| found.twice(&owner, &name))) {
                None => findings.usable.push(name.to_string()),
                Some(problem) => {
                    findings.problems.push(problem);
                    findings.set_aside += 1;
                }
            }
        }
    }
}

/// Why a module's tool isn't the one of its name.
fn refused(tools: &Tools, owner: &str, found: &Found) -> Option<Problem> {
    let name = found.tool.spec().model_name();
    let error = match tools.catalogue.snapshot().get(&name) {
        // That of another file of the same folder, or of this one before its last change.
        Some(offer) if offer.owner.as_ref() == owner => {
            return (offer.hash.as_ref() != Some(&found.hash)).then(|| found.twice(owner, &name));
        }
        Some(offer) => RegisterError::Taken { tool: name.to_string(), owner: offer.owner.to_string() },
        None => tools.catalogue.register(Arc::clone(&found.tool), owner).err()?,
    };
    Some(found.refused(owner, &error))
}

/// The known root of that path, or one made for it.
fn root_at(app: &App, tools: &Tools, path: &Path) -> anyhow::Result<CommandRoot> {
    let real = tools.files().resolve(&PathArg(path.to_string_lossy().into_owned()))?;
    if let Some(known) = tools.roots().into_iter().find(|root| root.path.absolute() == real.absolute()) {
        return Ok(known);
    }
    let shown =
        path.strip_prefix(&app.workspace).ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path);
    Ok(CommandRoot::new(real, shown.to_string_lossy()))
}

fn folder(root: &CommandRoot, name: &str) -> PathBuf {
    PathBuf::from(root.path.absolute()).join(name)
}

/// Every folder of a root that has a manifest.
fn all(root: &CommandRoot) -> Vec<(CommandRoot, String)> {
    let names = host::folder_names(Path::new(&root.path.absolute())).unwrap_or_default();
    names
        .into_iter()
        .filter(|name| has_manifest(&folder(root, name)))
        .map(|name| (root.clone(), name))
        .collect()
}

/// Whether there is a manifest, be it one that can't be read.
fn has_manifest(folder: &Path) -> bool {
    match host::folder_names(folder) {
        Ok(names) => names.iter().any(|name| name == MANIFEST),
        // No folder, or one whose names can't be listed.
        Err(_) => host::is_file(&folder.join(MANIFEST)),
    }
}

fn one(tools: &Tools, root: &CommandRoot, name: &str, findings: &mut Findings) {
    let (tool, problems) = load_folder(tools.files(), root, name);
    if tool.is_none() && problems.is_empty() {
        findings.problems.push(Problem {
            source: root.owner.clone(),
            path: Some(format!("{}/{name}/{MANIFEST}", root.shown)),
            line: None,
            text: format!("{MANIFEST} can't be read"),
            fix: "make it a readable, regular file".to_owned(),
        });
    }
    findings.problems.extend(problems);
    match tool {
        None => findings.set_aside += 1,
        Some(tool) => match registered(tools, root, &tool) {
            Ok(()) => findings.usable.push(name.to_owned()),
            Err(problem) => {
                findings.problems.push(problem);
                findings.set_aside += 1;
            }
        },
    }
}

/// Whether the catalogue takes it; a name that somebody else has is no usable one.
fn registered(tools: &Tools, root: &CommandRoot, tool: &CommandTool) -> Result<(), Problem> {
    let spec = haft_core::AnyTool::spec(tool);
    let name = spec.model_name();
    let (text, fix) = match tools.catalogue.snapshot().get(&name) {
        Some(offer) if offer.owner.as_ref() == root.owner => return Ok(()),
        Some(offer) if offer.is_core() => (
            format!("\"{name}\" hides a built-in: the built-in wins, and this folder is set aside"),
            "choose another name for the tool and its folder",
        ),
        Some(offer) => {
            let taken = RegisterError::Taken { tool: name.to_string(), owner: offer.owner.to_string() };
            (taken.to_string(), "choose another name for the tool and its folder")
        }
        // Not one of the roots in use: then what the catalogue says of it.
        None if !spec.enabled => return Ok(()),
        None => match tools.catalogue.register(Arc::new(tool.clone()), &root.owner) {
            Ok(_) => return Ok(()),
            Err(error) => (error.to_string(), "correct the manifest"),
        },
    };
    Err(Problem {
        source: root.owner.clone(),
        path: Some(tool.path().to_owned()),
        line: Some(tool.name_line()),
        text,
        fix: fix.to_owned(),
    })
}
