//! What a tool returns: blocks for the model, structured data, metadata for people, session changes.

use crate::{CallId, Failure, RealPath};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// One piece of content for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Block {
    /// Plain text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture, base64.
    Image {
        /// The bytes in base64.
        data: String,
        /// Its media type, for example `image/png`.
        media_type: String,
        /// Width and height in pixels, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dims: Option<[u32; 2]>,
    },
    /// Sound, base64.
    Audio {
        /// The bytes in base64.
        data: String,
        /// Its media type, for example `audio/wav`.
        media_type: String,
    },
    /// A link to a resource.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What it is called.
        name: String,
    },
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

/// Which end of a long text is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shape {
    /// The beginning: listings and reads.
    #[default]
    Head,
    /// Beginning and end: command output, since the end of a failing build must show.
    HeadTail,
}

/// What was left out of a text, and where the whole is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    /// Bytes shown to the model.
    pub shown_bytes: u64,
    /// Bytes there were.
    pub total_bytes: u64,
    /// Lines shown to the model.
    pub shown_lines: u64,
    /// Lines there were.
    pub total_lines: u64,
    /// The file that holds the whole, readable with `read` and `grep`.
    pub path: Option<String>,
}

/// Which content of a file the model has been shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// [`crate::content_hash`] of the whole file.
    pub hash: Arc<str>,
    /// Ranges of lines shown, from 1, inclusive, sorted and apart from each other.
    pub lines: Vec<(u64, u64)>,
    /// How many lines the file has.
    pub total: u64,
}

impl Seen {
    /// A file all of whose lines were shown or written by the model.
    pub fn whole(hash: &str, total: u64) -> Self {
        Self { hash: hash.into(), lines: vec![(1, total.max(1))], total }
    }

    /// Whether every line was shown.
    pub fn is_whole(&self) -> bool {
        self.total == 0 || matches!(self.lines.as_slice(), [(1, last)] if *last >= self.total)
    }

    /// Adds the lines of a later look at the same content; other content replaces this.
    pub fn merge(&mut self, later: &Self) {
        if self.hash != later.hash {
            *self = later.clone();
            return;
        }
        self.lines.extend(&later.lines);
        self.lines.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(self.lines.len());
        for (first, last) in self.lines.drain(..) {
            match joined.last_mut() {
                Some(previous) if first <= previous.1.saturating_add(1) => previous.1 = previous.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        self.lines = joined;
    }
}

/// A file that a call changed, for the log and for undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The real file.
    pub path: RealPath,
    /// [`crate::content_hash`] of the content before, none for a new file.
    pub before: Option<Arc<str>>,
    /// [`crate::content_hash`] of the content after, none for a removed file.
    pub after: Option<Arc<str>>,
    /// Whether somebody else wrote the file at the same moment: it was changed so, and holds something else by now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtaken: bool,
}

impl FileChange {
    /// What a result says of a change that was overtaken; `shown` is the path as it is written for readers.
    pub fn note(&self, shown: &str) -> Option<String> {
        let done = if self.after.is_some() { "written" } else { "removed" };
        self.overtaken.then(|| {
            format!("{shown} was {done}; another program changed it at the same moment: read it again.")
        })
    }
}

/// One state of a file: its content by hash, and what else is put back with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileState {
    /// [`crate::content_hash`] of the content.
    pub hash: Arc<str>,
    /// Length in bytes.
    pub len: u64,
    /// Permission bits, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// What else the file has, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traits: Option<FileTraits>,
}

/// What a file has besides content and mode, for one that was removed and comes back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileTraits {
    /// How many names it has.
    pub links: u64,
    /// The numbers of its owner and group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<(u32, u32)>,
    /// Its extended attributes, names and values in hex.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<(String, String)>,
    /// How many more attributes there are, too long to be kept.
    #[serde(default)]
    pub left_out: usize,
}

/// What was done to one file, with all that is needed to take it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileStep {
    /// The real file.
    pub path: RealPath,
    /// How it was; none where it wasn't there.
    pub before: Option<FileState>,
    /// How it was left; none where it was removed.
    pub after: Option<FileState>,
    /// What the model had been shown of the content before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// Folders that were made for it, each after the one it is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<RealPath>,
    /// Why the content before isn't kept, where it isn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unkept: Option<String>,
}

/// A call that changed files, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedBy {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// The model's turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Its steps, in order; one file may have several.
    pub files: Vec<FileStep>,
}

/// All that a tool returns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Output {
    /// What the model gets.
    pub content: Vec<Block>,
    /// Data in the form of the tool's output schema.
    pub structured: Option<Value>,
    /// For people: a diff, counts, paths. Never shown to the model.
    pub metadata: Option<Value>,
    /// Messages to add after the result.
    pub messages: Vec<String>,
    /// Changes to the session's state, applied when the call ends.
    pub session: Vec<(Arc<str>, Value)>,
    /// What the model has now seen of files.
    pub seen: Vec<(RealPath, Seen)>,
    /// Files changed.
    pub files: Vec<FileChange>,
    /// Which end is kept where the text is too long.
    pub shape: Shape,
    /// Set where the tool (or a capture) has bounded the text itself.
    pub truncation: Option<Truncation>,
    /// The whole result as a source that speaks the Model Context Protocol gave it, for hosts that speak it too: an
    /// object with a list `content`. Masked as the rest is, and gone where the result was cut or replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Value>,
}

impl Output {
    /// One text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Block::text(text)], ..Self::default() }
    }

    /// Adds metadata for people.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Value) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Adds a text block at the end, also to what goes on as it came.
    pub fn add_text(&mut self, text: impl Into<String>) {
        let text = text.into();
        let content = self.foreign.as_mut().and_then(|foreign| foreign.get_mut("content"));
        if let Some(list) = content.and_then(Value::as_array_mut) {
            list.push(serde_json::json!({"type": "text", "text": text}));
        }
        self.content.push(Block::text(text));
    }

    /// All text blocks, joined by line breaks.
    pub fn joined_text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }
}

/// What a typed tool may return: `String`, [`Json`], [`Output`] itself, or unit.
pub trait IntoOutput: Send + 'static {
    /// The schema of the structured output, where the type has one.
    fn schema() -> Option<Schema> {
        None
    }

    /// The erased form.
    ///
    /// # Errors
    /// An internal failure where the value has no JSON form.
    fn into_output(self) -> Result<Output, Failure>;
}

impl IntoOutput for String {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::text(self))
    }
}

impl IntoOutput for &'static str {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::text(self))
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::default())
    }
}

impl IntoOutput for Output {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(self)
    }
}

/// A value whose JSON is both the text and the structured output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> IntoOutput for Json<T> {
    fn schema() -> Option<Schema> {
        Some(SchemaGenerator::default().into_root_schema_for::<T>())
    }

    fn into_output(self) -> Result<Output, Failure> {
        let value = serde_json::to_value(self.0).map_err(|error| {
            Failure::internal("the tool's result has no JSON form").diagnose(error.to_string())
        })?;
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Ok(Output { structured: Some(value), ..Output::text(text) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_at_the_same_content_add_up() {
        let mut seen = Seen { hash: "a".into(), lines: vec![(1, 10)], total: 30 };
        seen.merge(&Seen { hash: "a".into(), lines: vec![(21, 30)], total: 30 });
        assert!(!seen.is_whole());
        seen.merge(&Seen { hash: "a".into(), lines: vec![(11, 20)], total: 30 });
        assert!(seen.is_whole());
        seen.merge(&Seen { hash: "b".into(), lines: vec![(2, 3)], total: 3 });
        assert_eq!(seen.lines, [(2, 3)]);
    }

    #[test]
    fn a_text_that_is_added_stands_in_both_forms() {
        let foreign = Some(serde_json::json!({"content": [{"type": "text", "text": "a"}], "x": 1}));
        let mut output = Output { foreign, ..Output::text("a") };
        output.add_text("b");
        assert_eq!(output.joined_text(), "a\nb");
        assert_eq!(
            output.foreign.unwrap().to_string(),
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"x":1}"#
        );
    }

    #[test]
    fn only_an_overtaken_change_is_told_of() {
        let path = RealPath::new("/w", "a");
        let change = FileChange { path, before: None, after: Some("h".into()), overtaken: false };
        assert_eq!(change.note("a"), None);
        assert!(!serde_json::to_string(&change).unwrap().contains("overtaken"));
        let note = FileChange { overtaken: true, ..change }.note("a").unwrap();
        assert_eq!(note, "a was written; another program changed it at the same moment: read it again.");
    }

    #[test]
    fn a_string_in_json_is_itself() {
        assert_eq!(Json("a").into_output().unwrap().joined_text(), "a");
        assert_eq!(Json(vec![1]).into_output().unwrap().joined_text(), "[1]");
    }
}
