//! What an extension says in its files, which counts without its code being run: hooks as settings have them, and skills.

use super::{
    kept::Written,
    one::{One, Read, path_below, problem},
};
use haft_core::{PathArg, RealPath, content_hash};
use haft_runtime::{
    Problem,
    hooks::{Hook, HookFolder, SeenFolder},
    settings::unread_hooks,
    source::{
        SKILL_FILE, Skill, SkillText, command::ManifestText, command::folder_hash, hooks_of_file, parse_skill,
    },
};
use std::{collections::BTreeSet, sync::Arc};

/// How long a file of hooks or a skill may be.
const FILE_MAX_BYTES: usize = 64 * 1024;
/// How many hooks of one manifest are heard, and how many files of them are read.
const HOOKS_MAX: usize = 100;
const HOOK_FILES_MAX: usize = 20;
/// How many skills one extension has, and how many folders of them are looked into.
const SKILLS_MAX: usize = 50;
/// How many entries of a folder of skills are looked at.
const ENTRIES_MAX: usize = SKILLS_MAX * 2;

/// What an extension is known again by.
#[derive(Default)]
pub(super) struct Known {
    /// What trust remembers: its code, and with that its folder where that counts; none where it can't be known again.
    pub(super) approval: Option<Arc<str>>,
    /// All that lies in its folder, where that counts by itself.
    folder: Option<Arc<str>>,
}

impl One<'_> {
    /// What it is known again by.
    pub(super) fn known(&self, read: &Read, code: Option<Arc<str>>, problems: &mut Vec<Problem>) -> Known {
        if !read.manifest.needs_its_files() {
            return Known { approval: code, folder: None };
        }
        match folder_hash(self.files, &read.folder, &read.text) {
            Ok(folder) => {
                let code = code.as_deref().unwrap_or_default();
                let approval = Some(content_hash(format!("{code} {folder}").as_bytes()));
                Known { approval, folder: Some(folder) }
            }
            Err(why) => {
                let text = format!("its hooks and skills can't be known again: {why}");
                let fix = "keep only what it needs in its folder";
                problems.push(problem(self.owner, (read.path.clone(), text, fix)));
                Known::default()
            }
        }
    }

    /// Its hooks and skills.
    pub(super) fn written(&self, read: &Read, known: Known, problems: &mut Vec<Problem>) -> Written {
        let Known { approval, folder } = known;
        let standing = self.root.standing(&read.manifest.id, approval.as_deref());
        let (hooks, skills) = (self.hooks(read, folder, problems), self.skills(read, problems));
        Written { hooks, skills, approval, standing }
    }

    /// The hooks of its manifest and of the files that this names. What is wrong with those in the manifest itself is told
    /// with the manifest. Those of a workspace are run only as long as its folder is what it is now.
    fn hooks(&self, read: &Read, content: Option<Arc<str>>, problems: &mut Vec<Problem>) -> Vec<Hook> {
        let mut hooks = read.manifest.hooks.clone();
        for named in read.manifest.hook_files.iter().take(HOOK_FILES_MAX) {
            let path = self.shown(read, named);
            match self.text(&path_below(&read.folder, named)) {
                Ok(text) => {
                    let folder = &read.manifest.id;
                    let from = ManifestText { text: &text, folder, path: &path, owner: self.owner };
                    let (further, faults) = hooks_of_file(&from);
                    hooks.extend(further);
                    problems.extend(faults);
                }
                Err(why) => {
                    let text = format!("its hooks can't be read: {why}");
                    hooks.push(unread_hooks(path.clone(), text.clone()));
                    let fix = "make it a readable UTF-8 file of at most 64 KiB, or take it out of \"hooks\"";
                    problems.push(problem(self.owner, (path, text, fix)));
                }
            }
        }
        if hooks.len() > HOOKS_MAX {
            hooks.truncate(HOOKS_MAX);
            let text = format!("there are more than {HOOKS_MAX} hooks; from here on they are never heard");
            let fix = "put several checks into one hook";
            problems.push(problem(self.owner, (read.path.clone(), text, fix)));
        }
        if read.manifest.hook_files.len() > HOOK_FILES_MAX {
            let text = format!("it names more than {HOOK_FILES_MAX} files of hooks, which aren't all read");
            hooks.push(unread_hooks(read.path.clone(), text.clone()));
            let fix = "put more hooks into one file";
            problems.push(problem(self.owner, (read.path.clone(), text, fix)));
        }
        let content = self.root.approved.as_ref().and(content);
        let seen = content.map(|hash| SeenFolder { manifest: read.text.as_str().into(), hash });
        let folder = HookFolder { path: read.folder.clone(), seen };
        for hook in &mut hooks {
            hook.folder = Some(folder.clone());
        }
        hooks
    }

    /// Its skills; what is wrong with one leaves the others.
    fn skills(&self, read: &Read, problems: &mut Vec<Problem>) -> Vec<Skill> {
        let (mut skills, mut seen): (Vec<Skill>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        if read.manifest.skills.len() > SKILLS_MAX {
            let text =
                format!("it names more than {SKILLS_MAX} folders of skills; from here on they aren't read");
            let fix = "put skills into one folder";
            problems.push(problem(self.owner, (read.path.clone(), text, fix)));
        }
        for named in read.manifest.skills.iter().take(SKILLS_MAX) {
            let (folders, left_out) = self.skill_folders(&path_below(&read.folder, named));
            if left_out > 0 {
                let text = format!(
                    "\"{named}\" has more than {ENTRIES_MAX} entries; {left_out} of them aren't looked at for skills"
                );
                let fix =
                    "keep nothing but skills there, or put some into another folder that \"skills\" names";
                problems.push(problem(self.owner, (read.path.clone(), text, fix)));
            }
            if folders.is_empty() {
                let text = format!("there is no skill in \"{named}\"");
                let fix = format!("put a {SKILL_FILE} into it, or take it out of \"skills\"");
                problems.push(problem(self.owner, (read.path.clone(), text, fix.as_str())));
            }
            for folder in folders {
                if skills.len() >= SKILLS_MAX {
                    let text = format!("it has more than {SKILLS_MAX} skills; from here on they aren't read");
                    let fix = "put some into another extension";
                    problems.push(problem(self.owner, (read.path.clone(), text, fix)));
                    return skills;
                }
                if !seen.insert(folder.absolute()) {
                    continue;
                }
                match self.skill(&folder).and_then(|skill| unlike(&skills, skill)) {
                    Ok(skill) => skills.push(skill),
                    Err((text, fix)) => {
                        let path = folder.join(SKILL_FILE).to_string();
                        problems.push(problem(self.owner, (path, text, fix.as_str())));
                    }
                }
            }
        }
        skills
    }

    /// The folder itself where it is a skill, else those in it that are; and how many entries of it aren't looked at.
    fn skill_folders(&self, at: &RealPath) -> (Vec<RealPath>, u64) {
        let Ok(folder) = self.files.resolve(&PathArg(at.absolute())) else { return (Vec::new(), 0) };
        let is_skill = |folder: &RealPath| {
            let at = self.files.resolve(&PathArg(folder.join(SKILL_FILE).absolute()));
            at.is_ok_and(|at| self.files.peek(&at).is_some())
        };
        if is_skill(&folder) {
            return (vec![folder], 0);
        }
        let listing = self.files.list(&folder, ENTRIES_MAX).unwrap_or_default();
        let inside = listing.entries.into_iter().map(|entry| entry.path);
        let skills = inside.filter(|path| !path.file_name().starts_with('.') && is_skill(path)).collect();
        (skills, listing.left_out)
    }

    /// One skill.
    ///
    /// # Errors
    /// What is wrong with it, and what would fix that.
    fn skill(&self, folder: &RealPath) -> Result<Skill, (String, String)> {
        let text = self.text(&folder.join(SKILL_FILE)).map_err(|why| {
            (format!("the skill can't be read: {why}"), "make it a UTF-8 file of at most 64 KiB".to_owned())
        })?;
        // As a tool that reads files is best given it.
        let whole = folder.absolute();
        let workspace = format!("{}/", self.files.workspace().absolute());
        let shown = whole.strip_prefix(&workspace).unwrap_or(&whole);
        let from =
            SkillText { text: &text, folder_name: folder.file_name(), folder: shown, owner: self.owner };
        parse_skill(&from)
    }

    /// A text file of it, as people are shown it.
    fn shown(&self, read: &Read, named: &str) -> String {
        format!("{}/{}/{}", self.root.shown, read.manifest.id, named.trim_start_matches("./"))
    }

    fn text(&self, at: &RealPath) -> Result<String, String> {
        let at = self.files.resolve(&PathArg(at.absolute())).map_err(|failure| failure.text)?;
        let bytes = self.files.read(&at, 0, FILE_MAX_BYTES + 1).map_err(|failure| failure.text)?;
        if bytes.len() > FILE_MAX_BYTES {
            return Err("it is longer than 64 KiB".to_owned());
        }
        String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))
    }
}

/// A skill that is called otherwise than all of its extension before it, since one of two couldn't be asked for.
///
/// # Errors
/// There is one of its name, and what would tell them apart.
fn unlike(skills: &[Skill], skill: Skill) -> Result<Skill, (String, String)> {
    if skills.iter().any(|known| known.name == skill.name) {
        let text = format!("the extension has a skill \"{}\" already, which is offered", skill.name);
        return Err((text, "give one of the two another name".to_owned()));
    }
    Ok(skill)
}
