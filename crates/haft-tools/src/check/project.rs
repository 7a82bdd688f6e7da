//! What a folder has that can be run, by its manifests.

use super::{
    makefile::{recipes, targets},
    manifest::{LOCKS, PYTHON_SETTINGS, Package, PythonTools, is_python_test},
    plan::{Choice, Manager, Need, Order, choices},
    runner::Runner,
};
use haft_core::{Failure, FailureKind, FileKind, Files, RealPath};
use std::collections::BTreeSet;

/// So much of a manifest is read.
const MANIFEST_MAX_BYTES: usize = 1 << 20;
/// So many entries of a folder are looked at.
const ENTRIES_MAX: usize = 5_000;
/// So many files with tests are read to see which library they use.
const TESTS_READ_MAX: usize = 50;
/// The folders whose entries matter besides the project's own.
const FOLDERS: [&str; 7] = ["tests", "test", ".venv/bin", "venv/bin", "build", "_build", "cmake-build-debug"];

/// What was found in a folder.
#[derive(Debug, Default)]
pub(super) struct Project {
    /// Paths of its files from the folder.
    names: BTreeSet<String>,
    scripts: BTreeSet<String>,
    /// What is wrong with `package.json`, so that its scripts aren't known.
    broken_package: Option<String>,
    manager: Manager,
    targets: BTreeSet<String>,
    recipes: BTreeSet<String>,
    python: PythonTools,
    has_python_tests: bool,
}

/// A command that the project has.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) runner: Runner,
    pub(super) choice: Choice,
}

impl Project {
    /// Looks at a folder. Blocking.
    ///
    /// # Errors
    /// Not found where it is no folder.
    pub(super) fn load(files: &dyn Files, at: &RealPath) -> Result<Self, Failure> {
        let mut project = Self::default();
        let listing = files.list(at, ENTRIES_MAX)?;
        project.names.extend(listing.entries.iter().map(|entry| entry.path.file_name().to_owned()));
        for folder in FOLDERS {
            let Ok(listing) = files.list(&at.join(folder), ENTRIES_MAX) else { continue };
            let names = listing.entries.iter().map(|entry| format!("{folder}/{}", entry.path.file_name()));
            project.names.extend(names);
        }
        let read = |name: &str| -> Option<String> {
            let bytes = files.read(&at.join(name), 0, MANIFEST_MAX_BYTES).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let first = |names: &[&str]| names.iter().find_map(|name| read(name)).unwrap_or_default();
        match read("package.json").map(|text| Package::read(&text)) {
            None => {}
            Some(Err(problem)) => project.broken_package = Some(problem),
            Some(Ok(package)) => {
                project.scripts = package.scripts;
                project.manager = package.manager.unwrap_or_else(|| locked_by(files, at));
            }
        }
        project.targets = targets(&first(&["GNUmakefile", "makefile", "Makefile"]));
        project.recipes = recipes(&first(&["justfile", "Justfile", ".justfile"]));
        for name in PYTHON_SETTINGS.into_iter().filter(|name| project.names.contains(*name)) {
            project.python = project.python.or(PythonTools::of(name, &read(name).unwrap_or_default()));
        }
        let tests: Vec<String> = project.names.iter().filter(|name| is_test(name)).cloned().collect();
        project.has_python_tests = !tests.is_empty();
        for name in tests.iter().take(TESTS_READ_MAX) {
            let text = read(name).unwrap_or_default();
            project.python = project.python.or(PythonTools::of("", &text));
        }
        // Who put it into the project's own environment runs the tests by it.
        let has_own =
            [".venv/bin/pytest", "venv/bin/pytest"].iter().any(|path| project.names.contains(*path));
        project.python.pytest |= has_own && project.has_python_tests;
        Ok(project)
    }

    /// The commands that do what is asked, one a runner: the first of each that the project has.
    ///
    /// # Errors
    /// Not found where there is none, with what was looked for; a conflict where a manifest can't be read that may
    /// have had one.
    pub(super) fn plan(&self, runners: &[Runner], order: &Order<'_>) -> Result<Vec<Planned>, Failure> {
        let asks_npm = runners.contains(&Runner::Npm) && !choices(Runner::Npm, order).is_empty();
        if let Some(problem) = self.broken_package.as_ref().filter(|_| asks_npm) {
            return Err(Failure::conflict(format!(
                "package.json isn't JSON ({problem}), so that nobody knows its scripts, and nothing was checked; mend it, \
                 or name another runner"
            )));
        }
        let mut planned: Vec<Planned> = Vec::new();
        for &runner in runners {
            if runner.is_wrapper() && !planned.is_empty() {
                continue;
            }
            let fitting = choices(runner, order).into_iter().find(|choice| self.fits(choice));
            planned.extend(fitting.map(|choice| Planned { runner, choice }));
        }
        if planned.is_empty() { Err(self.nothing(runners, order)) } else { Ok(planned) }
    }

    fn fits(&self, choice: &Choice) -> bool {
        choice.needs.iter().all(|need| self.has(*need))
    }

    fn has(&self, need: Need) -> bool {
        match need {
            Need::File(path) => self.names.contains(path),
            Need::Manager(manager) => self.manager == manager,
            Need::Script(name) => self.scripts.contains(name),
            Need::Target(name) => self.targets.contains(name),
            Need::Recipe(name) => self.recipes.contains(name),
            Need::Pytest => self.python.pytest,
            Need::Unittest => self.has_python_tests && !self.python.pytest,
            Need::TestsFolder => {
                self.names.iter().any(|name| name.starts_with("tests/") && is_test(name))
                    && !self.names.contains("tests/__init__.py")
            }
            Need::Ruff => self.python.ruff,
            Need::Mypy => self.python.mypy,
            Need::Gradle => self.names.contains("build.gradle") || self.names.contains("build.gradle.kts"),
        }
    }

    fn nothing(&self, runners: &[Runner], order: &Order<'_>) -> Failure {
        let kind = order.kind.name();
        let able = runners.iter().filter(|runner| !choices(**runner, order).is_empty());
        let looked: Vec<&str> = able.map(|runner| runner.manifest()).collect();
        let mut text = format!(
            "no runner for {kind} was found, so nothing was checked. Looked for: {}.",
            looked.join("; ")
        );
        let has: Vec<&str> = MANIFESTS.into_iter().filter(|name| self.names.contains(*name)).collect();
        if has.is_empty() {
            text.push_str(" None of the usual manifests is here; name the project's folder in cwd.");
        } else {
            text.push_str(" There is ");
            text.push_str(&has.join(", "));
            text.push_str(
                ", which has nothing for it; add it there, name another folder in cwd, or use bash.",
            );
        }
        Failure::not_found(text)
    }
}

/// The manifests that are named where nothing fits.
const MANIFESTS: [&str; 15] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "go.mod",
    "CMakeLists.txt",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
];

/// How deep below a folder manifests are looked for.
const BELOW_MAX_DEPTH: usize = 2;
/// So many folders are looked into for them.
const BELOW_MAX_FOLDERS: usize = 200;
/// So many of them are named.
const BELOW_MAX_NAMED: usize = 12;
/// Folders that hold what others wrote, or what was built.
const NOT_OWN: [&str; 6] = ["node_modules", "target", "vendor", "venv", "dist", "build"];

/// What a failure to find a runner says of manifests in the folders below. Blocking.
pub(super) fn with_below(failure: Failure, files: &dyn Files, at: &RealPath) -> Failure {
    let below = manifests_below(files, at);
    if failure.kind != FailureKind::NotFound || below.is_empty() {
        return failure;
    }
    let named: Vec<&str> = below.iter().take(BELOW_MAX_NAMED).map(String::as_str).collect();
    let more = below.len() - named.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let text = format!(
        "{} Below it are {}{more}: name one of their folders as cwd.",
        failure.text,
        named.join(", ")
    );
    Failure { text, ..failure }
}

/// The paths of manifests in the folders below, the nearest first.
fn manifests_below(files: &dyn Files, at: &RealPath) -> Vec<String> {
    let mut found = Vec::new();
    let mut level = vec![String::new()];
    let mut looked = 0_usize;
    for depth in 0..=BELOW_MAX_DEPTH {
        let mut next = Vec::new();
        for folder in level {
            looked += 1;
            let place = if folder.is_empty() { at.clone() } else { at.join(&folder) };
            // What may not be read has nothing to tell.
            let Ok(listing) = files.list(&place, ENTRIES_MAX) else { continue };
            for entry in listing.entries {
                let name = entry.path.file_name();
                let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                let is_own = !name.starts_with('.') && !NOT_OWN.contains(&name);
                match entry.kind {
                    FileKind::Folder if is_own && looked + next.len() < BELOW_MAX_FOLDERS => next.push(path),
                    FileKind::File if depth > 0 && MANIFESTS.contains(&name) => found.push(path),
                    _ => {}
                }
            }
        }
        level = next;
    }
    found
}

fn is_test(path: &str) -> bool {
    match path.rsplit_once('/') {
        None => is_python_test(path),
        Some(("tests" | "test", name)) => is_python_test(name),
        Some(_) => false,
    }
}

/// The manager whose lock file stands in the folder, or in the nearest one above it in the workspace.
fn locked_by(files: &dyn Files, at: &RealPath) -> Manager {
    let mut folder = at.clone();
    loop {
        let is_there =
            |name: &str| files.peek(&folder.join(name)).is_some_and(|stat| stat.kind == FileKind::File);
        if let Some((_, manager)) = LOCKS.into_iter().find(|(name, _)| is_there(name)) {
            return manager;
        }
        if folder.beneath.is_empty() {
            return Manager::default();
        }
        let above = folder.beneath.rsplit_once('/').map_or("", |(above, _)| above);
        folder = RealPath::new(&folder.root, above);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::runner::Kind;

    fn project(names: &[&str]) -> Project {
        Project { names: names.iter().map(|name| (*name).to_owned()).collect(), ..Project::default() }
    }

    fn order(kind: Kind) -> Order<'static> {
        Order { kind, fix: false, is_whole: true, paths: &[] }
    }

    fn lines(project: &Project, kind: Kind) -> Vec<String> {
        let planned = project.plan(&Runner::ALL, &order(kind)).unwrap();
        planned.iter().map(|planned| planned.choice.argv.join(" ")).collect()
    }

    #[test]
    fn every_runner_that_fits_runs_and_wrappers_only_alone() {
        let mut both = project(&["Cargo.toml", "package.json", "Makefile"]);
        both.scripts.insert("test".to_owned());
        both.manager = Manager::Yarn;
        both.targets.insert("test".to_owned());
        let found = lines(&both, Kind::Test);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("cargo test") && found[1] == "yarn run test", "{found:?}");
        let mut made = project(&["Makefile"]);
        made.targets.extend(["check".to_owned(), "all".to_owned()]);
        assert_eq!(lines(&made, Kind::Test), ["make check"]);
        assert_eq!(lines(&made, Kind::Build), ["make all"]);
        let named = both.plan(&[Runner::Make], &order(Kind::Test)).unwrap();
        assert_eq!(named[0].choice.argv, ["make", "test"]);
    }

    #[test]
    fn python_tests_run_by_pytest_where_the_project_uses_it() {
        let mut python = project(&["tests/test_a.py", ".venv/bin/python"]);
        python.has_python_tests = true;
        assert_eq!(lines(&python, Kind::Test), [".venv/bin/python -m unittest discover -s tests"]);
        python.names.insert("tests/__init__.py".to_owned());
        assert_eq!(lines(&python, Kind::Test), [".venv/bin/python -m unittest discover"]);
        python.python.pytest = true;
        assert!(lines(&python, Kind::Test)[0].starts_with("pytest "));
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_told_with_its_place() {
        let mut broken = project(&["package.json", "Makefile"]);
        broken.broken_package = Some("expected value at line 2 column 14".to_owned());
        broken.targets.insert("test".to_owned());
        let failure = broken.plan(&Runner::ALL, &order(Kind::Test)).unwrap_err();
        assert!(failure.text.contains("line 2 column 14") && failure.text.contains("mend it"), "{failure}");
        assert_eq!(broken.plan(&[Runner::Make], &order(Kind::Test)).unwrap().len(), 1);
    }

    #[test]
    fn nothing_that_fits_says_what_was_looked_for() {
        let failure = project(&["go.mod"]).plan(&[Runner::Make], &order(Kind::Test)).unwrap_err();
        assert!(failure.text.contains("Makefile with a fitting target"), "{failure}");
        assert!(failure.text.contains("There is go.mod"), "{failure}");
        let failure = project(&[]).plan(&Runner::ALL, &order(Kind::Typecheck)).unwrap_err();
        assert!(
            failure.text.contains("Cargo.toml; package.json") && failure.text.contains("cwd"),
            "{failure}"
        );
        assert!(
            !failure.text.contains("justfile;") && !failure.text.contains("pytest settings"),
            "{failure}"
        );
    }
}
