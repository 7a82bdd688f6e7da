//! What `diff` takes.

use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;

/// Lines around a change unless given.
const CONTEXT_LINES: u32 = 3;
/// Lines around a change at most.
const CONTEXT_MAX_LINES: u32 = 100;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffInput {
    /// First of two files
    a: Option<PathArg>,
    /// Second of two files
    b: Option<PathArg>,
    /// Git: what is staged
    staged: Option<bool>,
    /// Git: only these files or folders
    paths: Option<Vec<String>>,
    /// Lines around each change, 3 unless given
    context: Option<u32>,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared<'a> {
    /// Two files.
    Files(&'a PathArg, &'a PathArg),
    /// States that git knows.
    Git {
        /// The index with the last commit, or the working tree with the index.
        staged: bool,
        /// Only these.
        paths: &'a [String],
    },
}

impl DiffInput {
    /// What the fields ask for together.
    ///
    /// # Errors
    /// Invalid input where they don't go together.
    pub(crate) fn compared(&self) -> Result<Compared<'_>, Failure> {
        match (&self.a, &self.b) {
            (Some(a), Some(b)) => {
                if self.staged.is_some() || self.paths.is_some() {
                    return Err(Failure::invalid(
                        "/staged and /paths are for git; with two files give only /a, /b and /context",
                    ));
                }
                Ok(Compared::Files(a, b))
            }
            (None, None) => Ok(Compared::Git {
                staged: self.staged.unwrap_or(false),
                paths: self.paths.as_deref().unwrap_or_default(),
            }),
            _ => Err(Failure::invalid(
                "/a and /b go together; for the changes of one file that git knows, name it in /paths",
            )),
        }
    }

    /// Lines around a change.
    pub(crate) fn context(&self) -> usize {
        usize::try_from(self.context.unwrap_or(CONTEXT_LINES).min(CONTEXT_MAX_LINES)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn input(value: Value) -> DiffInput {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn either_two_files_or_git() {
        let (a, b) = (PathArg::from("x"), PathArg::from("y"));
        assert_eq!(input(json!({"a": "x", "b": "y"})).compared().unwrap(), Compared::Files(&a, &b));
        let git = Compared::Git { staged: true, paths: &["p".to_owned()] };
        assert_eq!(input(json!({"staged": true, "paths": ["p"]})).compared().unwrap(), git);
        assert!(input(json!({"a": "x"})).compared().unwrap_err().text.contains("go together"));
        assert!(input(json!({"a": "x", "b": "y", "staged": true})).compared().is_err());
        assert_eq!((input(json!({})).context(), input(json!({"context": 900})).context()), (3, 100));
    }
}
