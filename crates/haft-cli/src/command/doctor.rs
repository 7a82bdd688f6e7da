//! `haft doctor`: what works on this machine, and how to fix what doesn't.

use super::block_on;
use crate::{
    app::{App, passphrase},
    cli::DoctorArgs,
    print,
    status::Status,
    terminal::clean,
};
use haft_core::{
    Cancel, Command, Confined, Credential, Credentials, Failure, Layer, Processes, RealPath,
    Status as Exited, Stdio, StoredSecret, shell_word,
};
use haft_os::{Beneath, OsProcesses, SealedWith, host};
use haft_runtime::settings::SandboxMode;
use serde::Serialize;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

/// Where programs are looked for without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Variables that hold keys of model providers, besides those that are taken by themselves.
const MORE_KEYS: [&str; 1] = ["OPENROUTER_API_KEY"];
/// How long a program that does nothing may take.
const TRUE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest text of the kernel's release.
const RELEASE_MAX_BYTES: u64 = 4_096;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Ok,
    Warning,
    Fault,
}

/// One check.
#[derive(Debug, Clone, Serialize)]
struct Finding {
    name: &'static str,
    health: Health,
    detail: String,
    fix: Option<String>,
}

impl Finding {
    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, health: Health::Ok, detail: detail.into(), fix: None }
    }

    fn warning(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, health: Health::Warning, detail: detail.into(), fix: Some(fix.into()) }
    }

    fn fault(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, health: Health::Fault, detail: detail.into(), fix: Some(fix.into()) }
    }
}

/// Looks at everything that haft leans on.
///
/// # Errors
/// No thread can be started.
pub(super) fn doctor(app: &App, args: &DoctorArgs) -> anyhow::Result<Status> {
    let mut findings = vec![kernel(), beneath(), block_on(async { Ok(supervisor(app).await) })?];
    findings.extend(programs(app));
    findings.extend([state(app), environment(app), trust(app)]);
    findings.extend(problems(app));
    let stored = app.keys.vault.list();
    findings.push(model_keys(app, stored.as_deref().unwrap_or_default()));
    findings.extend(secrets(app, &stored));
    findings.extend(sandbox(app));
    let healthy = findings.iter().all(|finding| finding.health != Health::Fault);
    if args.json {
        print::json(&serde_json::json!({"healthy": healthy, "checks": findings}))?;
    } else {
        for finding in &findings {
            let mark = match finding.health {
                Health::Ok => "ok     ",
                Health::Warning => "warning",
                Health::Fault => "fault  ",
            };
            print::line(&format!("{mark}  {}: {}", finding.name, clean(&finding.detail)));
            if let Some(fix) = &finding.fix {
                print::line(&format!("         fix: {}", clean(fix)));
            }
        }
    }
    Ok(if healthy { Status::Completed } else { Status::Failed })
}

fn kernel() -> Finding {
    let release = host::read_file(Path::new("/proc/sys/kernel/osrelease"), RELEASE_MAX_BYTES).ok().flatten();
    match release.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(release) => Finding::ok("kernel", release.trim()),
        None => Finding::warning("kernel", "its release can't be read", "mount /proc"),
    }
}

fn beneath() -> Finding {
    match Beneath::detect() {
        Beneath::Kernel => Finding::ok("paths", "openat2 opens files beneath their root"),
        Beneath::Walk => Finding::warning(
            "paths",
            "openat2 doesn't work; paths are walked part by part, which is as safe and slower",
            "use Linux 5.6 or newer, and a container whose filter lets openat2 pass",
        ),
    }
}

async fn supervisor(app: &App) -> Finding {
    let command = Command {
        deadline: Some(TRUE_TIMEOUT),
        ..Command::new(vec!["true".to_owned()], RealPath::new(&app.place.workspace, ""))
    };
    let processes = OsProcesses::new(app.environment.clone());
    let mut ignore = |_: Stdio, _: &[u8]| {};
    match processes.run(command, &Cancel::new(), &mut ignore).await {
        Ok(exit) if exit.status == Exited::Code(0) => {
            Finding::ok("processes", "commands run beneath a supervisor that ends all they start")
        }
        Ok(exit) => Finding::fault(
            "processes",
            format!("`true` ended with {:?}", exit.status),
            "look for a filter that stops prctl, clone or signals in this container",
        ),
        Err(failure) => {
            Finding::fault("processes", failure.text, "make `true` available on the PATH and allow processes")
        }
    }
}

fn programs(app: &App) -> Vec<Finding> {
    let path = app.environment.get("PATH").unwrap_or(DEFAULT_PATH);
    let find = |program: &str| -> Option<PathBuf> {
        path.split(':').map(|folder| Path::new(folder).join(program)).find(|file| host::is_executable(file))
    };
    let program = |name: &'static str, missing: Finding| match find(name) {
        Some(at) => Finding::ok(name, at.to_string_lossy()),
        None => missing,
    };
    vec![
        program("sh", Finding::fault("sh", "not on the PATH; commands can't run", "install a POSIX shell")),
        program(
            "bash",
            Finding::warning("bash", "not on the PATH; the bash tool has to make do with sh", "install bash"),
        ),
        program(
            "git",
            Finding::warning("git", "not on the PATH; the model can't look at history", "install git"),
        ),
    ]
}

fn state(app: &App) -> Finding {
    const PROBE: &str = "doctor";
    let state = app.state();
    let tried =
        state.update(PROBE, &mut |_: Option<&[u8]>| Ok(b"ok\n".to_vec())).and_then(|()| state.remove(PROBE));
    // The lock of the probe goes with it; none there is no fault.
    let _ = state.remove(&format!("{PROBE}.lock"));
    let at = app.home.state.to_string_lossy().into_owned();
    match tried {
        Ok(()) => Finding::ok("state folder", at),
        Err(failure) => Finding::fault(
            "state folder",
            failure.text,
            format!("make {at} writable, or set HAFT_HOME to another folder"),
        ),
    }
}

fn environment(app: &App) -> Finding {
    if app.environment.is_scrubbed() {
        Finding::ok("environment", "variables that aren't meant for commands are out of their sight")
    } else {
        Finding::warning(
            "environment",
            "the variables haft was started with couldn't be wiped; other processes of your user can read them",
            "mount /proc, or start haft without keys in its environment",
        )
    }
}

fn trust(app: &App) -> Finding {
    let said = if app.place.trusted {
        "trusted"
    } else {
        "not trusted: its settings can only tighten, its tools ask"
    };
    Finding::ok("workspace", format!("{} is {said}", app.place.workspace))
}

fn problems(app: &App) -> Vec<Finding> {
    let tools = match app.tools() {
        Ok(tools) => tools,
        Err(error) => {
            return vec![Finding::fault("tools", error.to_string(), "report this: built-in tools must load")];
        }
    };
    let problems = tools.catalogue.problems();
    if problems.is_empty() {
        return vec![Finding::ok("settings and tools", "no problems")];
    }
    let shown = problems.into_iter().map(|problem| {
        let place = match (&problem.path, problem.line) {
            (Some(path), Some(line)) => format!("{path}:{line}"),
            (Some(path), None) => path.clone(),
            (None, _) => problem.source.clone(),
        };
        Finding::warning("settings and tools", format!("{place}: {}", problem.text), problem.fix)
    });
    shown.collect()
}

/// Names only: a value is never shown by this command.
fn model_keys(app: &App, stored: &[StoredSecret]) -> Finding {
    let of_models =
        app.uses().into_iter().filter(|used| used.by.starts_with("model")).map(|used| used.credential);
    let more = MORE_KEYS.into_iter().map(|name| Credential::Variable(name.to_owned()));
    let all: BTreeSet<Credential> = of_models.chain(more).collect();
    let is_there = |credential: &&Credential| match credential {
        Credential::Variable(name) => app.environment.get(name).is_some_and(|value| !value.is_empty()),
        Credential::Stored(name) => stored.iter().any(|known| known.name == *name),
    };
    let shown = |credential: &Credential| match credential {
        Credential::Variable(name) => name.clone(),
        Credential::Stored(_) => credential.to_string(),
    };
    let present: Vec<String> = all.iter().filter(is_there).map(shown).collect();
    if present.is_empty() {
        Finding::warning(
            "model keys",
            "none is stored or in the environment; `haft run` needs one, all else works without",
            "haft secret set model:anthropic (or model:openai), or export ANTHROPIC_API_KEY or OPENAI_API_KEY, or name \
             another with apiKey in [models.NAME]",
        )
    } else {
        Finding::ok("model keys", present.join(", "))
    }
}

/// How many there are, what seals them, and whether anybody else gets at them.
fn secrets(app: &App, stored: &Result<Vec<StoredSecret>, Failure>) -> Vec<Finding> {
    const NAME: &str = "stored secrets";
    let vault = &app.keys.vault;
    let at = vault.path().to_string_lossy().into_owned();
    let mut findings = Vec::new();
    let sealed = vault.sealed_with().ok().flatten();
    findings.push(match (stored, &sealed) {
        (Err(failure), _) => Finding::fault(
            NAME,
            format!("none can be used, and none of them is masked: {}", failure.text),
            "give the passphrase, or put the folder back from a backup, or move it away and set them anew",
        ),
        (Ok(_), None) => Finding::ok(NAME, "none; haft secret set NAME stores one"),
        (Ok(all), Some(sealed)) => {
            let with = match sealed {
                SealedWith::KeyFile(_) => "the key beside it",
                SealedWith::Passphrase => "a passphrase",
            };
            Finding::ok(NAME, format!("{} in {at}, sealed with {with}", all.len()))
        }
    });
    let has_passphrase = app.environment.get(passphrase::VARIABLE).is_some_and(|value| !value.is_empty())
        || app.settings.passphrase_command.is_some();
    if has_passphrase && matches!(sealed, Some(SealedWith::KeyFile(_))) {
        findings.push(Finding::warning(
            NAME,
            "a passphrase is given, and isn't used: the key lies in a file beside them",
            "haft secret rekey --passphrase",
        ));
    }
    let open: Vec<String> = vault.exposed().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    if !open.is_empty() {
        findings.push(Finding::fault(
            NAME,
            format!("other users of this machine may get at {}", open.join(", ")),
            format!("chmod go= {}", open.iter().map(|path| shell_word(path)).collect::<Vec<_>>().join(" ")),
        ));
    }
    findings
}

/// Each layer that was tried, and how to get the ones that don't work.
fn sandbox(app: &App) -> Vec<Finding> {
    let Some(sandbox) = app.sandbox(&app.policy()) else {
        return vec![Finding::warning(
            "sandbox",
            "switched off: commands that are allowed run with all of your rights",
            "take mode = \"off\" out of [sandbox]",
        )];
    };
    let Confined { layers, gaps } = sandbox.confined();
    let missing = |layer: Layer| !layers.contains(&layer);
    let names: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
    let mut findings = Vec::new();
    if missing(Layer::Namespaces) {
        findings.push(Finding::warning(
            "sandbox: namespaces",
            "a process can't have mounts and a network of its own here",
            namespaces_fix(),
        ));
    }
    if missing(Layer::Landlock) {
        findings.push(Finding::warning(
            "sandbox: landlock",
            "the kernel has no Landlock, or doesn't use it",
            "use Linux 5.13 or newer, with landlock in the list of lsm= at its start (/sys/kernel/security/lsm shows it)",
        ));
    }
    if missing(Layer::Seccomp) {
        findings.push(Finding::warning(
            "sandbox: seccomp",
            "system calls can't be refused here",
            "use a kernel with CONFIG_SECCOMP_FILTER, on x86-64, aarch64 or riscv64",
        ));
    }
    let detail = format!("commands run in {}", names.join(", "));
    findings.insert(
        0,
        if gaps.is_empty() {
            Finding::ok("sandbox", detail)
        } else {
            let required = app.settings.sandbox.mode() == SandboxMode::Required;
            let what =
                if required { "required, so no command runs" } else { "they aren't kept from everything" };
            let text = format!("{detail}; {what}: {}", gaps.join("; "));
            if required {
                Finding::fault("sandbox", text, "mend what is named below, or set mode = \"preferred\"")
            } else {
                Finding::warning("sandbox", text, "mend what is named below")
            }
        },
    );
    findings
}

/// What most likely stands in the way.
fn namespaces_fix() -> String {
    let read = |path: &str| {
        let bytes = host::read_file(Path::new(path), RELEASE_MAX_BYTES).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    if read("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        return "sudo sysctl -w user.max_user_namespaces=15000".to_owned();
    }
    if read("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned();
    }
    if read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        return "allow it for haft by an AppArmor profile (`userns,`), or sudo sysctl -w \
                kernel.apparmor_restrict_unprivileged_userns=0"
            .to_owned();
    }
    "use Linux 5.12 or newer; in a container, let unshare and mount pass its filter".to_owned()
}
