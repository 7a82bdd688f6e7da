//! `haft mcp`: servers whose tools are used here.

use super::{block_on, mcp_login, settings_file::SettingsFile};
use crate::{
    app::{
        App,
        mcp::{Listed, Standing},
    },
    cli::{McpAddArgs, McpArgs, McpCommand, RulePlace},
    print,
    status::Status,
    terminal::{bad, clean, dim, exact_line, good},
    trouble::Trouble,
};
use haft_core::{Cancel, Credential};
use haft_mcp::client::ServerReport;
use haft_runtime::settings::{
    McpChange, McpEntry, McpLaunch, McpSetting, Origin, Scope, Template, is_secret_header,
};
use serde_json::{Value, json};

/// How much of one line is shown.
const LINE_MAX_CHARS: usize = 100;
/// How many tools are listed by name.
const TOOLS_SHOWN: usize = 40;

/// Lists or changes.
///
/// # Errors
/// There is no such server, it can't be started, or a file can't be written.
pub(super) fn mcp(app: &App, args: &McpArgs) -> anyhow::Result<Status> {
    match args.command.as_ref().unwrap_or(&McpCommand::List) {
        McpCommand::List => list(app, args.json),
        McpCommand::Add(add) => self::add(app, add, args.json),
        McpCommand::Approve { name: Some(name), .. } => approve_one(app, name, args.json),
        McpCommand::Approve { name: None, .. } => approve_all(app, args.json),
        McpCommand::Test { name } => test(app, name, args.json),
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

/// The scope that the flags name.
fn scope(place: RulePlace) -> Scope {
    match place {
        RulePlace { project: true, .. } => Scope::Workspace,
        RulePlace { local: true, .. } => Scope::Local,
        _ => Scope::User,
    }
}

fn add(app: &App, args: &McpAddArgs, json: bool) -> anyhow::Result<Status> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if args.name.is_empty() || args.name.len() > 40 || !args.name.chars().all(is_plain) {
        let what = format!("\"{}\" is no name for a server", args.name);
        return Err(Trouble::usage(what, "use up to 40 letters, digits, hyphens, underscores, dots").into());
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

fn launch(app: &App, args: &McpAddArgs) -> anyhow::Result<McpLaunch> {
    let scheme = args.words.first().and_then(|word| scheme(word));
    let is_web =
        scheme.is_some_and(|scheme| ["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)));
    if let [url] = args.words.as_slice()
        && is_web
    {
        haft_core::WebUrl::parse(url)?;
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

fn approve_one(app: &App, name: &str, json: bool) -> anyhow::Result<Status> {
    let server = find(app, name)?;
    let approval = approve(app, &server)?;
    if json {
        print::json(&approval.object())?;
    } else {
        print::line(&approval.line());
    }
    Ok(Status::Completed)
}

/// One after another, up to the first that isn't approved; those before it are.
fn approve_all(app: &App, json: bool) -> anyhow::Result<Status> {
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

fn test(app: &App, name: &str, json: bool) -> anyhow::Result<Status> {
    usable(app, name)?;
    let tools = app.tools()?;
    tools.servers().forget_era(name)?;
    let looked = block_on(async {
        let looked = tools.servers().look(name, &Cancel::new()).await;
        tools.servers().close().await;
        Ok(looked)
    })?;
    let problems: Vec<String> = tools
        .catalogue
        .problems()
        .into_iter()
        .filter(|problem| problem.source == format!("mcp:{name}"))
        .map(|problem| problem.to_string())
        .collect();
    match looked {
        Ok(report) => {
            if json {
                print::json(&json!({"works": true, "server": report, "problems": problems}))?;
            } else {
                tell(&report, &problems);
            }
            Ok(Status::Completed)
        }
        Err(failure) => {
            let (log, oddities) = tools.servers().log(name).unwrap_or_default();
            if json {
                let fault = json!({"kind": failure.kind, "text": failure.text});
                print::json(&json!({"works": false, "error": fault, "oddities": oddities, "log": log}))?;
            } else {
                print::line(&format!("{} {}", bad("fails"), clean(&failure.text)));
                for word in oddities.words() {
                    print::line(&format!("  {}", clean(&word)));
                }
                tail(&log);
            }
            Ok(Status::Failed)
        }
    }
}

/// What a look at a server came to.
fn tell(report: &ServerReport, problems: &[String]) {
    let named = |key: &str| report.info.get(key).and_then(Value::as_str).unwrap_or("?");
    print::line(&format!(
        "{} {}",
        good("works"),
        clean(&format!(
            "{}: {} {}, protocol {}, {} tools, ready in {}",
            report.name,
            named("name"),
            named("version"),
            report.protocol,
            report.tools.len(),
            print::time(report.took_ms),
        ))
    ));
    let can: Vec<&str> =
        report.capabilities.as_object().into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
    if !can.is_empty() {
        print::line(&format!("  can: {}", clean(&can.join(", "))));
    }
    for name in report.tools.iter().take(TOOLS_SHOWN) {
        print::line(&format!("  {name}"));
    }
    let further = report.tools.len().saturating_sub(TOOLS_SHOWN);
    if further > 0 {
        print::line(&format!("  and {further} more; `haft tools` lists all"));
    }
    for word in report.oddities.words() {
        print::line(&format!("  {} {}", bad("odd"), clean(&word)));
    }
    for problem in problems {
        print::line(&format!("  {}", clean(problem).replace('\n', "\n  ")));
    }
    tail(&report.log);
}

fn tail(log: &[String]) {
    if log.is_empty() {
        return;
    }
    print::line("what it wrote beside the protocol:");
    for line in log {
        print::line(&dim(&format!("  {}", print::one_line(line, 400))));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
