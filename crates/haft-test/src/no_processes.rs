//! A host on which nothing can be started.

use haft_core::{BoxFuture, Cancel, Command, Exit, Failure, Processes, Stdio, Talk};
use std::{
    future::ready,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Starts nothing, and counts how often it should.
#[derive(Debug, Default)]
pub struct NoProcesses(AtomicUsize);

impl NoProcesses {
    /// How often a command was to be started.
    pub fn asked(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn refusal(&self) -> Failure {
        self.0.fetch_add(1, Ordering::SeqCst);
        Failure::internal("nothing can be started here")
    }
}

impl Processes for NoProcesses {
    fn locate(&self, _: &str) -> Option<String> {
        None
    }

    fn run<'a>(
        &'a self,
        _: Command,
        _: &'a Cancel,
        _: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> BoxFuture<'a, Result<Exit, Failure>> {
        Box::pin(ready(Err(self.refusal())))
    }

    fn talk(&self, _: Command) -> BoxFuture<'_, Result<Talk, Failure>> {
        Box::pin(ready(Err(self.refusal())))
    }
}
