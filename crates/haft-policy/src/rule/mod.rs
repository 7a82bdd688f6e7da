//! Written rules: parsed once, then matched against calls.
//!
//! Rules that allow are matched strictly (all that the call touches must be covered), rules that deny or ask
//! loosely (anything that is covered counts, and what can't be read may be covered).

mod choices;
mod command;
mod error;
mod matching;
mod param;
mod parse;
mod path;
mod running;
mod tool;

pub use choices::rule_choices;
pub use error::RuleError;

use crate::{JudgedPath, Simple, Subject, wild::Wild};
use command::CommandPattern;
use haft_core::{RealPath, Risk, Spec, Why};
use param::{HostPattern, ParamPattern};
use path::PathPattern;
pub(crate) use tool::ToolPattern;
pub use tool::stands_for;

/// Which list a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Runs without a question.
    Allow,
    /// Is asked.
    Ask,
    /// Is refused.
    Deny,
}

impl Action {
    /// The name of its list in settings: `allow`, `ask`, `deny`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Whether a rule speaks about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It does.
    Yes,
    /// It doesn't.
    No,
    /// It may: the call can't be read exactly. Never said by a rule that allows.
    Maybe,
}

/// Where a rule was written, and the folders that its paths are anchored to. All are real paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleOrigin {
    /// `path:line`.
    pub source: Option<String>,
    /// The workspace root, for `./x` and `x`.
    pub workspace: String,
    /// The user's home, for `~/x`.
    pub home: Option<String>,
    /// The folder of the rule's file, for `/x`.
    pub folder: String,
}

/// One rule of a list.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The list it stands in; `Deny` for one that doesn't parse.
    pub action: Action,
    /// As it was written.
    pub text: String,
    /// Where it was written, `path:line`.
    pub source: Option<String>,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    /// A whole tool.
    Tool(ToolPattern),
    /// A tool's calls that touch these paths.
    Paths(ToolPattern, PathPattern),
    /// A tool's calls that run these commands.
    Commands(ToolPattern, CommandPattern),
    /// A tool's calls that contact these hosts.
    Hosts(ToolPattern, HostPattern),
    /// Calls with this value in their input, of one tool or of all.
    Param(Option<ToolPattern>, ParamPattern),
    /// Tools with this capability.
    Capability(Wild),
    /// Tools of this category.
    Category(Wild),
    /// Calls of this risk.
    Risk(Risk),
    /// What doesn't parse, with the tool that could still be read from it.
    Broken(Option<ToolPattern>, String),
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// What is wrong with it; make it a [`Rule::broken`] then, so that it isn't dropped silently.
    pub fn parse(action: Action, text: &str, at: &RuleOrigin) -> Result<Self, RuleError> {
        let matcher = parse::matcher(text, at)?;
        Ok(Self { action, text: text.trim().to_owned(), source: at.source.clone(), matcher })
    }

    /// A rule that doesn't parse: it denies its tool, whichever list it stands in.
    ///
    /// Where not even a tool's name can be read from it, it denies nothing, but is still listed with its
    /// [`Rule::problem`].
    #[must_use]
    pub fn broken(action: Action, text: &str, at: &RuleOrigin, error: &RuleError) -> Self {
        let problem = format!("under {}: {error}", action.name());
        let matcher = Matcher::Broken(parse::readable_tool(text), problem);
        Self { action: Action::Deny, text: text.trim().to_owned(), source: at.source.clone(), matcher }
    }

    /// What is wrong with a broken rule.
    pub fn problem(&self) -> Option<&str> {
        match &self.matcher {
            Matcher::Broken(_, problem) => Some(problem),
            _ => None,
        }
    }

    /// Whether it speaks about the call.
    pub fn matches(&self, subject: &Subject) -> Match {
        self.matcher.test(self.action, subject)
    }

    /// Whether this allow rule covers one command of a line.
    pub(crate) fn allows_command(&self, subject: &Subject, simple: &Simple) -> bool {
        self.action == Action::Allow && self.matcher.allows_command(subject, simple)
    }

    /// Whether this allow rule covers a file that a line writes by redirection.
    pub(crate) fn allows_write(&self, path: &JudgedPath) -> bool {
        self.action == Action::Allow && self.matcher.allows_write(path)
    }

    /// Whether it speaks about every call of a tool, whatever the input.
    pub(crate) fn covers_tool(&self, spec: &Spec, tool: &str) -> bool {
        match &self.matcher {
            Matcher::Tool(tools) | Matcher::Broken(Some(tools), _) => {
                tools.names(tool, spec, true) || tools.names_family_member(tool)
            }
            Matcher::Capability(tag) => spec.capabilities.iter().any(|own| tag.matches(own)),
            Matcher::Category(category) => category.matches(&spec.category),
            _ => false,
        }
    }

    /// Whether it covers reading a path by whatever tool, so that a walk leaves it out.
    pub(crate) fn covers_read(&self, path: &RealPath) -> bool {
        match &self.matcher {
            Matcher::Tool(tools) | Matcher::Broken(Some(tools), _) => tools.is_read_family(),
            Matcher::Paths(tools, pattern) => {
                tools.is_read_family() && pattern.covers(&path.absolute(), true)
            }
            _ => false,
        }
    }

    /// The one file or folder whose reading it covers whole; none where it covers more, or nothing.
    pub(crate) fn read_place(&self) -> Option<String> {
        match &self.matcher {
            Matcher::Paths(tools, pattern) if tools.is_read_family() => pattern.place(),
            _ => None,
        }
    }

    /// Whether it covers writing a path by whatever tool, so that what changes a whole tree leaves it out.
    pub(crate) fn covers_write(&self, path: &RealPath) -> bool {
        match &self.matcher {
            Matcher::Tool(tools) | Matcher::Broken(Some(tools), _) => tools.is_edit_family(),
            Matcher::Paths(tools, pattern) => {
                tools.is_edit_family() && pattern.covers(&path.absolute(), true)
            }
            _ => false,
        }
    }

    /// Whether it asks or denies by path.
    pub(crate) fn guards_paths(&self) -> bool {
        self.action != Action::Allow && matches!(self.matcher, Matcher::Paths(..))
    }

    /// A decision by this rule.
    pub(crate) fn why(&self, gate: &'static str, reason: String) -> Why {
        Why { gate: gate.into(), reason, rule: Some(self.text.clone()), source: self.source.clone() }
    }
}
