//! What a session has taken in, and what that means for what it may send.

use crate::{
    Action, Match, Policy, Rule, RuleOrigin, Subject,
    command::{is_among, is_downloader},
    guard::{sensitive_read, ways_out},
};
use haft_core::CallId;
use serde::{Deserialize, Serialize};

/// What becomes of a call that would send something out of a session that holds private data and strangers' words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Taint {
    /// Nothing.
    Off,
    /// It runs, and a warning says so.
    Warn,
    /// A person is asked.
    #[default]
    Ask,
    /// It is refused.
    Deny,
}

/// One reason for a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The call whose result set it.
    pub call: CallId,
    /// The tool and what it took in, for people: `read .env`, `fetch example.com`.
    pub what: String,
}

/// The two marks of a session, and what a person has allowed in spite of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Marks {
    /// Private data was read.
    pub private: Vec<Mark>,
    /// Strangers' words were read.
    pub untrusted: Vec<Mark>,
    /// Ways out that a person allowed for the session, each with the marks it was allowed for.
    pub covered: Vec<Covered>,
}

impl Marks {
    /// Whether a person allowed this way out for just the marks there are now.
    pub fn covers(&self, way: &str) -> bool {
        self.covered.iter().any(|covered| {
            covered.way == way
                && covered.private >= self.private.len()
                && covered.untrusted >= self.untrusted.len()
        })
    }
}

/// A way out that a person allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Covered {
    /// The host, or the tool where it names none.
    pub way: String,
    /// How many reasons each mark had: a later one asks again.
    pub private: usize,
    /// As `private`.
    pub untrusted: usize,
}

/// What a call takes into its session by running, before its files are looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenIn {
    /// The private data it reads, in words.
    pub private: Option<String>,
    /// The strangers' words it brings, in words.
    pub untrusted: Option<String>,
}

/// What a call takes in: a sensitive read, a path or tool that the user marked, what a source of strangers' words
/// returns, what a command downloads.
pub fn taken_in(subject: &Subject, policy: &Policy) -> TakenIn {
    let marked = |list: &[String]| {
        let text = list.iter().find(|text| is_meant(text, subject, policy))?;
        // Two files under one rule are two reasons.
        let path = subject.path_uses().into_iter().find_map(|used| used.names.into_iter().next());
        let path = path.map(|path| format!(" {path}")).unwrap_or_default();
        Some(format!("{}{path} ({text})", subject.tool))
    };
    let private = sensitive_read(subject).map(|path| format!("{} {path}", subject.tool));
    let is_download = subject
        .command_lines()
        .iter()
        .any(|line| line.line.commands.iter().any(|command| command.program().is_some_and(brings_words)));
    let untrusted = (subject.spec.untrusted_source || is_download).then(|| {
        let from = ways_out(subject).into_iter().next().unwrap_or_default();
        format!("{} {from}", subject.tool).trim_end().to_owned()
    });
    TakenIn {
        private: private.or_else(|| marked(&policy.private)),
        untrusted: untrusted.or_else(|| marked(&policy.untrusted)),
    }
}

/// Whether a program prints what strangers wrote.
fn brings_words(program: &str) -> bool {
    is_downloader(program) || is_among(BROWSERS, program)
}

/// Programs that print what strangers wrote, besides those whose output would be run as it comes.
const BROWSERS: &str = "w3m links elinks gh glab ftp sftp";

/// Whether a rule without a verdict covers the call; one that doesn't parse covers everything.
fn is_meant(text: &str, subject: &Subject, policy: &Policy) -> bool {
    let workspace = policy.workspace.absolute();
    let home = policy.home.clone();
    let at = RuleOrigin { folder: workspace.clone(), workspace, home, source: None };
    Rule::parse(Action::Ask, text, &at).map_or(true, |rule| rule.matches(subject) == Match::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Mode,
        sample::{bash, policy, reading, subject},
    };
    use haft_core::{Effects, Touch};

    #[test]
    fn what_a_call_takes_in() {
        let mut policy = policy(Mode::Default, &[]);
        policy.private = vec!["read(./customers/**)".to_owned()];
        policy.untrusted = vec!["read(./inbox/**)".to_owned(), "mail".to_owned()];
        let taken = |subject: &Subject| {
            let taken = taken_in(subject, &policy);
            (taken.private.is_some(), taken.untrusted.is_some())
        };
        assert_eq!(taken(&reading("/w/a")), (false, false));
        assert_eq!(taken(&reading("/w/.env")), (true, false));
        assert_eq!(taken(&reading("/w/customers/a")), (true, false));
        assert_eq!(taken(&reading("/w/inbox/a")), (false, true));
        assert_eq!(taken(&bash("cat .env")), (true, false));
        assert_eq!(taken(&bash("curl https://a.example")), (false, true));
        assert_eq!(taken(&bash("lwp-request https://a.example")), (false, true));
        assert_eq!(taken(&bash("gh issue view 1")), (false, true));
        assert_eq!(taken(&bash("ls")), (false, false));
        assert_eq!(taken(&subject("mail", Effects::none())), (false, true));
        let mut fetch = subject("fetch", Effects::Only(vec![Touch::Host("a.example".into())]));
        let mut spec = (*fetch.spec).clone();
        spec.untrusted_source = true;
        fetch.spec = spec.into();
        assert_eq!(taken_in(&fetch, &policy).untrusted.as_deref(), Some("fetch a.example"));
    }
}
