//! Wall time under a test's control.

use haft_core::Clock;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

/// Stands still until it is moved.
#[derive(Debug)]
pub struct FakeClock(Mutex<SystemTime>);

impl Default for FakeClock {
    fn default() -> Self {
        Self(Mutex::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)))
    }
}

impl FakeClock {
    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for FakeClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
