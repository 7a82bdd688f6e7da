//! `haft mcp approve`: lets a server that came with the workspace be started as it is.

use super::{find, unused};
use crate::{
    app::{
        App,
        mcp::{Listed, Standing},
    },
    print,
    status::Status,
    terminal::{clean, exact_line},
    trouble::Trouble,
};
use haft_runtime::settings::McpLaunch;
use serde_json::{Value, json};

/// What came of an approval.
struct Approval<'s> {
    name: &'s str,
    /// Whether it wasn't approved before, just as it is.
    is_new: bool,
}

impl Approval<'_> {
    fn object(&self) -> Value {
        json!({"name": self.name, "approved": true, "changed": self.is_new})
    }

    fn line(&self) -> String {
        let name = self.name;
        clean(&if self.is_new {
            format!(
                "{name} is approved: it is started when it is needed, and any change of how asks again. Each of its tools \
                 asks at its first use."
            )
        } else {
            format!("{name} is approved already, just as it is")
        })
    }
}

/// Approves one server.
///
/// # Errors
/// There is no such server, it needs no approval, the person doesn't agree, or that can't be remembered.
pub(super) fn one(app: &App, name: &str, json: bool) -> anyhow::Result<Status> {
    let server = find(app, name)?;
    let approval = approve(app, &server)?;
    if json {
        print::json(&approval.object())?;
    } else {
        print::line(&approval.line());
    }
    Ok(Status::Completed)
}

/// Approves all that wait, one after another, up to the first that isn't approved; those before it are.
///
/// # Errors
/// As [`one`].
pub(super) fn all(app: &App, json: bool) -> anyhow::Result<Status> {
    let (listed, _) = app.mcp_servers();
    let waiting: Vec<Listed> =
        listed.into_iter().filter(|server| matches!(server.standing, Standing::Unapproved(_))).collect();
    let (mut approved, mut refused) = (Vec::new(), None);
    for server in &waiting {
        match approve(app, server) {
            Ok(approval) => {
                if !json {
                    print::line(&approval.line());
                }
                approved.push(approval.object());
            }
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    if json {
        print::json(&json!({"approved": approved}))?;
    } else if waiting.is_empty() {
        print::line("no server waits for approval");
    }
    refused.map_or(Ok(Status::Completed), Err)
}

fn approve<'s>(app: &App, server: &'s Listed) -> anyhow::Result<Approval<'s>> {
    let name = server.name.as_str();
    let changed = match &server.standing {
        Standing::Unapproved(changed) => changed.as_deref(),
        _ if !server.setting.needs_approval() => {
            let what = format!("the server \"{name}\" is in your own settings, so it needs no approval");
            let fix = format!("it is used already; look at it with: haft mcp test {name}");
            return Err(Trouble::usage(what, fix).into());
        }
        Standing::Off | Standing::Own => return Err(unused(server).into()),
        Standing::InUse | Standing::Broken(_) => return Ok(Approval { name, is_new: false }),
    };
    print::note(&shown(server, changed));
    app.confirm("Let it be started like this?", &format!("{name} was not approved"))?;
    app.approve_server(name, &server.setting)?;
    Ok(Approval { name, is_new: true })
}

/// What would be let start, with what hides in it.
fn shown(server: &Listed, changed: Option<&str>) -> String {
    let mut lines = vec![format!("{} from {}", exact_line(&server.name), server.setting.origin)];
    if let Some(changed) = changed {
        lines.push(format!(
            "  changed since you approved it:\n    {}",
            exact_line(changed).replace("\\n", "\n    ")
        ));
    }
    for (name, text) in server.setting.parts() {
        lines.push(format!("  {}: {}", exact_line(&name), exact_line(&text)));
    }
    if let McpLaunch::Command { .. } = &server.setting.launch {
        let rights = if server.setting.sandbox.is_some() {
            "it runs in a sandbox of its own"
        } else {
            "it runs with all rights that you have"
        };
        lines.push(format!("  {rights}"));
    }
    lines.join("\n")
}
