//! A hook that is a command: a shell line with JSON on its standard input.

use super::{
    Hook,
    kept::Kept,
    place::Place,
    wire::{ERR_MAX_BYTES, Ending, OUT_MAX_BYTES, Raw},
};
use haft_core::{Cancel, Command, Exit, Failure, FailureKind, Status, Stdio, StopReason};
use serde_json::Value;

/// The exit that refuses.
const REFUSED: i32 = 2;
/// What a shell answers where the program is there but can't be executed, and where it isn't there.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What a hook of an extension finds that extension's folder by.
const EXTENSION: &str = "HAFT_EXTENSION";
/// Keeps Python from writing into that folder what it compiled: the folder would be another one then than was trusted.
const NO_BYTECODE: &str = "PYTHONDONTWRITEBYTECODE";

/// Runs the line in its folder, else in the workspace, under the allow-listed environment, to the end of its whole tree.
pub(super) async fn run(place: &Place, hook: &Hook, line: &str, input: &Value, cancel: &Cancel) -> Raw {
    let argv = ["sh", "-c", line].map(str::to_owned).to_vec();
    let folder = hook.folder.as_ref().map_or(&place.workspace, |folder| &folder.path);
    let mut command = Command::new(argv, folder.clone());
    let workspace = place.workspace.absolute();
    command.env = ["CLAUDE_PROJECT_DIR", "HAFT_WORKSPACE"]
        .into_iter()
        .map(|name| (name.to_owned(), workspace.clone()))
        .collect();
    if let Some(folder) = &hook.folder {
        command.env.push((EXTENSION.to_owned(), folder.path.absolute()));
        command.env.push((NO_BYTECODE.to_owned(), "1".to_owned()));
    }
    command.stdin = format!("{input}\n").into_bytes();
    command.deadline = Some(hook.timeout);
    let (mut out, mut err) = (Kept::new(OUT_MAX_BYTES), Kept::new(ERR_MAX_BYTES));
    let mut output = |from: Stdio, bytes: &[u8]| match from {
        Stdio::Out => out.push(bytes),
        Stdio::Err => err.push(bytes),
    };
    let exit = place.world.processes.run(command, cancel, &mut output).await;
    let ending = match exit {
        Ok(exit) => ending(&exit),
        Err(failure) => not_started(failure),
    };
    Raw { ending, is_cut: out.is_cut(), out: out.into_bytes(), err: err.into_text() }
}

fn ending(exit: &Exit) -> Ending {
    match (exit.reason, exit.status) {
        (StopReason::Deadline, _) => Ending::TimedOut,
        (StopReason::Cancelled, _) => Ending::Cancelled,
        (StopReason::Itself, Status::Code(0)) => Ending::Good,
        (StopReason::Itself, Status::Code(REFUSED)) => Ending::Refused,
        (StopReason::Itself, Status::Code(code)) if NOT_STARTED.contains(&code) => {
            Ending::NotStarted(format!("the shell exited with {code}"))
        }
        (StopReason::Itself, Status::Code(code)) => Ending::Bad(format!("it exited with {code}")),
        (StopReason::Itself, Status::Signal(signal)) => Ending::Bad(format!("signal {signal} ended it")),
    }
}

fn not_started(failure: Failure) -> Ending {
    match failure.kind {
        FailureKind::Timeout => Ending::TimedOut,
        FailureKind::Cancelled => Ending::Cancelled,
        _ => Ending::NotStarted(failure.text),
    }
}
