//! `haft rules test`: a rule file that carries its own examples, each judged by its settings alone.

use super::block_on;
use crate::{
    app::App,
    print,
    status::Status,
    terminal::{bad, clean, good},
    trouble::Trouble,
};
use haft_core::{NoApprover, Request};
use haft_os::host;
use haft_policy::Mode;
use haft_runtime::{
    Explained,
    settings::{Place, RuleExample, RuleFile, Scope, SettingsSource},
};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// More than that is no rule file.
const FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;
/// The session of these judgements; nothing is ever called in it.
const SESSION: &str = "rules-test";

/// `haft rules`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RulesArgs {
    #[command(subcommand)]
    pub(crate) command: RulesCommand,
}

/// What to do with rule files.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum RulesCommand {
    /// Run the examples that a rule file carries, with its settings alone
    Test {
        /// The file: settings, and `[[test]]` with tool, input and expect
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What to test.
pub(super) struct TestFile {
    /// The file.
    pub(super) file: PathBuf,
    /// Print JSON.
    pub(super) json: bool,
}

/// One example, judged.
struct Judged {
    example: RuleExample,
    explained: Explained,
    /// The gate that decided.
    gate: String,
    /// Why it isn't what was expected.
    fault: Option<String>,
}

/// Runs all examples.
///
/// # Errors
/// There is no such file, or it can't be read.
pub(super) fn test(app: App, args: &TestFile) -> anyhow::Result<Status> {
    let path = host::current_dir()?.join(&args.file);
    let shown = args.file.to_string_lossy().into_owned();
    let file = read(&app, &path)?;
    if let Some(first) = file.problems.first() {
        for problem in file.problems.iter().skip(1) {
            print::note(&problem.to_string());
        }
        let path = first.path.as_deref().unwrap_or(&shown);
        let line = first.line.map(|line| format!(":{line}")).unwrap_or_default();
        return Err(Trouble::failed(format!("{path}{line}: {}", first.text), first.fix.clone()).into());
    }
    if file.examples.is_empty() {
        let what = format!("{shown} has no examples");
        let fix = "write [[test]] with tool, input = { … } and expect = \"allow\", \"ask\" or \"deny\"";
        return Err(Trouble::failed(what, fix).into());
    }
    let judged = judged(app, file)?;
    let failed = judged.iter().filter(|judged| judged.fault.is_some()).count();
    if args.json {
        let tests: Vec<_> = judged.iter().map(|judged| object(judged, &shown)).collect();
        print::json(&json!({"passed": judged.len() - failed, "failed": failed, "tests": tests}))?;
    } else {
        for judged in &judged {
            print::line(&line(judged, &shown));
        }
        print::line(&format!("{} passed, {failed} failed", judged.len() - failed));
    }
    Ok(if failed == 0 { Status::Completed } else { Status::Failed })
}

fn read(app: &App, path: &Path) -> anyhow::Result<RuleFile> {
    let shown = path.to_string_lossy().into_owned();
    let missing = || Trouble::usage(format!("there is no file {shown}"), "name a rule file");
    let bytes = host::read_file(path, FILE_MAX_BYTES)?.ok_or_else(missing)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Trouble::failed(format!("{shown} is not UTF-8"), "save it as UTF-8"))?;
    // It is the user's own word here, so all of it counts.
    let place = Place { trusted: true, ..app.place.clone() };
    Ok(RuleFile::read(&SettingsSource::new(Scope::User, shown, text), &place))
}

/// Judges each example in a session of its own settings: no other rule, grant or refusal counts.
fn judged(mut app: App, file: RuleFile) -> anyhow::Result<Vec<Judged>> {
    let RuleFile { settings, examples, .. } = file;
    app.settings = settings;
    app.problems = Vec::new();
    let mut policy = app.policy();
    let trust = app.trust.path();
    policy.rules.retain(|rule| rule.source.as_ref().is_none_or(|source| !source.starts_with(trust.as_str())));
    policy.grants.clear();
    let usual = app.settings.mode.as_ref().map_or(Mode::Default, |mode| mode.value);
    block_on(async {
        let live = app.live(SESSION, Arc::new(NoApprover))?;
        let mut all = Vec::new();
        for example in examples {
            let mut policy = policy.clone();
            policy.mode = example.mode.unwrap_or(usual);
            live.session.set_policy(policy);
            let request = Request::new(example.tool.as_str(), example.input.to_string());
            let explained = live.executor.explained(&live.session, &request).await;
            all.push(Judged {
                fault: fault(&example, &explained),
                gate: gate(&explained),
                example,
                explained,
            });
        }
        Ok(all)
    })
}

/// Why an example isn't what was expected.
fn fault(example: &RuleExample, explained: &Explained) -> Option<String> {
    let expected = example.expect.name();
    if explained.verdict != expected {
        return Some(format!("expected {expected}, and it is {}", explained.verdict));
    }
    let decides = explained.rule.as_deref();
    match example.rule.as_deref() {
        Some(rule) if decides != Some(rule) => {
            let decides = decides.map_or_else(|| "no rule".to_owned(), |rule| format!("\"{rule}\""));
            Some(format!("expected the rule \"{rule}\" to decide, and it was {decides}"))
        }
        _ => None,
    }
}

/// The gate that decided: the first that came to the verdict.
fn gate(explained: &Explained) -> String {
    let is_gate = |name: &str| name.starts_with("guard:") || name.starts_with("settler:");
    let mut spoke = explained.trace.iter().filter(|step| is_gate(&step.step));
    let decided = spoke.find(|step| step.verdict == explained.verdict);
    decided.map(|step| step.step.to_string()).unwrap_or_default()
}

fn line(judged: &Judged, file: &str) -> String {
    let Judged { example, explained, gate, fault } = judged;
    let mark = if fault.is_some() { bad("fail") } else { good("pass") };
    let what = format!(
        "{file}:{} {} {}",
        example.line,
        example.tool,
        print::one_line(&example.input.to_string(), 100)
    );
    let mut text = format!("{mark}  {}", clean(&what));
    if let Some(fault) = fault {
        text.push_str("\n        ");
        text.push_str(&clean(fault));
    }
    let place = explained.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    let gate = if gate.is_empty() { String::new() } else { format!(", by {gate}") };
    let reason = print::one_line(&explained.reason, 300);
    text.push_str(&clean(&format!("\n        {}{gate}: {reason}{place}", explained.verdict)));
    text
}

fn object(judged: &Judged, file: &str) -> serde_json::Value {
    let Judged { example, explained, gate, fault } = judged;
    json!({
        "at": format!("{file}:{}", example.line),
        "tool": example.tool,
        "input": example.input,
        "expect": example.expect.name(),
        "verdict": explained.verdict,
        "passed": fault.is_none(),
        "fault": fault,
        "gate": gate,
        "reason": explained.reason,
        "rule": explained.rule,
        "source": explained.source,
    })
}
