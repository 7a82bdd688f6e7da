//! Child processes: every command runs beneath a supervisor of its own that ends all of its tree.
//!
//! Keeps these invariants: what a command started never outlives its call, nor haft, also when haft is
//! killed, unless the command is to be kept; no process is signalled but those of the tree; nothing is waited for
//! longer than the limits here say; children of an embedding program are never reaped.
//!
//! Where it ends: a process that took other rights (`sudo`) can't be killed by anyone without them, and one
//! that kills its supervisor before it leaves its session escapes where it has no control group. Both need
//! the sandbox there.
//!
//! The program that embeds this must leave SIGPIPE ignored, as Rust does from the start: a child may
//! close its input before it was given all of it.

mod cgroup;
mod control;
mod fork;
mod inside;
mod launch;
mod limits;
mod pty;
mod run;
mod silence;
pub(crate) mod stat;
mod storm;
mod supervisor;
mod talk;
mod told;
mod tree;

pub use cgroup::ControlGroups;
pub(crate) use inside::serve;
pub use limits::Limits;

use crate::{
    environment::Environment,
    sandbox::{Plan, Sandbox, Through},
};
use control::Record;
use haft_core::{BoxFuture, Cancel, Command, Confined, Exit, Failure, FailureKind, Processes, Stdio, Talk};
use launch::{Launched, PutUp};
use std::{
    future::pending,
    io::Read as _,
    os::{fd::OwnedFd, unix::net::UnixStream},
    pin::pin,
    process::Stdio as Null,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    select,
    task::{AbortHandle, JoinError, spawn_blocking},
    time::{Instant, sleep_until, timeout},
};

/// How often bubblewrap is tried again: it fails where something that it is to put a mount over goes between the look at
/// the files and its work, as a service's socket does when the service ends.
const PUT_UP_RETRIES: usize = 8;
/// How long a command that is talked with may take to start, where it has no deadline.
const TALK_START: Duration = Duration::from_secs(30);
/// How long a start is waited for that is to be given up: with the grace of what has started it must be less than a
/// cancelled call is waited for.
const START_WAIT: Duration = Duration::from_millis(500);

/// The processes of this machine.
///
/// Needs a tokio runtime with I/O and time.
#[derive(Debug, Clone)]
pub struct OsProcesses {
    environment: Arc<Environment>,
    sandbox: Option<Arc<Sandbox>>,
    limits: Limits,
}

impl OsProcesses {
    /// Processes that are given what `environment` allows.
    pub fn new(environment: Environment) -> Self {
        Self { environment: Arc::new(environment), sandbox: None, limits: Limits::default() }
    }

    /// The same, with a sandbox for the commands that are to run in one.
    #[must_use]
    pub fn confined_by(self, sandbox: Sandbox) -> Self {
        Self { sandbox: Some(Arc::new(sandbox)), ..self }
    }

    /// The same with other limits for each command.
    #[must_use]
    pub fn limited_to(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }
}

impl Processes for OsProcesses {
    fn locate(&self, program: &str) -> Option<String> {
        if program.is_empty() || program.contains('/') {
            return None;
        }
        let found = crate::host::find_program(program, &self.environment.path())?;
        crate::host::real_path(&found)?.to_str().map(str::to_owned)
    }

    fn sandbox(&self) -> Option<Confined> {
        self.sandbox.as_ref().map(|sandbox| self.limits.named_in(sandbox.confined()))
    }

    fn run<'a>(
        &'a self,
        command: Command,
        cancel: &'a Cancel,
        output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> BoxFuture<'a, Result<Exit, Failure>> {
        Box::pin(async move {
            let deadline = command.deadline.and_then(|time| Instant::now().checked_add(time));
            let mut tries = Tries::default();
            loop {
                let tried = self.attempt((&command, &tries), (cancel, deadline), output).await?;
                if let Some(exit) = tries.take(tried)? {
                    return Ok(exit);
                }
            }
        })
    }

    fn talk(&self, command: Command) -> BoxFuture<'_, Result<Talk, Failure>> {
        Box::pin(async move {
            let (limit, mut tries) = (command.deadline.unwrap_or(TALK_START), Tries::default());
            let begun = timeout(limit, self.begin(&command, &mut tries)).await;
            let mut talk = begun.unwrap_or_else(|_| Err(tries.given_up(too_late())))?;
            talk.input.write(&command.stdin).await?;
            Ok(talk)
        })
    }
}

/// How often bubblewrap was tried, and what was noticed meanwhile.
#[derive(Debug, Default)]
struct Tries {
    failed: usize,
    noticed: Vec<String>,
}

impl Tries {
    /// What came of a try; none where there is to be another.
    ///
    /// # Errors
    /// It was the last.
    fn take<T>(&mut self, tried: PutUp<T>) -> Result<Option<T>, Failure> {
        match tried {
            PutUp::Done(done) => Ok(Some(done)),
            PutUp::Not(not) if self.failed >= PUT_UP_RETRIES => Err(not.into_failure()),
            PutUp::Not(not) => {
                self.failed += 1;
                self.noticed = not.noticed;
                Ok(None)
            }
        }
    }

    /// Why there is to be no other try.
    fn given_up(&self, why: Failure) -> Failure {
        launch::with_noticed(why, &self.noticed)
    }
}

impl OsProcesses {
    /// Begins to talk with a command.
    ///
    /// # Errors
    /// As [`Processes::talk`].
    ///
    /// # Cancellation
    /// Dropping the future kills what has started.
    async fn begin(&self, command: &Command, tries: &mut Tries) -> Result<Talk, Failure> {
        let wanted = Arc::new(());
        loop {
            let launched =
                self.launched((command, &*tries), launch::Given::Talk, Arc::downgrade(&wanted)).await?;
            if let Some(talk) = tries.take(talk::begin(launched).await?)? {
                return Ok(talk);
            }
        }
    }

    /// Starts a command. Once it isn't `wanted` any more, that goes no further than it must.
    ///
    /// # Errors
    /// As [`Processes::run`].
    async fn launched(
        &self,
        (command, tries): (&Command, &Tries),
        given: launch::Given,
        wanted: Weak<()>,
    ) -> Result<Launched, Failure> {
        let (own, command) = (self.clone(), command.clone());
        // Forking takes its time in a large process, and executing may hang on a network's file system.
        let launching = spawn_blocking(move || launch::launch(command, &own, given, &wanted));
        let _not_started = AbortOnDrop(launching.abort_handle());
        let launched = launching.await.unwrap_or_else(|fault| Err(not_launched(&fault)));
        let mut launched = launched.map_err(|why| tries.given_up(why))?;
        if let Some(held) = &mut launched.held {
            held.earlier.clone_from(&tries.noticed);
        }
        Ok(launched)
    }

    /// Runs a command once.
    ///
    /// # Errors
    /// As [`Processes::run`].
    ///
    /// # Cancellation
    /// As [`Processes::run`].
    async fn attempt(
        &self,
        command: (&Command, &Tries),
        (cancel, deadline): (&Cancel, Option<Instant>),
        output: &mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> Result<PutUp<Exit>, Failure> {
        let (_, tries) = command;
        // Before anything is begun: what is begun may run for a moment.
        if cancel.is_fired() {
            return Err(tries.given_up(Failure::cancelled()));
        }
        let wanted = Arc::new(());
        let mut launching = pin!(self.launched(command, launch::Given::Once, Arc::downgrade(&wanted)));
        let why = select! {
            biased;
            () = cancel.fired() => Failure::cancelled(),
            launched = &mut launching => {
                return run::Run::new(launched?, output).finish(cancel, deadline).await;
            }
            () = at(deadline) => too_late(),
        };
        drop(wanted);
        // What has started is to be gone before the call is over.
        match timeout(START_WAIT, launching).await {
            Ok(Ok(launched)) => run::Run::new(launched, output).finish(cancel, deadline).await,
            _ => Err(tries.given_up(why)),
        }
    }
}

fn too_late() -> Failure {
    let text = "time ran out before the command had started; try again, or give it more time";
    Failure::new(FailureKind::Timeout, text)
}

fn not_launched(fault: &JoinError) -> Failure {
    Failure::internal("the command couldn't be started").diagnose(fault.to_string())
}

/// Whether a process that does nothing can be started as a plan says; through bubblewrap, whether it comes to its end
/// in there.
pub(crate) fn try_out(plan: Plan, folder: &OwnedFd) -> bool {
    let Ok((mut ours, theirs)) = UnixStream::pair() else { return false };
    let through = plan.through().map(Through::command);
    let is_through = through.is_some();
    let mut command = match through {
        Some(mut through) => {
            through.arg("/bin/sh");
            through
        }
        None => std::process::Command::new("/bin/sh"),
    };
    command.args(["-c", ":"]).env_clear();
    command.stdin(Null::null()).stdout(Null::null()).stderr(Null::null());
    let theirs = OwnedFd::from(theirs);
    let given = supervisor::Given { control: &theirs, folder, terminal: false, stay: None };
    let around = supervisor::Around { plan: Some(plan), ..supervisor::Around::default() };
    if supervisor::put_between(&mut command, given, around).is_err() || command.status().is_err() {
        return false;
    }
    if !is_through {
        // The supervisor ends with the last of its children.
        return true;
    }
    // With them go the other copies of the socket's end.
    drop(command);
    drop(theirs);
    let mut bytes = Vec::new();
    let records = match ours.read_to_end(&mut bytes) {
        Ok(_) => control::records(&bytes),
        Err(_) => Vec::new(),
    };
    let has = |wanted: fn(&Record) -> bool| records.iter().any(wanted);
    has(|record| *record == Record::Inside) && has(|record| matches!(record, Record::Ended { status: 0, .. }))
}

/// Waits until then; for ever where there is no limit.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

/// What still waits for a thread isn't begun once nobody waits for it.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::{launch::NotPutUp, *};

    #[test]
    fn what_each_try_notices_is_told_once() {
        let all = |notices: &[&str]| notices.iter().map(|notice| (*notice).to_owned()).collect::<Vec<_>>();
        let told = launch::each_once(all(&["set aside", "too many"]), all(&["too many", "replaced"]));
        assert_eq!(told, ["set aside", "too many", "replaced"]);
    }

    #[test]
    fn bubblewrap_is_tried_again_a_few_times_and_what_was_noticed_meanwhile_is_told() {
        let not = |noticed: &[&str]| {
            let noticed = noticed.iter().map(|notice| (*notice).to_owned()).collect();
            PutUp::<()>::Not(NotPutUp { why: Failure::internal("not put up"), noticed })
        };
        let mut tries = Tries::default();
        assert_eq!(tries.take(PutUp::Done(7)).unwrap(), Some(7));
        for _ in 0..PUT_UP_RETRIES {
            assert_eq!(tries.take(not(&["set aside"])).unwrap(), None);
        }
        assert_eq!(tries.noticed, ["set aside"]);
        assert!(tries.given_up(Failure::cancelled()).text.ends_with("\nset aside"));
        assert_eq!(tries.take(not(&["set aside"])).unwrap_err().text, "not put up\nset aside");
    }
}
