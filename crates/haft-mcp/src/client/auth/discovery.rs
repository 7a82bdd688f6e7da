//! Who gives tokens for a server, and how: found by documents at known places, each checked to be about what it was asked
//! for.

use super::{challenge::Challenge, transfer};
use haft_core::{Failure, FailureKind, Http, WebUrl};
use serde_json::Value;

const RESOURCE: &str = ".well-known/oauth-protected-resource";
const ISSUER: &str = ".well-known/oauth-authorization-server";
const OPENID: &str = ".well-known/openid-configuration";

/// What a server says of who gives tokens for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// What it calls itself: it goes with each request for a token.
    pub(super) name: String,
    /// Who gives tokens.
    pub(super) issuer: String,
    /// What can be allowed.
    pub(super) scopes: Vec<String>,
}

/// What an issuer says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Issuer {
    /// Its own name, exactly.
    pub(super) name: String,
    pub(super) authorize: WebUrl,
    pub(super) token: WebUrl,
    pub(super) register: Option<WebUrl>,
    pub(super) scopes: Vec<String>,
    /// How clients may prove at the token's place who they are.
    pub(super) methods: Vec<String>,
    /// Whether a client may be named by the address of its metadata.
    pub(super) takes_metadata_address: bool,
    /// Whether its answers say whose they are.
    pub(super) names_itself: bool,
}

/// Looks for documents.
pub(super) struct Discovery<'a> {
    pub(super) http: &'a dyn Http,
    /// The server.
    pub(super) server: &'a WebUrl,
}

impl Discovery<'_> {
    /// Who gives tokens for the server.
    ///
    /// # Errors
    /// What it says isn't about itself, or it says nothing.
    pub(super) async fn resource(&self, challenge: &Challenge) -> Result<Resource, Failure> {
        let named = challenge.metadata.as_deref().map(|metadata| self.server.join(metadata)).transpose()?;
        let places = match named {
            Some(named) => vec![named],
            None => Self::places(self.server, &[(RESOURCE, true), (RESOURCE, false)])?,
        };
        if let Some(document) = self.first(&places).await? {
            return self.read_resource(&document);
        }
        // Before 2025-06-18 the server was its own issuer.
        let root = self.server.join("/")?;
        let issuer = root.as_str().trim_end_matches('/').to_owned();
        Ok(Resource { name: self.server.to_string(), issuer, scopes: Vec::new() })
    }

    fn read_resource(&self, document: &Value) -> Result<Resource, Failure> {
        let name = document.get("resource").and_then(Value::as_str).unwrap_or(self.server.as_str());
        if !covers(name, self.server.as_str()) {
            return Err(refused(&format!("it says that it is {name}, which isn't where it was found")));
        }
        let issuers = document.get("authorization_servers").and_then(Value::as_array);
        let issuer = issuers.and_then(|all| all.first()).and_then(Value::as_str);
        let issuer = issuer.ok_or_else(|| refused("it doesn't say who gives tokens for it"))?;
        let scopes = texts(document, "scopes_supported");
        Ok(Resource { name: name.to_owned(), issuer: issuer.to_owned(), scopes })
    }

    /// What an issuer says of itself.
    ///
    /// # Errors
    /// It says nothing, isn't who it says it is, or can't be trusted with a login.
    pub(super) async fn issuer(&self, name: &str) -> Result<Issuer, Failure> {
        let address = self.safe(name, "who gives tokens")?;
        let has_path = address.target() != "/";
        let kinds: &[(&str, bool)] =
            if has_path { &[(ISSUER, true), (OPENID, true)] } else { &[(ISSUER, false), (OPENID, false)] };
        let mut places = Self::places(&address, kinds)?;
        if has_path {
            let behind = format!("{}/{OPENID}", address.as_str().trim_end_matches('/'));
            places.push(WebUrl::parse(&behind)?);
        }
        let document = self.first(&places).await?;
        let document =
            document.ok_or_else(|| refused(&format!("{name} doesn't say how tokens are asked for")))?;
        self.read_issuer(name, &document)
    }

    fn read_issuer(&self, name: &str, document: &Value) -> Result<Issuer, Failure> {
        let text = |key: &str| document.get(key).and_then(Value::as_str);
        let said = text("issuer").unwrap_or_default();
        if said != name {
            return Err(refused(&format!("who is at {name} says that it is \"{said}\"")));
        }
        let challenges = texts(document, "code_challenge_methods_supported");
        if !challenges.iter().any(|method| method == "S256") {
            return Err(refused(&format!(
                "{name} doesn't offer logins that nobody can steal on the way (PKCE with S256)"
            )));
        }
        let place = |key: &str| {
            let at = text(key).ok_or_else(|| refused(&format!("{name} names no {key}")))?;
            self.safe(at, key)
        };
        let flag = |key: &str| document.get(key).and_then(Value::as_bool).unwrap_or(false);
        Ok(Issuer {
            name: name.to_owned(),
            authorize: place("authorization_endpoint")?,
            token: place("token_endpoint")?,
            register: text("registration_endpoint")
                .map(|at| self.safe(at, "registration_endpoint"))
                .transpose()?,
            scopes: texts(document, "scopes_supported"),
            methods: texts(document, "token_endpoint_auth_methods_supported"),
            takes_metadata_address: flag("client_id_metadata_document_supported"),
            names_itself: flag("authorization_response_iss_parameter_supported"),
        })
    }

    /// An address to which secrets may go: encrypted, or on this machine where the server is, too.
    fn safe(&self, text: &str, what: &str) -> Result<WebUrl, Failure> {
        let url = WebUrl::parse(text)?;
        if url.is_https() || is_own(&url) && is_own(self.server) {
            return Ok(url);
        }
        Err(refused(&format!("{what} is at {url}, which isn't encrypted")))
    }

    /// The places of well-known documents about an address: with its path behind, or at its root.
    fn places(about: &WebUrl, kinds: &[(&str, bool)]) -> Result<Vec<WebUrl>, Failure> {
        let path = about.target();
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let mut places: Vec<WebUrl> = Vec::new();
        for (kind, with_path) in kinds {
            let place =
                about.join(&if *with_path { format!("/{kind}{path}") } else { format!("/{kind}") })?;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Ok(places)
    }

    /// The first of the documents that is there.
    async fn first(&self, places: &[WebUrl]) -> Result<Option<Value>, Failure> {
        for place in places {
            let answer = transfer::get(self.http, place).await?;
            match (answer.status, answer.json()) {
                (200, Some(document)) if document.is_object() => return Ok(Some(document)),
                (200..=499, _) => {}
                _ => return Err(refused(&format!("{place} answers with {}", answer.words()))),
            }
        }
        Ok(None)
    }
}

/// Whether a name for a server is the server's own: the same place, or one above it.
fn covers(name: &str, server: &str) -> bool {
    let (Ok(name), Ok(server)) = (WebUrl::parse(name), WebUrl::parse(server)) else { return false };
    let (name, server) = (name.as_str().trim_end_matches('/'), server.as_str().trim_end_matches('/'));
    server.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

/// Whether it is on this machine.
fn is_own(url: &WebUrl) -> bool {
    url.address().map_or(url.host() == "localhost", |address| address.is_loopback())
}

fn texts(document: &Value, key: &str) -> Vec<String> {
    let all = document.get(key).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn refused(why: &str) -> Failure {
    Failure::new(FailureKind::Permission, format!("no login: {why}. Tell whoever runs the server."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{BoxFuture, HttpRequest, HttpResponse};
    use serde_json::json;
    use std::{collections::BTreeMap, sync::Mutex};

    /// Documents by address; what was asked for is noted.
    #[derive(Default)]
    struct Documents {
        all: BTreeMap<String, Value>,
        asked: Mutex<Vec<String>>,
    }

    impl Http for Documents {
        fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, Failure>> {
            self.asked.lock().unwrap().push(request.url.clone());
            let found = self.all.get(&request.url);
            let body = found.map(Value::to_string).unwrap_or_default().into_bytes();
            let body = Box::pin(futures::stream::iter([Ok::<_, Failure>(body)]));
            let status = if found.is_some() { 200 } else { 404 };
            Box::pin(std::future::ready(Ok(HttpResponse { status, headers: Vec::new(), body })))
        }
    }

    fn documents<const N: usize>(all: [(&str, Value); N]) -> Documents {
        Documents { all: all.map(|(at, value)| (at.to_owned(), value)).into(), asked: Mutex::default() }
    }

    async fn resource(http: &Documents, challenge: &str) -> Result<Resource, Failure> {
        let server = WebUrl::parse("https://x.example/a/mcp").unwrap();
        Discovery { http, server: &server }.resource(&Challenge::parse(challenge)).await
    }

    async fn issuer(http: &Documents, name: &str) -> Result<Issuer, Failure> {
        let server = WebUrl::parse("https://x.example/mcp").unwrap();
        Discovery { http, server: &server }.issuer(name).await
    }

    fn metadata(issuer: &str) -> Value {
        json!({"issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"), "code_challenge_methods_supported": ["S256"]})
    }

    #[tokio::test]
    async fn who_gives_tokens_is_found_where_the_server_says_or_at_the_known_places() {
        let about = json!({"resource": "https://x.example/a/mcp", "authorization_servers": ["https://id.example"], "scopes_supported": ["r"]});
        for (at, challenge) in [
            ("https://x.example/meta", "Bearer resource_metadata=\"https://x.example/meta\""),
            ("https://x.example/.well-known/oauth-protected-resource/a/mcp", ""),
            ("https://x.example/.well-known/oauth-protected-resource", "Bearer"),
        ] {
            let found = resource(&documents([(at, about.clone())]), challenge).await.unwrap();
            assert_eq!(
                (found.issuer.as_str(), found.scopes.as_slice()),
                ("https://id.example", &["r".to_owned()][..])
            );
        }
        let own = resource(&documents([]), "").await.unwrap();
        assert_eq!(own.issuer, "https://x.example");
    }

    #[tokio::test]
    async fn a_server_speaks_for_nobody_but_itself() {
        for (name, is_own) in [
            ("https://x.example/a/mcp", true),
            ("https://x.example/a", true),
            ("https://x.example", true),
            ("https://x.example/a/mc", false),
            ("https://evil.example/a/mcp", false),
            ("http://x.example/a/mcp", false),
            ("https://x.example/a/mcp/more", false),
        ] {
            let about = json!({"resource": name, "authorization_servers": ["https://id.example"]});
            let http = documents([("https://x.example/.well-known/oauth-protected-resource/a/mcp", about)]);
            assert_eq!(resource(&http, "").await.is_ok(), is_own, "{name}");
        }
    }

    #[tokio::test]
    async fn an_issuer_is_found_at_each_of_the_known_places() {
        for (name, at) in [
            ("https://id.example", "https://id.example/.well-known/oauth-authorization-server"),
            ("https://id.example", "https://id.example/.well-known/openid-configuration"),
            ("https://id.example/t", "https://id.example/.well-known/oauth-authorization-server/t"),
            ("https://id.example/t", "https://id.example/.well-known/openid-configuration/t"),
            ("https://id.example/t", "https://id.example/t/.well-known/openid-configuration"),
        ] {
            assert_eq!(issuer(&documents([(at, metadata(name))]), name).await.unwrap().name, name, "{at}");
        }
    }

    #[tokio::test]
    async fn an_issuer_that_is_not_who_it_says_or_gives_less_is_refused() {
        let at = "https://id.example/.well-known/oauth-authorization-server";
        let with = |key: &str, value: Value| {
            let mut document = metadata("https://id.example");
            document[key] = value;
            documents([(at, document)])
        };
        for (http, says) in [
            (with("issuer", json!("https://id.example/")), "says that it is"),
            (with("issuer", json!("https://evil.example")), "says that it is"),
            (with("code_challenge_methods_supported", json!(["plain"])), "PKCE"),
            (with("code_challenge_methods_supported", Value::Null), "PKCE"),
            (with("token_endpoint", json!("http://id.example/token")), "isn't encrypted"),
            (with("token_endpoint", json!("http://127.0.0.1/token")), "isn't encrypted"),
            (with("authorization_endpoint", Value::Null), "names no authorization_endpoint"),
            (documents([]), "doesn't say how"),
        ] {
            let said = issuer(&http, "https://id.example").await.unwrap_err().text;
            assert!(said.contains(says), "{said}");
        }
        assert!(
            issuer(&documents([]), "http://id.example").await.unwrap_err().text.contains("isn't encrypted")
        );
    }
}
