//! A raw HTTP server on loopback; what each request is answered with is said by a function.

use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::UnboundedReceiver,
    task::JoinHandle,
};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) verb: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    /// Null where it is no JSON.
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The method of the message in it; empty where there is none.
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// What a request is answered with.
pub(crate) struct Told {
    status: u16,
    headers: Vec<(String, String)>,
    /// Sent one after another.
    pieces: Vec<String>,
    /// Whether the connection stays open after them.
    is_held: bool,
    /// Whether nothing is said of how long the body is, so that its end is the end of the connection.
    is_open: bool,
    /// What comes after them, as it comes.
    more: Option<UnboundedReceiver<String>>,
}

impl Told {
    pub(crate) fn status(status: u16, kind: &str, body: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, pieces: vec![body.into()], is_held: false, is_open: false, more: None }
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::status(200, "application/json", body.to_string())
    }

    /// Events, after which the stream ends.
    pub(crate) fn events(events: impl IntoIterator<Item = String>) -> Self {
        let pieces = events.into_iter().collect();
        Self { pieces, is_open: true, ..Self::status(200, "text/event-stream", "") }
    }

    /// After all was said the connection stays open.
    pub(crate) fn held(self) -> Self {
        Self { is_held: true, ..self }
    }

    /// After all was said, more is, as it comes.
    pub(crate) fn following(self, more: Option<UnboundedReceiver<String>>) -> Self {
        Self { more, ..self }
    }

    /// The message in it, if there is one.
    pub(crate) fn message(&self) -> Option<&str> {
        self.pieces.first().map(String::as_str).filter(|text| text.starts_with('{'))
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// One event that carries a message.
pub(crate) fn event(id: &str, message: &Value) -> String {
    format!("id: {id}\nretry: 10\ndata: {message}\n\n")
}

pub(crate) struct Web {
    pub(crate) url: String,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Web {
    pub(crate) async fn start(answer: impl FnMut(&Asked) -> Told + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (log, answer) = (Arc::clone(&asked), Arc::new(Mutex::new(answer)));
        let task = tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Some(request) = read(&mut socket).await else { return };
                    let told = {
                        let mut answer = answer.lock().unwrap();
                        log.lock().unwrap().push(request.clone());
                        answer(&request)
                    };
                    say(&mut socket, told).await;
                });
            }
        });
        Self { url: format!("http://{address}/mcp"), address, asked, task }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The methods of the messages that came, in their order.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.asked()
            .iter()
            .map(|asked| asked.method().to_owned())
            .filter(|method| !method.is_empty())
            .collect()
    }

    /// How often a method was asked for.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.methods().iter().filter(|asked| *asked == method).count()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a well server of the older era answers.
pub(crate) fn usual(asked: &Asked) -> Told {
    if asked.verb != "POST" {
        return Told::status(405, "text/plain", "");
    }
    let result = match asked.method() {
        "initialize" => {
            json!({"protocolVersion": asked.body["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            json!({"content": [{"type": "text", "text": asked.body["params"]["arguments"].to_string()}]})
        }
        method if method.starts_with("notifications/") => return Told::status(202, "text/plain", ""),
        _ => {
            let error = json!({"code": -32601, "message": "not here"});
            return Told::json(&json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": error}));
        }
    };
    reply(asked, &result)
}

/// A result as one message.
pub(crate) fn reply(asked: &Asked, result: &Value) -> Told {
    Told::json(&json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}))
}

async fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes: Vec<u8> = Vec::new();
    let head_len = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_len].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (verb, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(key, _)| key == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse::<usize>().unwrap());
    while bytes.len() < head_len + length {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head_len..]).unwrap_or_default();
    Some(Asked { verb, path, headers, body })
}

/// A client that has what it needs may hang up before the end, so writing may fail.
async fn say(socket: &mut TcpStream, mut told: Told) {
    let mut head = format!("HTTP/1.1 {} Status\r\nconnection: close\r\n", told.status);
    for (name, value) in &told.headers {
        head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
    }
    if !told.is_open {
        let length: usize = told.pieces.iter().map(String::len).sum();
        head.extend(["content-length: ", length.to_string().as_str(), "\r\n"]);
    }
    head.push_str("\r\n");
    drop(socket.write_all(head.as_bytes()).await);
    for piece in &told.pieces {
        drop(socket.write_all(piece.as_bytes()).await);
        drop(socket.flush().await);
    }
    while let Some(more) = &mut told.more
        && let Some(piece) = more.recv().await
    {
        drop(socket.write_all(piece.as_bytes()).await);
    }
    if told.is_held {
        // Until the client leaves.
        let mut rest = Vec::new();
        drop(socket.read_to_end(&mut rest).await);
    }
    drop(socket.shutdown().await);
}
