//! `haft doctor`: what works on this machine, and how to fix what doesn't.
//!
//! Each file looks at one part; what can be tried is tried for real.

mod finding;
mod keys;
mod layers;
mod machine;
mod programs;
mod servers;

use super::block_on;
use crate::{app::App, print, status::Status, terminal::clean};
use finding::{Finding, Health};
use haft_core::Credentials as _;

/// `haft doctor`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Start the MCP servers that are named and may be started, and say what they answer
    #[arg(long)]
    pub(crate) mcp: bool,
}

/// Looks at everything that haft leans on.
///
/// # Errors
/// No thread can be started.
pub(super) fn doctor(app: &App, args: &DoctorArgs) -> anyhow::Result<Status> {
    let findings = all(app, args)?;
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
            print::line(&format!("{mark}  {}: {}", clean(&finding.name), clean(&finding.detail)));
            if let Some(fix) = &finding.fix {
                print::line(&format!("         fix: {}", clean(fix)));
            }
        }
    }
    Ok(if healthy { Status::Completed } else { Status::Failed })
}

fn all(app: &App, args: &DoctorArgs) -> anyhow::Result<Vec<Finding>> {
    let (supervisor, scripts, git, servers) = block_on(async {
        let (supervisor, scripts) = (machine::supervisor(app).await, machine::scripts(app).await);
        Ok((supervisor, scripts, programs::git(app).await, servers::servers(app, args.mcp).await))
    })?;
    let mut findings = vec![machine::kernel(), machine::beneath(), supervisor, machine::control_groups(app)];
    findings.extend(programs::shells(app));
    findings.push(git);
    findings.extend(programs::runners(app));
    findings.extend([state(app), environment(app), trust(app)]);
    findings.extend(problems(app));
    let stored = app.keys.vault.list();
    findings.push(keys::model_keys(app, stored.as_deref().unwrap_or_default()));
    findings.extend(keys::secrets(app, &stored));
    findings.extend(layers::sandbox(app));
    findings.push(scripts);
    findings.extend(servers);
    Ok(findings)
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
    tools.catalogue.try_model();
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
