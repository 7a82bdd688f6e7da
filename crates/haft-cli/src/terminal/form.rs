//! A form that a tool's source wants filled in: shown field by field, each answered by a line. Pure.

use super::{
    clean::one_line,
    style::{ASKS, BOLD, bad, dim},
};
use haft_core::{Form, exact};
use haft_runtime::Checker;
use serde_json::Value;

/// How much of one text of a form is shown.
const TEXT_MAX_CHARS: usize = 400;
/// How many lines of its message are shown.
const MESSAGE_MAX_LINES: usize = 20;

/// One field.
pub(super) struct Field {
    /// What its value is called.
    pub(super) name: String,
    title: String,
    about: String,
    kind: Kind,
    default: Option<Value>,
    is_required: bool,
    /// None where the form's own words on it can't be used.
    checker: Option<Checker>,
}

/// What can stand in a field.
enum Kind {
    Text,
    Number,
    Flag,
    One(Vec<Choice>),
    Several(Vec<Choice>),
}

/// One of the values to choose from.
struct Choice {
    value: String,
    title: String,
}

/// What a typed line comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Typed {
    /// The field has this value.
    Value(Value),
    /// It stays empty.
    Nothing,
    /// It has to be typed again, and why.
    Again(String),
}

/// Who wants what, and what is agreed to by going on.
pub(super) fn head(form: &Form) -> String {
    let mut lines =
        vec![String::new(), format!("{ASKS}?{ASKS:#} {BOLD}{}{BOLD:#} wants to know", shown(&form.source))];
    lines.extend(form.message.lines().take(MESSAGE_MAX_LINES).map(|line| format!("  {}", shown(line))));
    if let Some(url) = &form.url {
        lines.push(format!("  it wants you to open this page: {}", shown(url)));
        lines.push(format!("  {}", dim("haft opens nothing: look at the address, then open it yourself")));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The prompt that asks whether to go on at all.
pub(super) fn consent(form: &Form, fields: usize) -> String {
    match (&form.url, fields) {
        (Some(_), _) => "  Tell it that you did? [y/N] > ".to_owned(),
        (None, 0) => "  Say yes to it? [y/N] > ".to_owned(),
        (None, 1) => "  Answer it? It gets what you type. [y/N] > ".to_owned(),
        (None, fields) => format!("  Answer its {fields} questions? It gets what you type. [y/N] > "),
    }
}

/// The fields of a form, in its order.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let all = properties.into_iter().flatten().map(|(name, property)| {
        let text = |key: &str| property.get(key).and_then(Value::as_str).unwrap_or_default();
        Field {
            name: name.clone(),
            title: if text("title").is_empty() { name.clone() } else { text("title").to_owned() },
            about: text("description").to_owned(),
            kind: kind(property),
            default: property.get("default").cloned(),
            is_required: is_required(name),
            checker: Checker::compile(property).ok(),
        }
    });
    all.collect()
}

fn kind(property: &Value) -> Kind {
    if let Some(choices) = choices(property) {
        return Kind::One(choices);
    }
    match property.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => Kind::Number,
        Some("boolean") => Kind::Flag,
        Some("array") => Kind::Several(property.get("items").and_then(choices).unwrap_or_default()),
        _ => Kind::Text,
    }
}

/// The values to choose from, in each of the ways to write them.
fn choices(property: &Value) -> Option<Vec<Choice>> {
    if let Some(values) = property.get("enum").and_then(Value::as_array) {
        let titles = property.get("enumNames").and_then(Value::as_array);
        let texts = values.iter().filter_map(Value::as_str).enumerate();
        let choice = |(at, value): (usize, &str)| {
            let title = titles.and_then(|titles| titles.get(at)).and_then(Value::as_str);
            Choice { value: value.to_owned(), title: title.unwrap_or(value).to_owned() }
        };
        return Some(texts.map(choice).collect());
    }
    let titled = property.get("oneOf").or_else(|| property.get("anyOf"))?.as_array()?;
    let choice = |one: &Value| {
        let value = one.get("const")?.as_str()?;
        let title = one.get("title").and_then(Value::as_str).unwrap_or(value);
        Some(Choice { value: value.to_owned(), title: title.to_owned() })
    };
    titled.iter().map(choice).collect()
}

impl Field {
    /// What stands before the line that is typed.
    pub(super) fn prompt(&self) -> String {
        let mut lines = vec![format!("  {BOLD}{}{BOLD:#}", shown(&self.title))];
        if !self.about.trim().is_empty() {
            lines.push(format!("  {}", shown(&self.about)));
        }
        if let Kind::One(choices) | Kind::Several(choices) = &self.kind {
            lines.extend(choices.iter().enumerate().map(|(at, choice)| {
                let value =
                    if choice.title == choice.value { String::new() } else { format!(" ({})", choice.value) };
                format!("    {}. {}", at + 1, shown(&format!("{}{value}", choice.title)))
            }));
        }
        let wanted = match &self.kind {
            Kind::Text => "text",
            Kind::Number => "a number",
            Kind::Flag => "y or n",
            Kind::One(_) => "one of these",
            Kind::Several(_) => "some of these, with commas",
        };
        let empty = match (&self.default, self.is_required) {
            (Some(default), _) => format!(", empty for {}", shown(&plain(default))),
            (None, false) => ", or empty".to_owned(),
            (None, true) => String::new(),
        };
        lines.push(format!("  {} > ", dim(&format!("{wanted}{empty}"))));
        lines.join("\n")
    }

    /// Reads a typed line.
    pub(super) fn read(&self, line: &str) -> Typed {
        let line = line.trim();
        if line.is_empty() {
            return match (&self.default, self.is_required) {
                (Some(default), _) => Typed::Value(default.clone()),
                (None, false) => Typed::Nothing,
                (None, true) => Typed::Again("this one can't stay empty".to_owned()),
            };
        }
        let Some(value) = self.value(line) else { return Typed::Again("that can't stand here".to_owned()) };
        match self.checker.as_ref().and_then(|checker| checker.problems(&value)) {
            None => Typed::Value(value),
            Some(problems) => Typed::Again(problems),
        }
    }

    fn value(&self, line: &str) -> Option<Value> {
        match &self.kind {
            Kind::Text => Some(line.into()),
            Kind::Number => match line.parse::<i64>() {
                Ok(whole) => Some(whole.into()),
                Err(_) => serde_json::Number::from_f64(line.parse().ok()?).map(Value::Number),
            },
            Kind::Flag => match line.to_lowercase().as_str() {
                "y" | "yes" | "true" => Some(true.into()),
                "n" | "no" | "false" => Some(false.into()),
                _ => None,
            },
            Kind::One(choices) => chosen(choices, line).map(Value::from),
            // A list of anything.
            Kind::Several(choices) if choices.is_empty() => {
                Some(line.split(',').map(|word| Value::from(word.trim())).collect())
            }
            Kind::Several(choices) => {
                line.split(',').map(|word| chosen(choices, word.trim()).map(Value::from)).collect()
            }
        }
    }
}

/// A choice by its value, its title or its number.
fn chosen<'c>(choices: &'c [Choice], typed: &str) -> Option<&'c str> {
    let by_word = choices.iter().find(|choice| choice.value == typed || choice.title == typed);
    let by_number = || choices.get(typed.parse::<usize>().ok()?.checked_sub(1)?);
    by_word.or_else(by_number).map(|choice| choice.value.as_str())
}

/// Why a line has to be typed again.
pub(super) fn again(why: &str) -> String {
    format!("  {}", bad(&shown(why)))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A stranger's text on one line, with what hides in it.
fn shown(text: &str) -> String {
    one_line(&exact(text), TEXT_MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::CallId;
    use serde_json::json;

    fn field(property: Value, is_required: bool) -> Field {
        let required: &[&str] = if is_required { &["x"] } else { &[] };
        fields(&json!({"properties": {"x": property}, "required": required})).remove(0)
    }

    fn read(property: &Value, line: &str) -> Typed {
        field(property.clone(), false).read(line)
    }

    #[test]
    fn each_kind_of_field_reads_what_is_typed() {
        let titled = json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]});
        let several = json!({"type": "array", "items": {"enum": ["a", "b", "c"]}});
        for (property, line, value) in [
            (json!({"type": "string"}), " Ada  L ", json!("Ada  L")),
            (json!({"type": "integer"}), "7", json!(7)),
            (json!({"type": "number"}), "1.5", json!(1.5)),
            (json!({"type": "boolean"}), "Y", json!(true)),
            (json!({"enum": ["one", "two"], "enumNames": ["Eins", "Zwei"]}), "Zwei", json!("two")),
            (json!({"enum": ["2", "1"]}), "2", json!("2")),
            (titled.clone(), "2", json!("g")),
            (titled, "Red", json!("r")),
            (several.clone(), "3, a", json!(["c", "a"])),
        ] {
            assert_eq!(read(&property, line), Typed::Value(value), "{property} {line}");
        }
        for (property, line) in [
            (json!({"type": "integer"}), "1.5"),
            (json!({"type": "integer", "maximum": 3}), "4"),
            (json!({"type": "string", "minLength": 3}), "ab"),
            (json!({"type": "boolean"}), "maybe"),
            (json!({"enum": ["a"]}), "2"),
            (several, "a, x"),
        ] {
            assert!(matches!(read(&property, line), Typed::Again(_)), "{property} {line}");
        }
    }

    #[test]
    fn an_empty_line_is_the_default_or_nothing_or_not_enough() {
        assert_eq!(read(&json!({"default": 3}), ""), Typed::Value(json!(3)));
        assert_eq!(read(&json!({}), "  "), Typed::Nothing);
        assert!(matches!(field(json!({}), true).read(""), Typed::Again(_)));
        assert_eq!(field(json!({"type": "array", "default": []}), true).read(""), Typed::Value(json!([])));
    }

    #[test]
    fn a_strangers_texts_cannot_act_or_hide() {
        let form = Form {
            call: CallId::outer(1),
            source: "the server x\u{1b}[2J".into(),
            message: "Name\u{202e}?\nmore".to_owned(),
            schema: json!({}),
            url: Some("https://x.example/\u{200b}a".to_owned()),
        };
        let head = head(&form);
        assert!(
            head.contains("\\u{1b}[2J") && head.contains("\\u{202e}") && head.contains("\\u{200b}"),
            "{head}"
        );
        let prompt = field(json!({"title": "a\u{1b}b", "enum": ["c\u{202e}"]}), false).prompt();
        assert!(prompt.contains("a\\u{1b}b") && prompt.contains("1. c\\u{202e}"), "{prompt}");
    }
}
