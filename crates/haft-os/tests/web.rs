//! The guarded client against local servers: whatever a URL, a redirect or a name says, nothing is connected to
//! that isn't public or allowed.
//!
//! Names and connections go through a network of the test's own, which records what the client would connect to
//! and leads it to a local server instead. Limits on time are one-sided.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use flate2::{Compression, write::GzEncoder};
use haft_core::{BoxFuture, Failure, FailureKind, Web, WebPage, WebRequest, WebUrl};
use haft_os::{Network, OsWeb};
use std::{
    collections::VecDeque,
    env,
    io::{self, Write},
    net::{IpAddr, SocketAddr},
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::yield_now,
    time::timeout,
};

/// How long something that must happen may take on a slow machine.
const LIMIT: Duration = Duration::from_secs(30);
/// Long enough for a local answer, short enough to wait for.
const SHORT: Duration = Duration::from_millis(400);
const PUBLIC: &str = "93.184.215.14";
const CORPUS: &str = include_str!("addresses.txt");

/// What names mean where a test says nothing else.
const NAMES: &[(&str, &[&str])] = &[
    ("six.test", &["2606:2800:21f::1"]),
    ("private.test", &["10.1.2.3"]),
    ("loop.test", &["127.0.0.1"]),
    ("mixed.test", &[PUBLIC, "192.168.0.7"]),
    ("metadata.test", &["169.254.169.254"]),
    ("local6.test", &["fd12::1"]),
    ("mapped.test", &["::ffff:127.0.0.1"]),
    ("nat64.test", &["64:ff9b::5db8:d70e"]),
    ("none.test", &[]),
];

/// What a server says to one request.
#[derive(Clone)]
struct Say {
    bytes: Vec<u8>,
    /// Whether it then leaves the connection open.
    holds: bool,
}

impl Say {
    fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), holds: false }
    }

    fn page(headers: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        Self::new([head.as_bytes(), body].concat())
    }

    fn to(location: &str) -> Self {
        Self::new(format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"))
    }
}

/// A server on this machine that says what it is told to, and remembers what it was asked.
#[derive(Clone)]
struct Site {
    address: SocketAddr,
    says: Arc<Mutex<VecDeque<Say>>>,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Site {
    async fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let site =
            Self { address: listener.local_addr().unwrap(), says: Arc::default(), heard: Arc::default() };
        let own = site.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(own.clone().serve(stream));
            }
        });
        site
    }

    async fn serve(self, mut stream: TcpStream) {
        let mut head = Vec::new();
        let is_tls = |head: &[u8]| head.first() == Some(&0x16);
        let is_whole =
            |head: &[u8]| head.windows(4).any(|end| end == b"\r\n\r\n") || (is_tls(head) && head.len() > 100);
        while !is_whole(&head) {
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(read) if read > 0 => head.extend_from_slice(&piece[..read]),
                _ => return,
            }
        }
        let is_tls = is_tls(&head);
        self.heard.lock().unwrap().push(head);
        if is_tls {
            return;
        }
        let say = self.says.lock().unwrap().pop_front().unwrap_or_else(|| Say::page("", b"fine"));
        let _ = stream.write_all(&say.bytes).await;
        let _ = stream.flush().await;
        if say.holds {
            std::future::pending::<()>().await;
        }
    }

    fn will_say(&self, says: impl IntoIterator<Item = Say>) {
        *self.says.lock().unwrap() = says.into_iter().collect();
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().iter().map(|head| String::from_utf8_lossy(head).into_owned()).collect()
    }
}

/// A network where names mean what a test says and every connection ends at one server.
struct Fake {
    server: SocketAddr,
    /// What a name means from one question to the next; the last answer stays.
    turns: Mutex<Vec<(String, VecDeque<Vec<IpAddr>>)>>,
    asked: Mutex<Vec<String>>,
    connected: Mutex<Vec<SocketAddr>>,
}

impl Fake {
    fn new(site: &Site) -> Arc<Self> {
        Arc::new(Self {
            server: site.address,
            turns: Mutex::default(),
            asked: Mutex::default(),
            connected: Mutex::default(),
        })
    }

    fn turning(site: &Site, name: &str, answers: &[&[&str]]) -> Arc<Self> {
        let fake = Self::new(site);
        let answers = answers.iter().map(|answer| addresses(answer)).collect();
        fake.turns.lock().unwrap().push((name.to_owned(), answers));
        fake
    }

    fn means(&self, host: &str) -> Vec<IpAddr> {
        let mut turns = self.turns.lock().unwrap();
        if let Some((_, answers)) = turns.iter_mut().find(|(name, _)| name == host) {
            let answer = answers.front().cloned().unwrap_or_default();
            if answers.len() > 1 {
                answers.pop_front();
            }
            return answer;
        }
        let known = NAMES.iter().find(|(name, _)| *name == host);
        known.map_or_else(|| addresses(&[PUBLIC]), |(_, answer)| addresses(answer))
    }

    fn connected(&self) -> Vec<String> {
        self.connected.lock().unwrap().iter().map(ToString::to_string).collect()
    }
}

fn addresses(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

impl Network for Fake {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let answer = self.means(host);
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.connected.lock().unwrap().push(to);
        Box::pin(TcpStream::connect(self.server))
    }
}

fn request(url: &str) -> WebRequest {
    WebRequest::new(WebUrl::parse(url).unwrap())
}

async fn fetch(web: &OsWeb, request: WebRequest) -> Result<WebPage, Failure> {
    timeout(LIMIT, web.fetch(request)).await.expect("the fetch ends")
}

/// A server, its network, and a client on it.
async fn place() -> (Site, Arc<Fake>, OsWeb) {
    let site = Site::open().await;
    let fake = Fake::new(&site);
    let web = OsWeb::over(fake.clone());
    (site, fake, web)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_corpus_holds() {
    let site = Site::open().await;
    let mut counted = 0;
    for line in CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parts: [&str; 3] = line.split(" | ").collect::<Vec<_>>().try_into().expect(line);
        let [verdict, chain, why] = parts;
        let chain: Vec<&str> = chain.split(" -> ").collect();
        counted += 1;
        let parsed = WebUrl::parse(chain[0]);
        if verdict == "invalid" {
            assert_eq!(parsed.expect_err(line).kind, FailureKind::InvalidInput, "{line}");
            continue;
        }
        let fake = Fake::new(&site);
        let web = OsWeb::over(fake.clone());
        site.will_say(chain.iter().skip(1).map(|location| Say::to(location)));
        let ended = fetch(&web, WebRequest::new(parsed.expect(line))).await;
        let connected = fake.connected();
        let expected = if verdict == "reach" { chain.len() } else { chain.len() - 1 };
        assert_eq!(connected.len(), expected, "{line}: {connected:?} {ended:?}");
        match (verdict, ended) {
            ("refuse", Err(failure)) => {
                assert!(
                    matches!(failure.kind, FailureKind::Permission | FailureKind::Conflict),
                    "{line}: {failure:?}"
                );
                let hop = format!("hop {}, ", chain.len());
                let is_circle = why.contains("circle");
                assert!(failure.text.contains(&hop) || is_circle, "{line}: {}", failure.text);
            }
            ("elsewhere", Ok(page)) => {
                assert!(page.elsewhere.is_some() && page.body.is_empty(), "{line}: {page:?}");
            }
            ("reach", Ok(page)) => {
                assert_eq!((page.body.as_slice(), page.hops.len()), (b"fine".as_slice(), expected), "{line}");
                let told: Vec<String> = page.hops.iter().map(|hop| hop.address.clone()).collect();
                assert_eq!(told, connected, "{line}");
            }
            (_, ended) => panic!("{line}: {ended:?}"),
        }
    }
    assert!(counted >= 120, "only {counted} lines");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f30_a_redirect_to_loopback_is_refused_with_its_hop() {
    let (site, fake, web) = place().await;
    let inner = Site::open().await;
    site.will_say([Say::to(&format!("http://{}/x", inner.address))]);
    let advised = |url: &str| WebRequest { allow_by: Some("in a file"), ..request(url) };
    let failure = fetch(&web, advised("http://public.test/")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Permission);
    for part in ["hop 2, the redirect to http://127.0.0.1:", "loopback"] {
        assert!(failure.text.contains(part), "{}", failure.text);
    }
    assert!(!failure.text.contains("allow"), "no page talks anybody into it: {}", failure.text);
    let own = fetch(&web, advised(&format!("http://{}/x", inner.address))).await.unwrap_err();
    for part in ["hop 1, http://127.0.0.1:", "loopback", "ask the user to allow 127.0.0.1:", "(in a file)"] {
        assert!(own.text.contains(part), "{}", own.text);
    }
    assert_eq!(fake.connected(), [format!("{PUBLIC}:80")]);
    assert!(inner.heard().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f30_a_name_that_changes_its_answer_is_connected_to_as_it_was_checked() {
    let site = Site::open().await;
    let fake = Fake::turning(&site, "turns.test", &[&[PUBLIC], &["127.0.0.1"]]);
    let web = OsWeb::over(fake.clone());
    // The answer that was checked is the one that is used: nobody is asked twice for one hop.
    fetch(&web, request("http://turns.test/")).await.unwrap();
    assert_eq!(fake.asked.lock().unwrap().as_slice(), ["turns.test"]);
    assert_eq!(fake.connected(), [format!("{PUBLIC}:80")]);
    let failure = fetch(&web, request("http://turns.test/again")).await.unwrap_err();
    assert!(failure.text.contains("hop 1, ") && failure.text.contains("127.0.0.1"), "{}", failure.text);
    assert_eq!(fake.connected().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f30_a_name_that_changes_between_hops_is_refused() {
    let site = Site::open().await;
    let fake = Fake::turning(&site, "turns.test", &[&[PUBLIC], &["127.0.0.1"]]);
    let web = OsWeb::over(fake.clone());
    site.will_say([Say::to("/next")]);
    let failure = fetch(&web, request("http://turns.test/")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Permission);
    assert!(failure.text.contains("hop 2, the redirect to http://turns.test/next"), "{}", failure.text);
    assert_eq!(fake.connected(), [format!("{PUBLIC}:80")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f30_an_allowed_place_is_reached_and_nothing_beside_it() {
    let (open, closed) = (Site::open().await, Site::open().await);
    // The system's own network.
    let web = OsWeb::default();
    let allowing = |url: &str| WebRequest { allow: vec![open.address.to_string()], ..request(url) };
    let page = fetch(&web, allowing(&format!("http://{}/a", open.address))).await.unwrap();
    assert_eq!(page.body, b"fine");
    // By another spelling it is the same place.
    let port = open.address.port();
    assert!(fetch(&web, allowing(&format!("http://0x7f.1:{port}/"))).await.is_ok());
    for url in [
        format!("http://{}/", closed.address),
        format!("http://127.0.0.2:{port}/"),
        format!("http://localhost:{port}/"),
        "http://127.0.0.1/".to_owned(),
    ] {
        let failure = fetch(&web, allowing(&url)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Permission, "{url}: {}", failure.text);
    }
    // Nor does an allowed place lead further.
    open.will_say([Say::to(&format!("http://{}/", closed.address))]);
    let failure = fetch(&web, allowing(&format!("http://{}/b", open.address))).await.unwrap_err();
    assert!(failure.text.contains("hop 2"), "{}", failure.text);
    assert!(closed.heard().is_empty());
    // What is being worked on is never kept.
    open.will_say([Say::page("", b"new")]);
    let page = fetch(&web, allowing(&format!("http://{}/a", open.address))).await.unwrap();
    assert_eq!(page.body, b"new");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sent_but_what_it_takes() {
    let (site, _, web) = place().await;
    site.will_say([Say::new(
        "HTTP/1.1 302 Found\r\nset-cookie: a=b\r\nlocation: /next?q=1\r\ncontent-length: 0\r\n\r\n",
    )]);
    let own = [("X-Key", "word"), ("Host", "evil.test"), ("Content-Length", "9")];
    let headers = own.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    fetch(&web, WebRequest { headers, ..request("http://public.test:8080/") }).await.unwrap();
    let heard = site.heard();
    assert_eq!(heard.len(), 2);
    for (head, first) in heard.iter().zip(["GET / HTTP/1.1\r\n", "GET /next?q=1 HTTP/1.1\r\n"]) {
        assert!(head.starts_with(first), "{head}");
        let head = head.to_ascii_lowercase();
        for sent in ["host: public.test:8080\r\n", "x-key: word\r\n", "accept-encoding: gzip\r\n"] {
            assert!(head.contains(sent), "{head}");
        }
        for unsent in ["cookie", "referer", "authorization", "proxy", "evil", "content-length"] {
            assert!(!head.contains(unsent), "{head}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_greeted_by_name_at_the_checked_address() {
    let (site, fake, web) = place().await;
    site.will_say([Say::to("https://public.test/safe")]);
    // The server can't prove the name, so nothing is sent to it.
    let failure = fetch(&web, request("http://public.test/")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable, "{}", failure.text);
    assert!(failure.text.contains("hop 2, the redirect to https://public.test/safe"), "{}", failure.text);
    assert_eq!(fake.connected(), [format!("{PUBLIC}:80"), format!("{PUBLIC}:443")]);
    let hello = site.heard().remove(1);
    assert!(hello.contains("public.test") && !hello.contains("safe"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_ends_at_the_limit() {
    let (site, _, web) = place().await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![0; 64 << 20]).unwrap();
    let bomb = encoder.finish().unwrap();
    site.will_say([Say::page("content-encoding: gzip\r\n", &bomb)]);
    let page =
        fetch(&web, WebRequest { max_bytes: 1 << 20, ..request("http://public.test/") }).await.unwrap();
    assert_eq!((page.body.len(), page.cut, page.whole_bytes), (1 << 20, true, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_body_is_cut_and_counted() {
    let (site, _, web) = place().await;
    site.will_say([Say::page("", &[b'x'; 5_000]), Say::page("", &[b'x'; 1_000])]);
    let limited = |url| WebRequest { max_bytes: 1_000, ..request(url) };
    let page = fetch(&web, limited("http://public.test/long")).await.unwrap();
    assert_eq!((page.body.len(), page.cut, page.whole_bytes), (1_000, true, Some(5_000)));
    let page = fetch(&web, limited("http://public.test/fits")).await.unwrap();
    assert_eq!((page.body.len(), page.cut, page.whole_bytes), (1_000, false, Some(1_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_never_ends_is_left_at_the_deadline() {
    let (site, _, web) = place().await;
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes.";
    for say in [Say { bytes: head.into(), holds: true }, Say { bytes: Vec::new(), holds: true }] {
        site.will_say([say]);
        let began = Instant::now();
        let asked = WebRequest { deadline: SHORT, ..request("http://public.test/") };
        let failure = fetch(&web, asked).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout, "{}", failure.text);
        assert!(began.elapsed() < LIMIT / 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_it_at_once() {
    let (site, _, web) = place().await;
    site.will_say([Say { bytes: Vec::new(), holds: true }]);
    let asked = request("http://public.test/");
    let cancel = asked.cancel.clone();
    let fetched = tokio::spawn(async move { fetch(&web, asked).await });
    while site.heard().is_empty() {
        yield_now().await;
    }
    cancel.fire();
    assert_eq!(fetched.await.unwrap().unwrap_err().kind, FailureKind::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_proper_answer_is_told() {
    let (site, _, web) = place().await;
    let wide = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    let many: String = (0..500).map(|number| format!("x-{number}: y\r\n")).collect();
    for (say, part) in [
        (wide, "headers are larger"),
        (format!("HTTP/1.1 200 OK\r\n{many}\r\n"), "headers are larger"),
        ("SSH-2.0-OpenSSH_9.6\r\n\r\n".to_owned(), "isn't HTTP"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned(), "after 4 bytes"),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\nx".to_owned(), "wasn't asked for"),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n<html>".to_owned(), "damaged"),
    ] {
        site.will_say([Say::new(say)]);
        let failure = fetch(&web, request("http://public.test/")).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unavailable, "{}", failure.text);
        assert!(failure.text.contains(part), "no {part:?} in {}", failure.text);
    }
    let failure = fetch(&web, request("http://none.test/")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.text.contains("no address"), "{}", failure.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_kept_unless_its_server_objects() {
    let (site, fake, web) = place().await;
    site.will_say([Say::page("", b"one"), Say::page("cache-control: no-store\r\n", b"two")]);
    for (url, body, from_cache) in [
        ("http://public.test/a", "one", false),
        ("http://public.test/a", "one", true),
        ("http://public.test/b", "two", false),
        ("http://public.test/b", "fine", false),
    ] {
        let page = fetch(&web, request(url)).await.unwrap();
        assert_eq!((page.body.as_slice(), page.from_cache), (body.as_bytes(), from_cache), "{url}");
    }
    assert_eq!(fake.connected().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_proxy_of_the_environment_is_used() {
    const CHILD: &str = "HAFT_TEST_PROXIED";
    if env::var_os(CHILD).is_none() {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "no_proxy_of_the_environment_is_used"]).env(CHILD, "1");
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            child.env(name, "http://127.0.0.1:9");
        }
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let (site, fake, web) = place().await;
    fetch(&web, request("http://public.test/")).await.unwrap();
    assert_eq!(fake.connected(), [format!("{PUBLIC}:80")]);
    assert!(site.heard()[0].starts_with("GET / HTTP/1.1\r\n"));
}
