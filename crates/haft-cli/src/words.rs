//! The words after `haft call`: a tool's name, its input, and haft's own flags around them.

use crate::{
    cli::{CallArgs, Common, LaterFlags},
    trouble::Trouble,
};
use clap::Parser;
use haft_core::{Spec, without_bom};
use serde_json::{Map, Value};

/// The most that is read from standard input.
const STDIN_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// haft's own flags, which a tool's keys may be taken for.
const OWN_FLAGS: [&str; 5] = ["json", "mode", "session", "workspace", "yes"];

/// A call as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Typed {
    /// The tool's name.
    pub(crate) tool: String,
    /// Its input.
    pub(crate) input: TypedInput,
    /// Whether one JSON object is wanted.
    pub(crate) json: bool,
}

/// Input as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedInput {
    /// One text, JSON unless somebody erred.
    Text(String),
    /// To be read from standard input.
    Stdin,
    /// `--key value` pairs in order; without a value, it is true.
    Pairs(Vec<(String, Option<String>)>),
}

impl Typed {
    /// Takes the words apart; flags after the JSON are added to `common`.
    pub(crate) fn parse(args: &CallArgs, common: &mut Common) -> Result<Self, Trouble> {
        let (tool, rest) = args
            .words
            .split_first()
            .ok_or_else(|| Trouble::usage("no tool is named", "run `haft tools` to see which there are"))?;
        let mut json = args.flags.json;
        let input = match rest.split_first() {
            None => TypedInput::Pairs(Vec::new()),
            Some((first, _)) if first.starts_with("--") => TypedInput::Pairs(pairs(tool, rest)?),
            Some((first, later)) => {
                // Wrong flags end the program here, with the usage and status 2.
                let later = LaterFlags::try_parse_from(later).unwrap_or_else(|error| error.exit());
                common.and(later.common);
                json |= later.call.json;
                if first == "-" { TypedInput::Stdin } else { TypedInput::Text(first.clone()) }
            }
        };
        Ok(Self { tool: tool.clone(), input, json })
    }

    /// Whether the tool's own help is wanted.
    pub(crate) fn asks_help(&self, spec: Option<&Spec>) -> bool {
        let is_help = |pairs: &[(String, Option<String>)]| matches!(pairs, [(key, None)] if key == "help");
        matches!(&self.input, TypedInput::Pairs(pairs) if is_help(pairs))
            && spec.is_some_and(|spec| property(spec, "help").is_none())
    }

    /// What to say where one of haft's own flags stands among the tool's keys and the tool has no such key.
    pub(crate) fn misplaced(&self, spec: Option<&Spec>) -> Option<String> {
        let (TypedInput::Pairs(pairs), Some(spec)) = (&self.input, spec) else { return None };
        let is_own = |key: &str| OWN_FLAGS.contains(&key) && property(spec, &spelling(spec, key)).is_none();
        let (key, _) = pairs.iter().find(|(key, _)| is_own(key))?;
        let tool = &self.tool;
        Some(format!(
            "hint: --{key} is a flag of haft, not a key of {tool}; haft's own flags come before the tool's name or \
             after its JSON: haft call --{key} … {tool} …"
        ))
    }

    /// The argument text; values are typed by the tool's schema, where the tool is known.
    pub(crate) fn text(&self, spec: Option<&Spec>) -> anyhow::Result<String> {
        match &self.input {
            TypedInput::Text(text) => Ok(text.clone()),
            TypedInput::Stdin => {
                let bytes = haft_os::host::read_stdin(STDIN_MAX_BYTES)?;
                let not_text = |_| Trouble::usage("standard input is not UTF-8", "give it JSON in UTF-8");
                Ok(without_bom(&String::from_utf8(bytes).map_err(not_text)?).to_owned())
            }
            TypedInput::Pairs(pairs) => Ok(Value::Object(object(pairs, spec)).to_string()),
        }
    }
}

fn pairs(tool: &str, words: &[String]) -> Result<Vec<(String, Option<String>)>, Trouble> {
    let mut pairs = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some(key) = word.strip_prefix("--").filter(|key| !key.is_empty() && !key.starts_with('=')) else {
            return Err(Trouble::usage(
                format!("\"{word}\" belongs to no --key"),
                format!(
                    "write --key value pairs or one JSON object; `haft tools show {tool}` lists the keys"
                ),
            ));
        };
        let pair = match key.split_once('=') {
            Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
            None => (key.to_owned(), words.next_if(|next| !next.starts_with("--")).cloned()),
        };
        pairs.push(pair);
    }
    Ok(pairs)
}

fn object(pairs: &[(String, Option<String>)], spec: Option<&Spec>) -> Map<String, Value> {
    let mut given: Vec<(String, Vec<Option<&str>>)> = Vec::new();
    for (key, value) in pairs {
        let name = spec.map_or_else(|| key.clone(), |spec| spelling(spec, key));
        match given.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value.as_deref()),
            None => given.push((name, vec![value.as_deref()])),
        }
    }
    given
        .into_iter()
        .map(|(name, values)| {
            let schema = spec.and_then(|spec| property(spec, &name));
            let value = typed(schema, &values);
            (name, value)
        })
        .collect()
}

/// The property's name as the schema writes it: `--max-results` may stand for `max_results` or `maxResults`.
fn spelling(spec: &Spec, key: &str) -> String {
    let bare = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    if property(spec, key).is_some() {
        return key.to_owned();
    }
    let known = spec.input_schema.get("properties").and_then(Value::as_object);
    let mut like = known.into_iter().flat_map(Map::keys).filter(|name| bare(name) == bare(key));
    match (like.next(), like.next()) {
        (Some(only), None) => only.clone(),
        _ => key.to_owned(),
    }
}

/// The schema of a property, also by another name that models use for it.
fn property<'a>(spec: &'a Spec, key: &str) -> Option<&'a Value> {
    let properties = spec.input_schema.get("properties")?;
    properties.get(key).or_else(|| {
        let named = spec.input_aliases.iter().find(|(_, names)| names.iter().any(|name| name == key));
        named.and_then(|(name, _)| properties.get(name))
    })
}

fn typed(schema: Option<&Value>, values: &[Option<&str>]) -> Value {
    let is_list = allows(schema, "array");
    if let [value] = values {
        let Some(text) = value else { return Value::Bool(true) };
        return match serde_json::from_str::<Value>(text) {
            Ok(list @ Value::Array(_)) if is_list => list,
            _ if is_list && !allows(schema, "string") => {
                Value::Array(vec![single(schema.and_then(|schema| schema.get("items")), text)])
            }
            _ => single(schema, text),
        };
    }
    let items = if is_list { schema.and_then(|schema| schema.get("items")) } else { schema };
    Value::Array(
        values.iter().map(|value| value.map_or(Value::Bool(true), |text| single(items, text))).collect(),
    )
}

/// A text where the schema allows one, or says nothing; JSON where it wants something else.
fn single(schema: Option<&Value>, text: &str) -> Value {
    let read = serde_json::from_str::<Value>(text).ok();
    match read {
        Some(value) if !value.is_string() && fits(schema, &value) => value,
        _ => Value::String(text.to_owned()),
    }
}

fn fits(schema: Option<&Value>, value: &Value) -> bool {
    match value {
        Value::Null => allows(schema, "null"),
        Value::Bool(_) => allows(schema, "boolean"),
        Value::Number(_) => allows(schema, "number") || allows(schema, "integer"),
        Value::String(_) => allows(schema, "string"),
        Value::Array(_) => allows(schema, "array"),
        Value::Object(_) => allows(schema, "object"),
    }
}

/// Whether the schema names the type, itself or in one of its alternatives.
fn allows(schema: Option<&Value>, kind: &str) -> bool {
    let Some(schema) = schema else { return false };
    let named = match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    };
    let mut alternatives =
        ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    named || alternatives.any(|one| allows(Some(one), kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec() -> Spec {
        Spec::new("x", "d").with_input_aliases("path", &["file"]).with_input_schema(json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "max_results": {"type": "integer"},
                "all": {"type": "boolean"},
                "globs": {"type": "array", "items": {"type": "string"}},
                "lines": {"type": "array", "items": {"type": "integer"}},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]}
            }
        }))
    }

    fn check(words: &[&str], expected: &Value) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let given = pairs("x", &words).unwrap();
        assert_eq!(Value::Object(object(&given, Some(&spec()))), *expected, "{words:?}");
    }

    #[test]
    fn values_have_the_schemas_type() {
        check(&["--path", "7", "--max-results", "7"], &json!({"path": "7", "max_results": 7}));
        check(&["--all", "--path=--x=y"], &json!({"all": true, "path": "--x=y"}));
        check(&["--all", "false"], &json!({"all": false}));
        check(&["--max_results", "-5"], &json!({"max_results": -5}));
        check(&["--max_results", "many"], &json!({"max_results": "many"}));
        check(&["--globs", "*.rs", "--globs", "1"], &json!({"globs": ["*.rs", "1"]}));
        check(&["--globs", "*.rs"], &json!({"globs": ["*.rs"]}));
        check(&["--lines", "[1, 2]"], &json!({"lines": [1, 2]}));
        check(&["--lines", "1", "--lines", "2"], &json!({"lines": [1, 2]}));
        check(&["--either", "true", "--file", "a"], &json!({"either": "true", "file": "a"}));
        check(&["--other", "1", "--other", "2"], &json!({"other": ["1", "2"]}));
    }

    #[test]
    fn a_word_without_key_is_wrong_usage() {
        for word in ["x", "-x", "--", "--=x"] {
            let words = ["--all=true".to_owned(), word.to_owned()];
            assert!(pairs("x", &words).unwrap_err().fix.unwrap().contains("haft tools show x"), "{word}");
        }
    }

    #[test]
    fn hafts_flags_among_a_tools_keys_are_told_from_its_own() {
        let typed = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let input = TypedInput::Pairs(pairs("x", &words).unwrap());
            Typed { tool: "x".to_owned(), input, json: false }
        };
        let hint = typed(&["--path", "a", "--yes"]).misplaced(Some(&spec())).unwrap();
        assert!(hint.contains("haft call --yes"), "{hint}");
        assert_eq!(typed(&["--path", "a", "--other"]).misplaced(Some(&spec())), None);
        let own = Spec::new("x", "d").with_input_schema(json!({"properties": {"mode": {"type": "string"}}}));
        assert_eq!(typed(&["--mode", "a"]).misplaced(Some(&own)), None);
    }

    #[test]
    fn flags_after_the_json_are_hafts() {
        let words = ["x", "{}", "--json", "--mode", "plan"].map(str::to_owned).to_vec();
        let args = CallArgs { flags: crate::cli::CallFlags::default(), words };
        let mut common = Common::default();
        let typed = Typed::parse(&args, &mut common).unwrap();
        assert!(typed.json && typed.input == TypedInput::Text("{}".to_owned()));
        assert_eq!(common.mode, Some(haft_policy::Mode::Plan));
    }
}
