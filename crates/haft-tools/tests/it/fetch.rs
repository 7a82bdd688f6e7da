//! `fetch` through the executor, from a server on this machine that the operator allows.

use crate::kit::{call, denied, done, failed, has, invalid};
use haft_core::{FailureKind, NoMedia};
use haft_policy::{Action, Mode};
use haft_test::{Answers, Harness, HarnessSetup};
use haft_tools::{FetchHeader, FetchSettings};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A server with a few pages; what it was asked is kept.
struct Site {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let site = Self { address: listener.local_addr().unwrap(), heard: Arc::default() };
        let heard = Arc::clone(&site.heard);
        // Ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &heard);
            }
        });
        site
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, heard: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heard.lock().unwrap().push(head);
    let (status, headers, body): (&str, &str, &[u8]) = match path.as_str() {
        "/page" => (
            "200 OK",
            "content-type: text/html\r\n",
            b"<title>T</title><h1>Head</h1><p>a <a href=b>b</a></p>",
        ),
        "/data" => ("200 OK", "content-type: application/json\r\n", b"{\"a\":1}"),
        "/picture" => ("200 OK", "content-type: image/png\r\n", b"\x89PNG\r\n\x1a\n\0"),
        "/away" => ("302 Found", "location: https://other.example/x\r\n", b""),
        "/in" => ("302 Found", "location: http://127.0.0.2/\r\n", b""),
        "/nowhere" => ("302 Found", "", b""),
        _ => ("404 Not Found", "content-type: text/html\r\n", b"<p>no such page</p>"),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

fn kit_for(site: &Site, setup: HarnessSetup) -> Harness {
    let kit = Harness::with(setup);
    let host = site.address.to_string();
    let header = FetchHeader { host: host.clone(), name: "x-key".to_owned(), value: "word".to_owned() };
    let settings = FetchSettings { allow_private: vec![host], headers: vec![header] };
    kit.register_core(haft_tools::tools_with(
        haft_tools::ToolSettings { fetch: settings, ..Default::default() },
        Arc::new(NoMedia),
    ));
    kit
}

fn kit(site: &Site) -> Harness {
    kit_for(site, HarnessSetup::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_asked_for_and_comes_as_markdown() {
    let site = Site::open();
    let kit = kit(&site);
    let text = done(&call(&kit, "fetch", json!({"url": site.url("/page")})).await);
    has(&text, &["Content of http://127.0.0.1:", "written by others", "Title: T", "# Head", "/b)"]);
    assert_eq!(kit.answers().asked().len(), 1);
    assert!(site.heard()[0].contains("x-key: word"));
    let text = done(&call(&kit, "WebFetch", json!({"url": site.url("/page"), "format": "html"})).await);
    has(&text, &["<h1>Head</h1>"]);
    let text = done(&call(&kit, "fetch", json!({"url": site.url("/data")})).await);
    has(&text, &["{\n  \"a\": 1\n}"]);
    let text = done(&call(&kit, "fetch", json!({"url": site.url("/picture")})).await);
    has(&text, &["image/png, 9 B", "`save`"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leads_elsewhere_is_told_and_what_is_private_refused() {
    let site = Site::open();
    let kit = kit(&site);
    let text = done(&call(&kit, "fetch", json!({"url": site.url("/away")})).await);
    has(&text, &["redirects (302) to https://other.example/x", "fetch that URL"]);
    let text = failed(&call(&kit, "fetch", json!({"url": site.url("/in")})).await, FailureKind::Permission);
    has(&text, &["hop 2", "loopback", "Use a public URL"]);
    assert!(!text.contains("allow"), "{text}");
    let near = json!({"url": "http://127.0.0.1:1/"});
    let text = failed(&call(&kit, "fetch", near).await, FailureKind::Permission);
    has(&text, &["hop 1", "allow 127.0.0.1:1", "allowPrivate under [tools.fetch]"]);
    for url in [
        "http://169.254.169.254/latest/",
        "http://169.254.1.1/",
        "http://[fd00:ec2::254]/",
        "http://metadata.google.internal/",
    ] {
        let text = failed(&call(&kit, "fetch", json!({"url": url})).await, FailureKind::Permission);
        has(&text, &["hop 1", "Use a public URL"]);
        assert!(!text.contains("allow"), "{text}");
    }
    let text =
        failed(&call(&kit, "fetch", json!({"url": site.url("/nowhere")})).await, FailureKind::NotFound);
    has(&text, &["answered 302", "without a Location"]);
    let text = failed(&call(&kit, "fetch", json!({"url": site.url("/no")})).await, FailureKind::NotFound);
    has(&text, &["answered 404", "no such page", "written by others"]);
    for url in ["file:///etc/passwd", "http://a:b@example.com/", ""] {
        invalid(&call(&kit, "fetch", json!({"url": url})).await);
    }
    has(&invalid(&call(&kit, "fetch", json!({"url": "a.example", "format": "pdf"})).await), &["/format"]);
    has(&invalid(&call(&kit, "fetch", json!({"url": "a.example", "maxBytes": 0})).await), &["/maxBytes"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_makes_a_new_file_and_replaces_none() {
    let site = Site::open();
    let kit = kit(&site);
    let into = |path: &str, save: &str| json!({"url": site.url(path), "save": save});
    let text = done(&call(&kit, "fetch", into("/picture", "deep/p.png")).await);
    has(&text, &["Saved http://", "deep/p.png", "image/png, 9 B"]);
    assert_eq!(kit.read("deep/p.png"), b"\x89PNG\r\n\x1a\n\0");
    let again = call(&kit, "fetch", into("/data", "deep/p.png")).await;
    has(&failed(&again, FailureKind::Conflict), &["exists already", "new name"]);
    failed(&call(&kit, "fetch", into("/no", "none")).await, FailureKind::NotFound);
    let cut = json!({"url": site.url("/picture"), "save": "cut", "maxBytes": 4});
    has(&failed(&call(&kit, "fetch", cut).await, FailureKind::InvalidInput), &["nothing was saved"]);
    assert!(!kit.path("none").exists() && !kit.path("cut").exists());
    assert_eq!(kit.read("deep/p.png").len(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_means_that_nothing_is_contacted() {
    let site = Site::open();
    let no = kit_for(&site, HarnessSetup { answers: Answers::no(), ..HarnessSetup::default() });
    assert_eq!(denied(&call(&no, "fetch", json!({"url": site.url("/page")})).await), "user");
    let rules = vec![(Action::Deny, "fetch(domain:127.0.0.1)".to_owned())];
    let ruled = kit_for(&site, HarnessSetup { rules, ..HarnessSetup::default() });
    for url in [site.url("/page"), format!("http://0x7f.1:{}/page", site.address.port())] {
        assert_eq!(denied(&call(&ruled, "fetch", json!({"url": url})).await), "deny");
    }
    let plan = kit_for(&site, HarnessSetup { mode: Mode::Plan, ..HarnessSetup::default() });
    let save = json!({"url": site.url("/page"), "save": "f"});
    assert_eq!(denied(&call(&plan, "fetch", save).await), "plan");
    assert!(site.heard().is_empty());
}
