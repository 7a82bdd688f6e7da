//! A server that is reached over HTTP: one request for each message, answered by JSON or by a stream of events that can
//! be taken up again.
//!
//! Redirects lead nowhere but within the server's own address: what was approved is that address, and headers with
//! secrets go there. Leaves tokens to [`super::Tokens`].

use super::{
    config::Endpoint,
    log::ServerLog,
    refusal::{Refusal, in_words, refusal, shown, unreached},
    router::{Answer, Router},
    sse::SseReader,
};
use crate::{era::MODERN, lines::LINE_MAX_BYTES};
use futures::StreamExt;
use haft_core::{Failure, HttpBody, HttpRequest, HttpResponse, WebUrl};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    task::{AbortHandle, JoinHandle},
    time::{sleep, timeout},
};

/// How long a message that wants no answer may take.
const NOTE_TIME: Duration = Duration::from_secs(10);
/// How long a session's end is told.
const LEAVE_TIME: Duration = Duration::from_secs(1);
/// How often a broken stream is taken up again before its request counts as lost.
const RESUMES_MAX: usize = 20;
/// How long it is waited before a stream is taken up again, unless the server says so.
const RETRY_TIME: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// How many redirects are followed.
const REDIRECTS_MAX: usize = 3;
/// How long a stream that only tells of changes may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How much of an error's body is read.
const FAULT_MAX_BYTES: usize = 64 * 1024;

/// One message on its way out.
pub(crate) struct Outgoing {
    /// The whole message.
    pub(crate) line: String,
    /// The request's id; none for what wants no answer.
    pub(crate) id: Option<i64>,
    /// Whether its answer is a stream that tells of changes, and silence on it no fault.
    pub(crate) lasts: bool,
    /// Headers that repeat what stands in it.
    pub(crate) headers: Vec<(String, String)>,
}

/// What was agreed on with the server.
#[derive(Debug, Clone, Default)]
struct Agreed {
    session: Option<String>,
    version: Option<String>,
    /// Where messages go, of a server that names another address than its stream's.
    post: Option<String>,
}

/// The connection; each message has its own request.
pub(crate) struct HttpLink {
    endpoint: Endpoint,
    url: WebUrl,
    router: Arc<Router>,
    log: Arc<ServerLog>,
    /// How long an answer may take, pieces of it included.
    patience: Duration,
    agreed: Mutex<Agreed>,
    streams: Mutex<Vec<AbortHandle>>,
}

/// A request on its way; dropping it closes its stream.
pub(crate) struct Sending(Option<JoinHandle<()>>);

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl HttpLink {
    /// A connection to an address; nothing is sent yet.
    ///
    /// # Errors
    /// The address is none.
    pub(crate) fn new(
        endpoint: Endpoint,
        patience: Duration,
        router: Arc<Router>,
        log: Arc<ServerLog>,
    ) -> Result<Arc<Self>, Failure> {
        let url = WebUrl::parse(&endpoint.url)?;
        Ok(Arc::new(Self {
            endpoint,
            url,
            router,
            log,
            patience,
            agreed: Mutex::default(),
            streams: Mutex::default(),
        }))
    }

    /// The version that goes with each request from now on.
    pub(crate) fn agree(&self, version: &str) {
        self.lock().version = Some(version.to_owned());
    }

    /// Forgets the session, for a fresh start.
    pub(crate) fn forget(&self) {
        let post = self.lock().post.take();
        *self.lock() = Agreed { post, ..Agreed::default() };
    }

    /// Whether it is spoken with in the form of 2024-11-05.
    pub(crate) fn is_older(&self) -> bool {
        self.endpoint.older || self.lock().post.is_some()
    }

    /// Whether the server has given a session.
    pub(crate) fn has_session(&self) -> bool {
        self.lock().session.is_some()
    }

    /// Sends a message. For a request its answer comes through the router, and what this gives keeps it under way.
    ///
    /// # Errors
    /// A message that wants no answer wasn't taken.
    pub(crate) async fn send(self: &Arc<Self>, out: Outgoing) -> Result<Sending, String> {
        let link = Arc::clone(self);
        let Some(id) = out.id else {
            let sent = timeout(NOTE_TIME, link.tell(&out)).await;
            return match sent {
                Ok(Ok(())) => Ok(Sending(None)),
                Ok(Err(refusal)) => Err(refusal.text),
                Err(_) => Err("the server took too long to take a message".to_owned()),
            };
        };
        let task = tokio::spawn(async move {
            if let Err(answer) = link.ask(&out, id).await {
                link.router.settle(id, answer);
            }
        });
        Ok(Sending(Some(task)))
    }

    /// Hears what the server says by itself, for as long as the connection lasts. One that offers no such stream is
    /// let be. Legacy era only.
    pub(crate) fn listen(self: &Arc<Self>) {
        let link = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            let (mut last_id, mut pause) = (None::<String>, RETRY_TIME);
            while let Some(link) = link.upgrade() {
                let Ok(response) = link.get(last_id.as_deref()).await else { return };
                if response.status != 200 || !is_events(&response) {
                    return;
                }
                let mut reader = SseReader::new(LINE_MAX_BYTES);
                link.follow(response.body, &mut reader, None).await;
                last_id = reader.last_id().map(str::to_owned).or(last_id);
                pause = reader.retry_ms().map_or(pause * 2, Duration::from_millis).min(RETRY_MAX);
                drop(link);
                sleep(pause).await;
            }
        });
        self.keep(task.abort_handle());
    }

    /// Opens the one stream of a server of 2024-11-05 and waits until it has said where messages go.
    ///
    /// # Errors
    /// It is no such server.
    pub(crate) async fn open_older(self: &Arc<Self>) -> Result<(), Refusal> {
        let response = self.get(None).await.map_err(|failure| unreached(&failure))?;
        if response.status != 200 || !is_events(&response) {
            return Err(self.refused(response, false).await);
        }
        let (named, post) = tokio::sync::oneshot::channel();
        let link = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            let (mut body, mut named) = (response.body, Some(named));
            let mut reader = SseReader::new(LINE_MAX_BYTES);
            let why = loop {
                let piece = match body.next().await {
                    Some(Ok(piece)) => piece,
                    Some(Err(failure)) => break failure.text,
                    None => break "the server has closed its stream".to_owned(),
                };
                let Some(link) = link.upgrade() else { return };
                for event in reader.push(&piece) {
                    match (event.kind.as_str(), named.take()) {
                        ("endpoint", Some(named)) => drop(named.send(event.data)),
                        (_, kept) => {
                            named = kept;
                            if event.kind == "message" && !event.data.trim().is_empty() {
                                link.router.text(event.data.trim(), None);
                            }
                        }
                    }
                }
                if reader.is_too_long() {
                    break "the server sent more than 16 MiB at once".to_owned();
                }
            };
            if let Some(link) = link.upgrade() {
                link.router.lose(&why);
            }
        });
        self.keep(task.abort_handle());
        let post = timeout(NOTE_TIME, post).await.ok().and_then(Result::ok);
        let written =
            post.ok_or_else(|| refusal(None, "the server's stream doesn't say where messages go"))?;
        let post = self.url.join(&written).map_err(|failure| refusal(None, &failure.text))?;
        if !is_same_place(&self.url, &post) {
            let text = format!(
                "the server wants messages to go to {}, which isn't its own address",
                post.authority()
            );
            return Err(refusal(None, &text));
        }
        self.lock().post = Some(post.as_str().to_owned());
        Ok(())
    }

    /// Ends the session.
    pub(crate) async fn stop(&self) {
        self.close_streams();
        if self.has_session() {
            let request = self.request("DELETE", self.url.as_str(), Vec::new()).await;
            if let Ok(mut request) = request {
                request.idle_timeout = LEAVE_TIME;
                // Best effort: a server that forgets it by itself needs no word.
                let _ = timeout(LEAVE_TIME, self.endpoint.http.send(request)).await;
            }
        }
        self.router.lose("it was told to end");
    }

    fn close_streams(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.drain(..) {
            stream.abort();
        }
    }

    fn keep(&self, stream: AbortHandle) {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
    }

    fn lock(&self) -> MutexGuard<'_, Agreed> {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn tell(&self, out: &Outgoing) -> Result<(), Refusal> {
        let response = self.post(out).await?;
        if (200..300).contains(&response.status) { Ok(()) } else { Err(self.refused(response, false).await) }
    }

    /// Sends a request and hears its answer out. The error settles it.
    async fn ask(&self, out: &Outgoing, id: i64) -> Result<(), Answer> {
        let had_session = self.has_session();
        let response = self.post(out).await.map_err(Answer::Refused)?;
        if let Some(session) = response.header("mcp-session-id") {
            let mut agreed = self.lock();
            // In the modern era there are none, whatever is said.
            if agreed.version.as_deref() != Some(MODERN) {
                agreed.session = Some(session.to_owned());
            }
        }
        match response.status {
            200 if is_events(&response) => self.hear(response.body, id).await,
            200..=299 => {
                let is_awaited = self.lock().post.is_some();
                let text = read(response.body, LINE_MAX_BYTES).await?;
                if !text.trim().is_empty() {
                    self.router.text(text.trim(), Some(id));
                }
                // Of older servers the answer comes over their stream.
                if self.router.waits(id) && !is_awaited {
                    let text = "the server took the request and gave no answer to it; tell whoever runs it";
                    return Err(Answer::Refused(refusal(None, text)));
                }
                Ok(())
            }
            _ => Err(self.answered(response, id, had_session).await),
        }
    }

    /// What a status other than success comes to: an error of the protocol where the body is one.
    async fn answered(&self, response: HttpResponse, id: i64, had_session: bool) -> Answer {
        let status = response.status;
        let is_session_lost = had_session && matches!(status, 400 | 401 | 404);
        if !is_session_lost && status != 401 && status != 403 && is_json(&response) {
            let text = read(response.body, FAULT_MAX_BYTES).await.unwrap_or_default();
            if text.contains("\"error\"") {
                self.router.text(text.trim(), Some(id));
                if !self.router.waits(id) {
                    return Answer::Lost(String::new());
                }
            }
            return Answer::Refused(in_words(status, &text, had_session));
        }
        Answer::Refused(self.refused(response, had_session).await)
    }

    /// Hears events until the answer came; takes a broken stream up again where it can.
    async fn hear(&self, body: HttpBody, id: i64) -> Result<(), Answer> {
        let mut reader = SseReader::new(LINE_MAX_BYTES);
        let mut body = body;
        for _ in 0..RESUMES_MAX {
            self.follow(body, &mut reader, Some(id)).await;
            if reader.is_too_long() {
                return Err(Answer::TooLong(LINE_MAX_BYTES));
            }
            if !self.router.waits(id) {
                return Ok(());
            }
            let Some(last_id) = reader.last_id().map(str::to_owned) else { break };
            sleep(reader.retry_ms().map_or(RETRY_TIME, Duration::from_millis).min(RETRY_MAX)).await;
            let response =
                self.get(Some(&last_id)).await.map_err(|failure| Answer::Refused(unreached(&failure)))?;
            if response.status != 200 || !is_events(&response) {
                break;
            }
            reader.restart();
            body = response.body;
        }
        Err(Answer::Lost("the server closed the stream before its answer had come".to_owned()))
    }

    /// Reads events until the stream ends, or the answer came.
    async fn follow(&self, mut body: HttpBody, reader: &mut SseReader, about: Option<i64>) {
        while let Some(Ok(piece)) = body.next().await {
            for event in reader.push(&piece) {
                if event.kind == "message" && !event.data.trim().is_empty() {
                    self.router.text(event.data.trim(), about);
                }
            }
            if reader.is_too_long() || about.is_some_and(|id| !self.router.waits(id)) {
                return;
            }
        }
    }

    async fn post(&self, out: &Outgoing) -> Result<HttpResponse, Refusal> {
        let mut url = self.lock().post.clone().unwrap_or_else(|| self.url.as_str().to_owned());
        let mut tried_again = false;
        for _ in 0..=REDIRECTS_MAX {
            let request = self.request("POST", &url, out.headers.clone()).await;
            let mut request = request.map_err(|failure| unreached(&failure))?;
            request.headers.push(("content-type".to_owned(), "application/json".to_owned()));
            request.body = out.line.clone().into_bytes();
            if out.lasts {
                request.idle_timeout = SILENCE_MAX;
            }
            let sent = authorization(&request);
            let response = self.endpoint.http.send(request).await.map_err(|failure| unreached(&failure))?;
            match response.status {
                301 | 302 | 303 | 307 | 308 => url = self.redirected(&url, &response)?,
                status @ (401 | 403) if !tried_again => {
                    tried_again = true;
                    let challenge = response.header("www-authenticate").map(str::to_owned);
                    if !self.has_another_token(status, sent, challenge).await? {
                        return Ok(response);
                    }
                }
                _ => return Ok(response),
            }
        }
        Err(refusal(None, "the server redirects in circles; correct its url"))
    }

    async fn has_another_token(
        &self,
        status: u16,
        sent: Option<String>,
        challenge: Option<String>,
    ) -> Result<bool, Refusal> {
        let Some(tokens) = &self.endpoint.tokens else { return Ok(false) };
        let another = tokens.refused(sent.as_deref(), challenge.as_deref()).await;
        another.map_err(|failure| refusal(Some(status), &failure.text))
    }

    /// Where a redirect leads, if that is the server's own address.
    fn redirected(&self, from: &str, response: &HttpResponse) -> Result<String, Refusal> {
        let to = response.header("location").unwrap_or_default();
        let status = response.status;
        let target = WebUrl::parse(from).and_then(|from| from.join(to)).map_err(|failure| {
            refusal(Some(status), &format!("the server redirects to nowhere: {}", failure.text))
        })?;
        if !is_same_place(&self.url, &target) {
            let text = format!(
                "the server redirects to {}, which isn't its own address; if that is where it is now, change its url",
                target.authority()
            );
            return Err(refusal(Some(status), &text));
        }
        if !matches!(status, 307 | 308) {
            let text = format!(
                "the server redirects to {target} in a way that loses the request; change its url to that"
            );
            return Err(refusal(Some(status), &text));
        }
        Ok(target.as_str().to_owned())
    }

    async fn get(&self, last_id: Option<&str>) -> Result<HttpResponse, Failure> {
        let mut request = self.request("GET", self.url.as_str(), Vec::new()).await?;
        request.headers.retain(|(name, _)| name != "accept");
        request.headers.push(("accept".to_owned(), "text/event-stream".to_owned()));
        request.headers.extend(last_id.map(|id| ("last-event-id".to_owned(), id.to_owned())));
        request.idle_timeout = SILENCE_MAX;
        self.endpoint.http.send(request).await
    }

    async fn request(
        &self,
        method: &str,
        url: &str,
        mut headers: Vec<(String, String)>,
    ) -> Result<HttpRequest, Failure> {
        headers.push(("accept".to_owned(), "application/json, text/event-stream".to_owned()));
        headers.extend(self.endpoint.headers.iter().cloned());
        let agreed = self.lock().clone();
        headers.extend(agreed.version.map(|version| ("mcp-protocol-version".to_owned(), version)));
        headers.extend(agreed.session.map(|session| ("mcp-session-id".to_owned(), session)));
        if let Some(tokens) = &self.endpoint.tokens {
            headers.extend(tokens.authorization().await?.map(|value| ("authorization".to_owned(), value)));
        }
        let (method, url, body) = (method.to_owned(), url.to_owned(), Vec::new());
        Ok(HttpRequest { method, url, headers, body, idle_timeout: self.patience })
    }

    async fn refused(&self, response: HttpResponse, had_session: bool) -> Refusal {
        let status = response.status;
        let text = read(response.body, FAULT_MAX_BYTES).await.unwrap_or_default();
        self.log.line(&format!("HTTP {status}: {}", shown(&text)));
        in_words(status, &text, had_session)
    }
}

/// Owns a connection: with it go the streams that are open for it.
pub(crate) struct HttpOwner(pub(crate) Arc<HttpLink>);

impl Drop for HttpOwner {
    fn drop(&mut self) {
        self.0.close_streams();
    }
}

/// Whether headers for the one may go to the other: the same host and port, and no step down to plain text.
fn is_same_place(own: &WebUrl, other: &WebUrl) -> bool {
    own.host() == other.host() && own.port() == other.port() && own.is_https() == other.is_https()
        || own
            .over_https()
            .is_some_and(|secure| secure.host_and_port() == other.host_and_port() && other.is_https())
}

fn authorization(request: &HttpRequest) -> Option<String> {
    let found = request.headers.iter().find(|(name, _)| name == "authorization");
    found.map(|(_, value)| value.clone())
}

fn kind(response: &HttpResponse) -> String {
    let kind = response.header("content-type").unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_events(response: &HttpResponse) -> bool {
    kind(response) == "text/event-stream"
}

fn is_json(response: &HttpResponse) -> bool {
    kind(response).ends_with("json")
}

/// All of a body.
async fn read(mut body: HttpBody, max: usize) -> Result<String, Answer> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|failure| Answer::Refused(unreached(&failure)))?;
        if bytes.len() + piece.len() > max {
            return Err(Answer::TooLong(bytes.len() + piece.len()));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_own_address_is_the_same_place() {
        let own = WebUrl::parse("http://a.example/mcp").unwrap();
        for (other, same) in [
            ("http://a.example/other", true),
            ("https://a.example/mcp", true),
            ("http://b.example/mcp", false),
            ("http://a.example:8080/mcp", false),
            ("http://127.0.0.1/mcp", false),
            ("http://a.example.b.example/", false),
        ] {
            assert_eq!(is_same_place(&own, &WebUrl::parse(other).unwrap()), same, "{other}");
        }
        let secure = WebUrl::parse("https://a.example/mcp").unwrap();
        assert!(!is_same_place(&secure, &own), "never down to plain text");
    }
}
