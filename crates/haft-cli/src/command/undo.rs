//! `haft undo`: takes file changes of calls back, as the tool `undo` through the one call path.

use super::call;
use crate::{
    app::App,
    print,
    status::Status,
    terminal::clean,
    words::{Typed, TypedInput},
};
use haft_core::{ChangedBy, FileStep};
use haft_runtime::undoable;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// `haft undo`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct UndoArgs {
    /// The call to undo, with those made inside it [default: the last that changed files and isn't undone]
    #[arg(value_name = "CALL", conflicts_with_all = ["turn", "all", "list"])]
    pub(crate) call: Option<String>,
    /// All calls of a turn
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "list"])]
    pub(crate) turn: Option<u64>,
    /// All calls of the session
    #[arg(long, conflicts_with = "list")]
    pub(crate) all: bool,
    /// Only show what would change
    #[arg(long, conflicts_with = "list")]
    pub(crate) dry_run: bool,
    /// List the calls that can be undone, with their files
    #[arg(long)]
    pub(crate) list: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Undoes, or lists what can be undone.
///
/// # Errors
/// The session can't be opened, or its log can't be read.
pub(super) fn undo(app: &App, args: &UndoArgs) -> anyhow::Result<Status> {
    if args.list {
        return list(app, args);
    }
    let input = TypedInput::Text(input(args).to_string());
    let typed = Typed { tool: "undo".to_owned(), input, json: args.json };
    if args.dry_run {
        return call::call(app, &typed);
    }
    // One command after the other, so that each takes back what is the last by then.
    let mut ended = None;
    let turn = format!("sessions/{}/undo-commands", app.session_name("cli"));
    let _ = app.state().update(&turn, &mut |_| {
        ended = Some(call::call(app, &typed));
        Ok(Vec::new())
    });
    // What keeps it from being held is told by the call itself.
    ended.unwrap_or_else(|| call::call(app, &typed))
}

/// The input of the tool.
fn input(args: &UndoArgs) -> Value {
    let mut input = Map::new();
    if let Some(call) = &args.call {
        input.insert("call".to_owned(), json!(call));
    }
    if let Some(turn) = args.turn {
        input.insert("turn".to_owned(), json!(turn));
    }
    for (name, is_set) in [("session", args.all), ("dryRun", args.dry_run)] {
        if is_set {
            input.insert(name.to_owned(), json!(true));
        }
    }
    Value::Object(input)
}

fn list(app: &App, args: &UndoArgs) -> anyhow::Result<Status> {
    let session = app.session_name("cli");
    let calls = undoable(app.state().as_ref(), &session)?;
    if args.json {
        let calls: Vec<Value> = calls.iter().map(object).collect();
        print::json(&json!({"session": session, "calls": calls}))?;
        return Ok(Status::Completed);
    }
    if calls.is_empty() {
        print::line(&format!("nothing to undo in session {session}"));
    }
    for by in &calls {
        let turn = by.turn.map(|turn| format!(", turn {turn}")).unwrap_or_default();
        print::line(&clean(&format!("{} {}{turn}", by.call, by.tool)));
        for (path, what) in files(by) {
            print::line(&clean(&format!("    {what} {path}")));
        }
    }
    Ok(Status::Completed)
}

fn object(by: &ChangedBy) -> Value {
    let files: Vec<Value> =
        files(by).into_iter().map(|(path, change)| json!({"path": path, "change": change})).collect();
    json!({"call": by.call, "tool": by.tool, "turn": by.turn, "files": files})
}

/// Each file with what became of it from the first step to the last.
fn files(by: &ChangedBy) -> BTreeMap<String, &'static str> {
    let mut ends: BTreeMap<String, (&FileStep, &FileStep)> = BTreeMap::new();
    for step in &by.files {
        ends.entry(step.path.to_string()).and_modify(|(_, last)| *last = step).or_insert((step, step));
    }
    let what = |first: &FileStep, last: &FileStep| match (&first.before, &last.after) {
        (None, Some(_)) => "made",
        (Some(_), None) => "removed",
        (None, None) => "made and removed",
        (Some(_), Some(_)) => "changed",
    };
    ends.into_iter().map(|(path, (first, last))| (path, what(first, last))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: UndoArgs,
    }

    fn said(words: &[&str]) -> Result<Value, String> {
        let words = ["undo"].into_iter().chain(words.iter().copied());
        Line::try_parse_from(words).map(|line| input(&line.args)).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_become_the_tools_input() {
        assert_eq!(said(&[]), Ok(json!({})));
        assert_eq!(said(&["3.1", "--dry-run"]), Ok(json!({"call": "3.1", "dryRun": true})));
        assert_eq!(said(&["--turn", "2"]), Ok(json!({"turn": 2})));
        assert_eq!(said(&["--all"]), Ok(json!({"session": true})));
        for wrong in [&["3", "--all"][..], &["--turn", "1", "--all"], &["--list", "3"], &["--turn", "x"]] {
            assert!(said(wrong).is_err(), "{wrong:?}");
        }
    }
}
