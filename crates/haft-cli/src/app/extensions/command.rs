//! A command that an extension has for people, and which of them is meant by what somebody types.

use haft_core::{Cancel, Failure};
use haft_script::{DeclaredCommand, Extension, Say};
use serde_json::Value;
use std::sync::Arc;

/// One command.
#[derive(Clone)]
pub(crate) struct ExtensionCommand {
    /// The extension that has it.
    pub(crate) id: String,
    /// What it is called.
    pub(crate) name: String,
    /// What it does, or nothing.
    pub(crate) description: String,
    extension: Arc<Extension>,
}

/// What is meant by a name.
pub(crate) enum Meant {
    /// This one.
    One(ExtensionCommand),
    /// One of several of that name, which are told apart by their extension: all of them, whole.
    Several(Vec<String>),
    /// None.
    Unknown,
}

impl ExtensionCommand {
    pub(super) fn new(id: &str, declared: &DeclaredCommand, extension: &Arc<Extension>) -> Self {
        let DeclaredCommand { name, description } = declared.clone();
        Self { id: id.to_owned(), name, description, extension: Arc::clone(extension) }
    }

    /// Its name with that of its extension, which no other has.
    pub(crate) fn whole(&self) -> String {
        format!("{}:{}", self.id, self.name)
    }

    /// The one that is meant by a name, or by a name with that of its extension before it.
    pub(crate) fn meant(all: &[Self], name: &str) -> Meant {
        if let Some(one) = all.iter().find(|command| command.whole() == name) {
            return Meant::One(one.clone());
        }
        let found: Vec<&Self> = all.iter().filter(|command| command.name == name).collect();
        match found.as_slice() {
            [] => Meant::Unknown,
            [one] => Meant::One((*one).clone()),
            several => Meant::Several(several.iter().map(|command| command.whole()).collect()),
        }
    }

    /// Runs it with the words that follow its name; `say` is told what it prints. What it returns is given as people read it.
    ///
    /// # Errors
    /// What it threw; cancelled; a timeout.
    pub(crate) async fn run(&self, words: &str, cancel: &Cancel, say: &Say) -> Result<String, Failure> {
        let said = self.extension.command((&self.name, words), cancel, say).await?;
        Ok(readable(&said))
    }
}

/// A value as people read it: a text, the texts of content blocks, else JSON.
fn readable(value: &Value) -> String {
    let text_of = |block: &Value| block.get("text").and_then(Value::as_str).map(str::to_owned);
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(blocks) if !blocks.is_empty() && blocks.iter().all(|block| text_of(block).is_some()) => {
            blocks.iter().filter_map(text_of).collect::<Vec<_>>().join("\n")
        }
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_command_returns_is_shown_as_people_read_it() {
        for (value, text) in [
            (json!(null), ""),
            (json!("a\nb"), "a\nb"),
            (json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb"),
            (json!([]), "[]"),
            (json!(3), "3"),
        ] {
            assert_eq!(readable(&value), text, "{value}");
        }
    }
}
