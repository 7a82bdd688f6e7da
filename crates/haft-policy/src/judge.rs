//! Subject in, verdict with trace out.

use crate::{
    Policy, Subject,
    guard::{self, Guard, Restriction},
    settle::{self, Settlement},
    why_not::{is_settled, why_not},
};
use haft_core::{TraceStep, Why};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// What was decided on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow(Why),
    /// A person is asked, for all these reasons.
    Ask(Vec<Why>),
    /// It is refused.
    Deny(Why),
}

impl Verdict {
    /// `allow`, `ask` or `deny`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Allow(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Deny(_) => "deny",
        }
    }

    /// The first reason.
    pub fn why(&self) -> Option<&Why> {
        match self {
            Self::Allow(why) | Self::Deny(why) => Some(why),
            Self::Ask(whys) => whys.first(),
        }
    }

    /// The stricter of two; two asks are asked as one.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ask(mut whys), Self::Ask(more)) => {
                for why in more {
                    if !whys.contains(&why) {
                        whys.push(why);
                    }
                }
                Self::Ask(whys)
            }
            (denial @ Self::Deny(_), _) | (_, denial @ Self::Deny(_)) => denial,
            (ask @ Self::Ask(_), _) | (_, ask @ Self::Ask(_)) => ask,
            (allow @ Self::Allow(_), Self::Allow(_)) => allow,
        }
    }
}

/// A verdict, and each gate's word on the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What was decided.
    pub verdict: Verdict,
    /// One step per guard that spoke and per settler that was asked.
    pub trace: Vec<TraceStep>,
}

/// Judges a call under a session's own policy and those of all its parents, own first. The strictest holds;
/// where there is no policy at all, nothing runs.
pub fn judge(subject: &Subject, policies: &[Arc<Policy>]) -> Judgement {
    let Judgement { verdict, mut trace } = weigh(subject, policies);
    let has_nobody = policies.iter().any(|policy| policy.mode == crate::Mode::Headless);
    match verdict {
        Verdict::Ask(whys) if has_nobody => {
            let why = unanswered(&whys, subject, policies);
            trace.push(TraceStep::gate("settler:mode", "deny", &why));
            Judgement { verdict: Verdict::Deny(why), trace }
        }
        verdict => Judgement { verdict, trace },
    }
}

/// As [`judge`], where a question stays one also if nobody is there to answer it.
pub(crate) fn weigh(subject: &Subject, policies: &[Arc<Policy>]) -> Judgement {
    let mut trace = Vec::new();
    let mut verdict: Option<Verdict> = None;
    for (generation, policy) in policies.iter().enumerate() {
        let judged = judge_by(&guard::ALL, subject, policy);
        trace.extend(
            judged.trace.into_iter().map(|step| if generation == 0 { step } else { of_parent(step) }),
        );
        verdict = Some(match verdict {
            None => judged.verdict,
            Some(before) => before.and(judged.verdict),
        });
    }
    let verdict =
        verdict.unwrap_or_else(|| Verdict::Deny(Why::new("mode", "there is no policy to judge it by")));
    Judgement { verdict, trace }
}

/// Judges under one policy.
fn judge_by(guards: &[&dyn Guard], subject: &Subject, policy: &Policy) -> Judgement {
    let mut trace = Vec::new();
    let mut asks: Vec<Why> = Vec::new();
    let mut denial: Option<Why> = None;
    for guard in guards {
        let step = guard.step();
        match hear(*guard, subject, policy) {
            None => {}
            Some(Restriction::Deny(why)) => {
                trace.push(TraceStep::gate(step, "deny", &why));
                denial.get_or_insert(why);
            }
            Some(Restriction::Warn(why)) => trace.push(TraceStep::gate(step, "warn", &why)),
            Some(Restriction::Ask(class, whys)) if policy.mode.silences(class) => {
                let reason = format!("silenced by {} mode: {}", policy.mode, reasons(&whys));
                trace.push(asked(step, "-", &whys).because(reason));
            }
            Some(Restriction::Ask(_, whys)) => {
                trace.push(asked(step, "ask", &whys));
                asks.extend(whys);
            }
        }
    }
    let verdict = match denial {
        Some(why) => Verdict::Deny(why),
        None if asks.is_empty() => settle(subject, policy, &mut trace),
        None => Verdict::Ask(asks),
    };
    Judgement { verdict, trace }
}

/// A guard that fails denies.
fn hear(guard: &dyn Guard, subject: &Subject, policy: &Policy) -> Option<Restriction> {
    catch_unwind(AssertUnwindSafe(|| guard.check(subject, policy))).unwrap_or_else(|_| {
        let reason = "the guard failed while it judged, and a guard that fails denies";
        Some(Restriction::Deny(Why::new(guard.name(), reason)))
    })
}

/// The first settler that speaks decides; one that fails says nothing, and in the end a person is asked.
fn settle(subject: &Subject, policy: &Policy, trace: &mut Vec<TraceStep>) -> Verdict {
    for settler in settle::ALL {
        let step = settler.step();
        match catch_unwind(AssertUnwindSafe(|| settler.settle(subject, policy))) {
            Ok(None) => trace.push(TraceStep::new(step, "-")),
            Ok(Some(Settlement::Allow(why))) => {
                trace.push(TraceStep::gate(step, "allow", &why));
                return Verdict::Allow(why);
            }
            Ok(Some(Settlement::Ask(why))) => {
                trace.push(TraceStep::gate(step, "ask", &why));
                return Verdict::Ask(vec![why]);
            }
            Err(_) => trace.push(TraceStep::new(step, "-").because("it failed while it judged")),
        }
    }
    Verdict::Ask(vec![Why::new("default", "nothing settles it")])
}

fn asked(step: &'static str, verdict: &'static str, whys: &[Why]) -> TraceStep {
    let mut step = TraceStep::new(step, verdict).because(reasons(whys));
    let rule = whys.iter().find(|why| why.rule.is_some());
    step.rule = rule.and_then(|why| why.rule.clone());
    step.source = rule.and_then(|why| why.source.clone());
    step
}

fn reasons(whys: &[Why]) -> String {
    whys.iter().map(|why| why.reason.as_str()).collect::<Vec<_>>().join("; ")
}

fn of_parent(mut step: TraceStep) -> TraceStep {
    step.reason = Some(match step.reason {
        Some(reason) => format!("under the parent's policy: {reason}").into(),
        None => "under the parent's policy".into(),
    });
    step
}

/// What becomes of a question where nobody is: a denial that says what would have let the call run.
fn unanswered(whys: &[Why], subject: &Subject, policies: &[Arc<Policy>]) -> Why {
    let advice = why_not(subject, policies).into_iter().next();
    let advice = advice.unwrap_or_else(|| "no rule would let it run: do it another way".to_owned());
    let by_guard = whys.iter().find(|why| !is_settled(why));
    let first = by_guard.or(whys.first());
    Why {
        gate: "mode".into(),
        reason: format!("nobody is there to answer (headless): {}; {advice}", reasons(whys)),
        rule: first.and_then(|why| why.rule.clone()),
        source: first.and_then(|why| why.source.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action::{self, Allow, Ask, Deny},
        Mode,
        sample::{bash, foreign, policy, reading, verdict, writing},
    };
    use haft_core::{Effects, Permission, Risk};

    /// Field case: a prefix rule for one program covers what is chained, quoted or redirected behind it.
    #[test]
    fn a_rule_for_one_program_allows_no_other() {
        let lines = [
            "ls; rm x",
            "ls && rm x",
            "ls\nrm x",
            "ls $(rm x)",
            "ls > ~/.bashrc",
            "\"rm\" x",
            "/bin/r? x",
            "\\rm x",
            "env A=1 rm x",
            "xargs rm < f",
            "bash -c 'rm x'",
        ];
        let rules = [(Allow, "bash(ls *)"), (Deny, "bash(rm *)")];
        for mode in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Full) {
            for line in lines {
                assert_ne!(verdict(&bash(line), &policy(mode, &rules)), "allow", "{mode}: {line:?}");
            }
        }
        for line in lines {
            assert_ne!(
                verdict(&bash(line), &policy(Mode::Default, &[(Allow, "bash(ls *)")])),
                "allow",
                "{line:?}"
            );
            let unread = ["ls > ~/.bashrc", "/bin/r? x"].contains(&line);
            let expected = if unread { "ask" } else { "deny" };
            assert_eq!(verdict(&bash(line), &policy(Mode::Yolo, &rules)), expected, "{line:?}");
        }
        for line in ["ls -la", "ls \"a;b\""] {
            assert_eq!(verdict(&bash(line), &policy(Mode::Default, &rules)), "allow", "{line}");
        }
    }

    #[test]
    fn deny_beats_ask_beats_allow() {
        let cases: [(&[(Action, &str)], &str); 5] = [
            (&[(Allow, "bash")], "allow"),
            (&[(Allow, "bash(make -k)"), (Ask, "bash(make *)")], "ask"),
            (&[(Allow, "bash(make -k)"), (Ask, "bash"), (Deny, "bash(make *)")], "deny"),
            (&[(Ask, "bash(rm *)")], "ask"),
            (&[], "ask"),
        ];
        for (rules, expected) in cases {
            assert_eq!(verdict(&bash("make -k"), &policy(Mode::Default, rules)), expected, "{rules:?}");
        }
    }

    #[test]
    fn the_mode_table() {
        let mut destructive = writing("/w/a");
        destructive.risk = Risk::Destructive;
        let mut declared = foreign("x", Effects::none());
        declared.risk_declared = true;
        // plan, ask, default, accept-edits, auto, yolo, full, headless
        let cases = [
            ("read", reading("/w/a"), "allow allow allow allow allow allow allow allow"),
            ("write", writing("/w/a"), "deny ask ask allow ask allow allow deny"),
            ("bash that reads", bash("ls"), "allow allow allow allow allow allow allow allow"),
            ("bash", bash("make x"), "deny ask ask ask ask allow allow deny"),
            ("read outside", reading("/o/a"), "ask ask ask ask ask allow allow deny"),
            ("write outside", writing("/o/a"), "deny ask ask ask ask allow allow deny"),
            ("destructive", destructive, "deny ask ask ask ask ask allow deny"),
            ("undeclared", foreign("x", Effects::Everything), "deny ask ask ask ask allow allow deny"),
            ("risk declared", declared, "deny ask ask ask allow allow allow deny"),
        ];
        for (name, subject, expected) in cases {
            let found: Vec<&str> =
                Mode::ALL.iter().map(|mode| verdict(&subject, &policy(*mode, &[]))).collect();
            assert_eq!(found.join(" "), expected, "{name}");
        }
    }

    #[test]
    fn no_mode_silences_a_denial() {
        let mut disabled = reading("/w/a");
        disabled.permission = Permission::Deny;
        for mode in Mode::ALL {
            assert_eq!(verdict(&reading("/w/a"), &policy(mode, &[(Deny, "read(./a)")])), "deny", "{mode}");
            assert_eq!(verdict(&disabled, &policy(mode, &[(Allow, "read")])), "deny", "{mode}");
        }
    }

    fn rank(verdict: &Verdict) -> u8 {
        match verdict {
            Verdict::Allow(_) => 0,
            Verdict::Ask(_) => 1,
            Verdict::Deny(_) => 2,
        }
    }

    #[test]
    fn a_chain_only_tightens() {
        let subjects = [reading("/w/a"), writing("/w/a"), writing("/o/a"), bash("ls"), bash("ls; rm x")];
        let lists: [&[(Action, &str)]; 3] =
            [&[], &[(Allow, "bash(ls *)"), (Allow, "edit")], &[(Deny, "bash(rm *)")]];
        let policies: Vec<Arc<Policy>> =
            Mode::ALL.iter().flat_map(|mode| lists.map(|rules| Arc::new(policy(*mode, rules)))).collect();
        for subject in &subjects {
            for own in &policies {
                for parent in &policies {
                    let alone = |policy: &Arc<Policy>| rank(&judge(subject, &[Arc::clone(policy)]).verdict);
                    let both = rank(&judge(subject, &[Arc::clone(own), Arc::clone(parent)]).verdict);
                    assert!(
                        both >= alone(own).max(alone(parent)),
                        "{} {} {}",
                        own.mode,
                        parent.mode,
                        subject.tool
                    );
                }
            }
        }
        assert_eq!(judge(&reading("/w/a"), &[]).verdict.name(), "deny");
    }

    #[test]
    fn every_ask_is_collected_and_traced() {
        let mut subject = writing("/o/a");
        subject.risk = Risk::Destructive;
        let policy = Arc::new(policy(Mode::Default, &[(Ask, "edit"), (Ask, "risk:destructive")]));
        let judged = judge(&subject, &[policy]);
        let Verdict::Ask(whys) = &judged.verdict else { panic!("{:?}", judged.verdict) };
        let gates: Vec<&str> = whys.iter().map(|why| why.gate.as_ref()).collect();
        assert_eq!(gates, ["ask", "ask", "destructive", "outside"]);
        let steps: Vec<&str> = judged.trace.iter().map(|step| step.step.as_ref()).collect();
        assert_eq!(steps, ["guard:ask", "guard:destructive", "guard:outside"]);
        assert_eq!(judged.trace[0].rule.as_deref(), Some("edit"));
        assert_eq!(judged.trace[0].source.as_deref(), Some("/conf/rules:1"));
    }

    #[test]
    fn settlers_are_traced_up_to_the_one_that_speaks() {
        let judged = judge(&reading("/w/a"), &[Arc::new(policy(Mode::Default, &[]))]);
        let steps: Vec<String> =
            judged.trace.iter().map(|step| format!("{} {}", step.step, step.verdict)).collect();
        assert_eq!(
            steps,
            [
                "settler:grant -",
                "settler:allow -",
                "settler:hook -",
                "settler:mode -",
                "settler:default allow"
            ]
        );
    }

    #[test]
    fn headless_names_the_rule_that_would_allow() {
        let reason = |subject: &Subject, rules: &[(Action, &str)]| {
            let judged = judge(subject, &[Arc::new(policy(Mode::Headless, rules))]);
            judged.verdict.why().unwrap().reason.clone()
        };
        let plain = reason(&bash("cargo test -p a"), &[]);
        assert!(
            plain.contains("nobody is there") && plain.contains("\"bash(cargo test -p a)\" under allow"),
            "{plain}"
        );
        let ruled = reason(&bash("ls"), &[(Ask, "bash(ls *)")]);
        assert!(ruled.contains("beats the rule \"bash(ls *)\" at /conf/rules:1"), "{ruled}");
        assert!(reason(&writing("/o/a"), &[]).contains("\"outside\""));
    }

    #[test]
    fn a_guard_that_panics_denies() {
        struct Broken;
        impl Guard for Broken {
            fn step(&self) -> &'static str {
                "guard:broken"
            }
            fn check(&self, _: &Subject, _: &Policy) -> Option<Restriction> {
                panic!("on purpose")
            }
        }
        let judged = judge_by(&[&Broken], &reading("/w/a"), &policy(Mode::Full, &[(Allow, "read")]));
        assert_eq!(judged.verdict.name(), "deny");
        assert_eq!(judged.trace[0].step, "guard:broken");
    }
}
