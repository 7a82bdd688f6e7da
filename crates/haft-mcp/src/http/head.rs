//! What the headers of a message say of the protocol. The body decides; headers that disagree with it are refused, since
//! something between may have gone by them.

use crate::{
    era::{Era, LEGACY_VERSIONS, MODERN_VERSIONS, Meta},
    fault::Fault,
    frame::{Asked, Frame},
    params::Params,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use hyper::HeaderMap;
use serde_json::{Map, Value};

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAM_PREFIX: &str = "mcp-param-";
/// What a property is annotated with whose value stands in a header too.
const ANNOTATION: &str = "x-mcp-header";

/// The headers of one message.
pub(super) struct Head<'a>(pub(super) &'a HeaderMap);

impl Head<'_> {
    /// The era of a message.
    ///
    /// # Errors
    /// The revision isn't spoken here, or headers and body disagree about it.
    pub(super) fn era(&self, frame: &Frame<'_>) -> Result<Era, Fault> {
        let version = self.only(VERSION)?;
        let says_modern = version.is_some_and(|version| MODERN_VERSIONS.contains(&version));
        let is_known = version.is_none_or(|version| says_modern || LEGACY_VERSIONS.contains(&version));
        let unknown = |version: &str| {
            let all: Vec<&str> = LEGACY_VERSIONS.into_iter().chain(MODERN_VERSIONS).collect();
            Fault::unsupported_version(version, &all)
        };
        let Frame::Request(asked) = frame else {
            return match version {
                Some(version) if !is_known => Err(unknown(version)),
                _ if says_modern => Ok(Era::Modern),
                _ => Ok(Era::Legacy),
            };
        };
        let mut params = Params::read(asked)?;
        let meta = params.meta();
        if let Some(said) = meta.version() {
            return match version {
                Some(version) if version == said => Ok(Era::Modern),
                Some(_) => {
                    Err(Fault::header_mismatch("MCP-Protocol-Version isn't the protocolVersion of _meta"))
                }
                None => Err(Fault::header_mismatch("MCP-Protocol-Version is missing")),
            };
        }
        if asked.method == "initialize" {
            return self.of_handshake(params.protocol_version.as_deref(), &meta);
        }
        match version {
            Some(version) if !is_known => Err(unknown(version)),
            _ if says_modern => Ok(Era::Modern),
            _ if matches!(asked.method.as_str(), "server/discover" | "subscriptions/listen") => {
                Ok(Era::Modern)
            }
            _ => Ok(Era::Legacy),
        }
    }

    fn of_handshake(&self, asked: Option<&str>, meta: &Meta) -> Result<Era, Fault> {
        if meta.is_modern() {
            return Ok(Era::Modern);
        }
        match (self.only(VERSION)?, asked) {
            (Some(version), Some(asked)) if version != asked => {
                Err(Fault::header_mismatch("MCP-Protocol-Version isn't the protocolVersion of initialize"))
            }
            _ => Ok(Era::Legacy),
        }
    }

    /// Checks the headers that the modern era repeats of a request's body. `schema` gives the input schema of a tool.
    ///
    /// # Errors
    /// One is missing, or says something else.
    pub(super) fn check(
        &self,
        asked: &Asked<'_>,
        schema: impl FnOnce(&str) -> Option<Value>,
    ) -> Result<(), Fault> {
        match self.only(METHOD)? {
            None => return Err(Fault::header_mismatch("Mcp-Method is missing")),
            Some(method) if method != asked.method => {
                return Err(Fault::header_mismatch("Mcp-Method isn't the method of the body"));
            }
            Some(_) => {}
        }
        let params = Params::read(asked)?;
        let name = match asked.method.as_str() {
            "tools/call" | "prompts/get" => params.name.as_deref(),
            "resources/read" => params.uri.as_deref(),
            _ => return Ok(()),
        };
        self.says(NAME, "Mcp-Name", name)?;
        if asked.method != "tools/call" {
            return Ok(());
        }
        let Some(schema) = name.and_then(schema) else { return Ok(()) };
        let arguments =
            params.arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        self.check_arguments(&schema, &arguments, 0)
    }

    /// Properties that are annotated stand in headers too, at any depth of `properties`.
    fn check_arguments(&self, schema: &Value, arguments: &Value, depth: usize) -> Result<(), Fault> {
        /// Deeper schemas aren't looked at.
        const DEPTH_MAX: usize = 16;
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        for (name, property) in properties {
            let argument = arguments.get(name).unwrap_or(&Value::Null);
            if let Some(label) =
                property.get(ANNOTATION).and_then(Value::as_str).filter(|label| !label.is_empty())
            {
                let text = match argument {
                    Value::String(text) => Some(text.clone()),
                    Value::Bool(_) | Value::Number(_) => Some(argument.to_string()),
                    _ => None,
                };
                let key = format!("{PARAM_PREFIX}{}", label.to_ascii_lowercase());
                self.says(&key, &format!("Mcp-Param-{label}"), text.as_deref())?;
            }
            if depth < DEPTH_MAX {
                self.check_arguments(property, argument, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether a header says just this, or is absent where there is nothing to say.
    fn says(&self, key: &str, shown: &str, value: Option<&str>) -> Result<(), Fault> {
        match (self.only(key)?, value) {
            (None, None) => Ok(()),
            (Some(_), None) => {
                Err(Fault::header_mismatch(&format!("{shown} is there, and the body has no such value")))
            }
            (None, Some(_)) => Err(Fault::header_mismatch(&format!("{shown} is missing"))),
            (Some(said), Some(value)) => match decoded(said) {
                None => Err(Fault::header_mismatch(&format!("{shown} isn't valid base64"))),
                Some(said) if said == value => Ok(()),
                Some(_) => Err(Fault::header_mismatch(&format!("{shown} isn't what the body says"))),
            },
        }
    }

    /// The value of a header that is there at most once.
    fn only(&self, key: &str) -> Result<Option<&str>, Fault> {
        let mut values = self.0.get_all(key).iter();
        let Some(value) = values.next() else { return Ok(None) };
        let value = value.to_str().map(str::trim);
        match (value, values.next()) {
            (Ok(value), None) => Ok(Some(value)),
            _ => Err(Fault::header_mismatch(&format!("{key} is there twice, or isn't plain text"))),
        }
    }
}

/// The value that a header stands for: as it is, or `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let wrapped = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match wrapped {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::parse;
    use hyper::header::HeaderName;
    use serde_json::json;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        map
    }

    fn era(pairs: &[(&str, &str)], method: &str, params: Value) -> Result<Era, i64> {
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        Head(&headers(pairs)).era(&parse(&text)).map_err(|fault| fault.error.code)
    }

    #[test]
    fn header_and_body_agree_about_the_era() {
        let said = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
        let (modern, legacy) =
            ([("MCP-Protocol-Version", "2026-07-28")], [("MCP-Protocol-Version", "2025-06-18")]);
        assert_eq!(era(&modern, "tools/list", said.clone()), Ok(Era::Modern));
        assert_eq!(era(&modern, "tools/list", json!({})), Ok(Era::Modern), "and lacks its _meta");
        assert_eq!(era(&legacy, "tools/list", said.clone()), Err(-32_020));
        assert_eq!(era(&[], "tools/list", said.clone()), Err(-32_020));
        assert_eq!(era(&legacy, "tools/list", json!({})), Ok(Era::Legacy));
        assert_eq!(era(&[], "tools/list", json!({})), Ok(Era::Legacy));
        assert_eq!(era(&[("MCP-Protocol-Version", "1999-01-01")], "tools/list", json!({})), Err(-32_022));
        assert_eq!(era(&modern, "initialize", said), Ok(Era::Modern), "which has no such method");
        assert_eq!(era(&[], "initialize", json!({"protocolVersion": "2026-07-28"})), Ok(Era::Legacy));
        assert_eq!(era(&legacy, "initialize", json!({"protocolVersion": "2025-11-25"})), Err(-32_020));
    }

    fn check(pairs: &[(&str, &str)], params: Value) -> Result<(), i64> {
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let Frame::Request(asked) = parse(&text) else { panic!("a request") };
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        }});
        Head(&headers(pairs)).check(&asked, |_| Some(schema)).map_err(|fault| fault.error.code)
    }

    #[test]
    fn what_headers_repeat_is_what_the_body_says() {
        let (method, name) = (("Mcp-Method", "tools/call"), ("mcp-name", " t "));
        let plain = || json!({"name": "t"});
        assert_eq!(check(&[method, name], plain()), Ok(()));
        assert_eq!(check(&[name], plain()), Err(-32_020));
        assert_eq!(check(&[method], plain()), Err(-32_020));
        assert_eq!(check(&[("Mcp-Method", "TOOLS/CALL"), name], plain()), Err(-32_020));
        assert_eq!(check(&[method, ("Mcp-Name", "u")], plain()), Err(-32_020));
        assert_eq!(check(&[method, name, name], plain()), Err(-32_020));
        assert_eq!(check(&[method, name], json!({})), Err(-32_020), "the body names nothing");
        assert_eq!(check(&[method], json!({})), Ok(()));

        let called = |region: Value| json!({"name": "t", "arguments": {"region": region}});
        let region = |value: &'static str| [method, name, ("Mcp-Param-Region", value)];
        assert_eq!(check(&region("Hello"), called(json!("Hello"))), Ok(()));
        assert_eq!(check(&region("=?base64?SGVsbG8=?="), called(json!("Hello"))), Ok(()));
        assert_eq!(check(&region("=?base64?SGVsbG8="), called(json!("=?base64?SGVsbG8="))), Ok(()));
        for wrong in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "hello"] {
            assert_eq!(check(&region(wrong), called(json!("Hello"))), Err(-32_020), "{wrong}");
        }
        assert_eq!(check(&[method, name], called(json!("Hello"))), Err(-32_020));
        assert_eq!(check(&[method, name], called(json!(null))), Ok(()));
        assert_eq!(check(&region("x"), plain()), Err(-32_020));
        let deep = json!({"name": "t", "arguments": {"deep": {"n": 4}}});
        assert_eq!(check(&[method, name, ("Mcp-Param-N", "4")], deep.clone()), Ok(()));
        assert_eq!(check(&[method, name], deep), Err(-32_020));
    }
}
