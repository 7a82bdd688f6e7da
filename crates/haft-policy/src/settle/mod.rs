//! Settlers: heard only where no guard spoke; the first that speaks decides.

mod allow;
mod default;
mod grant;
mod hook;
mod line;
mod mode;

pub use line::{is_harmless, reads_only};

use crate::{Policy, Subject};
use haft_core::Why;

/// One way to decide what no guard restricts.
pub(crate) trait Settler: Sync {
    /// Its name in traces.
    fn step(&self) -> &'static str;

    /// Its name alone.
    fn name(&self) -> &'static str {
        self.step().split_once(':').map_or(self.step(), |(_, name)| name)
    }

    /// Its word, where it has one.
    fn settle(&self, subject: &Subject, policy: &Policy) -> Option<Settlement>;
}

/// What a settler can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Settlement {
    /// It runs.
    Allow(Why),
    /// A person is asked.
    Ask(Why),
}

/// All settlers, in the order in which they are asked.
pub(crate) const ALL: [&dyn Settler; 5] =
    [&grant::Grants, &allow::Allow, &hook::Hook, &mode::ByMode, &default::ByTool];
