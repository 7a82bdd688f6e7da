//! `haft new`: a working tool to start from.

use crate::{
    app::App,
    cli::{Language, NewToolArgs},
    print,
    status::Status,
    trouble::Trouble,
};
use haft_core::{Clock, PathArg};
use haft_os::{OsFiles, SystemClock, host, host::Executable};
use haft_runtime::{
    settings::SavedGrant,
    source::command::{CommandRoot, Language as Template, load_folder, template},
};
use std::path::Path;

/// Writes a command folder.
///
/// # Errors
/// The name is none for a command folder, or something has it already.
pub(super) fn tool(app: &App, args: &NewToolArgs) -> anyhow::Result<Status> {
    let language = match args.lang {
        Language::Bash => Template::Bash,
        Language::Python => Template::Python,
        Language::Node => Template::Node,
    };
    let files = template(&args.name, language).map_err(|error| {
        Trouble::usage(error.to_string(), "for example: haft new tool word-stats --lang python")
    })?;
    if let Some(offer) = app.tools()?.catalogue.snapshot().get(&args.name) {
        let what = format!("there is a tool \"{}\" already, by {}", args.name, offer.owner);
        return Err(Trouble::usage(what, "choose another name").into());
    }
    let root = if args.user { app.home.tools.clone() } else { app.workspace.join(".haft/tools") };
    let folder = root.join(&args.name);
    if host::real_path(&folder).is_some() {
        let what = format!("{} exists already", folder.display());
        return Err(Trouble::usage(what, "choose another name, or remove the folder").into());
    }
    host::make_dirs(&folder)?;
    for file in &files {
        let executable = if file.executable { Executable::Yes } else { Executable::No };
        host::write_new_file(&folder.join(file.path), file.content.as_bytes(), executable)?;
    }
    if !args.user && !app.place.trusted {
        vouch(app, &root, &args.name)?;
    }
    print::line(&format!("made {}", folder.display()));
    for file in &files {
        print::line(&format!("  {}", file.path));
    }
    print::line("next:");
    print::line(&format!("  haft test {}", args.name));
    print::line(&format!("  haft call {} '{{\"text\":\"a b\"}}'", args.name));
    print::line(&format!("  haft check {}", args.name));
    if !args.user && !app.place.trusted {
        print::line(
            "Once you change it, its calls ask: this workspace isn't trusted. `haft trust` marks it as your own.",
        );
    }
    Ok(Status::Completed)
}

/// What the user has just had made is the user's, as long as it stays what it is.
fn vouch(app: &App, root: &Path, name: &str) -> anyhow::Result<()> {
    let files = OsFiles::new(&app.workspace, &[], &app.home.state)?;
    let real = haft_core::Files::resolve(&files, &PathArg(root.to_string_lossy().into_owned()))?;
    let (tool, _) = load_folder(&files, &CommandRoot::new(real, ".haft/tools"), name);
    if let Some(tool) = tool {
        app.trust.add_grant(&SavedGrant::new(name, Some(tool.hash().clone()), SystemClock.now()))?;
    }
    Ok(())
}
