//! A page of this machine's own, to which a browser is sent back with an answer.
//!
//! It listens on loopback only, for one answer, and shows nothing but that it came. Keeps the invariant "whoever sends
//! something else, or nothing, keeps the browser from nothing".

use futures::{StreamExt, stream::FuturesUnordered};
use haft_core::{Failure, FailureKind};
use std::{net::Ipv4Addr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// Where the answer comes.
const PATH: &str = "/callback";
/// How long a request may be.
const HEAD_MAX_BYTES: usize = 16 * 1024;
/// How long it may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How many connections are open at once: browsers open some that they may need.
const OPEN_MAX: usize = 16;
const DONE: &str =
    "<!doctype html><meta charset=utf-8><title>haft</title><p>haft has the answer. You can close this page.";
const NOTHING: &str = "<!doctype html><meta charset=utf-8><title>haft</title><p>There is nothing here.";

/// The page.
#[derive(Debug)]
pub struct Loopback {
    listener: TcpListener,
    port: u16,
}

impl Loopback {
    /// Opens it, at a port of one's own or at any.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn open(port: Option<u16>) -> Result<Self, Failure> {
        let no_port = |error: std::io::Error| {
            let at = port.map_or_else(|| "a port".to_owned(), |port| format!("port {port}"));
            let text =
                format!("{at} of this machine can't be listened at: {error}; free it, or name another");
            Failure::new(FailureKind::Unavailable, text)
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await.map_err(no_port)?;
        let port = listener.local_addr().map_err(no_port)?.port();
        Ok(Self { listener, port })
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("http://{}:{}{PATH}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Waits for the answer that is meant: the query of the request that brings it.
    ///
    /// # Errors
    /// Nothing can be heard any more.
    ///
    /// # Cancellation
    /// Safe.
    pub async fn answer(&self, is_meant: &(dyn Fn(&str) -> bool + Sync)) -> Result<String, Failure> {
        let mut open = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if open.len() < OPEN_MAX => {
                    let (socket, _) = accepted.map_err(|error| {
                        Failure::new(FailureKind::Unavailable, format!("nothing can be heard any more: {error}"))
                    })?;
                    open.push(serve(socket, is_meant));
                }
                Some(query) = open.next(), if !open.is_empty() => {
                    if let Some(query) = query {
                        return Ok(query);
                    }
                }
            }
        }
    }
}

/// Serves one request; its query where that is what is waited for.
async fn serve(mut socket: TcpStream, is_meant: &(dyn Fn(&str) -> bool + Sync)) -> Option<String> {
    let target = timeout(HEAD_TIME, target(&mut socket)).await.ok()??;
    let (path, query) = target.split_once('?').unwrap_or((target.as_str(), ""));
    let query = (path == PATH && is_meant(query)).then(|| query.to_owned());
    let (status, page) = if query.is_some() { ("200 OK", DONE) } else { ("404 Not Found", NOTHING) };
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nreferrer-policy: no-referrer\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    // Whoever has gone needs no page.
    let _ = timeout(HEAD_TIME, socket.write_all(reply.as_bytes())).await;
    let _ = socket.shutdown().await;
    query
}

/// What a request asks for.
async fn target(socket: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        if bytes.len() > HEAD_MAX_BYTES || socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(bytes).ok()?;
    let mut words = head.lines().next()?.split(' ');
    match (words.next(), words.next()) {
        (Some("GET"), Some(target)) => Some(target.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(port: u16, request: &str) -> String {
        let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        socket.read_to_string(&mut reply).await.unwrap();
        reply
    }

    #[tokio::test]
    async fn the_answer_that_is_meant_is_given_whatever_else_comes() {
        let page = Loopback::open(None).await.unwrap();
        let port = page.port;
        assert_eq!(page.address(), format!("http://127.0.0.1:{port}/callback"));
        let waiting =
            tokio::spawn(async move { page.answer(&|query: &str| query.contains("state=own")).await });
        // One that says nothing holds nobody up.
        let _mute = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        for other in ["GET /favicon.ico HTTP/1.1\r\n\r\n", "GET /callback?state=x&code=c HTTP/1.1\r\n\r\n"] {
            assert!(ask(port, other).await.starts_with("HTTP/1.1 404"));
        }
        let reply = ask(port, "GET /callback?code=c&state=own HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert!(reply.starts_with("HTTP/1.1 200") && reply.contains("close this page"));
        assert_eq!(waiting.await.unwrap().unwrap(), "code=c&state=own");
    }
}
