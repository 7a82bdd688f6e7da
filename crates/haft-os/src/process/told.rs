//! What a supervisor has said so far, and what that comes to.

use super::control::Record;
use haft_core::Status;
use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

/// What a supervisor has said of its tree so far.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The first process.
    pub(super) first: Option<i32>,
    ended: Option<i32>,
    /// The step of putting up the sandbox that failed, and the system's error.
    pub(super) failed: Option<(i32, i32)>,
    /// Whether what bubblewrap was to put up is there.
    pub(super) is_inside: bool,
    /// Whether nothing of the tree is left.
    pub(super) is_gone: bool,
    /// Whether the supervisor went without saying so.
    pub(super) is_lost: bool,
}

impl Told {
    /// Takes the next record, or its end.
    pub(super) fn take(&mut self, record: Option<Record>) {
        match record {
            Some(Record::Started { pid }) => self.first = Some(pid),
            // With namespaces the first process says it before it ends itself.
            Some(Record::Ended { status, .. }) => drop(self.ended.get_or_insert(status)),
            Some(Record::Failed { step, errno }) => self.failed = Some((step, errno)),
            Some(Record::Inside) => self.is_inside = true,
            Some(Record::Gone) => self.is_gone = true,
            None => self.is_lost = !self.is_gone,
        }
    }

    /// Whether the first process has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some() || self.is_over()
    }

    /// Whether nothing more is to be heard.
    pub(super) fn is_over(&self) -> bool {
        self.is_gone || self.is_lost
    }

    /// How the first process ended. It ends with its supervisor, by KILL.
    pub(super) fn status(&self) -> Option<Status> {
        let Some(raw) = self.ended else {
            return self.is_lost.then_some(Status::Signal(libc::SIGKILL));
        };
        let status = ExitStatus::from_raw(raw);
        status.code().map(Status::Code).or_else(|| status.signal().map(Status::Signal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_end_counts_and_one_that_nobody_told_is_a_kill() {
        let mut told = Told::default();
        assert!(told.status().is_none() && !told.has_ended());
        told.take(Some(Record::Started { pid: 7 }));
        told.take(Some(Record::Ended { pid: 7, status: 0x0300 }));
        told.take(Some(Record::Ended { pid: 7, status: libc::SIGKILL }));
        assert!(told.has_ended() && !told.is_over() && told.status() == Some(Status::Code(3)));
        told.take(Some(Record::Gone));
        told.take(None);
        assert!(told.is_over() && !told.is_lost && told.first == Some(7));
        let mut lost = Told::default();
        lost.take(None);
        assert!(lost.is_lost && lost.status() == Some(Status::Signal(libc::SIGKILL)));
    }
}
