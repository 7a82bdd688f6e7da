//! What an operator sets for `fetch`.

use haft_core::WebUrl;

/// A header for one host; its value may be a secret and is sent to no other host.
#[derive(Clone, PartialEq, Eq)]
pub struct FetchHeader {
    /// The host, with `:port` where it isn't the scheme's own.
    pub host: String,
    /// The header's name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What an operator sets for `fetch`; by default nothing private is allowed and no header is added.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FetchSettings {
    /// `host:port` of hosts that may be contacted though they aren't public, exact.
    pub allow_private: Vec<String>,
    /// Headers by host.
    pub headers: Vec<FetchHeader>,
}

impl FetchSettings {
    /// The entries that can never match, each with what is wrong with it.
    pub fn problems(&self) -> Vec<String> {
        let written = self.allow_private.iter().filter(|entry| canonical(entry).is_none());
        written.map(|entry| format!("\"{entry}\" is no host:port; write it as \"localhost:3000\"")).collect()
    }

    /// The allowed places in canonical form.
    pub(super) fn allowed(&self) -> Vec<String> {
        self.allow_private.iter().filter_map(|entry| canonical(entry)).collect()
    }

    /// Whether this very host and port is allowed.
    pub(super) fn allows(&self, url: &WebUrl) -> bool {
        self.allowed().contains(&url.host_and_port())
    }

    /// The headers for a host.
    pub(super) fn headers_for(&self, url: &WebUrl) -> Vec<(String, String)> {
        let authority = url.authority();
        let own = self.headers.iter().filter(|header| header.host.eq_ignore_ascii_case(&authority));
        own.map(|header| (header.name.clone(), header.value.clone())).collect()
    }
}

/// `Localhost:3000` as the client knows it; none without a port, which would allow more than is meant.
fn canonical(entry: &str) -> Option<String> {
    let (_, port) = entry.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let url = WebUrl::parse(&format!("http://{entry}/")).ok()?;
    (url.target() == "/" && url.port() == port).then(|| url.host_and_port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_place_is_one_host_and_one_port() {
        let allow_private = ["LocalHost:3000", "127.1:80", "[::1]:8080", "localhost", "a:b", "a/x:80"];
        let settings = FetchSettings {
            allow_private: allow_private.map(str::to_owned).to_vec(),
            headers: vec![FetchHeader {
                host: "API.example.com".into(),
                name: "x".into(),
                value: "1".into(),
            }],
        };
        assert_eq!(settings.allowed(), ["localhost:3000", "127.0.0.1:80", "[::1]:8080"]);
        assert_eq!(settings.problems().len(), 3);
        let url = |text| WebUrl::parse(text).unwrap();
        assert!(settings.allows(&url("http://localhost:3000/x")));
        assert!(!settings.allows(&url("http://localhost:3001/")));
        assert_eq!(settings.headers_for(&url("https://api.example.com/")).len(), 1);
        assert!(settings.headers_for(&url("https://api.example.com:8443/")).is_empty());
    }
}
