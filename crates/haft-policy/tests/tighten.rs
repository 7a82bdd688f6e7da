//! The law of verdicts, on random calls and policies: what is added can only tighten.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use haft_core::{CallId, Effects, OwnCheck, Permission, RealPath, Risk, Spec, Touch, Why};
use haft_policy::{Action, Grant, JudgedPath, Mode, Policy, Rule, RuleOrigin, Subject, judge};
use proptest::{
    collection::vec, option, prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner,
};
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc};

const TOOLS: [&str; 6] = ["bash", "read", "edit", "write", "grep", "mcp__x__y"];
const PATHS: [&str; 7] = ["/w", "/w/a", "/w/src/a", "/w/src/b", "/w/secret/k", "/o/a", "/home/u/.x"];
const LINES: [&str; 8] =
    ["ls", "ls -la", "rm x", "ls; rm x", "ls $(rm x)", "r$X y", "cargo test -p a", "ls > ~/.x"];
const HOSTS: [&str; 2] = ["a.example.com", "other.org"];
/// Whole rules, and some texts that are none: these deny their tool.
const RULES: [&str; 12] = [
    "capability:shell.*",
    "capability:fs.*",
    "category:files",
    "risk:safe",
    "risk:standard",
    "risk:destructive",
    "param.path=a",
    "bash(ls -la)",
    "mcp__x",
    "*",
    "bash(rm *",
    "read(../x)",
];
/// What stands between a rule's parentheses.
const COVERS: [&str; 8] =
    ["*", "ls *", "rm *", "./src/**", "secret/**", "~/.x", "domain:*.example.com", "param.path=a"];

fn at() -> RuleOrigin {
    RuleOrigin {
        source: Some("/conf/rules:1".to_owned()),
        workspace: "/w".to_owned(),
        home: Some("/home/u".to_owned()),
        folder: "/conf".to_owned(),
    }
}

fn real(path: &str) -> RealPath {
    match path.strip_prefix("/w") {
        Some(beneath) => RealPath::new("/w", beneath.trim_start_matches('/')),
        None => RealPath::new("/", path.trim_start_matches('/')),
    }
}

fn rule(actions: &'static [Action]) -> impl Strategy<Value = Rule> {
    let text = prop_oneof![
        select(&RULES[..]).prop_map(str::to_owned),
        select(&TOOLS[..]).prop_map(str::to_owned),
        (select(&TOOLS[..]), select(&COVERS[..])).prop_map(|(tool, covers)| format!("{tool}({covers})")),
    ];
    (select(actions), text).prop_map(|(action, text)| {
        Rule::parse(action, &text, &at()).unwrap_or_else(|error| Rule::broken(action, &text, &at(), &error))
    })
}

fn effects() -> impl Strategy<Value = Effects<RealPath>> {
    let path = || select(&PATHS[..]).prop_map(real);
    let touch = prop_oneof![
        path().prop_map(Touch::Read),
        path().prop_map(Touch::Write),
        path().prop_map(Touch::ReadTree),
        path().prop_map(Touch::WriteTree),
        select(&LINES[..]).prop_map(|line| Touch::Command(line.into())),
        select(&HOSTS[..]).prop_map(|host| Touch::Host(host.into())),
        Just(Touch::Session("cwd".into())),
    ];
    prop_oneof![
        1 => Just(Effects::Everything),
        1 => Just(Effects::Delegated),
        8 => vec(touch, 0..4).prop_map(Effects::Only),
    ]
}

fn own() -> impl Strategy<Value = Option<OwnCheck>> {
    prop_oneof![
        8 => Just(None),
        1 => Just(Some(OwnCheck::Ask(Why::new("tool", "large")))),
        1 => Just(Some(OwnCheck::Deny(Why::new("tool", "device")))),
    ]
}

/// A hash of a tool, or none.
fn hash() -> impl Strategy<Value = Option<Arc<str>>> {
    option::of(select(&["h1", "h2"][..]).prop_map(Arc::from))
}

fn subject() -> impl Strategy<Value = Subject> {
    let permission = select(&[Permission::Auto, Permission::Confirm, Permission::Deny][..]);
    let risk = select(&[Risk::Safe, Risk::Standard, Risk::Destructive][..]);
    let who = (select(&TOOLS[..]), select(&["core", "somebody"][..]), hash());
    // By which name a path was written, if not by its own: a link.
    let written = option::of(select(&PATHS[..]));
    let flags = (permission, any::<bool>(), any::<bool>(), risk, any::<bool>());
    (who, effects(), written, flags, own()).prop_map(|(who, effects, written, flags, own)| {
        let (tool, owner, tool_hash) = who;
        let (permission, read_only, mutates, risk, risk_declared) = flags;
        let capability = if tool == "bash" { "shell.arbitrary" } else { "fs.read" };
        let paths = effects.touches().iter().filter_map(Touch::path).cloned();
        let paths = paths
            .map(|real| JudgedPath { written: written.map_or_else(|| real.absolute(), str::to_owned), real })
            .collect();
        Subject {
            call: CallId::outer(1),
            tool: tool.into(),
            spec: Arc::new(Spec::new(tool, "does something").with_capabilities(&[capability])),
            owner: owner.into(),
            input: Arc::new(json!({"path": "a"})),
            effects,
            paths,
            permission,
            read_only,
            mutates,
            risk,
            risk_declared,
            own,
            tool_hash,
        }
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    let rules = vec(rule(&[Action::Allow, Action::Ask, Action::Deny]), 0..4);
    let grants = vec((rule(&[Action::Allow]), hash()), 0..2);
    let dangerous = vec(select(&["bash(rm *)", "edit", "bash("][..]).prop_map(str::to_owned), 0..2);
    let roots = vec(Just("/o".to_owned()), 0..2);
    let enabled =
        option::weighted(0.1, vec(select(&["bash", "read", "*"][..]).prop_map(str::to_owned), 0..2));
    (select(&Mode::ALL[..]), rules, grants, dangerous, roots, enabled).prop_map(
        |(mode, rules, grants, dangerous, roots, enabled_tools)| Policy {
            rules,
            grants: grants.into_iter().map(|(rule, tool_hash)| Grant { rule, tool_hash }).collect(),
            dangerous,
            roots,
            enabled_tools,
            ..Policy::new(mode, RealPath::new("/w", ""))
        },
    )
}

/// A session's own policy and those above it.
fn chain() -> impl Strategy<Value = Vec<Policy>> {
    vec(policy(), 1..3)
}

/// 0 runs, 1 is asked, 2 is refused.
fn strictness(subject: &Subject, chain: &[Policy]) -> usize {
    let policies: Vec<Arc<Policy>> = chain.iter().cloned().map(Arc::new).collect();
    let verdict = judge(subject, &policies).verdict;
    ["allow", "ask", "deny"].iter().position(|name| *name == verdict.name()).unwrap()
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_rule_that_asks_or_denies_only_tightens(
        subject in subject(),
        chain in chain(),
        rule in rule(&[Action::Ask, Action::Deny]),
        (whose, place) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let before = strictness(&subject, &chain);
        let mut ruled = chain;
        let whose = whose.index(ruled.len());
        let place = place.index(ruled[whose].rules.len() + 1);
        ruled[whose].rules.insert(place, rule);
        prop_assert!(strictness(&subject, &ruled) >= before);
    }

    #[test]
    fn a_policy_above_only_tightens(subject in subject(), chain in chain(), parent in policy()) {
        let before = strictness(&subject, &chain);
        let alone = strictness(&subject, std::slice::from_ref(&parent));
        let mut longer = chain;
        longer.push(parent);
        prop_assert!(strictness(&subject, &longer) >= before.max(alone));
    }

    #[test]
    fn plan_and_headless_are_no_looser_than_default(
        subject in subject(),
        chain in chain(),
        stricter in select(&[Mode::Plan, Mode::Headless][..]),
        whose in any::<prop::sample::Index>(),
    ) {
        let mut chain = chain;
        let whose = whose.index(chain.len());
        chain[whose].mode = Mode::Default;
        let before = strictness(&subject, &chain);
        chain[whose].mode = stricter;
        prop_assert!(strictness(&subject, &chain) >= before);
    }
}

/// Else the laws above would hold of nothing.
#[test]
fn random_calls_reach_every_verdict() {
    let mut runner = TestRunner::deterministic();
    let samples = (subject(), chain());
    let reached: BTreeSet<usize> = (0..2_000)
        .map(|_| samples.new_tree(&mut runner).unwrap().current())
        .map(|(subject, chain)| strictness(&subject, &chain))
        .collect();
    assert_eq!(reached.len(), 3, "{reached:?}");
}
