//! Extensions of a workspace and of the user: found, asked what they register, and kept in step with their folders.

mod command;
mod files;
mod kept;
mod one;
mod standing;
mod stored;

pub(super) use self::one::MANIFEST;
pub(crate) use self::{
    command::{ExtensionCommand, Meant},
    kept::Brought,
    standing::Standing as ExtensionStanding,
};
use self::{
    kept::Kept,
    one::{One, problem},
    standing::Standing,
    stored::Secrets,
};
use super::{App, approved::of_extension, scripts::Scripts};
use haft_core::{Credential, Failure, Files, PathArg, RealPath};
use haft_runtime::{Catalogue, Problem, hooks::Hook, source::Skill};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Where a workspace's extensions are.
pub(super) const WORKSPACE_ROOT: &str = ".haft/extensions";
/// How the owners of what extensions register begin.
const OWNER: &str = "extension:";
/// How many extensions of one folder are read.
pub(super) const EXTENSIONS_MAX: usize = 200;

/// A folder of extensions.
pub(super) struct ExtensionRoot {
    pub(super) path: RealPath,
    /// How it is shown to people.
    pub(super) shown: String,
    /// Whether hooks of its extensions count.
    pub(super) hears: bool,
    /// What of a workspace's extensions counts in full; none where the folder is the user's own.
    pub(super) approved: Option<BTreeSet<String>>,
}

impl ExtensionRoot {
    /// How far an extension's word goes, whose files have that hash.
    fn standing(&self, id: &str, hash: Option<&str>) -> Standing {
        match (&self.approved, hash) {
            (None, _) => Standing::Own,
            (Some(approved), Some(hash)) if approved.contains(&of_extension(id, hash)) => Standing::Approved,
            _ => Standing::Unseen,
        }
    }
}

/// All extensions that are there.
pub(super) struct Extensions {
    roots: Vec<ExtensionRoot>,
    kept: BTreeMap<String, Kept>,
    /// Owners and folders of all that were found, also of those that can't be used.
    seen: Vec<(String, RealPath)>,
    secrets: Secrets,
}

impl Extensions {
    pub(super) fn new(app: &App, files: &dyn Files) -> Self {
        let user = app.home.extensions.to_string_lossy().into_owned();
        let own = (
            format!("{}/{WORKSPACE_ROOT}", app.place.workspace),
            WORKSPACE_ROOT.to_owned(),
            app.place.trusted,
            Some(app.approved.clone()),
        );
        // The user's own come first: a workspace can't put one of its own in the place of what tightens.
        let user = (user.clone(), user, true, None);
        let roots = [user, own].into_iter().filter_map(|(path, shown, hears, approved)| {
            let path = files.resolve(&PathArg(path)).ok()?;
            Some(ExtensionRoot { path, shown, hears, approved })
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
        let seen_before = std::mem::take(&mut self.seen);
        for root in &self.roots {
            let listing = files.list(&root.path, EXTENSIONS_MAX).unwrap_or_default();
            // Found anew each time, so that nothing is told of that isn't so any more.
            let mut aside = Vec::new();
            if listing.left_out > 0 {
                aside.push(too_many(root, listing.left_out));
            }
            for entry in &listing.entries {
                let id = entry.path.file_name();
                if id.starts_with('.') || !holds_one(files, &entry.path) {
                    continue;
                }
                let owner = owner_of(id);
                if self.kept.contains_key(&owner) {
                    aside.push(covered(root, (&owner, id)));
                    continue;
                }
                self.seen.push((owner.clone(), entry.path.clone()));
                let one = One { catalogue, files, scripts, root, owner: &owner, secrets: &self.secrets };
                let kept = one.kept(&mut before, &entry.path);
                self.kept.extend(kept.map(|kept| (owner, kept)));
            }
            catalogue.report(&format!("extensions of {}", root.shown), aside);
        }
        before.values().for_each(Kept::retire);
        drop(before);
        for (owner, _) in seen_before {
            if !self.seen.iter().any(|(seen, _)| *seen == owner) {
                catalogue.report(&owner, Vec::new());
            }
        }
    }

    /// What each extension brings that can be used, by owner.
    pub(super) fn brought(&self) -> Vec<Brought> {
        self.kept.iter().filter_map(|(owner, kept)| kept.brought(owner)).collect()
    }

    /// The hooks that extensions register and declare, of those that may hear of calls.
    pub(super) fn hooks(&self) -> Vec<Hook> {
        self.kept.values().flat_map(Kept::heard).collect()
    }

    /// The skills that models are told of. Of those of several extensions with one name, all after the first are known by
    /// their extension's name too.
    pub(super) fn skills(&self) -> Vec<Skill> {
        let mut names = BTreeSet::new();
        let mut all = Vec::new();
        // The user's own come first: a workspace takes the name of none of them.
        let mut kept: Vec<_> = self.kept.iter().collect();
        kept.sort_by_key(|(_, kept)| kept.written.standing != Standing::Own);
        for (owner, kept) in kept {
            for skill in kept.skills() {
                let mut skill = skill.clone();
                if !names.insert(skill.name.clone()) {
                    skill.name = format!("{}:{}", id_of(owner), skill.name);
                    names.insert(skill.name.clone());
                }
                all.push(skill);
            }
        }
        all
    }

    /// The commands that extensions have for people.
    pub(super) fn commands(&self) -> Vec<ExtensionCommand> {
        self.kept.iter().flat_map(|(owner, kept)| kept.commands(id_of(owner))).collect()
    }
}

/// Where the manifest of a folder lies, or what a link leads to; none where there is none.
fn manifest_in(files: &dyn Files, folder: &RealPath) -> Result<Option<RealPath>, Failure> {
    let folder = files.resolve(&PathArg(folder.absolute()))?;
    let at = files.resolve(&PathArg(folder.join(MANIFEST).absolute()))?;
    Ok(files.peek(&at).map(|_| at))
}

/// Whether a folder, or what a link leads to, holds an extension.
fn holds_one(files: &dyn Files, folder: &RealPath) -> bool {
    manifest_in(files, folder).is_ok_and(|found| found.is_some())
}

/// Who owns what an extension registers.
fn owner_of(id: &str) -> String {
    format!("{OWNER}{id}")
}

/// The extension that an owner is.
fn id_of(owner: &str) -> &str {
    owner.strip_prefix(OWNER).unwrap_or(owner)
}

fn covered(root: &ExtensionRoot, (owner, id): (&str, &str)) -> Problem {
    let text = format!("there is an extension \"{id}\" already, which is used");
    problem(owner, (format!("{}/{id}/{MANIFEST}", root.shown), text, "rename the folder"))
}

fn too_many(root: &ExtensionRoot, left_out: u64) -> Problem {
    let text = format!(
        "{left_out} entries of this folder weren't looked at, since it has more than {EXTENSIONS_MAX}"
    );
    problem("extensions", (root.shown.clone(), text, "remove those that aren't needed"))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes the folders that are read")]
mod tests {
    use super::*;
    use haft_core::StateFolder;
    use haft_os::{OsFiles, OsState};
    use haft_script::Engine;
    use haft_test::NoProcesses;
    use std::{fs, path::Path};

    /// One without code.
    const NO_CODE: &str = r#"{"commandTools": ["tools"]}"#;

    fn write(folder: &Path, manifest: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(MANIFEST), manifest).unwrap();
    }

    fn told(catalogue: &Catalogue) -> Vec<String> {
        catalogue.problems().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_told_of_a_folder_goes_with_it_and_the_users_own_is_used() {
        let stage = tempfile::tempdir().unwrap();
        let [user, own] = ["user", "own"].map(|name| stage.path().join(name));
        for folder in [&user, &own] {
            write(&folder.join("pack"), NO_CODE);
        }
        write(&own.join("bad"), "{");
        let files = OsFiles::new(stage.path(), &[], &stage.path().join("state")).unwrap();
        let roots = [(&user, "user"), (&own, "own")].map(|(path, shown)| ExtensionRoot {
            path: files.resolve(&PathArg(path.to_string_lossy().into_owned())).unwrap(),
            shown: shown.to_owned(),
            hears: true,
            approved: None,
        });
        let mut all = Extensions {
            roots: Vec::from(roots),
            kept: BTreeMap::new(),
            seen: Vec::new(),
            secrets: Arc::new(|_: &str| None::<String>),
        };
        let state: Arc<dyn StateFolder> = Arc::new(OsState::new(stage.path().join("kept")));
        let scripts =
            Scripts { engine: Arc::new(Engine::new(Arc::new(NoProcesses::default()), Vec::new(), 1)), state };
        let catalogue = Catalogue::new();
        all.sync(&catalogue, &files, &scripts);
        let listed = told(&catalogue);
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert!(
            listed.iter().any(|one| one.starts_with("own/pack/extension.json") && one.contains("already"))
        );
        assert!(listed.iter().any(|one| one.starts_with("own/bad/extension.json")));

        for gone in ["pack", "bad"] {
            fs::remove_dir_all(own.join(gone)).unwrap();
        }
        all.sync(&catalogue, &files, &scripts);
        assert!(told(&catalogue).is_empty(), "{:?}", told(&catalogue));
        fs::remove_dir_all(&user).unwrap();
        all.sync(&catalogue, &files, &scripts);
        assert!(all.seen().is_empty() && all.kept.is_empty());
    }
}
