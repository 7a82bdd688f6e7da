//! The lines that a manager is given.

use super::{
    input::{Action, PackagesInput, is_set},
    manager::Manager,
    name::Package,
};
use haft_core::Failure;

/// So many packages in one call.
const NAMES_MAX: usize = 50;

/// What a manager is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) manager: Manager,
    pub(super) action: Action,
    pub(super) packages: Vec<Package>,
    pub(super) is_dry: bool,
    /// Each line's words, one after the other.
    pub(super) lines: Vec<Vec<String>>,
}

/// How packages are installed.
#[derive(Clone, Copy)]
struct How {
    dev: bool,
    dry: bool,
    build: bool,
}

impl Plan {
    /// Reads the fields for one manager.
    ///
    /// # Errors
    /// Invalid input where the manager can't do that; what it can't try without doing is not done.
    pub(super) fn of(manager: Manager, input: &PackagesInput) -> Result<Self, Failure> {
        let how = How { dev: is_set(input.dev), dry: is_set(input.dry_run), build: is_set(input.build) };
        if input.names().len() > NAMES_MAX {
            return Err(Failure::invalid(format!(
                "/names holds more than {NAMES_MAX}; install fewer at once"
            )));
        }
        let packages: Result<Vec<Package>, Failure> =
            input.names().iter().map(|written| Package::of(manager, written)).collect();
        let packages = packages?;
        let lines = match input.action {
            Action::Install => install(manager, &packages, how)?,
            Action::Outdated | Action::Audit | Action::Manager => {
                if how.dev || how.dry || how.build || !packages.is_empty() {
                    return Err(Failure::invalid(
                        "/names, /dev, /dryRun and /build are for install; leave them out",
                    ));
                }
                match input.action {
                    Action::Outdated => vec![outdated(manager)],
                    Action::Audit => vec![audit(manager)?],
                    Action::Install | Action::Manager => Vec::new(),
                }
            }
        };
        Ok(Self { manager, action: input.action, packages, is_dry: how.dry, lines })
    }

    /// The variables that keep the manager from running what the project names, and from asking.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let pairs: &[(&str, &str)] = match self.manager {
            Manager::Cargo => &[("CARGO_TERM_COLOR", "never")],
            Manager::Npm => &[("NO_UPDATE_NOTIFIER", "1"), ("npm_config_color", "false")],
            // Two of its actions know no such option, and all read that file.
            Manager::Pnpm => &[("npm_config_ignore_pnpmfile", "true"), ("NO_COLOR", "1")],
            Manager::Yarn => &[("YARN_IGNORE_PATH", "1"), ("YARN_ENABLE_SCRIPTS", "false")],
            Manager::Uv => &[("NO_COLOR", "1"), ("UV_PYTHON_DOWNLOADS", "never")],
            Manager::Pip => &[("PIP_NO_INPUT", "1"), ("NO_COLOR", "1")],
            // No other version of the toolchain is fetched and run.
            Manager::Go => &[("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=mod")],
        };
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }
}

/// The words of a line: fixed ones, and those that hold.
fn words(parts: &[(bool, &str)], packages: &[Package]) -> Vec<String> {
    let fixed = parts.iter().filter(|(holds, _)| *holds).flat_map(|(_, part)| part.split(' '));
    fixed.map(str::to_owned).chain(packages.iter().map(|package| package.written.clone())).collect()
}

fn install(manager: Manager, packages: &[Package], how: How) -> Result<Vec<Vec<String>>, Failure> {
    let How { dev, dry, build } = how;
    let all = packages.is_empty();
    if dev && (all || matches!(manager, Manager::Pip | Manager::Go)) {
        return Err(Failure::invalid(format!(
            "/dev needs names, and a manager that tells them apart ({} doesn't without); leave it out",
            manager.name()
        )));
    }
    let can_try = match manager {
        Manager::Cargo => !all,
        Manager::Npm | Manager::Pip => true,
        Manager::Uv => all,
        Manager::Pnpm | Manager::Yarn | Manager::Go => false,
    };
    if dry && !can_try {
        return Err(Failure::invalid(format!(
            "/dryRun can't be done: {} {} has no dry run, and nothing was tried; look the package up, or leave dryRun \
             out",
            manager.name(),
            if all { "without names" } else { "with names" }
        )));
    }
    if dry && build {
        return Err(Failure::invalid(
            "/dryRun and /build exclude each other: builds run code; leave one out",
        ));
    }
    Ok(match manager {
        Manager::Cargo if all => vec![words(&[(true, "cargo fetch")], &[])],
        Manager::Cargo => {
            let add = words(&[(true, "cargo add"), (dev, "--dev"), (dry, "--dry-run")], packages);
            // The second settles the versions; neither builds anything.
            if dry { vec![add] } else { vec![add, words(&[(true, "cargo fetch")], &[])] }
        }
        Manager::Npm => vec![words(
            &[
                (true, "npm install"),
                (!build, "--ignore-scripts"),
                (true, "--no-audit --no-fund"),
                (dev, "--save-dev"),
                (dry, "--dry-run"),
            ],
            packages,
        )],
        Manager::Pnpm => vec![words(
            &[
                (true, if all { "pnpm install" } else { "pnpm add" }),
                (!build, "--ignore-scripts"),
                (true, "--ignore-pnpmfile"),
                (dev, "--save-dev"),
            ],
            packages,
        )],
        Manager::Yarn => vec![words(
            &[
                (true, if all { "yarn install" } else { "yarn add" }),
                (!build, "--ignore-scripts"),
                (true, "--non-interactive"),
                (dev, "--dev"),
            ],
            packages,
        )],
        Manager::Uv => vec![words(
            &[
                (true, if all { "uv sync" } else { "uv add" }),
                // Without the second it builds the project itself all the same.
                (!build, "--no-build --no-install-project"),
                (dev, "--dev"),
                (dry, "--dry-run"),
            ],
            packages,
        )],
        Manager::Pip => vec![words(
            &[
                (true, "pip --python .venv install --disable-pip-version-check"),
                // A source package runs its own code to be built, and already to tell what it needs.
                (!build, "--only-binary :all:"),
                (dry, "--dry-run --quiet --report -"),
                (all, "-r requirements.txt"),
            ],
            packages,
        )],
        Manager::Go => vec![words(&[(true, if all { "go mod download" } else { "go get" })], packages)],
    })
}

fn outdated(manager: Manager) -> Vec<String> {
    let line = match manager {
        Manager::Cargo => "cargo update --dry-run --verbose",
        Manager::Npm => "npm outdated --json",
        Manager::Pnpm => "pnpm outdated --format json",
        Manager::Yarn => "yarn outdated --json",
        Manager::Uv => "uv pip list --outdated --format json",
        Manager::Pip => "pip --python .venv list --outdated --format json --disable-pip-version-check",
        Manager::Go => "go list -m -u -json all",
    };
    words(&[(true, line)], &[])
}

fn audit(manager: Manager) -> Result<Vec<String>, Failure> {
    let line = match manager {
        Manager::Cargo => "cargo audit --json",
        Manager::Npm => "npm audit --json",
        Manager::Pnpm => "pnpm audit --json",
        Manager::Yarn => "yarn audit --json",
        Manager::Pip => "pip-audit --format json",
        Manager::Go => "govulncheck -format json -scan module ./...",
        Manager::Uv => {
            return Err(Failure::invalid(
                "/action audit can't be done for uv: the form of its answer isn't settled yet; run uv audit through \
                 bash and read what it says",
            ));
        }
    };
    Ok(words(&[(true, line)], &[]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn lines(manager: Manager, value: Value) -> Result<String, String> {
        let input: PackagesInput = serde_json::from_value(value).unwrap();
        let plan = Plan::of(manager, &input).map_err(|failure| failure.text)?;
        Ok(plan.lines.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn scripts_and_builds_are_off_unless_asked_for() {
        let one =
            |manager, name: &str| lines(manager, json!({"action": "install", "names": [name]})).unwrap();
        assert_eq!(one(Manager::Cargo, "itoa@1"), "cargo add itoa@1; cargo fetch");
        assert_eq!(one(Manager::Npm, "a"), "npm install --ignore-scripts --no-audit --no-fund a");
        assert_eq!(one(Manager::Pnpm, "a"), "pnpm add --ignore-scripts --ignore-pnpmfile a");
        assert_eq!(one(Manager::Yarn, "a"), "yarn add --ignore-scripts --non-interactive a");
        assert_eq!(one(Manager::Uv, "six"), "uv add --no-build --no-install-project six");
        assert_eq!(
            one(Manager::Pip, "six"),
            "pip --python .venv install --disable-pip-version-check --only-binary :all: six"
        );
        assert_eq!(one(Manager::Go, "h.x/y"), "go get h.x/y");
        let built = lines(Manager::Npm, json!({"action": "install", "names": ["a"], "build": true})).unwrap();
        assert_eq!(built, "npm install --no-audit --no-fund a");
    }

    #[test]
    fn without_names_the_manifest_is_installed() {
        let all = |manager| lines(manager, json!({"action": "install"})).unwrap();
        assert_eq!(all(Manager::Cargo), "cargo fetch");
        assert_eq!(all(Manager::Uv), "uv sync --no-build --no-install-project");
        assert!(all(Manager::Pip).ends_with("-r requirements.txt"));
        assert_eq!(all(Manager::Go), "go mod download");
    }

    #[test]
    fn what_can_not_be_tried_is_not_done() {
        let dry = |manager, name: &str| {
            lines(manager, json!({"action": "install", "names": [name], "dryRun": true}))
        };
        assert_eq!(dry(Manager::Cargo, "itoa").unwrap(), "cargo add --dry-run itoa");
        assert!(dry(Manager::Npm, "a").unwrap().contains("--dry-run"));
        for manager in [Manager::Pnpm, Manager::Yarn, Manager::Uv] {
            assert!(dry(manager, "a").unwrap_err().contains("has no dry run"), "{manager:?}");
        }
        assert!(dry(Manager::Go, "h.x/y").unwrap_err().contains("has no dry run"));
        let all = json!({"action": "install", "dryRun": true});
        assert!(lines(Manager::Cargo, all.clone()).is_err() && lines(Manager::Uv, all).is_ok());
    }

    #[test]
    fn fields_of_another_action_are_refused() {
        for value in [
            json!({"action": "audit", "names": ["a"]}),
            json!({"action": "outdated", "dryRun": true}),
            json!({"action": "install", "dev": true}),
            json!({"action": "install", "names": ["-g"]}),
            json!({"action": "install", "names": ["a"], "dryRun": true, "build": true}),
        ] {
            assert!(lines(Manager::Npm, value.clone()).is_err(), "{value}");
        }
        assert!(lines(Manager::Pip, json!({"action": "install", "names": ["a"], "dev": true})).is_err());
    }
}
