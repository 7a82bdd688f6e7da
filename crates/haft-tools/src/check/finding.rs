//! What a runner found.

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Error,
    Warning,
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that a runner found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Finding {
    /// As the runner wrote it, relative to where it ran as far as it lies there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<u64>,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    /// The rule or error number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// The test that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test: Option<String>,
}

impl Finding {
    pub(crate) fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            column: None,
            severity,
            message: message.into(),
            code: None,
            test: None,
        }
    }

    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// A test that failed.
    pub(crate) fn of_test(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { test: Some(name.into()), ..Self::error(message) }
    }

    pub(crate) fn at(mut self, spot: Spot) -> Self {
        self.file = Some(spot.file);
        self.line = spot.line;
        self.column = spot.column;
        self
    }

    pub(crate) fn at_some(self, spot: Option<Spot>) -> Self {
        match spot {
            Some(spot) => self.at(spot),
            None => self,
        }
    }

    pub(crate) fn with_code(mut self, code: Option<String>) -> Self {
        self.code = code;
        self
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) file: String,
    pub(crate) line: Option<u64>,
    pub(crate) column: Option<u64>,
}

/// How many tests there were, as the runner said it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    /// Failures and errors.
    pub(crate) failed: u64,
    /// Skipped, ignored, pending and to do.
    pub(crate) skipped: u64,
}

impl Counts {
    /// Those that were executed.
    pub(crate) fn ran(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }

    /// The sum, where there is anything to sum.
    pub(crate) fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.plus(other)),
            (one, other) => one.or(other),
        }
    }
}

/// How much a linter, a type checker or a formatter found, as it said it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problems {
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
}

impl Problems {
    /// The sum, where there is anything to sum.
    pub(crate) fn sum(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(Self {
                errors: one.errors.saturating_add(other.errors),
                warnings: one.warnings.saturating_add(other.warnings),
            }),
            (one, other) => one.or(other),
        }
    }
}
