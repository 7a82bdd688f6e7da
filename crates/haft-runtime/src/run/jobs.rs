//! The jobs of a session, as one call is lent them: they refuse what wasn't judged, and everything after the call's end.
//!
//! The end of the lease ends the handles, not the jobs. What a job may do was bound when it started, by the call that
//! was judged for it, and no later call changes that; writing to it and ending it are judged anew, each time.

use super::Lease;
use crate::{
    seal::CaptureSlot,
    session::{JobSetup, Session, SessionJob},
};
use haft_core::{
    BoxFuture, CallId, Cancel, Captured, Command, Failure, FailureKind, Job, JobOrder, JobView, JobWait,
    Jobs, Processes, Progress, Shape, Sink, Tether, Waited,
};
use std::sync::Arc;

/// The jobs of one session through one call's lease.
pub(crate) struct LeasedJobs {
    pub(crate) session: Arc<Session>,
    pub(crate) call: CallId,
    pub(crate) cancel: Cancel,
    pub(crate) lease: Arc<Lease>,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) captures: CaptureSlot,
    /// Unleased: a job outlives the lease.
    pub(crate) processes: Arc<dyn Processes>,
}

/// One of them.
struct LeasedJob {
    job: Arc<SessionJob>,
    session: Arc<Session>,
    lease: Arc<Lease>,
    sink: Arc<dyn Sink>,
    /// Whether this call started it: then it ends with the call, unless it is released.
    is_own: bool,
}

impl LeasedJobs {
    async fn launch(&self, order: JobOrder) -> Result<Arc<dyn Job>, Failure> {
        self.lease.may_start()?;
        if order.command.keep {
            self.lease.may_outlive()?;
        }
        if order.background {
            self.session.job_table().has_room()?;
        }
        let own = self.own(order.command, &order.line);
        let (end, never) = (JobWait::default(), Cancel::new());
        tokio::select! {
            biased;
            () = self.cancel.fired() => {
                own.job.stop();
                own.job.wait(&end, &never).await;
                return Err(Failure::cancelled());
            }
            _ = own.job.wait(&end, &never) => {}
            () = own.job.tether().running() => {}
        }
        if order.background {
            match self.session.release(&own.job) {
                // It has ended at once, or is about to: then it is no job, and its end is the result.
                Err(failure) if failure.kind == FailureKind::Conflict => {
                    own.job.wait(&end, &never).await;
                }
                Err(failure) => return Err(failure),
                Ok(_) => {}
            }
        }
        match own.job.view().end {
            Some(Err(failure)) => Err(failure),
            _ => Ok(Arc::new(own)),
        }
    }

    fn own(&self, command: Command, line: &Arc<str>) -> LeasedJob {
        let command = self.lease.bind(command);
        // Said as it is found when the command starts.
        let confined = command.confined.as_ref().and_then(|_| self.processes.sandbox());
        let setup = JobSetup {
            call: self.call.clone(),
            line: Arc::clone(line),
            confined,
            output: self.captures.lasting(Shape::HeadTail),
            sink: Arc::clone(&self.sink),
            processes: Arc::clone(&self.processes),
            gone: self.lease.ended(),
        };
        let session = Arc::downgrade(&self.session);
        let job = SessionJob::start(setup, command, move |job, how, ran| {
            if let Some(session) = session.upgrade() {
                session.job_ended(job, how, ran);
            }
        });
        self.session.job_table().add(&job);
        self.lend(job, true)
    }

    fn lend(&self, job: Arc<SessionJob>, is_own: bool) -> LeasedJob {
        LeasedJob {
            job,
            session: Arc::clone(&self.session),
            lease: Arc::clone(&self.lease),
            sink: Arc::clone(&self.sink),
            is_own,
        }
    }
}

impl Jobs for LeasedJobs {
    fn go_on(&self) -> bool {
        self.session.is_lasting()
    }

    fn start(&self, order: JobOrder) -> BoxFuture<'_, Result<Arc<dyn Job>, Failure>> {
        Box::pin(self.launch(order))
    }

    fn list(&self) -> Result<Vec<JobView>, Failure> {
        self.lease.alive()?;
        Ok(self.session.job_table().list())
    }

    fn find(&self, id: &str) -> Result<Arc<dyn Job>, Failure> {
        self.lease.alive()?;
        let job = self.session.job_table().find(id)?;
        Ok(Arc::new(self.lend(job, false)))
    }

    fn ended_unseen(&self) -> Result<Vec<JobView>, Failure> {
        self.lease.alive()?;
        Ok(self.session.job_table().ended_unseen())
    }
}

impl LeasedJob {
    async fn watch(&self, wait: &JobWait, cancel: &Cancel) -> Waited {
        let waiting = self.job.wait(wait, cancel);
        tokio::pin!(waiting);
        let is_told = !self.is_own;
        tokio::select! {
            biased;
            waited = &mut waiting => return waited,
            () = self.lease.over.fired() => return Waited::Cancelled,
            quiet = self.job.tether().silent(), if !is_told => {
                self.sink.progress(Progress::Warning(format!("the command is silent: {quiet}")));
            }
        }
        tokio::select! {
            biased;
            waited = &mut waiting => waited,
            () = self.lease.over.fired() => Waited::Cancelled,
        }
    }
}

impl Job for LeasedJob {
    fn view(&self) -> JobView {
        self.job.view()
    }

    fn read(&self) -> Result<Captured, Failure> {
        self.lease.may_steer()?;
        Ok(self.job.read())
    }

    fn write(&self, bytes: Vec<u8>) -> Result<(), Failure> {
        self.lease.may_feed()?;
        self.open_tether()?.write(bytes)
    }

    fn close(&self) -> Result<(), Failure> {
        self.lease.may_feed()?;
        self.open_tether()?.close()
    }

    fn wait<'a>(&'a self, wait: JobWait, cancel: &'a Cancel) -> BoxFuture<'a, Waited> {
        Box::pin(async move { self.watch(&wait, cancel).await })
    }

    fn release(&self) -> Result<Arc<str>, Failure> {
        self.lease.may_steer()?;
        self.session.release(&self.job)
    }

    fn stop(&self) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async move {
            self.lease.may_steer()?;
            self.job.stop();
            // Stopping has limits of its own.
            self.job.wait(&JobWait::default(), &Cancel::new()).await;
            match self.job.view().end {
                Some(Err(failure)) => Err(failure),
                _ => Ok(()),
            }
        })
    }
}

impl LeasedJob {
    fn open_tether(&self) -> Result<&Tether, Failure> {
        if self.job.has_ended() {
            return Err(Failure::conflict("the job has ended, so nothing was written; read says how"));
        }
        Ok(self.job.tether())
    }
}

impl Drop for LeasedJob {
    fn drop(&mut self) {
        if self.is_own {
            self.job.leave();
            self.session.job_table().forget(&self.job);
        }
    }
}
