//! Calls and policies for the tests of this crate: workspace `/w`, rule file `/conf/rules`, home `/home/u`.

use crate::{
    Action, JudgedPath, Mode, Policy, Rule, RuleOrigin, Subject,
    command::{JudgedLine, typed::typed},
    judge,
};
use haft_core::{CallId, Effects, Permission, RealPath, Risk, Spec, Touch};
use serde_json::json;
use std::sync::Arc;

pub(crate) fn at() -> RuleOrigin {
    RuleOrigin {
        source: Some("/conf/rules:1".to_owned()),
        workspace: "/w".to_owned(),
        home: Some("/home/u".to_owned()),
        folder: "/conf".to_owned(),
    }
}

pub(crate) fn rule(action: Action, text: &str) -> Rule {
    Rule::parse(action, text, &at()).unwrap()
}

pub(crate) fn policy(mode: Mode, rules: &[(Action, &str)]) -> Policy {
    let mut policy = Policy::new(mode, RealPath::new("/w", ""));
    policy.home = Some("/home/u".to_owned());
    policy.temp = vec!["/tmp/haft-s".to_owned()];
    policy.rules = rules.iter().map(|(action, text)| rule(*action, text)).collect();
    policy
}

pub(crate) fn verdict(subject: &Subject, policy: &Policy) -> &'static str {
    judge(subject, &[Arc::new(policy.clone())]).verdict.name()
}

/// A built-in tool that mutates and asks first.
pub(crate) fn subject(tool: &str, effects: Effects<RealPath>) -> Subject {
    let mut spec = Spec::new(tool, "does something");
    let mut alias = tool[..1].to_ascii_uppercase();
    alias.push_str(&tool[1..]);
    spec.aliases.push(alias.into());
    let paths = effects.touches().iter().filter_map(Touch::path).cloned();
    let paths = paths.map(|real| JudgedPath { written: real.absolute(), real }).collect();
    Subject {
        call: CallId::outer(1),
        tool: tool.into(),
        spec: Arc::new(spec),
        owner: "core".into(),
        input: Arc::new(json!({})),
        effects,
        paths,
        permission: Permission::Confirm,
        asked_by: None,
        read_only: false,
        mutates: true,
        risk: Risk::Standard,
        risk_declared: true,
        own: None,
        tool_hash: None,
        pin: crate::Pin::Known,
        lines: Vec::new(),
        hooks: Vec::new(),
    }
}

/// A tool of somebody else's, that declares nothing about itself.
pub(crate) fn foreign(tool: &str, effects: Effects<RealPath>) -> Subject {
    Subject { owner: "somebody".into(), risk_declared: false, ..subject(tool, effects) }
}

pub(crate) fn bash(line: &str) -> Subject {
    let mut subject = subject("bash", Effects::Only(vec![Touch::Command(line.into())]));
    let spec = (*subject.spec).clone();
    subject.spec = Arc::new(spec.with_capabilities(&["shell.arbitrary"]));
    subject.input = Arc::new(json!({"command": line}));
    subject.lines = vec![judged_line(line)];
    if crate::reads_only(&subject.lines[0]).is_ok() {
        (subject.read_only, subject.mutates) = (true, false);
    }
    if crate::is_harmless(&subject.lines[0], &["/tmp/haft-s".to_owned()]).is_ok() {
        subject.permission = Permission::Auto;
    }
    subject
}

/// A line as it is read, its paths resolved by text alone.
pub(crate) fn judged_line(line: &str) -> JudgedLine {
    typed(line)
}

pub(crate) fn reading(path: &str) -> Subject {
    let subject = subject("read", Effects::Only(vec![Touch::Read(real(path))]));
    Subject { permission: Permission::Auto, read_only: true, mutates: false, ..subject }
}

pub(crate) fn writing(path: &str) -> Subject {
    subject("edit", Effects::Only(vec![Touch::Write(real(path))]))
}

fn real(path: &str) -> RealPath {
    match path.strip_prefix("/w/") {
        Some(beneath) => RealPath::new("/w", beneath),
        None => RealPath::new("/", &path[1..]),
    }
}
