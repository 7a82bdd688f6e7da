//! Exit statuses, as the contract numbers them.

use haft_core::Outcome;
use std::process::ExitCode;

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It did what it was asked.
    Completed,
    /// It failed.
    Failed,
    /// Invalid input, an unknown tool, or wrong usage.
    Usage,
    /// A gate or a person refused.
    Denied,
    /// Time ran out.
    TimedOut,
    /// Stopped before it was done.
    Cancelled,
    /// A limit of an agent's run was reached.
    Limit,
}

impl Status {
    /// The number that the shell sees.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::TimedOut => 4,
            Self::Cancelled => 5,
            Self::Limit => 6,
        }
    }
}

impl From<&Outcome> for Status {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Failed { .. } => Self::Failed,
            Outcome::Invalid | Outcome::Unknown => Self::Usage,
            Outcome::Denied { .. } => Self::Denied,
            Outcome::TimedOut => Self::TimedOut,
            Outcome::Cancelled | Outcome::Interrupted => Self::Cancelled,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{FailureKind, Why};

    #[test]
    fn each_outcome_has_its_number() {
        let denied = Outcome::Denied { why: Why::new("deny", "no"), feedback: None };
        let cases = [
            (Outcome::Completed, 0),
            (Outcome::Failed { kind: FailureKind::Internal }, 1),
            (Outcome::Invalid, 2),
            (Outcome::Unknown, 2),
            (denied, 3),
            (Outcome::TimedOut, 4),
            (Outcome::Cancelled, 5),
            (Outcome::Interrupted, 5),
        ];
        for (outcome, number) in cases {
            assert_eq!(Status::from(&outcome).number(), number, "{}", outcome.name());
        }
    }
}
