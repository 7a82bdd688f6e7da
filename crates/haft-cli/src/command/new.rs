//! `haft new`: a working tool to start from.

use crate::{
    app::App,
    cli::{Language, NewToolArgs},
    print,
    status::Status,
    trouble::Trouble,
};
use haft_os::{SystemClock, host, host::Executable};
use haft_runtime::{
    Pins,
    settings::TrustPins,
    source::command::{Language as Template, template},
};
use std::sync::Arc;

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
    pin(app, &args.name)?;
    print::line(&format!("made {}", folder.display()));
    for file in &files {
        print::line(&format!("  {}", file.path));
    }
    print::line("next:");
    print::line(&format!("  haft test {}", args.name));
    print::line(&format!("  haft call {} '{{\"text\":\"a b\"}}'", args.name));
    print::line(&format!("  haft check {}", args.name));
    print::line("Once you change it, its next call asks and shows what changed.");
    Ok(Status::Completed)
}

/// What the user has just had made is known, as long as it stays what it is.
fn pin(app: &App, name: &str) -> anyhow::Result<()> {
    let snapshot = app.tools()?.catalogue.snapshot();
    if let Some(offer) = snapshot.get(name)
        && let Err(failure) = TrustPins::new(app.trust.clone(), Arc::new(SystemClock)).keep(offer)
    {
        print::note(&format!("its first use will ask, since it can't be remembered: {failure}"));
    }
    Ok(())
}
