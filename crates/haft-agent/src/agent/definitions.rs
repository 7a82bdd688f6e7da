//! What the model is offered, each schema as its provider accepts it.

use crate::ToolDefinition;
use haft_core::Input;
use haft_runtime::{
    Offer, Session, Snapshot,
    lower::{Dialect, Keys, lower_spec},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The definitions of one request.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// In the snapshot's stable order; not what a rule denies whole.
    pub(super) tools: Vec<ToolDefinition>,
    /// Of tools some of whose fields are sent under other names.
    keys: BTreeMap<String, Keys>,
}

impl Definitions {
    /// Those of the tools that the session sends. Every schema was lowered once when its tool was registered, and one
    /// for which that fails isn't in the catalogue.
    pub(super) fn of(session: &Session, snapshot: &Snapshot, dialect: Dialect) -> Self {
        let mut definitions = Self::default();
        let sent = snapshot.offers().filter(|offer| session.sends(offer, snapshot) && !session.denies(offer));
        for offer in sent {
            definitions.add(offer, session.prompt_of(offer, snapshot), dialect);
        }
        definitions
    }

    fn add(&mut self, offer: &Offer, prompt: String, dialect: Dialect) {
        let Ok(lowered) = lower_spec(offer.spec(), dialect) else { return };
        let name = offer.name.to_string();
        let description = lowered.describe(&prompt);
        if !lowered.keys.is_empty() {
            self.keys.insert(name.clone(), lowered.keys);
        }
        self.tools.push(ToolDefinition { name, description, input_schema: lowered.schema });
    }

    /// An input with its fields' own names.
    pub(super) fn raise(&self, tool: &str, input: Input) -> Input {
        let (Some(keys), Input::Text(text)) = (self.keys.get(tool), &input) else { return input };
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Input::Text(keys.raise(value).to_string()),
            Err(_) => input,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_runtime::lower::lower;
    use serde_json::json;

    #[test]
    fn what_the_model_writes_has_the_tools_own_names_when_it_is_called() {
        let schema = json!({"type": "object", "properties": {"a b": {"type": "string"}}});
        let keys = lower(&schema, Dialect::Anthropic).unwrap().keys;
        let definitions = Definitions { tools: Vec::new(), keys: BTreeMap::from([("odd".to_owned(), keys)]) };
        let raise = |tool, text: &str| definitions.raise(tool, Input::Text(text.to_owned()));
        assert_eq!(raise("odd", r#"{"a_b":"x"}"#), Input::Text(r#"{"a b":"x"}"#.to_owned()));
        assert_eq!(raise("plain", r#"{"a_b":"x"}"#), Input::Text(r#"{"a_b":"x"}"#.to_owned()));
        assert_eq!(
            raise("odd", "{"),
            Input::Text("{".to_owned()),
            "the call path says what is wrong with it"
        );
        let cut = Input::CutOff(r#"{"a_b":"#.to_owned());
        assert_eq!(definitions.raise("odd", cut.clone()), cut);
    }
}
