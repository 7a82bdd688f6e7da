//! The one way out of a confined process's own network: a proxy that checks names and addresses.
//!
//! Understands what programs ask of an HTTP proxy: `CONNECT host:port` for anything encrypted, and a whole address for
//! plain HTTP. The name must be an allowed one and mean a public address, and it is that address which is connected
//! to. A connection carries one request and its body, so that nothing can follow that names another host. What goes
//! through a tunnel isn't looked into.

use super::enter::PROXY_PORT;
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

/// What a request's head asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    host: String,
    port: u16,
    /// What goes to the server, where it isn't a tunnel.
    request: Option<Request>,
}

/// A request as it goes to the server.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    head: String,
    /// What was said of the length of its body.
    lengths: Vec<String>,
    /// Whether the body says itself where it ends.
    is_chunked: bool,
}

impl Request {
    /// The length of the body.
    ///
    /// # Errors
    /// Why it isn't known for certain.
    fn body_bytes(&self) -> Result<u64, &'static str> {
        let is_number =
            |length: &String| !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        match self.lengths.as_slice() {
            _ if self.is_chunked => Err("haft's sandbox passes on no body of unknown length; say its length"),
            [] => Ok(0),
            [length] if is_number(length) => length.parse().map_err(|_| "this length is no number"),
            _ => Err("say the length of the body once, as a number"),
        }
    }
}

/// Fields that hold between a program and its proxy only, or that the proxy itself says.
const OWN_FIELDS: [&str; 8] = [
    "host",
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
];

impl Asked {
    fn of(head: &str) -> Option<Self> {
        let (first, fields) = head.split_once("\r\n")?;
        let mut words = first.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let is_target = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_graphic());
        let is_version = ["HTTP/1.1", "HTTP/1.0"].contains(&version);
        if words.next().is_some() || !is_token(method) || !is_target || !is_version {
            return None;
        }
        let fields: Vec<(&str, &str)> =
            fields.split("\r\n").filter(|line| !line.is_empty()).map(field).collect::<Option<_>>()?;
        if method == "CONNECT" {
            let (host, port) = authority(target)?;
            return Some(Self { host, port: port?, request: None });
        }
        let rest = target.strip_prefix("http://")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (named, path) = rest.split_at(end);
        let (host, port) = authority(named)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let is = |name: &'static str| move |field: &&(&str, &str)| field.0.eq_ignore_ascii_case(name);
        let own = |field: &&(&str, &str)| !OWN_FIELDS.iter().any(|name| is(name)(field));
        let kept: String = fields
            .iter()
            .filter(own)
            .fold(String::new(), |all, (name, value)| all + name + ": " + value + "\r\n");
        // One request a connection: the next could be for another host.
        let head = format!("{method} {path} {version}\r\nHost: {named}\r\n{kept}Connection: close\r\n\r\n");
        let lengths =
            fields.iter().filter(is("content-length")).map(|(_, value)| (*value).to_owned()).collect();
        let is_chunked = fields.iter().any(|field| is("transfer-encoding")(&field));
        let request = Request { head, lengths, is_chunked };
        Some(Self { host, port: port.unwrap_or(80), request: Some(request) })
    }
}

/// Name and value of a line of a head.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    is_token(name).then(|| (name, value.trim_matches([' ', '\t'])))
}

/// Whether a text is one word as HTTP has them.
fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Host and port; no user, no path.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            let is_address = host.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
            let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
            (Some(host).filter(|_| is_address)?, port)
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
            (Some(host).filter(|_| is_name)?, port)
        }
    };
    let port = match port {
        None | Some("") => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse().ok()?),
        Some(_) => return None,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
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

/// Whether lines end as they should and nothing else in them is a control character: servers don't agree on what these
/// mean.
fn is_clean(head: &[u8]) -> bool {
    let mut before = None;
    head.iter().all(|byte| {
        let follows = before.replace(*byte) == Some(b'\r');
        match byte {
            b'\n' => follows,
            _ if follows => false,
            b'\r' | b'\t' => true,
            other => !other.is_ascii_control(),
        }
    })
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
    fn requests_are_read_strictly() {
        let tunnel = Asked::of("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.request), ("example.org", 443, None));
        let plain = Asked::of(
            "GET http://example.org:81/a?b HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\nA: b\r\n\r\n",
        )
        .unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("example.org", 81));
        let request = "GET /a?b HTTP/1.1\r\nHost: example.org:81\r\nA: b\r\nConnection: close\r\n\r\n";
        assert_eq!(plain.request.map(|request| request.head).as_deref(), Some(request));
        for bad in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "GET http://a@b/ HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "CONNECT [::1 HTTP/1.1\r\n\r\n",
            "CONNECT [::1]x:1 HTTP/1.1\r\n\r\n",
            "CONNECT a:+80 HTTP/1.1\r\n\r\n",
            "CONNECT a:80 HTTP/1.1 x\r\n\r\n",
            "CONNECT  a:80 HTTP/1.1\r\n\r\n",
            "CONNECT a:80 HTTP/2\r\n\r\n",
            "CONNECT a%00b:80 HTTP/1.1\r\n\r\n",
            "CONNECT \u{e9}.org:80 HTTP/1.1\r\n\r\n",
            "GET http://a/\tb HTTP/1.1\r\n\r\n",
            "GET http://a\\@b/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost : b\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nno field\r\n\r\n",
            "G(T http://a/ HTTP/1.1\r\n\r\n",
            "",
        ] {
            assert_eq!(Asked::of(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_body_has_one_known_length() {
        let body = |fields: &str| {
            let asked = Asked::of(&format!("POST http://a/ HTTP/1.1\r\n{fields}\r\n")).unwrap();
            asked.request.unwrap().body_bytes().ok()
        };
        for (fields, expected) in [
            ("", Some(0)),
            ("Content-Length: 12\r\n", Some(12)),
            ("Content-Length: 1\r\ncontent-length: 1\r\n", None),
            ("Content-Length: 1, 1\r\n", None),
            ("Content-Length: +1\r\n", None),
            ("Content-Length:\r\n", None),
            ("Content-Length: 99999999999999999999999\r\n", None),
            ("Transfer-Encoding: chunked\r\n", None),
            ("Content-Length: 1\r\nTransfer-Encoding: x\r\n", None),
        ] {
            assert_eq!(body(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn a_head_has_no_line_that_others_could_read_otherwise() {
        assert!(
            is_clean(b"GET http://a/ HTTP/1.1\r\nA:\tb\r\n\r\n") && is_clean(b"GET http://a/ HTTP/1.1\r")
        );
        for bad in [
            &b"GET /\nHost: b\r\n"[..],
            b"A: b\rC: d\r\n",
            b"\n",
            b"\r\r\n",
            b"A: \0\r\n",
            b"A: \x7f\r\n",
            b"A: \x0b\r\n",
        ] {
            assert!(!is_clean(bad), "{bad:?}");
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
        let proxy = async { drop(answer(stream, &allowed).await) };
        let there = async {
            let Ok(Ok((mut there, _))) = timeout(PATIENCE, server.accept()).await else { return Vec::new() };
            let mut got = Vec::new();
            // All that is meant for it comes at once, and ends in this byte.
            while !got.ends_with(b"!") {
                there.read_buf(&mut got).await.unwrap();
            }
            got
        };
        tokio::pin!(proxy);
        let got = select! {
            () = &mut proxy => Vec::new(),
            got = there => got,
        };
        let mut answered = Vec::new();
        if got.is_empty() {
            client.read_to_end(&mut answered).await.unwrap();
        }
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
