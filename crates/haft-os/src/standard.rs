//! Standard input and output without a thread in between, where they are pipes or sockets.
//!
//! Waiting for a terminal or a file needs a thread; a pipe tells by itself when it is ready. For a server that
//! answers line by line this is most of the time of an answer.

use rustix::{
    event::{FdSetElement, PollFd, PollFlags, Timespec, fd_set_insert, fd_set_num_elements, poll, select},
    io::Errno,
};
use std::{
    future::pending,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    os::unix::net::UnixStream as StdStream,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest},
    net::{UnixStream, unix::pipe},
};

/// Standard input. Must be called within a tokio runtime.
///
/// A pipe or socket is made non-blocking, also for other holders of the same end.
pub fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    let own = || io::stdin().as_fd().try_clone_to_owned();
    if let Ok(receiver) = own().and_then(pipe::Receiver::from_owned_fd) {
        return Box::new(receiver);
    }
    match own().and_then(socket) {
        Ok(stream) => Box::new(stream),
        Err(_) => Box::new(tokio::io::stdin()),
    }
}

/// Standard output. Must be called within a tokio runtime.
///
/// A pipe or socket is made non-blocking, also for other holders of the same end.
pub fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    let own = || io::stdout().as_fd().try_clone_to_owned();
    if let Ok(sender) = own().and_then(pipe::Sender::from_owned_fd) {
        return Box::new(sender);
    }
    match own().and_then(socket) {
        Ok(stream) => Box::new(stream),
        Err(_) => Box::new(tokio::io::stdout()),
    }
}

/// Waits, at most so long, until standard input has something to be read or has ended; whether it does. For a thread that
/// has nothing else to do.
pub fn has_input(most: Duration) -> bool {
    has_something(io::stdin().as_fd(), most)
}

/// By `select`, since `poll` asks about no more files than a process may have open, of which one that is closed off may
/// have none.
#[expect(unsafe_code, reason = "select takes files by their numbers")]
fn has_something(file: BorrowedFd<'_>, most: Duration) -> bool {
    let number = file.as_raw_fd();
    let mut asked = vec![FdSetElement::default(); fd_set_num_elements(1, number + 1)];
    fd_set_insert(&mut asked, number);
    let most = Timespec::try_from(most).ok();
    // SAFETY: the file is borrowed, so that it stays open meanwhile.
    let ready = unsafe { select(number + 1, Some(&mut asked), None, None, most.as_ref()) };
    match ready {
        Ok(count) => count > 0,
        // An interruption says nothing of the file; any other fault is heard by whoever reads it.
        Err(fault) => fault != Errno::INTR,
    }
}

/// Ends when nobody reads standard output any more; never where it is neither a pipe nor a socket, nor where the other end of
/// a socket writes to it. Must be called within a tokio runtime.
///
/// A pipe or socket is made non-blocking, also for other holders of the same end.
///
/// # Cancellation
/// Nothing is lost when the future is dropped.
pub fn output_gone() -> impl Future<Output = ()> {
    let own = || io::stdout().as_fd().try_clone_to_owned();
    let pipe = own().and_then(pipe::Sender::from_owned_fd);
    let stream = own().and_then(socket);
    async move {
        let is_gone = match (&pipe, &stream) {
            (Ok(pipe), _) => pipe.ready(Interest::ERROR).await.is_ok(),
            (_, Ok(stream)) => is_closed(stream).await,
            _ => false,
        };
        if !is_gone {
            pending::<()>().await;
        }
    }
}

/// Whether the other end of a socket is closed, as soon as there is something to be read, as there is at the end too.
async fn is_closed(stream: &UnixStream) -> bool {
    if stream.readable().await.is_err() {
        return false;
    }
    // One that only writes no more, or writes, is still there.
    let mut asked = [PollFd::new(stream, PollFlags::empty())];
    let has_answer = poll(&mut asked, Some(&Timespec::default())).is_ok();
    has_answer && asked.iter().any(|one| one.revents().contains(PollFlags::HUP))
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdStream::from(fd);
    // Refused where it isn't a socket of that kind.
    stream.local_addr()?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write as _, net::Shutdown};

    #[tokio::test]
    async fn the_end_of_a_socket_is_told_from_what_is_written_there() {
        let pair = || {
            let (own, other) = StdStream::pair().unwrap();
            (socket(own.into()).unwrap(), other)
        };
        let (own, other) = pair();
        drop(other);
        assert!(is_closed(&own).await);
        let (own, other) = pair();
        other.shutdown(Shutdown::Write).unwrap();
        assert!(!is_closed(&own).await);
        let (own, mut other) = pair();
        other.write_all(b"x").unwrap();
        assert!(!is_closed(&own).await);
    }

    #[test]
    fn what_waits_to_be_read_is_told_from_nothing_and_the_end_too() {
        let (own, mut other) = StdStream::pair().unwrap();
        assert!(!has_something(own.as_fd(), Duration::ZERO));
        other.write_all(b"x").unwrap();
        assert!(has_something(own.as_fd(), Duration::ZERO));
        let (own, other) = StdStream::pair().unwrap();
        drop(other);
        assert!(has_something(own.as_fd(), Duration::MAX));
    }
}
