//! Programs that tools run themselves: how a line of words is written, and how an answer is taken.
//!
//! Starting and stopping is left to [`haft_core::Processes`]. Keeps the invariant that what is kept of an answer is
//! bounded, and that it is known whether all of it was.

mod ask;
mod ending;
mod hint;
mod line;

pub(crate) use ask::{Answer, ask, pass_on};
pub(crate) use ending::{Ending, reported_cwd, seconds};
pub(crate) use line::line;

/// A session that knows nothing, for tests of what tools state.
#[cfg(test)]
pub(crate) struct NoSession;

#[cfg(test)]
impl haft_core::SessionView for NoSession {
    fn id(&self) -> std::sync::Arc<str> {
        "s".into()
    }
    fn state(&self, _: &str) -> Option<serde_json::Value> {
        None
    }
    fn seen(&self, _: &haft_core::RealPath) -> Option<haft_core::Seen> {
        None
    }
    fn on_run_end(&self, _: Box<dyn FnOnce() + Send>) {}
}
