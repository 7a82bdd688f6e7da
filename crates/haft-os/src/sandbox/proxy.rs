//! The one way out of a confined process's own network: a proxy that checks names and addresses.
//!
//! Understands what programs ask of an HTTP proxy: `CONNECT host:port` for anything encrypted, and a whole address for
//! plain HTTP. The name must be an allowed one and mean a public address, and it is that address which is connected
//! to. What goes through a tunnel isn't looked into.

use super::enter::PROXY_PORT;
use crate::web::{is_local_name, not_public};
use std::{
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr, TcpListener as StdListener},
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream, lookup_host},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

/// So long may the head of a request be.
const HEAD_MAX_BYTES: usize = 16 * 1024;
/// So long may it take to come, and a connection to be made.
const PATIENCE: Duration = Duration::from_secs(20);
/// So many connections at once; the others wait.
const CONNECTIONS_MAX: usize = 64;

/// The variables by which programs find the proxy.
pub(crate) fn variables() -> Vec<(String, String)> {
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let mut all: Vec<(String, String)> = names.map(|name| (name.to_owned(), proxy.clone())).into();
    all.extend(["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), "localhost,127.0.0.1,::1".to_owned())));
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
    let to = match allowed.address(&asked.host, asked.port).await {
        Ok(to) => to,
        Err(why) => return refuse(&mut stream, "403 Forbidden", &why).await,
    };
    let Ok(Ok(mut there)) = timeout(PATIENCE, TcpStream::connect(to)).await else {
        return refuse(&mut stream, "502 Bad Gateway", &format!("{to} can't be reached")).await;
    };
    match asked.request {
        None => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Some(request) => there.write_all(request.as_bytes()).await?,
    }
    there.write_all(&rest).await?;
    copy_bidirectional(&mut stream, &mut there).await.map(drop)
}

/// What a request's head asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    host: String,
    port: u16,
    /// The head for the server, where it isn't a tunnel.
    request: Option<String>,
}

impl Asked {
    fn of(head: &str) -> Option<Self> {
        let (first, fields) = head.split_once("\r\n")?;
        let mut words = first.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method == "CONNECT" {
            let (host, port) = authority(target)?;
            return Some(Self { host, port: port?, request: None });
        }
        let rest = target.strip_prefix("http://")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (named, path) = rest.split_at(end);
        let (host, port) = authority(named)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let own = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            !["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive"]
                .contains(&name.as_str())
        };
        let kept: String = fields
            .split("\r\n")
            .filter(|line| !line.is_empty())
            .filter(own)
            .fold(String::new(), |all, line| all + line + "\r\n");
        // One request a connection: the next could be for another host.
        let request =
            format!("{method} {path} {version}\r\nHost: {named}\r\n{kept}Connection: close\r\n\r\n");
        Some(Self { host, port: port.unwrap_or(80), request: Some(request) })
    }
}

/// Host and port; no user, no path.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    if text.contains(['@', '/', '\\', '%']) {
        return None;
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        None | Some("") => None,
        Some(port) => Some(port.parse().ok()?),
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// The head of a request, and what came behind it; none where it isn't one.
async fn head(stream: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(String::from_utf8(bytes).ok().map(|head| (head, rest)));
        }
        if bytes.len() > HEAD_MAX_BYTES || stream.read_buf(&mut bytes).await? == 0 {
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
    stream.shutdown().await
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
    fn requests_are_read_strictly() {
        let tunnel = Asked::of("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.request), ("example.org", 443, None));
        let plain = Asked::of(
            "GET http://example.org:81/a?b HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\nA: b\r\n\r\n",
        )
        .unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("example.org", 81));
        let request = "GET /a?b HTTP/1.1\r\nHost: example.org:81\r\nA: b\r\nConnection: close\r\n\r\n";
        assert_eq!(plain.request.as_deref(), Some(request));
        for bad in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "GET http://a@b/ HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "CONNECT [::1 HTTP/1.1\r\n\r\n",
            "",
        ] {
            assert_eq!(Asked::of(bad), None, "{bad:?}");
        }
    }
}
