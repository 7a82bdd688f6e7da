//! One request and one response on one connection that was made for it.

use super::body::{Body, Intake};
use haft_core::WebUrl;
use http_body_util::{BodyExt, Empty};
use hyper::{
    HeaderMap, Request, Response, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{
        ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HOST, HeaderName, HeaderValue,
        TRANSFER_ENCODING, USER_AGENT,
    },
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
};

/// Status line and headers of a response may have so many bytes.
const HEAD_MAX_BYTES: usize = 64 * 1024;
/// And so many headers.
const HEADERS_MAX: usize = 200;
const TYPES: &str = "text/html,application/xhtml+xml,application/json;q=0.9,text/plain;q=0.9,*/*;q=0.5";
const AGENT: &str = concat!("haft/", env!("CARGO_PKG_VERSION"));

/// The head of a response, its body still on the connection.
pub(super) struct Answer {
    response: Response<Incoming>,
    /// Moves the bytes; ends with the answer.
    _driver: Driver,
}

struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The request for a URL with the operator's headers.
///
/// # Errors
/// A header or URL that can't be sent, in words.
pub(super) fn request(url: &WebUrl, own: &[(String, String)]) -> Result<Request<Empty<Bytes>>, String> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() =
        url.target().parse::<Uri>().map_err(|error| format!("the URL can't be sent: {error}"))?;
    let headers = request.headers_mut();
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT, HeaderValue::from_static(TYPES));
    for (name, value) in own {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("\"{name}\" is no header name; correct it in the settings"))?;
        // What frames the message is not for settings to say.
        if [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(&name) {
            continue;
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!("the value of the header {name} can't be sent; correct it in the settings")
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let host = HeaderValue::from_str(&url.authority()).map_err(|_| "the host can't be sent".to_owned())?;
    headers.insert(HOST, host);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(request)
}

impl Answer {
    /// Sends the request and waits for the head of the response.
    ///
    /// # Errors
    /// What broke, in words.
    pub(super) async fn to<S>(request: Request<Empty<Bytes>>, stream: S) -> Result<Self, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(HEAD_MAX_BYTES)
            .max_headers(HEADERS_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&error))?;
        let driver = Driver(tokio::spawn(async move {
            // What goes wrong is told to whoever waits for the response.
            let _ = connection.await;
        }));
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        Ok(Self { response, _driver: driver })
    }

    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// All headers, names in lower case.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let headers: &HeaderMap = self.response.headers();
        headers
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect()
    }

    /// The first header of that name, where it is text.
    pub(super) fn header(&self, name: HeaderName) -> Option<String> {
        let value = self.response.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// How many bytes the whole body has, where it isn't compressed and the server says so.
    pub(super) fn stated_bytes(&self) -> Option<u64> {
        if self.coding().is_empty() { self.header(CONTENT_LENGTH)?.trim().parse().ok() } else { None }
    }

    fn coding(&self) -> String {
        let codings = self.response.headers().get_all(CONTENT_ENCODING).iter();
        let codings: Vec<_> =
            codings.map(|one| String::from_utf8_lossy(one.as_bytes()).into_owned()).collect();
        codings.join(", ")
    }

    /// Reads the body, at most so many bytes of it.
    ///
    /// # Errors
    /// What broke, in words.
    pub(super) async fn body(mut self, max: usize) -> Result<Body, String> {
        let coding = self.coding();
        let mut intake = Intake::new(&coding, max).ok_or_else(|| {
            format!("the server sent the content coding \"{coding}\", which wasn't asked for")
        })?;
        let mut is_empty = true;
        while let Some(frame) = self.response.body_mut().frame().await {
            let frame = frame.map_err(|error| format!("{} after {} bytes", broken(&error), intake.len()))?;
            let Ok(piece) = frame.into_data() else { continue };
            is_empty &= piece.is_empty();
            if !intake.push(&piece).map_err(|error| damaged(&error))? {
                break;
            }
        }
        if is_empty { Ok(Body::default()) } else { intake.finish().map_err(|error| damaged(&error)) }
    }
}

fn damaged(error: &std::io::Error) -> String {
    format!("the compressed content is damaged ({error})")
}

fn broken(error: &hyper::Error) -> String {
    // The question of its own needs the server half of the library.
    if error.is_parse() && error.to_string().contains("too large") {
        return format!("the answer's headers are larger than {} KiB", HEAD_MAX_BYTES / 1024);
    }
    if error.is_parse() {
        return format!("the answer isn't HTTP ({error})");
    }
    format!("the connection broke ({error})")
}
