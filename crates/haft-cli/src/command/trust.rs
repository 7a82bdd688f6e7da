//! `haft trust`: marks the workspace as the user's own.

use crate::{app::App, cli::TrustArgs, print, status::Status};
use haft_os::host;
use serde_json::json;

/// Sets the mark, or takes it back.
///
/// # Errors
/// The trust file is damaged or can't be written.
pub(super) fn trust(app: &App, args: &TrustArgs) -> anyhow::Result<Status> {
    let trusted = !args.revoke;
    let files = files(app);
    app.trust.set_trusted(trusted)?;
    if args.json {
        print::json(&json!({
            "workspace": app.place.workspace,
            "trusted": trusted,
            "file": app.trust.path(),
            "enables": files,
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
    print::line(
        "of the settings: allow rules, mode, models, further folders and roots, variables for commands",
    );
    if trusted {
        print::line("Take it back with: haft trust --revoke");
    }
    Ok(Status::Completed)
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
