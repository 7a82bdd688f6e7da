//! Standard input and output without a thread in between, where they are pipes or sockets.
//!
//! Waiting for a terminal or a file needs a thread; a pipe tells by itself when it is ready. For a server that
//! answers line by line this is most of the time of an answer.

use std::{
    future::pending,
    io,
    os::fd::{AsFd, OwnedFd},
    os::unix::net::UnixStream as StdStream,
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

/// Ends when nobody reads standard output any more; where it isn't a pipe, never. Must be called within a tokio runtime.
///
/// # Cancellation
/// Nothing is lost when the future is dropped.
pub fn output_gone() -> impl Future<Output = ()> {
    let own = io::stdout().as_fd().try_clone_to_owned();
    let pipe = own.and_then(pipe::Sender::from_owned_fd);
    async move {
        let is_gone = match &pipe {
            Ok(pipe) => pipe.ready(Interest::ERROR).await.is_ok(),
            Err(_) => false,
        };
        if !is_gone {
            pending::<()>().await;
        }
    }
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdStream::from(fd);
    // Refused where it isn't a socket of that kind.
    stream.local_addr()?;
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
