//! What one call is lent: the world through its lease, the session, the way to further calls.

use crate::{
    call::Call,
    executor::Executor,
    intake::Stated,
    run::{Lease, NestedCalls, Purpose, Stopwatch},
    session::Session,
};
use haft_core::{Cancel, Cx, Effects, SessionView, Sink};
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
        Lease::new(stated.subject.effects.clone(), call.session.policies(), Purpose::Preview)
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
        Cx {
            call: call.id.clone(),
            world: lease.lend(&self.world),
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
