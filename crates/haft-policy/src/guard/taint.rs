//! Holds what would carry private data out of a session that strangers can speak to.

use super::{Guard, Restriction, named};
use crate::{Access, Class, Mark, Policy, Subject, Taint as Setting, command::way_out, places::is_sensitive};
use haft_core::{Effects, Profile, Reach, Touch, Why};

/// Promises that a call which completes private data, strangers' words and a way out doesn't run unasked (by the
/// setting: is refused, or only warned of), and that the question names the results that led to it. A person's
/// answer may cover one way out for the marks there are then; a further mark asks again.
pub(super) struct Taint;

impl Guard for Taint {
    fn step(&self) -> &'static str {
        "guard:taint"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        if policy.taint == Setting::Off || policy.marks.untrusted.is_empty() {
            return None;
        }
        let reads_now = sensitive_read(subject);
        if policy.marks.private.is_empty() && reads_now.is_none() {
            return None;
        }
        let holds =
            |way: &String| policy.taint == Setting::Deny || reads_now.is_some() || !policy.marks.covers(way);
        let way = ways_out(subject).into_iter().find(holds)?;
        let mut private = sources(&policy.marks.private);
        if let Some(path) = reads_now {
            let own = format!("this call reads {path}");
            private = if private.is_empty() { own } else { format!("{private}; {own}") };
        }
        let reason = format!(
            "it can send data out ({way}) while the session holds private data ({private}) and words that strangers \
             wrote ({})",
            sources(&policy.marks.untrusted)
        );
        let why = Why::new(self.name(), reason);
        Some(match policy.taint {
            Setting::Deny => Restriction::Deny(why),
            Setting::Warn => Restriction::Warn(why),
            Setting::Ask | Setting::Off => Restriction::Ask(Class::Taint, vec![why]),
        })
    }
}

/// The ways by which a call can send something out: its hosts, the network programs it runs, or the tool itself
/// where it is open to the world and doesn't say where it goes.
pub fn ways_out(subject: &Subject) -> Vec<String> {
    let mut ways: Vec<String> = Vec::new();
    for touch in subject.effects.touches() {
        if let Touch::Host(host) = touch {
            ways.push(host.to_string());
        }
    }
    // What its sandbox is opened for, whatever it states.
    match subject.spec.profile.as_ref() {
        Some(profile) if profile.asks_to_leave() => ways.push(subject.tool.to_string()),
        Some(Profile { network: Some(Reach::Open), .. }) => ways.push(subject.tool.to_string()),
        Some(Profile { network: Some(Reach::Hosts(hosts)), .. }) => ways.extend(hosts.iter().cloned()),
        _ => {}
    }
    for line in &subject.command_lines() {
        if line.line.commands.is_empty() && !line.line.is_exact() {
            ways.push(subject.tool.to_string());
        }
        ways.extend((0..line.line.commands.len()).filter_map(|at| way_out(line, at)));
    }
    let has = |tag: &str| subject.spec.capabilities.iter().any(|own| own.as_str() == tag);
    let is_open = has("net.outbound") || has("mcp.proxy") || subject.effects == Effects::Everything;
    if ways.is_empty() && is_open && !(subject.read_only && subject.effects != Effects::Everything) {
        ways.push(subject.tool.to_string());
    }
    ways.dedup();
    ways
}

/// The first sensitive path that the call itself reads.
pub(crate) fn sensitive_read(subject: &Subject) -> Option<String> {
    let uses = subject.path_uses();
    let read = uses.into_iter().filter(|used| used.access != Access::Write);
    read.flat_map(|used| used.names).find(|name| is_sensitive(name))
}

fn sources(marks: &[Mark]) -> String {
    let newest: Vec<String> =
        marks.iter().rev().map(|mark| format!("call {}: {}", mark.call, mark.what)).collect();
    named(&newest)
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Allow,
        Covered, Mark, Mode, Policy, Subject, Taint,
        sample::{bash, foreign, policy, reading, subject, verdict},
    };
    use haft_core::{CallId, Effects, Profile, Reach, Touch};
    use std::sync::Arc;

    fn mark(number: u64, what: &str) -> Mark {
        Mark { call: CallId::outer(number), what: what.to_owned() }
    }

    fn marked(private: bool, untrusted: bool) -> Policy {
        let mut policy = policy(Mode::Yolo, &[(Allow, "fetch"), (Allow, "bash")]);
        policy.marks.private.extend(private.then(|| mark(1, "read .env")));
        policy.marks.untrusted.extend(untrusted.then(|| mark(2, "fetch a.example")));
        policy
    }

    fn sending() -> Subject {
        subject("fetch", Effects::Only(vec![Touch::Host("b.example".into())]))
    }

    #[test]
    fn all_three_ask_and_any_two_do_not() {
        assert_eq!(verdict(&sending(), &marked(true, true)), "ask");
        assert_eq!(verdict(&sending(), &marked(true, false)), "allow");
        assert_eq!(verdict(&sending(), &marked(false, true)), "allow");
        assert_eq!(verdict(&reading("/w/a"), &marked(true, true)), "allow");
        assert_eq!(verdict(&bash("curl https://b.example"), &marked(true, true)), "ask");
        assert_eq!(verdict(&bash("ls"), &marked(true, true)), "allow");
        assert_eq!(verdict(&foreign("x", Effects::Everything), &marked(true, true)), "ask");
    }

    #[test]
    fn hosts_that_a_tools_sandbox_is_opened_for_are_a_way_out() {
        let tool = |profile: Profile| {
            let mut subject = foreign("x", Effects::none());
            subject.spec = Arc::new((*subject.spec).clone().read_only().with_profile(profile));
            Subject { read_only: true, mutates: false, ..subject }
        };
        let network = |network| Profile { network: Some(network), ..Profile::default() };
        let hosts = Reach::Hosts(vec!["b.example".to_owned()]);
        assert_eq!(verdict(&tool(network(hosts)), &marked(true, true)), "ask");
        assert_eq!(verdict(&tool(network(Reach::Open)), &marked(true, true)), "ask");
        assert_eq!(verdict(&tool(network(Reach::Closed)), &marked(true, true)), "allow");
        assert_eq!(verdict(&tool(Profile::default()), &marked(true, true)), "allow");
    }

    #[test]
    fn the_question_names_the_results() {
        let judged = crate::judge(&sending(), &[marked(true, true).into()]);
        let reason = &judged.verdict.why().unwrap().reason;
        assert!(reason.contains("call 1: read .env") && reason.contains("2: fetch a.example"), "{reason}");
        assert!(reason.contains("b.example"), "{reason}");
    }

    #[test]
    fn an_answer_covers_one_way_for_the_marks_there_were() {
        let mut policy = marked(true, true);
        policy.marks.covered.push(Covered { way: "b.example".to_owned(), private: 1, untrusted: 1 });
        assert_eq!(verdict(&sending(), &policy), "allow");
        let other = subject("fetch", Effects::Only(vec![Touch::Host("c.example".into())]));
        assert_eq!(verdict(&other, &policy), "ask");
        policy.marks.private.push(mark(3, "read key.pem"));
        assert_eq!(verdict(&sending(), &policy), "ask");
    }

    #[test]
    fn the_setting_decides_what_becomes_of_it() {
        let cases =
            [(Taint::Off, "allow"), (Taint::Warn, "allow"), (Taint::Ask, "ask"), (Taint::Deny, "deny")];
        for (taint, expected) in cases {
            let policy = Policy { taint, ..marked(true, true) };
            assert_eq!(verdict(&sending(), &policy), expected, "{taint:?}");
        }
        let warned = crate::judge(&sending(), &[Policy { taint: Taint::Warn, ..marked(true, true) }.into()]);
        assert!(warned.trace.iter().any(|step| step.step == "guard:taint" && step.verdict == "warn"));
    }
}
