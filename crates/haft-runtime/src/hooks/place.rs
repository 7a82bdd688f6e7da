//! Where hooks run: the world, the workspace, and the operator's credentials.

use super::{
    Handler, Hook, HookCall, HookEvent, HookHandler, command,
    decision::HookRun,
    http,
    names::Told,
    wire::{Ending, Raw, Reading, Said, Trouble},
};
use futures::{FutureExt, StreamExt, stream};
use haft_core::{BoxFuture, Cancel, Credential, Failure, RealPath, Secret, World};
use serde_json::Value;
use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

/// How many hooks run at once for one event.
const PARALLEL_MAX: usize = 10;

/// Why a hook isn't run that isn't as the user saw it.
const HELD: &str = "it isn't as it was when this workspace was trusted, so it wasn't run";

/// Looks up a credential of the operator's, for headers of endpoints.
pub type Lookup = Arc<dyn Fn(&Credential) -> Result<Secret, Failure> + Send + Sync>;

/// Where hooks run.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) world: World,
    pub(super) workspace: RealPath,
    pub(super) lookup: Lookup,
}

impl Place {
    /// Runs one hook to its end.
    ///
    /// # Cancellation
    /// Dropping the future kills what it started.
    pub(super) async fn run<'h>(&self, hook: &'h Hook, input: Value, cancel: &Cancel) -> HookRun<'h> {
        let began = Instant::now();
        if let Some(folder) = &hook.folder
            && !folder.is_as_seen(&self.world).await
        {
            return HookRun::new(hook, held(hook.event), began.elapsed()).held();
        }
        let reading = match &hook.handler {
            Handler::Command(line) => command::run(self, hook, line, &input, cancel).await.read(hook.event),
            Handler::Http(endpoint) => {
                http::post(self, hook, endpoint, &input, cancel).await.read(hook.event)
            }
            Handler::Rust(handler) => ask(handler.as_ref(), hook.timeout, input, cancel).await,
            Handler::Held => held(hook.event),
            Handler::Broken(text) => Raw::ended(Ending::NotStarted(text.clone())).read(hook.event),
        };
        HookRun::new(hook, reading, began.elapsed())
    }

    /// Tells hooks of a call, beside each other; with each end what that hook was told.
    pub(super) async fn tell<'h>(
        &self,
        hooks: Vec<&'h Hook>,
        call: &HookCall<'_>,
        cancel: &Cancel,
    ) -> Vec<(HookRun<'h>, Told)> {
        let workspace = self.workspace.absolute();
        let (inputs, told): (Vec<(&'h Hook, Value)>, Vec<Told>) = hooks
            .into_iter()
            .map(|hook| {
                let (told, input) = call.told(hook, &workspace);
                ((hook, Value::Object(input)), told)
            })
            .unzip();
        self.run_all(inputs, cancel).await.into_iter().zip(told).collect()
    }

    /// Runs several beside each other; their ends come in the order given, whoever finishes first.
    pub(super) async fn run_all<'h>(&self, all: Vec<(&'h Hook, Value)>, cancel: &Cancel) -> Vec<HookRun<'h>> {
        let mut runs: Vec<BoxFuture<'_, HookRun<'h>>> = Vec::with_capacity(all.len());
        for (hook, input) in all {
            runs.push(Box::pin(self.run(hook, input, cancel)));
        }
        stream::iter(runs).buffered(PARALLEL_MAX).collect().await
    }
}

/// What is read of a hook that isn't run.
fn held(event: HookEvent) -> Reading {
    Raw::ended(Ending::NotStarted(HELD.to_owned())).read(event)
}

/// Asks Rust code; a panic in it is its failure.
async fn ask(handler: &dyn HookHandler, limit: Duration, input: Value, cancel: &Cancel) -> Reading {
    let asked = AssertUnwindSafe(async move { handler.handle(input).await }).catch_unwind();
    let trouble = |trouble, text: String| Reading::Trouble(trouble, text, false);
    let answer = tokio::select! {
        biased;
        () = cancel.fired() => return trouble(Trouble::Cancelled, "the call was cancelled".to_owned()),
        answer = tokio::time::timeout(limit, asked) => answer,
    };
    match answer {
        Err(_) => trouble(Trouble::TimedOut, "its time ran out".to_owned()),
        Ok(Err(_)) => trouble(Trouble::Failed, "it panicked".to_owned()),
        Ok(Ok(Err(failure))) => trouble(Trouble::Failed, failure.text),
        Ok(Ok(Ok(Value::Null))) => Reading::Said(Said::default()),
        Ok(Ok(Ok(value))) if !value.is_object() => {
            trouble(Trouble::BadJson, "it answered with something that is no object".to_owned())
        }
        Ok(Ok(Ok(value))) => match Said::of(&value) {
            Ok(said) => Reading::Said(said),
            Err(why) => trouble(Trouble::BadJson, why),
        },
    }
}
