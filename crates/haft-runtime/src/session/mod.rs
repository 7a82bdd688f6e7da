//! One conversation: its snapshots, policy, reads, state, order of calls, and log.

mod log;
mod record;
mod resume;
#[expect(clippy::module_inception, reason = "the room is named for its central type")]
mod session;
mod view;

pub use log::{LOG_VERSION, LogEntry, LogLine};
pub use resume::{Interrupted, read_log};
pub use session::{Grants, Keep, Session, SessionSetup};

pub(crate) use record::Numbers;
