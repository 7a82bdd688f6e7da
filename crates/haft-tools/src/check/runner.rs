//! What can be checked, and by whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Kind {
    Test,
    Lint,
    Format,
    Typecheck,
    Build,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Lint => "lint",
            Self::Format => "format",
            Self::Typecheck => "typecheck",
            Self::Build => "build",
        }
    }
}

/// Who checks it. `npm` stands for whichever manager the project's lock file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Runner {
    Cargo,
    Npm,
    Pytest,
    Unittest,
    Ruff,
    Mypy,
    Go,
    Ctest,
    Maven,
    Gradle,
    Make,
    Just,
}

impl Runner {
    /// In the order in which they run.
    pub(crate) const ALL: [Self; 12] = [
        Self::Cargo,
        Self::Npm,
        Self::Pytest,
        Self::Unittest,
        Self::Ruff,
        Self::Mypy,
        Self::Go,
        Self::Ctest,
        Self::Maven,
        Self::Gradle,
        Self::Make,
        Self::Just,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Ruff => "ruff",
            Self::Mypy => "mypy",
            Self::Go => "go",
            Self::Ctest => "ctest",
            Self::Maven => "maven",
            Self::Gradle => "gradle",
            Self::Make => "make",
            Self::Just => "just",
        }
    }

    /// Whether it only starts others, so that it runs where none of those is found: else most tests would run twice.
    pub(crate) fn is_wrapper(self) -> bool {
        matches!(self, Self::Make | Self::Just)
    }

    /// Whether all that it finds is read, so that nothing found is nothing there. Not so where it starts others.
    pub(crate) fn is_understood(self, kind: Kind) -> bool {
        match self {
            Self::Cargo | Self::Ruff | Self::Mypy | Self::Go => true,
            Self::Pytest | Self::Unittest => kind == Kind::Test,
            Self::Npm | Self::Ctest | Self::Maven | Self::Gradle | Self::Make | Self::Just => false,
        }
    }

    /// Whether its standard output is lines of JSON, which nobody reads as they come.
    pub(crate) fn speaks_json(self) -> bool {
        matches!(self, Self::Cargo | Self::Go)
    }

    /// What makes a project one of its own, for texts.
    pub(crate) fn manifest(self) -> &'static str {
        match self {
            Self::Cargo => "Cargo.toml",
            Self::Npm => "package.json with a fitting script",
            Self::Pytest => {
                "pytest settings (pytest.ini, pyproject.toml, setup.cfg, tox.ini) or tests that import pytest"
            }
            Self::Unittest => "Python tests (test*.py, tests/)",
            Self::Ruff => "ruff settings (ruff.toml, pyproject.toml)",
            Self::Mypy => "mypy settings (mypy.ini, pyproject.toml, setup.cfg)",
            Self::Go => "go.mod",
            Self::Ctest => "CMakeLists.txt with a configured build folder (build, _build, cmake-build-debug)",
            Self::Maven => "pom.xml",
            Self::Gradle => "build.gradle or build.gradle.kts",
            Self::Make => "Makefile with a fitting target",
            Self::Just => "justfile with a fitting recipe",
        }
    }

    /// How one gets it.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Cargo => "install Rust with rustup",
            Self::Npm => "install Node.js and the package manager, then the project's dependencies",
            Self::Pytest => "install it with `pip install pytest`, in the project's .venv where it has one",
            Self::Unittest => "install Python 3",
            Self::Ruff => "install it with `pip install ruff`",
            Self::Mypy => "install it with `pip install mypy`",
            Self::Go => "install Go",
            Self::Ctest => "install CMake",
            Self::Maven => "install Maven, or add the wrapper mvnw",
            Self::Gradle => "install Gradle, or add the wrapper gradlew",
            Self::Make => "install make",
            Self::Just => "install just",
        }
    }
}
