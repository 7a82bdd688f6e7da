//! A JSON-RPC error: what a client gets where there is no result.

/// The line isn't JSON.
const PARSE_ERROR: i32 = -32_700;
/// JSON, but no message of the protocol.
const INVALID_REQUEST: i32 = -32_600;
/// A known method whose parameters can't be acted on.
const INVALID_PARAMS: i32 = -32_602;
/// A fault of ours.
const INTERNAL_ERROR: i32 = -32_603;
/// Too much at once; the first code that JSON-RPC leaves to servers.
const BUSY: i32 = -32_000;

/// Code and words of one error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// As JSON-RPC and the protocol number them.
    pub(crate) code: i32,
    /// For whoever wrote the client.
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn not_json(why: &str) -> Self {
        Self { code: PARSE_ERROR, message: format!("Parse error: {why}") }
    }

    pub(crate) fn invalid_request(why: &str) -> Self {
        Self { code: INVALID_REQUEST, message: format!("Invalid request: {why}") }
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into() }
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { code: INTERNAL_ERROR, message: message.into() }
    }

    pub(crate) fn busy(in_flight: usize) -> Self {
        Self { code: BUSY, message: format!("Busy: {in_flight} requests are in flight; send it again later") }
    }
}
