//! `haft mcp test`: starts a server and shows what it says, and what it does that it shouldn't.

use super::usable;
use crate::{
    app::App,
    command::block_on,
    print,
    status::Status,
    terminal::{bad, clean, dim, good},
};
use haft_core::Cancel;
use haft_mcp::client::ServerReport;
use serde_json::{Value, json};

/// How many tools are listed by name.
const TOOLS_SHOWN: usize = 40;
/// How much is shown of a line that it wrote beside the protocol.
const LOG_LINE_MAX_CHARS: usize = 400;

/// Looks at a server.
///
/// # Errors
/// There is no such server, or it may not be started.
pub(super) fn test(app: &App, name: &str, json: bool) -> anyhow::Result<Status> {
    usable(app, name)?;
    let tools = app.tools()?;
    tools.servers().forget_era(name)?;
    let looked = block_on(async {
        let looked = tools.servers().look(name, &Cancel::new()).await;
        tools.servers().close().await;
        Ok(looked)
    })?;
    let problems: Vec<String> = tools
        .catalogue
        .problems()
        .into_iter()
        .filter(|problem| problem.source == format!("mcp:{name}"))
        .map(|problem| problem.to_string())
        .collect();
    match looked {
        Ok(report) => {
            if json {
                print::json(&json!({"works": true, "server": report, "problems": problems}))?;
            } else {
                tell(&report, &problems);
            }
            Ok(Status::Completed)
        }
        Err(failure) => {
            let (log, oddities) = tools.servers().log(name).unwrap_or_default();
            if json {
                let fault = json!({"kind": failure.kind, "text": failure.text});
                print::json(&json!({"works": false, "error": fault, "oddities": oddities, "log": log}))?;
            } else {
                print::line(&format!("{} {}", bad("fails"), clean(&failure.text)));
                for word in oddities.words() {
                    print::line(&format!("  {}", clean(&word)));
                }
                tail(&log);
            }
            Ok(Status::Failed)
        }
    }
}

/// What a look at a server came to.
fn tell(report: &ServerReport, problems: &[String]) {
    let named = |key: &str| report.info.get(key).and_then(Value::as_str).unwrap_or("?");
    print::line(&format!(
        "{} {}",
        good("works"),
        clean(&format!(
            "{}: {} {}, protocol {}, {} tools, ready in {}",
            report.name,
            named("name"),
            named("version"),
            report.protocol,
            report.tools.len(),
            print::time(report.took_ms),
        ))
    ));
    let can: Vec<&str> =
        report.capabilities.as_object().into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
    if !can.is_empty() {
        print::line(&format!("  can: {}", clean(&can.join(", "))));
    }
    for name in report.tools.iter().take(TOOLS_SHOWN) {
        print::line(&format!("  {name}"));
    }
    let further = report.tools.len().saturating_sub(TOOLS_SHOWN);
    if further > 0 {
        print::line(&format!("  and {further} more; `haft tools` lists all"));
    }
    for word in report.oddities.words() {
        print::line(&format!("  {} {}", bad("odd"), clean(&word)));
    }
    for problem in problems {
        print::line(&format!("  {}", clean(problem).replace('\n', "\n  ")));
    }
    tail(&report.log);
}

fn tail(log: &[String]) {
    if log.is_empty() {
        return;
    }
    print::line("what it wrote beside the protocol:");
    for line in log {
        print::line(&dim(&format!("  {}", print::one_line(line, LOG_LINE_MAX_CHARS))));
    }
}
