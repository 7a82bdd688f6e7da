//! An agent on a session: what it is told, where its messages are kept, how it goes on after a break.

use super::{lender::Lender, model};
use crate::{
    app::{App, Live, Offered},
    trouble::Trouble,
};
use haft_agent::{
    Agent, AgentObserver, AgentOptions, CallResult, LoopJudge, Message, ModelSettings, system_prompt,
};
use haft_core::{Approver, Block, CallId, Failure, Files, Outcome, PathArg};
use haft_runtime::{LogEntry, LogLine, Session, ToolSet, read_log};
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Files of a workspace that say how to work in it.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How much of one of them is taken.
const INSTRUCTIONS_MAX_BYTES: usize = 64 * 1024;
/// Seconds of a day.
const DAY_SECONDS: u64 = 86_400;

/// What a conversation is made of.
pub(crate) struct Setup {
    /// The session's name.
    pub(crate) session: String,
    /// Whether it has to be there already.
    pub(crate) resume: bool,
    /// The tools that the model sees.
    pub(crate) tools: ToolSet,
    /// Which model.
    pub(crate) model: ModelSettings,
    /// Most turns of one run, if not the usual number.
    pub(crate) max_turns: Option<u64>,
    /// Who answers questions about calls.
    pub(crate) approver: Arc<dyn Approver>,
    /// Who answers questions about loops.
    pub(crate) judge: Arc<dyn LoopJudge>,
}

/// A session and the agent on it.
pub(crate) struct Conversation {
    /// Executor, session, tools.
    pub(crate) live: Live,
    /// The agent, its history taken up.
    pub(crate) agent: Agent,
}

impl Conversation {
    /// Opens the session and takes up its history. Must be called within the tokio runtime.
    ///
    /// # Errors
    /// No such session to go on with; the session can't be opened; the script can't be read.
    pub(crate) fn open(
        app: &App,
        setup: Setup,
        observer: impl FnOnce(&Arc<Session>) -> Arc<dyn AgentObserver>,
    ) -> anyhow::Result<Self> {
        let (messages, outcomes) =
            if setup.resume { past(app, &setup.session)? } else { (Vec::new(), Vec::new()) };
        let offered = Offered { tools: setup.tools, window_tokens: setup.model.window_tokens };
        let live = app.live_with(&setup.session, setup.approver, offered)?;
        let name = setup.model.model.clone();
        let model = model::connect(setup.model, Arc::clone(&live.executor.world().http))?;
        app.fronts.lend_model(Arc::new(Lender::new(Arc::clone(&model), name)));
        let files = live.executor.world().files.as_ref();
        let date = date(live.executor.world().clock.now());
        let system = system_prompt(&app.place.workspace, &date) + &instructions(files, &live.session);
        let observer = observer(&live.session);
        let keep = keep(&live.session, Arc::clone(&observer));
        let usual = AgentOptions::default();
        let options = AgentOptions { max_turns: setup.max_turns.unwrap_or(usual.max_turns), ..usual };
        let mut agent = Agent::new(live.executor.clone(), Arc::clone(&live.session), model, system)
            .with_options(options)
            .with_observer(observer)
            .with_judge(setup.judge)
            .on_message(keep);
        agent.resume(messages, &outcomes);
        Ok(Self { live, agent })
    }
}

/// Writes messages into the session's log. One that can't be written doesn't stop the agent, but a person is
/// told.
fn keep(session: &Arc<Session>, observer: Arc<dyn AgentObserver>) -> impl FnMut(&Message) + Send + use<> {
    let session = Arc::clone(session);
    let mut told = false;
    move |message| {
        let value = serde_json::to_value(message).map_err(|error| Failure::internal(error.to_string()));
        let written = value.and_then(|message| session.record(LogEntry::Message { message }));
        if let Err(failure) = written
            && !std::mem::replace(&mut told, true)
        {
            observer.warning(&format!(
                "the conversation can't be kept, so it can't be resumed either: {failure}"
            ));
        }
    }
}

/// What the log of a session knows of its conversation.
fn past(app: &App, session: &str) -> anyhow::Result<(Vec<Message>, Vec<CallResult>)> {
    let (lines, _) = read_log(app.state().as_ref(), session)?;
    if lines.is_empty() {
        let what = format!("there is no session {session} in this workspace");
        return Err(Trouble::usage(what, "give the name that the run printed when it began").into());
    }
    let (messages, outcomes) = history(lines);
    if messages.is_empty() {
        let what = format!("the session {session} holds no conversation");
        return Err(Trouble::usage(what, "name one that `haft run` began").into());
    }
    Ok((messages, outcomes))
}

/// The messages, and what became of calls whose results didn't make it into a message: how they ended, and
/// which files they changed; their texts aren't in the log. A call without an end counts as interrupted.
fn history(lines: Vec<LogLine>) -> (Vec<Message>, Vec<CallResult>) {
    let mut messages = Vec::new();
    let mut outcomes = Vec::new();
    let mut asked: BTreeMap<CallId, String> = BTreeMap::new();
    for line in lines {
        match line.entry {
            // A message that another version wrote in a form of its own is passed over.
            LogEntry::Message { message } => messages.extend(serde_json::from_value::<Message>(message)),
            LogEntry::Requested { call, foreign_id: Some(id), .. } => drop(asked.insert(call, id)),
            LogEntry::Ended { call, tool, outcome, files, .. } if outcome != Outcome::Interrupted => {
                let Some(id) = asked.remove(&call) else { continue };
                let changed: Vec<String> = files.iter().map(|change| change.path.to_string()).collect();
                let changed = if changed.is_empty() {
                    String::new()
                } else {
                    format!(" It changed {}.", changed.join(", "))
                };
                let text = format!(
                    "The call ended as {}, but haft was stopped before its result was kept.{changed} Look again where \
                     you need what it said.",
                    outcome.name()
                );
                outcomes.push(CallResult {
                    id,
                    tool: tool.to_string(),
                    outcome: outcome.name().to_owned(),
                    content: vec![Block::text(text)],
                });
            }
            _ => {}
        }
    }
    (messages, outcomes)
}

/// The instructions files of the workspace. Only what the model may read itself: a link that leads out of the
/// workspace, or a file that a rule denies, is left out.
fn instructions(files: &dyn Files, session: &Session) -> String {
    let policy = session.policy();
    let mut seen = Vec::new();
    let mut all = String::new();
    for name in INSTRUCTIONS {
        let Ok(path) = files.resolve(&PathArg::from(name)) else { continue };
        if seen.contains(&path) || !policy.workspace.covers(&path) || policy.denies_read(&path) {
            continue;
        }
        let Ok(bytes) = files.read(&path, 0, INSTRUCTIONS_MAX_BYTES) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() {
            continue;
        }
        let cut = if bytes.len() >= INSTRUCTIONS_MAX_BYTES {
            "\n[cut here; read the file for the rest]"
        } else {
            ""
        };
        // Writing to a string can't fail.
        let _ = write!(all, "\n\n# Instructions of the workspace, from {name}\n\n{}{cut}", text.trim());
        seen.push(path);
    }
    all
}

/// A day for people, in UTC: `29 November 2026`.
pub(crate) fn date(now: SystemTime) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut days = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / DAY_SECONDS;
    let mut year = 1970_u64;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    for (month, length) in MONTHS.iter().zip(lengths) {
        if days < length {
            return format!("{} {month} {year}", days + 1);
        }
        days -= length;
    }
    year.to_string()
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_agent::mend;
    use haft_runtime::LOG_VERSION;
    use serde_json::json;
    use std::time::Duration;

    fn line(entry: serde_json::Value) -> LogLine {
        let mut line = json!({"v": LOG_VERSION, "at": 0});
        line.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        serde_json::from_value(line).unwrap()
    }

    fn requested(call: &str, id: &str) -> LogLine {
        line(json!({"entry": "requested", "call": call, "run": 1, "tool": "t", "raw": "{}", "foreignId": id}))
    }

    #[test]
    fn after_a_crash_each_call_has_one_result_and_says_what_became_of_it() {
        let call = |id: &str| json!({"id": id, "tool": "t", "input": "{}"});
        let assistant = json!({
            "role": "assistant", "turn": 1, "dialect": "scripted", "text": "", "blocks": [],
            "calls": [call("a"), call("b"), call("c")],
        });
        let ended = |call: &str, outcome: &str| {
            line(json!({
                "entry": "ended", "call": call, "tool": "t", "outcome": outcome, "trace": [], "durationMs": 1, "bytes": 1,
            }))
        };
        let lines = vec![
            line(json!({"entry": "message", "message": {"role": "user", "text": "go"}})),
            line(json!({"entry": "message", "message": assistant})),
            line(json!({"entry": "message", "message": {"form": "another"}})),
            requested("1", "a"),
            requested("2", "b"),
            requested("3", "c"),
            ended("1", "completed"),
            ended("2", "interrupted"),
        ];
        let (messages, outcomes) = history(lines);
        assert_eq!(messages.len(), 2);
        let mended = mend(messages, &outcomes);
        let Some(Message::Results(results)) = mended.last() else { panic!("no results") };
        let outcomes: Vec<&str> = results.results.iter().map(|result| result.outcome.as_str()).collect();
        assert_eq!(outcomes, ["completed", "interrupted", "interrupted"]);
    }

    #[test]
    fn days_have_their_dates() {
        let at = |days: u64| date(UNIX_EPOCH + Duration::from_secs(days * DAY_SECONDS + 5));
        assert_eq!(at(0), "1 January 1970");
        assert_eq!(at(11_016), "29 February 2000");
        assert_eq!(at(20_786), "29 November 2026");
    }
}
