//! One extension being read anew: its manifest, its code, what it registers, and what is put in the place of what it
//! registered before.
//!
//! What it was stays until what it is can take its place, in one step. Keeps the invariant "one bad extension never takes
//! others down", and a broken change of one loosens nothing that it tightened.

use super::{
    super::{
        approved,
        scripts::{OfModule, Scripts, fault_of, found_of},
    },
    ExtensionRoot,
    kept::{Kept, Written},
    manifest_in,
    standing::Standing,
    stored::{Secrets, Stored},
};
use haft_core::{Files, PathArg, RealPath};
use haft_runtime::{
    Catalogue, Handle, Problem, RegisterError, Registrar,
    hooks::{HookEvent, Matcher},
    source::{
        ExtensionManifest, Found,
        command::{CommandFolders, CommandRoot, HostedTools, JsRuntime, ManifestText},
        parse_extension,
    },
};
use haft_script::{
    Activated, Declared, DeclaredCommand, DeclaredHook, Extension, ExtensionAbout, ScriptTool, activate_once,
    load_main, tightened,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub(in crate::app) const MANIFEST: &str = "extension.json";
const MANIFEST_MAX_BYTES: usize = 1 << 20;
/// The main file of one that names none.
const MAIN: &str = "main";
/// What an extension can be granted, and what other hosts call it.
const GRANTS: [(&str, &[&str]); 3] = [
    ("storage", &["storage"]),
    ("secrets", &["secrets"]),
    ("http", &["http", "network", "net.outbound", "fetch"]),
];
/// What becomes of what a broken extension tightened.
const STAYS: &str =
    "what it tightened and hears of stays as it was before, until it works again or its folder is removed";

/// The field of a change that models read.
const DESCRIPTION: &str = "description";
/// Why one only tightens.
const UNSEEN: &str = "and nobody has approved this extension as it is";
/// How long the name of a command may be, and how many one extension has.
const COMMAND_MAX_CHARS: usize = 64;
const COMMANDS_MAX: usize = 100;
/// What would make one count in a workspace that isn't trusted.
const LOOK: &str = "look at it, and run `haft trust` if it is what you want; else remove its folder";

/// One extension being read.
pub(super) struct One<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) files: &'a dyn Files,
    pub(super) scripts: &'a Scripts,
    pub(super) root: &'a ExtensionRoot,
    pub(super) owner: &'a str,
    pub(super) secrets: &'a Secrets,
}

/// An extension as its folder has it.
pub(super) struct Read {
    pub(super) manifest: ExtensionManifest,
    pub(super) text: String,
    /// Its folder, links followed.
    pub(super) folder: RealPath,
    /// Its manifest, as it is shown to people.
    pub(super) path: String,
}

/// Its code, where it has some, and what that registers.
type Asked = (Option<Arc<Extension>>, Activated);

/// What there was at the last look, by owner.
pub(super) type Before = BTreeMap<String, Kept>;

impl One<'_> {
    /// What is registered of it; what was before stays where nothing changed.
    pub(super) fn kept(&self, before: &mut Before, folder: &RealPath) -> Option<Kept> {
        // One of that id in another folder is another extension.
        let is_own = before.get(self.owner).is_some_and(|kept| kept.folder == *folder);
        let own = if is_own { before.remove(self.owner) } else { None };
        match (self.read(folder), own) {
            (Ok(Some(read)), own) => {
                let kept = own.unwrap_or_else(|| Kept::new(folder.clone(), self.root.hears));
                Some(self.renewed(kept, &read, before))
            }
            (Ok(None), own) => {
                own.iter().for_each(Kept::retire);
                None
            }
            (Err(problems), Some(mut own)) => {
                own.written = own.written.left(None, self.root.standing(self.id(), None));
                Some(self.broken(own, problems))
            }
            (Err(problems), None) => {
                self.catalogue.report(self.owner, problems);
                None
            }
        }
    }

    /// What is registered of it as it is now.
    fn renewed(&self, mut kept: Kept, read: &Read, before: &mut Before) -> Kept {
        let extension = self.extension(read);
        let code = extension.as_ref().ok().and_then(Option::as_ref);
        let code = code.map(|extension| Arc::clone(&extension.module().hash));
        let mut problems = read.manifest.warnings.clone();
        let known = self.known(read, code, &mut problems);
        let hash = match &extension {
            Err(_) => None,
            // What its tools run may have changed all the same.
            Ok(None) if read.manifest.runtime.is_some() => None,
            Ok(None) if !read.manifest.needs_its_files() => {
                Some(haft_core::content_hash(read.text.as_bytes()))
            }
            Ok(_) => known.approval.clone(),
        };
        if hash.is_some() && kept.hash == hash {
            // Command tools in it may have changed all the same.
            kept.sync_folders(self.catalogue, self.files);
            return kept;
        }
        let written = self.written(read, known, &mut problems);
        let folders = self.folders(read, std::mem::take(&mut kept.folders));
        let asked = extension.and_then(|extension| {
            let activated = self.activated(read, extension.as_ref())?;
            Ok((extension, activated))
        });
        let mut kept = match asked {
            Ok(asked) => {
                kept.written = written;
                Kept { hash, ..self.registered(kept, read, (asked, problems, before)) }
            }
            Err(problem) => {
                problems.push(problem);
                kept.written = if kept.written.hooks.is_empty() {
                    Written { skills: Vec::new(), ..written }
                } else {
                    kept.written.left(written.approval, written.standing)
                };
                self.broken(kept, problems)
            }
        };
        kept.folders = folders;
        kept.sync_folders(self.catalogue, self.files);
        kept
    }

    /// Puts what it registers in the place of what it registered before, and of one in another folder, in one step.
    fn registered(
        &self,
        mut kept: Kept,
        read: &Read,
        ((extension, activated), mut problems, before): (Asked, Vec<Problem>, &mut Before),
    ) -> Kept {
        let found = match (&extension, read.manifest.runtime) {
            (Some(extension), _) => self.tools(read, (extension, &activated.tools), &mut problems),
            (None, Some(runtime)) => self.hosted(read, runtime, &mut problems),
            (None, None) => Vec::new(),
        };
        let standing = kept.written.standing;
        problems.extend(activated.hooks.iter().filter_map(|hook| self.unheard(read, hook)));
        let tools = match read.manifest.runtime {
            Some(_) => read.manifest.asleep().len(),
            None => activated.tools.len(),
        };
        let replaced = before.remove(self.owner);
        let old = std::mem::replace(&mut kept.extension, extension);
        for old in old.iter().chain(replaced.iter().filter_map(|kept| kept.extension.as_ref())) {
            old.retire();
        }
        kept.take_in(activated, standing);
        (kept.declared, kept.permissions) = (tools, read.manifest.permissions.clone());
        problems.extend(self.unfit(read, &mut kept.commands));
        problems.extend(self.unseen(read, &kept));
        // Nobody sees what it changed of others without the one or the other.
        let _together = self.catalogue.hold();
        drop(replaced);
        kept.changes.clear();
        kept.changes = self.changes(read, &kept, &mut problems);
        kept.registered.sync(self.catalogue, self.owner, (found, problems));
        kept
    }

    /// It can't be used as it is now: its tools go, and what it tightened stays.
    fn broken(&self, mut kept: Kept, mut problems: Vec<Problem>) -> Kept {
        if kept.tightens()
            && let Some(problem) = problems.last_mut()
        {
            problem.text = format!("{}; {STAYS}", problem.text);
        }
        (kept.hash, kept.is_broken) = (None, true);
        kept.folders.clear();
        kept.registered.sync(self.catalogue, self.owner, (Vec::new(), problems));
        kept
    }

    /// Its manifest; none where the folder holds no extension.
    fn read(&self, folder: &RealPath) -> Result<Option<Read>, Vec<Problem>> {
        let id = folder.file_name();
        let path = format!("{}/{id}/{MANIFEST}", self.root.shown);
        let unreadable = |text: String| {
            let fix = "make it a readable UTF-8 file of at most 1 MiB";
            vec![problem(self.owner, (path.clone(), text, fix))]
        };
        let folder =
            self.files.resolve(&PathArg(folder.absolute())).map_err(|failure| unreadable(failure.text))?;
        let Some(at) = manifest_in(self.files, &folder).map_err(|failure| unreadable(failure.text))? else {
            return Ok(None);
        };
        let bytes = self.files.read(&at, 0, MANIFEST_MAX_BYTES + 1);
        let bytes = bytes.map_err(|failure| unreadable(failure.text))?;
        if bytes.len() > MANIFEST_MAX_BYTES {
            return Err(unreadable("the manifest is longer than 1 MiB".to_owned()));
        }
        let text = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
        let from = ManifestText { text: &text, folder: id, path: &path, owner: self.owner };
        let manifest = parse_extension(&from)?;
        Ok(Some(Read { manifest, text, folder, path }))
    }

    /// Its code; none where it has none.
    fn extension(&self, read: &Read) -> Result<Option<Arc<Extension>>, Problem> {
        let Some(main) = &read.manifest.main else { return Ok(None) };
        if read.manifest.runtime.is_some() {
            return Ok(None);
        }
        let shown = format!("{}/{}", self.root.shown, read.manifest.id);
        let loaded = load_main(self.files, &read.folder, (main, &shown), (MANIFEST, &read.text));
        let module = loaded.map_err(|text| {
            problem(self.owner, (read.path.clone(), text, "correct \"main\", or the file it names"))
        })?;
        let asks = |names: &[&str]| names.iter().any(|name| read.manifest.permissions.contains(*name));
        let grants = GRANTS.iter().filter(|(_, names)| asks(names)).map(|(grant, _)| (*grant).to_owned());
        let core = self
            .catalogue
            .snapshot()
            .offers()
            .filter(|offer| offer.is_core())
            .map(|offer| offer.name.to_string())
            .collect();
        let about = ExtensionAbout {
            id: read.manifest.id.clone(),
            name: read.manifest.name.clone(),
            version: read.manifest.version.clone(),
            grants: grants.collect(),
            core,
        };
        let store = Stored::of(&read.manifest.id, &self.scripts.state, self.secrets);
        Ok(Some(Extension::new(&self.scripts.engine, module, (about, Arc::new(store)))))
    }

    /// What it registers; of one that waits to be woken, what its manifest says.
    fn activated(&self, read: &Read, extension: Option<&Arc<Extension>>) -> Result<Activated, Problem> {
        let Some(extension) = extension else { return Ok(Activated::default()) };
        if read.manifest.is_lazy {
            let asleep = read.manifest.asleep().into_iter();
            let tools = asleep.map(|data| Declared { data, functions: BTreeSet::new() });
            let named = |name: &String| DeclaredCommand { name: name.clone(), description: String::new() };
            let commands = read.manifest.commands.iter().map(named).collect();
            return Ok(Activated { tools: tools.collect(), commands, ..Activated::default() });
        }
        activate_once(extension, Some(self.scripts.state.as_ref())).map_err(|fault| {
            fault_of(self.owner, extension.module(), ("the extension can't be activated", fault))
        })
    }

    /// Its tools, each as the manifest has it where the manifest says something.
    fn tools(
        &self,
        read: &Read,
        (extension, tools): (&Arc<Extension>, &[Declared]),
        problems: &mut Vec<Problem>,
    ) -> Vec<Found> {
        let said = |tool: &Declared| Declared {
            data: read.manifest.over(&tool.data),
            functions: tool.functions.clone(),
        };
        let tools = tools.iter().map(said).collect();
        let made = |tool| ScriptTool::of_extension(extension, tool);
        let OfModule { found, problems: faults, .. } = found_of(self.owner, extension.module(), tools, made);
        problems.extend(faults);
        found
    }

    /// The tools of one whose main file runs under a runtime of the user's: what its manifest says of them.
    fn hosted(&self, read: &Read, runtime: JsRuntime, problems: &mut Vec<Problem>) -> Vec<Found> {
        let Read { manifest, text, folder, path } = read;
        let from = ManifestText { text, folder: &manifest.id, path, owner: self.owner };
        let main = manifest.main.as_deref().unwrap_or(MAIN);
        let tools = manifest.asleep().iter().map(|tool| manifest.over(tool)).collect();
        let loaded = HostedTools { runtime, main, id: &manifest.id, folder, tools }.load(self.files, &from);
        problems.extend(loaded.problems);
        let found = loaded.tools.into_iter().map(|tool| Found {
            hash: Arc::clone(tool.hash()),
            path: tool.path().to_owned(),
            line: tool.name_line(),
            tool: Arc::new(tool),
        });
        found.collect()
    }

    /// What it changes of others' tools, as far as the catalogue lets it.
    fn changes(&self, read: &Read, kept: &Kept, problems: &mut Vec<Problem>) -> Vec<Handle> {
        let by = Registrar::External { id: self.owner.to_owned(), mutates: read.manifest.mutates.clone() };
        let mut handles = Vec::new();
        for change in &kept.wanted {
            let name = &change.name;
            let changed = if change.removes {
                self.catalogue.remove(name, &by)
            } else {
                let mut how = change.how.clone();
                // Other words for a model are no tightening.
                if kept.standing == Standing::Unseen
                    && let Some(how) = how.as_object_mut()
                {
                    how.remove(DESCRIPTION);
                }
                self.catalogue.wrap(name, &by, move |tool| tightened(tool, &how))
            };
            match changed {
                Ok(handle) => handles.push(handle),
                Err(error) => problems.push(self.refused(read, &error)),
            }
        }
        handles
    }

    /// Takes out those of its commands that nobody can type, and those that are too many.
    fn unfit(&self, read: &Read, commands: &mut Vec<DeclaredCommand>) -> Vec<Problem> {
        let mut texts = Vec::new();
        commands.retain(|command| {
            let is_fit = is_typed(&command.name);
            if !is_fit {
                let name: String = command.name.chars().take(COMMAND_MAX_CHARS).collect();
                texts.push(format!("the command \"{name}\" can't be typed, so that nobody is offered it"));
            }
            is_fit
        });
        if commands.len() > COMMANDS_MAX {
            let left_out = commands.len() - COMMANDS_MAX;
            commands.truncate(COMMANDS_MAX);
            texts.push(format!(
                "{left_out} of its commands aren't offered, since it has more than {COMMANDS_MAX}"
            ));
        }
        let fix = "give it a name of letters, digits, -, _ and ., and only as many as people can choose from";
        texts.into_iter().map(|text| problem(self.owner, (read.path.clone(), text, fix))).collect()
    }

    /// A hook that is never heard, or never works.
    fn unheard(&self, read: &Read, hook: &DeclaredHook) -> Option<Problem> {
        let (text, fix) = if HookEvent::parse(&hook.event).is_none() {
            let known = HookEvent::ALL.map(HookEvent::name).join(", ");
            let text = format!("\"{}\" is not an event: its hook is never heard", hook.event);
            (text, format!("register it for one of {known}"))
        } else {
            let why = Matcher::parse(&hook.matcher).err()?;
            let text = format!("a hook for {} never works: {why}", hook.event);
            (text, "write a tool's name, names with | between them, or a regular expression".to_owned())
        };
        Some(problem(self.owner, (read.path.clone(), text, fix.as_str())))
    }

    /// What of it is passed over, or is worth knowing, as long as nobody has approved it as it is.
    fn unseen(&self, read: &Read, kept: &Kept) -> Vec<Problem> {
        if kept.standing != Standing::Unseen {
            return Vec::new();
        }
        let mut texts = Vec::new();
        if self.root.hears && !kept.hooks.is_empty() {
            texts.push(format!("its hooks can only ask and deny, {UNSEEN}"));
        }
        if self.root.hears && !kept.written.hooks.is_empty() {
            texts.push(format!("the hooks of its manifest aren't run, {UNSEEN}"));
        }
        if !kept.written.skills.is_empty() {
            texts.push(format!("models aren't told of its skills, {UNSEEN}"));
        }
        for change in &kept.wanted {
            let name = &change.name;
            if change.removes {
                texts.push(format!("it hides the tool \"{name}\", {UNSEEN}"));
            } else if change.how.get(DESCRIPTION).is_some_and(Value::is_string) {
                texts.push(format!("what it says to models of the tool \"{name}\" is left out, {UNSEEN}"));
            }
        }
        let fix = if self.root.hears { approved::FIX } else { LOOK };
        texts.into_iter().map(|text| problem(self.owner, (read.path.clone(), text, fix))).collect()
    }

    fn refused(&self, read: &Read, error: &RegisterError) -> Problem {
        let fix = "declare \"toolMutateCapabilities\" that the tool has, and only tighten it";
        problem(self.owner, (read.path.clone(), error.to_string(), fix))
    }

    /// The folders of command tools in it; those that were there stay, with their tools.
    fn folders(&self, read: &Read, mut before: Vec<CommandFolders>) -> Vec<CommandFolders> {
        let mut folders = Vec::new();
        for below in &read.manifest.command_tools {
            let root = self.commands(read, below);
            let known = before
                .iter()
                .position(|known| known.root().path == root.path && known.root().shown == root.shown);
            folders.push(known.map_or_else(|| CommandFolders::new(root), |at| before.swap_remove(at)));
        }
        folders
    }

    /// A folder of command tools in it.
    fn commands(&self, read: &Read, below: &str) -> CommandRoot {
        let path = path_below(&read.folder, below);
        let shown = format!("{}/{}/{}", self.root.shown, read.manifest.id, below.trim_start_matches("./"));
        CommandRoot::new(path, shown)
    }

    /// The extension's id.
    fn id(&self) -> &str {
        super::id_of(self.owner)
    }
}

/// What a manifest names in its folder; nothing of it leads out.
pub(super) fn path_below(folder: &RealPath, named: &str) -> RealPath {
    named
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .fold(folder.clone(), |path, part| path.join(part))
}

/// Whether the name of a command can be typed after a slash, and is told from one with an extension's name before it.
fn is_typed(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_part)
        && name.chars().count() <= COMMAND_MAX_CHARS
}

pub(super) fn problem(owner: &str, (path, text, fix): (String, String, &str)) -> Problem {
    Problem { source: owner.to_owned(), path: Some(path), line: Some(1), text, fix: fix.to_owned() }
}
