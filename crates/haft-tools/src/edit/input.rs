//! What `edit` takes: a list of replacements, or one beside the path as other hosts write it.

use crate::field::wrong;
use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

// The schema neither refuses further fields nor requires those of a replacement: the names that models know
// from elsewhere are accepted without being advertised, nested ones too. `edits` finds what is wrong, and gives
// those fields the types that the runtime gives to what a schema names.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct EditInput {
    /// File to change
    #[serde(alias = "file_path", alias = "file", alias = "filename", alias = "filePath")]
    pub(crate) path: PathArg,
    /// Replacements
    #[serde(default)]
    edits: Vec<Given>,
    #[schemars(skip)]
    #[serde(
        alias = "old_string",
        alias = "old_text",
        alias = "oldText",
        alias = "old_str",
        alias = "oldString"
    )]
    old: Option<Value>,
    #[schemars(skip)]
    #[serde(
        alias = "new_string",
        alias = "new_text",
        alias = "newText",
        alias = "new_str",
        alias = "newString"
    )]
    new: Option<Value>,
    #[schemars(skip)]
    #[serde(alias = "replace_all", alias = "replaceAll")]
    all: Option<Value>,
    #[schemars(skip)]
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

// A replacement as it was given.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Given {
    /// Text in the file
    #[schemars(with = "Option<String>")]
    #[serde(
        alias = "old_string",
        alias = "old_text",
        alias = "oldText",
        alias = "old_str",
        alias = "oldString"
    )]
    old: Option<Value>,
    /// Text instead
    #[schemars(with = "Option<String>")]
    #[serde(
        alias = "new_string",
        alias = "new_text",
        alias = "newText",
        alias = "new_str",
        alias = "newString"
    )]
    new: Option<Value>,
    /// Every occurrence
    #[schemars(with = "Option<bool>")]
    #[serde(alias = "replace_all", alias = "replaceAll")]
    all: Option<Value>,
    #[schemars(skip)]
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// One replacement that makes sense: old text that isn't empty and differs from the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// The text in the file.
    pub(crate) old: String,
    /// The text to put in its place.
    pub(crate) new: String,
    /// Whether every occurrence is replaced.
    pub(crate) all: bool,
}

impl EditInput {
    /// The replacements, whichever way they were written.
    ///
    /// # Errors
    /// Invalid input that names the field and what would be right.
    pub(crate) fn edits(&self) -> Result<Vec<Replacement>, Failure> {
        check_rest("", &self.rest)?;
        if self.old.is_some() || self.new.is_some() {
            if !self.edits.is_empty() {
                return Err(Failure::invalid(
                    "/old and /new stand beside /edits: put that replacement into /edits too",
                ));
            }
            return Ok(vec![replacement(
                "",
                [self.old.as_ref(), self.new.as_ref()],
                flag("", self.all.as_ref())?,
            )?]);
        }
        if self.edits.is_empty() {
            return Err(Failure::invalid(
                "/edits must have at least one replacement, {\"old\": …, \"new\": …}",
            ));
        }
        let all = flag("", self.all.as_ref())?;
        let each = self.edits.iter().enumerate().map(|(index, given)| {
            let at = format!("/edits/{index}");
            check_rest(&at, &given.rest)?;
            replacement(&at, [given.old.as_ref(), given.new.as_ref()], flag(&at, given.all.as_ref())?.or(all))
        });
        each.collect()
    }
}

fn replacement(at: &str, [old, new]: [Option<&Value>; 2], all: Option<bool>) -> Result<Replacement, Failure> {
    let Some(old) = text(at, "old", old)? else {
        return Err(Failure::invalid(format!("{at}/old is missing: the text in the file that new replaces")));
    };
    let Some(new) = text(at, "new", new)? else {
        return Err(Failure::invalid(format!(
            "{at}/new is missing: the text to put in place of old, empty to take old out"
        )));
    };
    if old.is_empty() {
        return Err(Failure::invalid(format!(
            "{at}/old is empty, so there is no place for the new text. Give a piece of the file as old \
             and repeat it in new beside what is added; for a new file or a whole content use write."
        )));
    }
    if old == new {
        return Err(Failure::invalid(format!(
            "{at}/old and {at}/new are the same, so nothing would change. Leave this replacement out, \
             or give the text that new should be."
        )));
    }
    Ok(Replacement { old: old.to_owned(), new: new.to_owned(), all: all.unwrap_or(false) })
}

fn text<'v>(at: &str, name: &str, value: Option<&'v Value>) -> Result<Option<&'v str>, Failure> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(Failure::invalid(wrong(&format!("{at}/{name}"), "string", other))),
    }
}

fn flag(at: &str, value: Option<&Value>) -> Result<Option<bool>, Failure> {
    match value {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(Value::String(text)) if text == "true" => Ok(Some(true)),
        Some(Value::String(text)) if text == "false" => Ok(Some(false)),
        Some(other) => Err(Failure::invalid(wrong(&format!("{at}/all"), "boolean", other))),
    }
}

fn check_rest(at: &str, rest: &BTreeMap<String, Value>) -> Result<(), Failure> {
    let Some(name) = rest.keys().next() else {
        return Ok(());
    };
    let allowed = if at.is_empty() { "path and edits" } else { "old, new and all" };
    Err(Failure::invalid(format!("{at}/{name} isn't known here; there are {allowed}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edits(value: Value) -> Result<Vec<(String, String, bool)>, String> {
        let input: EditInput = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let edits = input.edits().map_err(|failure| failure.text)?;
        Ok(edits.into_iter().map(|edit| (edit.old, edit.new, edit.all)).collect())
    }

    #[test]
    fn every_known_form_is_taken() {
        let one = vec![("a".to_owned(), "b".to_owned(), false)];
        assert_eq!(edits(json!({"path": "f", "edits": [{"old": "a", "new": "b"}]})).unwrap(), one);
        assert_eq!(edits(json!({"file_path": "f", "old_string": "a", "new_string": "b"})).unwrap(), one);
        assert_eq!(edits(json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}]})).unwrap(), one);
        let all = edits(json!({"path": "f", "old": "a", "new": "b", "replace_all": true})).unwrap();
        assert!(all[0].2);
        for (given, meant) in [(json!("true"), true), (json!("false"), false), (json!(null), false)] {
            for name in ["all", "replace_all", "replaceAll"] {
                let one = json!({"old": "a", "new": "b", name: given.clone()});
                assert_eq!(edits(json!({"path": "f", "edits": [one.clone()]})).unwrap()[0].2, meant, "{one}");
                let mut flat = one;
                flat["path"] = json!("f");
                assert_eq!(edits(flat.clone()).unwrap()[0].2, meant, "{flat}");
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (input, part) in [
            (json!({"path": "f"}), "at least one"),
            (json!({"path": "f", "old": "a"}), "/new is missing"),
            (json!({"path": "f", "edits": [{"old": "", "new": "b"}]}), "use write"),
            (json!({"path": "f", "edits": [{"old": "b", "new": "b"}]}), "the same"),
            (json!({"path": "f", "edits": [{"old": "b"}]}), "/edits/0/new is missing"),
            (json!({"path": "f", "edits": [{"old": "a", "new": "b", "count": 1}]}), "/edits/0/count"),
            (
                json!({"path": "f", "old": "a", "new": "b", "replace_all": "yes"}),
                "/all must be boolean, got \"yes\"",
            ),
            (json!({"path": "f", "old": "a", "new": true}), "/new must be string, got true"),
            (
                json!({"path": "f", "edits": [{"oldText": 5, "new": "b"}]}),
                "/edits/0/old must be string, got 5",
            ),
            (
                json!({"path": "f", "edits": [{"old": "a", "new": "b", "replaceAll": 1}]}),
                "/edits/0/all must be boolean, got 1",
            ),
            (json!({"path": "f", "mode": 1, "old": "a", "new": "b"}), "/mode"),
            (
                json!({"path": "f", "edits": [{"old": "a", "new": "b"}], "old": "c", "new": "d"}),
                "into /edits",
            ),
        ] {
            let error = edits(input).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
