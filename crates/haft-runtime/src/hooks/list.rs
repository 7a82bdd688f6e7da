//! All hooks of a session, in declared order.

use super::{
    Hook, HookCall, HookEnd, HookEvent, HookSession, Lookup, Notified, SessionEvent,
    answer::{After, Before, Permitted},
    place::Place,
};
use crate::catalogue::Offer;
use haft_core::{Cancel, World};
use serde_json::Value;
use std::sync::Arc;

/// The hooks of a session and where they run. Without any it costs nothing.
#[derive(Clone, Default)]
pub struct Hooks {
    all: Vec<Hook>,
    place: Option<Place>,
}

impl Hooks {
    /// Hooks that run in the workspace of that world, in the order in which they are given.
    pub fn new(world: World, all: Vec<Hook>) -> Self {
        let workspace = world.files.workspace();
        let lookup: Lookup = Arc::new(|credential| Err(credential.missing()));
        Self { all, place: Some(Place { world, workspace, lookup }) }
    }

    /// Has headers of endpoints filled from these credentials of the operator's, looked up for each request.
    #[must_use]
    pub fn with_credentials(mut self, lookup: Lookup) -> Self {
        if let Some(place) = &mut self.place {
            place.lookup = lookup;
        }
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Every hook, in declared order.
    pub fn all(&self) -> &[Hook] {
        &self.all
    }

    /// Whether some hook would hear of a tool.
    pub(crate) fn are_about(&self, event: HookEvent, offer: &Offer) -> bool {
        self.all.iter().any(|hook| hook.is_about(event, &offer.name, offer.is_core()))
    }

    /// The hooks that would hear of a tool, in declared order.
    pub(crate) fn matching(&self, event: HookEvent, tool: &str, is_core: bool) -> Vec<&Hook> {
        self.all.iter().filter(|hook| hook.is_about(event, tool, is_core)).collect()
    }

    /// `PreToolUse`: rewriting hooks one after another, each with the input as it is by then; after that the
    /// others beside each other, with the input that will run.
    ///
    /// # Cancellation
    /// Dropping the future kills what still runs.
    pub(crate) async fn before(&self, call: &HookCall<'_>, cancel: &Cancel) -> Before {
        let mut before = Before::default();
        let Some(place) = &self.place else { return before };
        let all = self.matching(HookEvent::PreToolUse, call.tool, call.is_core);
        let (rewriting, others): (Vec<&Hook>, Vec<&Hook>) = all.into_iter().partition(|hook| hook.rewrites());
        let (workspace, tool) = (place.workspace.absolute(), (call.tool, call.is_core));
        let mut input = call.input.clone();
        for hook in rewriting {
            let (sent, told) = HookCall { input: &input, ..*call }.told(hook, &workspace);
            let run = place.run(hook, Value::Object(told), cancel).await;
            before.take(run, &sent, tool);
            if let Some(rewritten) = &before.input {
                input.clone_from(rewritten);
            }
        }
        for (run, sent) in place.tell(others, &HookCall { input: &input, ..*call }, cancel).await {
            before.take(run, &sent, tool);
        }
        before
    }

    /// `PermissionRequest`: a question is about to be put.
    ///
    /// # Cancellation
    /// Dropping the future kills what still runs.
    pub(crate) async fn permission_request(&self, call: &HookCall<'_>, cancel: &Cancel) -> Permitted {
        let mut permitted = Permitted::default();
        let Some(place) = &self.place else { return permitted };
        let hooks = self.matching(HookEvent::PermissionRequest, call.tool, call.is_core);
        for (run, sent) in place.tell(hooks, call, cancel).await {
            permitted.take(run, &sent);
        }
        permitted
    }

    /// `PostToolUse`, or `PostToolUseFailure` where the end holds an error.
    ///
    /// # Cancellation
    /// Dropping the future kills what still runs.
    pub(crate) async fn after(&self, call: &HookCall<'_>, end: &HookEnd<'_>, cancel: &Cancel) -> After {
        let mut after = After::default();
        let Some(place) = &self.place else { return after };
        let event = HookEvent::of_end(end.error.is_some());
        let workspace = place.workspace.absolute();
        let matching = self.matching(event, call.tool, call.is_core);
        let told = matching.into_iter().map(|hook| (hook, call.told_end(end, hook, &workspace))).collect();
        for run in place.run_all(told, cancel).await {
            after.take(run);
        }
        after
    }

    /// Tells hooks of an event that isn't about a single call; for hosts.
    ///
    /// # Cancellation
    /// Dropping the future kills what still runs.
    pub async fn notify(&self, session: &HookSession, event: SessionEvent<'_>, cancel: &Cancel) -> Notified {
        let mut notified = Notified::default();
        let Some(place) = &self.place else { return notified };
        let (kind, workspace) = (event.event(), place.workspace.absolute());
        let mut told = Vec::new();
        for hook in self.all.iter().filter(|hook| hook.event == kind) {
            if event.subject().is_none_or(|subject| hook.matcher.matches(&[subject], &[])) {
                told.push((hook, event.told(hook, session, &workspace)));
            }
        }
        for run in place.run_all(told, cancel).await {
            notified.take(run);
        }
        notified
    }
}
