//! The pure algorithms of the file tools, open to tests with random input.
//!
//! Nothing here is part of the crate's interface, and nothing here reads or writes a file.

use crate::{
    edit::{self, Replacement},
    notebook::Notebook,
    notebook_edit::{self, Action, Kind, Place, Step},
    patch,
    text::{Coding, View},
};
use std::ops::Range;

/// One replacement of `edit`, or all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The text in the file.
    pub old: String,
    /// The text to put in its place.
    pub new: String,
    /// Whether every place counts.
    pub all: bool,
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The bytes that go, in order, and what comes for them.
    pub changes: Vec<(Range<usize>, Vec<u8>)>,
    /// The content afterwards.
    pub after: Vec<u8>,
}

/// What is known of a content's encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coded {
    /// The text as the tools see it.
    pub text: Vec<u8>,
    /// The bytes that each character of the text stands for, in order.
    pub spans: Vec<Range<usize>>,
    /// The bytes that its text is written as, where all of it is text.
    pub again: Option<Vec<u8>>,
    /// Whether it is in a form of Unicode, in which each text is written in one way.
    pub is_unicode: bool,
}

/// Makes an edit; none where it is refused.
pub fn edited(before: &[u8], edit: &Edit) -> Option<Edited> {
    let Edit { old, new, all } = edit.clone();
    // The tool refuses these before it looks for a place.
    if old.is_empty() || old == new {
        return None;
    }
    let changes = edit::plan("f", before, &[Replacement { old, new, all }]).ok()?;
    let after = edit::apply(before, &changes);
    Some(Edited { changes: changes.into_iter().map(|change| (change.span, change.new)).collect(), after })
}

/// Applies the first part of a patch; none where it is refused.
pub fn patched(before: &[u8], patch: &str) -> Option<Vec<u8>> {
    patch::patched(before, patch)
}

/// The sources of a notebook's cells; none where it is no notebook.
pub fn sources(text: &str) -> Option<Vec<String>> {
    let notebook = Notebook::parse(text).ok()?;
    Some(notebook.cells.iter().map(|cell| notebook.source(cell)).collect())
}

/// The notebook with another source for a cell; none where it is refused.
pub fn with_source(text: &str, cell: &str, source: &str) -> Option<String> {
    after(text, cell, Action::Replace { source: Some(source.to_owned()), kind: None })
}

/// The notebook with a new cell after one; none where it is refused.
pub fn with_cell(text: &str, cell: &str, source: &str) -> Option<String> {
    after(text, cell, Action::Insert { source: source.to_owned(), kind: Kind::Code })
}

/// The notebook without a cell; none where it is refused.
pub fn without_cell(text: &str, cell: &str) -> Option<String> {
    after(text, cell, Action::Delete)
}

/// The notebook with a cell before all others; none where it is refused.
pub fn with_first_cell(text: &str, cell: &str) -> Option<String> {
    after(text, cell, Action::Move { after: Place::Start })
}

fn after(text: &str, cell: &str, action: Action) -> Option<String> {
    let step = Step { cell: cell.to_owned(), action };
    notebook_edit::plan("n.ipynb", text, &step).ok().map(|planned| planned.after)
}

/// Finds out a content's encoding.
pub fn coded(bytes: &[u8]) -> Coded {
    let coding = Coding::of(bytes);
    let view = View::of(bytes, coding);
    let text = view.text();
    let mut spans = Vec::new();
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            spans.push(view.span(&(at..at + character.len_utf8())));
            at += character.len_utf8();
        }
        at += chunk.invalid().len();
    }
    let again = std::str::from_utf8(text).ok().and_then(|text| coding.encode(text).ok());
    let again = again.map(|text| [coding.bom(), &text].concat());
    Coded { text: text.to_vec(), spans, again, is_unicode: !matches!(coding, Coding::Legacy(_)) }
}
