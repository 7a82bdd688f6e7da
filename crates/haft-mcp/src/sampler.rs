//! The session's own model, for servers behind haft that ask it something: what the protocol calls sampling.
//!
//! Keeps "no model is lent unasked": the client asks the person first, or goes by the settings.

use crate::RpcError;
use haft_core::BoxFuture;
use serde_json::Value;

/// A model that answers servers.
pub trait Sampler: Send + Sync {
    /// Answers the parameters of `sampling/createMessage` by its result. Whether the server may ask is settled before.
    ///
    /// # Errors
    /// What is asked can't be put to the model, or the model gave no answer.
    ///
    /// # Cancellation
    /// Dropping the future ends the model's turn.
    fn sample(&self, params: &Value) -> BoxFuture<'static, Result<Value, RpcError>>;
}
