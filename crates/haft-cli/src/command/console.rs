//! `haft` alone: an agent to talk to where a model is configured, else a console for tools.
//!
//! Lines come from a terminal or a pipe; the end of input ends it.

mod slash;
mod typed;

use super::{
    Interrupts, block_on, end_jobs,
    run::{
        self, People,
        conversation::{Conversation, Setup},
        model::{self, Wanted},
        report,
    },
};
use crate::{
    app::{App, Live},
    print,
    status::Status,
    terminal::{
        BOLD, Card, CardWatch, Cards, Lines, Prose, Screen, TerminalApprover, clean, dim, outcome_line,
        trace_lines,
    },
    words::{Typed, TypedInput},
};
use haft_agent::{AgentObserver, ModelSettings};
use haft_core::{Block, Credential, JobView, Request, Spec, Status as HowEnded};
use haft_runtime::{Resolved, Session};
use slash::Slash;
use std::{pin::pin, sync::Arc};
use typed::{ConsoleInput, ConsoleLine, example};

const TOOL_HELP: &str = "What can be typed:
  grep pattern=TODO path=src      a call, by key=value; quotes hold blanks together
  grep {\"pattern\": \"TODO\"}        the same as JSON
  {\"tool\": \"grep\", \"input\": {}}  the same, all of it JSON
  tool_help name=grep             what a tool takes and what it may do
  tools                           the tools there are
  jobs                            the commands that go on in the background
  /background                     while a command runs: it goes on in the background
  /NAME words                     a command of an extension
  quit                            ends (as does the end of input)
No model is configured; with one (`haft run --help` says how), this is an agent to talk to.";
const AGENT_HELP: &str = "What is for haft itself:
  /tools    the tools that the model has
  /jobs     the commands that go on in the background
  /help     this
  /quit     ends (as does the end of input)
  /background, while a command runs: it goes on in the background, and the model with something else
  /NAME     a command of an extension, whose output is for you alone
Anything else goes to the model. Ctrl-C interrupts it, twice quits.";
/// What can be typed with a slash and is haft's own.
const AGENT_WORDS: [&str; 5] = ["/tools", "/jobs", "/help", "/quit", "/background"];
const TOOL_WORDS: [&str; 3] = ["help", "tools", "quit"];
/// How long a tool's description is in a list.
const SUMMARY_MAX_CHARS: usize = 70;

/// Runs the console until the input ends.
///
/// # Errors
/// The session can't be opened.
pub(super) fn console(app: &App) -> anyhow::Result<Status> {
    let lookup = |credential: &Credential| app.keys.find(credential);
    let model = match model::choose(&app.settings, Wanted::default(), &lookup) {
        Ok(model) => model,
        Err(trouble) => {
            let fix = trouble.fix.unwrap_or_default();
            print::note(&format!("the model can't be used: {}; to put that right, {fix}", trouble.what));
            None
        }
    };
    let lines = Lines::of_stdin();
    let terminal = TerminalApprover::sharing(&lines);
    let people = People::at_terminal(app, &terminal);
    match model {
        Some(model) => block_on(talk(app, model, people, &lines)),
        None => block_on(tools(app, people, &lines)),
    }
}

/// The next line, after a prompt where a person types. None at the end of input, or at a signal.
async fn next_line(lines: &Arc<Lines>, prompt: &str, interrupts: &mut Interrupts) -> Option<String> {
    let screen = Screen::stderr();
    if lines.are_typed() {
        screen.show(&format!("{BOLD}{prompt}{BOLD:#}"));
    }
    let line = tokio::select! {
        line = lines.next() => line,
        () = interrupts.next() => None,
    };
    if line.is_none() && lines.are_typed() {
        screen.line("");
    }
    line
}

/// Talks to an agent.
async fn talk(app: &App, model: ModelSettings, people: People, lines: &Arc<Lines>) -> anyhow::Result<Status> {
    let mut interrupts = Interrupts::listen()?;
    let shown = clean(&model.model);
    let setup = Setup {
        session: app.session_name(&run::fresh_name("chat")),
        resume: false,
        tools: app.tool_set(),
        model,
        max_turns: None,
        approver: people.approver,
        judge: people.judge,
    };
    let Conversation { live, mut agent } = Conversation::open(app, setup, watch)?;
    live.meet().await;
    let _following = live.tools.followed();
    let session = &live.session.id;
    print::note(&format!(
        "haft · {shown} · session {session}, to be taken up with: haft run --resume {session} · /help, /quit"
    ));
    while let Some(line) = next_line(lines, "> ", &mut interrupts).await {
        match line.trim() {
            "" => {}
            "/quit" | "/exit" | "quit" | "exit" => break,
            "/help" => print::line(&help(AGENT_HELP, &live)),
            "/tools" => print::line(&tool_list(&live.session)),
            "/jobs" => print::line(&job_list(&live.session)),
            _ if is_background(&line) => move_to_background(&live.session),
            task => {
                if let Some(slash) = Slash::parse(&line) {
                    slash.run(&live, &AGENT_WORDS, &mut interrupts).await;
                    continue;
                }
                let running = run::until_ended(&mut agent, task, &mut interrupts);
                let Some(run) = hearing(running, lines, &live.session).await else {
                    return Ok(Status::Cancelled);
                };
                if !run.text.is_empty() {
                    print::raw("\n");
                }
                if let Some(why) = report::why(&run.end) {
                    print::note(&why);
                }
            }
        }
    }
    live.session.end_run();
    end_jobs(&live.session).await;
    live.close().await;
    Ok(Status::Completed)
}

/// Waits for something, and meanwhile does what is typed for haft itself.
async fn hearing<T>(work: impl Future<Output = T>, lines: &Arc<Lines>, session: &Session) -> T {
    let mut work = pin!(work);
    if !lines.are_typed() {
        return work.await;
    }
    let words = lines.aside(is_background);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = words.next() => move_to_background(session),
        }
    }
}

/// Whether a line asks for what runs to go on in the background; the last one is Ctrl-B.
fn is_background(line: &str) -> bool {
    ["/background", "/bg", "\u{2}"].contains(&line.trim())
}

fn move_to_background(session: &Session) {
    let calls = session.movable();
    if calls.is_empty() {
        print::note("nothing runs that could go on in the background");
    }
    for call in calls {
        match session.move_to_background(&call) {
            Ok(job) => print::note(&format!("goes on in the background as {job}")),
            Err(failure) => print::note(&failure.text),
        }
    }
}

/// What can be typed, with what extensions add to it.
fn help(own: &str, live: &Live) -> String {
    slash::list(&live.tools.commands()).map_or_else(|| own.to_owned(), |theirs| format!("{own}\n{theirs}"))
}

fn watch(session: &Arc<Session>) -> Arc<dyn AgentObserver> {
    let notes = Screen::stderr();
    let watch = CardWatch::new(&notes).with_text(Prose::new(&Screen::stdout()));
    Arc::new(watch.with_cards(Cards::new(session, &notes)))
}

/// Makes the calls that are typed.
async fn tools(app: &App, people: People, lines: &Arc<Lines>) -> anyhow::Result<Status> {
    let mut interrupts = Interrupts::listen()?;
    let live = app.live(&app.session_name("cli"), people.approver)?;
    live.meet().await;
    let _following = live.tools.followed();
    if lines.are_typed() {
        print::note("haft · the tool console: no model is configured · help, tools, quit");
    }
    while let Some(line) = next_line(lines, "haft> ", &mut interrupts).await {
        match ConsoleLine::parse(&line) {
            ConsoleLine::Empty => {}
            ConsoleLine::Quit => break,
            ConsoleLine::Help => print::line(&help(TOOL_HELP, &live)),
            _ if is_background(&line) => move_to_background(&live.session),
            ConsoleLine::Slash => match Slash::parse(line.trim()) {
                Some(slash) => slash.run(&live, &TOOL_WORDS, &mut interrupts).await,
                None => {
                    print::line("after a slash comes the name of a command; `help` shows what can be typed");
                }
            },
            ConsoleLine::Tools => {
                live.tools.renew().await;
                live.session.refresh();
                print::line(&tool_list(&live.session));
            }
            ConsoleLine::Jobs => print::line(&job_list(&live.session)),
            ConsoleLine::Wrong(why) => print::line(&clean(&format!("{why}; `help` shows what can be typed"))),
            ConsoleLine::Call { tool, input } => call(&live, (tool, input), &mut interrupts, lines).await?,
        }
    }
    live.session.end_run();
    end_jobs(&live.session).await;
    live.close().await;
    Ok(Status::Completed)
}

/// Makes one call and shows its card, its trace, and what a model would see.
async fn call(
    live: &Live,
    (tool, input): (String, ConsoleInput),
    interrupts: &mut Interrupts,
    lines: &Arc<Lines>,
) -> anyhow::Result<()> {
    live.tools.renew().await;
    live.session.refresh();
    let spec = spec_of(&live.session, &tool);
    let input = match input {
        ConsoleInput::Json(text) => text,
        ConsoleInput::Pairs(pairs) => {
            let typed = Typed { tool: tool.clone(), input: TypedInput::Pairs(pairs), json: false };
            typed.text(spec.as_deref())?
        }
    };
    print::line(&Card::of(spec.as_deref(), &tool, &input).line());
    let running = live.executor.submit(&live.session, Request::new(tool, input));
    let ended = hearing(interrupts.until_ended(running), lines, &live.session).await;
    print::line(&format!("  {}", outcome_line(&ended)));
    for step in trace_lines(&ended.trace) {
        print::line(&format!("    {}", dim(&step)));
    }
    print::line(&dim("  what a model would see:"));
    for block in &ended.output.content {
        match block {
            Block::Text { text } => print::line(&clean(text)),
            other => print::line(&clean(&print::shown(std::slice::from_ref(other)))),
        }
    }
    Ok(())
}

fn spec_of(session: &Session, tool: &str) -> Option<Arc<Spec>> {
    match session.snapshot().resolve(tool) {
        Resolved::Tool(offer, _) => Some(Arc::clone(offer.spec())),
        Resolved::Gone(_) | Resolved::Unknown(_) => None,
    }
}

fn job_list(session: &Session) -> String {
    let rows: Vec<Vec<String>> = session
        .jobs()
        .iter()
        .map(|job| {
            let id = job.id.as_deref().unwrap_or_default().to_owned();
            vec![id, standing(job), print::one_line(&job.line, SUMMARY_MAX_CHARS)]
        })
        .collect();
    if rows.is_empty() { "No command goes on in the background.".to_owned() } else { print::table(&rows) }
}

fn standing(job: &JobView) -> String {
    match &job.end {
        None => {
            let pid = job.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
            let kept = if job.kept { ", outlives haft" } else { "" };
            format!("runs {} s{pid}{kept}", job.ran.as_secs())
        }
        Some(Ok(exit)) => match exit.status {
            HowEnded::Code(code) => format!("exit {code}"),
            HowEnded::Signal(signal) => format!("signal {signal}"),
        },
        Some(Err(_)) => "interrupted".to_owned(),
    }
}

fn tool_list(session: &Session) -> String {
    let snapshot = session.snapshot();
    let rows: Vec<Vec<String>> = snapshot
        .offers()
        .map(|offer| {
            let spec = offer.spec();
            let summary = print::one_line(&clean(&spec.description), SUMMARY_MAX_CHARS);
            vec![clean(&offer.name), clean(&example(&spec.input_schema)), summary]
        })
        .collect();
    print::table(&rows)
}
