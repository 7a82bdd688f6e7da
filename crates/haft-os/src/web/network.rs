//! Names and connections, behind a trait so that a test can say what a name means from one moment to the next.

use haft_core::BoxFuture;
use std::{
    io,
    net::{IpAddr, SocketAddr},
};
use tokio::net::{TcpStream, lookup_host};

/// What stands between the guard and the wire. The guard asks for a name's addresses once per hop and connects
/// to one of those that it was told.
pub trait Network: Send + Sync {
    /// All addresses of a name.
    ///
    /// # Errors
    /// The name isn't known, or nobody can be asked.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;

    /// A connection to exactly this address.
    ///
    /// # Errors
    /// Nobody listens there, or it can't be reached.
    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// The system's own resolver and sockets.
pub(super) struct SystemNetwork;

impl Network for SystemNetwork {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(lookup_host((host, 0)).await?.map(|address| address.ip()).collect()) })
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(to))
    }
}
