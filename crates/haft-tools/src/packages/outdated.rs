//! What a manager says of newer versions; pure.

use super::manager::Manager;
use serde_json::Value;

/// A package of which there is a newer version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Newer {
    pub(super) name: String,
    pub(super) has: String,
    /// The newest that the manifest allows, where it is told apart.
    pub(super) allowed: Option<String>,
    pub(super) newest: String,
}

/// Reads an answer; none where it isn't one.
pub(super) fn newer(manager: Manager, out: &str, aside: &str) -> Option<Vec<Newer>> {
    match manager {
        Manager::Cargo => cargo(aside),
        Manager::Npm | Manager::Pnpm => {
            let value: Value = serde_json::from_str(out).ok()?;
            let object = value.as_object().filter(|object| !object.contains_key("error"))?;
            Some(object.iter().flat_map(|(name, entry)| of_node(name, entry)).collect())
        }
        Manager::Yarn => yarn(out),
        Manager::Uv | Manager::Pip => {
            let value: Value = serde_json::from_str(out).ok()?;
            Some(value.as_array()?.iter().filter_map(of_python).collect())
        }
        Manager::Go => go(out),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// One package, or several places where it is installed.
fn of_node(name: &str, entry: &Value) -> Vec<Newer> {
    let entries = entry.as_array().map_or_else(|| vec![entry], |entries| entries.iter().collect());
    let one = |entry: &Value| {
        Some(Newer {
            name: name.to_owned(),
            has: text(entry, "current").unwrap_or_else(|| "not installed".to_owned()),
            allowed: text(entry, "wanted"),
            newest: text(entry, "latest")?,
        })
    };
    entries.into_iter().filter_map(one).collect()
}

fn of_python(entry: &Value) -> Option<Newer> {
    let (name, has, newest) = (text(entry, "name")?, text(entry, "version")?, text(entry, "latest_version")?);
    Some(Newer { name, has, allowed: None, newest })
}

/// Lines of JSON; the table is left out where nothing is outdated, so that another line must show that it got so far.
fn yarn(out: &str) -> Option<Vec<Newer>> {
    let lines: Option<Vec<Value>> = out.lines().map(|line| serde_json::from_str(line).ok()).collect();
    let lines = lines?;
    let rows = lines.iter().filter(|line| line.get("type").and_then(Value::as_str) == Some("table"));
    let bodies: Vec<&Value> = rows.filter_map(|table| table.get("data")?.get("body")).collect();
    if bodies.is_empty() {
        return None;
    }
    let row = |row: &Value| {
        let cell = |at: usize| row.get(at).and_then(Value::as_str).map(str::to_owned);
        Some(Newer { name: cell(0)?, has: cell(1)?, allowed: cell(2), newest: cell(3)? })
    };
    Some(bodies.into_iter().filter_map(Value::as_array).flatten().filter_map(row).collect())
}

/// `Updating x v1.0.0 -> v1.0.1`, `Unchanged x v1.0.0 (available: v2.0.0)`; the end says that nothing was written.
fn cargo(aside: &str) -> Option<Vec<Newer>> {
    if !aside.contains("not updating lockfile due to dry run") {
        return None;
    }
    let version = |word: &str| word.trim_start_matches(['v', '(']).trim_end_matches([')', ',']).to_owned();
    let line = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let available = words.iter().skip_while(|word| !word.contains("available:")).nth(1);
        match words.as_slice() {
            ["Updating" | "Downgrading", name, has, "->", next, ..] => Some(Newer {
                name: (*name).to_owned(),
                has: version(has),
                allowed: Some(version(next)),
                newest: version(available.copied().unwrap_or(next)),
            }),
            ["Unchanged", name, has, ..] => Some(Newer {
                name: (*name).to_owned(),
                has: version(has),
                allowed: Some(version(has)),
                newest: version(available?),
            }),
            _ => None,
        }
    };
    Some(aside.lines().filter_map(line).collect())
}

/// Objects one after the other, the module itself first.
fn go(out: &str) -> Option<Vec<Newer>> {
    let modules: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(out).into_iter::<Value>().collect();
    let modules = modules.ok().filter(|modules| !modules.is_empty())?;
    let one = |module: &Value| {
        let newest = text(module.get("Update")?, "Version")?;
        Some(Newer { name: text(module, "Path")?, has: text(module, "Version")?, allowed: None, newest })
    };
    Some(modules.iter().filter_map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(manager: Manager, out: &str, aside: &str) -> Option<String> {
        let newer = newer(manager, out, aside)?;
        let line = |one: Newer| {
            let allowed = one.allowed.unwrap_or_else(|| "?".to_owned());
            format!("{} {} {allowed} {}", one.name, one.has, one.newest)
        };
        Some(newer.into_iter().map(line).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn each_managers_answer_is_read() {
        let npm = r#"{"a": {"current": "6.0.0", "wanted": "6.0.1", "latest": "7.0.0"}, "b": {"wanted": "1", "latest": "2"}}"#;
        assert_eq!(told(Manager::Npm, npm, "").unwrap(), "a 6.0.0 6.0.1 7.0.0; b not installed 1 2");
        assert_eq!(told(Manager::Npm, "{}", "").unwrap(), "");
        let yarn = "{\"type\":\"info\",\"data\":\"x\"}\n{\"type\":\"table\",\"data\":{\"body\":[[\"a\",\"6\",\"6\",\"7\"]]}}";
        assert_eq!(told(Manager::Yarn, yarn, "").unwrap(), "a 6 6 7");
        let pip = r#"[{"name": "six", "version": "1.16.0", "latest_version": "1.17.0", "latest_filetype": "wheel"}]"#;
        assert_eq!(told(Manager::Pip, pip, "").unwrap(), "six 1.16.0 ? 1.17.0");
        let cargo = "    Updating crates.io index\n     Locking 1 package\n    Updating itoa v1.0.1 -> v1.0.19\n   \
            Unchanged rand v0.8.5 (available: v0.9.0)\nwarning: not updating lockfile due to dry run\n";
        assert_eq!(
            told(Manager::Cargo, "", cargo).unwrap(),
            "itoa 1.0.1 1.0.19 1.0.19; rand 0.8.5 0.8.5 0.9.0"
        );
        let go = "{\"Path\": \"m\", \"Main\": true}\n{\"Path\": \"h.x/y\", \"Version\": \"v1\", \"Update\": {\"Version\": \"v2\"}}";
        assert_eq!(told(Manager::Go, go, "").unwrap(), "h.x/y v1 ? v2");
    }

    #[test]
    fn what_is_no_answer_is_none() {
        for manager in [Manager::Npm, Manager::Yarn, Manager::Pip, Manager::Cargo, Manager::Go] {
            assert_eq!(newer(manager, "", "error: no network"), None, "{manager:?}");
            assert_eq!(newer(manager, "<html>", ""), None, "{manager:?}");
        }
        assert_eq!(newer(Manager::Npm, "{\"error\": {\"code\": \"E\"}}", ""), None);
        assert_eq!(newer(Manager::Yarn, "{\"type\":\"error\",\"data\":\"x\"}", ""), None);
    }
}
