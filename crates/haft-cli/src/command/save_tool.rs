//! `haft save-tool`: a script that ran in code mode becomes a tool.

use super::new::{self, Language, NewToolArgs};
use crate::{app::App, status::Status, trouble::Trouble};
use haft_core::CallId;
use haft_policy::secrets::placeholders;
use haft_runtime::{LogEntry, read_log, source::command::check_name};
use haft_script::{CODE_TOOL, SavedScript, saved_script};
use serde_json::Value;

/// How much of a script describes it.
const DESCRIBED_MAX_CHARS: usize = 120;

/// `haft save-tool`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SaveToolArgs {
    /// The call of `code`, as `haft log` lists it
    pub(crate) call: String,
    /// The new tool's name: small letters, digits and single hyphens
    pub(crate) name: String,
    /// What it does, for models
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// For all your workspaces, not just this one
    #[arg(long)]
    pub(crate) user: bool,
}

/// Writes the module.
///
/// # Errors
/// There is no such call, it wasn't one of `code`, or the name is taken.
pub(super) fn save_tool(app: &App, args: &SaveToolArgs) -> anyhow::Result<Status> {
    check_name(&args.name)
        .map_err(|error| Trouble::usage(error.to_string(), "for example: haft save-tool 3 count-todos"))?;
    let session = app.session_name("cli");
    let script = script_of(app, &session, &args.call)?;
    if placeholders(script.as_bytes()).next().is_some() {
        let what = format!("the script of call {} held a secret, which the log doesn't have", args.call);
        return Err(
            Trouble::usage(what, "write the tool by hand: haft new tool NAME --lang typescript").into()
        );
    }
    let usual = described(&script);
    let saved = SavedScript {
        script: &script,
        name: &args.name,
        description: args.description.as_deref().unwrap_or(&usual),
        origin: &format!("Saved from call {} of the session {session}.", args.call),
    };
    let text = saved_script(app.engine()?.as_ref(), saved)?;
    let args = NewToolArgs { name: args.name.clone(), lang: Language::Typescript, user: args.user };
    new::module(app, &args, &text, None)
}

/// The script that a call ran, of the session's log.
fn script_of(app: &App, session: &str, call: &str) -> anyhow::Result<String> {
    let fix = "`haft log` lists the calls of a session; name another session with --session";
    let id = CallId::parse(call).ok_or_else(|| Trouble::usage(format!("\"{call}\" is no call"), fix))?;
    let (lines, _) = read_log(app.state().as_ref(), session)?;
    let started = lines.into_iter().rev().find_map(|line| match line.entry {
        LogEntry::Started { call, tool, input, .. } if call == id => Some((tool, input)),
        _ => None,
    });
    let Some((tool, input)) = started else {
        return Err(Trouble::usage(
            format!("there is no call {call} in the session {session} that ran"),
            fix,
        )
        .into());
    };
    if *tool != *CODE_TOOL {
        return Err(Trouble::usage(format!("call {call} was one of {tool}, not of {CODE_TOOL}"), fix).into());
    }
    Ok(input.get("script").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// The first line that says something, for who has nothing better to read.
fn described(script: &str) -> String {
    let line = script.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line: String = line.trim_start_matches('/').trim().chars().take(DESCRIBED_MAX_CHARS).collect();
    format!("Runs a saved script, which begins with: {line}")
}
