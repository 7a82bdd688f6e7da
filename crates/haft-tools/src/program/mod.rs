//! Programs that tools run themselves: how an answer is taken, and how output is shown as it comes and its end told.
//!
//! Starting and stopping is left to [`haft_core::Processes`]. Keeps the invariant that what is kept of an answer is
//! bounded, and that it is known whether all of it was.

mod ask;
mod ending;
mod hint;
mod note;
mod shown;

pub(crate) use ask::{Answer, ask, pass_on};
pub(crate) use ending::{Ending, gaps, reported_cwd, seconds, status};
pub(crate) use hint::BARRED_ELSEWHERE;
pub(crate) use note::noted;
pub(crate) use shown::{Shown, show, timed_out, with_partial};

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
