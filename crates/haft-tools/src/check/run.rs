//! One command of the plan, run to its end.

use super::{
    finding::{Counts, Finding, Problems},
    heard::{Ear, Heard},
    parse::{self, Parsed, Said, parse},
    plan::Choice,
    project::Planned,
    runner::{Kind, Runner},
    verdict::Verdict,
};
use crate::program::BARRED_ELSEWHERE;
use haft_core::{Command, Cx, Exit, Failure, FailureKind, RealPath, Status, Stdio, StopReason, looks_barred};
use std::time::Duration;

/// No colours, no questions, no progress bars.
const QUIET: [(&str, &str); 9] = [
    ("CARGO_TERM_COLOR", "never"),
    ("CARGO_TERM_PROGRESS_WHEN", "never"),
    ("CI", "1"),
    ("CLICOLOR", "0"),
    ("FORCE_COLOR", "0"),
    ("NO_COLOR", "1"),
    ("NPM_CONFIG_UPDATE_NOTIFIER", "false"),
    ("PY_COLORS", "0"),
    ("RUST_BACKTRACE", "0"),
];

/// What came of one command.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) runner: Runner,
    /// As a line for a shell.
    pub(super) line: String,
    pub(super) argv: Vec<String>,
    pub(super) verdict: Verdict,
    /// None where it never started.
    pub(super) status: Option<Status>,
    pub(super) counts: Option<Counts>,
    /// The sum of what isn't tests.
    pub(super) problems: Option<Problems>,
    pub(super) findings: Vec<Finding>,
    pub(super) evidence: Vec<String>,
    /// A line that says why, where the verdict needs one.
    pub(super) why: Option<String>,
    /// A line that says what else may be the cause.
    pub(super) hint: Option<String>,
    /// The folder that it ran in, where that isn't the workspace.
    pub(super) place: Option<String>,
    /// Whether the paths that were asked for were too fine for it.
    pub(super) is_wider: bool,
    /// Its output for readers.
    pub(super) output: String,
    /// Where all of it is, if it was long.
    pub(super) spill: Option<String>,
    pub(super) took: Duration,
}

/// What is asked of one command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) kind: Kind,
    pub(super) fix: bool,
    pub(super) at: &'a RealPath,
    /// Whether paths were named.
    pub(super) has_paths: bool,
    pub(super) deadline: Duration,
}

/// Runs it.
///
/// # Errors
/// Cancelled, or whatever keeps processes from being started at all.
pub(super) async fn run(planned: &Planned, task: Task<'_>, cx: &Cx) -> Result<Report, Failure> {
    let Planned { runner, choice } = planned;
    let program = choice.argv.first().map_or("", String::as_str);
    if !program.contains('/') && cx.world.processes.locate(program).is_none() {
        return Ok(absent(planned, task));
    }
    let command = Command {
        env: QUIET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        deadline: Some(task.deadline),
        ..Command::new(choice.argv.clone(), task.at.clone())
    };
    let started = cx.world.clock.now();
    let mut ear = Ear::new(cx, runner.speaks_json());
    let exit = {
        let mut hear = |stream: Stdio, bytes: &[u8]| ear.hear(stream, bytes);
        cx.world.processes.run(command, &cx.cancel, &mut hear).await
    };
    let heard = ear.finish();
    let took = cx.world.clock.now().duration_since(started).unwrap_or_default();
    match exit {
        Ok(exit) if exit.reason == StopReason::Cancelled => Err(Failure::cancelled()),
        Ok(exit) => Ok(Report { took, ..ended(planned, task, &exit, heard) }),
        Err(failure) if failure.kind == FailureKind::NotFound => {
            Ok(Report { why: Some(failure.text), ..absent(planned, task) })
        }
        Err(failure) => Err(failure),
    }
}

fn blank(planned: &Planned, task: Task<'_>, verdict: Verdict) -> Report {
    let Planned { runner, choice } = planned;
    Report {
        runner: *runner,
        line: choice.line(),
        argv: choice.argv.clone(),
        verdict,
        status: None,
        counts: None,
        problems: None,
        findings: Vec::new(),
        evidence: Vec::new(),
        why: None,
        hint: None,
        place: (!task.at.beneath.is_empty()).then(|| task.at.to_string()),
        is_wider: is_wider(choice, task),
        output: String::new(),
        spill: None,
        took: Duration::ZERO,
    }
}

fn is_wider(choice: &Choice, task: Task<'_>) -> bool {
    task.has_paths && !choice.narrows
}

fn absent(planned: &Planned, task: Task<'_>) -> Report {
    let program = planned.choice.argv.first().map_or("", String::as_str);
    let why = format!(
        "{program} is not on the PATH, though the project has {}; {}, or name another runner",
        planned.runner.manifest(),
        planned.runner.remedy()
    );
    Report { why: Some(why), ..blank(planned, task, Verdict::Missing) }
}

fn ended(planned: &Planned, task: Task<'_>, exit: &Exit, heard: Heard) -> Report {
    let (out, err) = (parse::plain(&heard.out), parse::plain(&heard.err));
    let said = Said { kind: task.kind, fix: task.fix, out: &out, err: &err };
    let mut parsed = parse(planned.runner, &said);
    if heard.is_cut {
        // A sum may have stood in what was dropped.
        parsed.counts = None;
        parsed.problems = None;
    }
    let folder = format!("{}/", task.at.absolute().trim_end_matches('/'));
    for file in parsed.findings.iter_mut().filter_map(|finding| finding.file.as_mut()) {
        let short = file.strip_prefix(&folder).or_else(|| file.strip_prefix("./")).map(str::to_owned);
        if let Some(short) = short {
            *file = short;
        }
    }
    let verdict = match exit.reason {
        StopReason::Deadline => Verdict::TimedOut,
        StopReason::Itself | StopReason::Cancelled => Verdict::of(task.kind, exit.status, &parsed),
    };
    let output = parse::plain(heard.shown.text.as_bytes());
    let may_be_barred = verdict != Verdict::Passed && exit.confined.is_some() && looks_barred(&output);
    Report {
        status: Some(exit.status),
        why: why(verdict, planned.runner, task, &parsed),
        hint: may_be_barred.then(|| BARRED_ELSEWHERE.to_owned()),
        counts: parsed.counts,
        problems: parsed.problems,
        findings: parsed.findings,
        evidence: parsed.evidence,
        output,
        spill: heard.shown.truncation.and_then(|truncation| truncation.path),
        ..blank(planned, task, verdict)
    }
}

fn why(verdict: Verdict, runner: Runner, task: Task<'_>, parsed: &Parsed) -> Option<String> {
    match verdict {
        Verdict::Nothing => Some(match (&parsed.nothing, parsed.counts) {
            (Some(line), _) => format!("it said: {line}"),
            (None, Some(counts)) if counts.skipped > 0 => "every test was skipped".to_owned(),
            (None, Some(_)) => "it counted 0 tests".to_owned(),
            (None, None) => "it ended well, but nothing that it printed shows that a test ran".to_owned(),
        }),
        Verdict::Missing => parsed
            .missing
            .as_ref()
            .map(|line| format!("it said: {line}; install that, or {}", runner.remedy())),
        Verdict::Crashed => parsed.crash.as_ref().map(|line| format!("it said: {line}")),
        Verdict::TimedOut => Some(format!(
            "stopped after {} ms with all that it had started; pass a larger timeout, or name fewer paths",
            task.deadline.as_millis()
        )),
        Verdict::Passed | Verdict::Failed | Verdict::Broken => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::plan::{Order, choices};
    use haft_core::{Captured, Confined, Layer};

    fn report(out: &str, code: i32, confined: Option<Confined>) -> Report {
        let order = Order { kind: Kind::Build, fix: false, is_whole: true, paths: &[] };
        let choice = choices(Runner::Make, &order).remove(0);
        let at = RealPath::new("/w", "");
        let task = Task {
            kind: Kind::Build,
            fix: false,
            at: &at,
            has_paths: false,
            deadline: Duration::from_secs(9),
        };
        let exit = Exit {
            status: Status::Code(code),
            reason: StopReason::Itself,
            survivors: Vec::new(),
            survivor_count: 0,
            report: Vec::new(),
            confined,
        };
        let shown = Captured { text: out.to_owned(), truncation: None };
        let heard = Heard { out: out.as_bytes().to_vec(), err: Vec::new(), is_cut: false, shown };
        ended(&Planned { runner: Runner::Make, choice }, task, &exit, heard)
    }

    #[test]
    fn a_failure_that_looks_like_the_sandboxs_says_so() {
        let whole = || Some(Confined { layers: vec![Layer::Namespaces], ..Confined::default() });
        for out in [
            "cp: cannot create regular file '/usr/x': Read-only file system\n",
            "curl: (6) Could not resolve host: registry.test\n",
            "npm error network request failed, reason: getaddrinfo EAI_AGAIN registry.test\n",
            "mkdir: cannot create directory '/opt/x': Permission denied\n",
            "connect: Network is unreachable\n",
        ] {
            let hint = report(out, 1, whole()).hint.unwrap_or_default();
            assert!(hint.contains("sandbox") && hint.contains("outside=true"), "{out}: {hint}");
            assert_eq!(report(out, 1, None).hint, None, "it ran outside");
            assert_eq!(report(out, 0, whole()).hint, None, "it passed");
        }
        assert_eq!(report("a.c:1:2: error: no\n", 1, whole()).hint, None);
    }
}
