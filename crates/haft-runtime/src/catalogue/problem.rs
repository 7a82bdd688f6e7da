//! What is wrong with a tool, a folder or a setting, and what would fix it.

use serde::Serialize;
use std::fmt;

/// A fault that took one thing out and left all others usable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Who brought it: an owner, or a settings scope.
    pub source: String,
    /// The file it is in.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
    /// What would fix it.
    pub fix: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "{path}:{line}: ")?,
            (Some(path), None) => write!(f, "{path}: ")?,
            (None, _) => write!(f, "{}: ", self.source)?,
        }
        write!(f, "{}\n  fix: {}", self.text, self.fix)
    }
}
