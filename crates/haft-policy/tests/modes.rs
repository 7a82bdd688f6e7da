//! Every mode × every kind of call, as one table: judged here, and printed in docs/permissions.md for people.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and reads the page itself"
)]

mod lexical;

use haft_core::{Effects, Permission, Risk, Spec, Touch, Why};
use haft_policy::{Action, Confines, Grant, HookWord, JudgedPath, Mark, Mode, Pin, Policy, Subject, judge};
use lexical::{bare_policy, bash, real, rule};
use std::{env, fmt::Write, fs, path::Path, sync::Arc};

/// Set to anything, it has the table written anew.
const RENEW: &str = "HAFT_RENEW";
/// What the table stands between.
const BEGIN: &str = "<!-- modes:begin -->\n";
const END: &str = "<!-- modes:end -->";

/// A kind of call: its name for people, one such call, and what holds beside the mode.
struct Kind {
    name: &'static str,
    call: Subject,
    setting: fn(&mut Policy),
}

impl Kind {
    fn new(name: &'static str, call: Subject) -> Self {
        Self { name, call, setting: |_| {} }
    }

    fn under(self, setting: fn(&mut Policy)) -> Self {
        Self { setting, ..self }
    }

    fn verdict(&self, mode: Mode) -> &'static str {
        let mut policy = bare_policy(mode);
        (self.setting)(&mut policy);
        judge(&self.call, &[Arc::new(policy)]).verdict.name()
    }
}

/// A built-in tool that touches just this.
fn built_in(tool: &str, touch: Touch<haft_core::RealPath>) -> Subject {
    let effects = Effects::Only(vec![touch]);
    let paths = effects.touches().iter().filter_map(Touch::path).cloned();
    let paths = paths.map(|real| JudgedPath { written: real.absolute(), real }).collect();
    Subject {
        tool: tool.into(),
        spec: Arc::new(Spec::new(tool, "does something")),
        effects,
        paths,
        permission: Permission::Confirm,
        read_only: false,
        mutates: true,
        lines: Vec::new(),
        ..bash("true")
    }
}

fn reading(path: &str) -> Subject {
    let subject = built_in("read", Touch::Read(real(path)));
    Subject { permission: Permission::Auto, read_only: true, mutates: false, ..subject }
}

fn writing(path: &str) -> Subject {
    built_in("write", Touch::Write(real(path)))
}

/// As the tool declares itself: it only reads, and still asks.
fn fetching(host: &str) -> Subject {
    let subject = built_in("fetch", Touch::Host(host.into()));
    let mut spec = Spec::new("fetch", "fetches").with_capabilities(&["net.outbound"]);
    spec.untrusted_source = true;
    Subject { spec: Arc::new(spec), read_only: true, mutates: false, risk_declared: true, ..subject }
}

/// A tool that isn't built in, and declares nothing about itself.
fn foreign(pin: Pin) -> Subject {
    Subject {
        owner: "somebody".into(),
        tool_hash: Some("hash".into()),
        effects: Effects::Everything,
        paths: Vec::new(),
        pin,
        ..built_in("count", Touch::Session("count".into()))
    }
}

/// A tool that isn't built in, and declares that it only looks.
fn harmless(pin: Pin) -> Subject {
    let flags = Subject { read_only: true, mutates: false, risk_declared: true, ..foreign(pin) };
    Subject { permission: Permission::Auto, effects: Effects::none(), ..flags }
}

fn heard(call: Subject, action: Action) -> Subject {
    let word = HookWord { action, why: Why::new("hook", "a hook says so") };
    Subject { hooks: vec![word], ..call }
}

/// A line that runs in the sandbox where there is one.
fn confined(line: &str, more: &[Touch<haft_core::RealPath>]) -> Subject {
    let subject = bash(line);
    let mut touches = subject.effects.touches().to_vec();
    touches.extend_from_slice(more);
    let spec = Spec::clone(&subject.spec).confined();
    Subject { spec: Arc::new(spec), effects: Effects::Only(touches), ..subject }
}

fn wholly(policy: &mut Policy) {
    policy.confines = Confines::Wholly;
}

fn untrusted(policy: &mut Policy) {
    policy.trusted = false;
}

fn kinds() -> Vec<Kind> {
    let changed = || Pin::Changed("the command".to_owned());
    let mut destructive = foreign(Pin::Known);
    destructive.risk = Risk::Destructive;
    destructive.risk_declared = true;
    let mut auto = harmless(Pin::Known);
    auto.read_only = false;
    auto.mutates = true;
    vec![
        Kind::new("read a file of the workspace", reading("/w/src/lib.rs")),
        Kind::new("read a file outside", reading("/other/a")),
        Kind::new("read what may hold secrets (`.env`)", reading("/w/.env")),
        Kind::new("write a file of the workspace", writing("/w/src/lib.rs")),
        Kind::new("write a file outside", writing("/other/a")),
        Kind::new(
            "write a protected path (`.github/workflows/ci.yml`)",
            writing("/w/.github/workflows/ci.yml"),
        ),
        Kind::new("write haft's own settings", writing("/home/u/.config/haft/config.toml")),
        Kind::new("`bash` that only reads: `git status`", bash("git status")),
        Kind::new("`bash` that may do anything: `make`", bash("make")),
        Kind::new("the same in a sandbox that holds", confined("make", &[])).under(wholly),
        Kind::new("the same out of that sandbox (`outside`)", confined("make", &[Touch::Unconfined]))
            .under(wholly),
        Kind::new("the same, to go on after the session (`keep`)", confined("make", &[Touch::Outlives]))
            .under(wholly),
        Kind::new("`bash` that destroys: `rm -rf target`", bash("rm -rf target")),
        Kind::new("`bash` that is never allowed: `rm -rf /`", bash("rm -rf /")),
        Kind::new("`fetch` a page", fetching("example.com")),
        Kind::new("`fetch` after private data and strangers' words", fetching("example.com")).under(
            |policy| {
                let mark = |what: &str| Mark { call: haft_core::CallId::outer(1), what: what.to_owned() };
                policy.marks.private.push(mark("read .env"));
                policy.marks.untrusted.push(mark("fetch other.example"));
            },
        ),
        Kind::new("a tool of yours that only reads, known", harmless(Pin::Known)),
        Kind::new("the same, at its first use", harmless(Pin::New)),
        Kind::new("the same, changed since", harmless(changed())),
        Kind::new("the same at its first use or changed, workspace not trusted", harmless(Pin::New))
            .under(untrusted),
        Kind::new("a known tool of yours that changes things and declares `auto` and its risk", auto),
        Kind::new("a known tool of yours that declares nothing", foreign(Pin::Known)),
        Kind::new("a known tool of yours that declares itself destructive", destructive),
        Kind::new("`make` with an allow rule", bash("make"))
            .under(|policy| policy.rules.push(rule(Action::Allow, "bash(make *)"))),
        Kind::new("`make`, always allowed by an answer", bash("make")).under(|policy| {
            policy.grants.push(Grant { rule: rule(Action::Allow, "bash(make)"), tool_hash: None });
        }),
        Kind::new("`make`, allowed by a hook", heard(bash("make"), Action::Allow)),
        Kind::new("a read that an ask rule covers", reading("/w/docs/api.md"))
            .under(|policy| policy.rules.push(rule(Action::Ask, "read(docs/**)"))),
        Kind::new("a read that a deny rule covers", reading("/w/secret/k"))
            .under(|policy| policy.rules.push(rule(Action::Deny, "read(secret/**)"))),
        Kind::new("a read that a hook wants asked", heard(reading("/w/src/lib.rs"), Action::Ask)),
        Kind::new("a read that a hook denies", heard(reading("/w/src/lib.rs"), Action::Deny)),
    ]
}

/// The table in Markdown.
fn table() -> String {
    let modes: Vec<String> = Mode::ALL.iter().map(|mode| format!("`{mode}`")).collect();
    let mut text = format!("| call | {} |\n|---|{}\n", modes.join(" | "), "---|".repeat(modes.len()));
    for kind in kinds() {
        let verdicts: Vec<&str> = Mode::ALL.iter().map(|mode| kind.verdict(*mode)).collect();
        writeln!(text, "| {} | {} |", kind.name, verdicts.join(" | ")).unwrap();
    }
    text
}

#[test]
fn the_page_prints_what_the_gates_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/permissions.md");
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (printed, after) = rest.split_once(END).expect("the place for the table has an end");
    let now = table();
    if env::var_os(RENEW).is_some() {
        fs::write(&file, format!("{before}{BEGIN}{now}{END}{after}")).unwrap();
        return;
    }
    let odd: Vec<String> = now
        .lines()
        .filter(|row| !printed.lines().any(|line| line == *row))
        .map(|row| format!("now     {row}"))
        .chain(
            printed
                .lines()
                .filter(|row| !now.lines().any(|line| line == *row))
                .map(|row| format!("printed {row}")),
        )
        .collect();
    let renew = format!(
        "If this is meant, {RENEW}=1 cargo test -p haft-policy --test modes writes docs/permissions.md"
    );
    assert!(printed == now, "{}\n{renew}", odd.join("\n"));
}

#[test]
fn each_kind_and_each_class_of_questions_is_in_the_table() {
    let kinds = kinds();
    assert!(kinds.iter().all(|kind| !kind.name.contains('|')), "a name would break the table");
    for expected in ["allow", "ask", "deny"] {
        assert!(kinds.iter().any(|kind| kind.verdict(Mode::Default) == expected), "{expected}");
    }
    let gates = |kind: &Kind| {
        let mut policy = bare_policy(Mode::Default);
        (kind.setting)(&mut policy);
        let trace = judge(&kind.call, &[Arc::new(policy)]).trace;
        trace.into_iter().map(|step| step.step.to_string()).collect::<Vec<_>>()
    };
    let spoken: Vec<String> = kinds.iter().flat_map(gates).collect();
    for gate in [
        "guard:hard-deny",
        "guard:deny",
        "guard:taint",
        "guard:ask",
        "guard:protected",
        "guard:destructive",
        "guard:outside",
        "guard:hook",
        "guard:first-use",
        "settler:grant",
        "settler:allow",
        "settler:hook",
        "settler:default",
    ] {
        assert!(spoken.iter().any(|step| step == gate), "{gate} isn't heard of in the table");
    }
}

/// Whatever the table says of a mode, what is denied in `default` is denied in all.
#[test]
fn no_mode_loosens_a_denial() {
    for kind in kinds().iter().filter(|kind| kind.verdict(Mode::Default) == "deny") {
        for mode in Mode::ALL {
            assert_eq!(kind.verdict(mode), "deny", "{} in {mode}", kind.name);
        }
    }
}
