//! `haft demo`: a real run on a small broken project. Only the model's turns are recorded.
//!
//! Works in a temporary folder of its own, state and settings included, and needs no network, key, git or
//! terminal. Succeeds only if the project's own check passes in the end.

use super::{Interrupts, run::until_ended};
use crate::{
    app::{App, Home, Keys},
    cli::Common,
    print,
    status::Status,
    terminal::{CardWatch, Cards, Prose, Screen, bad, dim, good, question},
    trouble::Trouble,
};
use haft_agent::{Agent, AgentEnd, AgentObserver, Scripted, system_prompt};
use haft_core::{Answer, Approver, BoxFuture, CallId, Ended, Question, StateFolder};
use haft_mcp::Fronts;
use haft_os::{
    Environment, OsState,
    host::{self, Executable},
};
use haft_runtime::settings::{Place, Scope, Settings, SettingsSource, TrustFile};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The recorded turns of the model.
const TURNS: &str = include_str!("demo/turns.jsonl");
/// The rules that hold.
const RULES: &str = include_str!("demo/config.toml");
/// The project as it is before the run.
const PROJECT: [(&str, &str); 4] = [
    ("README.md", include_str!("demo/project/README.md")),
    ("check.sh", include_str!("demo/project/check.sh")),
    (BROKEN, include_str!("demo/project/join.sh")),
    ("private/token.txt", include_str!("demo/project/token.txt")),
];
/// The file with the fault.
const BROKEN: &str = "lib/join.sh";
/// What the fault is.
const FAULT: &str = r#"joined="$joined$separator$word""#;
/// What it must be instead.
const FIX: &str = r#"joined="${joined:+$joined$separator}$word""#;
/// The task as a person would give it.
const TASK: &str = "The check of this project fails (`sh check.sh`). Find out why and fix it.";
/// The day the model is told, so that two runs are the same.
const DATE: &str = "the day of this demo";
/// How much of a result is shown.
const RESULT_MAX_LINES: usize = 12;
/// More than that is no file of the demo.
const FILE_MAX_BYTES: u64 = 64 * 1024;

/// `haft demo`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DemoArgs {
    /// Keep the project it works on
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Runs the demo. Of the common flags only `--mode` counts.
///
/// # Errors
/// The temporary folder or the session can't be made.
pub(super) fn demo(environment: Environment, common: Common, args: &DemoArgs) -> anyhow::Result<Status> {
    let folder = tempfile::Builder::new().prefix("haft-demo-").tempdir()?;
    let root = host::real_path(folder.path()).unwrap_or_else(|| folder.path().to_owned());
    let app = app(environment, common, &root)?;
    print::line(&format!(
        "{} The model's turns are recorded; everything else is real: the tools, the gates, the project's own check.",
        good("haft demo.")
    ));
    print::line(&dim(&format!("The project is in {}, the rules:", app.place.workspace)));
    for rule in RULES.lines().filter(|line| line.contains('=')) {
        print::line(&dim(&format!("  {rule}")));
    }
    print::line(&format!("\nTask: {TASK}"));
    // One thread, so that a card is shown before the question about its call.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(work(&app));
    runtime.shutdown_background();
    let passed = outcome.and_then(|seen| verdict(&seen, &app.workspace));
    if args.keep {
        print::line(&format!("The project is kept in {}", root.display()));
        // Keeping is all that is wanted of it.
        let _ = folder.keep();
    } else if let Err(error) = folder.close() {
        print::note(&format!("the folder {} couldn't be removed: {error}", root.display()));
    }
    passed
}

/// The project, and haft's own folders beside it: nothing of the user's is read or written.
fn app(environment: Environment, common: Common, root: &Path) -> anyhow::Result<App> {
    let workspace = root.join("project");
    for (name, content) in PROJECT {
        let path = workspace.join(name);
        if let Some(folder) = path.parent() {
            host::make_dirs(folder)?;
        }
        host::write_new_file(&path, content.as_bytes(), Executable::No)?;
    }
    let home = Home {
        config: root.join("config.toml"),
        tools: root.join("tools"),
        extensions: root.join("extensions"),
        state: root.join("state"),
    };
    host::write_new_file(&home.config, RULES.as_bytes(), Executable::No)?;
    let place = Place { workspace: text(&workspace)?, home: None, trusted: false };
    // Named shortly, since the file is gone when the line is read.
    let mut sources = vec![SettingsSource::new(Scope::User, "config.toml", RULES)];
    if let Some(mode) = common.mode {
        let text = format!("[permissions]\nmode = \"{mode}\"\n");
        sources.push(SettingsSource::new(Scope::Flags, "--mode", text));
    }
    let mut settings = Settings::load(&sources, &place);
    let problems = std::mem::take(&mut settings.problems);
    let state: Arc<dyn StateFolder> = Arc::new(OsState::new(home.state.clone()));
    let trust = TrustFile::new(state, &place.workspace);
    let keys = Keys::new(&environment, &home.state, &settings);
    let fronts = Fronts::new();
    let approved = BTreeSet::new();
    Ok(App { common, environment, home, workspace, place, settings, trust, approved, problems, keys, fronts })
}

fn text(path: &Path) -> Result<String, Trouble> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Trouble::failed(
            "the folder for temporary files has a name that isn't UTF-8",
            "set TMPDIR to another folder",
        )
    })
}

/// What was seen of the run.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// How each run of the check exited, in order.
    exits: Vec<Option<i64>>,
    /// How often a person would have been asked.
    asked: usize,
    /// Whether the model came to its end.
    done: bool,
}

/// Lets the agent work.
async fn work(app: &App) -> anyhow::Result<Seen> {
    let screen = Screen::stdout();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let approver = DemoApprover { screen: screen.clone(), seen: Arc::clone(&seen) };
    let mut interrupts = Interrupts::listen()?;
    let live = app.live("demo", Arc::new(approver))?;
    let session = Arc::clone(&live.session);
    let cards = Cards::new(&session, &screen).with_reasons();
    let cards = CardWatch::new(&screen).with_text(Prose::new(&screen)).with_cards(cards);
    let watch = DemoWatch { cards, screen: screen.clone(), seen: Arc::clone(&seen) };
    let model = Arc::new(Scripted::parse(TURNS)?);
    let system = system_prompt(&app.place.workspace, DATE);
    let agent = Agent::new(live.executor.clone(), Arc::clone(&session), model, system);
    let mut agent = agent.with_observer(Arc::new(watch));
    let run = until_ended(&mut agent, TASK, &mut interrupts).await;
    session.end_run();
    screen.line("");
    let mut seen = lock(&seen).clone();
    seen.done = run.is_some_and(|run| run.end == AgentEnd::Done);
    Ok(seen)
}

/// Says whether it worked, by what is there and not by what the model says.
fn verdict(seen: &Seen, workspace: &Path) -> anyhow::Result<Status> {
    let questions = match seen.asked {
        1 => "1 question, which the demo answered".to_owned(),
        count => format!("{count} questions, which the demo answered"),
    };
    print::line(&format!("\nRead back: {questions}"));
    let path: PathBuf = workspace.join(BROKEN);
    let bytes = host::read_file(&path, FILE_MAX_BYTES)?.unwrap_or_default();
    let content = String::from_utf8_lossy(&bytes);
    let is_fixed = content.contains(FIX) && !content.contains(FAULT);
    let exit = match seen.exits.last() {
        Some(Some(code)) => format!("exit {code}"),
        Some(None) => "no exit code".to_owned(),
        None => "never run".to_owned(),
    };
    let holds = |holds: bool, text: &str| {
        print::line(&format!(
            "  {}",
            if holds { good(&format!("✓ {text}")) } else { bad(&format!("✗ {text}")) }
        ));
    };
    let failed_first = seen.exits.len() > 1 && seen.exits.first().is_some_and(|exit| *exit != Some(0));
    let passes = seen.exits.last() == Some(&Some(0));
    holds(failed_first, "the check failed before");
    holds(is_fixed, &format!("{BROKEN} has the fix"));
    holds(passes, &format!("the check passes now ({exit})"));
    Ok(if passes && is_fixed && seen.done { Status::Completed } else { Status::Failed })
}

/// Shows the run and remembers how the check exited.
struct DemoWatch {
    cards: CardWatch,
    screen: Screen,
    seen: Arc<Mutex<Seen>>,
}

impl AgentObserver for DemoWatch {
    fn text(&self, delta: &str) {
        self.screen.show("\n");
        self.cards.text(delta);
    }

    fn call_started(&self, id: &CallId, tool: &str, input: &str) {
        self.cards.call_started(id, tool, input);
    }

    fn call_ended(&self, ended: &Ended) {
        self.cards.call_ended(ended);
        for line in result_lines(&ended.output.joined_text()) {
            self.screen.line(&format!("    {line}"));
        }
        if ended.tool.as_ref() == "bash" {
            let metadata = ended.output.metadata.as_ref();
            let exit = metadata.and_then(|metadata| metadata.get("exitCode")).and_then(Value::as_i64);
            lock(&self.seen).exits.push(exit);
        }
    }

    fn loop_detected(&self, what: &str) {
        self.cards.loop_detected(what);
    }

    fn warning(&self, text: &str) {
        self.cards.warning(text);
    }
}

/// The first lines of what the model gets.
fn result_lines(text: &str) -> Vec<String> {
    let cleaned = crate::terminal::clean(text);
    let mut lines: Vec<String> = cleaned.lines().take(RESULT_MAX_LINES).map(str::to_owned).collect();
    let left_out = cleaned.lines().count().saturating_sub(lines.len());
    if left_out > 0 {
        lines.push(dim(&format!("… and {left_out} more")));
    }
    lines
}

/// Shows what a person would be asked, and answers for them.
struct DemoApprover {
    screen: Screen,
    seen: Arc<Mutex<Seen>>,
}

impl Approver for DemoApprover {
    fn ask(&self, asked: Question) -> BoxFuture<'_, Answer> {
        lock(&self.seen).asked += 1;
        self.screen.line(&dim("  Here a person would be asked:"));
        self.screen.show(question(&asked).trim_start_matches('\n'));
        self.screen.line(&dim("  The demo answers for them: once.\n"));
        Box::pin(std::future::ready(Answer::Once))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_edit_is_the_fix_of_the_fault_in_the_project() {
        let broken = PROJECT.iter().find(|(name, _)| *name == BROKEN).unwrap().1;
        assert_eq!(broken.matches(FAULT).count(), 1);
        let turns: Vec<Value> = TURNS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let calls: Vec<&Value> = turns.iter().filter_map(|turn| turn["calls"].as_array()).flatten().collect();
        let tools: Vec<&str> = calls.iter().map(|call| call["tool"].as_str().unwrap()).collect();
        assert_eq!(tools, ["grep", "read", "bash", "edit", "bash"]);
        let edit = &calls[3]["input"]["edits"][0];
        let (old, new) = (edit["old"].as_str().unwrap(), edit["new"].as_str().unwrap());
        assert_eq!((old.trim(), new.trim()), (FAULT, FIX));
        assert!(broken.replacen(old, new, 1).contains(FIX));
    }

    #[test]
    fn the_demo_succeeds_only_if_the_check_passes_and_the_file_is_fixed() {
        let folder = tempfile::tempdir().unwrap();
        host::make_dirs(&folder.path().join("lib")).unwrap();
        let seen = |last: Option<i64>| Seen { exits: vec![Some(1), last], asked: 1, done: true };
        assert_eq!(verdict(&seen(Some(0)), folder.path()).unwrap(), Status::Failed);
        let path = folder.path().join(BROKEN);
        host::write_new_file(&path, FIX.as_bytes(), Executable::No).unwrap();
        assert_eq!(verdict(&seen(Some(0)), folder.path()).unwrap(), Status::Completed);
        assert_eq!(verdict(&seen(Some(1)), folder.path()).unwrap(), Status::Failed);
        assert_eq!(verdict(&seen(None), folder.path()).unwrap(), Status::Failed);
        let cut_short = Seen { done: false, ..seen(Some(0)) };
        assert_eq!(verdict(&cut_short, folder.path()).unwrap(), Status::Failed);
    }
}
