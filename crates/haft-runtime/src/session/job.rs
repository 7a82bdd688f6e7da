//! One command that a session owns: what it printed since the last look, who waits for it, how it ended.
//!
//! It runs in a task of its own. While its call waits for it, it goes with the call; once it was released it goes with
//! the session. What it was judged to do was bound when it started and stays so.

use crate::seal::{self, Lasting};
use haft_core::{
    CallId, Cancel, Captured, Command, Confined, Exit, Failure, JobView, JobWait, Processes, Progress, Sink,
    Stdio, Tether, Waited,
};
use std::{
    future::pending,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

/// After so long without output, what was held back for what might still come is shown: it is a prompt.
const SETTLED_AFTER: Duration = Duration::from_millis(200);

/// What a command is, besides what runs.
pub(crate) struct JobSetup {
    pub(crate) call: CallId,
    pub(crate) line: Arc<str>,
    pub(crate) confined: Option<Confined>,
    /// Where its output goes.
    pub(crate) output: Lasting,
    /// Who is shown it while its call waits for it.
    pub(crate) sink: Arc<dyn Sink>,
    /// What starts it.
    pub(crate) processes: Arc<dyn Processes>,
    /// Fires when its call has ended.
    pub(crate) gone: Cancel,
}

/// One command.
pub(crate) struct SessionJob {
    call: CallId,
    line: Arc<str>,
    folder: String,
    confined: Option<Confined>,
    is_kept: bool,
    has_terminal: bool,
    tether: Tether,
    /// Ends it with its tree.
    stop: Cancel,
    began: Instant,
    output: Mutex<Printed>,
    state: watch::Sender<State>,
    task: OnceLock<AbortHandle>,
}

struct Printed {
    lasting: Lasting,
    sink: Option<Arc<dyn Sink>>,
    last: Instant,
    /// Whether something came since the last look.
    is_fresh: bool,
    /// Whether something may be held back.
    is_open: bool,
}

#[derive(Default)]
struct State {
    /// Its name as a job.
    id: Option<Arc<str>>,
    end: Option<Ended>,
    /// It has ended, or its call has gone, without its being released.
    is_condemned: bool,
    /// Whether its end was told.
    is_told: bool,
}

struct Ended {
    how: Result<Exit, Failure>,
    ran: Duration,
}

impl SessionJob {
    /// Starts it; `ended` is told how it has ended and after what time, if it was released. Must be called within a
    /// tokio runtime.
    pub(crate) fn start(
        setup: JobSetup,
        command: Command,
        ended: impl FnOnce(&Self, &Result<Exit, Failure>, Duration) + Send + 'static,
    ) -> Arc<Self> {
        let tether = command.tether.clone().unwrap_or_else(Tether::closed);
        let now = Instant::now();
        let job = Arc::new(Self {
            call: setup.call,
            line: setup.line,
            folder: command.cwd.absolute(),
            confined: setup.confined,
            is_kept: command.keep,
            has_terminal: command.terminal.is_some(),
            tether: tether.clone(),
            stop: Cancel::new(),
            began: now,
            output: Mutex::new(Printed {
                lasting: setup.output,
                sink: Some(setup.sink),
                last: now,
                is_fresh: false,
                is_open: false,
            }),
            state: watch::Sender::new(State::default()),
            task: OnceLock::new(),
        });
        let command = Command { tether: Some(tether), ..command };
        let (own, processes, gone) = (Arc::clone(&job), setup.processes, setup.gone);
        let task = tokio::spawn(async move {
            let how = own.run(command, processes.as_ref(), &gone).await;
            let ran = own.began.elapsed();
            // From here on it can't be released any more, so that each job's end is told.
            if !own.condemn() {
                ended(&own, &how, ran);
            }
            own.end(how, ran);
        });
        // Set once, here.
        let _ = job.task.set(task.abort_handle());
        job
    }

    async fn run(&self, command: Command, processes: &dyn Processes, gone: &Cancel) -> Result<Exit, Failure> {
        let mut push = |_: Stdio, bytes: &[u8]| self.push(bytes);
        let mut running = processes.run(command, &self.stop, &mut push);
        tokio::select! {
            biased;
            how = &mut running => return how,
            () = self.condemned(gone) => {}
        }
        // Dropping it would let it live.
        if self.is_kept {
            self.stop.fire();
            return running.await;
        }
        Err(Failure::cancelled())
    }

    /// Waits until its call has gone without having released it.
    async fn condemned(&self, gone: &Cancel) {
        gone.fired().await;
        if !self.condemn() {
            pending::<()>().await;
        }
    }

    /// Whether it isn't released, and now can't be any more.
    fn condemn(&self) -> bool {
        self.state.send_if_modified(|state| {
            state.is_condemned = state.id.is_none();
            state.is_condemned
        })
    }

    fn push(&self, bytes: &[u8]) {
        let sink = {
            let mut output = self.output();
            output.lasting.push(bytes);
            output.last = Instant::now();
            (output.is_fresh, output.is_open) = (true, true);
            output.sink.clone()
        };
        if let Some(sink) = sink {
            sink.progress(Progress::PartialOutput(seal::text(bytes.to_vec())));
        }
        // Nothing else about it is another; those who wait look again.
        self.state.send_modify(|_| {});
    }

    fn end(&self, how: Result<Exit, Failure>, ran: Duration) {
        {
            let mut output = self.output();
            output.lasting.end();
            output.sink = None;
            output.is_open = false;
        }
        self.state.send_modify(|state| state.end = Some(Ended { how, ran }));
    }

    /// Its name as a job.
    pub(crate) fn id(&self) -> Option<Arc<str>> {
        self.state.borrow().id.clone()
    }

    /// The call that started it.
    pub(crate) fn call(&self) -> &CallId {
        &self.call
    }

    /// Its line as it was written.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// Whether it outlives the session.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Its first process.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.tether.pid()
    }

    /// Its input, and what is known of it.
    pub(crate) fn tether(&self) -> &Tether {
        &self.tether
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.borrow().end.is_some()
    }

    /// Makes it a job of this name; no longer shown as its call's output.
    ///
    /// # Errors
    /// A conflict where it has ended, is about to be ended, or is one already.
    pub(crate) fn release(&self, id: Arc<str>) -> Result<(), Failure> {
        let mut refused = None;
        self.state.send_if_modified(|state| {
            refused = match state {
                State { end: Some(_), .. } => Some("it has ended meanwhile"),
                State { is_condemned: true, .. } => Some("it has ended, or ends with its call"),
                State { id: Some(_), .. } => Some("it is a job already"),
                _ => None,
            };
            if refused.is_none() {
                state.id = Some(id);
            }
            refused.is_none()
        });
        if let Some(why) = refused {
            return Err(Failure::conflict(format!("the command isn't moved to the background: {why}")));
        }
        self.output().sink = None;
        Ok(())
    }

    /// Marks its end as told; whether it wasn't before.
    pub(crate) fn tell(&self) -> bool {
        self.state.send_if_modified(|state| {
            let is_new = state.end.is_some() && !state.is_told;
            state.is_told |= is_new;
            is_new
        })
    }

    /// As it stands.
    pub(crate) fn view(&self) -> JobView {
        let (silent, unread) = {
            let output = self.output();
            (output.last.elapsed(), output.lasting.unread())
        };
        let state = self.state.borrow();
        JobView {
            id: state.id.clone(),
            call: self.call.clone(),
            line: Arc::clone(&self.line),
            folder: self.folder.clone(),
            pid: self.tether.pid(),
            kept: self.is_kept,
            terminal: self.has_terminal,
            takes_input: self.tether.takes_input(),
            confined: self.confined.clone(),
            ran: state.end.as_ref().map_or_else(|| self.began.elapsed(), |end| end.ran),
            silent,
            quiet: self.tether.quiet().filter(|_| state.end.is_none()),
            unread,
            waiting: self.tether.waiting(),
            unfinished: self.tether.unfinished(),
            end: state.end.as_ref().map(|end| end.how.clone()),
        }
    }

    /// What it printed since the last look.
    pub(crate) fn read(&self) -> Captured {
        self.tell();
        let mut output = self.output();
        if output.last.elapsed() >= SETTLED_AFTER {
            output.settle();
        }
        output.is_fresh = false;
        output.lasting.cut()
    }

    /// Waits for its end or something else.
    ///
    /// # Cancellation
    /// Safe.
    pub(crate) async fn wait(&self, wait: &JobWait, cancel: &Cancel) -> Waited {
        let limit = at(wait.limit.and_then(|limit| Instant::now().checked_add(limit)));
        // Set anew for each look, so that a command that prints without end makes no timer for each piece.
        let look = sleep_until(Instant::now());
        let cancelled = cancel.fired();
        tokio::pin!(cancelled, limit, look);
        let wanted = wait.text.as_deref().map(|text| Want::of(self, text));
        let mut changes = self.state.subscribe();
        let was_released = changes.borrow().id.is_some();
        loop {
            {
                let state = changes.borrow_and_update();
                if state.end.is_some() {
                    return Waited::Ended;
                }
                if state.id.is_some() != was_released {
                    return Waited::Released;
                }
            }
            if wanted.as_ref().is_some_and(Want::has_come) {
                return Waited::Said;
            }
            let next = self.next_look(wait);
            if let Some(next) = next {
                look.as_mut().reset(next);
            }
            tokio::select! {
                biased;
                () = &mut cancelled => return Waited::Cancelled,
                // Before what a command that never stops printing would always have ready.
                () = &mut limit => return Waited::Limit,
                // The sender lives as long as this.
                _ = changes.changed() => {}
                () = &mut look, if next.is_some() => {
                    if self.has_paused(wait) {
                        return Waited::Paused;
                    }
                }
            }
        }
    }

    /// When to look, though nothing comes.
    fn next_look(&self, wait: &JobWait) -> Option<Instant> {
        let output = self.output();
        let pause = wait.pause.filter(|_| output.is_fresh);
        let settled = wait.text.as_ref().filter(|_| output.is_open).map(|_| SETTLED_AFTER);
        let soonest = pause.into_iter().chain(settled).min()?;
        output.last.checked_add(soonest)
    }

    /// Shows what was held back; whether the pause that is waited for is there.
    fn has_paused(&self, wait: &JobWait) -> bool {
        let mut output = self.output();
        output.settle();
        output.is_fresh && wait.pause.is_some_and(|pause| output.last.elapsed() >= pause)
    }

    /// Ends it with its tree; who waits sees the end.
    pub(crate) fn stop(&self) {
        self.stop.fire();
    }

    /// Lets go of it: a tree that isn't kept is killed at once.
    pub(crate) fn abandon(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
        self.state.send_if_modified(|state| {
            let is_open = state.end.is_none();
            if is_open {
                state.end = Some(Ended { how: Err(Failure::cancelled()), ran: self.began.elapsed() });
            }
            is_open
        });
    }

    /// Its call has gone: unless it was released, it goes too.
    pub(crate) fn leave(&self) {
        if !self.has_ended() && self.condemn() {
            if self.is_kept {
                self.stop();
            } else {
                self.abandon();
            }
        }
    }

    fn output(&self) -> MutexGuard<'_, Printed> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Printed {
    fn settle(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.lasting.settle();
        }
    }
}

/// A text that is waited for; forgotten when this is dropped.
struct Want<'a> {
    job: &'a SessionJob,
    number: u64,
}

impl<'a> Want<'a> {
    fn of(job: &'a SessionJob, text: &str) -> Self {
        Self { job, number: job.output().lasting.want(text) }
    }

    fn has_come(&self) -> bool {
        self.job.output().lasting.has_come(self.number)
    }
}

impl Drop for Want<'_> {
    fn drop(&mut self) {
        self.job.output().lasting.forget(self.number);
    }
}

/// Waits until then; for ever where there is no limit.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
