//! The socket between haft and a supervisor: what comes over it, and what its end means.

use rustix::{
    net::Shutdown,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    future::pending,
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
};
use tokio::net::UnixStream;

/// The length of a record.
const RECORD_BYTES: usize = 12;

/// What a supervisor reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// It supervises the first process.
    Started {
        /// The first process, also the number of its group and session.
        pid: i32,
    },
    /// The first process has ended.
    Ended {
        /// The first process.
        pid: i32,
        /// As `waitpid` gives it.
        status: i32,
    },
    /// Nothing of the tree is left.
    Gone,
    /// A step of putting up the sandbox failed.
    Failed {
        /// Which, as [`crate::sandbox::build`] numbers them.
        step: i32,
        /// The system's error.
        errno: i32,
    },
    /// What bubblewrap was to put up is there, and the program is started in it.
    Inside,
}

/// The step of a [`Record::Failed`] that is the start of the program itself.
pub(super) const START: i32 = 100;

impl Record {
    /// The record on the socket. Called between `fork` and `exec`: it must not allocate.
    pub(super) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let words = match self {
            Self::Started { pid } => [1, pid, 0],
            Self::Ended { pid, status } => [2, pid, status],
            Self::Gone => [3, 0, 0],
            Self::Failed { step, errno } => [4, step, errno],
            Self::Inside => [5, 0, 0],
        };
        let mut bytes = [0; RECORD_BYTES];
        for (to, from) in bytes.iter_mut().zip(words.into_iter().flat_map(i32::to_ne_bytes)) {
            *to = from;
        }
        bytes
    }

    fn from_bytes(bytes: [u8; RECORD_BYTES]) -> Option<Self> {
        let mut words = bytes
            .chunks_exact(4)
            .map(|word| <[u8; 4]>::try_from(word).map(i32::from_ne_bytes).unwrap_or_default());
        match (words.next()?, words.next()?, words.next()?) {
            (1, pid, _) => Some(Self::Started { pid }),
            (2, pid, status) => Some(Self::Ended { pid, status }),
            (3, ..) => Some(Self::Gone),
            (4, step, errno) => Some(Self::Failed { step, errno }),
            (5, ..) => Some(Self::Inside),
            _ => None,
        }
    }
}

/// All whole records of what came over a socket.
pub(super) fn records(bytes: &[u8]) -> Vec<Record> {
    let whole = bytes.chunks_exact(RECORD_BYTES);
    whole.filter_map(|one| Record::from_bytes(one.try_into().ok()?)).collect()
}

/// haft's end. While it is open the tree may live; dropping it has the tree killed.
pub(super) struct Control {
    stream: UnixStream,
    supervisor: Option<OwnedFd>,
    bytes: [u8; RECORD_BYTES],
    filled: usize,
    is_closed: bool,
}

impl Control {
    /// haft's end, and the one for a supervisor.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let stream = UnixStream::from_std(ours)?;
        let control =
            Self { stream, supervisor: None, bytes: [0; RECORD_BYTES], filled: 0, is_closed: false };
        Ok((control, theirs.into()))
    }

    /// Remembers which process the supervisor is, which must not have been reaped.
    pub(super) fn supervised_by(&mut self, pid: i32) {
        self.supervisor = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    }

    /// The next record; `None` once when the supervisor is gone, after that it waits for ever.
    ///
    /// # Cancellation
    /// Nothing is lost when the future is dropped.
    pub(super) async fn next_record(&mut self) -> Option<Record> {
        if self.is_closed {
            return pending().await;
        }
        loop {
            if self.stream.readable().await.is_err() {
                break;
            }
            match self.stream.try_read(self.bytes.get_mut(self.filled..).unwrap_or_default()) {
                Ok(0) => break,
                Ok(count) => self.filled = self.filled.saturating_add(count),
                Err(error) if is_for_now(&error) => {}
                Err(_) => break,
            }
            if self.filled >= RECORD_BYTES {
                self.filled = 0;
                if let Some(record) = Record::from_bytes(self.bytes) {
                    return Some(record);
                }
            }
        }
        self.is_closed = true;
        None
    }

    /// The step of putting up the sandbox that failed, of what has come so far.
    pub(super) fn failed_step(&mut self) -> Option<(i32, i32)> {
        let mut bytes = [0; RECORD_BYTES];
        // Each record is sent whole, and all are sent before the failed start shows.
        while let Ok(RECORD_BYTES) = self.stream.try_read(&mut bytes) {
            if let Some(Record::Failed { step, errno }) = Record::from_bytes(bytes) {
                return Some((step, errno));
            }
        }
        None
    }

    /// Has the tree killed; records still come.
    pub(super) fn kill(&self) {
        // Shutting down can't fail for a full buffer, as writing a byte could.
        let _ = rustix::net::shutdown(&self.stream, Shutdown::Write);
        self.wake();
    }

    /// Another handle on this end, for whoever may have to have the tree killed.
    pub(super) fn copy(&self) -> io::Result<OwnedFd> {
        Ok(rustix::io::fcntl_dupfd_cloexec(&self.stream, 0)?)
    }

    /// A program may have stopped its supervisor.
    fn wake(&self) {
        if let Some(supervisor) = &self.supervisor {
            let _ = pidfd_send_signal(supervisor, Signal::CONT);
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether reading or writing may go on later.
pub(super) fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_sent() {
        let records = [
            Record::Started { pid: 77 },
            Record::Ended { pid: 77, status: 0x0900 },
            Record::Gone,
            Record::Failed { step: 4, errno: 1 },
            Record::Inside,
        ];
        for record in records {
            assert_eq!(Record::from_bytes(record.to_bytes()), Some(record));
        }
        assert_eq!(Record::from_bytes([0; RECORD_BYTES]), None);
        let mut sent: Vec<u8> = records.iter().flat_map(|record| record.to_bytes()).collect();
        sent.push(1);
        assert_eq!(super::records(&sent), records);
    }
}
