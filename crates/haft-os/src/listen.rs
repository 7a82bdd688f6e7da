//! A socket that clients connect to.

use haft_core::{Failure, FailureKind};
use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::net::{TcpListener, TcpStream};

/// Connections as they come, without end.
pub struct Listener {
    inner: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens at an address; port 0 takes a free one. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// Conflict where somebody listens there, permission where this user may not, else unavailable.
    pub async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let listening = TcpListener::bind(address).await.and_then(|inner| Ok((inner.local_addr()?, inner)));
        let (address, inner) = listening.map_err(|error| refused(address, &error))?;
        Ok(Self { inner, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn refused(address: SocketAddr, error: &io::Error) -> Failure {
    let failure = match error.kind() {
        ErrorKind::AddrInUse => Failure::conflict(format!(
            "somebody listens at {address} already; take another port, or 0 for a free one"
        )),
        ErrorKind::PermissionDenied => Failure::new(
            FailureKind::Permission,
            format!("this user may not listen at {address}; take a port from 1024 on"),
        ),
        _ => Failure::new(
            FailureKind::Unavailable,
            format!("can't listen at {address}: {error}; take an address of this machine"),
        ),
    };
    failure.diagnose(error.to_string())
}

impl futures::Stream for Listener {
    type Item = io::Result<TcpStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let accepted = ready!(self.inner.poll_accept(context));
        Poll::Ready(Some(accepted.map(|(stream, _)| {
            // Messages are short and want an answer: without this each may wait for another one's acknowledgement.
            let _ = stream.set_nodelay(true);
            stream
        })))
    }
}
