//! The stage of the tests that judge command lines: the workspace /w, a home, and paths that are resolved by text
//! alone over the few files and folders listed here; nothing is a link.
//!
//! Leaves to each test which calls it judges. Keeps to what the runtime states of such calls.
#![allow(dead_code, reason = "each test needs a part of the stage")]

use haft_core::{CallId, Effects, Permission, RealPath, Risk, Spec, Touch};
use haft_policy::{
    Action, Cwd, Dialect, JudgedLine, JudgedPath, Line, LinePath, Mode, PathWord, Pin, Policy, Rule,
    RuleOrigin, Simple, Subject, git_folder, is_harmless, matches_name, path_words, pattern_parts, read_line,
    reads_only,
};
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc};

/// A typical rule file.
const RULES: &str = include_str!("../corpus/rules.toml");
/// The user's home.
const HOME: &str = "/home/u";
/// The workspace.
pub(crate) const WORKSPACE: &str = "/w";
/// Where writing is free.
const TEMP: &str = "/tmp/haft-s";

/// The files of the workspace.
const FILES: [&str; 44] = [
    ".claude/settings.json",
    ".env",
    ".env.local",
    ".git/HEAD",
    ".git/config",
    ".git/hooks/pre-commit.sample",
    ".git/info/exclude",
    ".github/workflows/ci.yml",
    ".gitignore",
    ".haft/config.toml",
    ".npmrc",
    ".vscode/settings.json",
    "Cargo.lock",
    "Cargo.toml",
    "Makefile",
    "README.md",
    "a",
    "a.tar",
    "api/app.py",
    "b",
    "bin/ls",
    "crates/core/Cargo.toml",
    "crates/core/src/lib.rs",
    "data.csv",
    "docs/api.md",
    "docs/guide.md",
    "list",
    "logs/server.log",
    "ls",
    "node_modules/.bin/cat",
    "package.json",
    "pyproject.toml",
    "scripts/build.mjs",
    "scripts/deploy.sh",
    "scripts/t1.mjs",
    "secret/k",
    "src/lib.rs",
    "src/main.rs",
    "src/util.rs",
    "target/debug/app",
    "tests/fixtures/a.json",
    "tests/it.rs",
    "tests/test_api.py",
    "x",
];

/// The folders outside the workspace.
const FOLDERS: [&str; 30] = [
    "/",
    "/bin",
    "/dev",
    "/dev/shm",
    "/etc",
    "/etc/haft",
    "/evil",
    "/home",
    "/home/u",
    "/home/u/.aws",
    "/home/u/.config",
    "/home/u/.config/haft",
    "/home/u/.local/state/haft",
    "/home/u/.ssh",
    "/home/u/bin",
    "/opt",
    "/other",
    "/proc",
    "/root",
    "/srv",
    "/tmp",
    "/tmp/evil",
    "/tmp/haft-s",
    "/usr",
    "/usr/bin",
    "/usr/local/bin",
    "/var",
    "/var/log",
    "/w",
    "/w2",
];

/// What the shell runs without a program.
const BUILTINS: [&str; 46] = [
    ".", ":", "[", "alias", "bg", "bind", "builtin", "cd", "command", "compgen", "declare", "dirs", "disown",
    "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "jobs",
    "kill", "let", "local", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readonly", "set", "shift",
    "shopt", "source", "test", "trap", "true", "type", "typeset", "umask", "unset",
];

/// Where rules are written.
pub(crate) fn origin() -> RuleOrigin {
    RuleOrigin {
        source: Some("/w/.haft/config.toml:1".to_owned()),
        workspace: WORKSPACE.to_owned(),
        home: Some(HOME.to_owned()),
        folder: "/w/.haft".to_owned(),
    }
}

/// One rule.
pub(crate) fn rule(action: Action, text: &str) -> Rule {
    Rule::parse(action, text, &origin()).unwrap()
}

/// The rules of the typical file.
pub(crate) fn rules() -> Vec<Rule> {
    let table: toml::Table = toml::from_str(RULES).unwrap();
    let permissions = table["permissions"].as_table().unwrap();
    let lists = [("allow", Action::Allow), ("ask", Action::Ask), ("deny", Action::Deny)];
    let read = |(name, action): (&str, Action)| -> Vec<Rule> {
        let texts = permissions[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        texts.map(|text| rule(action, text)).collect()
    };
    lists.into_iter().flat_map(read).collect()
}

/// What holds in the workspace, which is trusted; without rules.
pub(crate) fn bare_policy(mode: Mode) -> Policy {
    let mut policy = Policy::new(mode, real(WORKSPACE));
    policy.home = Some(HOME.to_owned());
    policy.temp = vec![TEMP.to_owned()];
    policy.own_files = [
        "/w/.haft/config.toml",
        "/w/.haft/config.local.toml",
        "/home/u/.config/haft",
        "/home/u/.local/state/haft",
        "/etc/haft",
    ]
    .map(str::to_owned)
    .into();
    policy.own_process = Some(4242);
    policy.protected_branches = vec!["production".to_owned()];
    policy
}

/// The same under the typical rules.
pub(crate) fn policy(mode: Mode) -> Policy {
    Policy { rules: rules(), ..bare_policy(mode) }
}

/// A path on its root.
pub(crate) fn real(path: &str) -> RealPath {
    match path.strip_prefix("/w/") {
        Some(beneath) => RealPath::new(WORKSPACE, beneath),
        None if path == WORKSPACE => RealPath::new(WORKSPACE, ""),
        None => RealPath::new("/", path.trim_start_matches('/')),
    }
}

/// The folder that a command runs in.
fn place(cwd: &Cwd) -> Option<String> {
    match cwd {
        Cwd::Start => Some(WORKSPACE.to_owned()),
        Cwd::Moved(steps) => steps.iter().try_fold(WORKSPACE.to_owned(), |at, step| absolute(&at, step)),
        Cwd::Unknown => None,
    }
}

/// A path by its text alone; none where only the shell knows.
fn absolute(at: &str, text: &str) -> Option<String> {
    if text.is_empty() || text.contains(['$', '`']) {
        return None;
    }
    let whole = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
        Some(_) => return None,
        None if text.starts_with('/') => text.to_owned(),
        None => format!("{at}/{text}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

fn resolved(cwd: &Cwd, text: &str) -> Option<String> {
    match place(cwd) {
        Some(at) => absolute(&at, text),
        None if text.starts_with(['/', '~']) => absolute("/", text),
        None => None,
    }
}

fn is_folder(path: &str) -> bool {
    let beneath = path.strip_prefix("/w/").map(|folder| format!("{folder}/"));
    FOLDERS.contains(&path)
        || beneath.is_some_and(|folder| FILES.iter().any(|file| file.starts_with(&folder)))
}

fn has_parent(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(parent, _)| is_folder(if parent.is_empty() { "/" } else { parent }))
}

fn paths(line: &Line) -> Vec<LinePath> {
    let resolve = |word: PathWord| -> Vec<LinePath> {
        let found: Vec<Option<String>> = if word.is_pattern {
            matches(&word).map_or_else(|| vec![None], |found| found.into_iter().map(Some).collect())
        } else {
            vec![resolved(&word.cwd, &word.text)]
        };
        let paths = found.into_iter().map(|written| {
            let has_parent = written.as_deref().is_some_and(has_parent);
            let path = written.map(|written| JudgedPath { real: real(&written), written });
            LinePath { word: word.clone(), path, has_parent, tracked: Arc::from([]) }
        });
        paths.collect()
    };
    path_words(line).into_iter().flat_map(resolve).collect()
}

/// The paths that a pattern matches; none where that can't be told. Outside the workspace more is there than the
/// stage lists: what matches nothing stands for itself.
fn matches(word: &PathWord) -> Option<Vec<String>> {
    let parts = pattern_parts(&word.text)?;
    let mut folders = vec![match parts.first() {
        Some(&"") => "/".to_owned(),
        Some(&"~") => HOME.to_owned(),
        _ => place(&word.cwd)?,
    }];
    let first = usize::from(matches!(parts.first(), Some(&"" | &"~")));
    for part in parts.iter().skip(first).filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for folder in &folders {
            let names: Vec<String> = if part.contains(['*', '?', '[']) {
                names(folder).into_iter().filter(|name| matches_name(part, name)).collect()
            } else {
                vec![(*part).to_owned()]
            };
            next.extend(names.iter().filter_map(|name| absolute(folder, name)));
        }
        folders = next;
    }
    let itself = resolved(&word.cwd, &word.text)?;
    if folders.is_empty() && !itself.starts_with("/w/") {
        folders.push(itself);
    }
    Some(folders)
}

/// The names in a folder.
fn names(folder: &str) -> BTreeSet<String> {
    let files = FILES.iter().map(|file| format!("{WORKSPACE}/{file}"));
    let all = files.chain(FOLDERS.iter().map(|folder| (*folder).to_owned()));
    let beneath = all.filter_map(|path| {
        let rest = path.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/')?;
        rest.split('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
    });
    beneath.collect()
}

/// The file that a command's program is.
fn program(simple: &Simple) -> Option<String> {
    let name = simple.words.first()?.exact()?;
    if name.contains('/') {
        return resolved(&simple.cwd, name);
    }
    (name.is_ascii() && !name.is_empty() && !BUILTINS.contains(&name)).then(|| format!("/usr/bin/{name}"))
}

/// A line as the runtime reads and resolves it.
pub(crate) fn judged_line(text: &str) -> JudgedLine {
    let line = Arc::new(read_line(text, Dialect::Bash));
    JudgedLine {
        text: text.into(),
        start: Some(WORKSPACE.to_owned()),
        paths: paths(&line),
        programs: line.commands.iter().map(program).collect(),
        neutral_git: (0..line.commands.len()).filter_map(|at| git_folder(&line, at, WORKSPACE)).collect(),
        line,
    }
}

/// A call of `bash` as the runtime states it.
pub(crate) fn bash(text: &str) -> Subject {
    stated(judged_line(text))
}

/// The same for a line that is read already. One that surely changes nothing is as free as a tool that only reads.
pub(crate) fn stated(line: JudgedLine) -> Subject {
    let reads_only = reads_only(&line).is_ok();
    let harmless = is_harmless(&line, &[TEMP.to_owned()]).is_ok();
    let spec = Spec::new("bash", "runs a command line")
        .with_aliases(&["Bash"])
        .with_category("shell")
        .with_capabilities(&["shell.arbitrary"])
        .confined();
    let touches = vec![Touch::Command(Arc::clone(&line.text)), Touch::Session("cwd".into())];
    Subject {
        call: CallId::outer(1),
        tool: "bash".into(),
        spec: Arc::new(spec),
        owner: "core".into(),
        input: Arc::new(json!({"command": &*line.text})),
        effects: Effects::Only(touches),
        paths: Vec::new(),
        permission: if harmless { Permission::Auto } else { Permission::Confirm },
        asked_by: None,
        read_only: reads_only,
        mutates: !reads_only,
        risk: Risk::Standard,
        risk_declared: false,
        own: None,
        tool_hash: None,
        pin: Pin::Known,
        lines: vec![line],
        hooks: Vec::new(),
    }
}
