//! The declaration and the run of `bash`.

use super::{
    input::{BashInput, TIMEOUT_MAX_MS},
    place::Place,
    script::{QUIET, argv},
};
use crate::program::{Ending, reported_cwd, seconds};
use haft_core::{
    Captured, Command, Cx, Effects, Exit, Failure, FailureKind, Output, Preview, SHELL_FOLDER, SessionView,
    Shape, Shell, Spec, Stdio, StopReason, Tool, Touch,
};
use serde_json::Value;
use std::time::Duration;

/// Added to the longest timeout: stopping the tree and taking its last output, so that the tool's own
/// deadline always comes before the runtime's.
const GRACE: Duration = Duration::from_secs(15);

/// Runs a command line in a shell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BashTool;

impl Tool for BashTool {
    type Input = BashInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("bash", include_str!("prompt.md").trim())
            .with_aliases(&["Bash"])
            .with_input_aliases("command", &["cmd", "script"])
            .with_input_aliases("timeout", &["timeout_ms"])
            .with_input_aliases("cwd", &["workdir"])
            .with_category("shell")
            .with_capabilities(&["shell.arbitrary"])
            .with_timeout(Duration::from_millis(TIMEOUT_MAX_MS) + GRACE)
            .with_display("❯", "Running")
            .confined()
            .long_running()
    }

    fn validate(&self, input: &BashInput) -> Result<(), Failure> {
        input.check()
    }

    fn effects(&self, input: &BashInput, _: &dyn SessionView) -> Effects {
        let command = Touch::Command(input.command.as_str().into());
        let mut touches = match &input.cwd {
            Some(cwd) => vec![command, Touch::Read(cwd.clone())],
            None => vec![command, Touch::Session(SHELL_FOLDER.into())],
        };
        touches.extend(input.outside.then_some(Touch::Unconfined));
        Effects::Only(touches)
    }

    async fn preview(&self, input: &BashInput, _: &Cx) -> Result<Preview, Failure> {
        Ok(Preview { text: input.command.clone(), digest: Vec::new() })
    }

    async fn run(&self, input: BashInput, cx: &Cx) -> Result<Output, Failure> {
        let place = Place::choose(&input, cx).await?;
        let started = cx.world.clock.now();
        let mut capture = cx.sink.capture(Shape::HeadTail);
        let exit = {
            let mut push = |_: Stdio, bytes: &[u8]| {
                capture.push(bytes);
                cx.partial(String::from_utf8_lossy(bytes));
            };
            let processes = &cx.world.processes;
            // The gates read the line as this shell's language.
            let shell = match processes.shell() {
                Shell::Bash => "bash",
                Shell::Posix => "sh",
            };
            processes.run(command(shell, &input, &place), &cx.cancel, &mut push).await
        };
        let took = cx.world.clock.now().duration_since(started).unwrap_or_default();
        let captured = capture.finish();
        match exit {
            Ok(exit) => match exit.reason {
                StopReason::Itself => Ok(completed(&exit, captured, &place, took)),
                StopReason::Deadline => Err(with_partial(timed_out(&input), captured)),
                StopReason::Cancelled => Err(with_partial(Failure::cancelled(), captured)),
            },
            Err(failure) => Err(with_partial(failure, captured)),
        }
    }
}

fn command(shell: &str, input: &BashInput, place: &Place) -> Command {
    Command {
        env: QUIET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        merged: true,
        deadline: Some(input.deadline()),
        report: true,
        ..Command::new(argv(shell, &input.command), place.at.clone())
    }
}

fn completed(exit: &Exit, captured: Captured, place: &Place, took: Duration) -> Output {
    let start = place.at.absolute();
    let cwd = reported_cwd(&exit.report).unwrap_or(&start);
    let moved = place.persists && cwd != start;
    let ending = Ending {
        output: &captured.text,
        exit,
        took,
        moved_to: moved.then_some(cwd),
        gone: place.gone.as_deref(),
    };
    let mut output = Output::text(ending.text()).with_metadata(ending.metadata(cwd));
    if moved || place.gone.is_some() {
        output.session.push((SHELL_FOLDER.into(), Value::String(cwd.to_owned())));
    }
    output.shape = Shape::HeadTail;
    output.truncation = captured.truncation;
    output
}

fn timed_out(input: &BashInput) -> Failure {
    let deadline = input.deadline();
    let longest = Duration::from_millis(TIMEOUT_MAX_MS);
    let advice = if deadline < longest {
        format!("pass a larger timeout (at most {TIMEOUT_MAX_MS}), or do less in one call")
    } else {
        "do less in one call".to_owned()
    };
    let text = format!(
        "timed out after {}; the whole process tree was stopped. To go on, {advice}",
        seconds(deadline)
    );
    // What ran may have had effects, so nobody should repeat it unasked.
    Failure { retryable: false, ..Failure::new(FailureKind::Timeout, text) }
}

fn with_partial(failure: Failure, captured: Captured) -> Failure {
    if captured.text.is_empty() {
        return failure;
    }
    let mut output = Output::text(captured.text);
    output.shape = Shape::HeadTail;
    output.truncation = captured.truncation;
    failure.with_partial(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{PathArg, RealPath, Status};
    use serde_json::json;
    use std::sync::Arc;

    struct NoSession;

    impl SessionView for NoSession {
        fn id(&self) -> Arc<str> {
            "s".into()
        }
        fn state(&self, _: &str) -> Option<Value> {
            None
        }
        fn seen(&self, _: &RealPath) -> Option<haft_core::Seen> {
            None
        }
        fn on_run_end(&self, _: Box<dyn FnOnce() + Send>) {}
    }

    fn input(value: Value) -> BashInput {
        serde_json::from_value(value).unwrap()
    }

    fn exit(report: &[u8]) -> Exit {
        Exit {
            status: Status::Code(0),
            reason: StopReason::Itself,
            survivors: Vec::new(),
            survivor_count: 0,
            report: report.to_vec(),
            confined: None,
        }
    }

    fn place(persists: bool, gone: Option<&str>) -> Place {
        Place { at: RealPath::new("/w", ""), persists, gone: gone.map(str::to_owned) }
    }

    #[test]
    fn effects_name_the_whole_line() {
        let effects = BashTool.effects(&input(json!({"command": "ls; rm x"})), &NoSession);
        assert_eq!(
            effects,
            Effects::Only(vec![Touch::Command("ls; rm x".into()), Touch::Session("cwd".into())])
        );
        let effects = BashTool.effects(&input(json!({"command": "ls", "cwd": "a"})), &NoSession);
        assert_eq!(
            effects,
            Effects::Only(vec![Touch::Command("ls".into()), Touch::Read(PathArg::from("a"))])
        );
    }

    #[test]
    fn the_own_deadline_comes_before_the_runtimes() {
        assert!(BashTool.spec().timeout() > Duration::from_millis(TIMEOUT_MAX_MS));
    }

    #[test]
    fn a_moved_shell_stays_where_it_went_unless_the_call_named_its_folder() {
        let moved = completed(&exit(b"/w/src\n"), Captured::default(), &place(true, None), Duration::ZERO);
        assert_eq!(moved.session, [(Arc::<str>::from("cwd"), json!("/w/src"))]);
        let once = completed(&exit(b"/w/src\n"), Captured::default(), &place(false, None), Duration::ZERO);
        assert!(once.session.is_empty() && once.joined_text() == "[exit 0]");
        let still = completed(&exit(b"/w\n"), Captured::default(), &place(true, None), Duration::ZERO);
        assert!(still.session.is_empty() && still.joined_text() == "[exit 0]");
    }

    #[test]
    fn a_folder_that_is_gone_is_forgotten() {
        let output = completed(&exit(b""), Captured::default(), &place(true, Some("/w/old")), Duration::ZERO);
        assert_eq!(output.session, [(Arc::<str>::from("cwd"), json!("/w"))]);
        assert!(output.joined_text().contains("/w/old is gone"));
    }

    #[test]
    fn a_timeout_says_what_to_do_and_keeps_the_output() {
        let captured = Captured { text: "half".to_owned(), truncation: None };
        let failure = with_partial(timed_out(&input(json!({"command": "x", "timeout": 2_000}))), captured);
        assert!(
            failure.text.starts_with("timed out after 2 s; the whole process tree was stopped."),
            "{failure}"
        );
        assert!(failure.text.contains("larger timeout") && !failure.retryable);
        assert_eq!(failure.partial.unwrap().joined_text(), "half");
    }
}
