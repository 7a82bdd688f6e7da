//! The tool part of a rule.

use super::RuleError;
use crate::{Subject, wild::Wild};
use haft_core::{Spec, Touch};

/// The built-in tools that a rule for `read` covers by name.
const READERS: [&str; 4] = ["read", "glob", "grep", "tree"];
/// The built-in tools that a rule for `edit` covers by name.
const WRITERS: [&str; 5] = ["write", "edit", "patch", "replace", "notebook_edit"];

/// Built-in tools that do another one's work for scripts, each with the small names of that one: what is said of the one
/// holds for the other.
const FORMS: [(&str, &[&str]); 2] = [("script_read", &["read"]), ("script_fetch", &["fetch", "webfetch"])];

/// The built-in tool whose work a built-in tool of that name does for scripts: rules and hooks that are about the one are
/// about the other too.
pub fn stands_for(tool: &str) -> Option<&'static str> {
    names_stood_for(tool).first().copied()
}

fn names_stood_for(tool: &str) -> &'static [&'static str] {
    FORMS.iter().find(|(form, _)| *form == tool).map_or(&[], |(_, names)| names)
}

/// A kind of tool that a rule means by one tool's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// All that read files.
    Read,
    /// All that write files.
    Edit,
    /// The shell.
    Command,
}

/// A tool's name, a glob over names, or an MCP server.
#[derive(Debug, Clone)]
pub(crate) struct ToolPattern {
    name: Wild,
    alias: Wild,
    server: Option<String>,
    family: Option<Family>,
}

impl ToolPattern {
    /// Reads a name; other hosts' names for the families are known.
    pub(crate) fn parse(text: &str) -> Result<Self, RuleError> {
        if text.is_empty() || !text.chars().all(Self::allows) {
            return Err(RuleError::Name(text.to_owned()));
        }
        let lower = text.to_ascii_lowercase();
        let family = match lower.as_str() {
            "read" => Some(Family::Read),
            "edit" | "multiedit" => Some(Family::Edit),
            "bash" | "shell" => Some(Family::Command),
            _ => None,
        };
        let is_server = text
            .strip_prefix("mcp__")
            .is_some_and(|server| !server.is_empty() && !server.contains("__") && !server.contains('*'));
        Ok(Self {
            name: Wild::new(text),
            alias: Wild::new(&lower),
            server: is_server.then(|| format!("{text}__")),
            family,
        })
    }

    /// Whether the character may stand in a name or a glob over names.
    pub(super) fn allows(c: char) -> bool {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*')
    }

    /// Whether a spec in parentheses is a command.
    pub(super) fn runs_commands(&self) -> bool {
        self.family == Some(Family::Command)
    }

    pub(super) fn is_read_family(&self) -> bool {
        self.family == Some(Family::Read)
    }

    pub(super) fn is_edit_family(&self) -> bool {
        self.family == Some(Family::Edit)
    }

    pub(super) fn family(&self) -> Option<Family> {
        self.family
    }

    /// Whether the pattern names this tool; by an alias only where aliases are trusted.
    pub(crate) fn names(&self, tool: &str, spec: &Spec, aliases: bool) -> bool {
        self.name.matches(tool)
            || self.server.as_deref().is_some_and(|server| tool.starts_with(server))
            || (aliases && spec.aliases.iter().any(|alias| self.alias.matches(&alias.to_ascii_lowercase())))
    }

    /// Whether the tool belongs to the pattern's family by its name alone.
    pub(super) fn names_family_member(&self, tool: &str) -> bool {
        match self.family {
            Some(Family::Read) => READERS.contains(&tool),
            Some(Family::Edit) => WRITERS.contains(&tool),
            Some(Family::Command) | None => false,
        }
    }

    /// Whether the pattern names the tool of this call. A stranger's tool can give itself any alias, so that
    /// a rule that allows goes by the aliases of built-in tools alone.
    pub(super) fn names_tool_of(&self, subject: &Subject, strict: bool) -> bool {
        self.names(&subject.tool, &subject.spec, !strict || subject.is_core())
            || ((!strict || subject.is_core()) && self.names_family_member(&subject.tool))
            || (subject.is_core() && self.names_other_form(&subject.tool))
    }

    /// Whether the pattern names the tool whose work this one does.
    fn names_other_form(&self, tool: &str) -> bool {
        names_stood_for(tool).iter().any(|name| self.name.matches(name) || self.alias.matches(name))
    }

    /// Whether the whole call is covered: by the tool's name, or by what the call does.
    pub(super) fn covers(&self, subject: &Subject, strict: bool) -> bool {
        self.names_tool_of(subject, strict) || self.covers_effects(subject, strict)
    }

    /// Whether what the call does belongs to the family: anything of it, or nothing else where strict.
    pub(super) fn covers_effects(&self, subject: &Subject, strict: bool) -> bool {
        let touches = subject.effects.touches();
        match (self.family, strict) {
            (Some(Family::Read), false) => touches.iter().any(Touch::reads),
            (Some(Family::Read), true) => {
                !subject.mutates && !touches.is_empty() && touches.iter().all(Touch::reads)
            }
            (Some(Family::Edit), false) => touches.iter().any(Touch::writes),
            (Some(Family::Edit), true) => {
                touches.iter().any(Touch::writes) && touches.iter().all(|touch| touch.path().is_some())
            }
            (Some(Family::Command) | None, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::{Allow, Deny},
        Match,
        sample::{bash, foreign, reading, rule, writing},
    };
    use haft_core::{Effects, RealPath, Touch};

    #[test]
    fn names_globs_servers_and_families() {
        let mcp = foreign("mcp__github__get", Effects::Everything);
        let cases = [
            ("bash", bash("ls"), true),
            ("Bash", bash("ls"), true),
            ("BASH", bash("ls"), true),
            ("ba*", bash("ls"), true),
            ("*", bash("ls"), true),
            ("read", bash("ls"), false),
            ("mcp__github", mcp.clone(), true),
            ("mcp__git", mcp.clone(), false),
            ("mcp__github__*", mcp.clone(), true),
            ("mcp__github__get", mcp.clone(), true),
            ("mcp__github__ge", mcp, false),
            ("edit", writing("/w/a"), true),
            ("Edit", writing("/w/a"), true),
            ("edit", reading("/w/a"), false),
            ("Read", reading("/w/a"), true),
            ("category:workflow", bash("ls"), true),
            ("capability:shell.*", bash("ls"), true),
            ("capability:fs.write", bash("ls"), false),
            ("risk:standard", bash("ls"), true),
            ("risk:destructive", bash("ls"), false),
            ("param.command=l*", bash("ls"), true),
            ("param.command=rm", bash("ls"), false),
            ("bash(param.command=ls)", bash("ls"), true),
        ];
        for (text, subject, expected) in cases {
            for action in [Allow, Deny] {
                let found = rule(action, text).matches(&subject);
                assert_eq!(found == Match::Yes, expected, "{text} {action:?} {}", subject.tool);
                assert_ne!(found, Match::Maybe, "{text}");
            }
        }
    }

    #[test]
    fn what_is_said_of_a_tool_holds_for_its_form_for_scripts() {
        let fetches = |tool: &str| {
            let effects = Effects::Only(vec![Touch::Host("example.com".into())]);
            crate::sample::subject(tool, effects)
        };
        let strange = crate::Subject { owner: "somebody".into(), ..fetches("script_fetch") };
        for text in ["fetch", "WebFetch", "fetch(domain:example.com)", "script_fetch"] {
            for action in [Allow, Deny] {
                assert_eq!(rule(action, text).matches(&fetches("script_fetch")), Match::Yes, "{text}");
                assert_eq!(rule(action, text).matches(&fetches("other")), Match::No, "{text}");
            }
        }
        assert_eq!(rule(Allow, "fetch").matches(&strange), Match::No, "anybody may call a tool so");
        let reads = crate::Subject { tool: "script_read".into(), ..reading("/w/a") };
        for text in ["read", "Read", "read(param.path=a)"] {
            let subject = crate::Subject { input: serde_json::json!({"path": "a"}).into(), ..reads.clone() };
            assert_eq!(rule(Deny, text).matches(&subject), Match::Yes, "{text}");
        }
    }

    #[test]
    fn a_stranger_is_not_allowed_by_an_alias_nor_by_half_of_its_effects() {
        let path = || RealPath::new("/w", "a");
        let mut stranger = foreign("x", Effects::Everything);
        let mut spec = (*stranger.spec).clone();
        spec.aliases.push("Bash".into());
        stranger.spec = spec.into();
        assert_eq!(rule(Allow, "Bash").matches(&stranger), Match::No);
        assert_eq!(rule(Deny, "Bash").matches(&stranger), Match::Yes);

        let sends = foreign("x", Effects::Only(vec![Touch::Write(path()), Touch::Host("h".into())]));
        assert_eq!(rule(Allow, "edit").matches(&sends), Match::No);
        assert_eq!(rule(Deny, "edit").matches(&sends), Match::Yes);
        let writes = foreign("x", Effects::Only(vec![Touch::Write(path())]));
        assert_eq!(rule(Allow, "edit").matches(&writes), Match::Yes);
        let reads = foreign("x", Effects::Only(vec![Touch::Read(path())]));
        assert_eq!(rule(Allow, "read").matches(&reads), Match::No, "it declares that it mutates");
        assert_eq!(rule(Deny, "read").matches(&reads), Match::Yes);
    }
}
