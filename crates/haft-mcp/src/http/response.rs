//! Responses.

use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{
    StatusCode,
    body::Bytes,
    header::{self, HeaderValue},
};
use std::convert::Infallible;

/// What a response carries: a text, or a stream of events.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

pub(super) type Response = hyper::Response<Body>;

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// Which session a message of the legacy era belongs to.
pub(super) const SESSION_HEADER: &str = "mcp-session-id";

fn of(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // What one client may see, no store between may give to another.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn text(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).boxed_unsync()
}

/// One message; `status` is what HTTP says with it.
pub(super) fn message(message: impl Into<Bytes>, status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    of(status, JSON, text(message))
}

/// A stream of events.
pub(super) fn events(body: Body) -> Response {
    of(StatusCode::OK, EVENTS, body)
}

/// A refusal that is no message of the protocol, in words for whoever set the client up.
pub(super) fn refused(status: StatusCode, why: &str) -> Response {
    of(status, "text/plain; charset=utf-8", text(format!("haft: {why}\n")))
}

/// Taken, and there is nothing to say.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(text(String::new()));
    *response.status_mut() = status;
    response
}
