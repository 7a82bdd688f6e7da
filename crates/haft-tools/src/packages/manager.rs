//! The package managers, and the files by which each is known.

use haft_core::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Manager {
    Cargo,
    Npm,
    Pnpm,
    Yarn,
    Uv,
    Pip,
    Go,
}

/// What is found in a folder, surest first: lock files, then manifests.
const LOCKS: &[(&str, Manager)] = &[
    ("Cargo.lock", Manager::Cargo),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("uv.lock", Manager::Uv),
    ("go.sum", Manager::Go),
];
const MANIFESTS: &[(&str, Manager)] = &[
    ("Cargo.toml", Manager::Cargo),
    ("package.json", Manager::Npm),
    ("pyproject.toml", Manager::Uv),
    ("requirements.txt", Manager::Pip),
    ("go.mod", Manager::Go),
];

impl Manager {
    /// The program.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Uv => "uv",
            Self::Pip => "pip",
            Self::Go => "go",
        }
    }

    /// The files that it keeps in a project: the manifest first.
    pub(super) fn files(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["Cargo.toml", "Cargo.lock"],
            Self::Npm => &["package.json", "package-lock.json", "npm-shrinkwrap.json"],
            Self::Pnpm => &["package.json", "pnpm-lock.yaml"],
            Self::Yarn => &["package.json", "yarn.lock"],
            Self::Uv => &["pyproject.toml", "uv.lock"],
            Self::Pip => &["requirements.txt"],
            Self::Go => &["go.mod", "go.sum"],
        }
    }

    /// Whether it is one of those for JavaScript.
    pub(super) fn is_of_node(self) -> bool {
        matches!(self, Self::Npm | Self::Pnpm | Self::Yarn)
    }

    /// The manager of a folder with these files.
    ///
    /// # Errors
    /// Not found where none is known by them; a conflict where several are.
    pub(super) fn of_folder(names: &[String]) -> Result<Self, Failure> {
        let found = |table: &[(&str, Self)]| -> Vec<Self> {
            let hits = table.iter().filter(|(file, _)| names.iter().any(|name| name == file));
            let mut managers: Vec<Self> = hits.map(|(_, manager)| *manager).collect();
            managers.sort_unstable();
            managers.dedup();
            managers
        };
        let (locks, manifests) = (found(LOCKS), found(MANIFESTS));
        // A manifest counts beside a lock file only where no lock of its language stands there.
        let is_new = |manager: &&Self| !locks.iter().any(|lock| lock.language() == manager.language());
        let mut all: Vec<Self> = locks.clone();
        all.extend(manifests.iter().filter(is_new));
        match all.as_slice() {
            [one] => Ok(*one),
            [] => Err(Failure::not_found(
                "no manifest or lock file of a known manager is in that folder; name the folder as cwd, or the \
                 manager",
            )),
            several => {
                let names: Vec<&str> = several.iter().map(|manager| manager.name()).collect();
                Err(Failure::conflict(format!(
                    "the folder has files of {}; name one of them as manager",
                    names.join(", ")
                )))
            }
        }
    }

    fn language(self) -> u8 {
        match self {
            Self::Cargo => 0,
            Self::Npm | Self::Pnpm | Self::Yarn => 1,
            Self::Uv | Self::Pip => 2,
            Self::Go => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_known_by_its_lock_else_by_its_manifest() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Manager::of_folder(&names).map_err(|failure| failure.text)
        };
        assert_eq!(of(&["Cargo.toml", "src"]), Ok(Manager::Cargo));
        assert_eq!(of(&["package.json"]), Ok(Manager::Npm));
        assert_eq!(of(&["package.json", "pnpm-lock.yaml"]), Ok(Manager::Pnpm));
        assert_eq!(of(&["pyproject.toml", "requirements.txt", "uv.lock"]), Ok(Manager::Uv));
        assert_eq!(of(&["requirements.txt"]), Ok(Manager::Pip));
        assert!(of(&["Cargo.toml", "package.json"]).unwrap_err().contains("cargo, npm"));
        assert!(of(&["package-lock.json", "yarn.lock"]).unwrap_err().contains("npm, yarn"));
        assert!(of(&["pyproject.toml", "requirements.txt"]).unwrap_err().contains("uv, pip"));
        assert!(of(&["README.md"]).unwrap_err().contains("no manifest"));
    }
}
