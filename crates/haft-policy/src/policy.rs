//! What holds for one session: its mode, rules, grants and folders.

use crate::{
    Action, Marks, Mode, Rule, Subject, Taint, command::covers, places::is_sensitive, rule::ToolPattern,
};
use haft_core::{Permission, RealPath, Spec};
use std::sync::Arc;

/// A saved answer: a rule that allows, bound to one definition of the tool.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The rule, with [`Action::Allow`].
    pub rule: Rule,
    /// The hash of the tool when it was granted; `None` for built-ins.
    pub tool_hash: Option<Arc<str>>,
}

/// What holds for one session.
#[derive(Debug, Clone)]
pub struct Policy {
    /// How it wants to be asked.
    pub mode: Mode,
    /// All rules, whatever file they came from; deny beats ask beats allow.
    pub rules: Vec<Rule>,
    /// Saved answers.
    pub grants: Vec<Grant>,
    /// What `auto` mode asks for, written as rules; empty: built-in tools that mutate, and every tool that
    /// declares neither read-only nor risk.
    pub dangerous: Vec<String>,
    /// The workspace root.
    pub workspace: RealPath,
    /// Further folders that count as inside, absolute and real; among them the session's spill folder.
    pub roots: Vec<String>,
    /// Names or name globs of the only tools that may run; `None`: all.
    pub enabled_tools: Option<Vec<String>>,
    /// The only capabilities that a tool may have, for a subagent; `None`: all.
    pub capabilities: Option<Vec<String>>,
    /// Whether the user trusts the workspace.
    pub trusted: bool,
    /// The user's home, absolute and real.
    pub home: Option<String>,
    /// Folders for temporary files of this session: writing there is free. Absolute and real.
    pub temp: Vec<String>,
    /// haft's own files and folders: settings, trust and state. No tool may change them.
    pub own_files: Vec<String>,
    /// Where haft keeps credentials, absolute: no tool may read it either, and a sandbox hides it.
    pub own_secrets: Vec<String>,
    /// haft's own process, never to be killed by a tool.
    pub own_process: Option<u32>,
    /// Branches that are never force-pushed besides `main`, `master` and `release/*`; name globs.
    pub protected_branches: Vec<String>,
    /// What becomes of a call that would complete the way from private data through strangers' words to the outside.
    pub taint: Taint,
    /// What the session has taken in.
    pub marks: Marks,
    /// What counts as private besides sensitive paths, written as rules.
    pub private: Vec<String>,
    /// What brings strangers' words besides the tools that say so, written as rules.
    pub untrusted: Vec<String>,
    /// What keeps commands in.
    pub confines: Confines,
}

/// What the sandbox keeps the commands of built-in tools from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confines {
    /// There is none.
    #[default]
    Nothing,
    /// Something of what it should do can't be done here, or the network is open.
    Partly,
    /// They change nothing outside the workspace and temporary folders, touch no protected path, read no secret of the
    /// home folder and reach no host but allowed ones.
    Wholly,
}

impl Policy {
    /// A policy without rules and grants.
    pub fn new(mode: Mode, workspace: RealPath) -> Self {
        Self {
            mode,
            rules: Vec::new(),
            grants: Vec::new(),
            dangerous: Vec::new(),
            workspace,
            roots: Vec::new(),
            enabled_tools: None,
            capabilities: None,
            trusted: true,
            home: None,
            temp: Vec::new(),
            own_files: Vec::new(),
            own_secrets: Vec::new(),
            own_process: None,
            protected_branches: Vec::new(),
            taint: Taint::default(),
            marks: Marks::default(),
            private: Vec::new(),
            untrusted: Vec::new(),
            confines: Confines::Nothing,
        }
    }

    /// Whether a deny rule for `read` covers the path, or credentials lie there, so that a walk leaves it out.
    pub fn denies_read(&self, path: &RealPath) -> bool {
        let holds_secrets = || self.own_secret(&path.absolute()).is_some();
        self.rules_of(Action::Deny).any(|rule| rule.covers_read(path)) || holds_secrets()
    }

    /// Where haft's own credentials lie, if it is there.
    pub(crate) fn own_secret(&self, path: &str) -> Option<&str> {
        self.own_secrets.iter().find(|own| covers(own, path)).map(String::as_str)
    }

    /// The files and folders that deny rules keep from being read, where a rule names just one, and haft's own
    /// credentials. A sandbox hides them.
    pub fn hidden_places(&self) -> Vec<String> {
        let named = self.rules_of(Action::Deny).filter_map(Rule::read_place);
        named.chain(self.own_secrets.iter().cloned()).collect()
    }

    /// Whether a deny rule for `edit` covers the path, so that what changes a whole tree leaves it out.
    pub fn denies_write(&self, path: &RealPath) -> bool {
        self.rules_of(Action::Deny).any(|rule| rule.covers_write(path))
    }

    /// Whether a rule restricts some path to be read.
    pub fn guards_paths(&self) -> bool {
        self.rules.iter().any(Rule::guards_paths)
    }

    /// Whether a walk that reads contents leaves the path out: a deny rule covers it, or it holds secrets that nobody
    /// asked for by name.
    pub fn keeps_from_search(&self, path: &RealPath) -> bool {
        is_sensitive(&path.absolute()) || self.denies_read(path)
    }

    /// Whether every call of a tool is refused, whatever the input: it isn't shown to the model either.
    pub fn denies_tool_whole(&self, spec: &Spec, tool: &str) -> bool {
        !spec.enabled
            || spec.permission() == Permission::Deny
            || !self.enables(spec, tool)
            || self.rules_of(Action::Deny).any(|rule| rule.covers_tool(spec, tool))
    }

    /// Whether the path lies in the workspace or another root.
    pub fn is_inside(&self, path: &RealPath) -> bool {
        let further = self.roots.iter().chain(&self.temp);
        let path = path.absolute();
        covers(&self.workspace.absolute(), &path) || further.into_iter().any(|root| covers(root, &path))
    }

    pub(crate) fn rules_of(&self, action: Action) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.action == action)
    }

    pub(crate) fn enables(&self, spec: &Spec, tool: &str) -> bool {
        self.enabled_tools.as_ref().is_none_or(|enabled| {
            let named =
                |text: &String| ToolPattern::parse(text).is_ok_and(|name| name.names(tool, spec, true));
            enabled.iter().any(named)
        })
    }

    /// The grant that allows the call.
    pub(crate) fn grant_for(&self, subject: &Subject) -> Option<&Grant> {
        self.grants.iter().find(|grant| {
            grant.rule.action == Action::Allow
                && grant.tool_hash == subject.tool_hash
                && grant.rule.matches(subject) == crate::Match::Yes
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{bash, foreign, policy, reading};
    use haft_core::Effects;

    #[test]
    fn a_walk_leaves_out_what_read_rules_deny() {
        let policy =
            policy(Mode::Default, &[(Action::Deny, "read(secret/**)"), (Action::Deny, "edit(./src/**)")]);
        assert!(policy.denies_read(&RealPath::new("/w", "secret/k")));
        assert!(policy.denies_read(&RealPath::new("/w/secret", "k")));
        assert!(!policy.denies_read(&RealPath::new("/w", "src/a")));
        assert!(!policy.denies_read(&RealPath::new("/other", "secret/k")));
    }

    #[test]
    fn a_change_of_a_tree_leaves_out_what_edit_rules_deny() {
        let rules = [
            (Action::Deny, "edit(secret/**)"),
            (Action::Deny, "read(./src/**)"),
            (Action::Ask, "edit(./doc/**)"),
        ];
        let policy = policy(Mode::Default, &rules);
        assert!(policy.denies_write(&RealPath::new("/w", "secret/k")));
        assert!(policy.denies_write(&RealPath::new("/w/secret", "k")));
        for other in ["src/a", "doc/a", "secrets"] {
            assert!(!policy.denies_write(&RealPath::new("/w", other)), "{other}");
        }
    }

    #[test]
    fn a_tool_denied_in_part_stays() {
        let whole = |text: &str, subject: &Subject| {
            policy(Mode::Default, &[(Action::Deny, text)]).denies_tool_whole(&subject.spec, &subject.tool)
        };
        let mcp = foreign("mcp__x__y", Effects::Everything);
        assert!(
            whole("bash", &bash("ls"))
                && whole("Bash", &bash("ls"))
                && whole("capability:shell.*", &bash("ls"))
        );
        assert!(whole("read", &reading("/w/a")) && whole("mcp__x", &mcp));
        assert!(!whole("bash(rm *)", &bash("ls")) && !whole("read(secret/**)", &reading("/w/a")));
        assert!(!whole("mcp__z", &mcp) && !whole("edit", &reading("/w/a")));
    }

    #[test]
    fn roots_are_inside() {
        let mut policy = policy(Mode::Default, &[]);
        policy.roots.push("/spill/1".to_owned());
        assert!(
            policy.is_inside(&RealPath::new("/w", "a")) && policy.is_inside(&RealPath::new("/", "spill/1/x"))
        );
        assert!(
            !policy.is_inside(&RealPath::new("/", "spill/2")) && !policy.is_inside(&RealPath::new("/", "w2"))
        );
    }

    #[test]
    fn a_sandbox_hides_what_a_deny_rule_names() {
        use crate::Action::{Allow, Deny};
        let rules = [
            (Deny, "read(secret/**)"),
            (Deny, "read(./a/k.txt)"),
            (Deny, "read(/b/)"),
            (Deny, "read(*.key)"),
            (Deny, "read(c/*/x)"),
            (Allow, "read(d/**)"),
            (Deny, "edit(e/**)"),
        ];
        let policy = crate::sample::policy(crate::Mode::Default, &rules);
        assert_eq!(policy.hidden_places(), ["/w/secret", "/w/a/k.txt", "/conf/b"]);
    }

    #[test]
    fn own_credentials_are_hidden_and_left_out() {
        let mut policy = policy(Mode::Full, &[]);
        policy.own_secrets.push("/home/u/.local/state/haft/vault".to_owned());
        assert_eq!(policy.hidden_places(), policy.own_secrets);
        let state = RealPath::new("/home/u/.local/state/haft", "");
        assert!(
            policy.denies_read(&state.join("vault/x.key"))
                && policy.keeps_from_search(&state.join("vault/x"))
        );
        assert!(!policy.denies_read(&state) && !policy.denies_read(&state.join("vault2")));
    }
}
