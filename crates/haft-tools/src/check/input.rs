//! The input of `check`.

use super::{
    asked::Asked,
    plan::{Order, choices},
    runner::{Kind, Runner},
};
use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Longest time a call may take, in milliseconds.
pub(super) const TIMEOUT_MAX_MS: u64 = 1_800_000;
/// Time a call may take unless the caller says otherwise, in milliseconds.
const TIMEOUT_MS: u64 = 600_000;
/// So many paths are handed to a runner.
const PATHS_MAX: usize = 200;

/// What to check.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckInput {
    pub(crate) kind: Kind,
    /// Only these, relative to cwd; `FILE::NAME` for one test
    pub(crate) paths: Option<Vec<String>>,
    /// Rewrite files
    pub(crate) fix: Option<bool>,
    /// Default: all found
    pub(crate) runner: Option<Runner>,
    /// Folder of a sub-project
    pub(crate) cwd: Option<PathArg>,
    /// Milliseconds, default 600000
    #[schemars(range(min = 1, max = 1_800_000))]
    pub(crate) timeout: Option<u64>,
}

impl CheckInput {
    /// What is asked of every runner.
    pub(super) fn order(&self) -> Order<'_> {
        Order {
            kind: self.kind,
            fix: self.is_fix(),
            is_whole: self.cwd.is_none(),
            paths: self.paths.as_deref().unwrap_or_default(),
        }
    }

    pub(super) fn is_fix(&self) -> bool {
        self.fix.unwrap_or(false)
    }

    /// Whom to ask.
    pub(super) fn runners(&self) -> Vec<Runner> {
        match self.runner {
            Some(runner) => vec![runner],
            None => Runner::ALL.to_vec(),
        }
    }

    /// Where it runs, as the effects state it.
    pub(super) fn folder(&self) -> PathArg {
        self.cwd.clone().unwrap_or_else(|| PathArg::from("."))
    }

    /// The files and folders of `paths`, as the effects state them: a test's name within a file is left out.
    pub(super) fn stated_paths(&self) -> Vec<PathArg> {
        let folder = self.cwd.as_ref().map(|cwd| cwd.0.trim_end_matches('/'));
        let within = |path: &String| {
            let path = Asked::of(path).file?;
            Some(match folder {
                Some(folder) if !path.starts_with(['/', '~']) => PathArg(format!("{folder}/{path}")),
                _ => PathArg(path.to_owned()),
            })
        };
        self.paths.iter().flatten().filter_map(within).collect()
    }

    /// When everything is stopped.
    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.timeout.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MAX_MS))
    }

    /// Checks what a schema can't say.
    ///
    /// # Errors
    /// Invalid input, with what would be right.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let paths = self.paths.as_deref().unwrap_or_default();
        if paths.len() > PATHS_MAX {
            return Err(Failure::invalid(format!(
                "/paths has more than {PATHS_MAX} entries; name their folders instead"
            )));
        }
        let is_odd = |path: &&String| {
            let is_odd_part = |part: &str| part.trim().is_empty() || part.starts_with('-');
            path.starts_with('~')
                || path.contains(|c: char| c.is_control())
                || path.split("::").any(is_odd_part)
        };
        if let Some(path) = paths.iter().find(is_odd) {
            return Err(Failure::invalid(format!(
                "/paths must be names of files or folders, without a leading dash or tilde, and one is {path:?}"
            )));
        }
        if self.timeout.is_some_and(|timeout| !(1..=TIMEOUT_MAX_MS).contains(&timeout)) {
            return Err(Failure::invalid(format!("/timeout must be 1 to {TIMEOUT_MAX_MS} milliseconds")));
        }
        let kind = self.kind.name();
        if self.is_fix() && !matches!(self.kind, Kind::Lint | Kind::Format) {
            return Err(Failure::invalid(format!(
                "/fix is for kind lint and format, and nothing fixes a {kind}; leave fix out"
            )));
        }
        let Some(runner) = self.runner else { return Ok(()) };
        if choices(runner, &self.order()).is_empty() {
            let name = runner.name();
            let is_fix_alone =
                self.is_fix() && !choices(runner, &Order { fix: false, ..self.order() }).is_empty();
            return Err(Failure::invalid(if is_fix_alone {
                format!(
                    "/fix: {name} has no option that fixes what {kind} finds; leave fix out and edit the files"
                )
            } else {
                let able: Vec<&str> = Runner::ALL
                    .into_iter()
                    .filter(|other| !choices(*other, &self.order()).is_empty())
                    .map(Runner::name)
                    .collect();
                format!("/runner: {name} has no {kind}; {} have, or leave runner out", able.join(", "))
            }));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn input(value: Value) -> CheckInput {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_no_runner_takes_is_refused_with_what_would_be_right() {
        for (value, says) in [
            (json!({"kind": "test", "fix": true}), "leave fix out"),
            (json!({"kind": "lint", "fix": true, "runner": "go"}), "no option that fixes"),
            (json!({"kind": "lint", "runner": "pytest"}), "pytest has no lint; cargo, npm,"),
            (json!({"kind": "test", "paths": ["-x"]}), "/paths must be"),
            (json!({"kind": "test", "paths": [" "]}), "/paths must be"),
            (json!({"kind": "test", "paths": ["a.rs::--nocapture"]}), "/paths must be"),
            (json!({"kind": "test", "paths": ["a.rs::"]}), "/paths must be"),
            (json!({"kind": "test", "timeout": 1_800_001}), "/timeout must be"),
        ] {
            let failure = input(value.clone()).check().unwrap_err();
            assert!(failure.text.contains(says), "{value}: {failure}");
        }
        for value in [
            json!({"kind": "test"}),
            json!({"kind": "format", "fix": true}),
            json!({"kind": "format", "fix": true, "runner": "go"}),
            json!({"kind": "test", "fix": false, "runner": "make", "paths": ["a b"]}),
        ] {
            assert!(input(value.clone()).check().is_ok(), "{value}");
        }
    }

    #[test]
    fn paths_are_stated_from_the_workspace_root() {
        let stated = |value| input(value).stated_paths();
        let paths = json!(["a.py::T::test_x", "/abs"]);
        assert_eq!(
            stated(json!({"kind": "test", "paths": paths})),
            [PathArg::from("a.py"), PathArg::from("/abs")]
        );
        assert_eq!(
            stated(json!({"kind": "test", "paths": paths, "cwd": "sub/"})),
            [PathArg::from("sub/a.py"), PathArg::from("/abs")]
        );
        assert!(stated(json!({"kind": "test"})).is_empty());
        // A test's name alone is no path.
        assert!(stated(json!({"kind": "test", "paths": ["parser::tests::bad"]})).is_empty());
    }

    #[test]
    fn the_deadline_has_a_default() {
        assert_eq!(input(json!({"kind": "test"})).deadline(), Duration::from_secs(600));
        assert_eq!(input(json!({"kind": "test", "timeout": 5})).deadline(), Duration::from_millis(5));
    }
}
