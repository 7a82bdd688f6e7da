//! What a child session may do at most.

use crate::{Mode, Policy, wild::Wild};
use haft_core::Spec;

/// Capabilities that a child has only where they are granted by their full name.
const DANGEROUS: [&str; 9] = [
    "shell.*",
    "fs.write*",
    "net.outbound",
    "tool.mutate.any",
    "memory.write",
    "memory.delete",
    "mcp.proxy",
    "subagent.spawn",
    "config.mutate",
];
/// One more of them, a family of its own.
const INSTALL: &str = "package.install";
/// What a child has where nothing is said.
const DEFAULT: &str = "fs.read";

/// The limits of a child session. Its verdict is the strictest of its own and of every policy above it, so that
/// narrowing can't widen: what it names and the parent hasn't got stays out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// The capabilities it is granted; none given: `fs.read`.
    pub capabilities: Option<Vec<String>>,
    /// The tools it sees, names or name globs; none given: all.
    pub tools: Option<Vec<String>>,
    /// Its mode; none given: the parent's.
    pub mode: Option<Mode>,
}

impl Narrowing {
    /// The child's own policy. It has no rules, grants or marks of its own but those of the session above, which
    /// judges each of its calls as well.
    #[must_use]
    pub fn under(&self, parent: &Policy) -> Policy {
        Policy {
            mode: self.mode.unwrap_or(parent.mode),
            enabled_tools: self.tools.clone(),
            capabilities: Some(self.capabilities.clone().unwrap_or_else(|| vec![DEFAULT.to_owned()])),
            ..parent.clone()
        }
    }
}

/// The first capability of a tool that isn't granted. A dangerous one counts only where it is named in full, not by
/// a glob; a tool that states no capability at all can do anything, and counts as not granted.
pub(crate) fn missing(spec: &Spec, granted: &[String]) -> Option<String> {
    if spec.capabilities.is_empty() && !spec.read_only {
        return Some("any (it declares none)".to_owned());
    }
    let is_granted = |own: &str| {
        granted.iter().any(|text| text == own || (!is_dangerous(own) && Wild::new(text).matches(own)))
    };
    spec.capabilities.iter().find(|own| !is_granted(own)).map(ToString::to_string)
}

fn is_dangerous(capability: &str) -> bool {
    capability == INSTALL || DANGEROUS.iter().any(|text| Wild::new(text).matches(capability))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action::{Allow, Deny},
        judge,
        sample::{bash, policy, reading},
    };
    use std::sync::Arc;

    fn with(tags: &[&str]) -> Spec {
        Spec::new("x", "does something").with_capabilities(tags)
    }

    #[test]
    fn a_dangerous_capability_is_granted_by_its_full_name_alone() {
        let granted = |texts: &[&str], tags: &[&str]| {
            missing(&with(tags), &texts.iter().map(ToString::to_string).collect::<Vec<_>>()).is_none()
        };
        assert!(granted(&["fs.read"], &["fs.read"]));
        assert!(granted(&["session.*"], &["session.todo"]));
        assert!(granted(&["shell.arbitrary"], &["shell.arbitrary"]));
        for tag in
            ["shell.arbitrary", "fs.write", "fs.write.outside-project", "net.outbound", "package.install"]
        {
            assert!(!granted(&["*", "shell.*", "fs.*", "net.*"], &[tag]), "{tag}");
        }
        assert!(!granted(&["fs.read"], &["fs.read", "net.outbound"]));
        assert!(!granted(&["*"], &[]));
    }

    #[test]
    fn a_child_is_never_freer_than_its_parent() {
        let parent = Arc::new(policy(Mode::Default, &[(Allow, "bash(make *)"), (Deny, "read(secret/**)")]));
        let wide = Narrowing {
            capabilities: Some(vec!["shell.arbitrary".to_owned(), "fs.read".to_owned()]),
            tools: None,
            mode: Some(Mode::Full),
        };
        let child = Arc::new(wide.under(&parent));
        let chain = [child, Arc::clone(&parent)];
        let verdict = |subject| judge(&subject, &chain).verdict.name();
        assert_eq!(verdict(bash("make x")), "allow");
        assert_eq!(verdict(bash("unknown x")), "ask");
        let mut secret = reading("/w/secret/k");
        secret.spec = with(&["fs.read"]).into();
        assert_eq!(verdict(secret), "deny");

        let narrow = [Arc::new(Narrowing::default().under(&parent)), parent];
        assert_eq!(judge(&bash("make x"), &narrow).verdict.name(), "deny");
    }
}
