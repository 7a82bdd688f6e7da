//! `haft run`: an agent works on one task, with nobody needed to look on.

pub(crate) mod conversation;
mod lender;
pub(crate) mod model;
pub(super) mod report;

use super::{Interrupts, block_on, end_jobs};
use crate::{
    app::App,
    print,
    status::Status,
    terminal::{CardWatch, Cards, Prose, Screen, TerminalApprover, TerminalJudge, YesApprover},
    trouble::Trouble,
};
use conversation::{Conversation, Setup};
use haft_agent::{Agent, AgentEnd, AgentObserver, AgentRun, LoopJudge, NoJudge};
use haft_core::{Approver, Cancel, Clock, Credential, NoApprover};
use haft_os::{SystemClock, host};
use haft_runtime::{Session, ToolSet};
use model::Wanted;
use report::JsonWatch;
use std::{
    io::{self, IsTerminal},
    pin::pin,
    sync::Arc,
    time::UNIX_EPOCH,
};

/// How much of standard input is taken as context.
const CONTEXT_MAX_BYTES: u64 = 1024 * 1024;
/// The task where a session is taken up without one.
const GO_ON: &str = "Go on.";

/// `haft run`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RUN_STATUS)]
pub(crate) struct RunArgs {
    /// What to do; standard input, where it isn't a terminal, is context
    pub(crate) task: Option<String>,
    /// What is printed
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
    /// Only these tools: names, categories, or names with a trailing *
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) tools: Vec<String>,
    /// Model: a name from the settings, anthropic:MODEL, openai:MODEL, or scripted:FILE
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Where the model's endpoint is, if not at the provider's own address
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Most turns of the model [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_turns: Option<u64>,
    /// Go on with a session
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
}

const RUN_STATUS: &str = "Exit status: 0 done, 1 the model or haft failed, 2 wrong usage or no model, \
    3 stopped by a person's denial, 5 interrupted, 6 a limit was reached (turns, tokens, going round in circles).";

/// What `haft run` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer, for people
    Text,
    /// One object at the end
    Json,
    /// One object a line as things happen
    StreamJson,
}

/// Runs the agent on the task.
///
/// # Errors
/// No task, no model, no such session, or a session that can't be opened.
pub(super) fn run(app: &App, args: &RunArgs) -> anyhow::Result<Status> {
    let lookup = |credential: &Credential| app.keys.find(credential);
    let wanted = Wanted { model: args.model.as_deref(), base_url: args.base_url.as_deref() };
    let model = model::choose(&app.settings, wanted, &lookup)?
        .ok_or_else(|| model::none_configured(&app.settings))?;
    let tools = tool_set(&app.tool_set(), &args.tools)?;
    let task = task(args, context()?)?;
    let name = match &args.resume {
        Some(name) => name.clone(),
        None => app.session_name(&fresh_name("run")),
    };
    let people = People::at_terminal(app, &TerminalApprover::new());
    let setup = Setup {
        session: name,
        resume: args.resume.is_some(),
        tools,
        model,
        max_turns: args.max_turns,
        approver: people.approver,
        judge: people.judge,
    };
    for problem in &app.problems {
        print::note(&problem.to_string());
    }
    block_on(async {
        let mut interrupts = Interrupts::listen()?;
        let Conversation { live, mut agent } =
            Conversation::open(app, setup, |session| watch(args.output, session))?;
        live.meet().await;
        let _following = live.tools.followed();
        check_tools(&live.session, &args.tools)?;
        let session = Arc::clone(&live.session.id);
        print::note(&format!("session {session}; to go on with it: haft run --resume {session} \"…\""));
        for job in live.session.jobs() {
            if let (Some(id), Some(Err(failure))) = (&job.id, &job.end) {
                print::note(&format!(
                    "{id} ({}): {}",
                    print::one_line(&job.line, super::JOB_MAX_CHARS),
                    failure.text
                ));
            }
        }
        if args.output == OutputFormat::StreamJson {
            print::json(&report::begin(&session))?;
        }
        let Some(run) = until_ended(&mut agent, &task, &mut interrupts).await else {
            return Ok(Status::Cancelled);
        };
        live.session.end_run();
        end_jobs(&live.session).await;
        agent.finish("exit").await;
        live.close().await;
        tell(args.output, &run, &session)?;
        Ok(status(&run.end))
    })
}

/// Runs the agent. The first signal interrupts it, and its end is waited for; the second one gives none.
pub(super) async fn until_ended(
    agent: &mut Agent,
    task: &str,
    interrupts: &mut Interrupts,
) -> Option<AgentRun> {
    let cancel = Cancel::new();
    let mut running = pin!(agent.run(task, &cancel));
    loop {
        tokio::select! {
            biased;
            run = &mut running => return Some(run),
            () = interrupts.next() => {
                if cancel.is_fired() {
                    return None;
                }
                cancel.fire();
                print::note("interrupted; waiting for what runs to stop (once more quits at once)");
            }
        }
    }
}

/// What the shell sees of a run's end.
pub(super) fn status(end: &AgentEnd) -> Status {
    match end {
        AgentEnd::Done => Status::Completed,
        AgentEnd::StoppedByUser { .. } | AgentEnd::StoppedByHook { .. } => Status::Denied,
        AgentEnd::Interrupted => Status::Cancelled,
        AgentEnd::Loop { .. } | AgentEnd::MaxTurns | AgentEnd::TokenLimit => Status::Limit,
        // Refused, failed, and whatever is added later.
        _ => Status::Failed,
    }
}

/// Who answers while an agent works.
pub(super) struct People {
    /// Questions about calls.
    pub(super) approver: Arc<dyn Approver>,
    /// Questions about loops.
    pub(super) judge: Arc<dyn LoopJudge>,
}

impl People {
    /// `--yes`, the person at the terminal, or nobody.
    pub(super) fn at_terminal(app: &App, terminal: &TerminalApprover) -> Self {
        if app.common.yes {
            Self { approver: Arc::new(YesApprover), judge: Arc::new(NoJudge) }
        } else if terminal.is_present() {
            Self { approver: Arc::new(terminal.clone()), judge: Arc::new(TerminalJudge(terminal.clone())) }
        } else {
            Self { approver: Arc::new(NoApprover), judge: Arc::new(NoJudge) }
        }
    }
}

/// A name for a session of its own: it sorts by time, and the process id keeps two of one millisecond apart.
pub(super) fn fresh_name(kind: &str) -> String {
    let since = SystemClock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{kind}-{}-{}", since.as_millis(), std::process::id())
}

/// Who looks on, by what is printed.
fn watch(output: OutputFormat, session: &Arc<Session>) -> Arc<dyn AgentObserver> {
    match output {
        OutputFormat::Json => Arc::new(CardWatch::new(&Screen::stderr())),
        OutputFormat::StreamJson => Arc::new(JsonWatch),
        OutputFormat::Text => {
            let notes = Screen::stderr();
            let mut watch = CardWatch::new(&notes);
            if io::stdout().is_terminal() {
                watch = watch.with_text(Prose::new(&Screen::stdout()));
            }
            if io::stderr().is_terminal() {
                watch = watch.with_cards(Cards::new(session, &notes));
            }
            Arc::new(watch)
        }
    }
}

/// Prints what the run came to.
fn tell(output: OutputFormat, run: &AgentRun, session: &str) -> anyhow::Result<()> {
    match output {
        OutputFormat::Json => print::json(&report::end(run, session))?,
        OutputFormat::StreamJson => print::json(&report::last(run, session))?,
        OutputFormat::Text => {
            // On a terminal it was shown as it came.
            if io::stdout().is_terminal() {
                if !run.text.ends_with('\n') {
                    print::raw("\n");
                }
            } else if !run.text.is_empty() {
                print::raw(&format!("{}\n", run.text.trim_end_matches('\n')));
            }
        }
    }
    if let Some(why) = report::why(&run.end) {
        print::note(&why);
    }
    Ok(())
}

/// What standard input holds, where it isn't a terminal.
fn context() -> anyhow::Result<String> {
    if io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let bytes = host::read_stdin(CONTEXT_MAX_BYTES)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The task with its context; without a task, the context is it.
fn task(args: &RunArgs, context: String) -> Result<String, Trouble> {
    let task = args.task.as_deref().map(str::trim).filter(|task| !task.is_empty());
    let context = Some(context).filter(|context| !context.trim().is_empty());
    match (task, context) {
        (Some(task), None) => Ok(task.to_owned()),
        (Some(task), Some(context)) => Ok(format!("{task}\n\nFrom standard input:\n\n{context}")),
        (None, Some(context)) => Ok(context),
        (None, None) if args.resume.is_some() => Ok(GO_ON.to_owned()),
        (None, None) => Err(Trouble::usage("there is no task", "write haft run \"what to do\"")),
    }
}

/// The tools of the settings, narrowed by the flag: what the settings leave out stays out.
fn tool_set(settings: &ToolSet, wanted: &[String]) -> Result<ToolSet, Trouble> {
    if wanted.is_empty() {
        return Ok(settings.clone());
    }
    let covers = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    };
    for name in wanted {
        if !settings.include.iter().any(|pattern| covers(pattern, name)) {
            return Err(Trouble::usage(
                format!("--tools: \"{name}\" isn't among the tools that the settings include"),
                "name tools as tools.include of the settings does, or change it there",
            ));
        }
    }
    Ok(ToolSet { include: wanted.to_vec(), exclude: settings.exclude.clone() })
}

/// A name that stands for no tool is a slip that would leave the model without it.
fn check_tools(session: &Session, wanted: &[String]) -> Result<(), Trouble> {
    let snapshot = session.snapshot();
    for name in wanted {
        let set = ToolSet { include: vec![name.clone()], exclude: Vec::new() };
        if !snapshot.offers().any(|offer| set.contains(&offer.name, offer.spec())) {
            return Err(Trouble::usage(
                format!("--tools: \"{name}\" stands for no tool"),
                "run `haft tools` to see which there are",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    fn args(words: &[&str]) -> RunArgs {
        Line::try_parse_from(std::iter::once(&"run").chain(words)).unwrap().run
    }

    #[test]
    fn flags_are_read() {
        let args = args(&["do it", "--output", "stream-json", "--tools", "read,grep", "--max-turns", "3"]);
        assert_eq!(args.output, OutputFormat::StreamJson);
        assert_eq!((args.tools, args.max_turns), (vec!["read".to_owned(), "grep".to_owned()], Some(3)));
        for wrong in [["run", "--max-turns", "0"], ["run", "--output", "xml"]] {
            assert!(Line::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_task_comes_from_the_command_line_and_standard_input_is_its_context() {
        let of = |words: &[&str], context: &str| task(&args(words), context.to_owned()).ok();
        assert_eq!(of(&["fix"], " \n").as_deref(), Some("fix"));
        assert_eq!(of(&["fix"], "log").as_deref(), Some("fix\n\nFrom standard input:\n\nlog"));
        assert_eq!(of(&[], "log").as_deref(), Some("log"));
        assert_eq!(of(&["--resume", "x"], "").as_deref(), Some(GO_ON));
        assert_eq!(of(&[" "], ""), None);
    }

    #[test]
    fn the_flag_only_narrows_what_the_settings_show() {
        let set = |include: &[&str], exclude: &[&str]| ToolSet {
            include: include.iter().map(|name| (*name).to_owned()).collect(),
            exclude: exclude.iter().map(|name| (*name).to_owned()).collect(),
        };
        let wanted = ["bash".to_owned()];
        let all = set(&["*"], &["bash"]);
        assert_eq!(tool_set(&all, &wanted).unwrap(), set(&["bash"], &["bash"]));
        assert_eq!(tool_set(&all, &[]).unwrap(), all);
        assert!(tool_set(&set(&["read", "git_*"], &[]), &wanted).is_err());
        assert!(tool_set(&set(&["ba*"], &[]), &wanted).is_ok());
    }

    #[test]
    fn each_end_has_its_status() {
        let stopped = AgentEnd::StoppedByUser { tool: "t".to_owned() };
        let circles = AgentEnd::Loop { what: "x".to_owned() };
        let cases = [
            (AgentEnd::Done, 0),
            (stopped, 3),
            (AgentEnd::Interrupted, 5),
            (circles, 6),
            (AgentEnd::MaxTurns, 6),
            (AgentEnd::TokenLimit, 6),
            (AgentEnd::Refused, 1),
        ];
        for (end, number) in cases {
            assert_eq!(status(&end).number(), number, "{end:?}");
        }
    }
}
