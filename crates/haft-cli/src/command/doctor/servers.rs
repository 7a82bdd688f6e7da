//! The servers whose tools are used here: whether each could be started, and where that is asked for, whether it answers.

use super::{finding::Finding, programs::find};
use crate::app::{
    App,
    mcp::{LIST, Listed, Standing},
};
use haft_core::{Cancel, RealPath};
use haft_mcp::client::{ServerConfig, Transport};
use haft_os::host;
use serde_json::Value;
use std::path::Path;

/// What there is to say of each; programs are started where `is_asked`. What is wrong with the lists themselves stands among
/// the problems of settings and tools.
pub(super) async fn servers(app: &App, is_asked: bool) -> Vec<Finding> {
    let (listed, problems) = app.mcp_servers();
    if listed.is_empty() && problems.is_empty() {
        let detail = format!("none is named: there is no {LIST} in the workspace, and none in the settings");
        return vec![Finding::ok("mcp servers", detail)];
    }
    let mut findings = Vec::new();
    for server in listed {
        findings.push(looked_at(app, server, is_asked).await);
    }
    findings
}

async fn looked_at(app: &App, server: Listed, is_asked: bool) -> Finding {
    let Listed { name: own, standing, config, .. } = server;
    let name = format!("mcp: {own}");
    match (standing, config) {
        (Standing::InUse, Some(config)) => tried(app, name, config, is_asked).await,
        (Standing::InUse | Standing::Off, _) => Finding::ok(name, "it is switched off"),
        (Standing::Own, _) => Finding::ok(name, "it is haft itself, listed for other tools"),
        (Standing::Unapproved(_), _) => Finding::warning(
            name,
            "it isn't started, since it came with the workspace and you haven't approved it as it is",
            format!("look at it; if it is what you want, run `haft mcp approve {own}`"),
        ),
        (Standing::Broken(why), _) => {
            Finding::warning(name, why, "put that right, or correct what is written of the server")
        }
    }
}

/// One that may be used.
async fn tried(app: &App, name: String, config: ServerConfig, is_asked: bool) -> Finding {
    let own = config.name.to_string();
    let (program, folder) = match &config.transport {
        // What stands behind the `?` of an address may be a key.
        Transport::Http(endpoint) => {
            let shown = endpoint.url.split(['?', '#']).next().unwrap_or_default();
            return Finding::ok(name, format!("at {shown}; it wasn't asked: `haft mcp test {own}` does"));
        }
        Transport::Stdio { command, .. } => {
            (command.argv.first().cloned().unwrap_or_default(), command.cwd.clone())
        }
    };
    let Some(at) = located(app, &program, &folder) else {
        let detail = format!("its program {program} isn't there");
        return Finding::warning(
            name,
            detail,
            format!("install {program}, or correct what is written of the server"),
        );
    };
    if !is_asked {
        return Finding::ok(name, format!("{at} is there; `haft doctor --mcp` starts it"));
    }
    let clients = app.alone(config);
    let looked = clients.look(&own, &Cancel::new()).await;
    clients.close().await;
    match looked {
        Ok(report) => {
            let of = |key: &str| report.info.get(key).and_then(Value::as_str).unwrap_or("?");
            Finding::ok(name, format!("{at} answers as {} {}", of("name"), of("version")))
        }
        Err(failure) => {
            let why = failure.text.lines().next().unwrap_or_default();
            Finding::warning(
                name,
                format!("{at}: {why}"),
                format!("`haft mcp test {own}` shows what it says"),
            )
        }
    }
}

/// The file of a program: on the `PATH`, or by its path.
fn located(app: &App, program: &str, folder: &RealPath) -> Option<String> {
    let found = if program.contains('/') {
        let at = Path::new(&folder.absolute()).join(program);
        host::is_executable(&at).then_some(at)
    } else {
        find(app, program)
    };
    found.map(|at| at.to_string_lossy().into_owned())
}
