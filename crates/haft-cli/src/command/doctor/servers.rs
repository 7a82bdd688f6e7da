//! The servers that settings and `.mcp.json` name: whether each could be started, and where that is asked for, what it
//! answers. One that came with the workspace is started only where the user approved it.

use super::{finding::Finding, programs::find};
use crate::app::{
    App,
    mcp::{LIST, Listed, Standing},
};
use haft_core::Cancel;
use haft_os::host;
use haft_runtime::settings::McpLaunch;
use serde_json::Value;
use std::path::Path;

/// What there is to say of each; those that may be are started where `is_asked`.
pub(super) async fn servers(app: &App, is_asked: bool) -> Vec<Finding> {
    let (listed, problems) = app.mcp_servers();
    let mut findings: Vec<Finding> = problems
        .iter()
        .map(|problem| {
            let at = problem.path.as_deref().unwrap_or(LIST);
            Finding::warning("mcp servers", format!("{at}: {}", problem.text), problem.fix.clone())
        })
        .collect();
    if listed.is_empty() && findings.is_empty() {
        let detail = if host::is_file(&app.workspace.join(LIST)) {
            format!("none is named in settings or {LIST}")
        } else {
            format!("none is named in settings, and there is no {LIST} in the workspace")
        };
        findings.push(Finding::ok("mcp servers", detail));
    }
    for server in &listed {
        findings.push(looked_at(app, server, is_asked).await);
    }
    findings
}

async fn looked_at(app: &App, server: &Listed, is_asked: bool) -> Finding {
    let name = format!("mcp: {}", server.name);
    match &server.standing {
        Standing::Off => return Finding::ok(name, "it is switched off"),
        Standing::Own => return Finding::ok(name, "it is haft itself, listed for other tools"),
        Standing::InUse | Standing::Unapproved(_) | Standing::Broken(_) => {}
    }
    if let Some(why) = app.lacks(server) {
        return Finding::warning(name, why, format!("put that right, or correct {}", server.setting.origin));
    }
    let at = match located(app, server) {
        Ok(at) => at,
        Err(program) => {
            let fix = format!("install {program}, or correct {}", server.setting.origin);
            return Finding::warning(name, format!("its program {program} isn't there"), fix);
        }
    };
    match (&server.config, is_asked) {
        (None, _) => {
            let detail = format!("{at}; it came with the workspace and isn't started as it is");
            Finding::warning(
                name,
                detail,
                format!("look at it; if it is what you want: haft mcp approve {}", server.name),
            )
        }
        (Some(_), false) => Finding::ok(name, format!("{at}; `haft doctor --mcp` asks it")),
        (Some(config), true) => {
            let clients = app.alone(config.clone());
            let looked = clients.look(&server.name, &Cancel::new()).await;
            clients.close().await;
            match looked {
                Ok(report) => {
                    let of = |key: &str| report.info.get(key).and_then(Value::as_str).unwrap_or("?");
                    let (who, version) = (of("name"), of("version"));
                    let tools = report.tools.len();
                    let detail = format!("{at}; it answers as {who} {version}, {tools} tools");
                    match report.problems.first() {
                        None => Finding::ok(name, detail),
                        Some(first) => {
                            Finding::warning(name, format!("{detail}; {}", first.text), first.fix.clone())
                        }
                    }
                }
                Err(failure) => {
                    let why = failure.text.lines().next().unwrap_or_default().to_owned();
                    Finding::warning(name, why, format!("`haft mcp test {}` shows what it says", server.name))
                }
            }
        }
    }
}

/// Where it is: its address, or the file of its program; the program where that isn't there.
fn located(app: &App, server: &Listed) -> Result<String, String> {
    let argv = match &server.setting.launch {
        // What stands behind the `?` of an address may be a key.
        McpLaunch::Url { url, .. } => {
            return Ok(format!("at {}", url.as_str().split(['?', '#']).next().unwrap_or_default()));
        }
        McpLaunch::Command { argv, .. } => argv,
    };
    let program = argv.first().map_or("", |word| word.as_str());
    let found = if program.contains('/') {
        let at = app.workspace.join(Path::new(program));
        host::is_executable(&at).then_some(at)
    } else {
        find(app, program)
    };
    found.map(|at| format!("{} is there", at.to_string_lossy())).ok_or_else(|| program.to_owned())
}
