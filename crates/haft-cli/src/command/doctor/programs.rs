//! Shells, git, and who runs a project's checks.

use super::{finding::Finding, machine::tried};
use crate::app::App;
use haft_core::Status as Exited;
use haft_os::host;
use std::path::{Path, PathBuf};

/// Where programs are looked for without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// What `check` and `packages` can use.
const RUNNERS: [&str; 20] = [
    "cargo", "npm", "pnpm", "yarn", "bun", "node", "python3", "pytest", "ruff", "mypy", "uv", "pip", "go",
    "ctest", "mvn", "gradle", "make", "just", "cmake", "rustc",
];

/// What kind of project a file in the workspace stands for.
struct Project {
    /// Any of these files.
    files: &'static [&'static str],
    /// Any of these programs runs its checks; one with a slash is the workspace's own.
    programs: &'static [&'static str],
    fix: &'static str,
}

const PROJECTS: [Project; 9] = [
    Project { files: &["Cargo.toml"], programs: &["cargo"], fix: "install Rust with rustup" },
    Project {
        files: &["package.json"],
        programs: &["npm", "pnpm", "yarn", "bun"],
        fix: "install Node.js, which brings npm, or the manager that the lock file names",
    },
    Project {
        files: &["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini"],
        programs: &["pytest", "python3", "./.venv/bin/python"],
        fix: "install Python 3, or make the project's environment at .venv",
    },
    Project { files: &["go.mod"], programs: &["go"], fix: "install Go" },
    Project { files: &["CMakeLists.txt"], programs: &["ctest"], fix: "install CMake" },
    Project {
        files: &["pom.xml"],
        programs: &["mvn", "./mvnw"],
        fix: "install Maven, or add its wrapper to the project",
    },
    Project {
        files: &["build.gradle", "build.gradle.kts"],
        programs: &["gradle", "./gradlew"],
        fix: "install Gradle, or add its wrapper to the project",
    },
    Project { files: &["Makefile", "makefile", "GNUmakefile"], programs: &["make"], fix: "install make" },
    Project { files: &["justfile", "Justfile", ".justfile"], programs: &["just"], fix: "install just" },
];

/// The file of a program on the `PATH` that commands get.
pub(super) fn find(app: &App, program: &str) -> Option<PathBuf> {
    let path = app.environment.get("PATH").unwrap_or(DEFAULT_PATH);
    let folders: Vec<PathBuf> =
        path.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from).collect();
    host::find_program(program, &folders)
}

/// All shells that commands may name.
pub(super) fn shells(app: &App) -> Vec<Finding> {
    let one = |name: &'static str, missing: Finding| match find(app, name) {
        Some(at) => Finding::ok(name, at.to_string_lossy()),
        None => missing,
    };
    vec![
        one("sh", Finding::fault("sh", "not on the PATH; commands can't run", "install a POSIX shell")),
        one(
            "bash",
            Finding::warning("bash", "not on the PATH; the bash tool has to make do with sh", "install bash"),
        ),
        one("zsh", Finding::ok("zsh", "not on the PATH; nothing of haft's needs it")),
    ]
}

pub(super) async fn git(app: &App) -> Finding {
    let Some(at) = find(app, "git") else {
        let detail = "not on the PATH; the model can't look at history";
        return Finding::warning("git", detail, "install git");
    };
    let at = at.to_string_lossy().into_owned();
    match tried(app, &[&at, "--version"]).await {
        Ok((Exited::Code(0), said)) => {
            let version = said.trim().trim_start_matches("git version ").to_owned();
            Finding::ok("git", format!("{version} at {at}"))
        }
        Ok((status, _)) => Finding::warning(
            "git",
            format!("{at} doesn't say its version: it ended with {status:?}"),
            "install git anew; `git --version` in a shell says what is wrong",
        ),
        Err(why) => Finding::warning("git", why, "install git anew"),
    }
}

/// Who can run checks, and what of this workspace nobody here can check.
pub(super) fn runners(app: &App) -> Vec<Finding> {
    let there: Vec<&str> = RUNNERS.into_iter().filter(|name| find(app, name).is_some()).collect();
    let detail = if there.is_empty() { "none on the PATH".to_owned() } else { there.join(", ") };
    let mut findings = vec![Finding::ok("runners", detail)];
    let is_there = |program: &&str| match program.strip_prefix("./") {
        Some(own) => host::is_executable(&app.workspace.join(own)),
        None => find(app, program).is_some(),
    };
    for Project { files, programs, fix } in PROJECTS {
        let Some(file) = first_there(&app.workspace, files) else { continue };
        if !programs.iter().any(is_there) {
            let detail =
                format!("the workspace has {file}, and nothing to check it: {}", programs.join(", "));
            findings.push(Finding::warning("runners", detail, fix));
        }
    }
    findings
}

fn first_there(folder: &Path, files: &[&'static str]) -> Option<&'static str> {
    files.iter().copied().find(|file| host::is_file(&folder.join(file)))
}
