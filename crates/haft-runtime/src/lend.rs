//! What one call is lent: the world through its lease, the session, the way to further calls.

use crate::{
    call::Call,
    catalogue::Offer,
    executor::Executor,
    intake::{self, Stated},
    run::{Lease, LeasedJobs, NestedCalls, Purpose, Stopwatch, Terms},
    session::{Keeper, Session},
};
use haft_core::{Allowance, Cancel, Cx, Effects, RealPath, SessionView, Sink, Touch};
use haft_policy::{Access, Subject};
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
        allowance: allowance(subject, temp),
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

/// What the processes of a call may do in the sandbox: what was judged that it writes, and temporary files. None where
/// they run outside.
fn allowance(subject: &Subject, temp: &[String]) -> Option<Allowance> {
    let touches = subject.effects.touches();
    if !subject.spec.confined || touches.contains(&Touch::Unconfined) {
        return None;
    }
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
    let mut writable: Vec<String> = stated.chain(named).chain(temp.iter().cloned()).collect();
    writable.sort();
    writable.dedup();
    Some(Allowance { writable })
}
