//! Extensions of a workspace and of the user: found, asked what they register, and kept in step with their folders.

use super::{App, scripts::Scripts};
use haft_core::{BoxFuture, Credential, Failure, Files, PathArg, RealPath, StateFolder};
use haft_runtime::{
    Catalogue, Handle, Problem, RegisterError, Registrar,
    hooks::{Handler, Hook, HookEvent, HookHandler, Matcher},
    source::{
        ExtensionManifest, Found, Registered,
        command::{CommandFolders, CommandRoot, ManifestText, declared, line_of},
        parse_extension,
    },
};
use haft_script::{
    Activated, Declared, DeclaredChange, DeclaredHook, Extension, ExtensionAbout, ExtensionStore, ModuleTool,
    ScriptTool, activate_once, load_main, tightened,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Where a workspace's extensions are.
pub(super) const WORKSPACE_ROOT: &str = ".haft/extensions";
const MANIFEST: &str = "extension.json";
const MANIFEST_MAX_BYTES: usize = 1 << 20;
/// How many extensions of one folder are read.
const EXTENSIONS_MAX: usize = 200;
/// What one extension may keep.
const STORED_MAX_BYTES: usize = 1 << 20;
/// What an extension can be granted, and what other hosts call it.
const GRANTS: [(&str, &[&str]); 3] = [
    ("storage", &["storage"]),
    ("secrets", &["secrets"]),
    ("http", &["http", "network", "net.outbound", "fetch"]),
];

/// A folder of extensions.
pub(super) struct ExtensionRoot {
    pub(super) path: RealPath,
    /// How it is shown to people.
    pub(super) shown: String,
    /// Whether hooks of its extensions count.
    pub(super) hears: bool,
}

/// All extensions that are there.
pub(super) struct Extensions {
    roots: Vec<ExtensionRoot>,
    kept: BTreeMap<String, Kept>,
    /// Owners and folders of all that were found, also of those that can't be used.
    seen: Vec<(String, RealPath)>,
    secrets: Secrets,
}

/// One extension, and what is registered of it. What it changes of others goes when this is dropped.
struct Kept {
    /// Of all its files.
    hash: Arc<str>,
    extension: Option<Arc<Extension>>,
    hooks: Vec<DeclaredHook>,
    hears: bool,
    folders: Vec<CommandFolders>,
    _registered: Registered,
    _changes: Vec<Handle>,
}

/// An extension as its folder has it.
struct Read {
    manifest: ExtensionManifest,
    text: String,
    folder: RealPath,
    /// Its manifest, as it is shown to people.
    path: String,
}

impl Extensions {
    pub(super) fn new(app: &App, files: &dyn Files) -> Self {
        let user = app.home.extensions.to_string_lossy().into_owned();
        let own = (
            format!("{}/{WORKSPACE_ROOT}", app.place.workspace),
            WORKSPACE_ROOT.to_owned(),
            app.place.trusted,
        );
        let roots = [own, (user.clone(), user, true)].into_iter().filter_map(|(path, shown, hears)| {
            let path = files.resolve(&PathArg(path)).ok()?;
            Some(ExtensionRoot { path, shown, hears })
        });
        let passed: BTreeSet<String> = app.settings.pass_env.iter().map(|set| set.value.clone()).collect();
        let given = app.settings.set_env.iter().map(|(name, set)| (name.clone(), set.value.clone()));
        let given: BTreeMap<String, Credential> = given.collect();
        let keys = app.keys.clone();
        let secrets = move |name: &str| {
            let of_passed = || passed.contains(name).then(|| Credential::Variable(name.to_owned()));
            let credential = given.get(name).cloned().or_else(of_passed)?;
            keys.find(&credential).ok().map(|secret| secret.reveal().to_owned())
        };
        Self { roots: roots.collect(), kept: BTreeMap::new(), seen: Vec::new(), secrets: Arc::new(secrets) }
    }

    /// Its folders.
    pub(super) fn paths(&self) -> impl Iterator<Item = &RealPath> {
        self.roots.iter().map(|root| &root.path)
    }

    /// Owners and folders of all that were found, also of those that can't be used.
    pub(super) fn seen(&self) -> &[(String, RealPath)] {
        &self.seen
    }

    /// Reads the folders anew: what is new or changed is asked what it registers, what is gone goes. Blocking.
    pub(super) fn sync(&mut self, catalogue: &Catalogue, files: &dyn Files, scripts: &Scripts) {
        let mut before = std::mem::take(&mut self.kept);
        self.seen.clear();
        for root in &self.roots {
            let listing = files.list(&root.path, EXTENSIONS_MAX).unwrap_or_default();
            for entry in &listing.entries {
                let id = entry.path.file_name();
                if id.starts_with('.') {
                    continue;
                }
                let owner = owner_of(id);
                if self.kept.contains_key(&owner) {
                    let text =
                        format!("there is an extension \"{id}\" in the workspace already, which is used");
                    let problem = problem(
                        &owner,
                        (format!("{}/{id}/{MANIFEST}", root.shown), text, "rename the folder"),
                    );
                    catalogue.report(&format!("{owner} of {}", root.shown), vec![problem]);
                    continue;
                }
                if files.peek(&entry.path.join(MANIFEST)).is_some() {
                    self.seen.push((owner.clone(), entry.path.clone()));
                }
                let one = One { catalogue, files, scripts, root, owner: &owner };
                let kept = one.kept(before.remove(&owner), (&entry.path, &self.secrets));
                self.kept.extend(kept.map(|kept| (owner, kept)));
            }
        }
        for (owner, gone) in before {
            catalogue.report(&owner, Vec::new());
            gone.retire();
        }
    }

    /// The hooks that extensions register, of those that may hear of calls.
    pub(super) fn hooks(&self) -> Vec<Hook> {
        let heard = self.kept.values().filter(|kept| kept.hears);
        heard.flat_map(|kept| kept.hooks.iter().filter_map(|hook| kept.hook(hook))).collect()
    }
}

impl Kept {
    fn sync_folders(&mut self, catalogue: &Catalogue, files: &dyn Files) {
        for folder in &mut self.folders {
            folder.sync(catalogue, files);
        }
    }

    fn retire(&self) {
        if let Some(extension) = &self.extension {
            extension.retire();
        }
    }

    fn hook(&self, declared: &DeclaredHook) -> Option<Hook> {
        let extension = Arc::clone(self.extension.as_ref()?);
        let (event, matcher) = (HookEvent::parse(&declared.event)?, Matcher::parse(&declared.matcher).ok()?);
        let source = extension.module().shown.clone();
        let handler = Handler::Rust(Arc::new(OfExtension { extension, number: declared.number }));
        Some(Hook {
            name: format!("{} of {source}", declared.event),
            matcher,
            source: Some(source),
            ..Hook::new(event, handler)
        })
    }
}

/// A hook in an extension's child.
struct OfExtension {
    extension: Arc<Extension>,
    number: u64,
}

impl HookHandler for OfExtension {
    fn handle(&self, input: Value) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(async move { self.extension.hook(self.number, &input).await })
    }
}

/// Who owns what an extension registers.
pub(crate) fn owner_of(id: &str) -> String {
    format!("extension:{id}")
}

/// One extension being read.
struct One<'a> {
    catalogue: &'a Catalogue,
    files: &'a dyn Files,
    scripts: &'a Scripts,
    root: &'a ExtensionRoot,
    owner: &'a str,
}

type Secrets = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl One<'_> {
    /// What is registered of it; what was before stays where nothing changed.
    fn kept(&self, before: Option<Kept>, (folder, secrets): (&RealPath, &Secrets)) -> Option<Kept> {
        let read = match self.read(folder) {
            Ok(read) => read?,
            Err(problems) => {
                before.iter().for_each(Kept::retire);
                self.catalogue.report(self.owner, problems);
                return None;
            }
        };
        let mut problems = read.manifest.warnings.clone();
        let extension = self.extension(&read, secrets).unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
        let of_manifest = || haft_core::content_hash(read.text.as_bytes());
        let hash =
            extension.as_ref().map_or_else(of_manifest, |extension| Arc::clone(&extension.module().hash));
        if let Some(mut kept) = before {
            if kept.hash == hash {
                // Command tools in it may have changed all the same.
                kept.sync_folders(self.catalogue, self.files);
                return Some(kept);
            }
            kept.retire();
        }
        let activated = self.activated(&read, extension.as_ref()).unwrap_or_else(|problem| {
            problems.push(problem);
            Activated::default()
        });
        let changes = self.changes(&read, &activated.changes, &mut problems);
        let found = match &extension {
            Some(extension) => self.tools(&read, (extension, &activated.tools), &mut problems),
            None => Vec::new(),
        };
        let mut registered = Registered::default();
        registered.sync(self.catalogue, self.owner, (found, problems));
        let mut kept = Kept {
            hash,
            extension,
            hooks: activated.hooks,
            hears: self.root.hears,
            folders: read.manifest.command_tools.iter().map(|below| self.commands(&read, below)).collect(),
            _registered: registered,
            _changes: changes,
        };
        kept.sync_folders(self.catalogue, self.files);
        Some(kept)
    }

    /// Its manifest; none where the folder holds no extension.
    fn read(&self, folder: &RealPath) -> Result<Option<Read>, Vec<Problem>> {
        let id = folder.file_name();
        let path = format!("{}/{id}/{MANIFEST}", self.root.shown);
        let unreadable = |text: String| {
            vec![problem(self.owner, (path.clone(), text, "make it a readable UTF-8 file of at most 1 MiB"))]
        };
        let real = |at: &RealPath| self.files.resolve(&PathArg(at.absolute()));
        let folder = real(folder).map_err(|failure| unreadable(failure.text))?;
        let at = folder.join(MANIFEST);
        if self.files.peek(&at).is_none() {
            return Ok(None);
        }
        let bytes = real(&at).and_then(|at| self.files.read(&at, 0, MANIFEST_MAX_BYTES + 1));
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
    fn extension(&self, read: &Read, secrets: &Secrets) -> Result<Option<Arc<Extension>>, Problem> {
        let Some(main) = &read.manifest.main else { return Ok(None) };
        let shown = format!("{}/{}", self.root.shown, read.manifest.id);
        let module = load_main(self.files, &read.folder, (main, &shown)).map_err(|text| {
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
        let store = Stored {
            state: Arc::clone(&self.scripts.state),
            file: format!("extensions/{}.json", read.manifest.id),
            secrets: Arc::clone(secrets),
        };
        Ok(Some(Extension::new(&self.scripts.engine, module, (about, Arc::new(store)))))
    }

    /// What it registers; of one that waits to be woken, what its manifest says.
    fn activated(&self, read: &Read, extension: Option<&Arc<Extension>>) -> Result<Activated, Problem> {
        let Some(extension) = extension else { return Ok(Activated::default()) };
        if read.manifest.is_lazy {
            let tools =
                read.manifest.wakes.iter().chain(read.manifest.metadata.keys()).collect::<BTreeSet<_>>();
            let tools = tools
                .into_iter()
                .map(|name| Declared { data: asleep(name, read), functions: BTreeSet::new() });
            return Ok(Activated { tools: tools.collect(), ..Activated::default() });
        }
        activate_once(extension, Some(self.scripts.state.as_ref())).map_err(|fault| Problem {
            source: self.owner.to_owned(),
            path: Some(extension.module().shown.clone()),
            line: Some(fault.line.unwrap_or(1)),
            text: format!("the extension can't be activated: {}", fault.text),
            fix: fault.fix,
        })
    }

    /// Its tools, each as the manifest has it where the manifest says something.
    fn tools(
        &self,
        read: &Read,
        (extension, tools): (&Arc<Extension>, &[Declared]),
        problems: &mut Vec<Problem>,
    ) -> Vec<Found> {
        let module = extension.module();
        let from = ManifestText {
            text: module.text(),
            folder: &read.manifest.id,
            path: &module.shown,
            owner: self.owner,
        };
        let mut found = Vec::new();
        for Declared { data, functions } in tools {
            match declared(&from, over(data, &read.manifest.metadata)) {
                Ok((spec, warnings)) => {
                    problems.extend(warnings);
                    let name = spec.name.to_string();
                    let line = line_of(module.text(), &name);
                    let tool = ModuleTool { spec, name, functions: functions.clone() };
                    found.push(Found {
                        tool: Arc::new(ScriptTool::of_extension(extension, tool)),
                        hash: Arc::clone(&module.hash),
                        path: module.shown.clone(),
                        line,
                    });
                }
                Err(faults) => problems.extend(faults),
            }
        }
        found
    }

    /// What it changes of others' tools, as far as the catalogue lets it.
    fn changes(&self, read: &Read, changes: &[DeclaredChange], problems: &mut Vec<Problem>) -> Vec<Handle> {
        let by = Registrar::External { id: self.owner.to_owned(), mutates: read.manifest.mutates.clone() };
        let mut handles = Vec::new();
        for DeclaredChange { removes, name, how } in changes {
            let changed = if *removes {
                self.catalogue.remove(name, &by)
            } else {
                let how = how.clone();
                self.catalogue.wrap(name, &by, move |tool| tightened(tool, &how))
            };
            match changed {
                Ok(handle) => handles.push(handle),
                Err(error) => problems.push(self.refused(read, &error)),
            }
        }
        handles
    }

    fn refused(&self, read: &Read, error: &RegisterError) -> Problem {
        let fix = "declare \"toolMutateCapabilities\" that the tool has, and only tighten it";
        problem(self.owner, (read.path.clone(), error.to_string(), fix))
    }

    /// A folder of command tools in it.
    fn commands(&self, read: &Read, below: &str) -> CommandFolders {
        let path = below
            .trim_start_matches("./")
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .fold(read.folder.clone(), |path, part| path.join(part));
        let shown = format!("{}/{}/{}", self.root.shown, read.manifest.id, below.trim_start_matches("./"));
        CommandFolders::new(CommandRoot::new(path, shown))
    }
}

/// What is known of a tool before its extension is woken.
fn asleep(name: &str, read: &Read) -> Value {
    let description = format!(
        "A tool of the extension {}, which says nothing of it before its first call.",
        read.manifest.name
    );
    json!({"name": name, "description": description})
}

/// What the code says of a tool, with what the manifest says over it.
fn over(data: &Value, metadata: &BTreeMap<String, Map<String, Value>>) -> Value {
    let mut data = data.clone();
    let name = data.get("name").and_then(Value::as_str).unwrap_or_default();
    if let Some(fields) = metadata.get(name).cloned()
        && let Some(own) = data.as_object_mut()
    {
        for (key, value) in fields {
            // Two names of one field would contradict each other.
            for other in other_names(&key) {
                own.remove(*other);
            }
            own.insert(key, value);
        }
    }
    data
}

fn other_names(key: &str) -> &'static [&'static str] {
    match key {
        "risk" => &["riskTier"],
        "riskTier" => &["risk"],
        "mutates" => &["mutating"],
        "mutating" => &["mutates"],
        "parameters" => &["inputSchema"],
        "inputSchema" => &["parameters"],
        "readOnly" => &["mutates", "mutating"],
        _ => &[],
    }
}

fn problem(owner: &str, (path, text, fix): (String, String, &str)) -> Problem {
    Problem { source: owner.to_owned(), path: Some(path), line: Some(1), text, fix: fix.to_owned() }
}

/// What is kept for one extension, in a file of haft's own.
struct Stored {
    state: Arc<dyn StateFolder>,
    file: String,
    secrets: Secrets,
}

impl ExtensionStore for Stored {
    fn read(&self) -> Result<Map<String, Value>, Failure> {
        let bytes = self.state.read_from(&self.file, 0, STORED_MAX_BYTES)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    fn write(&self, key: &str, value: Option<Value>) -> Result<(), Failure> {
        self.state.update(&self.file, &mut |before: Option<&[u8]>| {
            let mut all: Map<String, Value> =
                serde_json::from_slice(before.unwrap_or_default()).unwrap_or_default();
            match &value {
                Some(value) => drop(all.insert(key.to_owned(), value.clone())),
                None => drop(all.remove(key)),
            }
            let bytes = serde_json::to_vec(&all).map_err(|error| Failure::internal(error.to_string()))?;
            if bytes.len() > STORED_MAX_BYTES {
                return Err(Failure::invalid("an extension may keep 1 MiB; remove something first"));
            }
            Ok(bytes)
        })
    }

    fn secret(&self, name: &str) -> Option<String> {
        (self.secrets)(name)
    }
}
