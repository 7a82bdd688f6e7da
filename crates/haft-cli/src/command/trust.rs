//! `haft trust`: marks the workspace as the user's own.

use crate::{app::App, print, status::Status, terminal::exact_line};
use haft_os::host;
use haft_runtime::hooks::{Handler, Hook};
use serde_json::json;

/// How many of the workspace's hooks are listed, and how much of each.
const HOOKS_MAX: usize = 50;
const HOOK_SHOWN_CHARS: usize = 200;

/// `haft trust`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TrustArgs {
    /// Take it back
    #[arg(long)]
    pub(crate) revoke: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Sets the mark, or takes it back.
///
/// # Errors
/// The trust file is damaged or can't be written.
pub(super) fn trust(app: &App, args: &TrustArgs) -> anyhow::Result<Status> {
    let trusted = !args.revoke;
    let files = files(app);
    let hooks = app.workspace_hooks();
    app.trust.set_trusted(trusted)?;
    if args.json {
        print::json(&json!({
            "workspace": app.place.workspace,
            "trusted": trusted,
            "file": app.trust.path(),
            "enables": files,
            "hooks": hooks.iter().map(shown).collect::<Vec<String>>(),
        }))?;
        return Ok(Status::Completed);
    }
    let workspace = &app.place.workspace;
    if trusted {
        print::line(&format!("{workspace} is trusted from now on. This counts now, not only what tightens:"));
    } else {
        print::line(&format!(
            "{workspace} is no longer trusted. Only its deny and ask rules count; this doesn't:"
        ));
    }
    if files.is_empty() {
        print::line("  (the workspace brings no settings and no tools so far)");
    }
    for file in &files {
        print::line(&format!("  {file}"));
    }
    print::line(COUNTS);
    if !hooks.is_empty() {
        print::line("hooks of the workspace, each of which runs a program or sends what it hears:");
    }
    for hook in hooks.iter().take(HOOKS_MAX) {
        print::line(&format!("  {}", shown(hook)));
    }
    let further = hooks.len().saturating_sub(HOOKS_MAX);
    if further > 0 {
        print::line(&format!("  and {further} more"));
    }
    if trusted {
        print::line("Take it back with: haft trust --revoke");
    }
    Ok(Status::Completed)
}

/// What of a workspace's settings counts only in a trusted one.
const COUNTS: &str = "of the settings: allow rules, mode, hooks, less care in [taint], which tools there are, their \
    exposure and timeouts, private addresses and headers for fetch, models, further folders and roots, variables for \
    commands";

/// A hook on one line, with what hides in it.
fn shown(hook: &Hook) -> String {
    let does = match &hook.handler {
        Handler::Command(line) => format!("runs {line}"),
        Handler::Http(endpoint) => format!("sends to {}", endpoint.url),
        Handler::Broken(why) => format!("can't be read: {why}"),
        Handler::Rust(_) => "runs inside".to_owned(),
    };
    let text: String = does.chars().take(HOOK_SHOWN_CHARS).collect();
    let text = exact_line(&text);
    let cut = if does.chars().count() > HOOK_SHOWN_CHARS { "…" } else { "" };
    let place = hook.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    format!("{} {text}{cut}{place}", hook.event)
}

/// What the workspace brings.
fn files(app: &App) -> Vec<String> {
    let settings = [".haft/config.toml", ".haft/config.local.toml"].map(|at| app.workspace.join(at));
    let settings = settings.into_iter().filter(|path| host::is_file(path));
    let tools = [".haft/tools", ".pequenin/tools"].map(|at| app.workspace.join(at));
    let tools = tools.into_iter().flat_map(|root| {
        let names = host::folder_names(&root).unwrap_or_default();
        names.into_iter().map(move |name| root.join(name)).filter(|folder| host::is_folder(folder))
    });
    settings.chain(tools).map(|path| path.to_string_lossy().into_owned()).collect()
}
