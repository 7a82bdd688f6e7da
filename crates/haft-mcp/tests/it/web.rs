//! A server on a real socket, and a client of HTTP that shows all it gets.

use crate::kit::PATIENCE;
use futures::stream::unfold;
use haft_mcp::{HttpSetup, McpServer};
use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Request, Response,
    body::{Bytes, Incoming},
    client::conn::http1::handshake,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::{AbortHandle, JoinHandle},
    time::timeout,
};

pub(crate) const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

/// A server at work.
pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

/// A response whose body is still to come; dropping it closes the connection.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    buffer: String,
    _connection: Connection,
}

/// A connection that closes when this is dropped.
struct Connection(AbortHandle);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Web {
    /// Serves whoever can connect.
    pub(crate) async fn open(server: McpServer) -> Self {
        Self::start(server, HttpSetup::without_token()).await
    }

    pub(crate) async fn start(server: McpServer, setup: HttpSetup) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = unfold(listener, |listener| async move {
            let accepted = listener.accept().await.map(|(stream, _)| stream);
            Some((accepted, listener))
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = async move {
            server.serve_http(connections, setup, async { _ = stopped.await }).await;
        };
        Self { address, stop: Some(stop), server: tokio::spawn(serving) }
    }

    /// Stops the server and waits for its end.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        timeout(PATIENCE, &mut self.server).await.unwrap().unwrap();
    }

    pub(crate) async fn send(&self, method: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Got {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        let connection = Connection(connection);
        let mut request = Request::builder().method(method).uri("/mcp");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request = request.header("host", self.address.to_string());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let response: Response<Incoming> =
            timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap();
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        Got { status, headers: parts.headers, body, buffer: String::new(), _connection: connection }
    }

    /// Sends one message as it is.
    pub(crate) async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Got {
        let mut all = vec![("content-type", "application/json")];
        if !headers.iter().any(|(name, _)| *name == "accept") {
            all.push(BOTH);
        }
        all.extend_from_slice(headers);
        self.send("POST", &all, message.to_string()).await
    }

    /// A request of the modern era, with what it needs; `capabilities` is what the client can do.
    pub(crate) async fn modern_as(&self, method: &str, mut params: Value, capabilities: Value) -> Got {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let name =
            params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        self.post(&headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await
    }

    pub(crate) async fn modern(&self, method: &str, params: Value) -> Got {
        self.modern_as(method, params, json!({})).await
    }

    /// Shakes hands; the session's id.
    pub(crate) async fn greet(&self, capabilities: Value) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "web", "version": "1"},
        });
        let got = self
            .post(&[], &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
            .await;
        assert_eq!(got.status, 200);
        let id = got.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.in_session(&id, &ready).await.status, 202);
        id
    }

    /// Sends a message of a session.
    pub(crate) async fn in_session(&self, id: &str, message: &Value) -> Got {
        self.post(&[("mcp-session-id", id), ("mcp-protocol-version", "2025-11-25")], message).await
    }

    /// Calls a tool in a session.
    pub(crate) async fn call(&self, id: &str, number: u64, params: Value) -> Got {
        let message = json!({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params});
        self.in_session(id, &message).await
    }

    /// The stream beside a session's requests, or another one from after an event.
    pub(crate) async fn listen(&self, id: &str, after: Option<&str>) -> Got {
        let mut headers = vec![("accept", "text/event-stream"), ("mcp-session-id", id)];
        headers.extend(after.map(|after| ("last-event-id", after)));
        self.send("GET", &headers, "").await
    }
}

impl Got {
    pub(crate) fn is_stream(&self) -> bool {
        self.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream")
    }

    /// The whole body.
    pub(crate) async fn text(mut self) -> String {
        let mut text = std::mem::take(&mut self.buffer);
        while let Some(piece) = self.piece().await {
            text.push_str(&piece);
        }
        text
    }

    /// The one message of the response, also where it took so long that it is a stream.
    pub(crate) async fn json(self) -> Value {
        if self.is_stream() {
            let events = self.events().await;
            let [message] = events.as_slice() else { panic!("one message: {events:?}") };
            return message.clone();
        }
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The next event that says something; none at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        assert!(self.is_stream(), "a stream");
        loop {
            while let Some(end) = self.buffer.find("\n\n") {
                let event: String = self.buffer.drain(..end + 2).collect();
                let field =
                    |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                if let Some(data) = field("data:") {
                    let id = field("id:").map(str::to_owned);
                    return Some(Event { id, data: data.to_owned() });
                }
            }
            let piece = self.piece().await?;
            self.buffer.push_str(&piece);
        }
    }

    /// The messages of a stream up to its end, without what only says where it can be read again.
    pub(crate) async fn events(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(event) = self.event().await {
            if !event.data.is_empty() {
                all.push(event.json());
            }
        }
        all
    }

    /// The next message of a stream.
    pub(crate) async fn hear(&mut self) -> Value {
        loop {
            let event = self.event().await.expect("a message");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }

    async fn piece(&mut self) -> Option<String> {
        let frame = timeout(PATIENCE, self.body.frame()).await.unwrap()?;
        let bytes = frame.unwrap().into_data().unwrap();
        Some(String::from_utf8(bytes.into()).unwrap())
    }
}
