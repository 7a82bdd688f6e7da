//! Questions to people and their answers.

use crate::{BoxFuture, CallId, Effects, RealPath, Why};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// What a person is shown before a call runs.
///
/// `digest` covers what must still hold when it runs: the change shown, not the whole file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// A diff, or another text.
    pub text: String,
    /// What the text stands for; empty where nothing needs to hold.
    #[serde(skip)]
    pub digest: Vec<u8>,
}

/// One question.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The call it is about.
    pub call: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// The tool's name for people.
    pub label: String,
    /// The input that will run.
    pub input: Arc<Value>,
    /// What it will touch.
    pub effects: Effects<RealPath>,
    /// Whether it may change something.
    pub mutates: bool,
    /// Why it is asked.
    pub why: Vec<Why>,
    /// What will change.
    pub preview: Preview,
    /// What [`Answer::Session`] would allow; none where no rule is narrow enough, and then it allows this call only.
    pub session: Option<String>,
    /// Rules that "always" could save, narrowest first; the first is what [`Answer::Always`] should name by default.
    pub rules: Vec<String>,
}

/// What a person says.
///
/// Exhaustive on purpose: a new answer must break the desk at build time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Allow this call.
    Once,
    /// Allow calls like this until the session ends.
    Session,
    /// Allow by a saved rule, from now on.
    Always {
        /// The rule to save.
        rule: String,
    },
    /// Refuse; with feedback the model goes on and has it.
    Deny {
        /// What to do instead.
        feedback: Option<String>,
    },
    /// Refuse by a saved rule, from now on.
    DenyAlways {
        /// The rule to save.
        rule: String,
    },
    /// The question was closed without an answer: cancelled, nothing to remember.
    Dismissed,
}

/// What a running tool's source wants a person to fill in, or to look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Form {
    /// The call during which it is wanted.
    pub call: CallId,
    /// Who wants it, for people; written by strangers, as all below.
    pub source: Arc<str>,
    /// What it is about.
    pub message: String,
    /// JSON Schema of a flat object; an empty object where nothing is to be filled in.
    pub schema: Value,
    /// A page to open instead of filling anything in here.
    pub url: Option<String>,
}

/// What became of a form.
#[derive(Debug, Clone, PartialEq)]
pub enum Filled {
    /// Filled in; an object that fits the schema. Empty for a page that is opened.
    Accepted(Value),
    /// Refused.
    Declined,
    /// Closed without a word, or nobody answered in time.
    Dismissed,
}

/// Somebody who can answer: a terminal, a web page, an MCP client.
///
/// Dropping the future withdraws the question.
pub trait Approver: Send + Sync {
    /// Whether anybody is there; where not, a question is a denial at once.
    fn is_present(&self) -> bool {
        true
    }

    /// Whether anybody is there for this call's questions: a host with several clients tells them apart.
    fn is_present_for(&self, _call: &CallId) -> bool {
        self.is_present()
    }

    /// Puts the question and waits.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;

    /// Puts a form and waits; where nobody can fill it in, it is declined.
    fn fill(&self, _form: Form) -> BoxFuture<'_, Filled> {
        Box::pin(std::future::ready(Filled::Declined))
    }
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn is_present(&self) -> bool {
        false
    }

    fn ask(&self, _: Question) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready(Answer::Deny { feedback: None }))
    }
}
