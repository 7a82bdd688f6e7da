//! The run itself: the tool's task, its clock, its progress, and handles that die with the call.

mod jobs;
mod lease;
mod leased;
mod nested;
mod progress;
mod runner;
mod stopwatch;

pub(crate) use jobs::LeasedJobs;
pub(crate) use lease::{Lease, Purpose, Terms};
pub(crate) use nested::NestedCalls;
pub(crate) use progress::CallSink;
pub(crate) use runner::{Ran, RunTask, run};
pub(crate) use stopwatch::Stopwatch;
