//! Threads for blocking work.

use haft_core::Pool;
use tokio::runtime::Handle;

/// Tokio's blocking threads; a plain thread where no runtime is entered.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioPool;

impl Pool for TokioPool {
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(job)),
            Err(_) => drop(std::thread::spawn(job)),
        }
    }
}
