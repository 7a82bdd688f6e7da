//! Additions to a text of settings that leave all else in it as it stands: comments, order, blanks.
//!
//! Pure. Leaves reading and writing files to the host. Keeps the invariant "nothing is written twice".

use crate::hooks::HookEvent;
use haft_policy::{Action, Mode};
use std::fmt::Write;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, TomlError, Value};

/// What stands before the items of a list that has a line for each.
const INDENT: &str = "  ";

/// Where a hook's event goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookTarget {
    /// A shell line.
    Command(String),
    /// An endpoint, and its header names, each with the variable that holds its value.
    Url {
        /// The whole address.
        url: String,
        /// Names and variables.
        headers: Vec<(String, String)>,
    },
}

/// A hook to be written, in the names of the tool that it was written for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEntry {
    /// What it waits for.
    pub event: HookEvent,
    /// Which tools it is about; none for all.
    pub matcher: Option<String>,
    /// Who answers.
    pub target: HookTarget,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// A line above it, for whoever reads the file.
    pub comment: String,
}

/// What is to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Additions {
    /// Rules, each with its list.
    pub rules: Vec<(Action, String)>,
    /// The approval mode, where none is set.
    pub mode: Option<Mode>,
    /// Further folders that count as inside.
    pub roots: Vec<String>,
    /// Hooks that know the names of Claude Code.
    pub hooks: Vec<HookEntry>,
}

/// A text with what was added to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The whole text.
    pub text: String,
    /// What wasn't there yet.
    pub new: Additions,
}

/// Why nothing can be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is damaged.
    #[error("line {line} is not valid TOML: {message}")]
    NotToml {
        /// Where, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// Something else stands where the addition goes.
    #[error("\"{key}\" is not {kind}")]
    NotA {
        /// The key.
        key: String,
        /// What it has to be.
        kind: &'static str,
    },
    /// A server of that name is there.
    #[error("there is a server \"{name}\" already, with {keys}")]
    Named {
        /// The server.
        name: String,
        /// What is written of it.
        keys: String,
    },
}

impl Additions {
    /// Whether there is nothing to add.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what isn't there yet.
    ///
    /// # Errors
    /// The text isn't TOML, or holds something else at one of the places.
    pub fn add_to(&self, text: &str) -> Result<Added, EditError> {
        let mut document = parse_document(text)?;
        let root = document.as_table_mut();
        let mut new = Self::default();
        for (action, rule) in &self.rules {
            if add_text(root, "permissions", action.name(), rule)? {
                new.rules.push((*action, rule.clone()));
            }
        }
        if let Some(mode) = self.mode
            && add_mode(root, mode)?
        {
            new.mode = Some(mode);
        }
        for folder in &self.roots {
            if add_text(root, "roots", "extra", folder)? {
                new.roots.push(folder.clone());
            }
        }
        for hook in &self.hooks {
            if add_hook(root, hook)? {
                new.hooks.push(hook.clone());
            }
        }
        let mut text = document.to_string();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(Added { text, new })
    }
}

/// The text as a document that remembers how it was written.
///
/// # Errors
/// It isn't TOML.
pub(super) fn parse_document(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: TomlError| EditError::NotToml {
        line: line_of(text, error.span().unwrap_or_default().start),
        message: error.message().to_owned(),
    })
}

/// The line that holds the byte, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

fn section<'t>(root: &'t mut Table, name: &str) -> Result<&'t mut dyn TableLike, EditError> {
    let item = root.entry(name).or_insert_with(toml_edit::table);
    item.as_table_like_mut().ok_or_else(|| EditError::NotA { key: name.to_owned(), kind: "a table" })
}

fn add_mode(root: &mut Table, mode: Mode) -> Result<bool, EditError> {
    let table = section(root, "permissions")?;
    if table.contains_key("mode") {
        return Ok(false);
    }
    table.insert("mode", toml_edit::value(mode.name()));
    Ok(true)
}

/// Adds a text to a list; says whether it wasn't there.
fn add_text(root: &mut Table, name: &str, key: &str, text: &str) -> Result<bool, EditError> {
    let table = section(root, name)?;
    if table.get(key).is_none() {
        let mut array = Array::new();
        array.set_trailing("\n");
        array.set_trailing_comma(true);
        table.insert(key, toml_edit::value(array));
    }
    let array = table
        .get_mut(key)
        .and_then(Item::as_array_mut)
        .ok_or_else(|| EditError::NotA { key: format!("{name}.{key}"), kind: "a list of strings" })?;
    if array.iter().any(|item| item.as_str() == Some(text)) {
        return Ok(false);
    }
    push(array, text);
    Ok(true)
}

/// Puts a text at the end of a list, on a line of its own where the others have one. A comment behind the
/// last item stays behind it.
fn push(array: &mut Array, text: &str) {
    let last = array.len().checked_sub(1).and_then(|last| array.get_mut(last));
    let (mut indent, mut behind) = (None, String::new());
    if let Some(last) = last {
        let before = last.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        indent = before.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        let suffix = last.decor().suffix().and_then(|suffix| suffix.as_str()).unwrap_or_default().to_owned();
        if suffix.contains('\n') {
            last.decor_mut().set_suffix("");
            behind = suffix;
        }
    }
    behind.push_str(array.trailing().as_str().unwrap_or_default());
    let has_items = !array.is_empty();
    let prefix = match behind.rsplit_once('\n') {
        Some((comment, end)) => {
            array.set_trailing(format!("\n{end}"));
            array.set_trailing_comma(true);
            format!("{comment}\n{}", indent.as_deref().unwrap_or(INDENT))
        }
        None => match indent {
            Some(indent) => format!("\n{indent}"),
            None if has_items => " ".to_owned(),
            None => String::new(),
        },
    };
    array.push_formatted(Value::from(text).decorated(prefix, ""));
}

fn add_hook(root: &mut Table, hook: &HookEntry) -> Result<bool, EditError> {
    let hooks = root.entry("hooks").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let hooks = hooks
        .as_table_mut()
        .ok_or_else(|| EditError::NotA { key: "hooks".to_owned(), kind: "a table of its own" })?;
    let event = hook.event.name();
    let list = hooks
        .entry(event)
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()))
        .as_array_of_tables_mut()
        .ok_or_else(|| EditError::NotA {
            key: format!("hooks.{event}"),
            kind: "a list written as [[hooks.…]]",
        })?;
    if list.iter().any(|table| is_same(table, hook)) {
        return Ok(false);
    }
    list.push(table_of(hook));
    Ok(true)
}

/// Whether a hook with the same matcher and target is there, whatever else is said of it.
fn is_same(table: &Table, hook: &HookEntry) -> bool {
    let text = |key: &str| table.get(key).and_then(Item::as_str);
    let target = match &hook.target {
        HookTarget::Command(line) => text("command") == Some(line.as_str()),
        HookTarget::Url { url, .. } => text("url") == Some(url.as_str()),
    };
    target && text("matcher") == hook.matcher.as_deref()
}

fn table_of(hook: &HookEntry) -> Table {
    let mut table = Table::new();
    let mut above = "\n".to_owned();
    for line in hook.comment.lines() {
        // Writing to a string can't fail.
        let _ = writeln!(above, "# {line}");
    }
    table.decor_mut().set_prefix(above);
    if let Some(matcher) = &hook.matcher {
        table.insert("matcher", toml_edit::value(matcher.as_str()));
    }
    match &hook.target {
        HookTarget::Command(line) => {
            table.insert("command", toml_edit::value(line.as_str()));
        }
        HookTarget::Url { url, headers } => {
            table.insert("url", toml_edit::value(url.as_str()));
            if !headers.is_empty() {
                let mut inline = InlineTable::new();
                for (name, variable) in headers {
                    inline.insert(name, Value::from(variable.as_str()));
                }
                table.insert("headers", toml_edit::value(inline));
            }
        }
    }
    if let Some(timeout) = hook.timeout_ms.and_then(|timeout| i64::try_from(timeout).ok()) {
        table.insert("timeoutMs", toml_edit::value(timeout));
    }
    if hook.event.can_refuse() {
        table.insert("onError", toml_edit::value("allow"));
    }
    table.insert("names", toml_edit::value("claude-code"));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rules: &[(Action, &str)]) -> Additions {
        Additions {
            rules: rules.iter().map(|(action, rule)| (*action, (*rule).to_owned())).collect(),
            ..Additions::default()
        }
    }

    fn check(before: &str, rule: &str, after: &str) {
        let added = rules(&[(Action::Allow, rule)]).add_to(before).unwrap();
        assert_eq!(added.text, after);
        let again = rules(&[(Action::Allow, rule)]).add_to(&added.text).unwrap();
        assert_eq!(again.text, after);
        assert!(again.new.is_empty());
    }

    #[test]
    fn an_empty_text_gets_a_list_with_a_line_for_each() {
        let added =
            rules(&[(Action::Allow, "a"), (Action::Allow, "b"), (Action::Deny, "c")]).add_to("").unwrap();
        let expected = "[permissions]\nallow = [\n  \"a\",\n  \"b\",\n]\ndeny = [\n  \"c\",\n]\n";
        assert_eq!(added.text, expected);
    }

    #[test]
    fn comments_order_and_layout_stay() {
        check(
            "# mine\n[permissions] # here\nallow = [\n    \"a\", # why\n    # last\n]\nmode = \"plan\"\n",
            "b",
            "# mine\n[permissions] # here\nallow = [\n    \"a\", # why\n    # last\n    \"b\",\n]\nmode = \"plan\"\n",
        );
        check("[permissions]\nallow = [\"a\"]\n", "b", "[permissions]\nallow = [\"a\", \"b\"]\n");
        check("[permissions]\nallow = []\n", "b", "[permissions]\nallow = [\"b\"]\n");
        check(
            "[permissions]\nallow = ['a',\n  'b']\n",
            "c",
            "[permissions]\nallow = ['a',\n  'b',\n  \"c\"]\n",
        );
    }

    #[test]
    fn a_comment_behind_the_last_item_stays_there_without_a_comma_too() {
        let added =
            rules(&[(Action::Allow, "b")]).add_to("[permissions]\nallow = [\n  \"a\" # why\n]\n").unwrap();
        assert_eq!(added.text, "[permissions]\nallow = [\n  \"a\", # why\n  \"b\",\n]\n");
    }

    #[test]
    fn what_is_no_list_is_left_alone() {
        let cases = [
            ("[permissions\n", "line 1 is not valid TOML"),
            ("permissions = 1\n", "\"permissions\" is not a table"),
            ("[permissions]\nallow = 'a'\n", "\"permissions.allow\" is not a list"),
        ];
        for (text, says) in cases {
            let error = rules(&[(Action::Allow, "x")]).add_to(text).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn a_mode_that_is_set_stays() {
        let mode = Additions { mode: Some(Mode::Plan), ..Additions::default() };
        assert_eq!(mode.add_to("").unwrap().text, "[permissions]\nmode = \"plan\"\n");
        let kept = mode.add_to("[permissions]\nmode = \"auto\"\n").unwrap();
        assert!(kept.new.is_empty() && kept.text.contains("auto"));
    }

    #[test]
    fn hooks_are_lists_of_tables_and_come_once() {
        let hook = HookEntry {
            event: HookEvent::PreToolUse,
            matcher: Some("Bash".to_owned()),
            target: HookTarget::Command("./check.sh x".to_owned()),
            timeout_ms: Some(5_000),
            comment: "imported".to_owned(),
        };
        let all = Additions { hooks: vec![hook.clone(), hook], ..Additions::default() };
        let added = all.add_to("[permissions]\nmode = \"plan\"\n").unwrap();
        assert_eq!(added.new.hooks.len(), 1);
        let expected = "[permissions]\nmode = \"plan\"\n\n# imported\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n\
                        command = \"./check.sh x\"\ntimeoutMs = 5000\nonError = \"allow\"\nnames = \"claude-code\"\n";
        assert_eq!(added.text, expected);
        assert!(all.add_to(&added.text).unwrap().new.is_empty());
    }
}
