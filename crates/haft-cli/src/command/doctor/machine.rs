//! The kernel, and what holds commands besides the sandbox.

use super::finding::Finding;
use crate::app::App;
use haft_core::{Cancel, Command, Processes, RealPath, Status as Exited, Stdio};
use haft_os::{Beneath, ControlGroups, OsProcesses, host};
use std::{path::Path, time::Duration};

/// How long a program that does next to nothing may take.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest text of the kernel's that is read.
const TEXT_MAX_BYTES: u64 = 4_096;
/// As much of what a program says about itself is read.
const SAID_MAX_BYTES: usize = 4_096;
/// How a group is had in which processes and memory can be bounded.
const HANDED_OVER: &str = "start haft in a group that is handed over to it: systemd-run --user --pty --same-dir -p \
                           Delegate=yes -p DelegateSubgroup=main haft …; in a container, mount /sys/fs/cgroup writable";

/// A short text of the kernel's, without the blanks around it.
pub(super) fn text(path: &str) -> Option<String> {
    let bytes = host::read_file(Path::new(path), TEXT_MAX_BYTES).ok().flatten()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

pub(super) fn kernel() -> Finding {
    match text("/proc/sys/kernel/osrelease") {
        Some(release) => Finding::ok("kernel", release),
        None => Finding::warning("kernel", "its release can't be read", "mount /proc"),
    }
}

pub(super) fn beneath() -> Finding {
    match Beneath::detect() {
        Beneath::Kernel => Finding::ok("paths", "openat2 opens files beneath their root"),
        Beneath::Walk => Finding::warning(
            "paths",
            "openat2 doesn't work; paths are walked part by part, which is as safe and slower",
            "use Linux 5.6 or newer, and a container whose filter lets openat2 pass",
        ),
    }
}

pub(super) async fn supervisor(app: &App) -> Finding {
    match tried(app, &["true"]).await {
        Ok((Exited::Code(0), _)) => {
            Finding::ok("processes", "commands run beneath a supervisor that ends all they start")
        }
        Ok((status, _)) => Finding::fault(
            "processes",
            format!("`true` ended with {status:?}"),
            "look for a filter that stops prctl, clone or signals in this container",
        ),
        Err(why) => Finding::fault("processes", why, "make `true` available on the PATH and allow processes"),
    }
}

/// Whether the engine for scripts starts, and what it isn't kept from.
pub(super) async fn scripts(app: &App) -> Finding {
    let gaps = match app.engine() {
        Ok(engine) => engine.gaps().await,
        Err(failure) => Err(failure),
    };
    match gaps {
        Ok(gaps) if gaps.is_empty() => {
            Finding::ok("scripts", "they run in a child of haft's with no files, network or other programs")
        }
        Ok(gaps) => Finding::warning(
            "scripts",
            gaps.join("; "),
            "use a kernel with seccomp, and a container that lets it be used",
        ),
        Err(failure) => Finding::fault(
            "scripts",
            failure.diagnostic.unwrap_or(failure.text),
            "allow haft to start itself; a filter of this container may stop it",
        ),
    }
}

/// What a program says, of which only the beginning is read, and how it ended.
///
/// # Errors
/// Why it couldn't be run, in words.
pub(super) async fn tried(app: &App, argv: &[&str]) -> Result<(Exited, String), String> {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let at = RealPath::new(&app.place.workspace, "");
    let command = Command { deadline: Some(TRIAL_TIMEOUT), ..Command::new(argv, at) };
    let processes = OsProcesses::new(app.environment.clone());
    let mut said = Vec::new();
    let mut take = |from: Stdio, piece: &[u8]| {
        let room = SAID_MAX_BYTES.saturating_sub(said.len());
        if from == Stdio::Out {
            said.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
        }
    };
    let exit = processes.run(command, &Cancel::new(), &mut take).await.map_err(|failure| failure.text)?;
    Ok((exit.status, String::from_utf8_lossy(&said).into_owned()))
}

/// What ends a command for certain, and what bounds it.
pub(super) fn control_groups(app: &App) -> Finding {
    let limits = app.limits();
    let most = limits.processes;
    match ControlGroups::detect() {
        ControlGroups::Usable { memory: false, .. } if limits.memory.is_some() => Finding::warning(
            "control groups",
            "each command has one, which ends it, but it can't bound the memory as memoryMiB under [sandbox] wants",
            HANDED_OVER,
        ),
        ControlGroups::Usable { processes: true, .. } => Finding::ok(
            "control groups",
            format!("each command has one, which ends it and bounds it to {most} processes"),
        ),
        ControlGroups::Usable { .. } => Finding::ok(
            "control groups",
            format!("each command has one, which ends it; its {most} processes are counted otherwise"),
        ),
        ControlGroups::Missing(why) => Finding::warning(
            "control groups",
            format!(
                "commands have none ({why}); the supervisor alone ends them, and their {most} processes are counted \
                 otherwise"
            ),
            HANDED_OVER,
        ),
    }
}
