//! The commands that may run, in order of preference, each with what the project must have for it; pure.
//!
//! A call is judged before anything is read, so that what runs can only be one of a list that the input alone gives:
//! rules for commands see each of them.

use super::{
    asked::{files, of_cargo, of_go, of_unittest},
    runner::{Kind, Runner},
};
use haft_core::shell_line;

/// What is asked of a runner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) kind: Kind,
    /// Whether files may be rewritten.
    pub(super) fix: bool,
    /// Whether it is about the whole workspace, not a folder that the caller named.
    pub(super) is_whole: bool,
    /// Only these.
    pub(super) paths: &'a [String],
}

/// The program that runs the scripts of a `package.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Manager {
    #[default]
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

impl Manager {
    pub(super) const ALL: [Self; 4] = [Self::Npm, Self::Pnpm, Self::Yarn, Self::Bun];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }
}

/// What a project must have for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// A file by its path from the folder.
    File(&'static str),
    /// This manager.
    Manager(Manager),
    /// A script in `package.json`.
    Script(&'static str),
    /// A target in the Makefile.
    Target(&'static str),
    /// A recipe in the justfile.
    Recipe(&'static str),
    /// Tests for pytest.
    Pytest,
    /// Python tests that don't need pytest.
    Unittest,
    /// Its Python tests stand in `tests`, which is no package.
    TestsFolder,
    /// Settings for ruff.
    Ruff,
    /// Settings for mypy.
    Mypy,
    /// One of the names that Gradle's build file has.
    Gradle,
}

/// A command, with what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) argv: Vec<String>,
    pub(super) needs: Vec<Need>,
    /// Whether it looks at the asked paths alone.
    pub(super) narrows: bool,
}

impl Choice {
    fn new(words: &[&str], needs: &[Need]) -> Self {
        let argv = words.iter().map(|word| (*word).to_owned()).collect();
        Self { argv, needs: needs.to_vec(), narrows: false }
    }

    fn with(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.argv.extend(words);
        self.narrows = true;
        self
    }

    /// As a line for a shell.
    pub(super) fn line(&self) -> String {
        shell_line(self.argv.iter().map(String::as_str))
    }
}

/// What a runner could run for this, the best first; none where it has nothing of the kind.
pub(super) fn choices(runner: Runner, order: &Order<'_>) -> Vec<Choice> {
    match runner {
        Runner::Cargo => cargo(order),
        Runner::Npm => scripts(order),
        Runner::Pytest => pytest(order),
        Runner::Unittest => unittest(order),
        Runner::Ruff => ruff(order),
        Runner::Mypy => mypy(order),
        Runner::Go => go(order),
        Runner::Ctest => ctest(order),
        Runner::Maven => maven(order),
        Runner::Gradle => gradle(order),
        Runner::Make => {
            named(order).map(|name| Choice::new(&["make", name], &[Need::Target(name)])).collect()
        }
        Runner::Just => {
            named(order).map(|name| Choice::new(&["just", name], &[Need::Recipe(name)])).collect()
        }
    }
}

fn cargo(order: &Order<'_>) -> Vec<Choice> {
    // In a named folder it is that package's own check.
    let all = if order.is_whole { "--workspace" } else { "" };
    let every = if order.is_whole { "--all" } else { "" };
    let json = "--message-format=json";
    let words: Vec<&str> = match (order.kind, order.fix) {
        (Kind::Test, false) => vec!["cargo", "test", all, "--no-fail-fast", json],
        (Kind::Lint, false) => vec!["cargo", "clippy", all, "--all-targets", json],
        (Kind::Lint, true) => {
            vec!["cargo", "clippy", all, "--all-targets", json, "--fix", "--allow-dirty", "--allow-staged"]
        }
        (Kind::Format, false) => vec!["cargo", "fmt", every, "--check"],
        (Kind::Format, true) => vec!["cargo", "fmt", every],
        (Kind::Typecheck, false) => vec!["cargo", "check", all, "--all-targets", json],
        (Kind::Build, false) => vec!["cargo", "build", all, json],
        (Kind::Test | Kind::Typecheck | Kind::Build, true) => return Vec::new(),
    };
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let choice = Choice::new(&words, &[Need::File("Cargo.toml")]);
    let narrowed = of_cargo(order.paths).filter(|_| order.kind == Kind::Test);
    vec![match narrowed {
        Some(words) => choice.with(words),
        None => choice,
    }]
}

fn scripts(order: &Order<'_>) -> Vec<Choice> {
    let names: &[&'static str] = match (order.kind, order.fix) {
        (Kind::Test, false) => &["test"],
        (Kind::Lint, false) => &["lint"],
        (Kind::Lint, true) => &["lint:fix"],
        (Kind::Format, false) => &["format:check", "fmt:check"],
        (Kind::Format, true) => &["format", "fmt"],
        (Kind::Typecheck, false) => &["typecheck", "type-check", "check-types"],
        (Kind::Build, false) => &["build"],
        (Kind::Test | Kind::Typecheck | Kind::Build, true) => &[],
    };
    let narrows = !order.paths.is_empty() && !matches!(order.kind, Kind::Typecheck | Kind::Build);
    let mut choices = Vec::new();
    for manager in Manager::ALL {
        for name in names {
            let needs = [Need::Manager(manager), Need::Script(name)];
            let choice = Choice::new(&[manager.name(), "run", name], &needs);
            choices.push(if narrows {
                let dashes = (manager == Manager::Npm).then(|| "--".to_owned());
                choice.with(dashes.into_iter().chain(files(order.paths)))
            } else {
                choice
            });
        }
    }
    choices
}

/// A Python program in the project's own environment, else on the `PATH`.
fn python(program: &'static str, words: &[&str], need: Need) -> Vec<Choice> {
    let own: [(&str, Option<&'static str>); 3] = match program {
        "pytest" => [
            (".venv/bin/pytest", Some(".venv/bin/pytest")),
            ("venv/bin/pytest", Some("venv/bin/pytest")),
            ("pytest", None),
        ],
        "ruff" => [
            (".venv/bin/ruff", Some(".venv/bin/ruff")),
            ("venv/bin/ruff", Some("venv/bin/ruff")),
            ("ruff", None),
        ],
        "mypy" => [
            (".venv/bin/mypy", Some(".venv/bin/mypy")),
            ("venv/bin/mypy", Some("venv/bin/mypy")),
            ("mypy", None),
        ],
        _ => [
            (".venv/bin/python", Some(".venv/bin/python")),
            ("venv/bin/python", Some("venv/bin/python")),
            ("python3", None),
        ],
    };
    let choice = |(path, file): (&str, Option<&'static str>)| {
        let words: Vec<&str> = std::iter::once(path).chain(words.iter().copied()).collect();
        let needs: Vec<Need> = std::iter::once(need).chain(file.map(Need::File)).collect();
        Choice::new(&words, &needs)
    };
    own.into_iter().map(choice).collect()
}

fn pytest(order: &Order<'_>) -> Vec<Choice> {
    if order.kind != Kind::Test || order.fix {
        return Vec::new();
    }
    // The verbosity is set, not added to what the project's own options say, so that the summary is always there.
    let words = ["--verbosity=0", "--tb=short", "-rfE", "--color=no"];
    let choices = python("pytest", &words, Need::Pytest).into_iter();
    choices
        .map(|choice| if order.paths.is_empty() { choice } else { choice.with(order.paths.to_vec()) })
        .collect()
}

fn unittest(order: &Order<'_>) -> Vec<Choice> {
    if order.kind != Kind::Test || order.fix {
        return Vec::new();
    }
    if !order.paths.is_empty() {
        let choices = python("python", &["-m", "unittest"], Need::Unittest).into_iter();
        return choices.map(|choice| choice.with(order.paths.iter().map(|path| of_unittest(path)))).collect();
    }
    let mut choices = python("python", &["-m", "unittest", "discover", "-s", "tests"], Need::Unittest);
    for choice in &mut choices {
        choice.needs.push(Need::TestsFolder);
    }
    choices.extend(python("python", &["-m", "unittest", "discover"], Need::Unittest));
    choices
}

/// The asked paths, or the folder itself.
fn or_here(paths: &[String]) -> Vec<String> {
    if paths.is_empty() { vec![".".to_owned()] } else { files(paths) }
}

fn ruff(order: &Order<'_>) -> Vec<Choice> {
    let words: &[&str] = match (order.kind, order.fix) {
        (Kind::Lint, false) => &["check", "--output-format=concise"],
        (Kind::Lint, true) => &["check", "--output-format=concise", "--fix"],
        (Kind::Format, false) => &["format", "--check"],
        (Kind::Format, true) => &["format"],
        _ => return Vec::new(),
    };
    let choices = python("ruff", words, Need::Ruff).into_iter();
    choices.map(|choice| choice.with(or_here(order.paths))).collect()
}

fn mypy(order: &Order<'_>) -> Vec<Choice> {
    if order.kind != Kind::Typecheck || order.fix {
        return Vec::new();
    }
    let words = ["--show-column-numbers", "--no-pretty", "--no-color-output"];
    let choices = python("mypy", &words, Need::Mypy).into_iter();
    choices.map(|choice| choice.with(or_here(order.paths))).collect()
}

fn go(order: &Order<'_>) -> Vec<Choice> {
    let words: &[&str] = match (order.kind, order.fix) {
        (Kind::Test, false) => &["go", "test", "-json"],
        (Kind::Lint | Kind::Typecheck, false) => &["go", "vet"],
        (Kind::Build, false) => &["go", "build"],
        (Kind::Format, false) => &["gofmt", "-l"],
        (Kind::Format, true) => &["gofmt", "-w", "-l"],
        (_, true) => return Vec::new(),
    };
    let paths = match (order.kind, order.paths) {
        (Kind::Format, paths) => or_here(paths),
        (_, []) => vec!["./...".to_owned()],
        (_, paths) => packages(&files(paths)),
    };
    let pattern = of_go(order.paths).filter(|_| order.kind == Kind::Test);
    let named = pattern.into_iter().flat_map(|pattern| ["-run".to_owned(), pattern]);
    vec![Choice::new(words, &[Need::File("go.mod")]).with(named.chain(paths))]
}

/// The packages that files and folders belong to.
fn packages(paths: &[String]) -> Vec<String> {
    let mut packages: Vec<String> = Vec::new();
    for path in paths {
        let is_file = path.strip_suffix(".go").is_some();
        let folder =
            if is_file { path.rsplit_once('/').map_or("", |(folder, _)| folder) } else { path.as_str() };
        let folder = folder.trim_end_matches('/');
        let below = if is_file { "" } else { "/..." };
        let package = match folder {
            "" | "." => format!(".{below}"),
            _ if folder.starts_with(['/', '.']) => format!("{folder}{below}"),
            _ => format!("./{folder}{below}"),
        };
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages
}

fn ctest(order: &Order<'_>) -> Vec<Choice> {
    // A folder counts once it is configured, which is for whoever builds to do.
    const FOLDERS: [(&str, &str, &str); 3] = [
        ("build", "build/CTestTestfile.cmake", "build/CMakeCache.txt"),
        ("_build", "_build/CTestTestfile.cmake", "_build/CMakeCache.txt"),
        ("cmake-build-debug", "cmake-build-debug/CTestTestfile.cmake", "cmake-build-debug/CMakeCache.txt"),
    ];
    let list = Need::File("CMakeLists.txt");
    match (order.kind, order.fix) {
        (Kind::Test, false) => FOLDERS
            .map(|(folder, tests, _)| {
                let words = ["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error"];
                Choice::new(&words, &[list, Need::File(tests)])
            })
            .to_vec(),
        (Kind::Build, false) => FOLDERS
            .map(|(folder, _, cache)| Choice::new(&["cmake", "--build", folder], &[list, Need::File(cache)]))
            .to_vec(),
        _ => Vec::new(),
    }
}

fn maven(order: &Order<'_>) -> Vec<Choice> {
    let words: &[&str] = match (order.kind, order.fix) {
        (Kind::Test, false) => &["test"],
        (Kind::Typecheck, false) => &["test-compile"],
        (Kind::Build, false) => &["package", "-DskipTests"],
        _ => return Vec::new(),
    };
    let quiet = ["-B", "-ntp", "--fail-at-end"];
    let choice = |program: &'static str, needs: &[Need]| {
        let all = std::iter::once(program).chain(quiet).chain(words.iter().copied());
        Choice::new(&all.collect::<Vec<_>>(), needs)
    };
    let pom = Need::File("pom.xml");
    vec![choice("./mvnw", &[pom, Need::File("mvnw")]), choice("mvn", &[pom])]
}

fn gradle(order: &Order<'_>) -> Vec<Choice> {
    let words: &[&str] = match (order.kind, order.fix) {
        (Kind::Test, false) => &["test", "--continue"],
        (Kind::Lint, false) => &["check", "-x", "test", "--continue"],
        (Kind::Typecheck, false) => &["testClasses"],
        (Kind::Build, false) => &["assemble"],
        _ => return Vec::new(),
    };
    let choice = |program: &'static str, needs: &[Need]| {
        let all = [program, "--console=plain"].into_iter().chain(words.iter().copied());
        Choice::new(&all.collect::<Vec<_>>(), needs)
    };
    vec![choice("./gradlew", &[Need::Gradle, Need::File("gradlew")]), choice("gradle", &[Need::Gradle])]
}

/// The names under which Makefiles and justfiles commonly have such a thing.
fn named(order: &Order<'_>) -> impl Iterator<Item = &'static str> {
    let names: &[&'static str] = match (order.kind, order.fix) {
        (Kind::Test, false) => &["test", "check"],
        (Kind::Lint, false) => &["lint"],
        (Kind::Lint, true) => &["lint-fix", "fix"],
        (Kind::Format, false) => &["format-check", "fmt-check", "check-format"],
        (Kind::Format, true) => &["format", "fmt"],
        (Kind::Typecheck, false) => &["typecheck", "type-check"],
        (Kind::Build, false) => &["build", "all"],
        (Kind::Test | Kind::Typecheck | Kind::Build, true) => &[],
    };
    names.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(runner: Runner, kind: Kind, paths: &[&str]) -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let order = Order { kind, fix: false, is_whole: true, paths: &paths };
        choices(runner, &order).iter().map(Choice::line).collect()
    }

    fn fixes(runner: Runner, kind: Kind) -> Vec<String> {
        let order = Order { kind, fix: true, is_whole: true, paths: &[] };
        choices(runner, &order).iter().map(Choice::line).collect()
    }

    #[test]
    fn the_kind_decides_the_command() {
        assert_eq!(
            lines(Runner::Cargo, Kind::Test, &[]),
            ["cargo test --workspace --no-fail-fast --message-format=json"]
        );
        assert_eq!(lines(Runner::Make, Kind::Test, &[]), ["make test", "make check"]);
        assert_eq!(lines(Runner::Npm, Kind::Lint, &[])[..2], ["npm run lint", "pnpm run lint"]);
        assert!(lines(Runner::Pytest, Kind::Lint, &[]).is_empty());
        assert_eq!(fixes(Runner::Cargo, Kind::Format), ["cargo fmt --all"]);
        assert!(fixes(Runner::Go, Kind::Lint).is_empty() && fixes(Runner::Cargo, Kind::Test).is_empty());
    }

    #[test]
    fn paths_narrow_where_the_runner_can() {
        let go = lines(Runner::Go, Kind::Test, &["a/b_test.go", "c", "a/d.go", "x.go", "./e/"]);
        assert_eq!(go, ["go test -json ./a ./c/... . ./e/..."]);
        assert_eq!(
            lines(Runner::Npm, Kind::Test, &["a b"])[..2],
            ["npm run test -- 'a b'", "pnpm run test 'a b'"]
        );
        assert_eq!(
            lines(Runner::Pytest, Kind::Test, &["it's.py"])[2],
            r"pytest --verbosity=0 --tb=short -rfE --color=no 'it'\''s.py'"
        );
        let order = Order { kind: Kind::Test, fix: false, is_whole: true, paths: &["a".to_owned()] };
        assert!(!choices(Runner::Cargo, &order)[0].narrows && choices(Runner::Go, &order)[0].narrows);
    }

    #[test]
    fn a_path_may_name_a_test_within_its_file() {
        let cargo = |paths: &[&str]| lines(Runner::Cargo, Kind::Test, paths).remove(0);
        let whole = "cargo test --workspace --no-fail-fast --message-format=json";
        for (paths, more) in [
            ("tests/more.rs", " --test more"),
            ("tests/more.rs::worse", " --test more -- worse"),
            ("crates/a/tests/it/main.rs::x::y", " --test it -- x::y"),
            ("src/lib.rs::tests::bad", " -- tests::bad"),
            ("parser::tests::bad src/a.rs::b", " -- parser::tests::bad b"),
            ("src/lib.rs", ""),
            ("tests/more.rs tests/more.rs::worse", ""),
            ("src", ""),
        ] {
            let asked: Vec<&str> = paths.split(' ').collect();
            assert_eq!(cargo(&asked), format!("{whole}{more}"), "{paths}");
        }
        let go = lines(Runner::Go, Kind::Test, &["a/x_test.go::TestA", "a/x_test.go::TestB"]);
        assert_eq!(go, ["go test -json -run '^(TestA|TestB)$' ./a"]);
        let unittest = lines(Runner::Unittest, Kind::Test, &["tests/test_a.py::T::test_bad"]);
        assert_eq!(unittest[2], "python3 -m unittest tests.test_a.T.test_bad");
        let pytest = lines(Runner::Pytest, Kind::Test, &["test_a.py::T::test_bad"]);
        assert!(pytest[2].ends_with(" test_a.py::T::test_bad"), "{pytest:?}");
        assert_eq!(
            lines(Runner::Npm, Kind::Test, &["a.test.js::x", "a.test.js::y"])[0],
            "npm run test -- a.test.js"
        );
    }

    #[test]
    fn a_named_folder_is_a_package_of_its_own() {
        let order = Order { kind: Kind::Build, fix: false, is_whole: false, paths: &[] };
        assert_eq!(choices(Runner::Cargo, &order)[0].line(), "cargo build --message-format=json");
    }

    #[test]
    fn every_kind_has_a_runner() {
        for kind in [Kind::Test, Kind::Lint, Kind::Format, Kind::Typecheck, Kind::Build] {
            assert!(Runner::ALL.into_iter().any(|runner| !lines(runner, kind, &[]).is_empty()), "{kind:?}");
        }
    }
}
