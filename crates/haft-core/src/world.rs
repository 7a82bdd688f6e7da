//! Everything outside, bundled.

use crate::{Files, Http, Processes, Web};
use std::{sync::Arc, time::SystemTime};

/// The traits behind which the world stands.
#[derive(Clone)]
pub struct World {
    /// Files.
    pub files: Arc<dyn Files>,
    /// Processes.
    pub processes: Arc<dyn Processes>,
    /// HTTP.
    pub http: Arc<dyn Http>,
    /// The open web, guarded.
    pub web: Arc<dyn Web>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Threads for blocking work.
    pub pool: Arc<dyn Pool>,
}

/// Wall time only; time-outs belong to the async runtime, so that one paused clock rules a test.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> SystemTime;
}

/// Threads for blocking work.
pub trait Pool: Send + Sync {
    /// Runs the job on some thread.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}
