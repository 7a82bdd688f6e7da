//! One request to run one tool, and how it ended.

use crate::{Failure, FailureKind, Output};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

/// A call's place in the tree of calls: `3`, and `3.1` for the first call made inside it.
///
/// Its order is the order of effects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub Arc<[u64]>);

impl CallId {
    /// The nth call of a session, from 1.
    pub fn outer(number: u64) -> Self {
        Self(Arc::from([number]))
    }

    /// The nth call made inside this one, from 1.
    #[must_use]
    pub fn inner(&self, number: u64) -> Self {
        Self(self.0.iter().copied().chain([number]).collect())
    }

    /// Whether this call was made inside `other`, at any depth.
    pub fn is_inside(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }

    /// Reads the form that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
        parts.filter(|parts| !parts.is_empty()).map(|parts| Self(parts.into()))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            write!(f, "{part}")?;
        }
        Ok(())
    }
}

impl Serialize for CallId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("\"{text}\" is no call id")))
    }
}

/// What a host asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The tool's name as the caller wrote it.
    pub tool: String,
    /// The argument text as it came.
    pub input: Input,
    /// The model's turn, for the budget over all results of one turn.
    pub turn: Option<u64>,
    /// The caller's own id for the call (a provider's or a client's), kept in the log.
    pub foreign_id: Option<String>,
}

/// The argument text, or the fact that it never came whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The whole text, JSON unless the model erred.
    Text(String),
    /// Cut by an output limit: never run, never completed.
    CutOff(String),
}

impl Request {
    /// A request outside any turn.
    pub fn new(tool: impl Into<String>, input: impl Into<String>) -> Self {
        Self { tool: tool.into(), input: Input::Text(input.into()), turn: None, foreign_id: None }
    }

    /// The same request as part of a turn.
    #[must_use]
    pub fn in_turn(mut self, turn: u64) -> Self {
        self.turn = Some(turn);
        self
    }
}

/// Where a decision came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// The gate that spoke, for example `deny` or `mode`.
    pub gate: Cow<'static, str>,
    /// In words.
    pub reason: String,
    /// The rule as it was written.
    pub rule: Option<String>,
    /// Where it was written, `path:line`.
    pub source: Option<String>,
}

impl Why {
    /// A decision without a written rule.
    pub fn new(gate: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self { gate: gate.into(), reason: reason.into(), rule: None, source: None }
    }
}

/// How a call ended; exactly one per call id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// The tool returned.
    Completed,
    /// The tool failed.
    Failed {
        /// What kind of fault.
        kind: FailureKind,
    },
    /// A gate or a person refused.
    Denied {
        /// The gate, the reason, the rule.
        why: Why,
        /// What the person said to do instead.
        feedback: Option<String>,
    },
    /// The input was refused before anything was judged.
    Invalid,
    /// There is no such tool.
    Unknown,
    /// The tool's time ran out.
    TimedOut,
    /// Stopped by the user or the end of the run.
    Cancelled,
    /// The process died; found on resume.
    Interrupted,
}

impl Outcome {
    /// The wire name, as in the contract.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Denied { .. } => "denied",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the tool returned.
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }
}

/// One line of the trace: which step or gate said what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceStep {
    /// One of the twelve steps, or `guard:<name>`, `settler:<name>`.
    pub step: Cow<'static, str>,
    /// `ok`, `allow`, `ask`, `deny` or a step's own word.
    pub verdict: Cow<'static, str>,
    /// In words.
    pub reason: Option<Cow<'static, str>>,
    /// The rule as it was written.
    pub rule: Option<String>,
    /// Where it was written, `path:line`.
    pub source: Option<String>,
}

impl TraceStep {
    /// A step without a reason.
    pub fn new(step: impl Into<Cow<'static, str>>, verdict: impl Into<Cow<'static, str>>) -> Self {
        Self { step: step.into(), verdict: verdict.into(), reason: None, rule: None, source: None }
    }

    /// Adds the reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// A gate's word.
    pub fn gate(step: impl Into<Cow<'static, str>>, verdict: &'static str, why: &Why) -> Self {
        Self {
            step: step.into(),
            verdict: verdict.into(),
            reason: Some(why.reason.clone().into()),
            rule: why.rule.clone(),
            source: why.source.clone(),
        }
    }
}

/// A call that is over.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// Its id.
    pub call: CallId,
    /// The tool's own name, or the name asked for where there is none.
    pub tool: Arc<str>,
    /// Who registered the tool.
    pub owner: Option<Arc<str>>,
    /// How it ended.
    pub outcome: Outcome,
    /// What the model gets; for anything but `completed` the text says what went wrong and what would fix it.
    pub output: Output,
    /// The failure, apart from its text.
    pub failure: Option<Failure>,
    /// Each step's word.
    pub trace: Vec<TraceStep>,
    /// Time from request to end, waiting for people included.
    pub duration: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_calls_order_before_later_siblings() {
        let (third, fourth) = (CallId::outer(3), CallId::outer(4));
        let inner = third.inner(1);
        assert!(third < inner && inner < fourth);
        assert!(inner.is_inside(&third) && !inner.is_inside(&fourth) && !third.is_inside(&third));
        assert_eq!(CallId::parse(&inner.to_string()), Some(inner));
        assert_eq!(CallId::parse(""), None);
    }
}
