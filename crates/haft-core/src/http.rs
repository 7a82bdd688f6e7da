//! HTTP, as model providers and protocol clients see it.

use crate::{BoxFuture, BoxStream, Failure};
use std::time::Duration;

/// One request.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method, for example `POST`.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body, empty for none.
    pub body: Vec<u8>,
    /// How long to wait for the response's head, and between pieces of its body.
    pub idle_timeout: Duration,
}

/// The body as it comes; an error ends it.
pub type HttpBody = BoxStream<'static, Result<Vec<u8>, Failure>>;

/// The head of a response and its body to come.
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// Header names (lower case) and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: HttpBody,
}

impl HttpResponse {
    /// The first header of that (lower case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Sends requests for the operator's own settings (model endpoints); doesn't follow redirects and takes no
/// proxy from the environment.
pub trait Http: Send + Sync {
    /// Sends a request and waits for the head of the response.
    ///
    /// # Errors
    /// Unavailable where no connection can be made, timeout where nothing came in time.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, Failure>>;
}
