//! A running command from its start to the end of its tree.

use super::{
    at,
    control::{Control, Record, is_for_now},
    launch::{Held, Keepers, Launched, NotPutUp, PutUp, ended, unused},
    silence::{Found, Silence},
    told::Told,
    tree::{self, Process},
};
use haft_core::{Cancel, Command, Exit, Failure, FailureKind, Stdio, StopReason, Survivor, Tether};
use rustix::process::Signal;
use std::{
    future::pending,
    io::{self, Read, Seek},
    time::Duration,
};
use tempfile::NamedTempFile;
use tokio::{
    net::unix::pipe::{Receiver, Sender},
    select,
    task::{JoinHandle, coop::consume_budget, spawn_blocking},
    time::{Instant, sleep, timeout},
};

/// The longest piece of output.
pub(super) const PIECE_BYTES: usize = 64 * 1024;
/// A piece of output that took so long to be taken was taken slowly.
const SLOW: Duration = Duration::from_millis(2);
/// How much of a report is read.
const REPORT_MAX_BYTES: u64 = 64 * 1024;
/// How much is kept of what bubblewrap says where it fails.
pub(super) const COMPLAINT_MAX_BYTES: usize = 1024;
/// How many survivors are named.
const SURVIVORS_NAMED: usize = 16;
/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// So long after TERM it is first looked for what came while that was sent, and after twice as long again.
const LATE: Duration = Duration::from_millis(100);
/// Between TERM and KILL for what a command left behind.
const SURVIVOR_GRACE: Duration = Duration::from_millis(200);
/// How long what is about to end anyway may take, after the first process has.
const SETTLE: Duration = Duration::from_millis(50);
/// How long output is read after the first process has ended.
const DRAIN: Duration = Duration::from_secs(2);
/// How long the supervisor may take by itself to kill all.
const SWEEP_AFTER: Duration = Duration::from_millis(500);
/// How often a session without a supervisor is looked through.
const SWEEP_ROUNDS: usize = 16;
/// How long killed processes are waited for: they may hang in the kernel or run with other rights.
pub(super) const KILL_WAIT: Duration = Duration::from_secs(5);
/// How long the reaping of a supervisor that said goodbye is waited for.
pub(super) const REAP_WAIT: Duration = Duration::from_secs(1);

/// What ends the input at a terminal: the sign that is typed for it.
const END_OF_INPUT: u8 = 4;

/// What goes to a command's standard input.
pub(super) struct Feed {
    sender: Sender,
    bytes: Vec<u8>,
    written: usize,
    /// Where further input comes from.
    tether: Option<Tether>,
    is_terminal: bool,
}

impl Feed {
    /// What a command is given, by its end of a pipe or terminal.
    pub(super) fn new(sender: Sender, command: &Command) -> Self {
        Self {
            sender,
            bytes: command.stdin.clone(),
            written: 0,
            tether: command.tether.clone().filter(Tether::takes_input),
            is_terminal: command.terminal.is_some(),
        }
    }

    /// The end of the pipe itself, for whoever gives the input by themselves.
    pub(super) fn into_sender(self) -> Sender {
        self.sender
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// Waits until it can go on.
    ///
    /// # Cancellation
    /// Nothing is lost when the future is dropped.
    async fn news(&self) -> News {
        match &self.tether {
            // Errors show when it is written.
            _ if !self.rest().is_empty() => {
                let _ = self.sender.writable().await;
                News::Writable
            }
            Some(tether) => News::Input(tether.next_input().await),
            // A terminal stays open for a command that nobody types to.
            None if self.is_terminal => pending().await,
            None => News::Input(None),
        }
    }

    /// Writes what can be written now; whether more may be later. A child that closes its input is no error: it wanted
    /// no more.
    fn write(&mut self) -> bool {
        match self.sender.try_write(self.bytes.get(self.written..).unwrap_or_default()) {
            Ok(count) => {
                self.written = self.written.saturating_add(count);
                if let Some(tether) = &self.tether {
                    tether.has_taken(count);
                }
                true
            }
            Err(fault) if is_for_now(&fault) => true,
            Err(_) => {
                if let Some(tether) = &self.tether {
                    tether.refuse();
                }
                false
            }
        }
    }

    /// Takes further input, or the end of it; whether there is anything left to write.
    fn take(&mut self, input: Option<Vec<u8>>) -> bool {
        let is_over = input.is_none();
        // A terminal isn't closed: the end is typed there, once.
        let is_typed = is_over && self.is_terminal && self.tether.take().is_some();
        self.bytes = input.unwrap_or_else(|| if is_typed { vec![END_OF_INPUT] } else { Vec::new() });
        self.written = 0;
        !is_over || is_typed
    }
}

/// What a call holds while its command runs. Dropping it kills the tree at once, unless that is to stay.
pub(super) struct Run<'a> {
    control: Control,
    supervisor: i32,
    reaper: JoinHandle<()>,
    out: Option<Receiver>,
    err: Option<Receiver>,
    input: Option<Feed>,
    tether: Option<Tether>,
    silence: Option<Silence>,
    report: Option<NamedTempFile>,
    held: Option<Held>,
    keepers: Keepers,
    are_apart: bool,
    output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    buffer: Vec<u8>,
    told: Told,
    /// What bubblewrap said where it failed.
    complaint: Vec<u8>,
    survivors: Vec<Process>,
}

/// What happened next.
enum News {
    Record(Option<Record>),
    Readable(Stdio),
    Writable,
    Input(Option<Vec<u8>>),
    Look,
    Time,
}

impl<'a> Run<'a> {
    pub(super) fn new(launched: Launched, output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send)) -> Self {
        let (mut control, mut keepers) = (launched.control, launched.keepers);
        keepers.stay = control.may_stay(true);
        let silence = launched.tether.clone().zip(launched.quiet_after);
        Self {
            control,
            supervisor: launched.supervisor,
            reaper: launched.reaper,
            out: Some(launched.out),
            are_apart: launched.err.is_some(),
            err: launched.err,
            input: launched.input,
            tether: launched.tether,
            silence: silence.map(|(tether, after)| Silence::new(tether, after)),
            report: launched.report,
            held: launched.held,
            keepers,
            output,
            buffer: vec![0; PIECE_BYTES],
            told: Told::default(),
            complaint: Vec::new(),
            survivors: Vec::new(),
        }
    }

    /// Runs it to the end of its tree.
    ///
    /// # Cancellation
    /// Dropping the future kills the tree, unless that is to stay.
    pub(super) async fn finish(
        mut self,
        cancel: &Cancel,
        deadline: Option<Instant>,
    ) -> Result<PutUp<Exit>, Failure> {
        let reason = select! {
            biased;
            () = cancel.fired() => StopReason::Cancelled,
            ended = self.pump(Self::has_ended, deadline) => {
                if ended { StopReason::Itself } else { StopReason::Deadline }
            }
        };
        self.input = None;
        self.silence = None;
        // From here on all of it ends, also where nobody waits for that.
        self.keepers.stay = self.control.may_stay(false);
        if reason == StopReason::Itself {
            let is_cut_short = select! {
                biased;
                () = cancel.fired() => true,
                () = self.settle() => false,
            };
            if is_cut_short {
                self.kill(after(KILL_WAIT)).await;
            }
        } else {
            if !self.ask().await || self.told.is_lost {
                self.kill(after(KILL_WAIT)).await;
            }
            self.pump(Self::is_drained, after(DRAIN)).await;
        }
        self.seal(reason).await
    }

    /// After the first process has ended: stops what it left behind and reads the rest.
    async fn settle(&mut self) {
        let end = after(DRAIN);
        if !self.pump(Self::is_over, after(SETTLE)).await {
            self.survivors = self.living().await;
            self.signal(Signal::TERM).await;
            if !self.pump(Self::is_over, after(SURVIVOR_GRACE)).await {
                self.kill(end).await;
            }
        }
        if self.told.is_lost {
            self.sweep().await;
        }
        self.pump(Self::is_drained, end).await;
    }

    /// Kills everything and waits until it is gone, or until `limit`.
    async fn kill(&mut self, limit: Option<Instant>) {
        self.control.kill();
        if !self.pump(Self::is_over, limit.min(after(SWEEP_AFTER))).await || self.told.is_lost {
            self.sweep().await;
            self.pump(Self::is_over, limit).await;
        }
    }

    /// Kills from outside what the supervisor can't: it may have been killed, or the system may not list
    /// its children.
    async fn sweep(&mut self) {
        if let Some(group) = &self.keepers.group {
            group.kill();
        }
        if self.told.is_lost {
            if let Some(session) = self.told.first {
                blocking(move || sweep_session(session)).await;
            }
        } else {
            self.signal(Signal::KILL).await;
        }
    }

    /// Sends a signal to everything beneath the supervisor, and lets it go on where it was stopped. Says to which.
    async fn signal(&mut self, signal: Signal) -> Vec<Process> {
        let supervisor = self.supervisor;
        blocking(move || {
            let processes = tree::living_beneath(supervisor);
            each(&processes, &[signal, Signal::CONT]);
            processes
        })
        .await
    }

    /// Asks everything to end; whether it did within the grace.
    ///
    /// What is made while the others are asked is missed, and asked as soon as its parent is gone: that ended while it
    /// made it. What a parent that lives has made since may be how it tidies up.
    async fn ask(&mut self) -> bool {
        let grace = after(GRACE);
        let mut asked = self.signal(Signal::TERM).await;
        let mut wait = LATE;
        while !self.pump(Self::is_over, grace.min(after(wait))).await {
            if grace.is_some_and(|grace| Instant::now() >= grace) {
                return false;
            }
            let living = self.living().await;
            let has_parent = |process: &Process| {
                process.stat.parent().is_some_and(|parent| living.iter().any(|other| other.pid == parent))
            };
            let is_late =
                |process: &&Process| !has_parent(process) && !asked.iter().any(|one| one.is(process));
            let late: Vec<Process> = living.iter().filter(is_late).cloned().collect();
            asked.extend_from_slice(&late);
            blocking(move || each(&late, &[Signal::TERM, Signal::CONT])).await;
            wait *= 2;
        }
        true
    }

    /// What lives beneath the supervisor.
    async fn living(&mut self) -> Vec<Process> {
        let supervisor = self.supervisor;
        let mut living = blocking(move || tree::living_beneath(supervisor)).await;
        // The first process of namespaces lives on for the others, and bubblewrap for it.
        let frames = self.held.as_ref().map_or(0, |held| held.frames);
        let first = self.told.first;
        let is_frame = |process: &Process| {
            let is_first = Some(process.pid) == first;
            frames > 0 && is_first || frames > 1 && process.stat.parent() == first
        };
        living.retain(|process| !is_frame(process));
        living
    }

    /// Moves input and output until something holds, which is then `true`, or until a time.
    ///
    /// # Cancellation
    /// Nothing is lost when the future is dropped.
    async fn pump(&mut self, holds: fn(&Self) -> bool, limit: Option<Instant>) -> bool {
        while !holds(self) {
            if limit.is_some_and(|limit| Instant::now() >= limit) {
                return false;
            }
            // A command that never stops writing must not keep others from being polled.
            consume_budget().await;
            match self.news(limit).await {
                News::Record(record) => {
                    if let (Some(Record::Started { pid }), Some(tether)) = (record, &self.tether) {
                        tether.has_started(pid);
                    }
                    self.told.take(record);
                }
                News::Readable(stream) => {
                    let began = Instant::now();
                    self.read(stream);
                    // Where output is taken slowly, others have as much time as it takes.
                    let took = began.elapsed();
                    if took >= SLOW {
                        sleep(took).await;
                    }
                }
                News::Writable => {
                    if self.input.as_mut().is_some_and(|input| !input.write()) {
                        self.input = None;
                    }
                }
                News::Input(input) => {
                    if self.input.as_mut().is_some_and(|feed| !feed.take(input)) {
                        self.input = None;
                    }
                }
                News::Look => self.look().await,
                News::Time => {}
            }
        }
        true
    }

    async fn news(&mut self, limit: Option<Instant>) -> News {
        // The streams are bubblewrap's until it is known whether it made room for the command.
        let are_its = !self.is_awaited();
        select! {
            record = self.control.next_record() => News::Record(record),
            () = readable(self.out.as_ref()), if are_its => News::Readable(Stdio::Out),
            () = readable(self.err.as_ref()), if are_its => News::Readable(Stdio::Err),
            news = fed(self.input.as_ref()), if are_its => news,
            () = at(self.silence.as_ref().map(Silence::next)) => News::Look,
            () = at(limit) => News::Time,
        }
    }

    /// Whether it is silent.
    async fn look(&mut self) {
        if !self.silence.as_mut().is_some_and(Silence::is_due) {
            return;
        }
        let supervisor = self.supervisor;
        let found = blocking(move || Found::beneath(supervisor)).await;
        let first = self.told.first.filter(|_| self.held.as_ref().is_some_and(|held| held.frames > 0));
        if let Some(silence) = &mut self.silence {
            silence.take(&found, first);
        }
    }

    fn read(&mut self, stream: Stdio) {
        let pipe = match stream {
            Stdio::Out => &mut self.out,
            Stdio::Err => &mut self.err,
        };
        let Some(receiver) = pipe else { return };
        match receiver.try_read(&mut self.buffer) {
            Ok(0) => *pipe = None,
            Ok(count) => {
                let piece = self.buffer.get(..count).unwrap_or_default();
                if self.held.as_ref().is_some_and(|held| held.is_outside(&self.told)) {
                    let room = COMPLAINT_MAX_BYTES.saturating_sub(self.complaint.len());
                    self.complaint.extend(piece.iter().take(room));
                    return;
                }
                if let Some(silence) = &mut self.silence {
                    silence.broken();
                }
                (self.output)(stream, piece);
            }
            Err(fault) if is_for_now(&fault) => {}
            Err(_) => *pipe = None,
        }
    }

    /// Whether bubblewrap is still at work.
    fn is_awaited(&self) -> bool {
        !self.told.has_ended() && self.held.as_ref().is_some_and(|held| held.is_outside(&self.told))
    }

    fn has_ended(&self) -> bool {
        self.told.has_ended()
    }

    fn is_over(&self) -> bool {
        self.told.is_over()
    }

    fn is_drained(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// Lets go of everything and says how it went.
    async fn seal(self, reason: StopReason) -> Result<PutUp<Exit>, Failure> {
        let Some(status) = self.told.status() else {
            return Err(Failure::new(
                FailureKind::Unavailable,
                format!(
                    "the command was told to stop and was killed, but process {} is still there: it hangs in \
                     the system or runs as another user; ask the user to stop it",
                    self.told.first.unwrap_or(self.supervisor),
                ),
            ));
        };
        let by_itself = reason == StopReason::Itself;
        if let Some(why) = self.held.as_ref().and_then(|held| held.refusal(&self.told)) {
            return Err(unused(self.held, why).await);
        }
        if by_itself && self.held.as_ref().is_some_and(|held| held.is_outside(&self.told)) {
            return Ok(PutUp::Not(NotPutUp::new(self.held, &self.complaint).await));
        }
        if let Some(words) = self.keepers.last_words() {
            let stream = if self.are_apart { Stdio::Err } else { Stdio::Out };
            (self.output)(stream, format!("\n{words}\n").as_bytes());
        }
        let report = match self.report {
            Some(file) => blocking(move || read_report(&file).unwrap_or_default()).await,
            None => Vec::new(),
        };
        if self.told.is_over() {
            // So that not even a zombie is left.
            drop(timeout(REAP_WAIT, self.reaper).await);
        }
        let confined = ended(self.held).await;
        let named = self.survivors.iter().take(SURVIVORS_NAMED);
        Ok(PutUp::Done(Exit {
            status,
            reason,
            survivors: named.map(|each| Survivor { pid: each.pid, name: each.stat.name.clone() }).collect(),
            survivor_count: self.survivors.len(),
            report,
            confined,
        }))
    }
}

/// Reads by the handle that was made for it: the command may have put a link in the file's place.
fn read_report(file: &NamedTempFile) -> io::Result<Vec<u8>> {
    let mut handle = file.as_file();
    handle.rewind()?;
    let mut report = Vec::new();
    handle.take(REPORT_MAX_BYTES).read_to_end(&mut report)?;
    Ok(report)
}

/// Kills a session from outside, again while it forks.
pub(super) fn sweep_session(session: i32) {
    for _ in 0..SWEEP_ROUNDS {
        let processes = tree::living_in_session(session);
        if processes.is_empty() {
            return;
        }
        each(&processes, &[Signal::KILL]);
    }
}

fn each(processes: &[Process], signals: &[Signal]) {
    for process in processes {
        process.signal(signals);
    }
}

fn after(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

pub(super) async fn blocking<T: Default + Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    spawn_blocking(job).await.unwrap_or_default()
}

/// Waits until the pipe can be read; for ever where there is none. Errors show when it is read.
async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        Some(pipe) => drop(pipe.readable().await),
        None => pending().await,
    }
}

/// What the input waits for; for ever where there is none.
async fn fed(input: Option<&Feed>) -> News {
    match input {
        Some(input) => input.news().await,
        None => pending().await,
    }
}
