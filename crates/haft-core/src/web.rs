//! The open web, as tools and hooks see it: URLs in one canonical form, and the client that guards them.
//!
//! A URL is parsed once, here. What rules match, what a lease compares and what is contacted is the same
//! value, so that no two readers can take one spelling for two hosts. Leaves names, addresses and
//! connections to the client behind [`Web`].

use crate::{BoxFuture, Cancel, Failure};
use std::{fmt, net::IpAddr, time::Duration};
use url::{Host, Url};

/// A URL has at most so many bytes.
const URL_MAX_BYTES: usize = 8 * 1024;
/// So much of a wrong URL is shown, in characters.
const SHOWN_MAX_CHARS: usize = 200;
/// How much of a body is read unless asked otherwise, after decompression.
const BODY_BYTES: usize = 5 * 1024 * 1024;
/// How long a fetch may take unless asked otherwise, all hops together.
const FETCH_TIMEOUT: Duration = Duration::from_secs(45);

/// An `http` or `https` URL with its host in canonical form: lower case, punycode, addresses in their usual
/// spelling, no dot at the end; no user name, no password, no fragment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebUrl(Url);

impl WebUrl {
    /// Reads a whole URL.
    ///
    /// # Errors
    /// Invalid input for what is no URL, has another scheme, no host, or a user name or password.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        check_length(text)?;
        let url = Url::parse(text.trim()).map_err(|error| {
            Failure::invalid(format!(
                "\"{}\" is no URL ({error}); write it as https://host/path",
                shown(text)
            ))
        })?;
        Self::of(url)
    }

    /// Reads a reference as it stands in a page or a redirect, relative to this URL.
    ///
    /// # Errors
    /// As [`WebUrl::parse`].
    pub fn join(&self, reference: &str) -> Result<Self, Failure> {
        check_length(reference)?;
        let url = self.0.join(reference.trim()).map_err(|error| {
            Failure::invalid(format!("\"{}\" leads nowhere from {self}: {error}", shown(reference)))
        })?;
        Self::of(url)
    }

    fn of(mut url: Url) -> Result<Self, Failure> {
        if !matches!(url.scheme(), "http" | "https") {
            let text =
                format!("{}: URLs can't be fetched, only https and http ones can", shown(url.scheme()));
            return Err(Failure::invalid(text));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let text = "the URL has a user name or password in it; leave out what stands before the @";
            return Err(Failure::invalid(text));
        }
        url.set_fragment(None);
        let bare = match url.host() {
            Some(Host::Domain(name)) => name.strip_suffix('.').map(str::to_owned),
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => None,
            None => return Err(Failure::invalid("the URL has no host; write it as https://host/path")),
        };
        if let Some(bare) = bare {
            if bare.is_empty() || bare.ends_with('.') {
                return Err(Failure::invalid("the URL's host ends with dots; write it without them"));
            }
            url.set_host(Some(&bare)).map_err(|error| {
                Failure::invalid(format!("{} is no host: {error}; correct it", shown(&bare)))
            })?;
        }
        Ok(Self(url))
    }

    /// The whole URL.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it is `https`.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The host alone; an IPv6 address stands in brackets.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The address, where the host is one and no name.
    pub fn address(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
            Host::Domain(_) => None,
        }
    }

    /// The port that is connected to.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(if self.is_https() { 443 } else { 80 })
    }

    /// The host, with `:port` unless it is the scheme's own: what a tool states that it contacts, and what
    /// rules match.
    pub fn authority(&self) -> String {
        match self.0.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host().to_owned(),
        }
    }

    /// The host with its port, always: how an operator allows a private one.
    pub fn host_and_port(&self) -> String {
        format!("{}:{}", self.host(), self.port())
    }

    /// Path and query, as they are sent.
    pub fn target(&self) -> String {
        match self.0.query() {
            Some(query) => format!("{}?{query}", self.0.path()),
            None => self.0.path().to_owned(),
        }
    }

    /// The same over `https`, where this is plain `http` on its usual port.
    #[must_use]
    pub fn over_https(&self) -> Option<Self> {
        if self.is_https() || self.0.port().is_some() {
            return None;
        }
        let mut url = self.0.clone();
        url.set_scheme("https").ok()?;
        Some(Self(url))
    }
}

impl fmt::Display for WebUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn check_length(text: &str) -> Result<(), Failure> {
    if text.len() <= URL_MAX_BYTES {
        return Ok(());
    }
    let (has, most) = (text.len(), URL_MAX_BYTES);
    Err(Failure::invalid(format!("the URL has {has} bytes and may have {most}; use a shorter one")))
}

/// On one line, and no more than helps.
fn shown(text: &str) -> String {
    text.trim().chars().take(SHOWN_MAX_CHARS).flat_map(char::escape_debug).collect()
}

/// What to fetch, always with `GET`.
#[derive(Debug, Clone)]
pub struct WebRequest {
    /// From where.
    pub url: WebUrl,
    /// Headers that the operator set for this host; sent to no other.
    pub headers: Vec<(String, String)>,
    /// `host:port` of what the operator allows although it isn't public, exact.
    pub allow: Vec<String>,
    /// Where an operator allows a private place, in words for whoever is refused; none: nothing is said of it.
    pub allow_by: Option<&'static str>,
    /// How much of the body is read, after decompression.
    pub max_bytes: usize,
    /// How long it may take, all hops together.
    pub deadline: Duration,
    /// Ends it early.
    pub cancel: Cancel,
}

impl WebRequest {
    /// A request with no headers of its own and the usual limits.
    pub fn new(url: WebUrl) -> Self {
        Self {
            url,
            headers: Vec::new(),
            allow: Vec::new(),
            allow_by: None,
            max_bytes: BODY_BYTES,
            deadline: FETCH_TIMEOUT,
            cancel: Cancel::new(),
        }
    }
}

/// One request that was sent, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHop {
    /// The URL.
    pub url: WebUrl,
    /// The address and port that were checked and connected to.
    pub address: String,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct WebPage {
    /// The URL that answered, after redirects.
    pub url: WebUrl,
    /// Every request that was sent for it, in order.
    pub hops: Vec<WebHop>,
    /// The status code.
    pub status: u16,
    /// Header names (lower case) and values.
    pub headers: Vec<(String, String)>,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// Whether the body is longer than was asked for.
    pub cut: bool,
    /// How long the whole body is, where the server says so in bytes of the body itself.
    pub whole_bytes: Option<u64>,
    /// Where it redirects to, where that is another host or port: it was not judged, so it is not followed.
    pub elsewhere: Option<WebUrl>,
    /// Whether it was kept from an earlier fetch.
    pub from_cache: bool,
}

impl WebPage {
    /// The first header of that (lower case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Fetches from public hosts only.
///
/// Each hop's scheme, host and addresses are checked, and the checked address is the one that is connected
/// to. Redirects are followed on the same host and port alone. No proxy, cookies, credentials or referer.
pub trait Web: Send + Sync {
    /// Fetches a page.
    ///
    /// # Errors
    /// Permission for what isn't public, saying which hop and why; unavailable where no connection can be
    /// made; timeout at the deadline.
    fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebPage, Failure>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_has_one_spelling() {
        for (text, authority) in [
            ("https://Example.COM/", "example.com"),
            ("https://example.com.:443/#top", "example.com"),
            ("http://example.com:80/", "example.com"),
            ("http://example.com:443/", "example.com:443"),
            ("http://bücher.example/", "xn--bcher-kva.example"),
            ("http://%65xample.com/", "example.com"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://127.0.0.1./", "127.0.0.1"),
            ("http://１２７.0.0.1/", "127.0.0.1"),
            ("http://[::FFFF:7f00:1]:81/", "[::ffff:7f00:1]:81"),
        ] {
            assert_eq!(WebUrl::parse(text).unwrap().authority(), authority, "{text}");
        }
    }

    #[test]
    fn what_is_no_plain_web_url_is_refused() {
        for (text, part) in [
            ("file:///etc/passwd", "only https and http"),
            ("gopher://x/", "only https and http"),
            ("https://user@example.com/", "before the @"),
            ("https://:word@example.com/", "before the @"),
            ("example.com", "is no URL"),
            ("https://", "is no URL"),
        ] {
            let said = WebUrl::parse(text).unwrap_err().text;
            assert!(said.contains(part), "{text}: {said}");
        }
        assert!(WebUrl::parse("https://example.com../").is_err());
        assert!(WebUrl::parse(&format!("https://a/{}", "x".repeat(9_000))).is_err());
    }

    #[test]
    fn the_parts_are_those_of_the_canonical_form() {
        let url = WebUrl::parse("http://example.com/a b?q=1#f").unwrap();
        assert_eq!((url.target().as_str(), url.port()), ("/a%20b?q=1", 80));
        assert_eq!(url.over_https().unwrap().as_str(), "https://example.com/a%20b?q=1");
        assert_eq!(url.host_and_port(), "example.com:80");
        assert_eq!(url.join("../c").unwrap().as_str(), "http://example.com/c");
        assert_eq!(url.join("//other.org").unwrap().authority(), "other.org");
        assert!(WebUrl::parse("http://example.com:8080/").unwrap().over_https().is_none());
        let address = WebUrl::parse("http://[::1]/").unwrap().address();
        assert_eq!(address, Some(IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)));
    }
}
