//! The one way out of a confined process's own network: a proxy that checks names and addresses.
//!
//! Understands what programs ask of an HTTP proxy: `CONNECT host:port` for anything encrypted, and a whole address for
//! plain HTTP. The name must be an allowed one and mean a public address, and it is that address which is connected
//! to. A connection carries one request and its body, so that nothing can follow that names another host. What goes
//! through a tunnel isn't looked into.

use super::{
    enter::PROXY_PORT,
    request::{Asked, Request, authority, is_clean},
};
use crate::web::{is_local_name, not_public};
use std::{
    future::pending,
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr, TcpListener as StdListener},
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy, copy_bidirectional, sink},
    net::{TcpListener, TcpStream, lookup_host},
    select,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

/// So long may the head of a request be.
const HEAD_MAX_BYTES: usize = 16 * 1024;
/// So long may it take to come, and a connection to be made.
const PATIENCE: Duration = Duration::from_secs(20);
/// So much, and so long, is still taken in of who was refused.
const UNREAD_MAX_BYTES: u64 = 64 * 1024;
const LINGER: Duration = Duration::from_secs(2);
/// So many connections at once; the others wait.
const CONNECTIONS_MAX: usize = 64;

/// Names of the machine itself, where a command finds what it started itself.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The variables by which programs find the proxy. The names of the machine itself don't go through it, but those that
/// are among the hosts, since these are of a service outside.
pub(crate) fn variables(hosts: &[String]) -> Vec<(String, String)> {
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let mut all: Vec<(String, String)> = names.map(|name| (name.to_owned(), proxy.clone())).into();
    let is_outside = |own: &&str| {
        hosts.iter().any(|host| {
            let named = authority(host).map(|(name, _)| name);
            named.as_deref().unwrap_or(host).eq_ignore_ascii_case(own)
        })
    };
    let direct = OWN.into_iter().filter(|own| !is_outside(own)).collect::<Vec<_>>().join(",");
    all.extend(["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), direct.clone())));
    // Node looks for the others only where it is told to, from 22.21 and 24 on.
    all.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    all
}

/// A proxy for one command; dropping it closes all that goes through it.
#[derive(Debug)]
pub(crate) struct Proxy(JoinHandle<()>);

impl Proxy {
    /// Serves the port that a confined process opened in its network and handed over. Must be in a tokio runtime.
    ///
    /// # Errors
    /// The port didn't come.
    pub(crate) fn serve(handover: &UnixStream, hosts: &[String]) -> io::Result<Self> {
        let listener = StdListener::from(receive(handover)?);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let allowed = Arc::new(Allowed(hosts.iter().map(|host| host.to_ascii_lowercase()).collect()));
        Ok(Self(tokio::spawn(async move {
            let mut open = JoinSet::new();
            loop {
                while open.try_join_next().is_some() {}
                if open.len() >= CONNECTIONS_MAX {
                    open.join_next().await;
                }
                let Ok((stream, _)) = listener.accept().await else { return };
                let allowed = Arc::clone(&allowed);
                // Whoever asked sees the end of its connection.
                open.spawn(async move { drop(answer(stream, &allowed).await) });
            }
        })))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The hosts that may be reached, in lower case.
struct Allowed(Vec<String>);

impl Allowed {
    /// Whether the list names a host, and whether it names this very host and port, whose address may then be any.
    fn names(&self, host: &str, port: u16) -> Option<bool> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let exact = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        if self.0.contains(&exact) {
            return Some(true);
        }
        let fits = |pattern: &String| match pattern.strip_prefix("*.") {
            Some(domain) => host.strip_suffix(domain).is_some_and(|sub| sub.len() > 1 && sub.ends_with('.')),
            None => *pattern == host,
        };
        self.0.iter().any(fits).then_some(false)
    }

    /// An address to connect to.
    ///
    /// # Errors
    /// Why there is none, for whoever asked.
    async fn address(&self, host: &str, port: u16) -> Result<SocketAddr, String> {
        let Some(is_exact) = self.names(host, port) else {
            return Err(format!(
                "haft's sandbox lets no command reach {host}:{port}: it isn't among the hosts under [sandbox] network"
            ));
        };
        let found: Vec<IpAddr> = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) if is_local_name(host) && !is_exact => {
                return Err(format!("{host} is a local name; allow it as {host}:{port} if that is meant"));
            }
            Err(_) => match timeout(PATIENCE, lookup_host((host, port))).await {
                Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
                _ => return Err(format!("{host} can't be resolved")),
            },
        };
        if !is_exact
            && let Some((address, what)) =
                found.iter().find_map(|address| Some((address, not_public(*address)?)))
        {
            return Err(format!(
                "{host} means {address}, {what}, which isn't reached; allow {host}:{port} if it is meant"
            ));
        }
        let first = found.first().ok_or_else(|| format!("{host} has no address"))?;
        Ok(SocketAddr::new(*first, port))
    }
}

async fn answer(mut stream: TcpStream, allowed: &Allowed) -> io::Result<()> {
    let Some((head, rest)) = timeout(PATIENCE, head(&mut stream)).await.map_err(io::Error::other)?? else {
        return refuse(&mut stream, "400 Bad Request", "this is a proxy for HTTP requests").await;
    };
    let Some(asked) = Asked::of(&head) else {
        return refuse(&mut stream, "400 Bad Request", "name a host by CONNECT or a whole http:// address")
            .await;
    };
    let body = asked.request.as_ref().map_or(Ok(0), Request::body_bytes);
    let body = match body {
        Ok(body) if asked.request.is_some() && u64::try_from(rest.len()).is_ok_and(|came| came > body) => {
            return refuse(&mut stream, "400 Bad Request", "a connection carries one request").await;
        }
        Ok(body) => body,
        Err(why) => return refuse(&mut stream, "411 Length Required", why).await,
    };
    let to = match allowed.address(&asked.host, asked.port).await {
        Ok(to) => to,
        Err(why) => return refuse(&mut stream, "403 Forbidden", &why).await,
    };
    let Ok(Ok(mut there)) = timeout(PATIENCE, TcpStream::connect(to)).await else {
        return refuse(&mut stream, "502 Bad Gateway", &format!("{to} can't be reached")).await;
    };
    let Some(request) = asked.request else {
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
        there.write_all(&rest).await?;
        return copy_bidirectional(&mut stream, &mut there).await.map(drop);
    };
    there.write_all(request.head.as_bytes()).await?;
    let (from, mut back) = stream.split();
    let (mut answer, mut ask) = there.split();
    let mut body = io::Cursor::new(rest).chain(from).take(body);
    let up = async {
        copy(&mut body, &mut ask).await?;
        // What comes behind it is nobody's.
        pending::<io::Result<()>>().await
    };
    select! {
        answered = copy(&mut answer, &mut back) => answered.map(drop),
        broken = up => broken,
    }
}

/// The head of a request, and what came behind it; none where it isn't one.
async fn head(stream: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::with_capacity(2_048);
    loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            let head =
                Some(bytes).filter(|head| is_clean(head)).and_then(|head| String::from_utf8(head).ok());
            return Ok(head.map(|head| (head, rest)));
        }
        if bytes.len() > HEAD_MAX_BYTES || !is_clean(&bytes) || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

async fn refuse(stream: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    );
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await?;
    // An end with something unread would take the answer back.
    let mut unread = stream.take(UNREAD_MAX_BYTES);
    drop(timeout(LINGER, copy(&mut unread, &mut sink())).await);
    Ok(())
}

/// The descriptor that comes over a socket.
fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    socket.set_read_timeout(Some(PATIENCE))?;
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    descriptors.flatten().next().ok_or_else(|| io::Error::other("the port of the proxy didn't come"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_exactly_or_by_their_domain() {
        let list = ["example.org", "*.example.net", "127.0.0.1:8080"].map(str::to_owned);
        let allowed = Allowed(list.to_vec());
        let cases = [
            ("example.org", 443, Some(false)),
            ("EXAMPLE.org.", 443, Some(false)),
            ("a.example.org", 443, None),
            ("a.b.example.net", 443, Some(false)),
            ("example.net", 443, None),
            ("badexample.net", 443, None),
            (".example.net", 443, None),
            ("127.0.0.1", 8080, Some(true)),
            ("127.0.0.1", 81, None),
            ("example.org.evil.test", 443, None),
        ];
        for (host, port, expected) in cases {
            assert_eq!(allowed.names(host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn what_is_allowed_of_the_machine_itself_goes_through() {
        let direct = |hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
            variables(&hosts).into_iter().find(|(name, _)| name == "no_proxy").unwrap().1
        };
        assert_eq!(direct(&["example.org"]), "localhost,127.0.0.1,::1");
        assert_eq!(direct(&["127.0.0.1:8080", "*.example.org"]), "localhost,::1");
        assert_eq!(direct(&["LOCALHOST:1", "[::1]:2", "127.0.0.1:3"]), "");
        assert!(variables(&[]).iter().any(|(name, value)| name == "NODE_USE_ENV_PROXY" && value == "1"));
    }

    /// What the proxy sends on to a server that answers nothing, and what it answers itself.
    async fn passed(sent: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (server, entry) = (
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        );
        let port = server.local_addr().unwrap().port();
        let sent = String::from_utf8_lossy(sent).replace("PORT", &port.to_string()).into_bytes();
        let mut client = TcpStream::connect(entry.local_addr().unwrap()).await.unwrap();
        client.write_all(&sent).await.unwrap();
        let allowed = Allowed(vec![format!("127.0.0.1:{port}")]);
        let (stream, _) = entry.accept().await.unwrap();
        tokio::spawn(async move { drop(answer(stream, &allowed).await) });
        let there = async {
            let (mut there, _) = server.accept().await.unwrap();
            let mut got = Vec::new();
            // All that is meant for it ends in this byte.
            while !got.ends_with(b"!") {
                there.read_buf(&mut got).await.unwrap();
            }
            got
        };
        let mut answered = Vec::new();
        let back = async {
            while !answered.ends_with(b"\n") {
                client.read_buf(&mut answered).await.unwrap();
            }
        };
        let got = select! {
            got = there => got,
            () = back => Vec::new(),
        };
        (got, answered)
    }

    #[tokio::test]
    async fn nothing_comes_behind_a_request() {
        let (got, _) = passed(b"POST http://127.0.0.1:PORT/a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab!").await;
        let got = String::from_utf8(got).unwrap();
        assert!(
            got.starts_with("POST /a HTTP/1.1\r\nHost: 127.0.0.1:") && got.ends_with("\r\n\r\nab!"),
            "{got}"
        );
        for smuggled in [
            &b"GET http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: other\r\n\r\n!"[..],
            b"POST http://127.0.0.1:PORT/ HTTP/1.1\r\nContent-Length: 1\r\n\r\nab!",
            b"GET http://127.0.0.1:PORT/ HTTP/1.1\nHost: other\r\n\r\n!",
            b"POST http://127.0.0.1:PORT/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n!",
        ] {
            let (got, answered) = passed(smuggled).await;
            let refused = answered.starts_with(b"HTTP/1.1 400") || answered.starts_with(b"HTTP/1.1 411");
            assert!(got.is_empty() && refused, "{:?}", String::from_utf8_lossy(smuggled));
        }
    }
}
