//! The declaration and the run of `exec`.

use super::{
    input::{ExecInput, TIMEOUT_MAX_MS},
    settings::ExecSettings,
};
use crate::program::{Ending, Shown, show, timed_out};
use haft_core::{
    Command, Cx, Effects, Exposure, Failure, FailureKind, FileKind, Output, OwnCheck, Preview, RealPath,
    SessionView, Shape, Spec, Tool, Touch, Why, shell_line,
};
use std::{sync::Arc, time::Duration};

/// Added to the longest timeout: stopping the tree and taking its last output, so that the tool's own deadline always
/// comes before the runtime's.
const GRACE: Duration = Duration::from_secs(15);

/// Runs a program without a shell.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExecTool {
    settings: ExecSettings,
}

impl ExecTool {
    pub(crate) fn new(settings: ExecSettings) -> Self {
        Self { settings }
    }
}

/// The line that a person would type for it.
fn line_of(input: &ExecInput) -> String {
    shell_line(std::iter::once(input.program.as_str()).chain(input.args.iter().map(String::as_str)))
}

impl Tool for ExecTool {
    type Input = ExecInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("exec", include_str!("prompt.md").trim_end())
            .with_input_aliases("program", &["command", "cmd"])
            .with_input_aliases("args", &["arguments", "argv"])
            .with_input_aliases("cwd", &["workdir"])
            .with_input_aliases("timeout", &["timeout_ms"])
            .with_category("shell")
            .with_capabilities(&["shell.restricted"])
            .with_exposure(Exposure::Deferred)
            .with_timeout(Duration::from_millis(TIMEOUT_MAX_MS) + GRACE)
            .with_display("▸", "Running")
            .long_running()
    }

    fn validate(&self, input: &ExecInput) -> Result<(), Failure> {
        input.check()
    }

    /// The line is judged as any other: what an interpreter is given with `-c` is the user's word once it stands on
    /// the list, and is shown and asked as it is.
    fn effects(&self, input: &ExecInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Command(line_of(input).into()), Touch::Read(input.folder())])
    }

    fn check(&self, input: &ExecInput, _: &dyn SessionView) -> Option<OwnCheck> {
        self.settings.refusal(&input.program).map(|reason| OwnCheck::Deny(Why::new("own", reason)))
    }

    async fn preview(&self, input: &ExecInput, _: &Cx) -> Result<Preview, Failure> {
        let text = match &input.stdin {
            Some(stdin) => format!("{}\nwith this input:\n{stdin}", line_of(input)),
            None => line_of(input),
        };
        Ok(Preview { text, digest: Vec::new() })
    }

    async fn run(&self, input: ExecInput, cx: &Cx) -> Result<Output, Failure> {
        let at = folder(&input, cx).await?;
        refuse_the_workspaces(&input.program, cx)?;
        let command = Command {
            stdin: input.stdin.clone().unwrap_or_default().into_bytes(),
            merged: true,
            trusted: true,
            deadline: Some(input.deadline()),
            ..Command::new(input.argv(), at.clone())
        };
        let late = || timed_out(input.deadline(), Duration::from_millis(TIMEOUT_MAX_MS));
        let Shown { exit, captured, took } = show(cx, command, late).await?;
        let ending =
            Ending { output: &captured.text, exit: &exit, took, moved_to: None, gone: None, more: &[] };
        let output = Output::text(ending.text()).with_metadata(ending.metadata(&at.absolute()));
        Ok(Output { shape: Shape::HeadTail, truncation: captured.truncation, ..output })
    }
}

/// The folder it runs in.
async fn folder(input: &ExecInput, cx: &Cx) -> Result<RealPath, Failure> {
    let written = input.folder();
    let at = cx.path(&written)?;
    let (files, asked) = (Arc::clone(&cx.world.files), at.clone());
    let is_folder = cx
        .blocking(move || match files.stat(&asked) {
            Ok(stat) => Ok(stat.kind == FileKind::Folder),
            Err(failure) => Ok(failure.kind != FailureKind::NotFound),
        })
        .await?;
    if is_folder {
        return Ok(at);
    }
    Err(Failure::not_found(format!(
        "there is no folder {}, so nothing ran; name one that exists, or leave cwd out",
        written.0
    )))
}

/// A bare name on the list means the system's program, not what a workspace puts on the `PATH`.
fn refuse_the_workspaces(program: &str, cx: &Cx) -> Result<(), Failure> {
    if program.contains('/') {
        return Ok(());
    }
    let Some(found) = cx.world.processes.locate(program) else {
        return Err(Failure::not_found(format!(
            "there is no program {program} on the PATH; check the name, or have it installed"
        )));
    };
    let workspace = cx.world.files.workspace();
    if workspace.covers(&RealPath::new("/", found.trim_start_matches('/'))) {
        return Err(Failure::conflict(format!(
            "{program} leads to {found} in the workspace, which the user's list doesn't mean by that name; use bash, \
             or have that path put on the list"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NoSession;
    use haft_core::PathArg;
    use serde_json::{Value, json};

    fn input(value: Value) -> ExecInput {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_line_is_what_a_person_would_type() {
        let tool = ExecTool::default();
        let effects = tool.effects(
            &input(json!({"program": "grep", "args": ["it's", "a b", "$HOME"], "cwd": "src"})),
            &NoSession,
        );
        let line = Touch::Command("grep 'it'\\''s' 'a b' '$HOME'".into());
        assert_eq!(effects, Effects::Only(vec![line, Touch::Read(PathArg::from("src"))]));
    }

    #[test]
    fn by_default_nothing_is_allowed() {
        let call = input(json!({"program": "make"}));
        assert!(matches!(ExecTool::default().check(&call, &NoSession), Some(OwnCheck::Deny(_))));
        let tool = ExecTool::new(ExecSettings { programs: vec!["make".to_owned()] });
        assert_eq!(tool.check(&call, &NoSession), None);
    }
}
