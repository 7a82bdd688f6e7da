//! The parameters that are read here; of a tool's arguments only the text.

use crate::{
    era::Meta,
    fault::Fault,
    frame::{Asked, present},
};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

/// How long the name of a tool or a prompt may be: unknown ones are compared with all that are known.
const NAME_MAX_BYTES: usize = 1_024;

/// Parameters of any request.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Params<'a> {
    /// Of a tool or a prompt.
    pub(crate) name: Option<String>,
    /// Of a tool, as they were written.
    #[serde(borrow)]
    pub(crate) arguments: Option<&'a RawValue>,
    pub(crate) cursor: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Map<String, Value>>,
    /// Of a resource.
    pub(crate) uri: Option<String>,
    /// Of log lines.
    pub(crate) level: Option<String>,
    /// Of `initialize`.
    pub(crate) protocol_version: Option<String>,
    /// Of `initialize`.
    pub(crate) capabilities: Option<Map<String, Value>>,
    /// What a stream tells of.
    pub(crate) notifications: Option<Value>,
    /// Which request is cancelled.
    #[serde(borrow)]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    input_responses: Option<&'a RawValue>,
    /// Which call the answers are for.
    pub(crate) request_state: Option<String>,
}

impl<'a> Params<'a> {
    /// Reads a request's parameters.
    ///
    /// # Errors
    /// One of them is of another kind than it must be, or a name is too long.
    pub(crate) fn read(asked: &Asked<'a>) -> Result<Self, Fault> {
        let Some(params) = asked.params else { return Ok(Self::default()) };
        let invalid =
            |why: String| Fault::invalid_params(format!("Invalid params for {}: {why}", asked.method));
        let params = Self::of(params).map_err(|error| invalid(error.to_string()))?;
        if params.name.as_ref().is_some_and(|name| name.len() > NAME_MAX_BYTES) {
            return Err(invalid(format!("\"name\" has at most {NAME_MAX_BYTES} bytes")));
        }
        Ok(params)
    }

    /// Reads parameters.
    ///
    /// # Errors
    /// One of them is of another kind than it must be.
    pub(crate) fn of(params: &'a RawValue) -> serde_json::Result<Self> {
        serde_json::from_str(params.get())
    }

    /// The request's `_meta`.
    pub(crate) fn meta(&mut self) -> Meta {
        Meta::new(self.meta.take().unwrap_or_default())
    }

    /// The client's answers, each an object.
    ///
    /// # Errors
    /// They are something else.
    pub(crate) fn answers(&self) -> Result<Map<String, Value>, Fault> {
        let Some(raw) = self.input_responses else { return Ok(Map::new()) };
        let answers: Map<String, Value> = serde_json::from_str(raw.get())
            .map_err(|_| Fault::invalid_params("\"inputResponses\" must be an object of results"))?;
        match answers.iter().find(|(_, answer)| !answer.is_object()) {
            Some((key, _)) => Err(Fault::invalid_params(format!(
                "the answer to \"{key}\" in \"inputResponses\" must be an object"
            ))),
            None => Ok(answers),
        }
    }
}
