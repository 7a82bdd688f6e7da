//! A raw HTTP server on loopback: canned answers in order, each byte of a stream in a chunk of its own.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// What a request is answered with.
pub(crate) enum Reply {
    /// A status and a body.
    Status(u16, &'static str),
    /// A stream that ends as it should.
    Stream(Vec<Part>),
    /// A stream whose connection is closed in the middle.
    Dropped(String),
}

impl Reply {
    pub(crate) fn stream(text: String) -> Self {
        Self::Stream(vec![Part::Bytes(text)])
    }
}

/// A part of a stream.
pub(crate) enum Part {
    Bytes(String),
    /// Nothing more until somebody says so.
    Wait(Arc<Notify>),
}

/// A request as it came.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Server {
    pub(crate) base_url: String,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        let task = tokio::spawn(async move {
            for reply in replies {
                let (mut socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                let request = read_request(&mut socket).await;
                log.lock().unwrap().push(request);
                answer(&mut socket, reply).await;
            }
        });
        Self { base_url, received, task }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Closes the port.
    pub(crate) async fn stop(self) {
        self.task.abort();
        drop(self.task.await);
    }
}

async fn read_request(socket: &mut TcpStream) -> Received {
    let mut bytes: Vec<u8> = Vec::new();
    let head_len = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        assert!(socket.read_buf(&mut bytes).await.unwrap() > 0, "the request has no end");
    };
    let head = String::from_utf8(bytes[..head_len].to_vec()).unwrap();
    let mut lines = head.lines();
    let path = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(key, _)| key == "content-length").unwrap().1.parse::<usize>().unwrap();
    while bytes.len() < head_len + length {
        assert!(socket.read_buf(&mut bytes).await.unwrap() > 0, "the body has no end");
    }
    Received { path, headers, body: serde_json::from_slice(&bytes[head_len..]).unwrap() }
}

/// A client that has what it needs may hang up before the end, so writing may fail.
async fn answer(socket: &mut TcpStream, reply: Reply) {
    match reply {
        Reply::Status(status, body) => {
            let head = format!(
                "HTTP/1.1 {status} Busy\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            );
            drop(socket.write_all(head.as_bytes()).await);
        }
        Reply::Stream(parts) => {
            open_stream(socket).await;
            for part in parts {
                match part {
                    Part::Bytes(text) => stream(socket, &text).await,
                    Part::Wait(notify) => notify.notified().await,
                }
            }
            drop(socket.write_all(b"0\r\n\r\n").await);
        }
        Reply::Dropped(text) => {
            open_stream(socket).await;
            stream(socket, &text).await;
        }
    }
    drop(socket.shutdown().await);
}

async fn open_stream(socket: &mut TcpStream) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\
                connection: close\r\n\r\n";
    drop(socket.write_all(head.as_bytes()).await);
}

async fn stream(socket: &mut TcpStream, text: &str) {
    for byte in text.bytes() {
        drop(socket.write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']).await);
        tokio::task::yield_now().await;
    }
}
