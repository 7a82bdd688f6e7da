//! Servers over HTTP: sessions, streams, refusals, redirects.

use crate::{
    kit::{Bench, PATIENCE, until},
    web::{Asked, Told, Web, event, reply, usual},
};
use haft_core::{BoxFuture, Cancel, Failure, FailureKind};
use haft_mcp::client::{Endpoint, ServerConfig, Tokens, Transport};
use haft_os::OsHttp;
use haft_test::Harness;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::mpsc::unbounded_channel, time::timeout};

fn endpoint(url: &str) -> Endpoint {
    let headers = vec![("authorization".to_owned(), "Bearer t".to_owned())];
    Endpoint { url: url.to_owned(), headers, older: false, http: Arc::new(OsHttp::default()), tokens: None }
}

fn bench(web: &Web) -> Bench {
    Bench::reaching(Harness::new(), Transport::Http(endpoint(&web.url)), |_| {})
}

fn message(asked: &Asked, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result})
}

fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

#[tokio::test]
async fn the_older_era_is_spoken_with_a_session_that_is_ended() {
    let web = Web::start(|asked| match asked.method() {
        "initialize" => usual(asked).with("mcp-session-id", "one"),
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    bench.finish().await;
    let asked = web.asked();
    assert!(asked.iter().all(|asked| asked.header("authorization") == Some("Bearer t")));
    for after in asked.iter().skip_while(|asked| asked.method() != "initialize").skip(1) {
        assert_eq!(after.header("mcp-session-id"), Some("one"), "{after:?}");
        assert_eq!(after.header("mcp-protocol-version"), Some("2025-11-25"), "{after:?}");
    }
    let call = asked.iter().find(|asked| asked.method() == "tools/call").unwrap();
    assert_eq!(call.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(call.header("mcp-name"), None);
    assert_eq!(asked.last().unwrap().verb, "DELETE");
}

#[tokio::test]
async fn the_modern_era_has_no_session_and_says_all_in_each_request() {
    let web = Web::start(|asked| match asked.method() {
        "server/discover" => reply(
            asked,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}}),
        ),
        "tools/list" => reply(
            asked,
            &json!({"resultType": "complete", "tools": [{"name": "get it", "inputSchema":
            {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}]}),
        ),
        "tools/call" => reply(asked, &said("done")),
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    let name = bench.tools().remove(0);
    bench.text(name.strip_prefix("mcp__s__").unwrap(), json!({"region": "Zürich"})).await;
    bench.finish().await;
    let asked = web.asked();
    assert_eq!(web.methods(), ["server/discover", "tools/list", "tools/call"]);
    for asked in &asked {
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("mcp-method"), Some(asked.method()));
        let meta = &asked.body["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert!(meta["io.modelcontextprotocol/clientInfo"]["name"].is_string());
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
    }
    assert_eq!(asked[2].header("mcp-name"), Some("get it"));
    assert_eq!(asked[2].header("mcp-param-region"), Some("=?base64?WsO8cmljaA==?="));
}

#[tokio::test]
async fn case_f32_a_session_that_the_server_forgot_is_opened_anew_once() {
    for status in [404, 400, 401] {
        let mut sessions = 0;
        let web = Web::start(move |asked| match (asked.method(), asked.header("mcp-session-id")) {
            ("initialize", None) => {
                sessions += 1;
                usual(asked).with("mcp-session-id", &format!("S{sessions}"))
            }
            ("tools/call", Some("S1")) => Told::status(status, "text/plain", "session not found"),
            _ => usual(asked),
        })
        .await;
        let bench = bench(&web).ready().await;
        assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"), "{status}");
        assert_eq!(
            (web.count("initialize"), web.count("tools/list"), web.count("tools/call")),
            (2, 2, 2),
            "{status}"
        );
        bench.finish().await;
    }
}

#[tokio::test]
async fn case_f32_a_server_that_forgets_each_session_is_not_asked_for_ever() {
    let web = Web::start(|asked| match asked.method() {
        "initialize" => usual(asked).with("mcp-session-id", "one"),
        "tools/call" => Told::status(
            404,
            "application/json",
            r#"{"jsonrpc": "2.0", "error": {"code": -1, "message": "gone"}}"#,
        ),
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    let failure = bench.failure("echo", json!({})).await;
    assert!(failure.text.contains("forgotten the session"), "{}", failure.text);
    assert_eq!(web.count("tools/call"), 2);
    bench.finish().await;
}

#[tokio::test]
async fn each_refusal_says_what_would_put_it_right() {
    for (status, kind, says) in [
        (401, FailureKind::Permission, "haft mcp login"),
        (403, FailureKind::Permission, "refuses access"),
        (404, FailureKind::NotFound, "check its url"),
        (405, FailureKind::NotFound, "check its url"),
        (429, FailureKind::Unavailable, "less often"),
        (500, FailureKind::Unavailable, "status 500"),
        (503, FailureKind::Unavailable, "status 503"),
    ] {
        let web = Web::start(move |_| Told::status(status, "text/html", "<h1>why</h1>")).await;
        let bench = bench(&web);
        let looked = bench.clients.look("s", &Cancel::new()).await.unwrap_err();
        assert_eq!(looked.kind, kind, "{status}: {}", looked.text);
        assert!(
            looked.text.contains(says) && looked.text.contains("<h1>why</h1>"),
            "{status}: {}",
            looked.text
        );
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_call_that_fails_on_the_way_is_not_repeated() {
    for status in [500, 502, 403] {
        let web = Web::start(move |asked| match asked.method() {
            "tools/call" => Told::status(status, "text/plain", "broken"),
            _ => usual(asked),
        })
        .await;
        let bench = bench(&web).ready().await;
        assert!(bench.failure("echo", json!({})).await.text.contains("broken"));
        assert_eq!(web.count("tools/call"), 1, "{status}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_in_a_refusal_is_that_error() {
    let web = Web::start(|asked| match asked.method() {
        "tools/call" => {
            let error = json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": {"code": -32602, "message": "n is missing"}});
            Told::status(400, "application/json", error.to_string())
        }
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    let failure = bench.failure("echo", json!({})).await;
    assert!(
        failure.kind == FailureKind::InvalidInput && failure.text.contains("n is missing"),
        "{failure:?}"
    );
    bench.finish().await;
}

#[tokio::test]
async fn a_stream_brings_progress_and_the_answer() {
    let web = Web::start(|asked| match asked.method() {
        "tools/call" => {
            let token = &asked.body["params"]["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}});
            Told::events([": hello\n\n".to_owned(), event("1", &progress), event("2", &message(asked, &said("streamed")))]).held()
        }
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    assert!(bench.text("echo", json!({})).await.contains("streamed"));
    bench.finish().await;
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_where_it_was() {
    let waiting: Arc<Mutex<Option<Value>>> = Arc::default();
    let web =
        Web::start(move |asked| match (asked.verb.as_str(), asked.method(), asked.header("last-event-id")) {
            ("POST", "tools/call", _) => {
                *waiting.lock().unwrap() = Some(message(asked, &said("after the break")));
                Told::events(["id: 7\nretry: 10\ndata: \n\n".to_owned()])
            }
            ("GET", _, Some("7")) => {
                let answer = waiting.lock().unwrap().take().unwrap();
                Told::events([event("8", &answer)])
            }
            _ => usual(asked),
        })
        .await;
    let bench = bench(&web).ready().await;
    assert!(bench.text("echo", json!({})).await.contains("after the break"));
    assert_eq!(web.count("tools/call"), 1);
    bench.finish().await;
}

#[tokio::test]
async fn a_stream_that_breaks_for_good_is_a_call_that_may_have_run() {
    let web = Web::start(|asked| match asked.method() {
        "tools/call" => Told::events([": begun\n\n".to_owned()]),
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    let failure = bench.failure("echo", json!({})).await;
    assert!(failure.text.contains("may have done it or not") && !failure.retryable, "{failure:?}");
    assert_eq!(web.count("tools/call"), 1);
    bench.finish().await;
}

#[tokio::test]
async fn redirects_lead_nowhere_but_within_the_servers_own_address() {
    let other = Web::start(usual).await;
    let to_other = format!("http://127.0.0.1:{}/mcp", other.port());
    for (status, to, says) in [
        (307, to_other.as_str(), "isn't its own address"),
        (308, "http://169.254.169.254/latest/meta-data", "isn't its own address"),
        (302, "http://[::1]:1/", "isn't its own address"),
        (301, "/elsewhere", "loses the request"),
        (307, "/mcp", "redirects in circles"),
        (307, "", "redirects"),
    ] {
        let to = to.to_owned();
        let web = Web::start(move |_| Told::status(status, "text/plain", "").with("location", &to)).await;
        let bench = bench(&web);
        let said = bench.refusal().await;
        assert!(said.contains(says), "{status}: {said}");
        bench.finish().await;
    }
    assert!(other.asked().is_empty(), "no header was sent there");
    let web = Web::start(|asked| match asked.path.as_str() {
        "/mcp" => Told::status(307, "text/plain", "").with("location", "/v2/mcp"),
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    bench.finish().await;
}

#[tokio::test]
async fn what_is_no_answer_says_so() {
    for (told, says) in [
        ((200, "text/html", "<html>log in</html>"), "gave no answer"),
        ((202, "text/plain", ""), "gave no answer"),
        ((200, "application/json", "{\"jsonrpc\": \"2.0\", \"id\": 99, \"result\": {}}"), "gave no answer"),
        ((200, "application/json", "{"), "gave no answer"),
    ] {
        let (status, kind, body) = told;
        let web = Web::start(move |asked| match asked.method() {
            "tools/call" => Told::status(status, kind, body),
            _ => usual(asked),
        })
        .await;
        let bench = bench(&web).ready().await;
        let failure = bench.failure("echo", json!({})).await;
        assert!(failure.text.contains(says), "{body}: {}", failure.text);
        bench.finish().await;
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_own_call() {
    for is_stream in [false, true] {
        let web = Web::start(move |asked| match asked.method() {
            "tools/call" if asked.body["params"]["arguments"]["big"] == true => {
                let answer = message(asked, &said(&"x".repeat(20 * 1024 * 1024)));
                if is_stream { Told::events([event("1", &answer)]) } else { Told::json(&answer) }
            }
            _ => usual(asked),
        })
        .await;
        let bench = bench(&web).ready().await;
        let failure = bench.failure("echo", json!({"big": true})).await;
        assert!(failure.text.contains("longer than the 16 MiB"), "{}", failure.text);
        assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_mute_is_told() {
    let gone = Web::start(usual).await;
    let url = gone.url.clone();
    drop(gone);
    let bench = Bench::reaching(Harness::new(), Transport::Http(endpoint(&url)), |_| {});
    // The port may have been taken by somebody else meanwhile, who answers nothing of use either.
    assert!(bench.refusal().await.contains("couldn't be asked"));
    bench.finish().await;
    let mute = Web::start(|_| Told::events([]).held()).await;
    let short = |config: &mut ServerConfig| config.limits.start = Duration::from_secs(3);
    let bench = Bench::reaching(Harness::new(), Transport::Http(endpoint(&mute.url)), short);
    let said = bench.refusal().await;
    assert!(said.contains("3 s") || said.contains("2 s"), "{said}");
    bench.finish().await;
}

#[tokio::test]
async fn the_oldest_form_is_found_and_spoken() {
    let web = oldest("/post?session=1").await;
    let bench = bench(&web).ready().await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    let Bench { harness, clients, .. } = bench;
    timeout(PATIENCE, clients.close()).await.unwrap();
    drop(clients);
    let again = Bench::reaching(harness, Transport::Http(endpoint(&web.url)), |_| {}).ready().await;
    assert!(again.text("echo", json!({"text": "again"})).await.contains("again"), "remembered as older");
    again.finish().await;
}

#[tokio::test]
async fn a_server_of_the_oldest_form_names_no_other_host() {
    let other = Web::start(usual).await;
    let web = oldest(&other.url).await;
    let mut endpoint = endpoint(&web.url);
    endpoint.older = true;
    let bench = Bench::reaching(Harness::new(), Transport::Http(endpoint), |_| {});
    let said = bench.refusal().await;
    assert!(said.contains("isn't its own address"), "{said}");
    assert!(other.asked().is_empty());
    bench.finish().await;
}

/// A server of 2024-11-05: one stream, on which all answers come, and another address for messages.
async fn oldest(post: &str) -> Web {
    let first = format!("event: endpoint\ndata: {post}\n\n");
    let mut stream = None;
    Web::start(move |asked| match (asked.verb.as_str(), asked.path.as_str()) {
        ("GET", _) => {
            let (sender, receiver) = unbounded_channel::<String>();
            stream = Some(sender);
            Told::events([first.clone()]).following(Some(receiver))
        }
        ("POST", path) if path.starts_with("/post") => {
            let told = usual(asked);
            if let (Some(text), Some(stream)) = (told.message(), &stream) {
                drop(stream.send(format!("event: message\ndata: {text}\n\n")));
            }
            Told::status(202, "text/plain", "")
        }
        _ => Told::status(405, "text/plain", ""),
    })
    .await
}

#[tokio::test]
async fn what_the_server_asks_on_a_stream_is_answered() {
    let answers: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&answers);
    let web = Web::start(move |asked| match asked.method() {
        "tools/call" => {
            let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
            Told::events([event("1", &ping), event("2", &message(asked, &said("asked")))])
        }
        "" if asked.body["id"] == "p" => {
            seen.lock().unwrap().push(asked.body.clone());
            Told::status(202, "text/plain", "")
        }
        _ => usual(asked),
    })
    .await;
    let bench = bench(&web).ready().await;
    bench.text("echo", json!({})).await;
    until("the question isn't answered", || !answers.lock().unwrap().is_empty()).await;
    assert_eq!(answers.lock().unwrap()[0]["result"], json!({}));
    bench.finish().await;
}

fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect()
}

/// A server of the modern era that tells of changes of its tools and answers no call; `listen` says how whoever wants to
/// hear of them is answered.
async fn telling(listed: &Arc<Mutex<Value>>, mut listen: impl FnMut() -> Told + Send + 'static) -> Web {
    let listed = Arc::clone(listed);
    Web::start(move |asked| match asked.method() {
        "server/discover" => reply(
            asked,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": true}}}),
        ),
        "tools/list" => {
            let tools = listed.lock().unwrap().clone();
            reply(asked, &json!({"resultType": "complete", "tools": tools}))
        }
        "tools/call" => Told::events([]).held(),
        "subscriptions/listen" => listen(),
        _ => usual(asked),
    })
    .await
}

/// A message on such a stream.
fn told(method: &str, params: &Value) -> String {
    let message = json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"), "params": params});
    format!("data: {message}\n\n")
}

fn acknowledged() -> String {
    told("subscriptions/acknowledged", &json!({"notifications": {"toolsListChanged": true}}))
}

#[tokio::test]
async fn a_stream_of_changes_that_breaks_is_asked_for_again_and_the_tools_are_listed_anew() {
    let listed = Arc::new(Mutex::new(tools(&["echo"])));
    let (later, mut times) = (Arc::clone(&listed), 0);
    let web = telling(&listed, move || {
        times += 1;
        if times > 1 {
            return Told::events([acknowledged()]).held();
        }
        *later.lock().unwrap() = tools(&["echo", "more"]);
        Told::events([acknowledged()])
    })
    .await;
    let bench = bench(&web).ready().await;
    until("the tools aren't listed anew", || bench.tools().len() == 2).await;
    assert_eq!((web.count("subscriptions/listen"), web.count("tools/list")), (2, 2));
    bench.finish().await;
}

#[tokio::test]
async fn a_stream_of_changes_may_be_silent_for_longer_than_a_call_may_take() {
    let listed = Arc::new(Mutex::new(tools(&["echo"])));
    let (say, said) = unbounded_channel::<String>();
    let mut said = Some(said);
    let web = telling(&listed, move || Told::events([acknowledged()]).following(said.take())).await;
    let short = |config: &mut ServerConfig| config.limits.call = Duration::from_millis(1_500);
    let bench = Bench::reaching(Harness::new(), Transport::Http(endpoint(&web.url)), short).ready().await;
    until("nobody listens", || web.count("subscriptions/listen") == 1).await;
    for _ in 0..2 {
        assert!(!bench.call("echo", json!({})).await.outcome.is_completed());
    }
    *listed.lock().unwrap() = tools(&["echo", "more"]);
    say.send(told("tools/list_changed", &json!({}))).unwrap();
    until("the change isn't heard", || bench.tools().len() == 2).await;
    assert_eq!(web.count("subscriptions/listen"), 1, "it is one stream all the time");
    bench.finish().await;
}

/// Tokens that are renewed when the server refuses the first.
struct Renewed(Mutex<usize>);

impl Tokens for Renewed {
    fn authorization(&self) -> BoxFuture<'_, Result<Option<String>, Failure>> {
        let number = *self.0.lock().unwrap();
        Box::pin(std::future::ready(Ok(Some(format!("Bearer {number}")))))
    }

    fn refused(&self, sent: Option<&str>, challenge: Option<&str>) -> BoxFuture<'_, Result<bool, Failure>> {
        assert_eq!(sent, Some("Bearer 1"));
        assert!(challenge.unwrap().contains("resource_metadata"));
        *self.0.lock().unwrap() += 1;
        Box::pin(std::future::ready(Ok(true)))
    }
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once() {
    let web = Web::start(|asked| match asked.header("authorization") {
        Some("Bearer 2") => usual(asked),
        _ => Told::status(401, "text/plain", "")
            .with("www-authenticate", "Bearer resource_metadata=\"https://x.example/\""),
    })
    .await;
    let mut endpoint = endpoint(&web.url);
    endpoint.headers.clear();
    endpoint.tokens = Some(Arc::new(Renewed(Mutex::new(1))));
    let bench = Bench::reaching(Harness::new(), Transport::Http(endpoint), |_| {});
    let bench = timeout(PATIENCE, bench.ready()).await.unwrap();
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    bench.finish().await;
}
