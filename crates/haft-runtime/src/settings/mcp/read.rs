//! Reads `[mcp.servers.NAME]`.

use super::{McpLaunch, McpLogin, McpSandbox, McpSetting, McpToolSetting, Template};
use crate::settings::{
    Place,
    load::placed,
    sandbox::network as network_of,
    section::{Limit, Section},
};
use haft_core::{Credential, Reach, is_variable};
use std::collections::BTreeMap;

const KEYS: [&str; 29] = [
    "command",
    "args",
    "cwd",
    "env",
    "url",
    "headers",
    "transport",
    "enabled",
    "eager",
    "prefix",
    "screen",
    "untrusted",
    "exposure",
    "timeoutMs",
    "maxTimeoutMs",
    "startTimeoutMs",
    "concurrency",
    "roots",
    "passRoots",
    "sampling",
    "sandbox",
    "writable",
    "network",
    "only",
    "tools",
    "oauthClientId",
    "oauthClientSecret",
    "oauthScope",
    "oauthPort",
];
const TOOL_KEYS: [&str; 9] = [
    "title",
    "description",
    "exposure",
    "enabled",
    "timeoutMs",
    "readOnly",
    "destructive",
    "idempotent",
    "openWorld",
];
/// What counts only where the workspace is trusted: an approval shows how a server is started, and none of this.
const LOOSENING: [&str; 7] =
    ["prefix", "screen", "untrusted", "oauthClientId", "oauthClientSecret", "oauthScope", "oauthPort"];
/// The longest name of a server.
const NAME_MAX_CHARS: usize = 64;

/// Reads `[mcp]`.
pub(in crate::settings) fn servers(mcp: &Section<'_>, place: &Place) -> BTreeMap<String, McpSetting> {
    let mut all = BTreeMap::new();
    mcp.only(&["servers"]);
    let Some(servers) = mcp.section("servers") else { return all };
    // One of an untrusted workspace is read as well: it waits to be approved like one of any workspace.
    let is_untrusted = mcp.document.limit == Limit::Untrusted;
    for (name, _) in servers.keys().filter(|(name, _)| is_untrusted || servers.counts(name)) {
        let Some(section) = servers.section(name) else { continue };
        if let Some(why) = wrong_name(name) {
            section.document.problem(
                servers.line(name),
                format!("\"{name}\" is no name for a server: {why}"),
                "rename it",
            );
            continue;
        }
        section.only(&KEYS);
        if let Some(launch) = launch(&section, place, servers.line(name)) {
            let setting = with_rest(McpSetting::new(launch, servers.origin(name)), &section, place);
            all.insert(name.to_owned(), if is_untrusted { tightened(setting, &section) } else { setting });
        }
    }
    all
}

/// Why a text is no name of a server.
pub(super) fn wrong_name(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("it is empty")
    } else if name.chars().count() > NAME_MAX_CHARS {
        Some("it has more than 64 characters")
    } else if name.chars().any(|c| c.is_control() || haft_core::is_hidden(c)) {
        Some("it has characters that nobody sees")
    } else {
        None
    }
}

fn launch(section: &Section<'_>, place: &Place, line: usize) -> Option<McpLaunch> {
    let has = |key: &str| section.keys().any(|(known, _)| known == key);
    let fault = |text: &str, fix: &str| {
        section.document.problem(line, text, fix);
        None
    };
    match (has("command"), has("url")) {
        (true, true) => {
            fault("a server has a command or a url, not both: it isn't used", "remove one of them")
        }
        (false, false) => fault("a server needs a command or a url", "write command = \"…\" or url = \"…\""),
        (true, false) => command(section, place),
        (false, true) => url(section),
    }
}

fn command(section: &Section<'_>, place: &Place) -> Option<McpLaunch> {
    let mut argv: Vec<Template> = if section.is_list("command") {
        section.texts("command").items.into_iter().map(|item| Template::new(item.value)).collect()
    } else {
        section.text("command").map(|set| Template::new(set.value)).into_iter().collect()
    };
    argv.extend(section.texts("args").items.into_iter().map(|item| Template::new(item.value)));
    if argv.first().is_none_or(|program| program.as_str().trim().is_empty()) {
        let text = format!("\"{}\" names no program", section.full("command"));
        section.document.problem(
            section.line("command"),
            text,
            "write the program, and its arguments in args",
        );
        return None;
    }
    let folder = section.text("cwd").and_then(|set| place.absolute(&set.value));
    Some(McpLaunch::Command { argv, folder, env: env(section) })
}

/// `["NAME"]` passes variables on, `{ NAME = "OTHER" }` gives them under another name, `{ NAME = "secret:x" }` what is
/// stored. Values have no place here.
fn env(section: &Section<'_>) -> Vec<(String, Template)> {
    // What isn't a name may be a secret, and isn't shown.
    let wrong = |line: usize, what: String| {
        let what = format!("{what} is no name of a variable");
        let fix = "write names only: env = [\"GITHUB_TOKEN\"], or { TOKEN = \"GITHUB_TOKEN\" }, or { TOKEN = \"secret:github\" }";
        section.document.problem(line, what, fix);
    };
    let mut all = Vec::new();
    if section.is_table("env") {
        let Some(table) = section.section("env") else { return all };
        for (name, _) in table.keys() {
            let Some(from) = table.text(name) else { continue };
            match Credential::parse_or_variable(&from.value) {
                Ok(credential) if is_variable(name) => all.push((name.to_owned(), Template::of(&credential))),
                Ok(_) => wrong(from.origin.line, name.to_owned()),
                Err(_) => wrong(from.origin.line, format!("the value of {name}")),
            }
        }
        return all;
    }
    for item in section.texts("env").items {
        if let Ok(credential) = Credential::variable(&item.value) {
            all.push((item.value.clone(), Template::of(&credential)));
        } else {
            let start = item.value.split('=').next().unwrap_or_default();
            wrong(item.origin.line, format!("what begins with \"{start}\""));
        }
    }
    all
}

fn url(section: &Section<'_>) -> Option<McpLaunch> {
    let url = section.text("url")?;
    let older = match section.text("transport") {
        None => false,
        Some(set) => match set.value.as_str() {
            "http" | "streamable-http" => false,
            "sse" => true,
            other => {
                let text = format!("\"{other}\" is no transport");
                section.document.problem(set.origin.line, text, "write \"http\" or \"sse\", or leave it out");
                false
            }
        },
    };
    let mut headers = Vec::new();
    if let Some(table) = section.section("headers") {
        for (name, _) in table.keys() {
            let Some(value) = table.text(name) else { continue };
            let value_line = value.origin.line;
            let template = Template::of_reference(value.value);
            if template.is_plain() && is_secret_header(name) {
                section.document.problem(
                    value_line,
                    format!("the header {name} is written out; a secret doesn't belong into a settings file"),
                    format!("write {name} = \"secret:NAME\", or \"${{VARIABLE}}\" and set that variable"),
                );
            }
            headers.push((name.to_owned(), template));
        }
    }
    Some(McpLaunch::Url { url: Template::new(url.value), headers, older })
}

/// Whether a header of that name commonly holds a secret.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "cookie", "token", "secret", "key", "password"].iter().any(|word| name.contains(word))
}

fn with_rest(mut setting: McpSetting, section: &Section<'_>, place: &Place) -> McpSetting {
    let flag = |key: &str, default: bool| section.flag(key).map_or(default, |set| set.value);
    let number = |key: &str| section.number(key).map(|set| set.value);
    setting.enabled = flag("enabled", true);
    setting.eager = flag("eager", false);
    setting.untrusted = flag("untrusted", true);
    setting.prefix = section.text("prefix").map(|set| set.value);
    setting.screen = screen(section);
    setting.exposure = section.word("exposure").map(|set| set.value);
    setting.timeout_ms = number("timeoutMs");
    setting.max_timeout_ms = number("maxTimeoutMs");
    setting.start_timeout_ms = number("startTimeoutMs");
    setting.concurrency = number("concurrency");
    setting.roots = placed(section, "roots", place).into_iter().map(|set| set.value).collect();
    setting.pass_roots = flag("passRoots", false);
    setting.sampling = flag("sampling", false);
    setting.sandbox = sandbox(section, place);
    setting.login = login(section);
    if section.has("only") {
        setting.only = Some(section.texts("only").items.into_iter().map(|item| item.value).collect());
    }
    if let Some(tools) = section.section("tools") {
        for (name, _) in tools.keys() {
            if let Some(tool) = tools.section(name) {
                setting.tools.insert(name.to_owned(), self::tool(&tool));
            }
        }
    }
    setting
}

/// The same without what only a trusted workspace may say.
fn tightened(mut setting: McpSetting, section: &Section<'_>) -> McpSetting {
    for key in LOOSENING {
        // Says that it is ignored, where it is there.
        section.counts(key);
    }
    setting.prefix = None;
    setting.screen = true;
    setting.untrusted = true;
    setting.login = McpLogin::default();
    let mut is_less = false;
    for tool in setting.tools.values_mut() {
        let tight = McpToolSetting {
            title: None,
            description: None,
            exposure: tool.exposure,
            enabled: tool.enabled,
            timeout_ms: tool.timeout_ms,
            read_only: tool.read_only.filter(|flag| !flag),
            destructive: tool.destructive.filter(|flag| *flag),
            idempotent: tool.idempotent.filter(|flag| !flag),
            open_world: tool.open_world.filter(|flag| *flag),
        };
        is_less |= tight != *tool;
        *tool = tight;
    }
    if is_less {
        section.counts("tools");
    }
    setting
}

fn login(section: &Section<'_>) -> McpLogin {
    let port = section.number("oauthPort").and_then(|set| {
        if let Ok(port) = u16::try_from(set.value) {
            Some(port)
        } else {
            let text = format!("{} is no port", set.value);
            section.document.problem(set.origin.line, text, "write a number up to 65535");
            None
        }
    });
    McpLogin {
        client_id: section.text("oauthClientId").map(|set| set.value),
        client_secret: section.credential("oauthClientSecret", "oauthClientSecretEnv"),
        scope: section.text("oauthScope").map(|set| set.value),
        port,
    }
}

/// `"on"` or `"off"`; a flag is understood too.
fn screen(section: &Section<'_>) -> bool {
    let Some(written) = section.text("screen") else { return true };
    match written.value.as_str() {
        "on" => true,
        "off" => false,
        other => {
            let text = format!("\"{other}\" is neither \"on\" nor \"off\"");
            section.document.problem(written.origin.line, text, "write screen = \"off\", or leave it out");
            true
        }
    }
}

fn sandbox(section: &Section<'_>, place: &Place) -> Option<McpSandbox> {
    let is_on = section.flag("sandbox").is_some_and(|set| set.value);
    let writable: Vec<_> = placed(section, "writable", place).into_iter().map(|set| set.value).collect();
    let network = network_of(section).map(|set| set.value);
    if !is_on {
        for key in ["writable", "network"] {
            if section.keys().any(|(known, _)| known == key) {
                let text = format!("\"{}\" does nothing without a sandbox", section.full(key));
                section.document.problem(section.line(key), text, "write sandbox = true as well");
            }
        }
        return None;
    }
    Some(McpSandbox { writable, network: network.unwrap_or(Reach::Closed) })
}

fn tool(section: &Section<'_>) -> McpToolSetting {
    section.only(&TOOL_KEYS);
    let text = |key: &str| section.text(key).map(|set| set.value);
    let flag = |key: &str| section.flag(key).map(|set| set.value);
    McpToolSetting {
        title: text("title"),
        description: text("description"),
        exposure: section.word("exposure").map(|set| set.value),
        enabled: flag("enabled"),
        timeout_ms: section.number("timeoutMs").map(|set| set.value),
        read_only: flag("readOnly"),
        destructive: flag("destructive"),
        idempotent: flag("idempotent"),
        open_world: flag("openWorld"),
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{McpLaunch, Place, Scope, Settings, SettingsSource};

    fn read(text: &str) -> Settings {
        let place = Place { workspace: "/w".into(), home: Some("/home/u".into()), trusted: true };
        Settings::load(&[SettingsSource::new(Scope::User, "/etc/f.toml", text)], &place)
    }

    #[test]
    fn every_problem_has_its_line_and_what_would_fix_it() {
        let cases = [
            ("[mcp]\nserver = {}", 2, "\"mcp.server\" is not a setting", "\"servers\""),
            ("[mcp.servers.x]\neager = true", 1, "needs a command or a url", "command ="),
            ("[mcp.servers.x]\ncommand = 'a'\nurl = 'b'", 1, "not both", "remove one"),
            ("[mcp.servers.x]\ncommand = ''", 2, "names no program", "write the program"),
            ("[mcp.servers.x]\ncommand = 'a'\nenv = ['A=1']", 3, "is no name of a variable", "names only"),
            (
                "[mcp.servers.x]\ncommand = 'a'\nenv = { A = 'sk-1234' }",
                3,
                "the value of A is no name",
                "names only",
            ),
            ("[mcp.servers.x]\nurl = 'https://x'\ntransport = 'ws'", 3, "is no transport", "\"sse\""),
            (
                "[mcp.servers.x]\nurl = 'https://x'\nheaders = { Authorization = 'k' }",
                3,
                "is written out",
                "${VARIABLE}",
            ),
            ("[mcp.servers.x]\ncommand = 'a'\nscreen = 'no'", 3, "neither", "\"off\""),
            ("[mcp.servers.x]\ncommand = 'a'\nwritable = ['.']", 3, "without a sandbox", "sandbox = true"),
            ("[mcp.servers.x]\ncommand = 'a'\ntimeout = 3", 3, "\"mcp.servers.x.timeout\"", "timeoutMs"),
            (
                "[mcp.servers.x.tools.y]\nreadonly = true\n[mcp.servers.x]\ncommand = 'a'",
                2,
                "readonly",
                "readOnly",
            ),
            ("[mcp.servers.\"\"]\ncommand = 'a'", 1, "it is empty", "rename"),
            ("[mcp.servers.x]\nurl = 'https://x'\noauthPort = 70000", 3, "is no port", "up to 65535"),
            (
                "[mcp.servers.x]\nurl = 'https://x'\noauthClientSecret = 'sk-1'",
                3,
                "oauthClientSecret",
                "secret:",
            ),
        ];
        for (text, line, says, fix) in cases {
            let problems = read(text).problems;
            let found = problems.iter().any(|problem| {
                problem.line == Some(line) && problem.text.contains(says) && problem.fix.contains(fix)
            });
            assert!(found, "{text:?} gave {problems:#?}");
        }
    }

    #[test]
    fn what_is_understood_arrives() {
        let text = "[mcp.servers.github]\nurl = 'https://x.example/mcp'\nheaders = { Authorization = 'Bearer ${KEY}' }\n\
                    prefix = ''\nscreen = 'off'\neager = true\nexposure = 'deferred'\ntimeoutMs = 3_000\n\
                    maxTimeoutMs = 9_000\nstartTimeoutMs = 1_000\nconcurrency = 2\nuntrusted = false\npassRoots = true\nsampling = true\nonly = ['get.issue']\n\
                    [mcp.servers.github.tools.\"get.issue\"]\ntitle = 'Issue'\nreadOnly = true\n\
                    [mcp.servers.files]\ncommand = ['npx', '-y', 'files']\nargs = ['.']\nenv = { A = 'B', C = 'secret:c' }\nenabled = false\n";
        let read = read(text);
        assert!(read.problems.is_empty(), "{:?}", read.problems);
        let github = &read.mcp["github"];
        assert_eq!((github.prefix.as_deref(), github.screen, github.eager), (Some(""), false, true));
        assert_eq!((github.timeout_ms, github.concurrency, github.untrusted), (Some(3_000), Some(2), false));
        assert_eq!((github.tools["get.issue"].read_only, github.pass_roots), (Some(true), true));
        assert_eq!(github.only.as_deref(), Some(&["get.issue".to_owned()][..]));
        assert!(github.sampling && github.parts().iter().any(|(name, _)| name == "sampling"));
        let files = &read.mcp["files"];
        let McpLaunch::Command { argv, env, .. } = &files.launch else { panic!("a command") };
        let words: Vec<&str> = argv.iter().map(super::super::template::Template::as_str).collect();
        assert_eq!((words.as_slice(), env[0].1.as_str()), (&["npx", "-y", "files", "."][..], "${B}"));
        assert_eq!(env[1].1.as_str(), "${secret:c}");
        assert!(!files.enabled);
    }
}
