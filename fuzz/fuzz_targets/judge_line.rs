//! Any bytes as a command line: read in both dialects, then judged by paths that are resolved by text alone.
#![no_main]

use haft_core::{CallId, Effects, Permission, RealPath, Risk, Spec, Touch};
use haft_policy::{
    Action, Cwd, Dialect, JudgedLine, JudgedPath, Line, LinePath, Mode, PathWord, Pin, Policy, Rule, RuleOrigin,
    Subject, git_folder, is_harmless, judge, matches_name, path_words, pattern_parts, read_line, reads_only,
};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

const COMMANDS_MAX: usize = 10_000;
const WORKSPACE: &str = "/w";
const MODES: [Mode; 4] = [Mode::Default, Mode::Plan, Mode::Full, Mode::Yolo];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for dialect in [Dialect::Bash, Dialect::Posix] {
        let line = read_line(&text, dialect);
        check_places(&line);
        assert_eq!(line, read_line(&text, dialect), "reading has no memory");
        if line.is_exact() {
            check_words(&line, dialect);
        }
        check_verdicts(&text, line);
    }
});

/// Its size is bounded, and each place that it names is there.
fn check_places(line: &Line) {
    assert!(line.commands.len() <= COMMANDS_MAX);
    for (at, simple) in line.commands.iter().enumerate() {
        for outer in [simple.wrapper, simple.inside, simple.feeds_from].into_iter().flatten() {
            assert!(outer < at, "{line:?}");
        }
    }
}

/// The words of a command, quoted, are read as just these words.
fn check_words(line: &Line, dialect: Dialect) {
    for simple in &line.commands {
        let Some(argv) = simple.argv().filter(|argv| !argv.is_empty()) else { continue };
        let quoted: Vec<String> = argv.iter().map(|word| format!("'{}'", word.replace('\'', "'\"'\"'"))).collect();
        let again = read_line(&quoted.join(" "), dialect);
        if again.is_exact() {
            assert_eq!(again.commands.first().and_then(|first| first.argv()), Some(argv));
        }
    }
}

/// Only an exact line runs without a rule, and no rule that allows loosens one that denies.
fn check_verdicts(text: &str, line: Line) {
    let is_exact = line.is_exact();
    let subject = stated(text, line);
    let verdict = |mode, rules: &[(Action, &str)]| {
        let mut policy = Policy::new(mode, RealPath::new(WORKSPACE, ""));
        policy.home = Some("/home/u".to_owned());
        policy.own_files = vec!["/w/.haft/config.toml".to_owned()];
        policy.rules = rules.iter().map(|(action, text)| rule(*action, text)).collect();
        judge(&subject, &[Arc::new(policy)]).verdict.name()
    };
    if verdict(Mode::Default, &[]) == "allow" {
        assert!(is_exact, "{text:?} runs though it isn't exact");
    }
    let denied = [(Action::Deny, "bash(rm *)"), (Action::Deny, "read(secret/**)"), (Action::Ask, "bash(git *)")];
    let mut wider = denied.to_vec();
    wider.extend([(Action::Allow, "bash"), (Action::Allow, "bash(*)"), (Action::Allow, "edit(./**)")]);
    for mode in MODES {
        let (narrow, wide) = (verdict(mode, &denied), verdict(mode, &wider));
        assert!(narrow != "deny" || wide == "deny" || mode == Mode::Plan, "{text:?}: {narrow}, then {wide}");
        if verdict(mode, &denied[..2]) == "deny" && verdict(mode, &[]) != "deny" {
            assert_eq!(wide, "deny", "{text:?} in {mode:?}");
        }
    }
}

fn rule(action: Action, text: &str) -> Rule {
    let origin = RuleOrigin {
        source: Some("/conf/rules:1".to_owned()),
        workspace: WORKSPACE.to_owned(),
        home: Some("/home/u".to_owned()),
        folder: "/conf".to_owned(),
    };
    Rule::parse(action, text, &origin).expect("it is a rule")
}

/// A call of `bash`, as the runtime states it.
fn stated(text: &str, line: Line) -> Subject {
    let line = Arc::new(line);
    let neutral_git = (0..line.commands.len()).filter_map(|at| git_folder(&line, at, WORKSPACE)).collect();
    let programs = line.commands.iter().map(|simple| {
        let name = simple.words.first()?.exact()?;
        (!name.contains('/')).then(|| format!("/usr/bin/{name}"))
    });
    let line = JudgedLine {
        text: text.into(),
        start: Some(WORKSPACE.to_owned()),
        paths: path_words(&line).into_iter().map(resolved).collect(),
        programs: programs.collect(),
        neutral_git,
        line,
    };
    let reads = reads_only(&line).is_ok();
    let harmless = is_harmless(&line, &[]).is_ok();
    let touches = vec![Touch::Command(Arc::clone(&line.text)), Touch::Session("cwd".into())];
    Subject {
        call: CallId::outer(1),
        tool: "bash".into(),
        spec: Arc::new(Spec::new("bash", "runs a command line").with_capabilities(&["shell.arbitrary"])),
        owner: "core".into(),
        input: Arc::new(serde_json::json!({"command": text})),
        effects: Effects::Only(touches),
        paths: Vec::new(),
        permission: if harmless { Permission::Auto } else { Permission::Confirm },
        asked_by: None,
        read_only: reads,
        mutates: !reads,
        risk: Risk::Standard,
        risk_declared: false,
        own: None,
        tool_hash: None,
        pin: Pin::Known,
        lines: vec![line],
        hooks: Vec::new(),
    }
}

/// A path by its text alone; a pattern stands for nobody knows what.
fn resolved(word: PathWord) -> LinePath {
    if let Some(parts) = pattern_parts(&word.text).filter(|_| word.is_pattern) {
        for part in parts {
            let _ = matches_name(part, "name");
        }
    }
    let is_known = !word.is_pattern && word.cwd == Cwd::Start && !word.text.is_empty();
    let written = is_known.then(|| match word.text.strip_prefix('~') {
        Some(rest) => normal(&format!("/home/u{rest}")),
        None if word.text.starts_with('/') => normal(&word.text),
        None => normal(&format!("{WORKSPACE}/{}", word.text)),
    });
    let path = written.map(|written| {
        let real = match written.strip_prefix("/w/") {
            Some(beneath) => RealPath::new(WORKSPACE, beneath),
            None => RealPath::new("/", written.trim_start_matches('/')),
        };
        JudgedPath { written, real }
    });
    LinePath { word, path, has_parent: true, tracked: Arc::from([]) }
}

fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
