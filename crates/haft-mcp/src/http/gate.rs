//! Who may come in: hosts and origins against pages that pretend to be somebody else, a token against everybody else.

use super::response::{Response, refused};
use hyper::{HeaderMap, StatusCode, header};

/// Names of this very machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Who may come in over HTTP.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HttpSetup {
    token: Option<String>,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl HttpSetup {
    /// Whoever has the token, by a name of this machine's own.
    pub fn with_token(token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..Self::default() }
    }

    /// Whoever can connect, by a name of this machine's own. Only where nobody else can: on loopback.
    pub fn without_token() -> Self {
        Self::default()
    }

    /// Another name or address under which clients know this server, without port.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// A page that may use this server from a browser, such as `https://app.example`.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into().trim_end_matches('/').to_ascii_lowercase());
        self
    }
}

/// The gate of one endpoint.
pub(super) struct Gate(HttpSetup);

impl Gate {
    pub(super) fn new(setup: HttpSetup) -> Self {
        Self(setup)
    }

    /// Checks host and origin.
    ///
    /// # Errors
    /// The response that refuses.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Response> {
        let Some(authority) = only(headers, header::HOST) else {
            return Err(refused(StatusCode::BAD_REQUEST, "the request needs one Host header"));
        };
        let host = host_of(&authority);
        let is_own = LOOPBACK.contains(&host.as_str()) || self.0.hosts.contains(&host);
        if !is_own {
            let why = "this Host isn't one of the server's names; start it with --allow-host to add one";
            return Err(refused(StatusCode::FORBIDDEN, why));
        }
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, header::ORIGIN).unwrap_or_default();
        // A page of this very server is its own; all others have to be named.
        let is_same = origin.split_once("://").is_some_and(|(_, from)| from == authority);
        if is_same || self.0.origins.contains(&origin) {
            return Ok(());
        }
        let why = "pages of this Origin may not use the server; start it with --allow-origin to let them";
        Err(refused(StatusCode::FORBIDDEN, why))
    }

    /// Checks the token.
    ///
    /// # Errors
    /// The response that refuses.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Response> {
        let Some(token) = &self.0.token else { return Ok(()) };
        let said = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let said = said.and_then(|said| said.split_once(' '));
        let is_right = said.is_some_and(|(scheme, said)| {
            // As hashes, which are compared in constant time.
            scheme.eq_ignore_ascii_case("bearer")
                && blake3::hash(said.trim().as_bytes()) == blake3::hash(token.as_bytes())
        });
        if is_right {
            return Ok(());
        }
        let why = "the request needs the header \"Authorization: Bearer TOKEN\" with the server's token";
        let mut response = refused(StatusCode::UNAUTHORIZED, why);
        let challenge = header::HeaderValue::from_static("Bearer realm=\"haft\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        Err(response)
    }

    /// The origin of a page that may read responses.
    pub(super) fn page(&self, headers: &HeaderMap) -> Option<header::HeaderValue> {
        let origin = only(headers, header::ORIGIN).filter(|origin| self.0.origins.contains(origin))?;
        header::HeaderValue::from_str(&origin).ok()
    }
}

/// The value of a header that is there once, in small letters.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim().to_ascii_lowercase();
    values.next().is_none().then_some(value)
}

/// The host of an authority, without port; an address of version 6 in its brackets.
fn host_of(authority: &str) -> String {
    let end = match authority.rfind(']') {
        Some(bracket) => bracket + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    authority.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_own_names_and_own_or_named_pages_come_in() {
        let gate =
            Gate::new(HttpSetup::without_token().allow_host("box.lan").allow_origin("https://app.example/"));
        let check = |host: &str, origin: Option<&str>| {
            let mut pairs = vec![(header::HOST, host)];
            pairs.extend(origin.map(|origin| (header::ORIGIN, origin)));
            gate.check_origin(&headers(&pairs)).is_ok()
        };
        assert!(check("localhost:80", None) && check("LOCALHOST", None) && check("[::1]:9", None));
        assert!(check("127.0.0.1:9", Some("http://127.0.0.1:9")) && check("box.lan:9", None));
        assert!(check("localhost:9", Some("https://app.example")));
        for (host, origin) in [
            ("evil.example.com", None),
            ("localhost.evil.example.com", None),
            ("127.0.0.1:9", Some("http://evil.example.com")),
            ("127.0.0.1:9", Some("http://127.0.0.1:8")),
            ("127.0.0.1:9", Some("null")),
        ] {
            assert!(!check(host, origin), "{host} {origin:?}");
        }
        assert!(gate.check_origin(&HeaderMap::new()).is_err());
    }

    #[test]
    fn only_the_token_opens() {
        let gate = Gate::new(HttpSetup::with_token("secret"));
        let check = |value: &str| gate.check_token(&headers(&[(header::AUTHORIZATION, value)])).is_ok();
        assert!(check("Bearer secret") && check("bearer  secret"));
        assert!(!check("Bearer secre") && !check("Basic secret") && !check("secret") && !check("Bearer "));
        let refused = gate.check_token(&HeaderMap::new()).unwrap_err();
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        assert!(refused.headers().contains_key(header::WWW_AUTHENTICATE));
        assert!(Gate::new(HttpSetup::without_token()).check_token(&HeaderMap::new()).is_ok());
    }
}
