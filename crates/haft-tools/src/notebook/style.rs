//! How a notebook's JSON is written, so that new cells look like the old ones.

use super::{Notebook, scan::Parts};
use std::ops::Range;

/// The blanks and forms of one notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    /// The line end between parts; none where all stands in one line.
    newline: Option<&'static str>,
    /// One step of indentation.
    unit: String,
    /// Between key and value.
    colon: String,
    /// Between parts in one line.
    comma: String,
    /// Whether everything beyond ASCII is written as an escape.
    is_ascii: bool,
    /// Whether a source is a list of lines.
    is_list: bool,
}

/// A value to be written.
#[derive(Debug, Clone)]
pub(crate) enum Json {
    /// As it is.
    Raw(String),
    /// A list.
    List(Vec<Json>),
    /// An object.
    Map(Vec<(&'static str, Json)>),
}

impl Style {
    /// The style of a notebook; that of the reference implementation where the notebook shows none.
    pub(crate) fn of(notebook: &Notebook<'_>) -> Self {
        let text = notebook.text;
        let lead = notebook.top.lead(text);
        let newline = if lead.contains("\r\n") {
            Some("\r\n")
        } else if lead.contains('\n') {
            Some("\n")
        } else {
            None
        };
        let first = notebook.top.items.first();
        let colon = first.and_then(|part| text.get(part.span.start..part.value.start)?.rsplit('"').next());
        let is_list = notebook
            .cells
            .iter()
            .find_map(|cell| notebook.raw(cell, "source").map(|source| source.starts_with('[')));
        Self {
            newline,
            unit: indent(lead).to_owned(),
            colon: colon.unwrap_or(": ").to_owned(),
            comma: match newline {
                Some(_) => ", ".to_owned(),
                None => notebook.top.gap(text, 1).unwrap_or(", ").to_owned(),
            },
            is_ascii: text.is_ascii() && has_escapes(text),
            is_list: is_list.unwrap_or(true),
        }
    }

    /// The indentation `depth` steps in.
    pub(crate) fn depth(&self, depth: usize) -> String {
        self.unit.repeat(depth)
    }

    /// What stands before the first part of a list or object whose parts have this indentation.
    pub(crate) fn lead(&self, indent: &str) -> String {
        self.newline.map_or_else(String::new, |newline| format!("{newline}{indent}"))
    }

    /// What stands between two parts with this indentation.
    pub(crate) fn gap(&self, indent: &str) -> String {
        self.newline.map_or_else(|| self.comma.clone(), |newline| format!(",{newline}{indent}"))
    }

    /// A key with what follows it.
    pub(crate) fn key(&self, key: &str) -> String {
        format!("\"{key}\"{}", self.colon)
    }

    /// Text as a JSON string.
    pub(crate) fn quoted(&self, text: &str) -> String {
        let plain = serde_json::Value::from(text).to_string();
        if !self.is_ascii {
            return plain;
        }
        let mut out = String::with_capacity(plain.len());
        for character in plain.chars() {
            if character.is_ascii() {
                out.push(character);
            } else {
                let mut units = [0; 2];
                out.extend(character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
        out
    }

    /// A value whose own line has this indentation.
    pub(crate) fn written(&self, json: &Json, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let (open, close, parts): (_, _, Vec<String>) = match json {
            Json::Raw(raw) => return raw.clone(),
            Json::List(items) => ('[', ']', items.iter().map(|item| self.written(item, &inner)).collect()),
            Json::Map(members) => {
                let member = |(key, value): &(&'static str, Json)| {
                    format!("{}{}", self.key(key), self.written(value, &inner))
                };
                ('{', '}', members.iter().map(member).collect())
            }
        };
        if parts.is_empty() {
            return format!("{open}{close}");
        }
        format!("{open}{}{}{}{close}", self.lead(&inner), parts.join(&self.gap(&inner)), self.lead(indent))
    }

    /// A source in the notebook's form.
    pub(crate) fn source(&self, source: &str) -> Json {
        if self.is_list {
            Json::List(lines(source).map(|line| Json::Raw(self.quoted(line))).collect())
        } else {
            Json::Raw(self.quoted(source))
        }
    }

    /// A source in the form of the one that it replaces, which stands at `old` in a cell whose members have this
    /// indentation.
    pub(crate) fn source_like(&self, source: &str, text: &str, old: &Range<usize>, indent: &str) -> String {
        let Some(list) = Parts::of(text, old) else { return self.quoted(source) };
        let new: Vec<String> = lines(source).map(|line| self.quoted(line)).collect();
        if list.items.is_empty() || new.is_empty() {
            let new = new.into_iter().map(Json::Raw).collect();
            return self.written(&Json::List(new), indent);
        }
        let lead = list.lead(text);
        let own_gap = if lead.contains('\n') { format!(",{lead}") } else { self.comma.clone() };
        let gap = list.gap(text, 1).unwrap_or(&own_gap);
        format!("[{lead}{}{}]", new.join(gap), list.tail(text))
    }
}

/// The blanks after the last line end.
pub(crate) fn indent(lead: &str) -> &str {
    lead.rsplit('\n').next().filter(|_| lead.contains('\n')).unwrap_or_default()
}

fn lines(source: &str) -> impl Iterator<Item = &str> {
    source.split_inclusive('\n')
}

/// Whether a character beyond ASCII is written as an escape anywhere.
fn has_escapes(text: &str) -> bool {
    text.match_indices("\\u").any(|(at, _)| {
        let code = text.get(at + 2..at + 6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        code.is_some_and(|code| code > 0x7F)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(text: &str) -> Style {
        Style::of(&Notebook::parse(text).unwrap())
    }

    #[test]
    fn a_new_cell_looks_like_the_reference_writes_it() {
        let style = style("{\n \"cells\": [],\n \"nbformat\": 4\n}");
        let cell = Json::Map(vec![
            ("cell_type", Json::Raw("\"code\"".to_owned())),
            ("outputs", Json::List(Vec::new())),
            ("source", style.source("a\né")),
        ]);
        assert_eq!(
            style.written(&cell, "  "),
            "{\n   \"cell_type\": \"code\",\n   \"outputs\": [],\n   \"source\": [\n    \"a\\n\",\n    \"é\"\n   ]\n  }"
        );
    }

    #[test]
    fn a_compact_notebook_stays_compact_and_escapes_stay_escapes() {
        let style = style("{\"nbformat\":4,\"cells\":[{\"source\":\"\\u00e9\"}]}");
        let map =
            Json::Map(vec![("a", style.source("é😀")), ("b", Json::List(vec![Json::Raw("1".to_owned())]))]);
        assert_eq!(style.written(&map, ""), "{\"a\":\"\\u00e9\\ud83d\\ude00\",\"b\":[1]}");
    }

    #[test]
    fn a_source_keeps_the_form_of_the_one_before() {
        let style = style("{\n  \"nbformat\": 4,\n  \"cells\": []\n}");
        let like = |old: &str, new: &str| style.source_like(new, old, &(0..old.len()), "      ");
        assert_eq!(like("\"x\"", "a\nb"), "\"a\\nb\"");
        assert_eq!(like("[\"x\"]", "a\nb"), "[\"a\\n\", \"b\"]");
        assert_eq!(like("[\n\t\"x\",\n\t\"y\"\n]", "a\nb\n"), "[\n\t\"a\\n\",\n\t\"b\\n\"\n]");
        assert_eq!(like("[]", "a"), "[\n        \"a\"\n      ]");
        assert_eq!(like("[\n \"x\"\n]", ""), "[]");
    }
}
