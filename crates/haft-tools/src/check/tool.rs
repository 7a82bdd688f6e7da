//! The declaration and the run of `check`.

use super::{
    input::{CheckInput, TIMEOUT_MAX_MS},
    plan::choices,
    project::{Planned, Project, with_below},
    render,
    run::{Report, Task, run},
    verdict::Verdict,
};
use haft_core::{
    Cx, Effects, Exposure, Failure, FailureKind, FileKind, Output, PathArg, Permission, Preview, RealPath,
    Risk, SessionView, Shape, Spec, Tool, Touch,
};
use std::{sync::Arc, time::Duration};

/// Added to the longest timeout: stopping the tree and taking its last output, so that the tool's own deadline
/// always comes before the runtime's.
const GRACE: Duration = Duration::from_secs(30);
/// So many paths that nothing has are named.
const MISSING_MAX: usize = 5;

/// Runs the project's own checks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CheckTool;

impl Tool for CheckTool {
    type Input = CheckInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("check", include_str!("prompt.md").trim_end())
            .with_input_aliases("paths", &["path", "files"])
            .with_input_aliases("cwd", &["workdir", "dir"])
            .with_input_aliases("timeout", &["timeout_ms"])
            .with_category("shell")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .with_capabilities(&["shell.restricted"])
            .with_timeout(Duration::from_millis(TIMEOUT_MAX_MS) + GRACE)
            .with_display("✓", "Checking")
            .with_exposure(Exposure::Deferred)
            .confined()
            .long_running()
    }

    fn validate(&self, input: &CheckInput) -> Result<(), Failure> {
        input.check()
    }

    /// A runner executes the project's own code, so that it is judged as a command is: by the line that will run.
    ///
    /// Which of the lines that is shows only once manifests are read, after the judging. So all of them are stated,
    /// as one line of alternatives: a rule that denies one denies the call, and naming the runner leaves out the
    /// others. The folder and the paths are stated for rules over paths; they are written only where files are to
    /// be rewritten, since what a build leaves behind is its command's doing, as it is for a shell.
    fn effects(&self, input: &CheckInput, _: &dyn SessionView) -> Effects {
        let order = input.order();
        let lines = input.runners().into_iter().flat_map(|runner| choices(runner, &order));
        let lines: Vec<String> = lines.map(|choice| choice.line()).collect();
        // The first that is read is the folder in which the line starts.
        let mut touches = vec![Touch::Command(lines.join(" || ").into()), Touch::Read(input.folder())];
        let paths = input.stated_paths();
        touches.extend(paths.iter().cloned().map(Touch::Read));
        if input.is_fix() {
            let written = if paths.is_empty() { vec![input.folder()] } else { paths };
            touches.extend(written.into_iter().map(Touch::WriteTree));
        }
        Effects::Only(touches)
    }

    /// Exactly what will run, and nothing else once it was agreed to.
    async fn preview(&self, input: &CheckInput, cx: &Cx) -> Result<Preview, Failure> {
        let planned = plan(input, cx).await?;
        let text = planned.iter().map(|planned| planned.choice.line()).collect::<Vec<_>>().join("\n");
        Ok(Preview { digest: text.clone().into_bytes(), text })
    }

    async fn run(&self, input: CheckInput, cx: &Cx) -> Result<Output, Failure> {
        let at = cx.path(&input.folder())?;
        let planned = plan(&input, cx).await?;
        let deadline = input.deadline();
        let started = cx.world.clock.now();
        let mut reports: Vec<Report> = Vec::new();
        for planned in &planned {
            let spent = cx.world.clock.now().duration_since(started).unwrap_or_default();
            let task = Task {
                kind: input.kind,
                fix: input.is_fix(),
                at: &at,
                has_paths: input.paths.as_ref().is_some_and(|paths| !paths.is_empty()),
                deadline: deadline.saturating_sub(spent).max(Duration::from_millis(1)),
            };
            cx.log(planned.choice.line());
            let report = run(planned, task, cx).await?;
            let is_over = report.verdict == Verdict::TimedOut;
            reports.push(report);
            if is_over {
                break;
            }
        }
        answer(&input, &reports)
    }
}

/// Results are results, also bad ones; where there is none, the call failed.
fn answer(input: &CheckInput, reports: &[Report]) -> Result<Output, Failure> {
    let worst = render::worst(reports);
    let text = render::text(input.kind, reports);
    let metadata = render::metadata(input.kind, reports);
    if worst.is_answer() {
        let mut output = Output::text(text).with_metadata(metadata);
        output.shape = Shape::HeadTail;
        return Ok(output);
    }
    let kind = match worst {
        Verdict::TimedOut => FailureKind::Timeout,
        Verdict::Nothing | Verdict::Missing => FailureKind::NotFound,
        _ => FailureKind::Unavailable,
    };
    // What ran may have had effects, and would end the same way.
    let text = format!("{text}\n{}", next_step(worst));
    let failure = Failure { retryable: false, ..Failure::new(kind, text) };
    Err(failure.with_partial(Output::default().with_metadata(metadata)))
}

fn next_step(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Nothing => {
            "Nothing is known to work by this: check paths and cwd, add tests, or run it through bash."
        }
        Verdict::Missing => "Install what is missing, or name another runner.",
        Verdict::TimedOut => {
            "Nothing is known by this: pass a larger timeout (milliseconds), or narrow it with paths."
        }
        _ => {
            "This is no result of the check: look at the output, mend what stopped the runner, and run it again."
        }
    }
}

/// What the project has of what is asked.
async fn plan(input: &CheckInput, cx: &Cx) -> Result<Vec<Planned>, Failure> {
    let at = cx.path(&input.folder())?;
    let paths: Result<Vec<(PathArg, RealPath)>, Failure> =
        input.stated_paths().into_iter().map(|path| cx.path(&path).map(|real| (path, real))).collect();
    let paths = paths?;
    let (files, input, cancel) = (Arc::clone(&cx.world.files), input.clone(), cx.cancel.clone());
    cx.blocking(move || {
        if cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        if files.stat(&at)?.kind != FileKind::Folder {
            let written = input.folder().0;
            return Err(Failure::invalid(format!("/cwd must be a folder, and {written} isn't; name its folder")));
        }
        let is_gone = |real: &RealPath| files.stat(real).is_err_and(|failure| failure.kind == FailureKind::NotFound);
        let gone: Vec<&str> =
            paths.iter().filter(|(_, real)| is_gone(real)).map(|(path, _)| path.0.as_str()).take(MISSING_MAX).collect();
        if !gone.is_empty() {
            return Err(Failure::not_found(format!(
                "/paths: there is no {}, so nothing was checked; paths start at cwd, or at the workspace root without it",
                gone.join(", ")
            )));
        }
        let project = Project::load(files.as_ref(), &at)?;
        let planned = project.plan(&input.runners(), &input.order());
        planned.map_err(|failure| with_below(failure, files.as_ref(), &at))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NoSession;
    use serde_json::{Value, json};

    fn effects(value: Value) -> Vec<Touch<PathArg>> {
        let input: CheckInput = serde_json::from_value(value).unwrap();
        CheckTool.effects(&input, &NoSession).touches().to_vec()
    }

    #[test]
    fn effects_name_every_line_that_may_run() {
        let named = effects(json!({"kind": "test", "runner": "make", "cwd": "sub", "paths": ["a b"]}));
        let read = |path: &str| Touch::Read(PathArg::from(path));
        let expected = vec![Touch::Command("make test || make check".into()), read("sub"), read("sub/a b")];
        assert_eq!(named, expected);
        let all = effects(json!({"kind": "build"}));
        let Some(Touch::Command(line)) = all.first() else { panic!("{all:?}") };
        for part in
            ["cargo build --workspace", "npm run build", "pnpm run build", "go build ./...", "make all"]
        {
            assert!(line.split(" || ").any(|line| line.starts_with(part)), "no {part} in {line}");
        }
        assert_eq!(all[1], read("."));
    }

    #[test]
    fn only_a_fix_writes_by_itself() {
        assert!(!effects(json!({"kind": "lint"})).iter().any(Touch::writes));
        let written = |path: &str| Some(Touch::WriteTree(PathArg::from(path)));
        let last = |input| effects(input).pop();
        assert_eq!(last(json!({"kind": "format", "fix": true, "paths": ["src"]})), written("src"));
        assert_eq!(last(json!({"kind": "format", "fix": true})), written("."));
    }

    #[test]
    fn the_own_deadline_comes_before_the_runtimes() {
        assert!(CheckTool.spec().timeout() > Duration::from_millis(TIMEOUT_MAX_MS));
    }
}
