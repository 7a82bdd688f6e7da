//! An error of the protocol as one side tells the other.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// An error in place of a result, as JSON-RPC writes it.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Deserialize)]
#[error("{message} (code {code})")]
pub struct RpcError {
    /// As JSON-RPC and the protocol number them.
    #[serde(default)]
    pub code: i64,
    /// In words.
    #[serde(default)]
    pub message: String,
    /// What belongs to the code.
    #[serde(default)]
    pub data: Option<Value>,
}

impl RpcError {
    /// A person said no to what a server asked of the model.
    pub const REJECTED: i64 = -1;
    /// There is no such method, in this era.
    pub const METHOD_NOT_FOUND: i64 = -32_601;
    /// Nothing has that name or address, or the parameters can't be acted on.
    pub const INVALID_PARAMS: i64 = -32_602;
    /// A fault of whoever answers.
    pub const INTERNAL: i64 = -32_603;
    /// Too much at once; the first code that JSON-RPC leaves to servers.
    pub const BUSY: i64 = -32_000;
    /// A version of the protocol that isn't spoken there.
    pub const UNSUPPORTED_VERSION: i64 = -32_022;
    /// The request needs something of its client that this one doesn't declare.
    pub const MISSING_CAPABILITY: i64 = -32_021;

    /// An error of this code.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Nothing has that name or address, or the parameters can't be acted on.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// A fault of whoever answers.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    /// No server behind haft has this resource; `data` names it, as the protocol wants.
    pub fn no_resource(uri: &str) -> Self {
        Self { data: Some(json!({"uri": uri})), ..Self::invalid_params(format!("Resource not found: {uri}")) }
    }

    /// The client must declare these capabilities first.
    pub fn missing_capability(names: &[&str]) -> Self {
        let wanted: Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), Value::Object(Map::new()))).collect();
        Self {
            data: Some(json!({"requiredCapabilities": wanted})),
            ..Self::new(
                Self::MISSING_CAPABILITY,
                format!("this needs a client that declares the capability {}", names.join(" and ")),
            )
        }
    }

    /// The error as it goes out.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(fields)) = (&self.data, error.as_object_mut()) {
            fields.insert("data".to_owned(), data.clone());
        }
        error
    }
}
