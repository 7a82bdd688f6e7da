//! A notebook and its cells, in the text of the file.

use super::scan::{Part, Parts, blanks_end};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::ops::Range;

/// The only major format that is understood.
const MAJOR: u64 = 4;
/// Cells have ids from this minor format on.
const MINOR_WITH_IDS: u64 = 5;

/// A notebook of nbformat 4.
#[derive(Debug)]
pub(crate) struct Notebook<'a> {
    /// The text of the file, without a byte order mark.
    pub(crate) text: &'a str,
    /// The minor number of the format.
    pub(crate) minor: u64,
    /// The whole object.
    pub(crate) top: Parts,
    /// The list of cells.
    pub(crate) list: Parts,
    /// The cells, in order.
    pub(crate) cells: Vec<Cell>,
}

/// One cell.
#[derive(Debug)]
pub(crate) struct Cell {
    /// Its place, from 1.
    pub(crate) number: usize,
    /// Its id, where it has one.
    pub(crate) id: Option<String>,
    /// `code`, `markdown`, `raw`, or what else the file says.
    pub(crate) kind: String,
    /// All of it.
    pub(crate) span: Range<usize>,
    /// What is in it.
    pub(crate) members: Parts,
}

impl Cell {
    /// How it is called: by its id, else by its number.
    pub(crate) fn name(&self) -> String {
        match &self.id {
            Some(id) => id.clone(),
            None => format!("#{}", self.number),
        }
    }
}

impl<'a> Notebook<'a> {
    /// Finds the cells.
    ///
    /// # Errors
    /// Why it is no notebook, as a sentence that begins with "it".
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| format!("it isn't valid JSON: {error}"))?;
        let whole = blanks_end(text.as_bytes(), 0)..text.trim_end().len();
        let top =
            Parts::of(text, &whole).filter(|_| text.get(whole.clone()).is_some_and(|t| t.starts_with('{')));
        let top = top.ok_or("it isn't a JSON object with cells")?;
        let number = |key: &str| {
            let value = text.get(top.member(key)?.value.clone())?;
            value.parse::<u64>().ok()
        };
        match number("nbformat") {
            Some(MAJOR) => {}
            Some(other) => {
                return Err(format!("it has nbformat {other}, and only nbformat {MAJOR} is understood"));
            }
            None => return Err("it has no number \"nbformat\"".to_owned()),
        }
        let minor = number("nbformat_minor").unwrap_or(0);
        let list = top.member("cells").map(|part| &part.value);
        let list = list.filter(|value| text.get((*value).clone()).is_some_and(|t| t.starts_with('[')));
        let list = list.and_then(|value| Parts::of(text, value)).ok_or("it has no list \"cells\"")?;
        let cells: Result<Vec<Cell>, String> =
            list.items.iter().enumerate().map(|(index, part)| cell(text, part, index + 1)).collect();
        Ok(Self { text, minor, cells: cells?, top, list })
    }

    /// Whether cells of this format have ids.
    pub(crate) fn has_ids(&self) -> bool {
        self.minor >= MINOR_WITH_IDS
    }

    /// The JSON text of a cell's member.
    pub(crate) fn raw(&self, cell: &Cell, key: &str) -> Option<&'a str> {
        self.text.get(cell.members.member(key)?.value.clone())
    }

    /// A cell's source as one text, whichever form it has.
    pub(crate) fn source(&self, cell: &Cell) -> String {
        let Some(part) = cell.members.member("source") else { return String::new() };
        let one = |value: &Range<usize>| decoded(self.text.get(value.clone()).unwrap_or_default());
        match Parts::of(self.text, &part.value) {
            Some(lines) => lines.items.iter().map(|line| one(&line.value)).collect(),
            None => one(&part.value),
        }
    }

    /// The language that the notebook says its code is in.
    pub(crate) fn language(&self) -> Option<String> {
        let metadata = self.text.get(self.top.member("metadata")?.value.clone())?;
        let metadata: Value = serde_json::from_str(metadata).ok()?;
        let name =
            metadata.pointer("/language_info/name").or_else(|| metadata.pointer("/kernelspec/language"));
        name.and_then(Value::as_str).map(str::to_owned)
    }
}

fn cell(text: &str, part: &Part, number: usize) -> Result<Cell, String> {
    let is_object = text.get(part.value.clone()).is_some_and(|value| value.starts_with('{'));
    let members = Parts::of(text, &part.value).filter(|_| is_object);
    let members = members.ok_or_else(|| format!("its cell #{number} isn't a JSON object"))?;
    let word = |key: &str| -> Option<String> {
        let value = text.get(members.member(key)?.value.clone())?;
        serde_json::from_str(value).ok()
    };
    let (id, kind) = (word("id"), word("cell_type").unwrap_or_else(|| "untyped".to_owned()));
    Ok(Cell { number, id, kind, span: part.span.clone(), members })
}

/// A JSON string's text. One that no text can stand for is given as it is written.
fn decoded(raw: &str) -> String {
    serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_whatever_their_form() {
        let text = "\n{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {\"kernelspec\": {\"language\": \"R\"}},
            \"cells\": [{\"cell_type\": \"code\", \"id\": \"p\", \"source\": [\"a\\n\", \"b\"]},
            {\"source\": \"x\\u00e9\", \"cell_type\": \"markdown\"}]}\n";
        let notebook = Notebook::parse(text).unwrap();
        assert!(notebook.has_ids());
        assert_eq!(notebook.language().as_deref(), Some("R"));
        let shown: Vec<_> = notebook
            .cells
            .iter()
            .map(|cell| (cell.name(), cell.kind.as_str(), notebook.source(cell)))
            .collect();
        assert_eq!(
            shown,
            [("p".to_owned(), "code", "a\nb".to_owned()), ("#2".to_owned(), "markdown", "xé".to_owned())]
        );
    }

    #[test]
    fn what_is_no_notebook_says_why() {
        for (text, why) in [
            ("{\"cells\": [}", "valid JSON"),
            ("[1]", "JSON object"),
            ("{\"cells\": []}", "no number \"nbformat\""),
            ("{\"nbformat\": 3, \"worksheets\": []}", "nbformat 3"),
            ("{\"nbformat\": 4}", "no list \"cells\""),
            ("{\"nbformat\": 4, \"cells\": {}}", "no list \"cells\""),
            ("{\"nbformat\": 4, \"cells\": [7]}", "cell #1"),
        ] {
            let said = Notebook::parse(text).unwrap_err();
            assert!(said.starts_with("it") && said.contains(why), "{said}");
        }
    }
}
