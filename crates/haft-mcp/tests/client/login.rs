//! Logging in: found out, asked for, stored, renewed, widened; and never with somebody else.

use crate::{
    kit::Bench,
    web::{Asked, Told, Web, usual},
};
use haft_core::{
    BoxFuture, Cancel, Credentials, Failure, Http, HttpRequest, HttpResponse, Secret, SecretName,
    StoredSecret, WebUrl,
};
use haft_mcp::client::{Endpoint, LoginPage, OAuth, OAuthSetup, OwnClient, Tokens, Transport};
use haft_os::{OsHttp, SystemClock, host};
use haft_test::Harness;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

/// Credentials in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Secret>>);

impl Credentials for Memory {
    fn get(&self, name: &SecretName) -> Result<Option<Secret>, Failure> {
        Ok(self.0.lock().unwrap().get(name.as_str()).cloned())
    }

    fn put(&self, name: &SecretName, value: &Secret) -> Result<(), Failure> {
        self.0.lock().unwrap().insert(name.to_string(), value.clone());
        Ok(())
    }

    fn remove(&self, name: &SecretName) -> Result<bool, Failure> {
        Ok(self.0.lock().unwrap().remove(name.as_str()).is_some())
    }

    fn list(&self) -> Result<Vec<StoredSecret>, Failure> {
        let changed = SystemTime::UNIX_EPOCH;
        let named = |name: &String| StoredSecret { name: SecretName::parse(name).unwrap(), changed };
        Ok(self.0.lock().unwrap().keys().map(named).collect())
    }
}

/// Somebody who opens each page and says yes.
struct Yes;

impl LoginPage for Yes {
    fn redirect(&self) -> String {
        "http://127.0.0.1:1/callback".to_owned()
    }

    fn visit<'a>(
        &'a self,
        address: &'a WebUrl,
        is_own: &'a (dyn Fn(&str) -> bool + Sync),
        _: &'a Cancel,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(async move {
            let request = HttpRequest {
                method: "GET".to_owned(),
                url: address.to_string(),
                headers: Vec::new(),
                body: Vec::new(),
                idle_timeout: Duration::from_secs(20),
            };
            let response = OsHttp::default().send(request).await?;
            let back = response.header("location").unwrap().to_owned();
            let query = back.strip_prefix("http://127.0.0.1:1/callback?").unwrap().to_owned();
            assert!(is_own(&query));
            Ok(query)
        })
    }
}

/// What an issuer does otherwise than it should, or as asked.
#[derive(Debug, Clone, Default)]
struct Ways {
    /// What stands in its answers in place of its own name.
    iss: Option<&'static str>,
    /// The name that it gives itself.
    issuer: Option<&'static str>,
    /// What the server calls itself.
    resource: Option<&'static str>,
    /// Whether it registers nobody.
    is_closed: bool,
    /// For how long its tokens hold.
    seconds: u64,
}

/// A server that wants a login, and who gives tokens for it, at one place.
async fn guarded(ways: Ways) -> (Web, Arc<AtomicUsize>) {
    let given = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&given);
    let place: Arc<Mutex<String>> = Arc::default();
    let own = Arc::clone(&place);
    let web = Web::start(move |asked| {
        let root = own.lock().unwrap().clone();
        let path = asked.path.split('?').next().unwrap_or_default().to_owned();
        match path.as_str() {
            "/.well-known/oauth-protected-resource/mcp" => Told::json(&json!({
                "resource": ways.resource.map_or_else(|| format!("{root}/mcp"), str::to_owned),
                "authorization_servers": [root], "scopes_supported": ["read"],
            })),
            "/.well-known/oauth-authorization-server" => {
                let mut document = json!({
                    "issuer": ways.issuer.unwrap_or(&root), "authorization_endpoint": format!("{root}/authorize"),
                    "token_endpoint": format!("{root}/token"), "code_challenge_methods_supported": ["S256"],
                    "scopes_supported": ["read", "write", "offline_access"],
                    "authorization_response_iss_parameter_supported": true,
                    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                });
                if !ways.is_closed {
                    document["registration_endpoint"] = json!(format!("{root}/register"));
                }
                Told::json(&document)
            }
            "/register" => Told::status(201, "application/json", json!({"client_id": "registered"}).to_string()),
            "/authorize" => {
                let part = |name: &str| part(asked.path.split_once('?').unwrap().1, name);
                let iss = ways.iss.map_or_else(|| root.clone(), str::to_owned);
                let to = format!("{}?code=c&state={}&iss={iss}", part("redirect_uri"), part("state"));
                Told::status(302, "text/plain", "").with("location", &to)
            }
            "/token" => {
                let number = count.fetch_add(1, Ordering::Relaxed) + 1;
                Told::json(&json!({"access_token": format!("t{number}"), "token_type": "Bearer", "expires_in": ways.seconds,
                    "refresh_token": format!("r{number}")}))
            }
            _ => served(asked, &root, count.load(Ordering::Relaxed)),
        }
    })
    .await;
    web.url.strip_suffix("/mcp").unwrap().clone_into(&mut place.lock().unwrap());
    (web, given)
}

/// What the server does: only the last token holds, and one tool wants more than the first login allows.
fn served(asked: &Asked, root: &str, given: usize) -> Told {
    let metadata = format!("resource_metadata=\"{root}/.well-known/oauth-protected-resource/mcp\"");
    let is_good = asked.header("authorization").is_some_and(|value| value == format!("Bearer t{given}"));
    if !is_good {
        return Told::status(401, "text/plain", "").with("www-authenticate", &format!("Bearer {metadata}"));
    }
    if asked.method() == "tools/call" && asked.body["params"]["arguments"]["write"] == true {
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"write\", {metadata}");
        return Told::status(403, "text/plain", "").with("www-authenticate", &challenge);
    }
    usual(asked)
}

/// One value of a query, as it is written in these tests.
fn part(query: &str, name: &str) -> String {
    let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    found.unwrap_or_default().replace("%3A", ":").replace("%2F", "/").replace('+', " ")
}

fn oauth(web: &Web, store: &Arc<Memory>, client: Option<OwnClient>) -> Arc<OAuth> {
    oauth_over(web, store, client, Arc::new(OsHttp::public_and(["127.0.0.1".to_owned()])))
}

fn oauth_over(web: &Web, store: &Arc<Memory>, client: Option<OwnClient>, http: Arc<dyn Http>) -> Arc<OAuth> {
    let store: Arc<dyn Credentials> = store.clone();
    Arc::new(OAuth::new(OAuthSetup {
        name: "s".into(),
        url: WebUrl::parse(&web.url).unwrap(),
        store,
        http,
        clock: Arc::new(SystemClock),
        random: host::random,
        client,
        scope: None,
    }))
}

fn bench(web: &Web, oauth: &Arc<OAuth>) -> Bench {
    let tokens: Arc<dyn Tokens> = oauth.clone();
    let http = Arc::new(OsHttp::default());
    let endpoint =
        Endpoint { url: web.url.clone(), headers: Vec::new(), older: false, http, tokens: Some(tokens) };
    Bench::reaching(Harness::new(), Transport::Http(endpoint), |_| {})
}

fn asked_for(web: &Web, path: &str) -> Vec<String> {
    let all = web.asked();
    let found = all.iter().filter(|asked| asked.path.split('?').next() == Some(path));
    found
        .map(|asked| asked.path.split_once('?').map_or_else(String::new, |(_, query)| query.to_owned()))
        .collect()
}

#[tokio::test]
async fn a_login_is_found_out_asked_for_and_kept() {
    let (web, _) = guarded(Ways { seconds: 3_600, ..Ways::default() }).await;
    let store = Arc::<Memory>::default();
    let login = oauth(&web, &store, None);
    let before = bench(&web, &login);
    assert!(before.refusal().await.contains("haft mcp login"));
    assert!(login.is_wanted().await.unwrap());
    let logged_in = login.login(&Yes, &Cancel::new()).await.unwrap();
    assert!(logged_in.is_renewed && logged_in.seconds == Some(3_600));
    assert_eq!(logged_in.scope.as_deref(), Some("read offline_access"));
    assert!(!login.is_wanted().await.unwrap());
    before.finish().await;
    let query = asked_for(&web, "/authorize").remove(0);
    assert_eq!(part(&query, "client_id"), "registered");
    assert_eq!(
        (part(&query, "resource"), part(&query, "code_challenge_method")),
        (web.url.clone(), "S256".to_owned())
    );
    // Another process finds it there.
    let bench = bench(&web, &oauth(&web, &store, None)).ready().await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    bench.finish().await;
    assert!(oauth(&web, &store, None).logout().await.unwrap());
    let left: Vec<String> = store.list().unwrap().iter().map(|secret| secret.name.to_string()).collect();
    assert_eq!(
        left,
        [format!("mcp:{}", web.url.strip_suffix("/mcp").unwrap())],
        "what it is registered as may stay"
    );
}

#[tokio::test]
async fn a_token_is_renewed_when_it_is_over_and_when_it_is_refused() {
    for seconds in [1, 3_600] {
        let (web, given) = guarded(Ways { seconds, ..Ways::default() }).await;
        let store = Arc::<Memory>::default();
        let login = oauth(&web, &store, None);
        login.login(&Yes, &Cancel::new()).await.unwrap();
        // Somebody else got another one meanwhile, and this one no longer holds.
        given.fetch_add(1, Ordering::Relaxed);
        let bench = bench(&web, &login).ready().await;
        assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"), "{seconds}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_login_of_another_process_is_seen_by_one_that_runs() {
    let (web, given) = guarded(Ways { seconds: 3_600, ..Ways::default() }).await;
    let store = Arc::<Memory>::default();
    let mut running = bench(&web, &oauth(&web, &store, None));
    assert!(running.refusal().await.contains("haft mcp login"), "it looked, and found none");
    // The second time there is one in hand, which no longer holds.
    for times in 1..=2 {
        oauth(&web, &store, None).login(&Yes, &Cancel::new()).await.unwrap();
        running = running.ready().await;
        assert!(running.text("echo", json!({"text": "hi"})).await.contains("hi"), "{times}");
        assert_eq!(given.load(Ordering::Relaxed), times, "nothing is renewed where there is a newer one");
    }
    running.finish().await;
}

#[tokio::test]
async fn a_login_of_another_process_is_never_written_over() {
    let (web, _) = guarded(Ways { seconds: 3_600, ..Ways::default() }).await;
    let store = Arc::<Memory>::default();
    let (running, other) = (oauth(&web, &store, None), oauth(&web, &store, None));
    for login in [&running, &other] {
        login.login(&Yes, &Cancel::new()).await.unwrap();
    }
    let wants_more = Some("Bearer error=\"insufficient_scope\", scope=\"write\"");
    assert!(running.refused(Some("Bearer t1"), wants_more).await.unwrap(), "the newer one may allow it");
    assert_eq!(running.authorization().await.unwrap().as_deref(), Some("Bearer t2"));
    assert!(!oauth(&web, &store, None).is_wanted().await.unwrap(), "it stands as the other process left it");
    assert!(other.logout().await.unwrap());
    assert!(!running.refused(Some("Bearer t2"), None).await.unwrap());
    assert_eq!(running.authorization().await.unwrap(), None);
    assert!(!oauth(&web, &store, None).logout().await.unwrap(), "what was logged out stays so");
}

#[tokio::test]
async fn a_token_that_several_calls_were_refused_with_is_renewed_once_for_all() {
    let (web, given) = guarded(Ways { seconds: 3_600, ..Ways::default() }).await;
    let login = oauth(&web, &Arc::default(), None);
    login.login(&Yes, &Cancel::new()).await.unwrap();
    for _ in 0..3 {
        assert!(login.refused(Some("Bearer t1"), None).await.unwrap(), "there is another one now");
    }
    assert_eq!(login.authorization().await.unwrap().as_deref(), Some("Bearer t2"));
    assert!(!login.refused(Some("Bearer t2"), None).await.unwrap(), "refused so soon it is refused for good");
    assert_eq!(given.load(Ordering::Relaxed), 2);
}

/// Sends, and has somebody else log in just before a token is asked for.
struct Meanwhile {
    http: OsHttp,
    other: Mutex<Option<Arc<OAuth>>>,
}

impl Http for Meanwhile {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, Failure>> {
        let is_token = request.url.ends_with("/token");
        let other = if is_token { self.other.lock().unwrap().take() } else { None };
        Box::pin(async move {
            if let Some(other) = other {
                other.login(&Yes, &Cancel::new()).await?;
            }
            self.http.send(request).await
        })
    }
}

#[tokio::test]
async fn a_login_that_is_made_while_a_token_is_renewed_counts() {
    let (web, given) = guarded(Ways { seconds: 1, ..Ways::default() }).await;
    let store = Arc::<Memory>::default();
    let http = OsHttp::public_and(["127.0.0.1".to_owned()]);
    let meanwhile = Arc::new(Meanwhile { http, other: Mutex::default() });
    let running = oauth_over(&web, &store, None, meanwhile.clone());
    running.login(&Yes, &Cancel::new()).await.unwrap();
    *meanwhile.other.lock().unwrap() = Some(oauth(&web, &store, None));
    assert_eq!(running.authorization().await.unwrap().as_deref(), Some("Bearer t2"));
    assert_eq!(given.load(Ordering::Relaxed), 3, "it was renewed all the same");
    let stored = store.0.lock().unwrap();
    let access = stored.iter().find(|(name, _)| name.starts_with("mcp-access")).unwrap().1;
    assert_eq!(access.reveal(), "t2");
}

#[tokio::test]
async fn a_wider_login_asks_for_what_was_given_and_what_is_wanted() {
    let (web, _) = guarded(Ways { seconds: 3_600, ..Ways::default() }).await;
    let store = Arc::<Memory>::default();
    let login = oauth(&web, &store, None);
    login.login(&Yes, &Cancel::new()).await.unwrap();
    let bench = bench(&web, &login).ready().await;
    let failure = bench.failure("echo", json!({"write": true})).await;
    assert!(
        failure.text.contains("(write)") && failure.text.contains("haft mcp login s"),
        "{}",
        failure.text
    );
    assert_eq!(web.count("tools/call"), 1, "it isn't tried again and again");
    bench.finish().await;
    // Another process, to which nobody said so, knows what is wanted.
    let later = oauth(&web, &store, None);
    assert!(later.is_wanted().await.unwrap());
    later.login(&Yes, &Cancel::new()).await.unwrap();
    let query = asked_for(&web, "/authorize").remove(1);
    assert_eq!(part(&query, "scope"), "read offline_access write");
}

#[tokio::test]
async fn nobody_is_given_a_login_who_is_not_who_they_say() {
    for (ways, says) in [
        (Ways { resource: Some("https://evil.example/mcp"), ..Ways::default() }, "isn't where it was found"),
        (Ways { issuer: Some("https://evil.example"), ..Ways::default() }, "says that it is"),
        (Ways { iss: Some("https://evil.example"), ..Ways::default() }, "not from"),
    ] {
        let (web, given) = guarded(ways).await;
        let refused = oauth(&web, &Arc::default(), None).login(&Yes, &Cancel::new()).await.unwrap_err();
        assert!(refused.text.contains(says), "{}", refused.text);
        assert_eq!(given.load(Ordering::Relaxed), 0, "no code was told to anybody");
    }
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_proves_itself() {
    let (web, _) = guarded(Ways { is_closed: true, seconds: 60, ..Ways::default() }).await;
    let refused = oauth(&web, &Arc::default(), None).login(&Yes, &Cancel::new()).await.unwrap_err();
    assert!(
        refused.text.contains("registers no clients") && refused.text.contains("oauthClientId"),
        "{}",
        refused.text
    );
    let client = OwnClient { id: "by-hand".to_owned(), secret: Some(Secret::new("pssst")) };
    oauth(&web, &Arc::default(), Some(client)).login(&Yes, &Cancel::new()).await.unwrap();
    let asked = web.asked();
    let token = asked.iter().find(|asked| asked.path == "/token").unwrap();
    assert_eq!(token.header("authorization"), Some("Basic YnktaGFuZDpwc3NzdA=="));
    assert_eq!(token.body, Value::Null, "a form");
}
