//! `haft mcp`: servers whose tools are used here.

mod add;
mod approve;
mod test;

use super::{mcp_login, settings_file::SettingsFile};
use crate::{
    app::{
        App,
        mcp::{Listed, Standing},
    },
    print,
    status::Status,
    terminal::clean,
    trouble::Trouble,
};
use add::McpAddArgs;
use haft_runtime::settings::{McpChange, Scope};
use serde_json::{Value, json};

/// How much of one line is shown.
const LINE_MAX_CHARS: usize = 100;

/// `haft mcp`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with servers.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum McpCommand {
    /// The servers that are named, where, and whether they are used
    List,
    /// Name a server in the settings; without a flag in your own, for all workspaces
    #[command(override_usage = add::USAGE)]
    Add(McpAddArgs),
    /// Let a server that came with the workspace be started as it is
    Approve {
        /// Its name
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        name: Option<String>,
        /// All that wait for it, one after another
        #[arg(long)]
        all: bool,
    },
    /// Start a server, and show what it says and what it does that it shouldn't
    Test {
        /// Its name
        name: String,
    },
    /// Log in to a server over HTTP: a page to open, and tokens that are stored and renewed
    Login {
        /// Its name
        name: String,
        /// Also where it asks for none, or one is there
        #[arg(long)]
        again: bool,
    },
    /// Forget the tokens of a server
    Logout {
        /// Its name
        name: String,
    },
    /// Take a server out of the settings
    Remove {
        /// Its name
        name: String,
    },
}

/// Lists or changes.
///
/// # Errors
/// There is no such server, it can't be started, or a file can't be written.
pub(super) fn mcp(app: &App, args: &McpArgs) -> anyhow::Result<Status> {
    match args.command.as_ref().unwrap_or(&McpCommand::List) {
        McpCommand::List => list(app, args.json),
        McpCommand::Add(add) => add::add(app, add, args.json),
        McpCommand::Approve { name: Some(name), .. } => approve::one(app, name, args.json),
        McpCommand::Approve { name: None, .. } => approve::all(app, args.json),
        McpCommand::Test { name } => test::test(app, name, args.json),
        McpCommand::Login { name, again } => mcp_login::login(app, &usable(app, name)?, *again, args.json),
        McpCommand::Logout { name } => mcp_login::logout(&find(app, name)?, args.json),
        McpCommand::Remove { name } => remove(app, name, args.json),
    }
}

fn list(app: &App, json: bool) -> anyhow::Result<Status> {
    let (listed, mut problems) = app.mcp_servers();
    problems.extend(app.settings.mcp_problems.iter().cloned());
    let tools = app.tools()?;
    let snapshot = tools.catalogue.snapshot();
    let count = |name: &str| {
        let owner = format!("mcp:{name}");
        snapshot.offers().filter(|offer| *offer.owner == *owner).count()
    };
    if json {
        let rows: Vec<Value> = listed.iter().map(|server| object(server, count(&server.name))).collect();
        print::json(&json!({"servers": rows, "problems": problems}))?;
        return Ok(Status::Completed);
    }
    if listed.is_empty() {
        print::line(
            "no servers; name one with: haft mcp add NAME URL, or haft mcp add NAME -- PROGRAM ARGUMENTS",
        );
    } else {
        let mut rows = vec![["NAME", "STATE", "TOOLS", "REACHED BY", "FROM"].map(str::to_owned).to_vec()];
        rows.extend(listed.iter().map(|server| {
            let known = count(&server.name);
            vec![
                server.name.clone(),
                state(&server.standing).to_owned(),
                if known > 0 { known.to_string() } else { "-".to_owned() },
                print::one_line(&server.reached(), LINE_MAX_CHARS),
                server.setting.origin.to_string(),
            ]
        }));
        print::line(&clean(&print::table(&rows)));
    }
    for server in &listed {
        match &server.standing {
            Standing::Broken(why) => print::note(&format!("{}: {why}", server.name)),
            Standing::Unapproved(_) => {
                print::note(&format!("{} waits for: haft mcp approve {}", server.name, server.name));
            }
            Standing::InUse | Standing::Off | Standing::Own => {}
        }
    }
    for problem in &problems {
        print::note(&problem.to_string());
    }
    Ok(Status::Completed)
}

fn state(standing: &Standing) -> &'static str {
    match standing {
        Standing::InUse => "in use",
        Standing::Off => "off",
        Standing::Own => "haft itself",
        Standing::Unapproved(None) => "not approved",
        Standing::Unapproved(Some(_)) => "changed",
        Standing::Broken(_) => "broken",
    }
}

fn object(server: &Listed, tools: usize) -> Value {
    let parts: Vec<Value> =
        server.setting.parts().into_iter().map(|(name, text)| json!({"name": name, "text": text})).collect();
    let why = match &server.standing {
        Standing::Broken(why) | Standing::Unapproved(Some(why)) => Some(why.clone()),
        _ => None,
    };
    json!({
        "name": server.name,
        "state": state(&server.standing),
        "why": why,
        "knownTools": tools,
        "launch": parts,
        "origin": server.setting.origin,
    })
}

/// The server of that name.
fn find(app: &App, name: &str) -> anyhow::Result<Listed> {
    let (listed, _) = app.mcp_servers();
    let known: Vec<String> = listed.iter().map(|server| server.name.clone()).collect();
    listed.into_iter().find(|server| server.name == name).ok_or_else(|| {
        let known = if known.is_empty() { "none is named here".to_owned() } else { known.join(", ") };
        Trouble::usage(format!("there is no server \"{name}\""), format!("name one of these: {known}")).into()
    })
}

/// Why a server that is meant not to be used isn't.
fn unused(server: &Listed) -> Trouble {
    let name = &server.name;
    if server.standing == Standing::Own {
        let what = format!("the server \"{name}\" is haft itself, listed for other tools");
        return Trouble::usage(what, "nothing is to be done: its tools are here already");
    }
    let what = format!("the server \"{name}\" is switched off");
    Trouble::usage(what, "switch it on first, where it is written")
}

/// The server of that name, if it may be started.
fn usable(app: &App, name: &str) -> anyhow::Result<Listed> {
    let server = find(app, name)?;
    let (what, fix) = match &server.standing {
        Standing::InUse => return Ok(server),
        Standing::Off | Standing::Own => return Err(unused(&server).into()),
        Standing::Unapproved(_) => (
            format!("the server \"{name}\" came with the workspace and isn't approved"),
            format!("look at it with: haft mcp approve {name}"),
        ),
        Standing::Broken(why) => (
            format!("the server \"{name}\" can't be used: {why}"),
            "correct what is written of it".to_owned(),
        ),
    };
    Err(Trouble::usage(what, fix).into())
}

fn remove(app: &App, name: &str, json: bool) -> anyhow::Result<Status> {
    let server = find(app, name)?;
    let origin = &server.setting.origin;
    if server.setting.foreign {
        let what = format!("the server \"{name}\" is in {}, which haft doesn't change", origin.path);
        return Err(Trouble::usage(what, "take it out there yourself").into());
    }
    if matches!(origin.scope, Scope::Managed | Scope::Flags) {
        let what = format!("the server \"{name}\" is in {}, which isn't yours to change", origin.path);
        return Err(Trouble::usage(what, "ask your administrator").into());
    }
    let file = SettingsFile::of(app, origin.scope)?;
    let is_removed = file.change(&McpChange::Remove(name.to_owned()))?;
    let was_approved = app.trust.forget_server(name)?;
    if json {
        print::json(
            &json!({"name": name, "file": file.shown, "removed": is_removed, "approvalForgotten": was_approved}),
        )?;
    } else {
        print::line(&clean(&format!("{name} is taken out of {}", file.shown)));
    }
    Ok(Status::Completed)
}
