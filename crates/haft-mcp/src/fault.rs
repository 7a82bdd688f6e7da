//! A JSON-RPC error: what a client gets where there is no result.

use crate::RpcError;
use serde_json::{Value, json};

/// The line isn't JSON.
const PARSE_ERROR: i64 = -32_700;
/// JSON, but no message of the protocol.
const INVALID_REQUEST: i64 = -32_600;
/// Header and body disagree.
const HEADER_MISMATCH: i64 = -32_020;

/// One error, and what HTTP says with it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    /// Code, words and data.
    pub(crate) error: RpcError,
    /// The HTTP status that the modern era wants; the legacy one has 200 for all that was a request.
    pub(crate) status: u16,
}

impl Fault {
    fn new(code: i64, message: impl Into<String>, status: u16) -> Self {
        Self { error: RpcError::new(code, message), status }
    }

    pub(crate) fn not_json(why: &str) -> Self {
        Self::new(PARSE_ERROR, format!("Parse error: {why}"), 400)
    }

    pub(crate) fn invalid_request(why: &str) -> Self {
        Self::new(INVALID_REQUEST, format!("Invalid request: {why}"), 400)
    }

    pub(crate) fn no_method(method: &str) -> Self {
        Self::new(RpcError::METHOD_NOT_FOUND, format!("Method not found: {method}"), 404)
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(RpcError::INVALID_PARAMS, message, 200)
    }

    /// What the modern era wants on every request is missing.
    pub(crate) fn bad_meta(missing: &[&str]) -> Self {
        let message = format!(
            "Invalid params: _meta is missing or has malformed {}; clients of the older revisions begin with initialize",
            missing.join(" and ")
        );
        Self::new(RpcError::INVALID_PARAMS, message, 400)
    }

    pub(crate) fn header_mismatch(why: &str) -> Self {
        Self::new(HEADER_MISMATCH, format!("Header mismatch: {why}"), 400)
    }

    pub(crate) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let mut fault = Self::new(RpcError::UNSUPPORTED_VERSION, "Unsupported protocol version", 400);
        fault.error.data = Some(json!({"supported": supported, "requested": requested}));
        fault
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(RpcError::INTERNAL, message, 200)
    }

    pub(crate) fn busy(in_flight: usize) -> Self {
        Self::new(
            RpcError::BUSY,
            format!("Busy: {in_flight} requests are in flight; send it again later"),
            200,
        )
    }

    /// The error as it goes out.
    pub(crate) fn to_json(&self) -> Value {
        self.error.to_json()
    }
}

impl From<RpcError> for Fault {
    fn from(error: RpcError) -> Self {
        let status = match error.code {
            RpcError::METHOD_NOT_FOUND => 404,
            PARSE_ERROR | INVALID_REQUEST | HEADER_MISMATCH => 400,
            RpcError::UNSUPPORTED_VERSION | RpcError::MISSING_CAPABILITY => 400,
            _ => 200,
        };
        Self { error, status }
    }
}
