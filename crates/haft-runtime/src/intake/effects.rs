//! What a call will touch, on real paths: all that the gates see.

use crate::{catalogue::Offer, session::Session};
use haft_core::{
    Bound, CallId, Effects, Failure, Files, Flags, OwnCheck, PathArg, Permission, RealPath, Risk,
    SessionView, Spec, Touch, Why,
};
use haft_policy::{JudgedPath, Subject};
use serde_json::Value;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// A subject, and which real path each path of the input stands for.
#[derive(Debug, Clone)]
pub(crate) struct Stated {
    pub(crate) subject: Arc<Subject>,
    pub(crate) paths: Arc<[(PathArg, RealPath)]>,
    pub(crate) concurrency_safe: bool,
    /// The session's state that was looked at.
    epoch: u64,
}

impl Stated {
    /// Whether asking again could give another answer: paths may mean something else, or the session changed.
    pub(crate) fn may_have_changed(&self, session: &Session) -> bool {
        !self.paths.is_empty() || self.epoch != session.epoch()
    }

    /// Whether both touch the same things and would be judged alike.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        let (own, others) = (&*self.subject, &*other.subject);
        own.effects == others.effects
            && self.paths == other.paths
            && self.concurrency_safe == other.concurrency_safe
            && (own.permission, own.read_only, own.mutates, own.risk)
                == (others.permission, others.read_only, others.mutates, others.risk)
            && own.own == others.own
    }
}

/// Asks the tool what this input touches and resolves the paths. A declaration that panics counts as the most
/// careful one.
///
/// # Errors
/// A path that can't be resolved.
pub(crate) fn state(
    offer: &Offer,
    bound: &dyn Bound,
    input: &Arc<Value>,
    call: &CallId,
    world: (&dyn Files, &dyn SessionView, u64),
) -> Result<Stated, Failure> {
    let (files, session, epoch) = world;
    let spec = offer.spec();
    let stated = careful(|| bound.effects(session)).unwrap_or(Effects::Everything);
    let flags = careful(|| bound.flags());
    let own = careful(|| bound.check(session))
        .unwrap_or_else(|| Some(OwnCheck::Deny(Why::new("own", "the tool's own permission check failed"))));
    let mut paths = Vec::new();
    let mut judged = Vec::new();
    let effects = match &stated {
        Effects::Everything => Effects::Everything,
        Effects::Delegated => Effects::Delegated,
        Effects::Only(touches) => {
            let mut resolve = |path: &PathArg| -> Result<RealPath, Failure> {
                let real = files.resolve(path)?;
                paths.push((path.clone(), real.clone()));
                judged.push(JudgedPath { written: written(files, path), real: real.clone() });
                Ok(real)
            };
            let touches: Result<Vec<Touch<RealPath>>, Failure> =
                touches.iter().map(|touch| touch.try_map(&mut resolve)).collect();
            Effects::Only(touches?)
        }
    };
    let careful_flags = flags.is_none();
    let flags = flags.unwrap_or_default();
    let read_only = !careful_flags && flags.read_only.unwrap_or(spec.read_only);
    let subject = Subject {
        call: call.clone(),
        tool: Arc::clone(&offer.name),
        spec: Arc::clone(spec),
        owner: Arc::clone(&offer.owner),
        input: Arc::clone(input),
        effects,
        paths: judged,
        permission: if careful_flags {
            spec.permission().max(Permission::Confirm)
        } else {
            flagged_permission(spec, flags)
        },
        read_only,
        mutates: if flags.read_only.is_some() || careful_flags { !read_only } else { spec.mutates() },
        risk: if careful_flags { spec.risk().max(Risk::Standard) } else { flags.risk.unwrap_or(spec.risk()) },
        risk_declared: !careful_flags && flags.risk.or(spec.declared_risk).is_some(),
        own,
        tool_hash: offer.hash.clone(),
    };
    let concurrency_safe = !careful_flags && flags.concurrency_safe.unwrap_or(spec.concurrency_safe);
    Ok(Stated { subject: Arc::new(subject), paths: paths.into(), concurrency_safe, epoch })
}

/// The permission of an input by what the tool says of itself and of the input.
pub(crate) fn flagged_permission(spec: &Spec, flags: Flags) -> Permission {
    match (flags.permission, flags.read_only, spec.declared_permission) {
        (Some(permission), ..) => permission,
        // An input that turns out to be read-only is as free as a read-only tool, unless the tool says otherwise.
        (None, Some(true), None) => Permission::Auto,
        (None, Some(false), None) => Permission::Confirm,
        _ => spec.permission(),
    }
}

fn careful<T>(ask: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(ask)).ok()
}

/// The path as it was written, absolute and without `.` and `..`, links not followed.
fn written(files: &dyn Files, path: &PathArg) -> String {
    let whole = if path.0.starts_with('/') {
        path.0.clone()
    } else if path.0 == "~" || path.0.starts_with("~/") {
        // What `~` stands for is known to the files alone; the real path is judged in any case.
        return files.resolve(path).map(|real| real.absolute()).unwrap_or_default();
    } else {
        format!("{}/{}", files.workspace().absolute(), path.0)
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
    format!("/{}", parts.join("/"))
}
