//! `haft mcp add`: a server written into the settings, with secrets named and never written out.

use crate::{
    app::App, cli::RulePlace, command::settings_file::SettingsFile, print, status::Status, terminal::clean,
    trouble::Trouble,
};
use haft_core::{Credential, WebUrl};
use haft_runtime::settings::{
    McpChange, McpEntry, McpLaunch, McpSetting, Origin, Scope, Template, is_secret_header,
};
use serde_json::{Value, json};

/// How the command is written.
pub(super) const USAGE: &str =
    "haft mcp add [FLAGS] NAME URL\n       haft mcp add [FLAGS] NAME -- PROGRAM [ARGUMENT]...";
const HEADER_HELP: &str =
    "A header that is sent to it, with secrets named: \"Authorization: Bearer ${GITHUB_TOKEN}\"";
const PREFIX_HELP: &str = "What stands before the names of its tools [default: mcp__NAME__]";
/// How long a name may be that is written here; one that stands in a file may be longer.
const NAME_MAX_CHARS: usize = 40;

/// `haft mcp add`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct McpAddArgs {
    /// What to call it: it stands in the names of its tools
    pub(crate) name: String,
    /// Its address, or the program that it is with its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "URL|PROGRAM")]
    pub(crate) words: Vec<String>,
    /// An environment variable that it gets; NAME=OTHER gives it under another name
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    #[arg(long, value_name = "NAME: VALUE", help = HEADER_HELP)]
    pub(crate) header: Vec<String>,
    /// The folder that it starts in [default: the workspace's root]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// It only speaks the older form of HTTP, with a stream and a second address
    #[arg(long)]
    pub(crate) sse: bool,
    #[arg(long, value_name = "TEXT", help = PREFIX_HELP)]
    pub(crate) prefix: Option<String>,
    /// Start it with the session, not with the first call
    #[arg(long)]
    pub(crate) eager: bool,
    /// Put it in place of a server of that name; all that is written of that one is lost
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) place: RulePlace,
}

/// Names a server.
///
/// # Errors
/// What is said of it doesn't fit together; another has its place; the file can't be read or written.
pub(super) fn add(app: &App, args: &McpAddArgs, json: bool) -> anyhow::Result<Status> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if args.name.is_empty() || args.name.len() > NAME_MAX_CHARS || !args.name.chars().all(is_plain) {
        let what = format!("\"{}\" is no name for a server", args.name);
        let fix = format!("use up to {NAME_MAX_CHARS} letters, digits, hyphens, underscores, dots");
        return Err(Trouble::usage(what, fix).into());
    }
    let file = SettingsFile::of(app, scope(args.place))?;
    let origin = Origin { scope: scope(args.place), path: file.shown.clone(), line: 1 };
    let mut setting = McpSetting::new(launch(app, args)?, origin);
    setting.prefix.clone_from(&args.prefix);
    setting.eager = args.eager;
    let parts = setting.parts();
    let needs_approval = setting.needs_approval();
    let entry = Box::new(McpEntry { name: args.name.clone(), setting });
    let lost = if args.replace { file.server(&args.name)? } else { None };
    let is_new = file.change(&if args.replace { McpChange::Put(entry) } else { McpChange::Add(entry) })?;
    let lost = lost.filter(|_| is_new);
    if json {
        let parts: Vec<Value> =
            parts.iter().map(|(name, text)| json!({"name": name, "text": text})).collect();
        print::json(&json!({
            "name": args.name, "file": file.shown, "changed": is_new, "launch": parts, "replaced": lost,
        }))?;
        return Ok(Status::Completed);
    }
    let word = if is_new { "written to" } else { "was already in" };
    print::line(&clean(&format!("{} {word} {}:", args.name, file.shown)));
    for (name, text) in &parts {
        print::line(&format!("  {}", clean(&format!("{name}: {text}"))));
    }
    if let Some(lost) = lost {
        print::line(&clean(&format!("in place of one with {lost}")));
    }
    let next = if needs_approval { "approve" } else { "test" };
    print::line(&clean(&format!("next: haft mcp {next} {}", args.name)));
    Ok(Status::Completed)
}

/// The scope that the flags name.
fn scope(place: RulePlace) -> Scope {
    match place {
        RulePlace { project: true, .. } => Scope::Workspace,
        RulePlace { local: true, .. } => Scope::Local,
        _ => Scope::User,
    }
}

fn launch(app: &App, args: &McpAddArgs) -> anyhow::Result<McpLaunch> {
    let scheme = args.words.first().and_then(|word| scheme(word));
    let is_web =
        scheme.is_some_and(|scheme| ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)));
    if let [url] = args.words.as_slice()
        && is_web
    {
        WebUrl::parse(url)?;
        if !args.env.is_empty() || args.cwd.is_some() {
            let what = "a server at an address gets no variables and no folder";
            return Err(Trouble::usage(what, "leave --env and --cwd out").into());
        }
        let headers = args.header.iter().map(|header| self::header(header)).collect::<Result<_, _>>()?;
        return Ok(McpLaunch::Url { url: Template::new(url.as_str()), headers, older: args.sse });
    }
    // Never shown whole: there may be a password in it.
    if let Some(scheme) = scheme {
        let what = if is_web {
            "a server at an address takes no arguments".to_owned()
        } else {
            format!("a server can't be reached by {scheme}://")
        };
        return Err(Trouble::usage(what, "write one address that begins with https://, or a program").into());
    }
    if !args.header.is_empty() || args.sse {
        let what = "--header and --sse are for a server at an address";
        return Err(Trouble::usage(what, "give its URL in place of a program").into());
    }
    let env = args.env.iter().map(|name| variable(name)).collect::<Result<_, _>>()?;
    let folder = args
        .cwd
        .as_ref()
        .map(|folder| app.place.placed(folder))
        .transpose()
        .map_err(|why| Trouble::usage(why, "write an absolute path, or set HOME"))?;
    let argv = args.words.iter().map(|word| Template::new(word.as_str())).collect();
    Ok(McpLaunch::Command { argv, folder, env })
}

/// What stands before the `://` of an address.
fn scheme(word: &str) -> Option<&str> {
    let (scheme, _) = word.split_once("://")?;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(is_letter)).then_some(scheme)
}

/// `NAME`, `NAME=OTHER`, or `NAME=secret:STORED`.
fn variable(text: &str) -> Result<(String, Template), Trouble> {
    let (name, from) = text.split_once('=').unwrap_or((text, text));
    // What isn't a name may be a secret, and isn't shown.
    let what = match (Credential::variable(name), Credential::parse_or_variable(from)) {
        (Ok(_), Ok(from)) => return Ok((name.to_owned(), Template::of(&from))),
        (Ok(_), Err(_)) => {
            format!("--env takes names of variables, and what it was given for {name} is none")
        }
        (Err(_), _) => "--env takes names of variables, and what it was given is none".to_owned(),
    };
    let fix = "set the variable in your environment and name it: --env GITHUB_TOKEN, --env TOKEN=GITHUB_TOKEN; or store the value \
               and name that: --env TOKEN=secret:github";
    Err(Trouble::usage(what, fix))
}

fn header(text: &str) -> Result<(String, Template), Trouble> {
    let example =
        "write --header 'Authorization: Bearer ${GITHUB_TOKEN}', or ${secret:NAME} for a stored one";
    let Some((name, value)) = text.split_once(':') else {
        return Err(Trouble::usage("a header has a name, a colon and a value", example));
    };
    let (name, value) = (name.trim(), Template::of_reference(value.trim()));
    if value.is_plain() && is_secret_header(name) {
        let what =
            format!("the value of {name} is written out, and a secret doesn't belong into a settings file");
        return Err(Trouble::usage(what, example));
    }
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{Cli, Command},
        command::mcp::McpCommand,
    };
    use clap::Parser as _;

    #[test]
    fn variables_are_named_and_their_values_refused_unseen() {
        assert_eq!(variable("A").unwrap().1.as_str(), "${A}");
        let (name, from) = variable("A=B").unwrap();
        assert_eq!((name.as_str(), from.as_str()), ("A", "${B}"));
        assert_eq!(variable("A=secret:b").unwrap().1.as_str(), "${secret:b}");
        for wrong in ["", "1A", "A=sk-secret", "sk-secret", "A B"] {
            let said = variable(wrong).unwrap_err();
            assert!(!said.what.contains("sk-secret"), "{}", said.what);
        }
    }

    #[test]
    fn a_secret_header_is_named_and_not_written_out() {
        assert!(header("Authorization: Bearer abc").is_err() && header("nothing").is_err());
        let (name, value) = header("Authorization: Bearer ${T}").unwrap();
        assert_eq!((name.as_str(), value.as_str()), ("Authorization", "Bearer ${T}"));
        assert!(header("X-Region: eu").is_ok());
    }

    #[test]
    fn what_follows_a_servers_name_is_its_own() {
        let parsed = |words: &[&str]| {
            let Some(Command::Mcp(args)) = Cli::try_parse_from(words).unwrap().command else {
                panic!("no mcp")
            };
            let Some(McpCommand::Add(add)) = args.command else { panic!("no add") };
            (add.name, add.words, add.env, args.json)
        };
        let (name, words, env, json) = parsed(&[
            "haft", "mcp", "add", "--json", "--env", "TOKEN", "files", "--", "npx", "-y", "files", "--json",
            ".",
        ]);
        assert_eq!((name.as_str(), json), ("files", true));
        assert_eq!(words, ["npx", "-y", "files", "--json", "."]);
        assert_eq!(env, ["TOKEN"]);
        let (_, words, ..) = parsed(&["haft", "mcp", "add", "x", "https://x.example/mcp"]);
        assert_eq!(words, ["https://x.example/mcp"]);
    }
}
