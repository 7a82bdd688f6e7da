//! What the manifests of JavaScript and Python projects say; pure.

use super::plan::Manager;
use haft_core::without_bom;
use serde_json::Value;
use std::collections::BTreeSet;

/// What npm writes into a new package in place of tests.
const NO_TESTS: &str = "no test specified";

/// What a `package.json` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Package {
    /// The names of its scripts.
    pub(super) scripts: BTreeSet<String>,
    /// The manager that it names.
    pub(super) manager: Option<Manager>,
}

impl Package {
    /// # Errors
    /// What is wrong with it where it isn't JSON, with its line and column.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(without_bom(text)).map_err(|error| error.to_string())?;
        let scripts = value.get("scripts").and_then(Value::as_object).into_iter().flatten();
        let is_real = |script: &Value| script.as_str().is_some_and(|script| !script.contains(NO_TESTS));
        let scripts = scripts.filter(|(_, script)| is_real(script)).map(|(name, _)| name.clone()).collect();
        let named = value.get("packageManager").and_then(Value::as_str).unwrap_or_default();
        let named = named.split('@').next().unwrap_or_default();
        let manager = Manager::ALL.into_iter().find(|manager| manager.name() == named);
        Ok(Self { scripts, manager })
    }
}

/// The lock files of each manager.
pub(super) const LOCKS: [(&str, Manager); 6] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

/// What a Python project's files show of its tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PythonTools {
    pub(super) pytest: bool,
    pub(super) ruff: bool,
    pub(super) mypy: bool,
}

impl PythonTools {
    /// What one file shows.
    pub(super) fn of(name: &str, text: &str) -> Self {
        let has_table = |table: &str| text.lines().any(|line| line.trim_start().starts_with(table));
        match name {
            "pytest.ini" | ".pytest.ini" => Self { pytest: true, ..Self::default() },
            "ruff.toml" | ".ruff.toml" => Self { ruff: true, ..Self::default() },
            "mypy.ini" | ".mypy.ini" => Self { mypy: true, ..Self::default() },
            "tox.ini" => Self { pytest: has_table("[pytest]"), ..Self::default() },
            "setup.cfg" => Self { pytest: has_table("[tool:pytest]"), mypy: has_table("[mypy"), ruff: false },
            "pyproject.toml" => Self {
                // Also where it is only among what the project depends on.
                pytest: has_table("[tool.pytest") || text.contains("\"pytest") || text.contains("'pytest"),
                ruff: has_table("[tool.ruff"),
                mypy: has_table("[tool.mypy"),
            },
            "conftest.py" => Self { pytest: true, ..Self::default() },
            // A requirement a line.
            "requirements.txt" | "requirements-dev.txt" | "dev-requirements.txt" => {
                Self { pytest: has_table("pytest"), ..Self::default() }
            }
            // A file with tests.
            _ => Self { pytest: has_table("import pytest") || has_table("from pytest "), ..Self::default() },
        }
    }

    #[must_use]
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            pytest: self.pytest || other.pytest,
            ruff: self.ruff || other.ruff,
            mypy: self.mypy || other.mypy,
        }
    }
}

/// The files that show which tools a Python project uses.
pub(super) const PYTHON_SETTINGS: [&str; 13] = [
    "pyproject.toml",
    "pytest.ini",
    ".pytest.ini",
    "setup.cfg",
    "tox.ini",
    "conftest.py",
    "ruff.toml",
    ".ruff.toml",
    "mypy.ini",
    ".mypy.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
];

/// Whether a file holds tests by its name.
pub(super) fn is_python_test(name: &str) -> bool {
    let stem = name.strip_suffix(".py");
    stem.is_some_and(|stem| stem.starts_with("test") || stem.ends_with("_test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_its_scripts_and_manager() {
        let package = Package::read(
            r#"{"packageManager": "pnpm@9.1.0", "scripts": {"lint": "eslint .",
                "test": "echo \"Error: no test specified\" && exit 1"}}"#,
        );
        let package = package.unwrap();
        assert_eq!(package.scripts.into_iter().collect::<Vec<_>>(), ["lint"]);
        assert_eq!(package.manager, Some(Manager::Pnpm));
        assert_eq!(Package::read("{}"), Ok(Package::default()));
        let problem = Package::read("{\n  \"scripts\": {,}\n}").unwrap_err();
        assert!(problem.contains("at line 2 column"), "{problem}");
    }

    #[test]
    fn settings_show_the_tools() {
        let pytest = |name, text| PythonTools::of(name, text).pytest;
        assert!(pytest("pyproject.toml", "[tool.pytest.ini_options]\n"));
        assert!(pytest("pyproject.toml", "dev = [\"pytest>=8\"]\n"));
        assert!(!pytest("pyproject.toml", "[project]\nname = \"x\"\n"));
        assert!(pytest("setup.cfg", "[tool:pytest]\n") && !pytest("setup.cfg", "[metadata]\n"));
        assert!(
            pytest("test_a.py", "import os\nimport pytest\n") && !pytest("test_a.py", "import unittest\n")
        );
        assert!(PythonTools::of("pyproject.toml", "[tool.ruff.lint]\n").ruff);
        assert!(PythonTools::of("setup.cfg", "[mypy]\n").mypy);
    }
}
