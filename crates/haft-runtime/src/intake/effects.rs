//! What a call will touch, on real paths: all that the gates see.

use super::lines::{Around, judged_lines};
use crate::{catalogue::Offer, session::Session};
use haft_core::{
    Bound, CallId, Effects, Failure, Files, Flags, OwnCheck, PathArg, Permission, RealPath, Risk, Spec,
    Touch, Why,
};
use haft_policy::{JudgedPath, Pin, Subject, normal};
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
        let names_paths = self.subject.lines.iter().any(|line| !line.paths.is_empty());
        !self.paths.is_empty() || names_paths || self.epoch != session.epoch()
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
            && own.pin == others.pin
            && own.lines == others.lines
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
    around: Around<'_>,
) -> Result<Stated, Failure> {
    let Around { files, session, epoch, .. } = around;
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
                // A name that is only read may stand for the one file whose name looks the same.
                let is_written = touches.iter().any(|touch| touch.writes() && touch.path() == Some(path));
                let real = if is_written { files.resolve(path)? } else { files.resolve_existing(path)? };
                paths.push((path.clone(), real.clone()));
                judged.push(JudgedPath { written: written(files, path), real: real.clone() });
                Ok(real)
            };
            let touches: Result<Vec<Touch<RealPath>>, Failure> =
                touches.iter().map(|touch| touch.try_map(&mut resolve)).collect();
            Effects::Only(touches?)
        }
    };
    let lines = judged_lines(effects.touches(), around);
    let careful_flags = flags.is_none();
    let flags = flags.unwrap_or_default();
    // Of lines that surely change nothing the tool needn't know.
    let touches_more =
        effects.touches().iter().any(|touch| touch.writes() || matches!(touch, Touch::Host(_)));
    // Of an input that it says itself to change something it knows more than its lines show: the text of a write to a
    // running program isn't a line for the shell.
    let is_known_to_change = flags.read_only == Some(false);
    let only_lines = !lines.is_empty() && !careful_flags && !touches_more && !is_known_to_change;
    let reads_only = only_lines && lines.iter().all(|line| haft_policy::reads_only(line).is_ok());
    let temp = around.temp;
    let harmless =
        reads_only || only_lines && lines.iter().all(|line| haft_policy::is_harmless(line, temp).is_ok());
    let read_only = !careful_flags && (reads_only || flags.read_only.unwrap_or(spec.read_only));
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
        } else if harmless && spec.declared_permission.is_none() {
            Permission::Auto
        } else {
            flagged_permission(spec, flags)
        },
        asked_by: offer.asked_by.clone(),
        read_only,
        mutates: match flags.mutates {
            Some(mutates) if !careful_flags && !reads_only => mutates,
            _ if flags.read_only.is_some() || careful_flags || reads_only => !read_only,
            _ => spec.mutates(),
        },
        risk: if careful_flags { spec.risk().max(Risk::Standard) } else { flags.risk.unwrap_or(spec.risk()) },
        risk_declared: !careful_flags && flags.risk.or(spec.declared_risk).is_some(),
        own,
        tool_hash: offer.hash.clone(),
        pin: pin(offer, around),
        lines,
        hooks: around.hooks.to_vec(),
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

/// Whether the user knows a foreign tool as it is.
fn pin(offer: &Offer, around: Around<'_>) -> Pin {
    around.pins.filter(|_| offer.hash.is_some()).map_or(Pin::Known, |pins| pins.look(offer))
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
    normal(&whole)
}
