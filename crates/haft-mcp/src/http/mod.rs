//! Streamable HTTP: connections in, one endpoint, both eras.
//!
//! Leaves sockets to whoever gives the connections. Keeps "nothing unbounded": connections, sessions, heads, bodies and
//! what waits for slow clients have limits.

mod body;
mod endpoint;
mod gate;
mod head;
mod response;
mod session;
mod stream;

use crate::{call::END_TIMEOUT, office::Office};
use endpoint::Endpoint;
use futures::{Stream, StreamExt};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{convert::Infallible, io, pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};

pub use gate::HttpSetup;

/// How many connections there may be.
const CONNECTIONS_MAX: u32 = 512;
/// How long a request's head may take, and how long a connection may idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the last replies may take once calls have ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait after a connection couldn't be accepted: there may be too many open files for a moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is done or no more connections come.
pub(crate) async fn serve<C, S>(
    office: Arc<Office>,
    connections: C,
    setup: HttpSetup,
    stop: impl Future<Output = ()> + Send,
) where
    C: Stream<Item = io::Result<S>> + Send,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (leaving, ending) = (office.leaving.clone().drop_guard(), office.ending.clone().drop_guard());
    let endpoint = Arc::new(Endpoint::new(office, setup));
    let places = Arc::new(Semaphore::new(usize::try_from(CONNECTIONS_MAX).unwrap_or(usize::MAX)));
    let mut connections = pin!(connections);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&places, connections.as_mut()) => accepted,
        };
        match accepted {
            None => break,
            Some((Ok(io), place)) => {
                tokio::spawn(attend(Arc::clone(&endpoint), io, place));
            }
            Some((Err(_), _)) => sleep(ACCEPT_PAUSE).await,
        }
    }
    // Streams end, and calls; then what was still to be said goes out.
    drop(leaving);
    drop(ending);
    let all_gone = places.acquire_many(CONNECTIONS_MAX);
    drop(timeout(END_TIMEOUT + FLUSH_TIMEOUT, all_gone).await);
}

/// The next connection, once there is a place for it.
async fn accept<C, S>(
    places: &Arc<Semaphore>,
    mut connections: std::pin::Pin<&mut C>,
) -> Option<(io::Result<S>, OwnedSemaphorePermit)>
where
    C: Stream<Item = io::Result<S>>,
{
    // Never closed, so there is a place some time.
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    Some((connections.next().await?, place))
}

/// Serves one connection.
async fn attend<S>(endpoint: Arc<Endpoint>, io: S, place: OwnedSemaphorePermit)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let leaving = endpoint.leaving();
    let service = service_fn(move |request| {
        let endpoint = Arc::clone(&endpoint);
        async move { Ok::<_, Infallible>(endpoint.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(io), service);
    let mut connection = pin!(connection);
    // How a connection ends is its client's affair.
    tokio::select! {
        done = connection.as_mut() => drop(done),
        () = leaving.cancelled() => {
            connection.as_mut().graceful_shutdown();
            drop(timeout(END_TIMEOUT + FLUSH_TIMEOUT, connection).await);
        }
    }
    drop(place);
}
