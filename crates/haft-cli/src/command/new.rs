//! `haft new`: a working tool to start from.

use crate::{app::App, print, status::Status, trouble::Trouble};
use haft_os::{SystemClock, host, host::Executable};
use haft_runtime::{
    Pins,
    settings::TrustPins,
    source::command::{
        Language as Template, TemplateError, TemplateFile, extension_template, template, typescript_template,
    },
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The input of the examples of templates.
const TEMPLATE_INPUT: &str = r#"{"text":"a b"}"#;

/// `haft new`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NewArgs {
    #[command(subcommand)]
    pub(crate) what: NewCommand,
}

/// What to start.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum NewCommand {
    /// A tool with a working example
    Tool(NewToolArgs),
    /// An extension with a working tool
    Extension(NewExtensionArgs),
}

/// `haft new tool`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NewToolArgs {
    /// Its name: small letters, digits and single hyphens
    pub(crate) name: String,
    /// The language it is written in
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// For all your workspaces, not just this one
    #[arg(long)]
    pub(crate) user: bool,
}

/// `haft new extension`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NewExtensionArgs {
    /// Its name: small letters, digits and single hyphens
    pub(crate) name: String,
    /// For all your workspaces, not just this one
    #[arg(long)]
    pub(crate) user: bool,
}

/// Languages that `haft new tool` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// bash
    Bash,
    /// Python 3
    Python,
    /// Node.js
    Node,
    /// TypeScript in haft's own engine; needs no Node
    Typescript,
}

/// Writes a command folder, or a module.
///
/// # Errors
/// The name is none for a command folder, or something has it already.
pub(super) fn tool(app: &App, args: &NewToolArgs) -> anyhow::Result<Status> {
    let misnamed = |error: TemplateError| {
        Trouble::usage(error.to_string(), "for example: haft new tool word-stats --lang python")
    };
    let language = match args.lang {
        Language::Bash => Template::Bash,
        Language::Python => Template::Python,
        Language::Node => Template::Node,
        Language::Typescript => {
            let text = typescript_template(&args.name).map_err(misnamed)?;
            return module(app, args, &text, Some(TEMPLATE_INPUT));
        }
    };
    let files = template(&args.name, language).map_err(misnamed)?;
    let root = root(app, args)?;
    let folder = root.join(&args.name);
    refuse_existing(&folder)?;
    host::make_dirs(&folder)?;
    for file in &files {
        let executable = if file.executable { Executable::Yes } else { Executable::No };
        host::write_new_file(&folder.join(file.path), file.content.as_bytes(), executable)?;
    }
    tell(app, &args.name, (&folder, &files), Some(TEMPLATE_INPUT))
}

/// Writes a module, whose examples have that input; none where it has no examples and needs no input.
///
/// # Errors
/// As [`tool`].
pub(super) fn module(
    app: &App,
    args: &NewToolArgs,
    text: &str,
    example: Option<&str>,
) -> anyhow::Result<Status> {
    let root = root(app, args)?;
    let file = root.join(format!("{}.ts", args.name));
    refuse_existing(&file)?;
    refuse_existing(&root.join(&args.name))?;
    host::make_dirs(&root)?;
    host::write_new_file(&file, text.as_bytes(), Executable::No)?;
    tell(app, &args.name, (&file, &[]), example)
}

/// Writes an extension.
///
/// # Errors
/// As [`tool`].
pub(super) fn extension(app: &App, args: &NewExtensionArgs) -> anyhow::Result<Status> {
    let files = extension_template(&args.name)
        .map_err(|error| Trouble::usage(error.to_string(), "for example: haft new extension my-pack"))?;
    refuse_taken(app, &args.name)?;
    let root = if args.user { app.home.extensions.clone() } else { app.workspace.join(".haft/extensions") };
    let folder = root.join(&args.name);
    refuse_existing(&folder)?;
    host::make_dirs(&folder)?;
    for file in &files {
        host::write_new_file(&folder.join(file.path), file.content.as_bytes(), Executable::No)?;
    }
    tell(app, &args.name, (&folder, &files), Some(TEMPLATE_INPUT))
}

/// Where the new tool goes.
///
/// # Errors
/// There is a tool of that name.
fn root(app: &App, args: &NewToolArgs) -> anyhow::Result<PathBuf> {
    refuse_taken(app, &args.name)?;
    Ok(if args.user { app.home.tools.clone() } else { app.workspace.join(".haft/tools") })
}

fn refuse_taken(app: &App, name: &str) -> anyhow::Result<()> {
    if let Some(offer) = app.tools()?.catalogue.snapshot().get(name) {
        let what = format!("there is a tool \"{name}\" already, by {}", offer.owner);
        return Err(Trouble::usage(what, "choose another name").into());
    }
    Ok(())
}

fn refuse_existing(path: &Path) -> Result<(), Trouble> {
    if host::real_path(path).is_none() {
        return Ok(());
    }
    Err(Trouble::usage(format!("{} exists already", path.display()), "choose another name, or remove it"))
}

/// Lets the new tool be known, and says what comes next.
fn tell(
    app: &App,
    name: &str,
    (made, files): (&Path, &[TemplateFile]),
    example: Option<&str>,
) -> anyhow::Result<Status> {
    pin(app, name)?;
    print::line(&format!("made {}", made.display()));
    for file in files {
        print::line(&format!("  {}", file.path));
    }
    print::line("next:");
    if example.is_some() {
        print::line(&format!("  haft test {name}"));
    }
    print::line(&format!("  haft call {name} '{}'", example.unwrap_or("{}")));
    print::line(&format!("  haft check {name}"));
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
