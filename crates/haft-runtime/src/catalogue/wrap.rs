//! A wrapper around a tool that can't loosen it, whatever it says.

use super::RegisterError;
use crate::intake::flagged_permission;
use haft_core::{
    AnyTool, Bound, BoxFuture, Cx, Effects, Failure, Flags, Output, OwnCheck, Preview, Secret, SessionView,
    Spec,
};
use serde_json::Value;
use std::sync::Arc;

/// Inner and outer tool; of what both declare for an input, the more careful answer holds.
pub(super) struct Tightened {
    inner: Arc<dyn AnyTool>,
    outer: Arc<dyn AnyTool>,
    spec: Arc<Spec>,
}

/// Whose word on the sandbox holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// The wrapped tool's, whatever the wrapper says.
    Never,
    /// The wrapper's, where it says something: it is the operator's.
    AsItSays,
}

impl Tightened {
    pub(super) fn new(
        inner: Arc<dyn AnyTool>,
        outer: Arc<dyn AnyTool>,
        opens: Opens,
    ) -> Result<Self, RegisterError> {
        if let Some(why) = loosens(inner.spec(), outer.spec()) {
            return Err(RegisterError::Loosens { tool: inner.spec().name.to_string(), why: why.to_owned() });
        }
        let spec = kept_in(inner.spec(), outer.spec(), opens);
        Ok(Self { inner, outer, spec })
    }
}

/// The wrapper's declaration with the sandbox that holds.
fn kept_in(inner: &Arc<Spec>, outer: &Arc<Spec>, opens: Opens) -> Arc<Spec> {
    let said = outer.profile.as_ref().filter(|_| opens == Opens::AsItSays);
    let profile = said.or(inner.profile.as_ref()).cloned();
    let confined = inner.confined || outer.confined;
    if profile == outer.profile && confined == outer.confined {
        return Arc::clone(outer);
    }
    let mut spec = Spec::clone(outer);
    (spec.profile, spec.confined) = (profile, confined);
    Arc::new(spec)
}

fn loosens(inner: &Spec, outer: &Spec) -> Option<&'static str> {
    let rules = [
        (outer.permission() < inner.permission(), "lowers the permission"),
        (outer.risk() < inner.risk(), "lowers the risk"),
        (
            outer.declared_risk.is_some() && inner.declared_risk.is_none() && outer.risk() <= inner.risk(),
            "declares a risk that the tool leaves open",
        ),
        (!inner.capabilities.is_subset(&outer.capabilities), "drops capabilities"),
        (outer.read_only && !inner.read_only, "declares itself read-only"),
        (!outer.mutates() && inner.mutates(), "declares that it doesn't mutate"),
        (outer.enabled && !inner.enabled, "offers a tool that isn't offered"),
        (outer.concurrency_safe && !inner.concurrency_safe, "declares itself concurrency-safe"),
        (!outer.untrusted_source && inner.untrusted_source, "hides that its results come from strangers"),
    ];
    rules.into_iter().find(|(broken, _)| *broken).map(|(_, why)| why)
}

impl AnyTool for Tightened {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn enabled(&self) -> bool {
        self.inner.enabled() && self.outer.enabled()
    }

    fn starts_processes(&self) -> bool {
        self.inner.starts_processes()
    }

    fn prompt_beside(&self, sent: &dyn Fn() -> Vec<(Arc<str>, Arc<Spec>)>) -> Option<String> {
        self.outer.prompt_beside(sent)
    }

    fn parts(&self) -> Vec<(String, String)> {
        self.inner.parts()
    }

    fn consult(self: Arc<Self>, input: Arc<Value>) -> Option<BoxFuture<'static, ()>> {
        let outer = Arc::clone(&self.outer).consult(Arc::clone(&input));
        let inner = Arc::clone(&self.inner).consult(input);
        if outer.is_none() && inner.is_none() {
            return None;
        }
        // A wrapper that passes the question on has heard the answer for the wrapped tool, which isn't asked again.
        Some(Box::pin(async move {
            for asked in [outer, inner].into_iter().flatten() {
                asked.await;
            }
        }))
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        // A wrapper may take another input than the tool; then the tool's static declaration counts.
        let inner = Arc::clone(&self.inner).bind(Arc::clone(&input)).ok();
        let outer = Arc::clone(&self.outer).bind(input)?;
        Ok(Box::new(Both {
            inner_spec: Arc::clone(self.inner.spec()),
            outer_spec: Arc::clone(self.outer.spec()),
            inner,
            outer,
        }))
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        Arc::clone(&self.outer).cleanup(input, cx)
    }
}

struct Both {
    inner_spec: Arc<Spec>,
    outer_spec: Arc<Spec>,
    inner: Option<Box<dyn Bound>>,
    outer: Box<dyn Bound>,
}

impl Bound for Both {
    fn effects(&self, session: &dyn SessionView) -> Effects {
        let Some(inner) = &self.inner else { return Effects::Everything };
        match (inner.effects(session), self.outer.effects(session)) {
            (Effects::Only(mut inner), Effects::Only(outer)) => {
                inner.extend(outer.into_iter().filter(|touch| !inner.contains(touch)).collect::<Vec<_>>());
                Effects::Only(inner)
            }
            (Effects::Delegated, Effects::Delegated) => Effects::Delegated,
            _ => Effects::Everything,
        }
    }

    fn flags(&self) -> Flags {
        let inner = self.inner.as_ref().map(|inner| inner.flags()).unwrap_or_default();
        let outer = self.outer.flags();
        let (low, high) = (&self.inner_spec, &self.outer_spec);
        Flags {
            permission: Some(flagged_permission(low, inner).max(flagged_permission(high, outer))),
            // Where neither says anything, the wrapper's declaration holds as it stands, its `mutates` too.
            read_only: (inner.read_only.is_some() || outer.read_only.is_some()).then(|| {
                inner.read_only.unwrap_or(low.read_only) && outer.read_only.unwrap_or(high.read_only)
            }),
            mutates: (inner.mutates.is_some() || outer.mutates.is_some())
                .then(|| mutates(low, inner) || mutates(high, outer)),
            concurrency_safe: Some(
                inner.concurrency_safe.unwrap_or(low.concurrency_safe)
                    && outer.concurrency_safe.unwrap_or(high.concurrency_safe),
            ),
            risk: match (inner.risk.or(low.declared_risk), outer.risk.or(high.declared_risk)) {
                (Some(inner), Some(outer)) => Some(inner.max(outer)),
                _ => None,
            },
        }
    }

    fn check(&self, session: &dyn SessionView) -> Option<OwnCheck> {
        let inner = self.inner.as_ref().and_then(|inner| inner.check(session));
        match (inner, self.outer.check(session)) {
            (Some(OwnCheck::Deny(why)), _) | (_, Some(OwnCheck::Deny(why))) => Some(OwnCheck::Deny(why)),
            (Some(ask), _) | (None, Some(ask)) => Some(ask),
            (None, None) => None,
        }
    }

    fn preview<'a>(&'a self, cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        self.outer.preview(cx)
    }

    fn variables(&self) -> Result<Vec<(String, Secret)>, Failure> {
        self.outer.variables()
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        self.outer.run(cx)
    }
}

/// Whether an input may change something, by what a tool says of it and of itself.
fn mutates(spec: &Spec, flags: Flags) -> bool {
    let by_reading = flags.read_only.map(|read_only| !read_only);
    flags.mutates.or(by_reading).unwrap_or_else(|| spec.mutates())
}
