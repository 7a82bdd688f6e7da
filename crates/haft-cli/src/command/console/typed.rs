//! A line of the tool console, taken apart. Pure.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConsoleLine {
    /// Nothing.
    Empty,
    /// What can be typed here.
    Help,
    /// The tools there are.
    Tools,
    /// The commands that go on in the background.
    Jobs,
    /// A command of an extension.
    Slash,
    /// The end.
    Quit,
    /// A call.
    Call {
        /// The tool's name.
        tool: String,
        /// Its input.
        input: ConsoleInput,
    },
    /// It can't be read; why.
    Wrong(String),
}

/// Input as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConsoleInput {
    /// JSON, to be read by the runtime.
    Json(String),
    /// Pairs in order; a word without a value is true.
    Pairs(Vec<(String, Option<String>)>),
}

impl ConsoleLine {
    /// Reads a line: a word of the console, a tool's name with JSON or `key=value` pairs, or all of it as JSON.
    pub(super) fn parse(line: &str) -> Self {
        let line = line.trim();
        if line.starts_with('{') {
            return whole(line).unwrap_or_else(Self::Wrong);
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match (name, rest) {
            ("", _) => Self::Empty,
            ("help" | "?" | "/help", "") => Self::Help,
            ("tools" | "/tools", "") => Self::Tools,
            ("jobs" | "/jobs", "") => Self::Jobs,
            ("quit" | "exit" | "/quit" | "/exit", "") => Self::Quit,
            (slash, _) if slash.starts_with('/') => Self::Slash,
            (_, json) if json.starts_with('{') => {
                Self::Call { tool: name.to_owned(), input: ConsoleInput::Json(json.to_owned()) }
            }
            _ => match pairs(rest) {
                Ok(pairs) => Self::Call { tool: name.to_owned(), input: ConsoleInput::Pairs(pairs) },
                Err(why) => Self::Wrong(why),
            },
        }
    }
}

/// A call that is written as one JSON object.
fn whole(line: &str) -> Result<ConsoleLine, String> {
    let form = "a call as JSON is {\"tool\": \"…\", \"input\": {…}}";
    let given: Whole<'_> = serde_json::from_str(line).map_err(|error| format!("{form}: {error}"))?;
    let input = given.input.map_or("{}", RawValue::get).to_owned();
    Ok(ConsoleLine::Call { tool: given.tool, input: ConsoleInput::Json(input) })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole<'a> {
    tool: String,
    /// As it was typed, to be read by the runtime.
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

fn pairs(text: &str) -> Result<Vec<(String, Option<String>)>, String> {
    let mut pairs = Vec::new();
    for word in words(text)? {
        match word.split_once('=') {
            Some(("", _)) => return Err(format!("\"{word}\" has no key before the =")),
            Some((key, value)) => pairs.push((key.to_owned(), Some(value.to_owned()))),
            None => pairs.push((word, None)),
        }
    }
    Ok(pairs)
}

/// Words at blanks; `'…'` and `"…"` hold blanks together, a backslash stands for itself except before a
/// quote.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, '\\') => {
                let quoted = chars.next_if(|next| matches!(next, '\'' | '"'));
                word.get_or_insert_default().push(quoted.unwrap_or('\\'));
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(quote) => Err(format!("the quotation {quote} doesn't end")),
    }
}

/// The first property that a tool can't do without, as an example of what to type.
pub(super) fn example(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    names.map(|name| format!("{name}=…")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_is_a_word_of_the_console_or_a_call() {
        let call = |tool: &str, input| ConsoleLine::Call { tool: tool.to_owned(), input };
        let pairs = |given: &[(&str, Option<&str>)]| {
            let own = |(key, value): &(&str, Option<&str>)| ((*key).to_owned(), value.map(str::to_owned));
            ConsoleInput::Pairs(given.iter().map(own).collect())
        };
        let cases = [
            ("  ", ConsoleLine::Empty),
            ("help", ConsoleLine::Help),
            ("/help", ConsoleLine::Help),
            ("tools", ConsoleLine::Tools),
            ("jobs", ConsoleLine::Jobs),
            ("exit ", ConsoleLine::Quit),
            ("/greet the world", ConsoleLine::Slash),
            ("tree", call("tree", pairs(&[]))),
            (
                "grep pattern='a b' path=src fixed",
                call("grep", pairs(&[("pattern", Some("a b")), ("path", Some("src")), ("fixed", None)])),
            ),
            (
                "bash command=\"echo \\\"hi\\\" a=b\"",
                call("bash", pairs(&[("command", Some("echo \"hi\" a=b"))])),
            ),
            (
                "grep pattern=\\d+ path=''",
                call("grep", pairs(&[("pattern", Some("\\d+")), ("path", Some(""))])),
            ),
            ("grep {\"pattern\": \"x\"", call("grep", ConsoleInput::Json("{\"pattern\": \"x\"".to_owned()))),
            (
                "{\"tool\": \"read\", \"input\": {\"path\": \"a\"}}",
                call("read", ConsoleInput::Json("{\"path\": \"a\"}".to_owned())),
            ),
            ("{\"tool\":\"tree\"}", call("tree", ConsoleInput::Json("{}".to_owned()))),
            ("help name=grep", call("help", pairs(&[("name", Some("grep"))]))),
        ];
        for (line, expected) in cases {
            assert_eq!(ConsoleLine::parse(line), expected, "{line}");
        }
        for wrong in ["grep pattern='x", "grep =x", "{\"tool\": 1}", "{\"input\": {}}", "{\"tool\": \"x\""] {
            assert!(matches!(ConsoleLine::parse(wrong), ConsoleLine::Wrong(_)), "{wrong}");
        }
    }

    #[test]
    fn an_example_names_what_is_required() {
        assert_eq!(example(&json!({"required": ["a", "b"]})), "a=… b=…");
        assert_eq!(example(&json!({})), "");
    }
}
