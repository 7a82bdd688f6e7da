//! A notebook as `read` shows it: its cells, each with its outputs in short.

use super::{page::COLUMNS_MAX, roll::Roll};
use crate::{
    notebook::{Cell, Notebook},
    text::{grouped, names::escaped, size},
};
use haft_core::PageRange;
use serde_json::Value;

/// Lines shown of one output.
const OUTPUT_LINES_MAX: usize = 20;
/// Characters shown of one line of an output.
const OUTPUT_LINE_MAX_CHARS: usize = 300;
/// Outputs shown of one cell.
const OUTPUTS_MAX: usize = 10;

/// Shows the cells from `first` on, at most `limit`, or else those of `pages`.
pub(crate) fn show(name: &str, notebook: &Notebook<'_>, wish: &Wish) -> String {
    let total = notebook.cells.len();
    let mut roll = Roll::default();
    let language =
        notebook.language().map_or_else(String::new, |language| format!(", {}", escaped(&language)));
    let noun = if total == 1 { "cell" } else { "cells" };
    roll.line(&format!(
        "{name} is a notebook (nbformat 4.{}{language}) with {} {noun}:",
        notebook.minor,
        grouped(u64::try_from(total).unwrap_or(u64::MAX))
    ));
    let (first, last) = wish.range(total);
    if first > total && total > 0 {
        roll.line(&format!("There is no cell #{first}; read from offset={total} at most."));
    }
    let mut next = first;
    for cell in notebook.cells.iter().take(last).skip(first.saturating_sub(1)) {
        if roll.is_full() {
            break;
        }
        next = cell.number + 1;
        show_cell(&mut roll, notebook, cell);
    }
    if next <= total && first <= total {
        let more = grouped(u64::try_from(total + 1 - next).unwrap_or(u64::MAX));
        roll.note(&format!("… {more} more cells; read on with offset={next}"));
    }
    roll.note("(change cells with notebook_edit; columns=\"1-2000\" shows the file itself as text)");
    roll.finish()
}

/// Which cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// The first, from 1, or from the end where negative.
    pub(crate) offset: i64,
    /// How many.
    pub(crate) limit: u64,
    /// Instead of both.
    pub(crate) pages: Option<PageRange>,
}

impl Wish {
    /// The first and the last number.
    fn range(&self, total: usize) -> (usize, usize) {
        if let Some(PageRange { first, last }) = self.pages {
            let wide = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
            return (wide(first), wide(last));
        }
        let first = if let Ok(offset) = usize::try_from(self.offset) {
            offset.max(1)
        } else {
            let back = usize::try_from(self.offset.unsigned_abs()).unwrap_or(usize::MAX);
            (total + 1).saturating_sub(back).max(1)
        };
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        (first, first.saturating_add(limit).saturating_sub(1))
    }
}

fn show_cell(roll: &mut Roll, notebook: &Notebook<'_>, cell: &Cell) {
    let id = cell.id.as_deref().map_or_else(String::new, |id| format!(", id {}", escaped(id)));
    let ran = notebook.raw(cell, "execution_count").filter(|count| *count != "null");
    let ran = ran.map_or_else(String::new, |count| format!(", ran as [{count}]"));
    roll.line(&format!("── #{} {}{id}{ran} ──", cell.number, escaped(&cell.kind)));
    let source = notebook.source(cell);
    let mut left_out = 0_usize;
    for line in source.lines() {
        if roll.is_full() {
            left_out += 1;
        } else {
            roll.cut_line(&format!("│{line}"), COLUMNS_MAX);
        }
    }
    if left_out > 0 {
        let count = grouped(u64::try_from(left_out).unwrap_or(u64::MAX));
        roll.note(&format!("… {count} more lines of this cell; columns=\"1-2000\" shows the file as text"));
        return;
    }
    let Some(outputs) = notebook.raw(cell, "outputs") else { return };
    let Ok(Value::Array(outputs)) = serde_json::from_str(outputs) else {
        roll.line("outputs: (not readable)");
        return;
    };
    for output in outputs.iter().take(OUTPUTS_MAX) {
        show_output(roll, output);
    }
    if outputs.len() > OUTPUTS_MAX {
        roll.line(&format!("… {} more outputs", outputs.len() - OUTPUTS_MAX));
    }
}

fn show_output(roll: &mut Roll, output: &Value) {
    let word = |key: &str| output.get(key).and_then(Value::as_str).unwrap_or_default();
    match word("output_type") {
        "stream" => show_text(roll, word("name"), &joined(output.get("text"))),
        "error" => {
            let lines = output.get("traceback").and_then(Value::as_array).map_or(0, Vec::len);
            let said = format!("{}: {}", word("ename"), word("evalue"));
            show_text(roll, &format!("error (traceback of {lines} parts left out)"), &said);
        }
        _ => {
            let data = output.get("data").and_then(Value::as_object);
            for (kind, value) in data.into_iter().flatten() {
                let text = joined(Some(value));
                if kind == "text/plain" {
                    show_text(roll, kind, &text);
                } else {
                    let len = u64::try_from(text.len()).unwrap_or(u64::MAX);
                    roll.line(&format!("output {}: {}, not shown", escaped(kind), size(len)));
                }
            }
        }
    }
}

fn show_text(roll: &mut Roll, kind: &str, text: &str) {
    roll.line(&format!("output {}:", escaped(kind)));
    for line in text.lines().take(OUTPUT_LINES_MAX) {
        if roll.is_full() {
            return;
        }
        roll.cut_line(&format!("  {line}"), OUTPUT_LINE_MAX_CHARS);
    }
    let left_out = text.lines().count().saturating_sub(OUTPUT_LINES_MAX);
    if left_out > 0 {
        roll.line(&format!("  … {} more lines", grouped(u64::try_from(left_out).unwrap_or(u64::MAX))));
    }
}

/// A text that may be a list of its lines; anything else as JSON.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wish(offset: i64, limit: u64) -> Wish {
        Wish { offset, limit, pages: None }
    }

    #[test]
    fn cells_have_number_id_type_source_and_short_outputs() {
        let text = json!({
            "nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}},
            "cells": [
                {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# T\n", "x"]},
                {"cell_type": "code", "id": "c", "execution_count": 3, "source": "1/0", "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
                    {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
                    {"output_type": "error", "ename": "E", "evalue": "zero", "traceback": ["x"]},
                ]},
            ],
        })
        .to_string();
        let notebook = Notebook::parse(&text).unwrap();
        assert_eq!(
            show("n.ipynb", &notebook, &wish(1, 9)),
            "n.ipynb is a notebook (nbformat 4.5, python) with 2 cells:\n── #1 markdown, id m ──\n│# T\n│x\n\
             ── #2 code, id c, ran as [3] ──\n│1/0\noutput stdout:\n  a\n  b\noutput image/png: 4 B, not shown\n\
             output text/plain:\n  <Figure>\noutput error (traceback of 1 parts left out):\n  E: zero\n\
             (change cells with notebook_edit; columns=\"1-2000\" shows the file itself as text)"
        );
        let first = show("n", &notebook, &wish(1, 1));
        assert!(!first.contains("#2") && first.contains("… 1 more cells; read on with offset=2"), "{first}");
        assert!(show("n", &notebook, &wish(-1, 9)).contains(":\n── #2 code"));
        assert!(show("n", &notebook, &wish(7, 9)).contains("no cell #7; read from offset=2"));
        let pages = Wish { pages: Some(PageRange { first: 2, last: 2 }), ..wish(1, 9) };
        assert!(show("n", &notebook, &pages).contains(":\n── #2 code"));
    }
}
