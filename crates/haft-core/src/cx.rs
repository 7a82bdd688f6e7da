//! What a tool is given for one call.

use crate::{
    BoxFuture, CallId, Cancel, Change, Ended, Failure, Filled, Form, JobView, Jobs, PathArg, Progress,
    RealPath, Request, Seen, Shape, Spec, Truncation, World, output::ChangedBy,
};
use serde_json::Value;
use std::{any::Any, borrow::Cow, collections::BTreeMap, sync::Arc};
use tokio::sync::oneshot;

/// The key of the session's state that holds the shell's working directory, absolute.
pub const SHELL_FOLDER: &str = "cwd";

/// What a call may know of its session.
pub trait SessionView: Send + Sync {
    /// The session's id.
    fn id(&self) -> Arc<str>;
    /// One value of the session's state.
    fn state(&self, key: &str) -> Option<Value>;
    /// Whether the session offers a tool of that name: it is in its tool set, and no rule denies it whole.
    fn shows(&self, _tool: &str) -> bool {
        true
    }
    /// What of a file the model has been shown.
    fn seen(&self, path: &RealPath) -> Option<Seen>;
    /// Registers something to do once when the run ends; last registered, first called.
    fn on_run_end(&self, hook: Box<dyn FnOnce() + Send>);
    /// The last changes of files that calls of the session made, in their order. Two entries may be of one call.
    fn changes(&self) -> Vec<ChangedBy> {
        Vec::new()
    }
    /// The tools that calls of the session can name, by the name they are called by, in a stable order.
    fn tools(&self) -> Vec<(Arc<str>, Arc<Spec>)> {
        Vec::new()
    }
    /// The tools that scripts can call and that fit some words best, best first and so many at most, and how many more fit.
    fn find(&self, _words: &str, _most: usize) -> (Vec<Arc<str>>, usize) {
        (Vec::new(), 0)
    }
    /// The content that has this [`crate::content_hash`], if the session keeps it: of files before and after they were
    /// changed, and of short ones that were read whole. Blocking.
    fn content(&self, _hash: &str) -> Option<Vec<u8>> {
        None
    }
    /// A text of the model's with the placeholders of masked secrets turned back into the bytes they stand for in a
    /// file; `file` is its present content.
    ///
    /// # Errors
    /// Invalid input where a placeholder stands for nothing in this file.
    fn unmask<'a>(&self, text: &'a [u8], _file: &[u8]) -> Result<Cow<'a, [u8]>, Failure> {
        Ok(Cow::Borrowed(text))
    }
    /// One of the session's jobs as it stands.
    fn job(&self, _id: &str) -> Option<JobView> {
        None
    }
    /// A value that all processes of the session share, as it is now. Blocking, and short.
    fn shared(&self, _key: &str) -> Option<Vec<u8>> {
        None
    }
    /// Reads, changes and keeps such a value; only one of all processes at a time does so for a key, and the others
    /// wait. Blocking. Where nothing is kept, `change` gets none.
    ///
    /// # Errors
    /// What `change` answers; unavailable where the value can't be kept.
    fn update_shared(&self, _key: &str, change: &mut Change<'_>) -> Result<(), Failure> {
        change(None).map(drop)
    }
}

/// What a running tool may ask of whoever made the call.
pub trait Nested: Send + Sync {
    /// Makes a call inside this one, through the one call path. Only for tools whose effects are
    /// [`crate::Effects::Delegated`]; for others each call is refused.
    fn call(&self, request: Request) -> BoxFuture<'static, Ended>;

    /// The call's time stands still until what it gives is dropped: for waits on people.
    fn pause(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    /// Has a person fill in a form; the call's time stands still meanwhile. Declined where nobody can.
    fn fill(&self, _form: Form) -> BoxFuture<'static, Filled> {
        Box::pin(std::future::ready(Filled::Declined))
    }
}

/// Where progress and long output go.
pub trait Sink: Send + Sync {
    /// Tells what is happening.
    fn progress(&self, progress: Progress);
    /// Takes output of any length in flat memory.
    fn capture(&self, shape: Shape) -> Box<dyn Capture>;
}

/// Head, tail and spill file of a stream. What was pushed survives a timeout of the call.
pub trait Capture: Send {
    /// Adds bytes; characters may be split between pieces.
    fn push(&mut self, bytes: &[u8]);
    /// Ends it.
    fn finish(self: Box<Self>) -> Captured;
}

/// The bounded text of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// What the model sees, with a notice at the cut.
    pub text: String,
    /// What was left out.
    pub truncation: Option<Truncation>,
}

/// Everything a tool is given for one call: handles that refuse what wasn't judged, and everything after
/// the call's end.
#[derive(Clone)]
pub struct Cx {
    /// The call.
    pub call: CallId,
    /// Files, processes, HTTP.
    pub world: World,
    /// The session.
    pub session: Arc<dyn SessionView>,
    /// Further calls.
    pub nested: Arc<dyn Nested>,
    /// Progress and long output.
    pub sink: Arc<dyn Sink>,
    /// Commands that go on beside the conversation.
    pub jobs: Arc<dyn Jobs>,
    /// Fires when the call must end.
    pub cancel: Cancel,
    /// The paths that were judged, each with what it stands for.
    pub paths: Arc<[(PathArg, RealPath)]>,
}

impl Cx {
    /// The real path that was judged for a path of the input.
    ///
    /// # Errors
    /// A conflict where the tool didn't state that path among its effects.
    pub fn path(&self, path: &PathArg) -> Result<RealPath, Failure> {
        self.paths.iter().find(|(written, _)| written == path).map(|(_, real)| real.clone()).ok_or_else(
            || {
                Failure::internal(format!("the tool didn't state that it touches {}", path.0))
                    .diagnose("Tool::effects must name every path that Tool::run uses")
            },
        )
    }

    /// Says a line to people.
    pub fn log(&self, text: impl Into<String>) {
        self.sink.progress(Progress::Log(text.into()));
    }

    /// Shows output so far.
    pub fn partial(&self, text: impl Into<String>) {
        self.sink.progress(Progress::PartialOutput(text.into()));
    }

    /// Warns people.
    pub fn warn(&self, text: impl Into<String>) {
        self.sink.progress(Progress::Warning(text.into()));
    }

    /// Reports a number.
    pub fn metric(&self, name: &str, value: f64) {
        self.sink.progress(Progress::Metric(BTreeMap::from([(name.to_owned(), value)])));
    }

    /// Says that a file changed.
    pub fn file_changed(&self, path: &RealPath) {
        self.sink.progress(Progress::FileChanged(path.absolute()));
    }

    /// Runs blocking work off the async threads.
    ///
    /// # Errors
    /// What the job returns; internal where it panics.
    pub async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (sender, receiver) = oneshot::channel();
        self.world.pool.run(Box::new(move || drop(sender.send(job()))));
        receiver.await.map_err(|_| {
            Failure::internal("the tool failed while it worked").diagnose("blocking job panicked")
        })?
    }
}
