//! The system's wall clock.

use haft_core::Clock;
use std::time::SystemTime;

/// Wall time as the system gives it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
