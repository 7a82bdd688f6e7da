//! The commands of a session that go on beside its calls.
//!
//! They end with the session, unless they are to be kept. Keeps the invariants that there are at most so many at once,
//! that what is remembered of those that have ended is bounded, and that each one's start and end is in the log.

use super::{LogEntry, Numbers, Session, job::SessionJob, resume::LostJob};
use haft_core::{CallId, Event, Exit, Failure, FailureKind, JobView, JobWait, Status, StopReason};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// How many jobs there may be at once unless the host says otherwise.
pub const JOBS_MAX: usize = 16;
/// How many that have ended are remembered, with what of their output wasn't looked at.
const ENDED_MAX: usize = 32;
/// How long the session's end waits for its jobs: the 2 s they have, and what killing them takes at most.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The commands of a session.
pub(crate) struct JobTable {
    limit: usize,
    numbers: Numbers,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    jobs: Vec<Arc<SessionJob>>,
    /// Those of processes that died, until they were told of.
    lost: Vec<(LostJob, Told)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    No,
    Yes,
}

impl JobTable {
    pub(crate) fn new(limit: usize, numbers: Numbers, lost: &[LostJob]) -> Self {
        let lost = lost.iter().map(|lost| (lost.clone(), Told::No)).collect();
        Self { limit, numbers, table: Mutex::new(Table { jobs: Vec::new(), lost }) }
    }

    /// Remembers a command.
    pub(crate) fn add(&self, job: &Arc<SessionJob>) {
        self.table().jobs.push(Arc::clone(job));
    }

    /// Forgets one that is no job.
    pub(crate) fn forget(&self, job: &Arc<SessionJob>) {
        if job.id().is_none() {
            self.table().jobs.retain(|known| !Arc::ptr_eq(known, job));
        }
    }

    /// Whether there may be one more now; the next one may have taken the place a moment later.
    ///
    /// # Errors
    /// Unavailable, with the jobs that there are.
    pub(crate) fn has_room(&self) -> Result<(), Failure> {
        self.table().has_room(self.limit)
    }

    /// Makes a command a job, and gives its name.
    ///
    /// # Errors
    /// As [`JobTable::has_room`] and [`SessionJob::release`].
    fn release(&self, job: &SessionJob) -> Result<Arc<str>, Failure> {
        // Held until the place is taken, so that no two take the last one.
        let mut table = self.table();
        table.has_room(self.limit)?;
        let id: Arc<str> = format!("job-{}", self.numbers.next()).into();
        job.release(Arc::clone(&id))?;
        table.shorten();
        Ok(id)
    }

    /// All jobs, those of processes that died first.
    pub(crate) fn list(&self) -> Vec<JobView> {
        let table = self.table();
        let lost = table.lost.iter().map(|(lost, _)| lost.view());
        let known = table.jobs.iter().map(|job| job.view()).filter(|view| view.id.is_some());
        lost.chain(known).collect()
    }

    /// A job as it stands.
    pub(crate) fn view(&self, id: &str) -> Option<JobView> {
        self.table().find(id).map(|job| job.view())
    }

    /// A job by its name.
    ///
    /// # Errors
    /// Not found, with the names that there are.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<SessionJob>, Failure> {
        let table = self.table();
        if let Some(job) = table.find(id) {
            return Ok(Arc::clone(job));
        }
        if let Some((lost, _)) = table.lost.iter().find(|(lost, _)| &*lost.job == id) {
            return Err(Failure::not_found(format!("{id} can't be reached: {}", lost.fate())));
        }
        let known: Vec<String> =
            table.jobs.iter().filter_map(|job| job.id()).map(|id| id.to_string()).collect();
        Err(Failure::not_found(if known.is_empty() {
            format!("there is no job \"{id}\", and no other; bash with background=true starts one")
        } else {
            format!("there is no job \"{id}\"; there are {}", known.join(", "))
        }))
    }

    /// Jobs that have ended and that nobody was told of, each once.
    pub(crate) fn ended_unseen(&self) -> Vec<JobView> {
        let mut table = self.table();
        let lost = table.lost.iter_mut().filter(|(_, told)| *told == Told::No);
        let mut unseen: Vec<JobView> = lost
            .map(|(lost, told)| {
                *told = Told::Yes;
                lost.view()
            })
            .collect();
        let ended = table.jobs.iter().filter(|job| job.id().is_some() && job.tell());
        unseen.extend(ended.map(|job| job.view()));
        unseen
    }

    /// Whether there is or was a job.
    pub(crate) fn has_any(&self) -> bool {
        let table = self.table();
        !table.lost.is_empty() || table.jobs.iter().any(|job| job.id().is_some())
    }

    /// Commands that calls wait for.
    fn waited_for(&self) -> Vec<Arc<SessionJob>> {
        let table = self.table();
        table.jobs.iter().filter(|job| job.id().is_none() && !job.has_ended()).cloned().collect()
    }

    fn all(&self) -> Vec<Arc<SessionJob>> {
        self.table().jobs.clone()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for JobTable {
    /// Nothing outlives the session but what is to be kept.
    fn drop(&mut self) {
        for job in self.all() {
            job.abandon();
        }
    }
}

impl Table {
    fn find(&self, id: &str) -> Option<&Arc<SessionJob>> {
        self.jobs.iter().find(|job| job.id().is_some_and(|own| *own == *id))
    }

    fn has_room(&self, limit: usize) -> Result<(), Failure> {
        let running = self.running();
        if running.len() < limit {
            return Ok(());
        }
        Err(Failure::new(
            FailureKind::Unavailable,
            format!(
                "{} jobs run already, which is the limit here: {}. Stop one with job (action=stop), or wait for one to \
                 end",
                running.len(),
                running.join(", ")
            ),
        ))
    }

    fn running(&self) -> Vec<String> {
        let running = self.jobs.iter().filter(|job| !job.has_ended());
        running.filter_map(|job| job.id()).map(|id| id.to_string()).collect()
    }

    /// Forgets the oldest of those that have ended.
    fn shorten(&mut self) {
        let ended = |job: &Arc<SessionJob>| job.id().is_some() && job.has_ended();
        let mut further = self.jobs.iter().filter(|job| ended(job)).count().saturating_sub(ENDED_MAX);
        self.jobs.retain(|job| {
            let goes = further > 0 && ended(job);
            further -= usize::from(goes);
            !goes
        });
    }
}

impl Session {
    /// Makes the command that a call waits for a job; the call returns at once and says so. Gives the job's name.
    ///
    /// # Errors
    /// Not found where the call runs no such command; unavailable where there are as many jobs as there may be.
    pub fn move_to_background(&self, call: &CallId) -> Result<Arc<str>, Failure> {
        let waiting = self.jobs.waited_for();
        let job = waiting.iter().find(|job| job.call() == call).ok_or_else(|| {
            Failure::not_found(format!("call {call} runs no command that could go on in the background"))
        })?;
        self.release(job)
    }

    /// The calls that wait for a command which [`Session::move_to_background`] could make a job.
    pub fn movable(&self) -> Vec<CallId> {
        self.jobs.waited_for().iter().map(|job| job.call().clone()).collect()
    }

    /// The session's jobs as they stand, secrets in their lines masked; those of processes that died first.
    pub fn jobs(&self) -> Vec<JobView> {
        self.jobs.list().into_iter().map(|job| self.shown(job)).collect()
    }

    /// A job as people may see it.
    fn shown(&self, job: JobView) -> JobView {
        let mut unfinished = job.unfinished;
        self.masks().text(&mut unfinished);
        JobView { line: self.shown_line(&job.line), unfinished, ..job }
    }

    /// A line with its secrets masked.
    fn shown_line(&self, line: &str) -> Arc<str> {
        let mut shown = line.to_owned();
        self.masks().text(&mut shown);
        shown.into()
    }

    /// Ends all jobs and waits until nothing of them is left; those to be kept are let go instead. Gives the jobs that
    /// go on.
    pub async fn end_jobs(&self) -> Vec<JobView> {
        let jobs = self.jobs.all();
        let running: Vec<_> = jobs.iter().filter(|job| !job.has_ended()).collect();
        let (kept, ending): (Vec<_>, Vec<_>) = running.into_iter().partition(|job| job.is_kept());
        for job in &ending {
            job.stop();
        }
        let (wait, never) = (JobWait::default(), haft_core::Cancel::new());
        let ends = ending.iter().map(|job| job.wait(&wait, &never));
        // One that can't be killed is left to the system, as any other process would be.
        let _ = timeout(END_TIMEOUT, futures::future::join_all(ends)).await;
        let mut left = Vec::new();
        for job in kept {
            let view = job.view();
            self.log_job_end(job, "kept", None, millis(view.ran));
            left.push(self.shown(view));
            job.abandon();
        }
        left
    }

    /// The table that calls are lent.
    pub(crate) fn job_table(&self) -> &JobTable {
        &self.jobs
    }

    /// Makes a command a job, and says so.
    pub(crate) fn release(&self, job: &SessionJob) -> Result<Arc<str>, Failure> {
        let id = self.jobs.release(job)?;
        let (pid, kept, line) = (job.pid(), job.is_kept(), self.shown_line(job.line()));
        self.bus().publish(|| Event::JobStarted {
            job: Arc::clone(&id),
            call: job.call().clone(),
            line: Arc::clone(&line),
            pid,
            kept,
        });
        // A line that can't be written doesn't stop the job: without it, it isn't told of after a kill.
        let _ = self.record(LogEntry::JobStarted {
            job: Arc::clone(&id),
            call: job.call().clone(),
            run: self.run_number(),
            line: line.to_string(),
            pid,
            kept,
        });
        Ok(id)
    }

    /// A job has ended.
    pub(crate) fn job_ended(&self, job: &SessionJob, how: &Result<Exit, Failure>, ran: Duration) {
        let word = match how {
            Ok(Exit { reason: StopReason::Cancelled, .. }) => "stopped",
            Ok(Exit { reason: StopReason::Deadline, .. }) => "timed-out",
            Ok(_) => "ended",
            Err(_) => "failed",
        };
        let status = how.as_ref().ok().map(|exit| exit.status);
        let duration_ms = millis(ran);
        self.log_job_end(job, word, status, duration_ms);
        let Some(id) = job.id() else { return };
        self.bus().publish(|| Event::JobEnded { job: id, call: job.call().clone(), status, duration_ms });
    }

    fn log_job_end(&self, job: &SessionJob, how: &str, status: Option<Status>, duration_ms: u64) {
        let Some(id) = job.id() else { return };
        // Best effort: without it, the job counts as interrupted when the session is opened again.
        let _ = self.record(LogEntry::JobEnded {
            job: id,
            call: job.call().clone(),
            how: how.to_owned(),
            status,
            duration_ms,
        });
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue::Catalogue,
        seal::{CaptureSlot, SpillStore},
        session::{JobSetup, SessionSetup},
    };
    use haft_core::{
        BoxFuture, Cancel, Capture, Clock, Command, Processes, Progress, RealPath, Shape, Sink, Stdio,
    };
    use haft_policy::{
        Mode, Policy,
        secrets::{Detector, Masker},
    };
    use std::{future::pending, sync::Barrier, thread, time::SystemTime};

    const SECRET: &str = "hunter2-hunter2";

    /// Starts what never ends.
    struct Endless;

    impl Processes for Endless {
        fn locate(&self, _: &str) -> Option<String> {
            None
        }

        fn run<'a>(
            &'a self,
            _: Command,
            _: &'a Cancel,
            _: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
        ) -> BoxFuture<'a, Result<Exit, Failure>> {
            Box::pin(pending())
        }
    }

    /// A clock that stands still.
    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> SystemTime {
            SystemTime::UNIX_EPOCH
        }
    }

    /// Shows nobody anything.
    struct Unseen;

    impl Sink for Unseen {
        fn progress(&self, _: Progress) {}

        fn capture(&self, shape: Shape) -> Box<dyn Capture> {
            slot().open(shape)
        }
    }

    fn slot() -> CaptureSlot {
        CaptureSlot::new(SpillStore::new(None, "s"), CallId::outer(1), 1_000)
    }

    fn endless(table: &JobTable, line: &str) -> Arc<SessionJob> {
        let setup = JobSetup {
            call: CallId::outer(1),
            line: line.into(),
            confined: None,
            output: slot().lasting(Shape::HeadTail),
            sink: Arc::new(Unseen),
            processes: Arc::new(Endless),
            gone: Cancel::new(),
        };
        let command = Command::new(vec!["sleep".to_owned()], RealPath::new("/w", ""));
        let job = SessionJob::start(setup, command, |_, _, _| {});
        table.add(&job);
        job
    }

    #[tokio::test]
    async fn no_two_commands_take_the_last_place() {
        for _ in 0..100 {
            let table = JobTable::new(1, Numbers::Own(0.into()), &[]);
            let jobs: Vec<_> = (0..4).map(|_| endless(&table, "sleep")).collect();
            let start = Barrier::new(jobs.len());
            let (start, table) = (&start, &table);
            let released = thread::scope(|scope| {
                let threads: Vec<_> = jobs
                    .iter()
                    .map(|job| {
                        scope.spawn(move || {
                            start.wait();
                            table.release(job).is_ok()
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).filter(|is_job| *is_job).count()
            });
            assert_eq!(released, 1);
        }
    }

    #[tokio::test]
    async fn a_line_that_becomes_a_job_is_told_without_its_secrets() {
        let known = [("deploy".to_owned(), SECRET.as_bytes().to_vec())];
        let masker = Masker::new(Arc::new(Detector::new(known).unwrap()), [7; 32]);
        let policy = Policy::new(Mode::Default, RealPath::new("/w", ""));
        let setup = SessionSetup::new("s", Catalogue::new(), policy, Arc::new(Stopped));
        let session = Session::open(SessionSetup { masker: Some(Arc::new(masker)), ..setup }).unwrap();
        let mut events = session.events();
        let job = endless(session.job_table(), &format!("serve --token {SECRET}"));
        session.release(&job).unwrap();
        let Some(Event::JobStarted { line, .. }) = events.try_next() else { panic!("nothing is told") };
        assert!(line.starts_with("serve --token ") && !line.contains(SECRET), "{line}");
    }
}
