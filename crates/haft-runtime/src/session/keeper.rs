//! Stands around each write of a call: keeps the content before, says in the log what is about to happen, and
//! remembers what did.
//!
//! The log has the change before it is made, so that one cut off by a kill can be undone as well; a change that
//! was refused is taken out again.

use super::{LogEntry, Session, content::CONTENT_MAX_BYTES};
use haft_core::{
    CallId, ChangedBy, Failure, FailureKind, FileChange, FileKind, FileOp, FileState, FileStep, Files,
    RealPath, WriteMode, content_hash,
};
use std::sync::{Arc, Mutex, PoisonError};

/// So many files are named that can't be undone.
const WARNED_MAX: usize = 3;
/// A content that was read whole, or written, is kept up to this length: to show later what somebody else changed.
const SHOWN_MAX_BYTES: usize = 256 * 1024;

/// Keeps, for one call, what undoing it needs.
pub(crate) struct Keeper {
    session: Arc<Session>,
    call: CallId,
    tool: Arc<str>,
    turn: Option<u64>,
    /// The changed files whose content before isn't kept: which, and why.
    unkept: Mutex<Vec<String>>,
}

/// A change that is about to happen.
struct Planned<'a> {
    step: FileStep,
    /// What is written, where it is.
    content: Option<&'a [u8]>,
}

impl Keeper {
    pub(crate) fn new(
        session: &Arc<Session>,
        call: &CallId,
        tool: &Arc<str>,
        turn: Option<u64>,
    ) -> Arc<Self> {
        let (session, call, tool) = (Arc::clone(session), call.clone(), Arc::clone(tool));
        Arc::new(Self { session, call, tool, turn, unkept: Mutex::default() })
    }

    /// What must be said of the changes at once, since undo will miss it.
    pub(crate) fn warning(&self) -> Option<String> {
        let unkept = self.unkept.lock().unwrap_or_else(PoisonError::into_inner);
        if unkept.is_empty() {
            return None;
        }
        let shown: Vec<&str> = unkept.iter().take(WARNED_MAX).map(String::as_str).collect();
        let more = unkept.len().saturating_sub(WARNED_MAX);
        let more = if more > 0 { format!("; and {more} more files") } else { String::new() };
        Some(format!("This change can't be undone: {}{more}.", shown.join("; ")))
    }

    /// Writes a file as [`Files::write`].
    ///
    /// # Errors
    /// What the write answers.
    pub(crate) fn write(
        &self,
        files: &dyn Files,
        at: &RealPath,
        content: &[u8],
        mode: &WriteMode,
    ) -> Result<FileChange, Failure> {
        let planned = self.writing(files, at, content, mode).into_iter().collect();
        self.around(files, planned, || files.write(at, content, mode))
    }

    /// Makes several changes as [`Files::apply`].
    ///
    /// # Errors
    /// What the changes answer.
    pub(crate) fn apply(&self, files: &dyn Files, ops: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
        let mut planned = Vec::new();
        for op in ops {
            match op {
                FileOp::Write { at, content, mode, executable } => {
                    planned.extend(self.writing(files, at, content, mode).map(|plan| plan.made(*executable)));
                }
                FileOp::Restore { at, content, mode, over, .. } => {
                    let how = over.clone().map_or(WriteMode::New, |before| WriteMode::Over { before });
                    planned.extend(self.writing(files, at, content, &how).map(|mut plan| {
                        let kept =
                            plan.step.after.as_ref().and_then(|after| after.mode).unwrap_or(0) & !0o777;
                        let bits = Some(kept | (*mode & 0o777));
                        plan.step.after = plan.step.after.map(|after| FileState { mode: bits, ..after });
                        plan
                    }));
                }
                FileOp::Remove { at, before } => planned.extend(self.removing(files, at, before)),
                FileOp::Move { from, to, before, content, executable } => {
                    if let Some([gone, made]) = self.moving(files, (from, to), before, content.as_deref()) {
                        planned.extend([gone, made.made(*executable)]);
                    }
                }
                FileOp::Tidy { .. } => {}
            }
        }
        self.around(files, planned, || files.apply(ops))
    }

    /// Keeps a short content that was read whole.
    pub(crate) fn saw(&self, offset: u64, max_bytes: usize, bytes: &[u8]) {
        if offset == 0 && bytes.len() < max_bytes && bytes.len() <= SHOWN_MAX_BYTES {
            // Only shown later; nothing is lost without it.
            let _ = self.keep(&content_hash(bytes), bytes);
        }
    }

    fn around<T>(
        &self,
        files: &dyn Files,
        planned: Vec<Planned<'_>>,
        change: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let steps = || planned.iter().map(|plan| plan.step.clone()).collect::<Vec<_>>();
        if !planned.is_empty() {
            self.say(LogEntry::Changing {
                call: self.call.clone(),
                tool: Arc::clone(&self.tool),
                turn: self.turn,
                changes: steps(),
            });
        }
        let done = change();
        if done.is_ok() {
            for plan in &planned {
                if let (Some(content), Some(after)) = (plan.content, &plan.step.after)
                    && content.len() <= SHOWN_MAX_BYTES
                {
                    // The same: it is in the file.
                    let _ = self.keep(&after.hash, content);
                }
            }
            self.mark_unkept(&planned);
            self.remember(steps());
        } else if !planned.is_empty() {
            self.look_again(files, steps());
        }
        done
    }

    fn mark_unkept(&self, planned: &[Planned<'_>]) {
        let reasons = planned.iter().filter_map(|plan| {
            let why = plan.step.unkept.as_ref()?;
            Some(format!("{}: the content before isn't kept ({why})", plan.step.path))
        });
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner).extend(reasons);
    }

    /// After a failure: what doesn't hold what was to be written wasn't changed, or somebody else's content is there
    /// now. The rest stays known, so that it can be undone.
    fn look_again(&self, files: &dyn Files, steps: Vec<FileStep>) {
        let (changed, unchanged): (Vec<FileStep>, Vec<FileStep>) = steps.into_iter().partition(|step| {
            let now = hash_at(files, &step.path);
            now.is_ok_and(|now| now.as_deref() == step.after.as_ref().map(|after| &*after.hash))
        });
        if !unchanged.is_empty() {
            let unchanged = unchanged.into_iter().map(|step| step.path).collect();
            self.say(LogEntry::Unchanged { call: self.call.clone(), unchanged });
        }
        self.remember(changed);
    }

    fn remember(&self, files: Vec<FileStep>) {
        let (call, tool, turn) = (self.call.clone(), Arc::clone(&self.tool), self.turn);
        self.session.changed(ChangedBy { call, tool, turn, files });
    }

    /// A log that can't be written doesn't stop the call; its end says so to people.
    fn say(&self, entry: LogEntry) {
        let _ = self.session.record(entry);
    }

    /// Puts a content into the store.
    fn keep(&self, hash: &str, bytes: &[u8]) -> Result<(), Failure> {
        let gone = self.session.contents().keep(hash, bytes)?;
        if gone > 0 {
            let text = format!(
                "{gone} of the oldest contents of files went, since the session's are more than may be kept; calls \
                 that changed them can't be undone"
            );
            self.say(LogEntry::Note { call: self.call.clone(), text });
        }
        Ok(())
    }

    /// None where the write will be refused: nothing is to be kept then.
    fn writing<'a>(
        &self,
        files: &dyn Files,
        at: &RealPath,
        content: &'a [u8],
        mode: &WriteMode,
    ) -> Option<Planned<'a>> {
        let (before, unkept) = match mode {
            WriteMode::New => {
                is_free(files, at).then_some(())?;
                (None, None)
            }
            WriteMode::Over { before } => {
                let (before, unkept) = self.kept(files, at, before)?;
                (Some(before), unkept)
            }
        };
        let bits = before.as_ref().and_then(|before| before.mode);
        let after = Some(state_of(content, bits));
        let folders = if before.is_none() { missing_folders(files, at) } else { Vec::new() };
        let step = FileStep { unkept, folders, ..self.step(at, before, after) };
        Some(Planned { step, content: Some(content) })
    }

    fn removing(&self, files: &dyn Files, at: &RealPath, before: &Arc<str>) -> Option<Planned<'static>> {
        let (before, unkept) = self.kept(files, at, before)?;
        let before = FileState { traits: files.traits(at).ok(), ..before };
        Some(Planned { step: FileStep { unkept, ..self.step(at, Some(before), None) }, content: None })
    }

    fn moving<'a>(
        &self,
        files: &dyn Files,
        (from, to): (&RealPath, &RealPath),
        before: &Arc<str>,
        content: Option<&'a [u8]>,
    ) -> Option<[Planned<'a>; 2]> {
        is_free(files, to).then_some(())?;
        let removed = self.removing(files, from, before)?;
        let old = removed.step.before.clone()?;
        let after = content
            .map_or_else(|| FileState { traits: None, ..old.clone() }, |content| state_of(content, old.mode));
        let folders = missing_folders(files, to);
        let made = Planned { step: FileStep { folders, ..self.step(to, None, Some(after)) }, content };
        Some([removed, made])
    }

    fn step(&self, at: &RealPath, before: Option<FileState>, after: Option<FileState>) -> FileStep {
        // What was seen of another content says nothing about this one.
        let seen = self.session.seen_of(at);
        let seen = seen.filter(|seen| before.as_ref().is_some_and(|before| before.hash == seen.hash));
        FileStep { path: at.clone(), before, after, seen, folders: Vec::new(), unkept: None }
    }

    /// The state of a file whose content the tool says it knows; the content is put into the store, or it is said why
    /// not. None where it has another one.
    fn kept(&self, files: &dyn Files, at: &RealPath, hash: &Arc<str>) -> Option<(FileState, Option<String>)> {
        let stat = files.peek(at).filter(|stat| stat.kind == FileKind::File)?;
        let state = FileState { hash: Arc::clone(hash), len: stat.len, mode: Some(stat.mode), traits: None };
        let bytes = files.read(at, 0, CONTENT_MAX_BYTES + 1).ok()?;
        if bytes.len() > CONTENT_MAX_BYTES {
            // That it changed is still known.
            return Some((state, Some("it is longer than 64 MiB".to_owned())));
        }
        if content_hash(&bytes) != *hash {
            return None;
        }
        let unkept = self.keep(hash, &bytes).err().map(|failure| failure.text);
        Some((state, unkept))
    }
}

impl Planned<'_> {
    /// With the bits to run it as a program set or not.
    fn made(mut self, executable: Option<bool>) -> Self {
        if let (Some(executable), Some(after)) = (executable, &mut self.step.after) {
            after.mode = after.mode.map(|mode| with_executable(mode, executable));
        }
        self
    }
}

/// Whoever may read it may run it, or nobody may.
fn with_executable(mode: u32, executable: bool) -> u32 {
    let run = 0o111;
    if executable { mode | ((mode & 0o444) >> 2) } else { mode & !run }
}

fn state_of(content: &[u8], mode: Option<u32>) -> FileState {
    let len = u64::try_from(content.len()).unwrap_or(u64::MAX);
    FileState { hash: content_hash(content), len, mode, traits: None }
}

/// The folders that a new file makes, each after the one it is in.
fn missing_folders(files: &dyn Files, at: &RealPath) -> Vec<RealPath> {
    let mut missing = Vec::new();
    let mut path: &str = &at.beneath;
    while let Some((parent, _)) = path.rsplit_once('/') {
        let folder = RealPath::new(&at.root, parent);
        if !is_free(files, &folder) {
            break;
        }
        missing.push(folder);
        path = parent;
    }
    missing.reverse();
    missing
}

fn is_free(files: &dyn Files, at: &RealPath) -> bool {
    files.stat(at).is_err_and(|failure| failure.kind == FailureKind::NotFound)
}

/// The hash of what stands there; none where nothing does.
fn hash_at(files: &dyn Files, at: &RealPath) -> Result<Option<Arc<str>>, Failure> {
    match files.read(at, 0, CONTENT_MAX_BYTES + 1) {
        Ok(bytes) => Ok(Some(content_hash(&bytes))),
        Err(failure) if failure.kind == FailureKind::NotFound => Ok(None),
        Err(failure) => Err(failure),
    }
}
