//! Commands that go on beside the conversation.
//!
//! A session owns its jobs; a call starts them, and looks at them and ends them, through what it is lent. Starting
//! processes is left to [`crate::Processes`]. Keeps the invariant that a command which isn't a job ends with its call.

use crate::{BoxFuture, CallId, Cancel, Captured, Command, Confined, Exit, Failure, FailureKind, Quiet};
use std::{sync::Arc, time::Duration};

/// A command to start, and what it is to be.
#[derive(Debug, Clone)]
pub struct JobOrder {
    /// The command. Without a deadline it runs until it ends or is stopped.
    pub command: Command,
    /// The line as it was written, for lists.
    pub line: Arc<str>,
    /// Whether it is a job from its start. Else its call waits for it, and it ends with the call unless it is released.
    pub background: bool,
}

/// What a wait is for, besides the command's end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobWait {
    /// At most so long.
    pub limit: Option<Duration>,
    /// Until what it printed since the last look holds this.
    pub text: Option<String>,
    /// Until it has printed something since the last look, and then nothing for so long.
    pub pause: Option<Duration>,
}

/// Why a wait was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The command has ended.
    Ended,
    /// It is a job now.
    Released,
    /// It printed what was waited for.
    Said,
    /// It printed something and paused.
    Paused,
    /// Time ran out.
    Limit,
    /// The call is to end.
    Cancelled,
}

/// A command as it stands.
#[derive(Debug, Clone)]
pub struct JobView {
    /// Its name as a job; none while its call waits for it.
    pub id: Option<Arc<str>>,
    /// The call that started it.
    pub call: CallId,
    /// Its line as it was written.
    pub line: Arc<str>,
    /// The folder it was started in, absolute.
    pub folder: String,
    /// Its first process, with which all of it ends; none before it runs.
    pub pid: Option<i32>,
    /// Whether it outlives the session.
    pub kept: bool,
    /// Whether it has a terminal.
    pub terminal: bool,
    /// Whether it can be written to.
    pub takes_input: bool,
    /// What it is kept in by; none where it runs outside the sandbox.
    pub confined: Option<Confined>,
    /// How long it has run.
    pub ran: Duration,
    /// How long it has printed nothing.
    pub silent: Duration,
    /// What is known of its silence.
    pub quiet: Option<Quiet>,
    /// How many bytes it printed since the last look.
    pub unread: u64,
    /// How many bytes of input it hasn't taken yet.
    pub waiting: usize,
    /// What was written to it since the last line break, with which the next text makes a line.
    pub unfinished: String,
    /// How it ended; none while it runs. A failure where that isn't known.
    pub end: Option<Result<Exit, Failure>>,
}

/// A command that a call started or looks at.
pub trait Job: Send + Sync {
    /// As it stands.
    fn view(&self) -> JobView;

    /// What it printed since the last look, bounded.
    ///
    /// # Errors
    /// Cancelled once the call has ended.
    fn read(&self) -> Result<Captured, Failure>;

    /// Gives it input.
    ///
    /// # Errors
    /// A conflict where it has ended or takes none; unavailable where too much waits.
    fn write(&self, bytes: Vec<u8>) -> Result<(), Failure>;

    /// Ends its input.
    ///
    /// # Errors
    /// As [`Job::write`].
    fn close(&self) -> Result<(), Failure>;

    /// Waits for its end or something else.
    ///
    /// # Cancellation
    /// Safe: the command goes on.
    fn wait<'a>(&'a self, wait: JobWait, cancel: &'a Cancel) -> BoxFuture<'a, Waited>;

    /// Makes a command that its call waits for a job, and gives its name.
    ///
    /// # Errors
    /// Unavailable where there are as many jobs as there may be; a conflict where it has ended.
    fn release(&self) -> Result<Arc<str>, Failure>;

    /// Ends it with all that it started: TERM, and KILL after 2 s. Nothing of it is left when this is done.
    ///
    /// # Errors
    /// Unavailable where a process can't be killed.
    fn stop(&self) -> BoxFuture<'_, Result<(), Failure>>;
}

/// The jobs of a session, as a call is lent them.
pub trait Jobs: Send + Sync {
    /// Whether the session goes on after its calls, so that a job can be looked at later.
    fn go_on(&self) -> bool;

    /// Starts a command; returns once it runs.
    ///
    /// # Errors
    /// As [`crate::Processes::run`]; unavailable where there are as many jobs as there may be.
    fn start(&self, order: JobOrder) -> BoxFuture<'_, Result<Arc<dyn Job>, Failure>>;

    /// All jobs that are remembered, in their order.
    ///
    /// # Errors
    /// Cancelled once the call has ended.
    fn list(&self) -> Result<Vec<JobView>, Failure>;

    /// A job by its name.
    ///
    /// # Errors
    /// Not found, with the names that there are; cancelled once the call has ended.
    fn find(&self, id: &str) -> Result<Arc<dyn Job>, Failure>;

    /// Jobs that have ended since and that no call has told of, each once.
    ///
    /// # Errors
    /// Cancelled once the call has ended; then they stay untold.
    fn ended_unseen(&self) -> Result<Vec<JobView>, Failure>;
}

/// For hosts without jobs: none is started.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJobs;

impl Jobs for NoJobs {
    fn go_on(&self) -> bool {
        false
    }

    fn start(&self, _: JobOrder) -> BoxFuture<'_, Result<Arc<dyn Job>, Failure>> {
        let text = "this host starts no commands that go on; run it to its end in one call";
        Box::pin(std::future::ready(Err(Failure::new(FailureKind::Unavailable, text))))
    }

    fn list(&self) -> Result<Vec<JobView>, Failure> {
        Ok(Vec::new())
    }

    fn find(&self, id: &str) -> Result<Arc<dyn Job>, Failure> {
        Err(Failure::not_found(format!("there is no job {id}: this host has none")))
    }

    fn ended_unseen(&self) -> Result<Vec<JobView>, Failure> {
        Ok(Vec::new())
    }
}
