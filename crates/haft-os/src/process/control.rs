//! The socket between haft and a supervisor: what comes over it, and what its end means.

use rustix::{
    net::{SendFlags, Shutdown, send},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    future::pending,
    io,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
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

/// Whether a tree goes with haft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stay {
    /// It is killed when haft lets go, or is gone.
    No,
    /// It lives on then, and is killed only where haft says so.
    Yes,
}

/// haft's end. While it is open the tree may live; dropping it has the tree killed, unless it is to stay and
/// [`Control::may_stay`].
pub(super) struct Control {
    stream: UnixStream,
    stay: Stay,
    lets_live: bool,
    supervisor: Option<OwnedFd>,
    bytes: [u8; RECORD_BYTES],
    filled: usize,
    is_closed: bool,
}

impl Control {
    /// haft's end, and the one for a supervisor that was told the same of the tree.
    pub(super) fn pair(stay: Stay) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let stream = UnixStream::from_std(ours)?;
        let control = Self {
            stream,
            stay,
            lets_live: false,
            supervisor: None,
            bytes: [0; RECORD_BYTES],
            filled: 0,
            is_closed: false,
        };
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

    /// From now on dropping this leaves a tree alone that is to stay; before, nobody knows of it yet. Whether it does.
    pub(super) fn may_stay(&mut self, may: bool) -> bool {
        self.lets_live = may && self.stay == Stay::Yes;
        self.lets_live
    }

    /// Has the tree killed; records still come.
    pub(super) fn kill(&self) {
        kill(self.stream.as_fd(), self.stay, self.supervisor.as_ref());
    }

    /// What has the tree killed as this does, for somebody else.
    pub(super) fn killer(&self) -> io::Result<Killer> {
        let socket = rustix::io::fcntl_dupfd_cloexec(&self.stream, 0)?;
        let supervisor = self.supervisor.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(Killer { socket, stay: self.stay, supervisor })
    }
}

/// Has a tree killed whose [`Control`] somebody else holds. Dropping it kills nothing.
pub(super) struct Killer {
    socket: OwnedFd,
    stay: Stay,
    supervisor: Option<OwnedFd>,
}

impl Killer {
    /// As [`Control::kill`].
    pub(super) fn kill(&self) {
        kill(self.socket.as_fd(), self.stay, self.supervisor.as_ref());
    }
}

fn kill(socket: BorrowedFd<'_>, stay: Stay, supervisor: Option<&OwnedFd>) {
    // Whoever is gone needn't be told.
    let _ = match stay {
        // Shutting down can't fail for a full buffer, as writing a byte could.
        Stay::No => rustix::net::shutdown(socket, Shutdown::Write),
        // There the end of the socket doesn't kill; nothing else is ever written to it.
        Stay::Yes => send(socket, b"k", SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(drop),
    };
    // A program may have stopped its supervisor.
    if let Some(supervisor) = supervisor {
        let _ = pidfd_send_signal(supervisor, Signal::CONT);
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if !self.lets_live {
            self.kill();
        }
    }
}

/// Whether reading or writing may go on later.
pub(super) fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[tokio::test]
    async fn what_is_to_stay_is_killed_by_a_byte_whoever_says_so() {
        let (control, theirs) = Control::pair(Stay::Yes).unwrap();
        control.killer().unwrap().kill();
        let mut byte = [0];
        StdStream::from(theirs).read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"k");
    }

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
