//! One conversation: its snapshots, policy, reads, state, order of calls, and log.

mod changes;
mod content;
mod host;
mod job;
mod jobs;
mod keeper;
mod log;
mod marks;
mod record;
mod resume;
#[expect(clippy::module_inception, reason = "the room is named for its central type")]
mod session;
mod setup;
mod view;

pub use host::{Grants, Keep, Pins, Renewal};
pub use jobs::JOBS_MAX;
pub use log::{LOG_VERSION, LogEntry, LogLine};
pub use resume::{Interrupted, read_log};
pub use session::Session;
pub use setup::SessionSetup;

pub(crate) use content::{CONTENT_MAX_BYTES, ContentStore, content_folder};
pub(crate) use job::{JobSetup, SessionJob};
pub(crate) use keeper::Keeper;
pub(crate) use record::Numbers;
pub(crate) use resume::changes_in;
pub(crate) use view::shared_in;
