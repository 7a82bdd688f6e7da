//! The endpoint: one request of HTTP in, one response out.

use super::{
    body::{Reader, seen},
    gate::{Gate, HttpSetup},
    head::Head,
    response::{self, EVENTS, JSON, Response, SESSION_HEADER, empty, refused},
    session::{Session, Sessions},
    stream::{First, Kind, Stream},
};
use crate::{
    batch,
    era::Era,
    fault::Fault,
    frame::{Frame, parse},
    lines::LINE_MAX_BYTES,
    office::Office,
    peer::{Heard, Peer},
    reach::Reach,
    work::{Work, refusal},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    HeaderMap, Method, Request, StatusCode,
    body::Incoming,
    header::{self, HeaderName, HeaderValue},
};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Where the endpoint is.
const PATH: &str = "/mcp";
/// How long a request's body may take.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// After so long a response begins as a stream, so that nobody takes the connection for dead.
const STREAM_AFTER: Duration = Duration::from_secs(2);
/// The same where a stream says first from where it can be read again: a client that is cut off before it begins has
/// nothing to come back with, and most calls have ended by then.
const RESUMABLE_AFTER: Duration = Duration::from_millis(50);
/// The revision from which streams say first from where they can be read again.
const PRIMED_SINCE: &str = "2025-11-25";

/// One endpoint for all clients.
pub(super) struct Endpoint {
    office: Arc<Office>,
    gate: Gate,
    sessions: Sessions,
}

/// What a client takes as a response.
#[derive(Clone, Copy)]
struct Accepts {
    json: bool,
    events: bool,
}

/// A response, or the one that refuses.
type Answered = Result<Response, Response>;

impl Endpoint {
    pub(super) fn new(office: Arc<Office>, setup: HttpSetup) -> Self {
        Self { sessions: Sessions::new(Arc::clone(&office)), office, gate: Gate::new(setup) }
    }

    /// Fires when no client is served any more.
    pub(super) fn leaving(&self) -> CancellationToken {
        self.office.leaving.clone()
    }

    /// Answers one request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response {
        let page = self.gate.page(request.headers());
        let mut response = self.route(request).await.unwrap_or_else(|refusal| refusal);
        if let Some(page) = page {
            let headers = response.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Mcp-Session-Id"));
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        }
        response
    }

    async fn route(&self, request: Request<Incoming>) -> Answered {
        let headers = request.headers();
        self.gate.check_origin(headers)?;
        if request.uri().path() != PATH {
            return Err(refused(StatusCode::NOT_FOUND, "nothing is here; the endpoint is /mcp"));
        }
        if request.method() == Method::OPTIONS && self.gate.page(headers).is_some() {
            return Ok(preflight());
        }
        self.gate.check_token(headers)?;
        let method = request.method().clone();
        match method {
            Method::POST => self.post(request).await,
            Method::GET => self.get(request.headers()),
            Method::DELETE => self.delete(request.headers()),
            _ => {
                let mut response = refused(StatusCode::METHOD_NOT_ALLOWED, "use POST, GET or DELETE");
                let allowed = HeaderValue::from_static("POST, GET, DELETE");
                response.headers_mut().insert(header::ALLOW, allowed);
                Err(response)
            }
        }
    }

    /// What a client sends: one message, or several of a session of 2025-03-26.
    async fn post(&self, request: Request<Incoming>) -> Answered {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        if !is_json(&headers) {
            let why = "the body must be application/json";
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
        }
        let accepts = Accepts::of(&headers);
        if !accepts.json && !accepts.events {
            let why = "the client must accept application/json and text/event-stream";
            return Err(refused(StatusCode::NOT_ACCEPTABLE, why));
        }
        let text = read(body).await?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.starts_with('[') && headers.contains_key(SESSION_HEADER) {
            let session = self.sessions.of(&headers)?;
            if session.peer.takes_batches() {
                return several(&session, &headers, text, accepts).await;
            }
        }
        let (work, way) = self.hear(&headers, text, accepts)?;
        let Some(work) = work else { return Ok(empty(StatusCode::ACCEPTED)) };
        let gone = (way.session.is_none()).then(|| work.cancelled().drop_guard());
        tokio::spawn(work.perform());
        way.respond(accepts, gone).await
    }

    /// Takes a message in, in the order in which bodies came; without work it wants no answer.
    fn hear(
        &self,
        headers: &HeaderMap,
        text: &str,
        accepts: Accepts,
    ) -> Result<(Option<Work>, Way), Response> {
        let frame = parse(text);
        let head = Head(headers);
        let raw_id = match &frame {
            Frame::Request(asked) => Some(asked.raw_id),
            _ => None,
        };
        let refuse = |fault: &Fault| refusing(raw_id, fault, Era::Modern);
        let era = match &frame {
            // What is no message belongs to no era.
            Frame::Fault { .. } => Era::Modern,
            frame => head.era(frame).map_err(|fault| refuse(&fault))?,
        };
        let way = match (era, &frame) {
            (Era::Modern, Frame::Request(asked)) => {
                head.check(asked, |tool| self.schema(tool)).map_err(|fault| refuse(&fault))?;
                Way::alone()
            }
            (Era::Modern, _) => Way::alone(),
            (Era::Legacy, Frame::Request(asked)) if asked.method == "initialize" => {
                Way::of(Arc::new(self.sessions.make()), accepts)
            }
            (Era::Legacy, _) => Way::of(self.sessions.of(headers)?, accepts),
        };
        let peer = match &way.session {
            Some((session, _)) => Arc::clone(&session.peer),
            None => Peer::new(&self.office, way.stream.clone()),
        };
        let via: Arc<dyn Reach> = way.stream.clone();
        match peer.hear(&frame, &via, era) {
            Heard::Request(work) => {
                if let (Some((session, _)), Frame::Request(asked)) = (&way.session, &frame)
                    && asked.method == "initialize"
                {
                    self.sessions.open(Arc::clone(session))?;
                }
                Ok((Some(work), way))
            }
            Heard::Taken => {
                way.forget();
                Ok((None, way))
            }
            Heard::Fault { raw_id, fault } => {
                way.forget();
                Err(refusing(raw_id.as_deref(), &fault, era))
            }
        }
    }

    /// The input schema of the tool that a call by this name runs.
    fn schema(&self, name: &str) -> Option<serde_json::Value> {
        let offer = self.office.offer(name)?;
        match &offer.spec().foreign {
            Some(own) => own.get("inputSchema").cloned(),
            None => Some(offer.spec().input_schema.clone()),
        }
    }

    /// A stream of what belongs to no request, or of what a client hasn't seen of another one.
    fn get(&self, headers: &HeaderMap) -> Answered {
        if !Accepts::of(headers).events {
            return Err(refused(StatusCode::NOT_ACCEPTABLE, "the client must accept text/event-stream"));
        }
        let session = self.sessions.of(headers)?;
        let (number, after) = match headers.get("last-event-id").map(HeaderValue::to_str) {
            None => (0, session.aside.taken()),
            Some(id) => {
                let known = id.ok().and_then(seen);
                known.ok_or_else(|| {
                    refused(StatusCode::BAD_REQUEST, "Last-Event-ID is none of this server's")
                })?
            }
        };
        let reader = session.known(number).and_then(|stream| Reader::new(&stream, after, Some(number)));
        let reader = reader.ok_or_else(|| {
            refused(StatusCode::BAD_REQUEST, "what followed Last-Event-ID isn't kept any more; ask again")
        })?;
        let reader = if is_primed(&session) { reader.primed() } else { reader };
        // What belongs to no request ends with the server; others end with their reply.
        let reader = if number == 0 { reader.until(session.peer.leaving.clone()) } else { reader };
        Ok(with_session(response::events(reader.into_body()), &session))
    }

    /// The client ends its session.
    fn delete(&self, headers: &HeaderMap) -> Answered {
        let session = self.sessions.of(headers)?;
        self.sessions.close(&session);
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

/// Takes several messages in at once, and answers them together.
async fn several(session: &Arc<Session>, headers: &HeaderMap, text: &str, accepts: Accepts) -> Answered {
    let way = Way::of(Arc::clone(session), accepts);
    let via: Arc<dyn Reach> = way.stream.clone();
    let works =
        batch::take(&session.peer, &via, text, |frame| Head(headers).era(frame)).map_err(|fault| {
            way.forget();
            refusing(None, &fault, Era::Legacy)
        })?;
    for work in works {
        tokio::spawn(work.perform());
    }
    way.respond(accepts, None).await
}

/// The way that the answer to what a client sends goes.
struct Way {
    stream: Arc<Stream>,
    /// In the legacy era, with the stream's number in it.
    session: Option<(Arc<Session>, u64)>,
}

impl Way {
    /// Of a message that stands alone.
    fn alone() -> Self {
        Self { stream: Stream::new(Kind { is_kept: false, can_ask: false }), session: None }
    }

    fn of(session: Arc<Session>, accepts: Accepts) -> Self {
        let (number, stream) = session.stream(accepts.events);
        Self { stream, session: Some((session, number)) }
    }

    /// Nothing will go this way.
    fn forget(&self) {
        if let Some((session, number)) = &self.session {
            session.forget(*number);
        }
    }

    /// Waits for what there is to say, and says it: as one message where that is all, else as a stream. `gone` fires
    /// when the client goes away before that.
    async fn respond(self, accepts: Accepts, gone: Option<DropGuard>) -> Answered {
        let is_resumable = self.session.as_ref().is_some_and(|(session, _)| is_primed(session));
        let patience = if is_resumable { RESUMABLE_AFTER } else { STREAM_AFTER };
        let first =
            if accepts.events { self.stream.first(patience).await } else { self.stream.reply().await };
        let response = match first {
            First::Reply { text, status } if accepts.json => {
                self.forget();
                response::message(text, status)
            }
            First::Nothing => {
                self.forget();
                empty(StatusCode::ACCEPTED)
            }
            First::Reply { .. } | First::Stream => self.events(gone)?,
        };
        Ok(match &self.session {
            Some((session, _)) => with_session(response, session),
            None => response,
        })
    }

    fn events(&self, gone: Option<DropGuard>) -> Answered {
        let number = self.session.as_ref().map(|(_, number)| *number);
        let reader = Reader::new(&self.stream, 0, number)
            .ok_or_else(|| refused(StatusCode::GONE, "another connection has read this stream"))?;
        let reader = match &self.session {
            Some((session, _)) if is_primed(session) => reader.primed(),
            _ => reader,
        };
        let reader = match gone {
            Some(gone) => reader.or_else(gone),
            None => reader,
        };
        Ok(response::events(reader.into_body()))
    }
}

impl Accepts {
    /// What a request's header says; one that says nothing takes all.
    fn of(headers: &HeaderMap) -> Self {
        let mut said =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
        if said.peek().is_none() {
            return Self { json: true, events: true };
        }
        let mut accepts = Self { json: false, events: false };
        for kind in said.flat_map(|value| value.split(',')) {
            let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            accepts.json |= matches!(kind.as_str(), JSON | "application/*" | "*/*");
            accepts.events |= matches!(kind.as_str(), EVENTS | "text/*" | "*/*");
        }
        accepts
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}

/// Whether the client expects to hear first from where it may come back.
fn is_primed(session: &Session) -> bool {
    session.peer.version().is_some_and(|version| version >= PRIMED_SINCE)
}

fn with_session(mut response: Response, session: &Session) -> Response {
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(HeaderName::from_static(SESSION_HEADER), id);
    }
    response
}

/// Reads a body of bounded length in bounded time.
async fn read(body: Incoming) -> Result<String, Response> {
    let all = Limited::new(body, LINE_MAX_BYTES).collect();
    let collected = match timeout(BODY_TIMEOUT, all).await {
        Err(_) => return Err(refused(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let why = format!("a message has at most {LINE_MAX_BYTES} bytes");
            return Err(refused(StatusCode::PAYLOAD_TOO_LARGE, &why));
        }
        Ok(Err(_)) => return Err(refused(StatusCode::BAD_REQUEST, "the body ended early")),
        Ok(Ok(collected)) => collected,
    };
    String::from_utf8(collected.to_bytes().into())
        .map_err(|_| refusing(None, &Fault::not_json("a message is UTF-8"), Era::Modern))
}

/// A refusal as the one message of a response.
fn refusing(raw_id: Option<&str>, fault: &Fault, era: Era) -> Response {
    let reply = refusal(raw_id, fault, era);
    response::message(reply.text, reply.status)
}

/// What a browser asks before it lets a page send a request.
fn preflight() -> Response {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    // Headers that repeat arguments have names of their own, so all are allowed; `*` doesn't cover the token's.
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*, Authorization"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
