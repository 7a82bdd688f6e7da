//! The eras of the protocol and its revisions, and what a request's `_meta` says of both.

use crate::{fault::Fault, level::Level};
use serde_json::{Map, Value};

/// Revisions that begin with a handshake, oldest first.
pub(crate) const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The only one in which several messages may come at once.
pub(crate) const BATCHING: &str = "2025-03-26";
/// The one that is offered where a client wants another.
pub(crate) const LATEST_LEGACY: &str = "2025-11-25";
/// The revision without sessions, in which each request stands alone.
pub(crate) const MODERN: &str = "2026-07-28";
/// All revisions of that kind.
pub(crate) const MODERN_VERSIONS: [&str; 1] = [MODERN];

/// What the protocol keeps for itself in `_meta` begins so.
const OWN_PREFIXES: [&str; 2] = ["io.modelcontextprotocol/", "modelcontextprotocol.io/"];
/// Where a request names its revision.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// Where a request has name and version of its client.
pub(crate) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
/// Where a request says what its client can do.
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
/// Where a request says which log lines it wants.
pub(crate) const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// Where the modern era wants name and version of the server.
pub(crate) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// Where the modern era says which stream a notification belongs to.
pub(crate) const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
/// Under which progress of a request is told, in both eras.
pub(crate) const TOKEN_KEY: &str = "progressToken";

/// Which shape of the protocol a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25: a handshake, then a session.
    Legacy,
    /// From 2026-07-28: each request stands alone.
    Modern,
}

/// The revision that a handshake agrees on.
pub(crate) fn negotiate(requested: &str) -> &'static str {
    LEGACY_VERSIONS.into_iter().find(|version| *version == requested).unwrap_or(LATEST_LEGACY)
}

/// A request's `_meta`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Meta(Map<String, Value>);

impl Meta {
    pub(crate) fn new(fields: Map<String, Value>) -> Self {
        Self(fields)
    }

    /// The revision that the request names; only those of the modern era do.
    pub(crate) fn version(&self) -> Option<&str> {
        self.0.get(VERSION_KEY)?.as_str()
    }

    /// Whether the request is one of the modern era, however malformed.
    pub(crate) fn is_modern(&self) -> bool {
        self.0.contains_key(VERSION_KEY)
    }

    /// Under which the client wants to hear of progress.
    pub(crate) fn token(&self) -> Option<Value> {
        let is_token = |token: &&Value| token.is_string() || token.is_i64() || token.is_u64();
        self.0.get(TOKEN_KEY).filter(is_token).cloned()
    }

    /// The least level of log lines that this request wants.
    pub(crate) fn level(&self) -> Option<Level> {
        Level::parse(self.0.get(LEVEL_KEY)?.as_str()?)
    }

    /// What isn't the protocol's own: it goes on to servers behind haft.
    pub(crate) fn foreign(&self) -> Map<String, Value> {
        let is_foreign = |(key, _): &(&String, &Value)| !is_own(key);
        self.0.iter().filter(is_foreign).map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Checks what the modern era wants on every request, and gives the client's capabilities.
    ///
    /// # Errors
    /// What is missing, or a revision that isn't spoken here.
    pub(crate) fn check(&self) -> Result<Map<String, Value>, Fault> {
        let capabilities = self.0.get(CAPABILITIES_KEY).and_then(Value::as_object);
        let missing: Vec<&str> =
            [(VERSION_KEY, self.version().is_some()), (CAPABILITIES_KEY, capabilities.is_some())]
                .into_iter()
                .filter_map(|(key, is_there)| (!is_there).then_some(key))
                .collect();
        match (self.version(), capabilities) {
            (Some(version), Some(_)) if !MODERN_VERSIONS.contains(&version) => {
                Err(Fault::unsupported_version(version, &MODERN_VERSIONS))
            }
            (Some(_), Some(capabilities)) => Ok(capabilities.clone()),
            _ => Err(Fault::bad_meta(&missing)),
        }
    }
}

/// Whether the protocol keeps this key of `_meta` for itself.
pub(crate) fn is_own(key: &str) -> bool {
    key == TOKEN_KEY || OWN_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn meta(fields: Value) -> Meta {
        Meta::new(fields.as_object().cloned().unwrap())
    }

    #[test]
    fn a_modern_request_names_its_revision_and_its_capabilities() {
        let whole = json!({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {"sampling": {}}});
        assert_eq!(Value::Object(meta(whole).check().unwrap()), json!({"sampling": {}}));
        let cases = [
            (json!({}), -32_602),
            (json!({VERSION_KEY: "2026-07-28"}), -32_602),
            (json!({CAPABILITIES_KEY: {}}), -32_602),
            (json!({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: []}), -32_602),
            (json!({VERSION_KEY: "2025-11-25", CAPABILITIES_KEY: {}}), -32_022),
        ];
        for (fields, code) in cases {
            let fault = meta(fields.clone()).check().unwrap_err();
            assert_eq!((fault.error.code, fault.status), (code, 400), "{fields}");
        }
    }

    #[test]
    fn what_is_the_protocols_own_stays_here() {
        let all = meta(
            json!({TOKEN_KEY: 1, VERSION_KEY: "x", "modelcontextprotocol.io/x": 1, "com.example/trace": "t"}),
        );
        assert_eq!(Value::Object(all.foreign()), json!({"com.example/trace": "t"}));
        assert_eq!(all.token(), Some(json!(1)));
        assert_eq!(meta(json!({TOKEN_KEY: {}})).token(), None);
    }

    #[test]
    fn a_handshake_agrees_on_what_both_speak() {
        assert_eq!(negotiate("2024-11-05"), "2024-11-05");
        assert_eq!(negotiate("2026-07-28"), LATEST_LEGACY);
        assert_eq!(negotiate("1.0"), LATEST_LEGACY);
    }
}
