//! One call of a server's tool, from the wish to the result.
//!
//! Keeps the invariants "a call that may have run isn't repeated unless that does no harm" and "what runs is the tool
//! that was judged".

use super::{
    failure,
    result::{Taking, is_light},
    rounds::{Rounds, Stopped},
    router::Asker,
    server::Peer,
    tool::McpTool,
    wire::{CallError, Link},
};
use crate::RpcError;
use haft_core::{Cx, Failure, Output};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Makes the call.
pub(super) async fn run(tool: &Arc<McpTool>, input: &Value, cx: &Cx) -> Result<Output, Failure> {
    let server = &tool.server;
    let permit = tokio::select! {
        permit = server.permits.acquire() => permit,
        () = cx.cancel.fired() => return Err(Failure::cancelled()),
    };
    // The semaphore is never closed.
    let _permit = permit.map_err(|_| Failure::internal("the server's calls are no longer counted"))?;
    let result = asked(tool, input, cx).await?;
    let (tool, media) = (Arc::clone(tool), Arc::clone(&server.shared.media));
    let is_marked = tool.server.config.screen && tool.spec.untrusted_source;
    let is_light = is_light(&result);
    let take = move || {
        let server = &tool.server.config.name;
        Taking { server, tool: &tool.shown, is_marked, media: media.as_ref() }.take(result)
    };
    // Going to another thread and back would take longer than the work.
    if is_light { take() } else { cx.blocking(take).await }
}

/// Asks the server; once more where it surely did nothing, or where doing it twice does no harm.
async fn asked(tool: &Arc<McpTool>, input: &Value, cx: &Cx) -> Result<Value, Failure> {
    let server = &tool.server;
    let asker = Asker {
        sink: Some(Arc::clone(&cx.sink)),
        person: Some(Arc::clone(&cx.nested)),
        front: server.shared.fronts.of(cx),
    };
    let meta = asker.front.as_ref().map(|front| front.meta()).unwrap_or_default();
    let params = || {
        let mut params = Map::new();
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta.clone()));
        }
        params.insert("name".to_owned(), json!(tool.name));
        params.insert("arguments".to_owned(), input.clone());
        params
    };
    let mut is_repeated = false;
    loop {
        let peer = server.connected(&cx.cancel).await?;
        is_as_judged(tool)?;
        let rounds = Rounds {
            server,
            peer: &peer,
            method: "tools/call",
            params: &params,
            asker: &asker,
            wanted: &tool.wanted,
            idle: tool.idle,
            cancel: &cx.cancel,
        };
        let error = match rounds.run().await {
            Ok(result) => return Ok(result),
            Err(Stopped::Call(error)) => error,
            Err(Stopped::Failed(failure)) => return Err(failure),
        };
        let may_repeat = match &error {
            CallError::Lost { may_have_run, .. } => !may_have_run || tool.is_repeatable,
            CallError::Refused(refusal) => is_session_lost(&peer, refusal.status) && refusal.is_untouched,
            _ => false,
        };
        if is_repeated || !may_repeat {
            refuse(&asker, &error);
            return Err(failure::of_call(&server.config.name, &tool.shown, error));
        }
        is_repeated = true;
        if matches!(error, CallError::Refused(_)) {
            server.leave(&peer).await;
        }
    }
}

/// What a client in front lacks for the call it is told by the protocol's own error, so that it can come again with it.
fn refuse(asker: &Asker, error: &CallError) {
    if let (CallError::Rpc(error), Some(front)) = (error, &asker.front)
        && error.code == RpcError::MISSING_CAPABILITY
    {
        front.refuse(error.clone());
    }
}

/// A server over HTTP that was started anew no longer knows the session that it gave.
fn is_session_lost(peer: &Peer, status: Option<u16>) -> bool {
    let has_session = matches!(&peer.wire.link, Link::Http(owner) if owner.0.has_session());
    has_session && matches!(status, Some(400 | 401 | 404))
}

/// Another definition than the one that was judged doesn't run: the next call is judged by what the tool is now.
fn is_as_judged(tool: &McpTool) -> Result<(), Failure> {
    let (name, server) = (&tool.spec.name, &tool.server.config.name);
    match tool.server.registry.hash_of(&tool.name) {
        Some(hash) if hash == tool.hash => Ok(()),
        Some(_) => Err(Failure::conflict(format!(
            "the server {server} says something else of {name} now than when the call was judged. Nothing was done: look at \
             the tool again, then make the call again."
        ))),
        None => Err(Failure::not_found(format!("{name} is no longer offered by the server {server}"))),
    }
}
