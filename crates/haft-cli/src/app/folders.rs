//! The tools of a workspace: built in, and from command folders that may change at any time.

use super::{App, adjust::adjust};
use haft_core::{Files, PathArg};
use haft_os::{FolderWatch, host};
use haft_runtime::{
    Catalogue, Handle, Registrar, Snapshot,
    settings::{ToolSetting, TrustFile},
    source::command::{CommandFolders, CommandRoot, load_folder},
    tool_help,
};
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
/// Why tools of a workspace ask.
const UNTRUSTED: &str =
    "the tool came with a workspace that isn't trusted; `haft trust` marks it as your own";

/// The catalogue of a workspace and what keeps it in step. Cheap to clone; the tools go with the last clone.
#[derive(Clone)]
pub(crate) struct Tools {
    /// Every tool.
    pub(crate) catalogue: Catalogue,
    inner: Arc<Inner>,
}

struct Inner {
    files: Arc<dyn Files>,
    trust: TrustFile,
    settings: BTreeMap<String, ToolSetting>,
    paths: Vec<PathBuf>,
    sources: Mutex<Sources>,
}

struct Sources {
    folders: Vec<CommandFolders>,
    /// By owner and folder, tools that ask no more: the user allowed just this content for good.
    vouched: BTreeMap<(String, Arc<str>), Vouched>,
    /// Settings put over tools.
    adjusted: BTreeMap<String, Handle>,
}

struct Vouched {
    hash: Arc<str>,
    _handle: Handle,
}

impl Tools {
    /// Registers the built-in tools and reads the command folders.
    ///
    /// # Errors
    /// A built-in tool can't be registered.
    pub(super) fn load(app: &App, files: Arc<dyn Files>) -> anyhow::Result<Self> {
        let catalogue = Catalogue::new();
        catalogue.report("settings", app.problems.clone());
        let built_in = haft_tools::tools().into_iter().chain([tool_help(&catalogue)]);
        let adjusted = built_in.map(|tool| match app.settings.tools.get(tool.spec().name.as_ref()) {
            Some(setting) => adjust(tool, setting),
            None => tool,
        });
        for handle in catalogue.register_all(adjusted, CORE)? {
            handle.keep();
        }
        let roots = roots(app, files.as_ref());
        let paths = roots.iter().map(|root| PathBuf::from(root.path.absolute())).collect();
        let sources = Sources {
            folders: roots.into_iter().map(CommandFolders::new).collect(),
            vouched: BTreeMap::new(),
            adjusted: BTreeMap::new(),
        };
        let inner = Inner {
            files,
            trust: app.trust.clone(),
            settings: app.settings.tools.clone(),
            paths,
            sources: Mutex::new(sources),
        };
        let tools = Self { catalogue, inner: Arc::new(inner) };
        tools.sync();
        Ok(tools)
    }

    /// Reads the command folders anew. Blocking.
    pub(crate) fn sync(&self) {
        let mut sources = self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let sources = &mut *sources;
        for folders in &mut sources.folders {
            let gone = folders.sync(&self.catalogue, self.inner.files.as_ref()).removed;
            for name in gone {
                sources.vouched.remove(&(folders.root().owner.clone(), name));
            }
        }
        self.vouch(sources);
        self.adjust(&mut sources.adjusted);
    }

    /// The roots of command folders.
    pub(crate) fn roots(&self) -> Vec<CommandRoot> {
        let sources = self.inner.sources.lock().unwrap_or_else(PoisonError::into_inner);
        sources.folders.iter().map(|folders| folders.root().clone()).collect()
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
            loop {
                tokio::select! {
                    Some(()) = changes.recv() => break,
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

    fn present(&self) -> BTreeSet<PathBuf> {
        self.inner.paths.iter().filter(|path| host::is_folder(path)).cloned().collect()
    }

    /// Tools of an untrusted workspace ask, unless the user allowed exactly what they are now for good.
    fn vouch(&self, sources: &mut Sources) {
        let snapshot = self.catalogue.snapshot();
        let saved = self.inner.trust.load().saved;
        let is_vouched = |name: &str, hash: &Arc<str>| {
            saved.iter().any(|grant| grant.rule == name && grant.tool_hash.as_ref() == Some(hash))
        };
        let roots: Vec<CommandRoot> = sources
            .folders
            .iter()
            .map(|folders| folders.root().clone())
            .filter(|root| root.ask.is_some())
            .collect();
        let mut before = std::mem::take(&mut sources.vouched);
        for mut root in roots {
            root.ask = None;
            for (name, folder, hash) in owned(&snapshot, &root.owner) {
                let key = (root.owner.clone(), Arc::clone(&folder));
                if !is_vouched(&name, &hash) {
                    continue;
                }
                if let Some(kept) = before.remove(&key).filter(|kept| kept.hash == hash) {
                    sources.vouched.insert(key, kept);
                    continue;
                }
                // Read again: what is registered must be what the hash was taken of.
                let (Some(tool), _) = load_folder(self.inner.files.as_ref(), &root, &folder) else {
                    continue;
                };
                if *tool.hash() != hash {
                    continue;
                }
                // The same owner replaces: the tool that asks gives way to the one that doesn't.
                let registered =
                    self.catalogue.register_hashed(Arc::new(tool), &root.owner, Some(Arc::clone(&hash)));
                if let Ok(handle) = registered {
                    sources.vouched.insert(key, Vouched { hash, _handle: handle });
                }
            }
        }
    }

    /// Puts the settings over the tools that aren't built in; those were adjusted before they were registered. What
    /// is put over a tool stays over what its folder puts in its place.
    fn adjust(&self, adjusted: &mut BTreeMap<String, Handle>) {
        let by = Registrar::Official("settings".to_owned());
        let snapshot = self.catalogue.snapshot();
        for (name, setting) in &self.inner.settings {
            let is_foreign = snapshot.get(name).is_some_and(|offer| offer.owner.as_ref() != CORE);
            if is_foreign && !adjusted.contains_key(name) {
                let setting = setting.clone();
                if let Ok(handle) = self.catalogue.wrap(name, &by, move |tool| adjust(tool, &setting)) {
                    adjusted.insert(name.clone(), handle);
                }
            }
        }
    }
}

/// The catalogue stays in step for as long as this is held.
pub(crate) struct Following(AbortHandle);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Model-facing name, folder and hash of what an owner has.
fn owned(snapshot: &Snapshot, owner: &str) -> Vec<(Arc<str>, Arc<str>, Arc<str>)> {
    let own = snapshot.offers().filter(|offer| offer.owner.as_ref() == owner);
    own.filter_map(|offer| {
        Some((Arc::clone(&offer.name), Arc::clone(&offer.spec().name), offer.hash.clone()?))
    })
    .collect()
}

/// Where command folders are: in the workspace, in the user's folder, and where the settings say.
fn roots(app: &App, files: &dyn Files) -> Vec<CommandRoot> {
    let mut roots: Vec<CommandRoot> = Vec::new();
    let within = format!("{}/", app.place.workspace);
    let mut add = |path: String, shown: String, whose: Whose| {
        let Ok(real) = files.resolve(&PathArg(path)) else { return };
        let is_strange = !app.place.trusted
            && match whose {
                Whose::Workspace => true,
                Whose::User => false,
                // The name is the user's, but what is there came with the workspace.
                Whose::Settings => real.absolute().starts_with(&within),
            };
        if roots.iter().any(|known| known.path.absolute() == real.absolute()) {
            return;
        }
        let root = CommandRoot::new(real, shown);
        roots.push(if is_strange { root.asking(UNTRUSTED) } else { root });
    };
    for at in WORKSPACE_ROOTS {
        add(format!("{}/{at}", app.place.workspace), at.to_owned(), Whose::Workspace);
    }
    let user = app.home.tools.to_string_lossy().into_owned();
    add(user.clone(), user, Whose::User);
    for set in &app.settings.folders {
        add(set.value.absolute.clone(), set.value.written.clone(), Whose::Settings);
    }
    roots
}

/// Who put a folder of tools there.
#[derive(Clone, Copy)]
enum Whose {
    Workspace,
    User,
    Settings,
}
