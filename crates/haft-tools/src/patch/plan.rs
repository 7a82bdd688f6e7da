//! What a patch does to every file, found before anything is written.

use super::{
    lines::FileLines,
    place::{Match, applied_at, find},
    refusal::Refused,
    section::{Hunk, Kind, Patch, Section},
    splice::{Splice, apply, splices},
};
use crate::text::{
    Coding, View, binary, names, paths, unmasked,
    whole::{WHOLE_MAX_BYTES, read_whole},
};
use haft_core::{
    Cancel, Failure, FailureKind, FileOp, Files, PathArg, RealPath, SessionView, WriteMode, content_hash,
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, ops::Range};

/// So many faults are told.
const FAULTS_MAX: usize = 10;

/// All that a patch does.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Each file, in the order of the patch.
    pub(super) files: Vec<FilePlan>,
}

/// What is done to one file.
#[derive(Debug)]
pub(super) struct FilePlan {
    /// The file that is written or removed; for a move where it was.
    pub(super) at: RealPath,
    /// Its path as it is written for readers.
    pub(super) name: String,
    /// What is done.
    pub(super) done: Done,
    /// Its content now, none where it is new.
    pub(super) before: Option<Vec<u8>>,
    /// Its content afterwards, none where it goes.
    pub(super) after: Option<Vec<u8>>,
    /// The lines that change; none where two parts of the patch change it.
    pub(super) splices: Option<Vec<Splice>>,
    /// How many hunks there are.
    pub(super) hunks: usize,
    /// Whether it may be run from then on.
    pub(super) executable: Option<bool>,
    /// The numbers of hunks that were found by other line ends.
    pub(super) by_line_ends: Vec<usize>,
    /// What the change stands for.
    digest: Vec<u8>,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Done {
    /// It is new.
    Added,
    /// It is removed.
    Deleted,
    /// Its lines, or its mode, change.
    Updated,
    /// It gets this path.
    Moved(RealPath, String),
    /// It is made from the file of this name.
    Copied(String),
}

/// A content changed by hunks.
struct Changed {
    after: Vec<u8>,
    splices: Vec<Splice>,
    by_line_ends: Vec<usize>,
    digest: Vec<u8>,
}

/// Where a plan looks.
pub(super) struct Look<'a> {
    /// The files.
    pub(super) files: &'a dyn Files,
    /// The paths that were judged.
    pub(super) paths: &'a [(PathArg, RealPath)],
    /// Ends it early.
    pub(super) cancel: &'a Cancel,
    /// Knows what was masked.
    pub(super) session: &'a dyn SessionView,
}

impl Plan {
    /// Reads every file and finds every hunk's place.
    ///
    /// # Errors
    /// All that is wrong, ten faults at most; nothing is to be changed then.
    pub(super) fn of(patch: &Patch, look: &Look<'_>) -> Result<Self, Failure> {
        let mut plan = Self::default();
        let mut faults = Vec::new();
        for section in &patch.sections {
            if look.cancel.is_fired() {
                return Err(Failure::cancelled());
            }
            if let Err(more) = plan.add(section, look) {
                faults.extend(more);
            }
        }
        faults.extend(plan.contradiction());
        let Some(first) = faults.first() else { return Ok(plan) };
        let kind = if faults.len() == 1 { first.kind } else { FailureKind::Conflict };
        let more = faults.len().saturating_sub(FAULTS_MAX);
        let rest = format!("… {more} more faults.");
        let mut text: Vec<&str> = faults.iter().take(FAULTS_MAX).map(|fault| fault.text.as_str()).collect();
        if more > 0 {
            text.push(&rest);
        }
        text.push("Nothing was changed.");
        Err(Failure::new(kind, text.join("\n")))
    }

    /// The changes to make.
    pub(super) fn ops(&self) -> Vec<FileOp> {
        self.files.iter().filter_map(FilePlan::op).collect()
    }

    /// Stands for exactly these changes, and for nothing else in the files.
    pub(super) fn digest(&self) -> Vec<u8> {
        let mut hasher = Sha256::new();
        for file in &self.files {
            hasher.update(Sha256::digest(file.at.absolute()));
            hasher.update(format!("{:?} {:?}", file.done, file.executable));
            hasher.update(Sha256::digest(&file.digest));
        }
        hasher.finalize().to_vec()
    }

    fn add(&mut self, section: &Section, look: &Look<'_>) -> Result<(), Vec<Failure>> {
        let at = look.path(&section.path).map_err(|failure| vec![failure])?;
        let name = look.name(&at);
        let read = |at: &RealPath| look.read(at, &section.path).map_err(|failure| vec![failure]);
        if let Some(earlier) = self.files.iter_mut().find(|file| file.paths().any(|path| *path == at)) {
            if earlier.done != Done::Updated || section.kind != Kind::Update {
                return Err(vec![Failure::conflict(format!(
                    "{name} is named by two parts of the patch. Join them into one, or send them one after the other."
                ))]);
            }
            let before = earlier.before.clone().unwrap_or_default();
            let section = look.unmasked(section, &before).map_err(|failure| vec![failure])?;
            return earlier.update_again(&section);
        }
        let file = match &section.kind {
            Kind::Add => look.added(at, name, section).map_err(|failure| vec![failure])?,
            Kind::Delete { is_stated } => look.deleted(at, name, section, *is_stated)?,
            Kind::Update => {
                let before = read(&at)?;
                let section = &look.unmasked(section, &before).map_err(|failure| vec![failure])?;
                FilePlan::changed((at, name), before, section)?
            }
            Kind::Move { to } => {
                let goal = self.goal(to, look)?;
                look.require_no_link(&section.path, &at).map_err(|failure| vec![failure])?;
                let before = read(&at)?;
                let section = &look.unmasked(section, &before).map_err(|failure| vec![failure])?;
                let file = FilePlan::changed((at, name), before, section)?;
                let goal_name = look.name(&goal);
                FilePlan { done: Done::Moved(goal, goal_name), ..file }
            }
            Kind::Copy { to } => {
                let goal = self.goal(to, look)?;
                let before = read(&at)?;
                let runs = look.files.peek(&at).is_some_and(|stat| stat.mode & 0o111 != 0);
                let file = FilePlan::changed((at, name), before, section)?;
                let executable = file.executable.or(runs.then_some(true));
                let (name, digest) = (look.name(&goal), file.after.clone().unwrap_or_default());
                let done = Done::Copied(file.name);
                FilePlan { done, at: goal, name, before: None, executable, digest, ..file }
            }
        };
        self.files.push(file);
        Ok(())
    }

    /// What is a file by one part can't be a folder by another.
    fn contradiction(&self) -> Option<Failure> {
        let made = |file: &&FilePlan| file.done != Done::Deleted;
        let goals: BTreeMap<String, &FilePlan> =
            self.files.iter().filter(made).map(|file| (file.goal().absolute(), file)).collect();
        let inner = goals.iter().find_map(|(path, file)| {
            let outer = above(path).find_map(|folder| goals.get(folder))?;
            Some((outer, file))
        });
        let (outer, inner) = inner?;
        Some(Failure::invalid(format!(
            "{} is a file by one part of the patch, and by another the folder of {}. Give one of them another path.",
            outer.goal_name(),
            inner.goal_name()
        )))
    }

    /// A path that nothing has, neither now nor by an earlier part.
    fn goal(&self, to: &str, look: &Look<'_>) -> Result<RealPath, Vec<Failure>> {
        let goal = look.path(to).map_err(|failure| vec![failure])?;
        let name = look.name(&goal);
        if self.files.iter().any(|file| file.paths().any(|path| *path == goal)) {
            return Err(vec![Failure::conflict(format!(
                "{name} is named by two parts of the patch. Join them into one, or send them one after the other."
            ))]);
        }
        match look.files.stat(&goal) {
            Err(failure) if failure.kind == FailureKind::NotFound => Ok(goal),
            Err(failure) => Err(vec![failure]),
            Ok(_) => Err(vec![Failure::conflict(format!(
                "{name} exists already, and nothing is moved or copied over it. Give another path, or delete it with \
                 a patch of its own first."
            ))]),
        }
    }
}

impl Look<'_> {
    fn path(&self, written: &str) -> Result<RealPath, Failure> {
        let found = self.paths.iter().find(|(path, _)| path.0 == written);
        found.map(|(_, real)| real.clone()).ok_or_else(|| {
            Failure::internal(format!("the tool didn't state that it touches {written}; try again"))
        })
    }

    fn name(&self, at: &RealPath) -> String {
        paths::shown(at, &self.files.workspace())
    }

    fn read(&self, at: &RealPath, written: &str) -> Result<Vec<u8>, Failure> {
        read_whole(self.files, at, self.cancel).map_err(|failure| {
            if failure.kind != FailureKind::NotFound {
                return Failure { text: format!("{}.", failure.text), ..failure };
            }
            let alike = names::alike(self.files, &PathArg::from(written), at);
            let text = alike.map_or(failure.text, |alike| alike.missing(&self.name(at)));
            let next = "; a new file is made with `*** Add File`, or from /dev/null.";
            Failure { text: format!("{text}{next}"), ..failure }
        })
    }

    /// The part with placeholders of masked secrets turned back.
    fn unmasked(&self, section: &Section, before: &[u8]) -> Result<Section, Failure> {
        let mut section = section.clone();
        for hunk in &mut section.hunks {
            let texts = hunk.anchors.iter_mut().chain(hunk.lines.iter_mut().map(|line| &mut line.text));
            for text in texts {
                *text = unmasked(self.session, text, before)?;
            }
        }
        Ok(section)
    }

    fn added(&self, at: RealPath, name: String, section: &Section) -> Result<FilePlan, Failure> {
        let content = section.content().into_bytes();
        match self.files.stat(&at) {
            Err(failure) if failure.kind == FailureKind::NotFound => {}
            Err(failure) => return Err(failure),
            Ok(_) => {
                let is_same = read_whole(self.files, &at, self.cancel).is_ok_and(|now| now == content);
                return Err(Failure::conflict(if is_same {
                    format!(
                        "{name} exists with exactly this content already: it was added before. Leave this part out."
                    )
                } else {
                    format!(
                        "{name} exists already, so it isn't added. Use `*** Update File` (or a hunk with its lines) to \
                         change it, or give another path."
                    )
                }));
            }
        }
        Ok(FilePlan {
            digest: content.clone(),
            after: Some(content),
            executable: section.executable,
            ..FilePlan::new((at, name), Done::Added)
        })
    }

    fn deleted(
        &self,
        at: RealPath,
        name: String,
        section: &Section,
        is_stated: bool,
    ) -> Result<FilePlan, Vec<Failure>> {
        let one = |failure: Failure| vec![failure];
        self.require_no_link(&section.path, &at).map_err(one)?;
        let before = read_whole(self.files, &at, self.cancel).map_err(|failure| {
            let is_long = || {
                let len = self.files.stat(&at).map_or(0, |stat| stat.len);
                usize::try_from(len).is_ok_and(|len| len > WHOLE_MAX_BYTES)
            };
            match failure.kind {
                FailureKind::InvalidInput if is_long() => one(Failure::invalid(format!(
                    "{name} is longer than 64 MiB, so it couldn't come back by undo, and isn't deleted by a patch. \
                     Leave this part out, and remove it with rm through bash if it shall go."
                ))),
                FailureKind::NotFound => one(Failure {
                    text: format!("{}; if it was deleted before, leave this part out.", failure.text),
                    ..failure
                }),
                _ => one(Failure { text: format!("{}.", failure.text), ..failure }),
            }
        })?;
        if is_stated {
            let changed = changed(&name, &before, &section.hunks)?;
            let rest = changed.after.strip_prefix(Coding::of(&before).bom()).unwrap_or(&changed.after);
            if !rest.is_empty() {
                return Err(one(Failure::conflict(format!(
                    "{name} has more than the lines that the patch deletes, so it isn't deleted. Give all of its \
                     lines, or use `*** Delete File`."
                ))));
            }
        }
        let digest = Sha256::digest(&before).to_vec();
        Ok(FilePlan { before: Some(before), digest, ..FilePlan::new((at, name), Done::Deleted) })
    }

    /// A link is not what it leads to: deleting or moving by it would leave it leading nowhere.
    fn require_no_link(&self, written: &str, at: &RealPath) -> Result<(), Failure> {
        let (parent, name) = match written.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some(parts) => parts,
            None => (".", written),
        };
        let parent = self.files.resolve(&PathArg(parent.to_owned()))?;
        if parent.join(name).absolute() == at.absolute() {
            return Ok(());
        }
        let real = self.name(at);
        Err(Failure::conflict(format!(
            "{written} is a link to {real}. Name {real} itself, or change the link with a command through bash."
        )))
    }
}

impl FilePlan {
    fn new((at, name): (RealPath, String), done: Done) -> Self {
        Self {
            at,
            name,
            done,
            before: None,
            after: None,
            splices: None,
            hunks: 0,
            executable: None,
            by_line_ends: Vec::new(),
            digest: Vec::new(),
        }
    }

    fn changed(at: (RealPath, String), before: Vec<u8>, section: &Section) -> Result<Self, Vec<Failure>> {
        let changed = changed(&at.1, &before, &section.hunks)?;
        Ok(Self {
            before: Some(before),
            after: Some(changed.after),
            splices: Some(changed.splices),
            hunks: section.hunks.len(),
            executable: section.executable,
            by_line_ends: changed.by_line_ends,
            digest: changed.digest,
            ..Self::new(at, Done::Updated)
        })
    }

    /// A second part for the same file works on what the first one leaves.
    fn update_again(&mut self, section: &Section) -> Result<(), Vec<Failure>> {
        let changed = changed(&self.name, self.after.as_deref().unwrap_or_default(), &section.hunks)?;
        self.by_line_ends.extend(changed.by_line_ends.iter().map(|number| number + self.hunks));
        self.hunks += section.hunks.len();
        self.digest.extend(changed.digest);
        self.after = Some(changed.after);
        self.executable = section.executable.or(self.executable);
        self.splices = None;
        Ok(())
    }

    /// The paths that it writes.
    pub(super) fn paths(&self) -> impl Iterator<Item = &RealPath> {
        let to = if let Done::Moved(to, _) = &self.done { Some(to) } else { None };
        std::iter::once(&self.at).chain(to)
    }

    /// The path that it has afterwards.
    pub(super) fn goal(&self) -> &RealPath {
        if let Done::Moved(to, _) = &self.done { to } else { &self.at }
    }

    /// That path as it is written for readers.
    fn goal_name(&self) -> &str {
        if let Done::Moved(_, name) = &self.done { name } else { &self.name }
    }

    /// Whether it leaves the content as it is.
    fn is_same(&self) -> bool {
        self.before == self.after
    }

    fn op(&self) -> Option<FileOp> {
        let (at, executable) = (self.at.clone(), self.executable);
        let before = || content_hash(self.before.as_deref().unwrap_or_default());
        let content = || self.after.clone().unwrap_or_default();
        match &self.done {
            Done::Added | Done::Copied(_) => {
                Some(FileOp::Write { at, content: content(), mode: WriteMode::New, executable })
            }
            Done::Updated if self.is_same() && executable.is_none() => None,
            Done::Updated => Some(FileOp::Write {
                at,
                content: content(),
                mode: WriteMode::Over { before: before() },
                executable,
            }),
            Done::Deleted => Some(FileOp::Remove { at, before: before() }),
            Done::Moved(to, _) => Some(FileOp::Move {
                from: at,
                to: to.clone(),
                before: before(),
                content: (!self.is_same()).then(content),
                executable,
            }),
        }
    }
}

/// The folders that an absolute path is in, the nearest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    let parts = std::iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/'));
    parts.map(|(folder, _)| folder)
}

/// What the first part of a patch makes of a content, for tests with random input; none where it is refused.
#[cfg(feature = "fuzzing")]
pub(crate) fn patched(before: &[u8], patch: &str) -> Option<Vec<u8>> {
    let patch = super::parse::parse(patch).ok()?;
    let section = patch.sections.first()?;
    changed("f", before, &section.hunks).ok().map(|changed| changed.after)
}

/// A content with its hunks applied; every hunk that has no place is a fault.
fn changed(name: &str, before: &[u8], hunks: &[Hunk]) -> Result<Changed, Vec<Failure>> {
    if !hunks.is_empty() && binary::is_binary(before) {
        return Err(vec![Failure::conflict(format!(
            "{name} is binary ({}), so it has no lines to patch. Leave it out, or change it with a command through \
             bash.",
            binary::kind(before)
        ))]);
    }
    let coding = Coding::of(before);
    let view = View::of(before, coding);
    let lines = FileLines::of(view.text());
    let mut found: Vec<Splice> = Vec::new();
    let mut faults: Vec<Failure> = Vec::new();
    let mut by_line_ends = Vec::new();
    let mut from = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let refused = Refused { name, number: index + 1, hunk, lines: &lines, from };
        match find(&lines, hunk, from) {
            Err(miss) => faults.push(Failure::conflict(refused.explain(&miss))),
            Ok(place) => {
                if let Some(at) = applied_at(&lines, hunk, place) {
                    faults.push(Failure::conflict(refused.applied(at)));
                }
                if place.by == Match::LineEnds && hunk.old().next().is_some() {
                    by_line_ends.push(index + 1);
                }
                found.extend(splices(&lines, hunk, place));
                from = place.at + hunk.changed_until();
            }
        }
    }
    let mut changes: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    let mut digest = Vec::new();
    for splice in &found {
        let span = view.span(&splice.span);
        match coding.encode(&splice.new) {
            Ok(new) => {
                for part in [before.get(span.clone()).unwrap_or_default(), new.as_slice()] {
                    digest.extend(part.len().to_le_bytes());
                    digest.extend_from_slice(part);
                }
                changes.push((span, new));
            }
            Err(error) => faults.push(Failure::invalid(format!(
                "{name}: {error}. Use characters of that encoding, or convert the file to UTF-8 first, for example \
                 with iconv."
            ))),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let after = apply(before, &changes);
    Ok(Changed { after, splices: found, by_line_ends, digest })
}
