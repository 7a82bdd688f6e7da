//! A tool's failure as a value: what went wrong, what would fix it, and apart from that the operator's view.

use crate::{Outcome, Output};
use serde::{Deserialize, Serialize};

/// What kind of thing went wrong; decides the outcome and whether a retry can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The input can't be acted on.
    InvalidInput,
    /// What the input names doesn't exist.
    NotFound,
    /// The world (not haft's rules) refuses access.
    Permission,
    /// The world changed, or what is asked contradicts it.
    Conflict,
    /// Something needed isn't there now.
    Unavailable,
    /// Time ran out.
    Timeout,
    /// Cancelled before it was done.
    Cancelled,
    /// A fault of the tool itself.
    Internal,
}

/// Why a call gave no result.
///
/// `text` is for the model and says what went wrong and what would fix it; `diagnostic` is for the
/// operator and never reaches a model.
#[derive(Debug, Clone, Serialize, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// What kind of fault it is.
    pub kind: FailureKind,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// For the model: the fault and the next step.
    pub text: String,
    /// For the operator only.
    #[serde(skip)]
    pub diagnostic: Option<String>,
    /// What there was before it failed, shown to the model after the text.
    #[serde(skip)]
    pub partial: Option<Box<Output>>,
    /// How the one call inside ended, where the call that made it ends just so; it counts before `kind`.
    #[serde(skip)]
    pub inner: Option<Box<Outcome>>,
}

impl Failure {
    /// A failure with a text for the model. Timeouts and missing services count as retryable.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        let retryable = matches!(kind, FailureKind::Timeout | FailureKind::Unavailable);
        Self { kind, retryable, text: text.into(), diagnostic: None, partial: None, inner: None }
    }

    /// The input can't be acted on.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidInput, text)
    }

    /// What the input names isn't there.
    pub fn not_found(text: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, text)
    }

    /// The world changed, or contradicts the request.
    pub fn conflict(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Conflict, text)
    }

    /// A fault of the tool or the runtime.
    pub fn internal(text: impl Into<String>) -> Self {
        Self::new(FailureKind::Internal, text)
    }

    /// The call was cancelled.
    pub fn cancelled() -> Self {
        Self::new(FailureKind::Cancelled, "cancelled before it was done")
    }

    /// Adds what an operator needs to find the cause.
    #[must_use]
    pub fn diagnose(mut self, diagnostic: impl Into<String>) -> Self {
        self.diagnostic = Some(diagnostic.into());
        self
    }

    /// Adds the output there was before it failed.
    #[must_use]
    pub fn with_partial(mut self, output: Output) -> Self {
        self.partial = Some(Box::new(output));
        self
    }

    /// Has the call end as the one call that it made inside ended; one that completed changes nothing.
    #[must_use]
    pub fn with_inner(mut self, outcome: Outcome) -> Self {
        self.inner = Some(Box::new(outcome));
        self
    }
}
