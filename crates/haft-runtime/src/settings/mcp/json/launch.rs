//! How a server of another tool's list is reached, with what that tool fills in written as haft writes it.
//!
//! Keeps the invariant "what isn't filled in here is never passed on as it stands": such a server is left out.

use crate::settings::{McpLaunch, Place, Placed, Template};
use haft_core::is_variable;
use serde_json::{Map, Value};

/// What to write in place of what isn't filled in.
const NAMED: &str =
    "write the name of a variable or of a stored value in its place: ${VARIABLE}, or ${secret:NAME}";

/// Why an entry can't be used.
pub(super) struct Unfit {
    pub(super) why: String,
    /// What would mend it.
    pub(super) fix: &'static str,
}

impl From<&str> for Unfit {
    fn from(why: &str) -> Self {
        Self { why: why.to_owned(), fix: "write a command with its args, or a url" }
    }
}

/// How an entry says that its server is reached.
///
/// # Errors
/// It says nothing that can be used, or needs what haft doesn't fill in.
pub(super) fn launch(entry: &Map<String, Value>, place: &Place) -> Result<McpLaunch, Unfit> {
    let text = |names: &[&str]| names.iter().find_map(|name| entry.get(*name)?.as_str());
    let kind = text(&["type", "transport"]).unwrap_or_default().to_ascii_lowercase();
    let url = text(&["url", "httpUrl", "serverUrl"]);
    if let Some(url) = url.filter(|_| !entry.contains_key("command")) {
        let mut headers = Vec::new();
        for key in ["headers", "http_headers"] {
            headers.extend(texts(entry.get(key), place)?);
        }
        for (name, variable) in texts(entry.get("env_http_headers"), place)? {
            headers.push((name, Template::new(format!("${{{variable}}}"))));
        }
        if let Some(variable) = text(&["bearer_token_env_var"]) {
            headers.push(("Authorization".to_owned(), Template::new(format!("Bearer ${{{variable}}}"))));
        }
        let older = kind == "sse";
        return Ok(McpLaunch::Url { url: template(url, place)?, headers, older });
    }
    let mut argv: Vec<Template> = match entry.get("command") {
        Some(Value::String(program)) => vec![template(program, place)?],
        Some(Value::Array(words)) => words
            .iter()
            .filter_map(Value::as_str)
            .map(|word| template(word, place))
            .collect::<Result<_, _>>()?,
        _ => return Err("it has neither a command nor a url".into()),
    };
    match entry.get("args") {
        None | Some(Value::Null) => {}
        Some(Value::Array(words)) => {
            for word in words {
                let word = word.as_str().ok_or("its args are no texts")?;
                argv.push(template(word, place)?);
            }
        }
        Some(_) => return Err("its args are no list".into()),
    }
    if argv.first().is_none_or(|program| program.as_str().trim().is_empty()) {
        return Err("its command is empty".into());
    }
    let mut env = Vec::new();
    for key in ["env", "environment"] {
        env.extend(texts(entry.get(key), place)?);
    }
    if let Some(Value::Array(names)) = entry.get("env_vars") {
        env.extend(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(|name| (name.to_owned(), Template::new(format!("${{{name}}}")))),
        );
    }
    Ok(McpLaunch::Command { argv, folder: folder(text(&["cwd"]), place), env })
}

fn folder(written: Option<&str>, place: &Place) -> Option<Placed> {
    let written = written?.replace("${userHome}", "~");
    let written = ["${workspaceFolder}", "${workspaceRoot}"]
        .iter()
        .fold(written, |written, name| written.replace(*name, &place.workspace));
    place.absolute(&written)
}

/// Names with their texts; numbers and flags are written out.
fn texts(value: Option<&Value>, place: &Place) -> Result<Vec<(String, Template)>, Unfit> {
    let Some(Value::Object(fields)) = value else { return Ok(Vec::new()) };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    // A variable alone is also written without brackets.
    let bracketed = |text: String| match text.strip_prefix('$').filter(|name| haft_core::is_variable(name)) {
        Some(name) => format!("${{{name}}}"),
        None => text,
    };
    let named = fields.iter().filter_map(|(name, value)| Some((name, bracketed(text(value)?))));
    named.map(|(name, text)| Ok((name.clone(), template(&text, place)?))).collect()
}

/// A text with what editors and other tools put into it as haft writes it.
fn template(text: &str, place: &Place) -> Result<Template, Unfit> {
    let unfilled =
        |what: &str| Unfit { why: format!("it needs {what}, which isn't filled in here"), fix: NAMED };
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((inner, behind)) = after.split_once('}') else { break };
        if let Some(before) = before.strip_suffix('$') {
            whole.push_str(before);
            match inner {
                "userHome" => whole.push_str("${HOME}"),
                "workspaceRoot" => whole.push_str("${workspaceFolder}"),
                "workspaceFolderBasename" => {
                    whole.push_str(place.workspace.rsplit('/').next().unwrap_or_default());
                }
                "pathSeparator" | "/" => whole.push('/'),
                _ if is_filled(inner) => {
                    whole.push_str("${");
                    whole.push_str(inner);
                    whole.push('}');
                }
                _ => return Err(unfilled(&format!("${{{inner}}}"))),
            }
            rest = behind;
            continue;
        }
        whole.push_str(before);
        if let Some(variable) = inner.strip_prefix("env:").filter(|name| is_variable(name)) {
            whole.push_str("${");
            whole.push_str(variable);
            whole.push('}');
            rest = behind;
        } else if inner.starts_with("file:") {
            return Err(unfilled(&format!("{{{inner}}}")));
        } else {
            // Only a bracket.
            whole.push('{');
            rest = after;
        }
    }
    whole.push_str(rest);
    Ok(Template::new(whole))
}

/// Whether what stands between the brackets isn't something that an editor asks for or knows.
fn is_filled(inner: &str) -> bool {
    match inner.split_once(':') {
        None => true,
        Some((kind, rest)) => matches!(kind, "env" | "secret") || rest.starts_with('-'),
    }
}
