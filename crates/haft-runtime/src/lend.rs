//! What one call is lent: the world through its lease, the session, the way to further calls.

use crate::{
    call::Call,
    catalogue::Offer,
    executor::Executor,
    intake::{self, Stated},
    run::{Lease, LeasedJobs, NestedCalls, Purpose, Stopwatch, Terms},
    session::{Keeper, Session},
};
use haft_core::{Allowance, Cancel, Cx, Effects, Ground, Needs, RealPath, SessionView, Sink, Touch};
use haft_policy::{Access, Policy, Subject};
use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

/// What a call made inside another inherits.
#[derive(Clone)]
pub(crate) struct Parent {
    pub(crate) session: Arc<Session>,
    pub(crate) cancel: Cancel,
    pub(crate) watch: Arc<Stopwatch>,
    pub(crate) turn: Option<u64>,
}

impl Executor {
    /// A lease for a preview: the judged paths, to look at only.
    pub(crate) fn look_only(call: &Call, stated: &Stated) -> Arc<Lease> {
        Lease::new(Terms::new(stated.subject.effects.clone(), call.session.policies(), Purpose::Preview))
    }

    /// What a tool gets: handles through its lease, which dies with the call.
    pub(crate) fn cx(&self, call: &Call, stated: &Stated, lease: &Arc<Lease>) -> Cx {
        let watch = call.watch.clone().unwrap_or_else(|| Stopwatch::start(Duration::MAX, call.outer.clone()));
        let parent = Parent {
            session: Arc::clone(&call.session),
            cancel: call.cancel.clone(),
            watch: Arc::new(watch),
            turn: call.request.turn,
        };
        let (session, sink): (Arc<dyn SessionView>, Arc<dyn Sink>) =
            (call.session.clone(), call.sink.clone());
        let jobs = LeasedJobs {
            session: Arc::clone(&call.session),
            call: call.id.clone(),
            cancel: call.cancel.clone(),
            lease: Arc::clone(lease),
            sink: Arc::clone(&sink),
            captures: call.captures.clone(),
            processes: Arc::clone(&self.world.processes),
        };
        Cx {
            call: call.id.clone(),
            world: lease.lend(&self.world),
            jobs: Arc::new(jobs),
            session,
            nested: Arc::new(NestedCalls {
                executor: self.clone(),
                parent,
                call: call.id.clone(),
                next: AtomicU64::new(0),
                delegates: stated.subject.effects == Effects::Delegated,
                lease: Arc::clone(lease),
            }),
            sink,
            cancel: call.cancel.clone(),
            paths: Arc::clone(&stated.paths),
        }
    }
}

/// The lease of a run: what was judged, and what goes with it.
pub(crate) fn lease(call: &Call, offer: &Offer, stated: &Stated) -> Arc<Lease> {
    let (session, subject) = (&call.session, &stated.subject);
    let purpose = if offer.tool.starts_processes() { Purpose::Program } else { Purpose::Run };
    let temp = &session.policy().temp;
    let keeper =
        session.is_recorded().then(|| Keeper::new(session, &call.id, &offer.name, call.request.turn));
    Lease::new(Terms {
        variables: variables(subject, temp),
        allowance: allowance(subject, &session.policy()),
        masks: session.masks().clone(),
        keeper,
        ..Terms::new(subject.effects.clone(), session.policies(), purpose)
    })
}

/// What the processes of a call get on top: where temporary files are free, and that git which is only asked is kept
/// from running programs.
fn variables(subject: &Subject, temp: &[String]) -> Vec<(String, String)> {
    let mut variables: Vec<(String, String)> =
        temp.first().map(|temp| ("TMPDIR".to_owned(), temp.clone())).into_iter().collect();
    if subject.read_only && subject.lines.iter().any(|line| !line.neutral_git.is_empty()) {
        variables
            .extend(intake::NEUTRAL.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    }
    variables
}

/// What the processes of a call may do in the sandbox: what was judged that it writes, temporary files, and what the
/// tool's own profile comes to. None where they run outside.
fn allowance(subject: &Subject, policy: &Policy) -> Option<Allowance> {
    let touches = subject.effects.touches();
    let profile = subject.spec.profile.as_ref();
    let is_kept_in = subject.spec.confined || profile.is_some();
    if !is_kept_in || profile.is_some_and(|profile| profile.off) || touches.contains(&Touch::Unconfined) {
        return None;
    }
    let own = profile.map(|profile| {
        let ground = Ground { roots: &policy.work(), home: policy.home.as_deref() };
        profile.allowance(&Needs::of(&subject.spec, &subject.effects), ground)
    });
    let stated =
        touches.iter().filter(|touch| touch.writes()).filter_map(Touch::path).map(RealPath::absolute);
    let named = subject.lines.iter().flat_map(|line| &line.paths).filter_map(|named| {
        let real = &named.path.as_ref()?.real;
        let is_written = match named.word.access {
            Access::Write | Access::WriteTree => true,
            // A program may do anything with it; in the workspace, what is protected stays so.
            Access::Named => real.is_outside(),
            Access::Read | Access::ReadTree | Access::Tracked => false,
        };
        is_written.then(|| real.absolute())
    });
    let mut writable: Vec<String> = stated.chain(named).chain(policy.temp.iter().cloned()).collect();
    writable.sort();
    writable.dedup();
    Some(Allowance { writable, ..own.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Permission, Profile, Reach, Risk, Spec, WorkspaceUse};
    use haft_policy::{Mode, Pin};
    use serde_json::json;

    fn subject(spec: Spec, effects: Effects<RealPath>) -> Subject {
        Subject {
            call: CallId::outer(1),
            tool: "x".into(),
            spec: Arc::new(spec),
            owner: "folder:t".into(),
            input: Arc::new(json!({})),
            effects,
            paths: Vec::new(),
            permission: Permission::Confirm,
            read_only: false,
            mutates: true,
            risk: Risk::Standard,
            risk_declared: false,
            own: None,
            tool_hash: None,
            pin: Pin::Known,
            lines: Vec::new(),
            hooks: Vec::new(),
        }
    }

    fn policy() -> Policy {
        let mut policy = Policy::new(Mode::Default, RealPath::new("/w", ""));
        policy.temp.push("/tmp/own".to_owned());
        policy
    }

    #[test]
    fn a_described_tool_gets_what_it_stated_and_what_its_profile_says() {
        let write = Effects::Only(vec![Touch::WriteTree(RealPath::new("/w", "out"))]);
        let plain = Spec::new("x", "d").with_profile(Profile::default());
        let given = allowance(&subject(plain.clone(), write), &policy()).unwrap();
        assert_eq!(given.writable, ["/tmp/own", "/w/out"]);
        assert_eq!((given.closed, given.network), (vec!["/w".to_owned()], Some(Reach::Closed)));
        let opened = Profile { workspace: Some(WorkspaceUse::Write), ..Profile::default() };
        let given = allowance(&subject(plain.with_profile(opened), Effects::none()), &policy()).unwrap();
        assert!(given.closed.is_empty() && given.writable == ["/tmp/own"]);
    }

    #[test]
    fn nothing_holds_a_tool_that_has_no_sandbox_or_was_let_out() {
        for profile in [Profile::outside(), Profile { off: true, ..Profile::default() }] {
            let spec = Spec::new("x", "d").with_profile(profile);
            assert_eq!(allowance(&subject(spec, Effects::Everything), &policy()), None);
        }
        assert_eq!(allowance(&subject(Spec::new("x", "d"), Effects::Everything), &policy()), None);
        let line = || Effects::Only(vec![Touch::Command("true".into())]);
        let commands = Spec::new("bash", "d").confined();
        let own = allowance(&subject(commands.clone(), line()), &policy()).unwrap();
        assert_eq!(own, Allowance { writable: vec!["/tmp/own".to_owned()], ..Allowance::default() });
        let Effects::Only(mut touches) = line() else { unreachable!() };
        touches.push(Touch::Unconfined);
        assert_eq!(allowance(&subject(commands, Effects::Only(touches)), &policy()), None);
    }
}
