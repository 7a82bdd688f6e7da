//! The blocking part of `undo`: looks at files, and puts them back all at once.

use super::{
    diff::Diff,
    plan::{Lost, Now, Plan, Restore, plan},
    refusal,
    target::{Target, UNDONE, Undone, chosen},
};
use crate::session::CONTENT_MAX_BYTES;
use haft_core::{
    CallId, ChangedBy, Cx, Failure, FailureKind, FileChange, FileKind, FileOp, FileState, FileTraits, Files,
    Output, PathArg, RealPath, Seen, SessionView, WriteMode, content_hash,
};
use serde_json::json;
use std::{collections::BTreeSet, fmt::Write, sync::Arc};

/// Longer contents aren't compared by line.
const COMPARED_MAX_BYTES: u64 = 4 * 1024 * 1024;
/// So much of all diffs is shown.
const SHOWN_MAX_BYTES: usize = 64 * 1024;

/// One undo.
pub(crate) struct Job {
    files: Arc<dyn Files>,
    session: Arc<dyn SessionView>,
    /// What was judged.
    paths: Arc<[(PathArg, RealPath)]>,
    call: CallId,
    target: Target,
}

/// An undo that can be done.
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    calls: BTreeSet<CallId>,
    undone: Undone,
    /// What is undone, in words.
    what: String,
    /// For each file to be restored, its content to be.
    contents: Vec<Option<Vec<u8>>>,
    diffs: Vec<Diff>,
}

impl Job {
    pub(crate) fn new(target: Target, cx: &Cx) -> Self {
        Self {
            files: Arc::clone(&cx.world.files),
            session: Arc::clone(&cx.session),
            paths: Arc::clone(&cx.paths),
            call: cx.call.clone(),
            target,
        }
    }

    /// Finds out what is to be done.
    ///
    /// # Errors
    /// Not found where there is nothing to undo; a conflict where something would be lost, or a content isn't kept.
    pub(crate) fn ready(&self) -> Result<Ready, Failure> {
        let (changes, undone) = known(self.session.as_ref());
        let calls = chosen(&self.target, &changes, &undone);
        if calls.is_empty() {
            return Err(refusal::nothing(&self.target, &changes, &undone));
        }
        let plan = plan(&changes, &calls, &mut |path| self.look(path));
        let what = named(&changes, &calls);
        if plan.restores.is_empty() && plan.lost.is_empty() && calls.iter().all(|call| undone.has(call)) {
            return Err(refusal::taken(&what, calls.first().and_then(|call| undone.by(call))));
        }
        if !plan.lost.is_empty() {
            let lost: Vec<(Lost, String, Option<Diff>)> =
                plan.lost.into_iter().map(|lost| self.measured(lost)).collect();
            return Err(refusal::lost(&lost));
        }
        let contents: Vec<Option<Vec<u8>>> = plan
            .restores
            .iter()
            .map(|restore| restore.to.as_ref().and_then(|to| self.session.content(&to.hash)))
            .collect();
        let missing: Vec<(String, Option<String>)> = plan
            .restores
            .iter()
            .zip(&contents)
            .filter(|(restore, content)| restore.to.is_some() && content.is_none())
            .map(|(restore, _)| (self.name(&restore.path), restore.unkept.clone()))
            .collect();
        if !missing.is_empty() {
            return Err(refusal::gone(&missing));
        }
        let diffs = plan
            .restores
            .iter()
            .zip(&contents)
            .map(|(one, bytes)| self.diff(one, bytes.as_deref()))
            .collect();
        Ok(Ready { plan, calls, undone, what, contents, diffs })
    }

    /// Restores all files, or none, and says what it did. Of all processes of the session only one does so at a time.
    ///
    /// # Errors
    /// A conflict where a file changes at this very moment, or another process has taken the calls back meanwhile.
    pub(crate) fn run(&self, ready: Ready) -> Result<(Output, Vec<RealPath>), Failure> {
        let (mut waiting, mut ran) = (Some(ready), None);
        let kept = self.session.update_shared(UNDONE, &mut |shared| {
            let Some(mut ready) = waiting.take() else {
                return Err(Failure::internal("an undo was begun twice"));
            };
            let now = ready.undone.clone().joined(Undone::shared(shared));
            if ready.calls.iter().any(|call| now.has(call) && !ready.undone.has(call)) {
                return Err(refusal::taken_meanwhile(&ready.what));
            }
            ready.undone = now.and(&self.call, &ready.calls);
            let value = ready.undone.value().to_string();
            ran = Some(self.restore(ready)?);
            Ok(value.into_bytes())
        });
        match (ran, kept) {
            // Where it can't be kept for the others, the log still has it.
            (Some(ran), _) => Ok(ran),
            (None, Err(failure)) => Err(failure),
            (None, Ok(())) => Err(Failure::internal("the undo wasn't begun")),
        }
    }

    fn restore(&self, ready: Ready) -> Result<(Output, Vec<RealPath>), Failure> {
        let Ready { plan, calls, undone, what, contents, diffs } = ready;
        let lines: Vec<Option<u64>> =
            contents.iter().map(|bytes| bytes.as_deref().map(count_lines)).collect();
        let mut ops = Vec::new();
        for (restore, content) in plan.restores.iter().zip(contents) {
            ops.extend(self.op(restore, content)?);
        }
        if !ops.is_empty() {
            let folders = plan.folders.iter().filter_map(|folder| self.judged(folder));
            ops.extend(folders.map(|at| FileOp::Tidy { at: at.clone() }));
        }
        let done: Vec<FileChange> = if ops.is_empty() { Vec::new() } else { self.files.apply(&ops)? };
        let mut text = if done.is_empty() {
            format!("Nothing had to be changed to undo {what}.")
        } else {
            format!("Undid {what}.")
        };
        for (restore, diff) in plan.restores.iter().zip(&diffs) {
            let _ = write!(text, "\n{}", self.said(restore, diff));
            text.push_str(&self.mode_note(restore));
            text.push_str(&self.traits_note(restore));
            if done.iter().any(|change| change.overtaken && change.path == restore.path) {
                text.push_str("; another program changed it at the same moment: read it again");
            }
        }
        text.push_str(&self.gone_folders(&plan));
        text.push_str(&self.already(&plan));
        if !done.is_empty() {
            let _ = write!(text, "\nTo take this back, undo call=\"{}\".", self.call);
        }
        let seen = plan.restores.iter().zip(lines).filter_map(|(restore, lines)| self.seen(restore, lines?));
        let changed: Vec<RealPath> = done.iter().map(|change| change.path.clone()).collect();
        let undone_calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
        let output = Output {
            seen: seen.collect(),
            files: done,
            session: vec![(UNDONE.into(), undone.value())],
            ..Output::text(text)
        };
        Ok((output.with_metadata(json!({"diff": shown(&diffs), "undone": undone_calls})), changed))
    }

    /// Says what would be done.
    pub(crate) fn dry(&self, ready: &Ready) -> Output {
        let mut text = format!("Nothing was changed. Undoing {} would do this:", ready.what);
        for (restore, diff) in ready.plan.restores.iter().zip(&ready.diffs) {
            let _ = write!(text, "\n{}", self.said(restore, diff));
        }
        text.push_str(&self.already(&ready.plan));
        let diffs = shown(&ready.diffs);
        if !diffs.is_empty() {
            let _ = write!(text, "\n\n{diffs}");
        }
        Output::text(text)
    }

    /// What stands at a path that was judged.
    fn look(&self, path: &RealPath) -> Now {
        let Some(at) = self.judged(path) else {
            return Now::Other("its path leads elsewhere now, through a link".to_owned());
        };
        let stat = match self.files.stat(at) {
            Ok(stat) => stat,
            Err(failure) if failure.kind == FailureKind::NotFound => return Now::Nothing,
            Err(failure) => return Now::Other(format!("it can't be looked at ({})", failure.text)),
        };
        match stat.kind {
            FileKind::File => {}
            FileKind::Folder => return Now::Other("it is a folder now".to_owned()),
            FileKind::Link => return Now::Other("it is a link now".to_owned()),
            FileKind::Special(what) => return Now::Other(format!("it is a {what} now")),
        }
        match self.files.read(at, 0, CONTENT_MAX_BYTES + 1) {
            Ok(bytes) if bytes.len() > CONTENT_MAX_BYTES => {
                Now::Other("it is longer than 64 MiB, too long to be compared".to_owned())
            }
            Ok(bytes) => {
                let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                let mode = Some(stat.mode);
                Now::File(FileState { hash: content_hash(&bytes), len, mode, traits: None })
            }
            Err(failure) => Now::Other(format!("it can't be read ({})", failure.text)),
        }
    }

    /// The path as it was judged; none where it doesn't stand for the same file any more.
    fn judged(&self, path: &RealPath) -> Option<&RealPath> {
        let absolute = path.absolute();
        let judged = self.paths.iter().find(|(written, _)| written.0 == absolute);
        judged.map(|(_, real)| real).filter(|real| real.absolute() == absolute)
    }

    fn op(&self, restore: &Restore, content: Option<Vec<u8>>) -> Result<Option<FileOp>, Failure> {
        let at = self.judged(&restore.path).cloned();
        let at =
            at.ok_or_else(|| Failure::internal(format!("{} wasn't judged", self.name(&restore.path))))?;
        Ok(match (&restore.now, &restore.to, content) {
            (None, Some(FileState { mode: Some(mode), traits, .. }), Some(content)) => {
                Some(FileOp::Restore { at, content, mode: *mode, over: None, traits: traits.clone() })
            }
            (Some(now), Some(FileState { mode: Some(mode), .. }), Some(content))
                if now.mode != Some(*mode) =>
            {
                let over = Some(Arc::clone(&now.hash));
                Some(FileOp::Restore { at, content, mode: *mode, over, traits: None })
            }
            (now, Some(_), Some(content)) => {
                let mode = now
                    .as_ref()
                    .map_or(WriteMode::New, |now| WriteMode::Over { before: Arc::clone(&now.hash) });
                Some(FileOp::Write { at, content, mode, executable: None })
            }
            (Some(now), None, _) => Some(FileOp::Remove { at, before: Arc::clone(&now.hash) }),
            _ => None,
        })
    }

    /// What the model has seen of a restored file: what it had seen of that content, and else nothing.
    fn seen(&self, restore: &Restore, total: u64) -> Option<(RealPath, Seen)> {
        let at = self.judged(&restore.path)?;
        let to = restore.to.as_ref()?;
        let before = restore.seen.clone().filter(|seen| seen.hash == to.hash);
        let nothing = || Seen { hash: Arc::clone(&to.hash), lines: Vec::new(), total };
        let seen = before.or_else(|| self.session.seen(at).map(|_| nothing()))?;
        Some((at.clone(), seen))
    }

    /// Bits that couldn't be given back are named.
    fn mode_note(&self, restore: &Restore) -> String {
        let Some(wanted) = restore.to.as_ref().and_then(|to| to.mode) else { return String::new() };
        let now = self.judged(&restore.path).and_then(|at| self.files.peek(at)).map(|stat| stat.mode);
        match now {
            Some(now) if now != wanted => {
                format!("; its mode was {wanted:o} and is {now:o} now: chmod {wanted:o} gives it back")
            }
            _ => String::new(),
        }
    }

    /// What a file that came back had besides content and mode, and hasn't now.
    fn traits_note(&self, restore: &Restore) -> String {
        let Some(wanted) = returning(restore) else { return String::new() };
        let now = self.judged(&restore.path).and_then(|at| self.files.traits(at).ok()).unwrap_or_default();
        let mut lost = Vec::new();
        if let Some((user, group)) = wanted.owner.filter(|_| wanted.owner != now.owner) {
            lost.push(format!("its owner ({user}:{group})"));
        }
        let missing = wanted.attributes.iter().filter(|one| !now.attributes.contains(one)).count();
        if missing + wanted.left_out > 0 {
            lost.push(format!("{} extended attributes", missing + wanted.left_out));
        }
        if lost.is_empty() { String::new() } else { format!("; without {}", lost.join(" and ")) }
    }

    /// The folders that the calls made and that are gone now.
    fn gone_folders(&self, plan: &Plan) -> String {
        let is_gone = |folder: &&RealPath| {
            let at = self.judged(folder);
            at.is_some_and(|at| {
                self.files.stat(at).is_err_and(|failure| failure.kind == FailureKind::NotFound)
            })
        };
        let gone: Vec<String> = plan.folders.iter().filter(is_gone).map(|at| self.name(at)).collect();
        if gone.is_empty() { String::new() } else { format!("\nFolders removed: {}", gone.join(", ")) }
    }

    /// With how much would be lost, where both contents are known.
    fn measured(&self, lost: Lost) -> (Lost, String, Option<Diff>) {
        let name = self.name(&lost.path);
        let left = lost.left.as_ref().map(|left| self.kept(left));
        let found = match &lost.found {
            Now::File(state) => Some(self.content_now(&lost.path, state)),
            Now::Nothing => None,
            // Not to be compared with anything.
            Now::Other(_) => Some(None),
        };
        // A content that isn't known can't be counted.
        let diff = match (left, found) {
            (Some(None), _) | (_, Some(None)) => None,
            (left, found) => Some(Diff::of(&name, left.flatten().as_deref(), found.flatten().as_deref())),
        };
        (lost, name, diff)
    }

    /// A content that was found: on disk, or in the store where a later call changed it.
    fn content_now(&self, path: &RealPath, state: &FileState) -> Option<Vec<u8>> {
        if state.len > COMPARED_MAX_BYTES {
            return None;
        }
        let max = usize::try_from(state.len).unwrap_or(usize::MAX).saturating_add(1);
        let read = self.judged(path).and_then(|at| self.files.read(at, 0, max).ok());
        read.filter(|bytes| *content_hash(bytes) == *state.hash).or_else(|| self.kept(state))
    }

    /// A content from the store, if it is short enough to be compared.
    fn kept(&self, state: &FileState) -> Option<Vec<u8>> {
        if state.len > COMPARED_MAX_BYTES { None } else { self.session.content(&state.hash) }
    }

    fn diff(&self, restore: &Restore, content: Option<&[u8]>) -> Diff {
        let name = self.name(&restore.path);
        let mut states = restore.now.iter().chain(&restore.to);
        if states.any(|state| state.len > COMPARED_MAX_BYTES) {
            return Diff::too_long(&name);
        }
        let now = restore.now.as_ref().and_then(|now| self.content_now(&restore.path, now));
        let mut diff = Diff::of(&name, now.as_deref(), content);
        if let Some(traits) = returning(restore).filter(|traits| traits.links > 1) {
            let _ = writeln!(diff.text, "{name}: {}", apart(traits));
        }
        diff
    }

    fn said(&self, restore: &Restore, diff: &Diff) -> String {
        let name = self.name(&restore.path);
        match (&restore.now, &restore.to) {
            (_, None) => format!("{name}: removed, it was made then ({diff})"),
            (None, Some(_)) => {
                let apart = returning(restore).filter(|traits| traits.links > 1).map(apart);
                let apart = apart.map(|apart| format!("; {apart}")).unwrap_or_default();
                format!("{name}: brought back ({diff}){apart}")
            }
            (Some(now), Some(to)) if now.hash == to.hash => format!("{name}: its mode as before"),
            _ => format!("{name}: as before ({diff})"),
        }
    }

    fn already(&self, plan: &Plan) -> String {
        let names: Vec<String> = plan.already.iter().map(|path| self.name(path)).collect();
        if names.is_empty() { String::new() } else { format!("\nAs before already: {}", names.join(", ")) }
    }

    /// A path as the model writes it, on one line.
    fn name(&self, path: &RealPath) -> String {
        let is_inside = path.root == self.files.workspace().root;
        let name = if is_inside { path.to_string() } else { path.absolute() };
        if name.contains(char::is_control) { name.escape_debug().to_string() } else { name }
    }
}

impl Ready {
    /// What people see before they allow it.
    pub(crate) fn shown(&self) -> String {
        shown(&self.diffs)
    }
}

/// What a file that comes back had besides content and mode.
fn returning(restore: &Restore) -> Option<&FileTraits> {
    restore.to.as_ref().filter(|_| restore.now.is_none())?.traits.as_ref()
}

/// Hard links aren't tied again.
fn apart(traits: &FileTraits) -> String {
    format!("it had {} names (hard links) and comes back as a file of its own", traits.links)
}

/// All that a session knows for an undo.
pub(crate) fn known(session: &dyn SessionView) -> (Vec<ChangedBy>, Undone) {
    let own = Undone::of(session.state(UNDONE).as_ref());
    (session.changes(), own.joined(Undone::shared(session.shared(UNDONE).as_deref())))
}

/// The calls with their tools, in order.
fn named(changes: &[ChangedBy], calls: &BTreeSet<CallId>) -> String {
    const NAMED_MAX: usize = 10;
    let tool = |call: &CallId| changes.iter().find(|change| change.call == *call).map(|change| &*change.tool);
    let named = calls.iter().take(NAMED_MAX).map(|call| format!("{call} ({})", tool(call).unwrap_or("?")));
    let noun = if calls.len() == 1 { "call" } else { "calls" };
    let more = calls.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{noun} {}{more}", named.collect::<Vec<_>>().join(", "))
}

/// As many diffs as fit; the rest is counted.
fn shown(diffs: &[Diff]) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for diff in diffs {
        if text.is_empty() || text.len() + diff.text.len() <= SHOWN_MAX_BYTES {
            text.push_str(&diff.text);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "… and {left_out} more files");
    }
    text
}

/// Lines by line feed; a last one without its end counts.
fn count_lines(bytes: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', bytes).count();
    let open = usize::from(bytes.last().is_some_and(|last| *last != b'\n'));
    u64::try_from(ends + open).unwrap_or(u64::MAX)
}
