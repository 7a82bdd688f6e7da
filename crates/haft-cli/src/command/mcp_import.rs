//! `haft import mcp`: servers that other tools were set up with, shown before anything is written.
//!
//! Keeps the invariant "what came with a workspace stays there, and waits to be approved".

mod off;

use super::settings_file::SettingsFile;
use crate::{app::App, print, status::Status, terminal::clean, trouble::Trouble};
use haft_os::host;
use haft_runtime::settings::{
    McpChange, McpEntry, McpLaunch, McpSetting, Scope, ServerListForm, SettingsSource, is_secret_header,
    server_list,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// More than that is no file with a list of servers.
const FILE_MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Where other tools keep their lists in a home folder.
const IN_HOME: [(&str, &str, ServerListForm); 7] = [
    ("Claude Code", ".claude.json", ServerListForm::Json),
    ("Codex", ".codex/config.toml", ServerListForm::Toml),
    ("opencode", ".config/opencode/opencode.json", ServerListForm::Json),
    ("Cursor", ".cursor/mcp.json", ServerListForm::Json),
    ("VS Code", ".config/Code/User/mcp.json", ServerListForm::Json),
    ("Gemini", ".gemini/settings.json", ServerListForm::Json),
    ("Claude Desktop", ".config/Claude/claude_desktop_config.json", ServerListForm::Json),
];
/// Where they keep them in a workspace. haft reads `.mcp.json` itself; what is off there is found apart.
const IN_WORKSPACE: [(&str, &str, ServerListForm); 5] = [
    ("Codex", ".codex/config.toml", ServerListForm::Toml),
    ("opencode", "opencode.json", ServerListForm::Json),
    ("Cursor", ".cursor/mcp.json", ServerListForm::Json),
    ("VS Code", ".vscode/mcp.json", ServerListForm::Json),
    ("Gemini", ".gemini/settings.json", ServerListForm::Json),
];

/// The flags of the command.
pub(super) struct ImportFlags {
    /// Write it.
    pub(super) write: bool,
    /// What to read in place of the usual files.
    pub(super) from: Option<PathBuf>,
    /// Print JSON.
    pub(super) json: bool,
}

/// A server that was found.
struct Found {
    tool: &'static str,
    name: String,
    setting: McpSetting,
    /// Names of variables whose values stand in the list, and have no place in settings.
    written_out: Vec<String>,
    /// Which settings it goes to.
    scope: Scope,
    fate: Fate,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is taken over.
    New,
    /// One of that name is there already.
    Known,
}

/// Shows what the lists come to, and writes it where asked.
///
/// # Errors
/// A file can't be read or written.
pub(super) fn import(app: &App, flags: &ImportFlags) -> anyhow::Result<Status> {
    let mut problems = Vec::new();
    let files =
        Files { own: SettingsFile::of(app, Scope::User)?, here: SettingsFile::of(app, Scope::Local)? };
    let mut finds = Finds { app, files: &files, found: Vec::new() };
    for ListAt { tool, path, form, scope } in lists(app, flags.from.as_deref()) {
        let Some(bytes) = host::read_file(&path, FILE_MAX_BYTES)? else {
            if flags.from.is_some() {
                let what = format!("there is no file {}", path.display());
                return Err(Trouble::usage(what, "name a list of servers with --from FILE").into());
            }
            continue;
        };
        let Ok(text) = String::from_utf8(bytes) else {
            problems.push(format!("{}: it isn't UTF-8", path.display()));
            continue;
        };
        let source = SettingsSource::new(scope, path.to_string_lossy(), text);
        let list = server_list(&source, form, &app.place);
        problems.extend(list.problems.iter().map(ToString::to_string));
        for (name, setting) in list.servers {
            finds.take((tool, scope), name, setting)?;
        }
    }
    if flags.from.is_none() {
        for (name, setting) in off::servers(app, &mut problems)? {
            finds.take(("Claude Code", Scope::Local), name, setting)?;
        }
    }
    let found = finds.found;
    if flags.write {
        for one in found.iter().filter(|one| one.fate == Fate::New) {
            let entry = McpEntry { name: one.name.clone(), setting: one.setting.clone() };
            files.of(one.scope).change(&McpChange::Add(Box::new(entry)))?;
        }
    }
    if flags.json {
        let servers: Vec<Value> = found.iter().map(|one| object(one, &files)).collect();
        print::json(
            &json!({"written": flags.write, "file": files.own.shown, "servers": servers, "problems": problems}),
        )?;
        return Ok(Status::Completed);
    }
    tell(&found, &problems, &files, flags.write);
    Ok(Status::Completed)
}

/// What was found so far.
struct Finds<'a> {
    app: &'a App,
    files: &'a Files,
    found: Vec<Found>,
}

impl Finds<'_> {
    /// Takes one in, found at a tool for the settings of a scope.
    fn take(
        &mut self,
        (tool, scope): (&'static str, Scope),
        name: String,
        setting: McpSetting,
    ) -> anyhow::Result<()> {
        // Also one that can't be used as it is written there.
        let is_known = self.app.settings.mcp.contains_key(&name)
            || self.found.iter().any(|one| one.name == name)
            || self.files.of(scope).server(&name)?.is_some();
        let fate = if is_known { Fate::Known } else { Fate::New };
        let written_out = written_out(&setting);
        self.found.push(Found { tool, name, setting, written_out, scope, fate });
        Ok(())
    }
}

/// The settings that servers go to.
struct Files {
    /// The user's, for all workspaces.
    own: SettingsFile,
    /// The user's for this workspace.
    here: SettingsFile,
}

impl Files {
    fn of(&self, scope: Scope) -> &SettingsFile {
        if scope.is_in_workspace() { &self.here } else { &self.own }
    }
}

/// A list, and which settings its servers go to.
struct ListAt {
    tool: &'static str,
    path: PathBuf,
    form: ServerListForm,
    scope: Scope,
}

/// The lists to read: what was asked for, else where other tools keep theirs. What lies in the workspace may be anybody's.
fn lists(app: &App, from: Option<&Path>) -> Vec<ListAt> {
    if let Some(from) = from {
        let is_toml = from.extension().is_some_and(|ending| ending == "toml");
        let form = if is_toml { ServerListForm::Toml } else { ServerListForm::Json };
        let is_here = host::real_path(from).is_some_and(|path| path.starts_with(&app.workspace));
        let scope = if is_here { Scope::Local } else { Scope::User };
        return vec![ListAt { tool: "the list", path: from.to_owned(), form, scope }];
    }
    let here = IN_WORKSPACE.into_iter().map(|(tool, at, form)| ListAt {
        tool,
        path: app.workspace.join(at),
        form,
        scope: Scope::Local,
    });
    let home = app.place.home.iter().flat_map(|home| {
        IN_HOME.into_iter().map(move |(tool, at, form)| ListAt {
            tool,
            path: Path::new(home).join(at),
            form,
            scope: Scope::User,
        })
    });
    here.chain(home).collect()
}

/// Variables whose values are written out, and headers with secrets that are.
fn written_out(setting: &McpSetting) -> Vec<String> {
    let (named, is_command) = match &setting.launch {
        McpLaunch::Command { env, .. } => (env, true),
        McpLaunch::Url { headers, .. } => (headers, false),
    };
    let plain = named.iter().filter(|(name, value)| {
        if is_command { value.reference().is_none() } else { value.is_plain() && is_secret_header(name) }
    });
    plain.map(|(name, _)| name.clone()).collect()
}

fn object(found: &Found, files: &Files) -> Value {
    let parts: Vec<Value> =
        shown_parts(found).into_iter().map(|(name, text)| json!({"name": name, "text": text})).collect();
    json!({
        "to": files.of(found.scope).shown,
        "name": found.name,
        "tool": found.tool,
        "from": found.setting.origin,
        "launch": parts,
        "enabled": found.setting.enabled,
        "new": found.fate == Fate::New,
        "setYourself": found.written_out,
    })
}

/// How it is reached; values that are written out aren't shown.
fn shown_parts(found: &Found) -> Vec<(String, String)> {
    let setting = &found.setting;
    let mut parts = setting.parts();
    if !setting.enabled {
        parts.push(("state".to_owned(), "switched off".to_owned()));
    }
    parts.extend(setting.only.iter().map(|only| ("only the tools".to_owned(), only.join(", "))));
    let off = setting.tools.iter().filter(|(_, tool)| tool.enabled == Some(false));
    parts.extend(off.map(|(tool, _)| ("without the tool".to_owned(), tool.clone())));
    for (name, text) in &mut parts {
        let is_value = name
            .strip_prefix("variable ")
            .or_else(|| name.strip_prefix("header "))
            .is_some_and(|name| found.written_out.iter().any(|out| out == name));
        if is_value {
            "(written out there)".clone_into(text);
        }
    }
    parts
}

fn tell(found: &[Found], problems: &[String], files: &Files, is_written: bool) {
    if found.is_empty() {
        print::line("nothing to import: no other tool's list of servers was found here or in your home");
    }
    for one in found {
        let file = &files.of(one.scope).shown;
        let fate = match one.fate {
            Fate::New if is_written => format!("written to {file}"),
            Fate::New => format!("new, for {file}"),
            Fate::Known => "there already, passed over".to_owned(),
        };
        print::line(&clean(&format!("{} ({}, {}): {fate}", one.name, one.tool, one.setting.origin)));
        for (name, text) in shown_parts(one) {
            print::line(&format!("  {}", clean(&format!("{name}: {text}"))));
        }
        if !one.written_out.is_empty() && one.fate == Fate::New {
            let names = one.written_out.join(", ");
            print::line(&clean(&format!(
                "  ! values have no place in settings: set {names} in your environment, then name it in `env` or `headers`"
            )));
        }
    }
    for problem in problems {
        print::note(problem);
    }
    let mut new = found.iter().filter(|one| one.fate == Fate::New).peekable();
    if new.peek().is_none() {
        return;
    }
    if !is_written {
        print::line("nothing was written; this writes it: haft import mcp --write");
        return;
    }
    print::line("look at them with: haft mcp list");
    if new.any(|one| one.scope.is_in_workspace() && one.setting.enabled) {
        print::line("those that came with the workspace wait for: haft mcp approve NAME");
    }
}
