//! `haft trust`: marks the workspace as the user's own, with the extensions and hooks that it brings now.

use crate::{
    app::{App, Brought, ExtensionStanding, WORKSPACE_ROOTS, approved, is_source_file},
    print,
    status::Status,
    terminal::exact_line,
};
use haft_os::host;
use haft_runtime::hooks::{Endpoint, Handler, Hook};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many of the workspace's hooks are listed, and how much of each.
const HOOKS_MAX: usize = 50;
const HOOK_SHOWN_CHARS: usize = 200;
/// How much of a hash people compare.
const HASH_SHOWN_CHARS: usize = 12;
/// What lies in a folder of tools without being one.
const NO_TOOLS: [&str; 1] = ["node_modules"];

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
/// The trust file is damaged or can't be written; the tools can't be read.
pub(super) fn trust(app: &App, args: &TrustArgs) -> anyhow::Result<Status> {
    let trusted = !args.revoke;
    let files = files(app);
    let hooks = app.workspace_hooks();
    if !trusted {
        // Whatever else can't be read.
        app.trust.set_trusted(false)?;
    }
    let mut extensions = app.tools()?.brought();
    extensions.retain(|extension| extension.standing != ExtensionStanding::Own);
    if trusted {
        app.trust.trust(&approved_now(app, &hooks, &extensions))?;
    }
    if args.json {
        print::json(&json!({
            "workspace": app.place.workspace,
            "trusted": trusted,
            "file": app.trust.path(),
            "enables": files,
            "hooks": hooks.iter().map(shown).collect::<Vec<String>>(),
            "extensions": extensions.iter().map(as_json).collect::<Vec<Value>>(),
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
    if files.is_empty() && extensions.is_empty() {
        print::line("  (the workspace brings no settings, no tools and no extensions so far)");
    }
    for file in &files {
        print::line(&format!("  {}", exact_line(file)));
    }
    for extension in &extensions {
        for line in lines_of(extension) {
            print::line(&format!("  {line}"));
        }
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
        print::line(
            "Hooks and extensions count as they are now. Of those that change or come later, a hook isn't run, and an \
             extension only denies and asks, until you run this again; hooks of its manifest aren't run, and models aren't \
             told of its skills.",
        );
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
        Handler::Http(endpoint) => format!("{}sends to {}", given(endpoint), endpoint.url),
        Handler::Broken(why) => format!("can't be read: {why}"),
        Handler::Rust(_) => "runs inside".to_owned(),
        Handler::Held => "is held back".to_owned(),
    };
    let does = if hook.rewrite { format!("may change inputs, {does}") } else { does };
    let text: String = does.chars().take(HOOK_SHOWN_CHARS).collect();
    let text = exact_line(&text);
    let cut = if does.chars().count() > HOOK_SHOWN_CHARS { "…" } else { "" };
    let place = hook.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    format!("{} {text}{cut}{place}", hook.event)
}

/// Which secrets and variables of the user's an endpoint gets; before its address, which may be cut.
fn given(endpoint: &Endpoint) -> String {
    let all: Vec<String> = endpoint.headers.iter().map(|(_, credential)| credential.to_string()).collect();
    if all.is_empty() { String::new() } else { format!("gives {} and ", all.join(", ")) }
}

/// What the workspace brings.
fn files(app: &App) -> Vec<String> {
    let settings = [".haft/config.toml", ".haft/config.local.toml"].map(|at| app.workspace.join(at));
    let settings = settings.into_iter().filter(|path| host::is_file(path));
    let tools = WORKSPACE_ROOTS.map(|at| app.workspace.join(at));
    let tools = tools.into_iter().flat_map(|root| {
        let names = host::folder_names(&root).unwrap_or_default();
        let names =
            names.into_iter().filter(|name| !name.starts_with('.') && !NO_TOOLS.contains(&name.as_str()));
        names.map(move |name| root.join(name)).filter(|path| host::is_folder(path) || is_source_file(path))
    });
    settings.chain(tools).map(|path| path.to_string_lossy().into_owned()).collect()
}

/// What counts in full from now on, as it is now.
fn approved_now(app: &App, hooks: &[Hook], extensions: &[Brought]) -> BTreeSet<String> {
    let hooks = hooks.iter().map(|hook| approved::of_hook(hook, &app.workspace));
    let extensions = extensions.iter().filter(|extension| !extension.is_broken).filter_map(|extension| {
        Some(approved::of_extension(extension.folder.file_name(), extension.hash.as_deref()?))
    });
    hooks.chain(extensions).collect()
}

/// An extension with what it is let do, a line each.
fn lines_of(extension: &Brought) -> Vec<String> {
    let path = exact_line(&extension.folder.absolute());
    let state = match (&extension.hash, extension.is_broken) {
        (_, true) => " (it can't be used as it is, and isn't approved)".to_owned(),
        (Some(hash), false) => {
            format!(" ({})", hash.chars().take(HASH_SHOWN_CHARS).collect::<String>())
        }
        (None, false) => String::new(),
    };
    let listed = |what: &str, all: &[String]| {
        let all: Vec<String> = all.iter().map(|one| exact_line(one)).collect();
        (!all.is_empty()).then(|| format!("  {what}: {}", all.join(", ")))
    };
    let declared = extension.written_hooks.iter().take(HOOKS_MAX);
    let mut declared: Vec<String> =
        declared.map(|hook| format!("  hook of its manifest: {}", shown(hook))).collect();
    let further = extension.written_hooks.len().saturating_sub(HOOKS_MAX);
    if further > 0 {
        declared.push(format!("  and {further} more hooks of its manifest"));
    }
    let details = [
        listed("hooks", &extension.hooks),
        listed("skills, of which models are told", &extension.skills),
        listed("commands", &extension.commands),
        listed("tools of others", &extension.changes),
        listed("permissions", &extension.permissions),
    ];
    let first = std::iter::once(format!("{path}{state}"));
    first.chain(declared).chain(details.into_iter().flatten()).collect()
}

fn as_json(extension: &Brought) -> Value {
    let declared: Vec<String> = extension.written_hooks.iter().map(shown).collect();
    json!({
        "folder": extension.folder.absolute(),
        "hash": extension.hash,
        "approvable": !extension.is_broken,
        "hooks": extension.hooks,
        "manifestHooks": declared,
        "skills": extension.skills,
        "commands": extension.commands,
        "changes": extension.changes,
        "permissions": extension.permissions,
    })
}
