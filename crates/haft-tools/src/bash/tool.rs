//! The declaration and the run of `bash`.

use super::{
    input::{BashInput, TIMEOUT_MAX_MS},
    place::Place,
    script::{QUIET, argv},
};
use crate::program::{Ending, reported_cwd, show, timed_out};
use haft_core::{
    Captured, Command, Cx, Effects, Exit, Failure, Output, Preview, SHELL_FOLDER, SessionView, Shape, Shell,
    Spec, Tool, Touch,
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
        // The gates read the line as this shell's language.
        let shell = match cx.world.processes.shell() {
            Shell::Bash => "bash",
            Shell::Posix => "sh",
        };
        let late = || timed_out(input.deadline(), Duration::from_millis(TIMEOUT_MAX_MS));
        let shown = show(cx, command(shell, &input, &place), late).await?;
        Ok(completed(&shown.exit, shown.captured, &place, shown.took))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NoSession;
    use haft_core::{PathArg, RealPath, Status, StopReason};
    use serde_json::json;
    use std::sync::Arc;

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
}
