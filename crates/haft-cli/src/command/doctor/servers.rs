//! The servers that `.mcp.json` names: whether each could be started, and where that is asked for, whether it answers.

use super::{finding::Finding, programs::find};
use crate::app::App;
use haft_core::{Cancel, Command, Failure, Processes, RealPath, Stdio};
use haft_os::{OsProcesses, host};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, time::Duration};

/// Where a workspace names its servers.
const FILE: &str = ".mcp.json";
/// More than that is no list of servers.
const FILE_MAX_BYTES: u64 = 1024 * 1024;
/// The keys under which hosts keep their servers.
const WRAPPERS: [&str; 3] = ["mcpServers", "servers", "mcp"];
/// How long a server may take to answer: it may be fetched first.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// More than that before its answer is none.
const ANSWER_MAX_BYTES: usize = 1024 * 1024;

/// A server as it is written.
struct Server {
    name: String,
    way: Way,
}

/// How it is reached.
enum Way {
    /// By standard input and output.
    Command { argv: Vec<String>, variables: BTreeMap<String, String> },
    /// By HTTP.
    Address(String),
    /// Not at all: what is wrong with its entry.
    Unclear(&'static str),
}

/// What there is to say of each; they are started where `is_asked` and the workspace is trusted.
pub(super) async fn servers(app: &App, is_asked: bool) -> Vec<Finding> {
    let text = match host::read_file(&app.workspace.join(FILE), FILE_MAX_BYTES) {
        Ok(None) => return vec![Finding::ok("mcp servers", format!("there is no {FILE} in the workspace"))],
        Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(failure) => return vec![unreadable(&failure.text)],
    };
    let servers = match read(&text) {
        Ok(servers) if servers.is_empty() => {
            return vec![Finding::ok("mcp servers", format!("{FILE} names none"))];
        }
        Ok(servers) => servers,
        Err(why) => return vec![unreadable(&why)],
    };
    let mut findings = Vec::new();
    for server in &servers {
        findings.push(looked_at(app, server, is_asked).await);
    }
    findings
}

fn unreadable(why: &str) -> Finding {
    Finding::warning(
        "mcp servers",
        format!("{FILE} can't be used: {why}"),
        "write {\"mcpServers\": {\"name\": {\"command\": \"program\", \"args\": []}}}",
    )
}

/// The servers of a list, as several hosts write it.
fn read(text: &str) -> Result<Vec<Server>, String> {
    let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let found = WRAPPERS.iter().find_map(|key| root.get(key)).ok_or("it has no \"mcpServers\"")?;
    let entries = found.as_object().ok_or("its servers are no object")?;
    let is_on = |entry: &Value| entry.get("disabled").and_then(Value::as_bool) != Some(true);
    let one = |(name, entry): (&String, &Value)| Server { name: name.clone(), way: way(entry) };
    Ok(entries.iter().filter(|(_, entry)| is_on(entry)).map(one).collect())
}

fn way(entry: &Value) -> Way {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut argv = match entry.get("command") {
        Some(Value::String(program)) => vec![program.clone()],
        list => texts(list),
    };
    if !argv.is_empty() {
        argv.extend(texts(entry.get("args")));
        let variables = entry.get("env").or_else(|| entry.get("environment")).and_then(Value::as_object);
        let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        return Way::Command { argv, variables: variables.into_iter().flatten().filter_map(text).collect() };
    }
    match ["url", "serverUrl", "httpUrl"].iter().find_map(|key| entry.get(key)?.as_str()) {
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => {
            Way::Address(url.to_owned())
        }
        Some(_) => Way::Unclear("its address doesn't start with https:// or http://"),
        None => Way::Unclear("it has neither a \"command\" nor a \"url\""),
    }
}

async fn looked_at(app: &App, server: &Server, is_asked: bool) -> Finding {
    let name = format!("mcp: {}", server.name);
    let (argv, variables) = match &server.way {
        Way::Command { argv, variables } => (argv, variables),
        // What stands behind the `?` of an address may be a key.
        Way::Address(url) => {
            let shown = url.split(['?', '#']).next().unwrap_or_default();
            return Finding::ok(name, format!("at {shown}; it wasn't asked"));
        }
        Way::Unclear(why) => return Finding::warning(name, *why, format!("mend its entry in {FILE}")),
    };
    let mut unset = Vec::new();
    let mut expand = |text: &String| expanded(text, &|name| app.environment.get(name), &mut unset);
    let argv: Vec<String> = argv.iter().map(&mut expand).collect();
    let variables: Vec<(String, String)> =
        variables.iter().map(|(name, value)| (name.clone(), expand(value))).collect();
    if let Some(first) = unset.first() {
        let detail = format!("it needs the variable {first}, which isn't set");
        return Finding::warning(name, detail, format!("export {first}, or take it out of {FILE}"));
    }
    let program = argv.first().map_or("", String::as_str);
    let Some(at) = located(app, program) else {
        let detail = format!("its program {program} isn't there");
        return Finding::warning(
            name,
            detail,
            format!("install {program}, or correct \"command\" in {FILE}"),
        );
    };
    if !is_asked {
        return Finding::ok(name, format!("{at} is there; `haft doctor --mcp` starts it"));
    }
    if !app.place.trusted {
        let detail = format!("{at} wasn't started, since this workspace isn't trusted");
        return Finding::warning(
            name,
            detail,
            format!("read {FILE}; if it is what you want, run `haft trust`"),
        );
    }
    match greeted(app, argv, variables).await {
        Ok(who) => Finding::ok(name, format!("{at} answers as {who}")),
        Err(why) => Finding::warning(
            name,
            format!("{at} {why}"),
            "start it in a shell to see what it says, and mend that",
        ),
    }
}

/// The text with `${NAME}` and `${NAME:-else}` replaced; those that aren't set are noted.
fn expanded<'a>(text: &str, look: &dyn Fn(&str) -> Option<&'a str>, unset: &mut Vec<String>) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        whole.push_str(before);
        let Some((inner, behind)) = after.split_once('}') else {
            whole.push_str("${");
            rest = after;
            continue;
        };
        let (name, fallback) = match inner.split_once(":-") {
            Some((name, fallback)) => (name, Some(fallback)),
            None => (inner, None),
        };
        match look(name).or(fallback) {
            Some(value) => whole.push_str(value),
            None => unset.push(name.to_owned()),
        }
        rest = behind;
    }
    whole + rest
}

/// The file of a program: on the `PATH`, or by its path.
fn located(app: &App, program: &str) -> Option<String> {
    let found = if program.contains('/') {
        let at = app.workspace.join(Path::new(program));
        host::is_executable(&at).then_some(at)
    } else {
        find(app, program)
    };
    found.map(|at| at.to_string_lossy().into_owned())
}

/// Starts a server, greets it and lets it go; what it calls itself.
///
/// # Errors
/// Why there is no answer, to be said after its program.
async fn greeted(app: &App, argv: Vec<String>, variables: Vec<(String, String)>) -> Result<String, String> {
    let greeting = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "haft doctor", "version": env!("CARGO_PKG_VERSION")},
        },
    });
    let command = Command {
        env: variables,
        stdin: format!("{greeting}\n").into_bytes(),
        deadline: Some(ANSWER_TIMEOUT),
        ..Command::new(argv, RealPath::new(&app.place.workspace, ""))
    };
    let processes = OsProcesses::new(app.environment.clone());
    let (cancel, mut said) = (Cancel::new(), Vec::new());
    let mut answer = None;
    let mut take = |from: Stdio, piece: &[u8]| {
        if from == Stdio::Out && answer.is_none() && said.len() < ANSWER_MAX_BYTES {
            said.extend_from_slice(piece);
            answer = answer_in(&said);
            if answer.is_some() {
                cancel.fire();
            }
        }
    };
    let ended = processes.run(command, &cancel, &mut take).await;
    match (answer, ended) {
        (Some(answer), _) => answer,
        (None, Ok(exit)) => Err(format!("gave no answer and ended with {:?}", exit.status)),
        (None, Err(Failure { text, .. })) => Err(format!("can't be started: {text}")),
    }
}

/// The answer to the greeting, where it is among these lines: who answers, or why not.
fn answer_in(said: &[u8]) -> Option<Result<String, String>> {
    said.split(|byte| *byte == b'\n').find_map(|line| {
        let answer: Value = serde_json::from_slice(line).ok()?;
        if answer.get("id").and_then(Value::as_u64) != Some(1) {
            return None;
        }
        let Some(result) = answer.get("result") else {
            let why = answer.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason given");
            return Some(Err(format!("refuses to be greeted: {why}")));
        };
        let of =
            |key: &str| result.pointer(&format!("/serverInfo/{key}")).and_then(Value::as_str).unwrap_or("?");
        Some(Ok(format!("{} {}", of("name"), of("version"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_several_hosts_write_them() {
        let shown = |text: &str| -> Vec<String> {
            let one = |server: Server| match server.way {
                Way::Command { argv, variables } => format!("{} runs {argv:?} {variables:?}", server.name),
                Way::Address(url) => format!("{} at {url}", server.name),
                Way::Unclear(why) => format!("{}: {why}", server.name),
            };
            read(text).unwrap().into_iter().map(one).collect()
        };
        let entries = r#"{"a": {"command": "x", "args": ["-y", 3], "env": {"K": "v"}}, "b": {"command": ["y", "z"]},
            "c": {"type": "http", "url": "https://e/"}, "d": {"url": "e"}, "e": {}, "f": {"command": "x", "disabled": true}}"#;
        let expected = [
            "a runs [\"x\", \"-y\"] {\"K\": \"v\"}",
            "b runs [\"y\", \"z\"] {}",
            "c at https://e/",
            "d: its address doesn't start with https:// or http://",
            "e: it has neither a \"command\" nor a \"url\"",
        ];
        for key in WRAPPERS {
            assert_eq!(shown(&format!("{{\"{key}\": {entries}}}")), expected, "{key}");
        }
        for (wrong, says) in
            [("{", "EOF"), ("{}", "mcpServers"), ("{\"mcp\": 3}", "no object"), ("[]", "mcpServers")]
        {
            assert!(read(wrong).err().unwrap().contains(says), "{wrong}");
        }
    }

    #[test]
    fn variables_are_put_in_and_those_that_are_not_set_are_named() {
        let look = |name: &str| (name == "HERE").then_some("it");
        let mut unset = Vec::new();
        let mut all = |text: &str| expanded(text, &look, &mut unset);
        assert_eq!(all("a ${HERE} b ${GONE:-else} $HERE ${x"), "a it b else $HERE ${x");
        assert_eq!(all("-${GONE}-"), "--");
        assert_eq!(unset, ["GONE"]);
    }

    #[test]
    fn an_answer_is_found_among_other_lines() {
        let good = b"starting\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"serverInfo\":{\"name\":\"n\",\"version\":\"2\"}}}\n";
        assert_eq!(answer_in(good), Some(Ok("n 2".to_owned())));
        assert_eq!(answer_in(&good[..60]), None);
        let bad = b"{\"id\":1,\"error\":{\"message\":\"too old\"}}";
        assert_eq!(answer_in(bad), Some(Err("refuses to be greeted: too old".to_owned())));
    }
}
