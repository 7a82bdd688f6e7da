//! The text of a notebook after one step.

use super::{
    sequence::{Around, Sequence},
    step::{Action, Kind, Place, Step, find},
};
use crate::{
    notebook::{Cell, Json, Notebook, Style, indent},
    text::names::escaped,
};
use haft_core::{Failure, content_hash};
use std::fmt::Write as _;

/// How long a new cell's id is: as those that the reference implementation makes.
const ID_CHARS: usize = 8;
/// Cells stand so many steps of indentation in: in the notebook, in its list.
const CELL_DEPTH: usize = 2;

/// A change that is ready.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The whole new text.
    pub(crate) after: String,
    /// What stands for the change: the cells it concerns, old and new.
    pub(crate) parts: Vec<String>,
    /// What was done, for the model.
    pub(crate) says: String,
}

/// Plans a step.
///
/// # Errors
/// Invalid input where the text is no notebook of nbformat 4; as [`find`] where the cell can't be found.
pub(crate) fn plan(path: &str, text: &str, step: &Step) -> Result<Planned, Failure> {
    let notebook = Notebook::parse(text).map_err(|why| {
        Failure::invalid(format!(
            "{path} can't be changed as a notebook: {why}. Nothing was changed; correct the file with edit."
        ))
    })?;
    let style = Style::of(&notebook);
    let cell_indent = style.depth(CELL_DEPTH);
    let list_indent = style.depth(CELL_DEPTH - 1);
    let around = Around {
        lead: style.lead(&cell_indent),
        gap: style.gap(&cell_indent),
        tail: style.lead(&list_indent),
    };
    let mut cells = Sequence::of(text, &notebook.list, &around);
    let whole = |cell: &Cell| text.get(cell.span.clone()).unwrap_or_default().to_owned();
    let mut count = notebook.cells.len();
    let (parts, says) = match &step.action {
        Action::Replace { source, kind } => {
            let cell = find(path, &notebook, &step.cell)?;
            let change = Change { notebook: &notebook, style: &style, cell };
            let new = change.replaced(source.as_deref(), *kind);
            cells.set(cell.number - 1, new.clone());
            (vec![whole(cell), new], change.says(path, source.is_some(), *kind))
        }
        Action::Insert { source, kind } => {
            let place = Place::of(&step.cell);
            let index = place.index(path, &notebook)?;
            let id = notebook.has_ids().then(|| new_id(&notebook, source));
            let new = style.written(&new_cell(&style, source, *kind, id.as_deref()), &cell_indent);
            cells.insert(index, new.clone());
            count += 1;
            let before = index.checked_sub(1).and_then(|index| notebook.cells.get(index));
            let says = format!(
                "Inserted {} cell {} (now #{}) into {path}, {}.",
                kind.name(),
                id.unwrap_or_else(|| format!("#{}", index + 1)),
                index + 1,
                before
                    .map_or_else(|| "before all others".to_owned(), |cell| format!("after {}", named(cell)))
            );
            (vec![before.map(whole).unwrap_or_default(), new], says)
        }
        Action::Delete => {
            let cell = find(path, &notebook, &step.cell)?;
            cells.remove(cell.number - 1);
            count -= 1;
            (vec![whole(cell)], format!("Deleted {} cell {} from {path}.", cell.kind, named(cell)))
        }
        Action::Move { after } => {
            let cell = find(path, &notebook, &step.cell)?;
            let place = after.index(path, &notebook)?;
            // The place is counted with the cell still there.
            let index = if place >= cell.number { place - 1 } else { place };
            let moved = cells.remove(cell.number - 1);
            cells.insert(index, moved);
            let before = index_before(&notebook, cell, index);
            let says = format!("Moved cell {} of {path}: it is #{} now.", named(cell), index + 1);
            (vec![whole(cell), before.map(whole).unwrap_or_default()], says)
        }
    };
    let inner = &notebook.list.inner;
    let (head, rest) = (text.get(..inner.start), text.get(inner.end..));
    let after = format!("{}{}{}", head.unwrap_or_default(), cells.written(), rest.unwrap_or_default());
    let check = Notebook::parse(&after).map(|notebook| notebook.cells.len());
    if check != Ok(count) {
        return Err(Failure::internal(format!(
            "{path} wasn't changed, since the change would have broken it"
        ))
        .diagnose(format!("{check:?} cells instead of {count}")));
    }
    Ok(Planned { after, parts, says })
}

/// The cell that stands before a moved one.
fn index_before<'n>(notebook: &'n Notebook<'_>, moved: &Cell, index: usize) -> Option<&'n Cell> {
    notebook.cells.iter().filter(|cell| cell.number != moved.number).nth(index.checked_sub(1)?)
}

fn named(cell: &Cell) -> String {
    match &cell.id {
        Some(id) => format!("{} (#{})", escaped(id), cell.number),
        None => format!("#{}", cell.number),
    }
}

/// One cell that is changed.
struct Change<'a> {
    notebook: &'a Notebook<'a>,
    style: &'a Style,
    cell: &'a Cell,
}

impl Change<'_> {
    fn becomes(&self, kind: Option<Kind>) -> Option<Kind> {
        kind.filter(|kind| kind.name() != self.cell.kind)
    }

    /// The whole cell anew. Its members keep their order, bytes and blanks, but those that change.
    fn replaced(&self, source: Option<&str>, kind: Option<Kind>) -> String {
        let (text, cell, style) = (self.notebook.text, self.cell, self.style);
        let own_indent = indent(cell.members.lead(text)).to_owned();
        let around = Around {
            lead: style.lead(&own_indent),
            gap: style.gap(&own_indent),
            tail: style.lead(&style.depth(CELL_DEPTH)),
        };
        let becomes = self.becomes(kind);
        let is_code = becomes.map_or(cell.kind == Kind::Code.name(), |kind| kind == Kind::Code);
        let mut keys: Vec<String> =
            cell.members.items.iter().map(|part| part.key.clone().unwrap_or_default()).collect();
        let mut members = Sequence::of(text, &cell.members, &around);
        for (index, part) in cell.members.items.iter().enumerate() {
            let value = match part.key.as_deref() {
                Some("cell_type") => becomes.map(|kind| style.quoted(kind.name())),
                Some("source") => {
                    source.map(|source| style.source_like(source, text, &part.value, &own_indent))
                }
                // What ran was the old source.
                Some("outputs") if source.is_some() => Some("[]".to_owned()),
                Some("execution_count") if source.is_some() => Some("null".to_owned()),
                _ => None,
            };
            if let Some(value) = value {
                let key = text.get(part.span.start..part.value.start).unwrap_or_default();
                members.set(index, format!("{key}{value}"));
            }
        }
        let mut add = |members: &mut Sequence<'_>, key: &str, value: String| {
            if !keys.iter().any(|known| known == key) {
                let index = keys.iter().position(|known| known.as_str() > key).unwrap_or(keys.len());
                keys.insert(index, key.to_owned());
                members.insert(index, format!("{}{value}", style.key(key)));
            }
        };
        if let Some(source) = source {
            add(&mut members, "source", style.written(&style.source(source), &own_indent));
        }
        if becomes.is_some() && is_code {
            add(&mut members, "execution_count", "null".to_owned());
            add(&mut members, "outputs", "[]".to_owned());
        }
        if becomes.is_some() {
            // The format knows these for the other type only.
            let foreign: &[&str] = if is_code { &["attachments"] } else { &["outputs", "execution_count"] };
            while let Some(index) = keys.iter().position(|key| foreign.contains(&key.as_str())) {
                keys.remove(index);
                members.remove(index);
            }
        }
        format!("{{{}}}", members.written())
    }

    fn says(&self, path: &str, has_source: bool, kind: Option<Kind>) -> String {
        let cell = self.cell;
        let what = if has_source { "Replaced the source of" } else { "Changed the type of" };
        let mut says = format!("{what} cell {} of {path}", named(cell));
        if let Some(kind) = self.becomes(kind) {
            let _ = write!(says, "; it is a {} cell now", kind.name());
        }
        let outputs = self.notebook.raw(cell, "outputs").unwrap_or("[]");
        let had_outputs = !outputs.trim_matches(['[', ']', ' ', '\n', '\r', '\t']).is_empty();
        let is_code = cell.kind == Kind::Code.name();
        if is_code && had_outputs && (has_source || self.becomes(kind).is_some()) {
            says.push_str("; its outputs were cleared, since they are of the old one");
        }
        says.push('.');
        says
    }
}

/// The members that the format asks for, in the order of the reference implementation.
fn new_cell(style: &Style, source: &str, kind: Kind, id: Option<&str>) -> Json {
    let mut members = vec![("cell_type", Json::Raw(style.quoted(kind.name())))];
    if kind == Kind::Code {
        members.push(("execution_count", Json::Raw("null".to_owned())));
    }
    if let Some(id) = id {
        members.push(("id", Json::Raw(style.quoted(id))));
    }
    members.push(("metadata", Json::Map(Vec::new())));
    if kind == Kind::Code {
        members.push(("outputs", Json::List(Vec::new())));
    }
    members.push(("source", style.source(source)));
    Json::Map(members)
}

/// An id that no cell has: the same for the same notebook and source, so that what is shown before is what is
/// written.
fn new_id(notebook: &Notebook<'_>, source: &str) -> String {
    let mut seed = format!("{}\0{source}", notebook.cells.len());
    loop {
        seed = content_hash(seed.as_bytes()).to_string();
        let id = seed.get(..ID_CHARS).unwrap_or(&seed);
        if !notebook.cells.iter().any(|cell| cell.id.as_deref() == Some(id)) {
            return id.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 7,\n   \
        \"id\": \"p\",\n   \"metadata\": {},\n   \"outputs\": [{\"x\": \"\\u00fc\"}],\n   \"source\": [\n    \
        \"a = '\\u00e4'\"\n   ]\n  },\n  {\n   \"source\": [],\n   \"cell_type\": \"markdown\", \"id\": \"q\",\n   \
        \"metadata\": {}\n  },\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"r\",\n   \"metadata\": {},\n   \
        \"source\": \"z\"\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}";

    fn done(text: &str, cell: &str, action: Action) -> String {
        plan("n.ipynb", text, &Step { cell: cell.to_owned(), action }).unwrap().after
    }

    fn insert(source: &str) -> Action {
        Action::Insert { source: source.to_owned(), kind: Kind::Markdown }
    }

    fn cells(text: &str) -> Vec<(String, String)> {
        let notebook = Notebook::parse(text).unwrap();
        let own = |cell: &Cell| text[cell.span.clone()].to_owned();
        notebook.cells.iter().map(|cell| (cell.id.clone().unwrap_or_default(), own(cell))).collect()
    }

    #[test]
    fn case_f08_a_cell_lands_after_the_one_named_and_the_others_keep_their_bytes() {
        let after = done(THREE, "q", insert("new\nlines"));
        let (old, new) = (cells(THREE), cells(&after));
        assert_eq!([&new[0], &new[1], &new[3]], [&old[0], &old[1], &old[2]]);
        let id = &new[2].0;
        assert_eq!(id.len(), ID_CHARS);
        assert_eq!(
            new[2].1,
            format!(
                "{{\n   \"cell_type\": \"markdown\",\n   \"id\": \"{id}\",\n   \"metadata\": {{}},\n   \"source\": \
                 [\n    \"new\\n\",\n    \"lines\"\n   ]\n  }}"
            )
        );
        assert_eq!(after.replacen(&format!(",\n  {}", new[2].1), "", 1), THREE);
        assert_eq!(done(&after, id, Action::Delete), THREE);
        assert_eq!(cells(&done(THREE, "start", insert("x")))[1..], old);
        assert_eq!(cells(&done(THREE, "end", insert("x")))[..3], old);
        let escaped = done(THREE, "r", insert("ß"));
        assert!(escaped.is_ascii() && escaped.contains("\"\\u00df\""), "{escaped}");
    }

    #[test]
    fn case_f08_a_replaced_cell_keeps_its_form_and_loses_its_outputs() {
        let replace = |cell: &str, source: &str| {
            done(THREE, cell, Action::Replace { source: Some(source.to_owned()), kind: None })
        };
        let expected = THREE
            .replace("\"a = '\\u00e4'\"", "\"b\\n\",\n    \"c\"")
            .replace("\"outputs\": [{\"x\": \"\\u00fc\"}]", "\"outputs\": []")
            .replace("\"execution_count\": 7", "\"execution_count\": null");
        assert_eq!(replace("p", "b\nc"), expected);
        assert_eq!(replace("r", "y\nx"), THREE.replace("\"source\": \"z\"", "\"source\": \"y\\nx\""));
        assert_eq!(replace("q", ""), THREE);
        assert_eq!(replace("q", "t"), THREE.replace("\"source\": []", "\"source\": [\n    \"t\"\n   ]"));
    }

    #[test]
    fn a_type_brings_and_takes_the_members_of_its_own() {
        let becomes =
            |cell: &str, kind| done(THREE, cell, Action::Replace { source: None, kind: Some(kind) });
        assert_eq!(becomes("p", Kind::Code), THREE);
        let markdown = becomes("p", Kind::Markdown);
        let expected = THREE
            .replacen("\"cell_type\": \"code\",\n   \"execution_count\": 7", "\"cell_type\": \"markdown\"", 1)
            .replacen("\"outputs\": [{\"x\": \"\\u00fc\"}],\n   ", "", 1);
        assert_eq!(markdown, expected);
        let code = becomes("r", Kind::Code);
        assert!(code.contains(
            "\"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"r\",\n   \"metadata\": {},\n   \
             \"outputs\": [],\n   \"source\": \"z\""
        ));
    }

    #[test]
    fn cells_move_whole() {
        let moved = |cell: &str, after: &str| {
            let text = done(THREE, cell, Action::Move { after: Place::of(after) });
            let mut ids: Vec<String> = cells(&text).into_iter().map(|(id, _)| id).collect();
            let order = ids.join("");
            ids.sort();
            assert_eq!(ids, ["p", "q", "r"]);
            order
        };
        assert_eq!([moved("p", "q"), moved("p", "end"), moved("r", "start")], ["qpr", "qrp", "rpq"]);
        assert_eq!([moved("q", "q"), moved("q", "p"), moved("r", "p")], ["pqr", "pqr", "prq"]);
    }

    #[test]
    fn no_id_is_written_where_the_format_has_none_and_cells_go_by_number() {
        let old = "{\"cells\":[{\"cell_type\":\"raw\",\"metadata\":{},\"source\":\"a\"}],\"nbformat\":4,\
                   \"nbformat_minor\":4}";
        let after = done(old, "#1", insert("b"));
        assert_eq!(
            after,
            old.replace("\"a\"}", "\"a\"},{\"cell_type\":\"markdown\",\"metadata\":{},\"source\":\"b\"}")
        );
        let empty = "{\n  \"cells\": [],\n  \"nbformat\": 4,\n  \"nbformat_minor\": 2\n}\n";
        let first = done(empty, "start", insert("b"));
        assert!(first.contains("\"cells\": [\n    {\n      \"cell_type\""), "{first}");
        assert!(first.contains("\n    }\n  ],\n  \"nbformat\"") && !first.contains("\"id\""), "{first}");
        assert_eq!(done(&first, "#1", Action::Delete), empty);
    }

    #[test]
    fn case_f08_a_cell_that_is_not_told_for_certain_is_refused() {
        let refused = |text: &str, cell: &str| {
            plan("n", text, &Step { cell: cell.to_owned(), action: insert("x") }).unwrap_err().text
        };
        let missing = refused(THREE, "s");
        assert!(
            missing.contains("no cell \"s\"") && missing.contains("p (code), q (markdown), r (raw)"),
            "{missing}"
        );
        assert!(refused(THREE, "#2").contains("Give cell=\"q\""));
        assert!(refused(THREE, "#9").contains("no cell \"#9\""));
        let twice = THREE.replace("\"id\": \"r\"", "\"id\": \"q\"");
        assert!(refused(&twice, "q").contains("Cells #2 and #3"));
        assert!(refused(&THREE.replace("\"nbformat\": 4", "\"nbformat\": 3"), "q").contains("nbformat 3"));
    }
}
