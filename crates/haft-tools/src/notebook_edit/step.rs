//! One change to a notebook, and which cell it means.

use crate::{
    notebook::{Cell, Notebook},
    text::names::escaped,
};
use haft_core::Failure;

/// So many cells are listed where one isn't found.
const LISTED_MAX: usize = 30;

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// The cell as it was named.
    pub(crate) cell: String,
    /// What happens to it or after it.
    pub(crate) action: Action,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// The cell gets another source or type.
    Replace { source: Option<String>, kind: Option<Kind> },
    /// A new cell after it.
    Insert { source: String, kind: Kind },
    /// It goes.
    Delete,
    /// It gets another place.
    Move { after: Place },
}

/// What a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Code,
    Markdown,
    Raw,
}

impl Kind {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "code" => Some(Self::Code),
            "markdown" => Some(Self::Markdown),
            "raw" => Some(Self::Raw),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
        }
    }
}

/// Where a cell is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before all.
    Start,
    /// After all.
    End,
    /// After the cell of this name.
    After(String),
}

impl Place {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "start" => Self::Start,
            "end" => Self::End,
            cell => Self::After(cell.to_owned()),
        }
    }

    /// How many cells stand before that place.
    ///
    /// # Errors
    /// As [`find`].
    pub(crate) fn index(&self, path: &str, notebook: &Notebook<'_>) -> Result<usize, Failure> {
        match self {
            Self::Start => Ok(0),
            Self::End => Ok(notebook.cells.len()),
            Self::After(name) => find(path, notebook, name).map(|cell| cell.number),
        }
    }
}

/// The cell of that name.
///
/// # Errors
/// Not found, with the names that there are; a conflict where the name doesn't tell it for certain.
pub(crate) fn find<'n>(path: &str, notebook: &'n Notebook<'_>, name: &str) -> Result<&'n Cell, Failure> {
    let mut same = notebook.cells.iter().filter(|cell| cell.id.as_deref() == Some(name));
    if let Some(first) = same.next() {
        let Some(second) = same.next() else { return Ok(first) };
        return Err(Failure::conflict(format!(
            "Cells #{} and #{} of {path} both have the id \"{}\", so it can't be told which is meant; nothing was \
             changed. Give one of them another id with edit.",
            first.number,
            second.number,
            escaped(name)
        )));
    }
    let number: Option<usize> = name.strip_prefix('#').and_then(|digits| digits.parse().ok());
    let numbered = number.and_then(|number| notebook.cells.get(number.checked_sub(1)?));
    match numbered {
        Some(Cell { id: Some(id), number, .. }) => Err(Failure::conflict(format!(
            "Cell #{number} of {path} has an id, and numbers may have moved since they were read; nothing was \
             changed. Give cell=\"{}\" if that is the one.",
            escaped(id)
        ))),
        Some(cell) => Ok(cell),
        None => Err(Failure::not_found(format!(
            "{path} has no cell \"{}\"; nothing was changed. {}",
            escaped(name),
            listed(notebook)
        ))),
    }
}

fn listed(notebook: &Notebook<'_>) -> String {
    if notebook.cells.is_empty() {
        return "It has no cells: insert one with cell=\"start\".".to_owned();
    }
    let names: Vec<String> = notebook
        .cells
        .iter()
        .take(LISTED_MAX)
        .map(|cell| format!("{} ({})", escaped(&cell.name()), cell.kind))
        .collect();
    let left_out = notebook.cells.len() - names.len();
    let more = if left_out > 0 { format!(" and {left_out} more, which read shows") } else { String::new() };
    format!("Its cells are: {}{more}.", names.join(", "))
}
