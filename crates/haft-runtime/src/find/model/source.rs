//! A model that is read when it is first needed.

use super::StaticModel;
use crate::catalogue::Problem;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

type Read = dyn Fn() -> Result<StaticModel, Problem> + Send + Sync;

/// Where a model comes from. Cheap to clone; all clones read it once together.
#[derive(Clone)]
pub struct ModelSource {
    inner: Arc<Inner>,
}

struct Inner {
    read: Box<Read>,
    model: OnceLock<Result<Arc<StaticModel>, Problem>>,
}

impl ModelSource {
    /// A model that `read` gives, which is called at most once, when tools are first searched.
    pub fn new(read: impl Fn() -> Result<StaticModel, Problem> + Send + Sync + 'static) -> Self {
        Self { inner: Arc::new(Inner { read: Box::new(read), model: OnceLock::new() }) }
    }

    /// The model, read now where it wasn't. Blocking.
    ///
    /// # Errors
    /// It can't be read; searches go on without it.
    pub fn model(&self) -> Result<Arc<StaticModel>, Problem> {
        self.inner.model.get_or_init(|| (self.inner.read)().map(Arc::new)).clone()
    }

    /// What was wrong when it was read, if it was.
    pub fn problem(&self) -> Option<Problem> {
        self.inner.model.get()?.as_ref().err().cloned()
    }
}

impl fmt::Debug for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSource").field("model", &self.inner.model.get()).finish_non_exhaustive()
    }
}
