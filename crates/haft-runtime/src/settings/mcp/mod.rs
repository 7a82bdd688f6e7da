//! Servers of the Model Context Protocol whose tools join the catalogue: `[mcp.servers.NAME]`, and lists that other
//! tools wrote.
//!
//! Pure. Leaves to the host to fill in names, to ask for approval and to start anything. A server is taken whole from
//! the strongest place that names it, so that nobody puts another address under somebody else's header.

mod change;
mod json;
mod read;
mod template;

pub use change::{McpChange, McpEntry, server_keys};
pub use json::{ForeignServers, ServerListForm, server_list, switched_off};
pub use read::is_secret_header;
pub(super) use read::servers;
pub use template::Template;

use super::{Origin, Placed};
use haft_core::{Credential, Exposure, Reach};
use serde::Serialize;
use std::collections::BTreeMap;

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind", rename_all_fields = "camelCase")]
pub enum McpLaunch {
    /// A program that speaks over its standard streams.
    Command {
        /// Program and arguments.
        argv: Vec<Template>,
        /// The folder it starts in; none for the workspace's root.
        folder: Option<Placed>,
        /// Variables it gets besides the usual ones.
        env: Vec<(String, Template)>,
    },
    /// An address.
    Url {
        /// The whole address.
        url: Template,
        /// Headers that are sent there, and nowhere else.
        headers: Vec<(String, Template)>,
        /// Whether it is only spoken with in the form of 2024-11-05: one stream, and a second address.
        older: bool,
    },
}

/// How a server's processes are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSandbox {
    /// Folders that they may change.
    pub writable: Vec<Placed>,
    /// Whom they reach.
    pub network: Reach,
}

/// How one logs in to a server over HTTP, where it isn't found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpLogin {
    /// The client that haft is there: a name that was registered by hand, or the address of a client's metadata.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<Credential>,
    /// What to ask for.
    pub scope: Option<String>,
    /// The port that the answer comes back to.
    pub port: Option<u16>,
}

/// What the settings say of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSetting {
    /// How it is reached.
    pub launch: McpLaunch,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether it is started with the session, and not with the first call.
    pub eager: bool,
    /// What stands before the names of its tools, in place of `mcp__NAME__`.
    pub prefix: Option<String>,
    /// Whether its texts are cleaned and marked as a stranger's.
    pub screen: bool,
    /// Whether its results count as strangers' words.
    pub untrusted: bool,
    /// How its tools are offered.
    pub exposure: Option<Exposure>,
    /// How long a call may go without a sign of life, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// How long a call may take at most.
    pub max_timeout_ms: Option<u64>,
    /// How long it may take to start.
    pub start_timeout_ms: Option<u64>,
    /// How many calls it is asked at once.
    pub concurrency: Option<u64>,
    /// Folders that it is told of.
    pub roots: Vec<Placed>,
    /// Whether it is told of the folders of the client in front of haft, where it is told of no others.
    pub pass_roots: bool,
    /// Whether it may ask the session's model during a call without a person's word each time.
    pub sampling: bool,
    /// How it is kept in; none where it runs with all rights of the user.
    pub sandbox: Option<McpSandbox>,
    /// The tools that are used, by the names that the server gives them; none for all of them.
    pub only: Option<Vec<String>>,
    /// Single tools, by the names that the server gives them.
    pub tools: BTreeMap<String, McpToolSetting>,
    /// How one logs in to it.
    pub login: McpLogin,
    /// Where it was written.
    pub origin: Origin,
    /// Whether it stands in a list that another tool wrote.
    pub foreign: bool,
}

/// What the settings say of one tool of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolSetting {
    /// Its name for people.
    pub title: Option<String>,
    /// What the model reads.
    pub description: Option<String>,
    /// How it is offered.
    pub exposure: Option<Exposure>,
    /// Whether it is offered at all.
    pub enabled: Option<bool>,
    /// As the server's own.
    pub timeout_ms: Option<u64>,
    /// The user's own word on what it does; only that can loosen.
    pub read_only: Option<bool>,
    /// The same.
    pub destructive: Option<bool>,
    /// The same.
    pub idempotent: Option<bool>,
    /// The same.
    pub open_world: Option<bool>,
}

impl McpSetting {
    /// A server with the usual settings.
    pub fn new(launch: McpLaunch, origin: Origin) -> Self {
        Self {
            launch,
            enabled: true,
            eager: false,
            prefix: None,
            screen: true,
            untrusted: true,
            exposure: None,
            timeout_ms: None,
            max_timeout_ms: None,
            start_timeout_ms: None,
            concurrency: None,
            roots: Vec::new(),
            pass_roots: false,
            sampling: false,
            sandbox: None,
            only: None,
            tools: BTreeMap::new(),
            login: McpLogin::default(),
            origin,
            foreign: false,
        }
    }

    /// Whether it came with a workspace, so that the user has to approve it before it is started.
    pub fn needs_approval(&self) -> bool {
        self.origin.scope.is_in_workspace()
    }

    /// What it is given that is secret, each with its kind and name: all that its headers name, and of its variables what
    /// is stored. Another variable may be anything, such as a path.
    pub fn credentials(&self) -> Vec<(&'static str, String, Credential)> {
        let (kind, named) = match &self.launch {
            McpLaunch::Command { env, .. } => ("variable", env),
            McpLaunch::Url { headers, .. } => ("header", headers),
        };
        let is_secret = |credential: &Credential| {
            matches!(self.launch, McpLaunch::Url { .. }) || matches!(credential, Credential::Stored(_))
        };
        let secret = self.login.client_secret.iter();
        let secret = secret.map(|secret| ("secret", "of the client".to_owned(), secret.clone()));
        let found = named.iter().flat_map(|(name, value)| {
            value.credentials().into_iter().map(move |credential| (kind, name.clone(), credential))
        });
        found.filter(|(.., credential)| is_secret(credential)).chain(secret).collect()
    }

    /// How it is reached, part by part, as it is approved and pinned. Names stand for their values, which may change.
    pub fn parts(&self) -> Vec<(String, String)> {
        let mut parts = Vec::new();
        let mut add = |name: String, text: &str| parts.push((name, text.to_owned()));
        match &self.launch {
            McpLaunch::Command { argv, folder, env } => {
                let words = argv.iter().map(Template::as_str);
                add("command".to_owned(), &haft_core::shell_line(words));
                if let Some(folder) = folder {
                    add("folder".to_owned(), &folder.absolute);
                }
                for (name, value) in env {
                    add(format!("variable {name}"), value.as_str());
                }
            }
            McpLaunch::Url { url, headers, older } => {
                add("url".to_owned(), url.as_str());
                for (name, value) in headers {
                    add(format!("header {name}"), value.as_str());
                }
                if *older {
                    add("transport".to_owned(), "sse");
                }
            }
        }
        if let Some(sandbox) = &self.sandbox {
            let writable: Vec<&str> =
                sandbox.writable.iter().map(|placed| placed.absolute.as_str()).collect();
            add("sandbox".to_owned(), &format!("writes {writable:?}, reaches {:?}", sandbox.network));
        }
        for root in &self.roots {
            add("root".to_owned(), &root.absolute);
        }
        if self.pass_roots {
            add("roots".to_owned(), "those of the client in front");
        }
        if self.sampling {
            add("sampling".to_owned(), "it may ask your model without a question to you");
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{Place, Scope, Settings, SettingsSource};

    fn settings(scope: Scope, text: &str, trusted: bool) -> Settings {
        let place = Place { workspace: "/w".into(), home: Some("/home/u".into()), trusted };
        Settings::load(&[SettingsSource::new(scope, "/etc/f.toml", text)], &place)
    }

    #[test]
    fn a_server_is_pinned_by_all_that_says_how_it_is_reached() {
        let text = "[mcp.servers.x]\ncommand = 'npx'\nargs = ['-y', 'a b']\ncwd = 'sub'\nenv = ['TOKEN']\n\
                    roots = ['.']\nsandbox = true\nwritable = ['out']\n";
        let read = settings(Scope::User, text, true);
        assert!(read.problems.is_empty(), "{:?}", read.problems);
        let parts = read.mcp["x"].parts();
        let shown: Vec<String> = parts.iter().map(|(name, text)| format!("{name}={text}")).collect();
        assert_eq!(
            shown,
            [
                "command=npx -y 'a b'",
                "folder=/w/sub",
                "variable TOKEN=${TOKEN}",
                "sandbox=writes [\"/w/out\"], reaches Closed",
                "root=/w",
            ]
        );
    }

    #[test]
    fn servers_of_a_workspace_wait_for_approval_trusted_or_not() {
        let text = "[mcp.servers.x]\nurl = 'https://x.example/mcp'\n";
        for trusted in [false, true] {
            let read = settings(Scope::Workspace, text, trusted);
            assert!(read.mcp["x"].needs_approval() && read.problems.is_empty(), "{:?}", read.problems);
        }
        assert!(!settings(Scope::User, text, true).mcp["x"].needs_approval());
    }

    #[test]
    fn an_untrusted_workspace_loosens_nothing_of_its_servers() {
        let text = "[mcp.servers.x]\nurl = 'https://x.example/mcp'\nprefix = ''\nscreen = 'off'\nuntrusted = false\n\
                    oauthClientSecret = 'secret:other'\nonly = ['a']\n\
                    [mcp.servers.x.tools.a]\nreadOnly = true\ndestructive = true\n[mcp.servers.x.tools.b]\nenabled = false\n";
        let read = settings(Scope::Local, text, false);
        let x = &read.mcp["x"];
        assert!(x.prefix.is_none() && x.screen && x.untrusted && x.login.client_secret.is_none());
        assert_eq!((x.tools["a"].read_only, x.tools["a"].destructive), (None, Some(true)));
        assert_eq!((x.tools["b"].enabled, x.only.as_deref()), (Some(false), Some(&["a".to_owned()][..])));
        for key in ["prefix", "screen", "untrusted", "oauthClientSecret", "tools"] {
            let named = format!("\"mcp.servers.x.{key}\" is ignored");
            assert!(
                read.problems.iter().any(|problem| problem.text.contains(&named)),
                "{named}: {:?}",
                read.problems
            );
        }
        let trusted = settings(Scope::Local, text, true);
        assert!(trusted.problems.is_empty() && trusted.mcp["x"].prefix.is_some(), "{:?}", trusted.problems);
    }

    #[test]
    fn an_untrusted_workspace_takes_no_server_of_the_users_out() {
        let user = "[mcp.servers.x]\nurl = 'https://own.example/'";
        let other = "[mcp.servers.x]\nurl = 'https://other.example/'";
        for (trusted, url) in [(false, "https://own.example/"), (true, "https://other.example/")] {
            let place = Place { workspace: "/w".into(), home: None, trusted };
            let sources = [
                SettingsSource::new(Scope::User, "u", user),
                SettingsSource::new(Scope::Workspace, "w", other),
            ];
            let read = Settings::load(&sources, &place);
            assert_eq!(read.mcp["x"].parts(), [("url".to_owned(), url.to_owned())]);
            assert_eq!(read.problems.iter().any(|problem| problem.text.contains("passed over")), !trusted);
        }
    }

    #[test]
    fn the_strongest_place_gives_the_whole_server() {
        let place = Place { workspace: "/w".into(), home: None, trusted: true };
        let user = "[mcp.servers.x]\nurl = 'https://own.example/'\nheaders = { Authorization = '${KEY}' }";
        let other = "[mcp.servers.x]\nurl = 'https://other.example/'";
        let sources =
            [SettingsSource::new(Scope::User, "u", user), SettingsSource::new(Scope::Workspace, "w", other)];
        let parts = Settings::load(&sources, &place).mcp["x"].parts();
        assert_eq!(parts, [("url".to_owned(), "https://other.example/".to_owned())]);
    }
}
