//! One call of a server's tool, from the wish to the result.
//!
//! Keeps the invariants "a call that may have run isn't repeated unless that does no harm" and "what runs is the tool
//! that was judged".

use super::{
    failure,
    message::RpcError,
    result::Taking,
    router::Asker,
    server::{Peer, Server},
    tool::McpTool,
    wire::{Ask, CallError, Link},
};
use haft_core::{Cancel, Cx, Failure, FailureKind, Output};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How often a server may ask for more before it answers.
const ROUNDS_MAX: usize = 10;

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
    cx.blocking(move || {
        let server = &tool.server.config.name;
        Taking { server, tool: &tool.name, is_marked, media: media.as_ref() }.take(result)
    })
    .await
}

/// Asks the server; once more where it surely did nothing, or where doing it twice does no harm.
async fn asked(tool: &Arc<McpTool>, input: &Value, cx: &Cx) -> Result<Value, Failure> {
    let server = &tool.server;
    let asker = Asker {
        sink: Some(Arc::clone(&cx.sink)),
        person: Some(Arc::clone(&cx.nested)),
        front: server.shared.fronts.of(cx),
    };
    let mut is_repeated = false;
    loop {
        let peer = server.connected(&cx.cancel).await?;
        is_as_judged(tool)?;
        let error = match rounds(tool, &peer, input, (&asker, &cx.cancel)).await {
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
            return Err(failure::of_call(&server.config.name, &tool.name, error));
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
        let (message, data) = (error.message.clone(), error.data.clone());
        front.refuse(crate::RpcError { code: error.code, message, data });
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

/// Why there is no result.
enum Stopped {
    Call(CallError),
    Failed(Failure),
}

/// Asks, gives what the server asks for, and asks again, until it answers.
async fn rounds(
    tool: &McpTool,
    peer: &Peer,
    input: &Value,
    (asker, cancel): (&Asker, &Cancel),
) -> Result<Value, Stopped> {
    let server = &tool.server;
    let mut more = Map::new();
    let meta = asker.front.as_ref().map(|front| front.meta()).unwrap_or_default();
    for _ in 0..ROUNDS_MAX {
        let mut params = Map::new();
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta.clone()));
        }
        params.insert("name".to_owned(), json!(tool.name));
        params.insert("arguments".to_owned(), input.clone());
        params.extend(std::mem::take(&mut more));
        let ask = Ask {
            is_modern: peer.is_modern(),
            asker: asker.clone(),
            wanted: &tool.wanted,
            idle: Some(tool.idle),
            ..Ask::new("tools/call", params, cancel)
        };
        let result = peer.wire.ask(ask).await.map_err(Stopped::Call)?;
        match result.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => return Ok(result),
            Some("input_required") => {
                more = answers(server, &result, asker).await.map_err(Stopped::Failed)?;
            }
            Some(other) => {
                let text = format!(
                    "the server {} answered with a result of the kind \"{other}\", which haft doesn't know; try another tool",
                    server.config.name
                );
                return Err(Stopped::Failed(Failure::internal(text)));
            }
        }
    }
    let text = format!(
        "the server {} asked for more {ROUNDS_MAX} times and gave no result; try another way",
        server.config.name
    );
    Err(Stopped::Failed(Failure::internal(text)))
}

/// What goes with the next try: the answers to what the server asks, and its own state as it came.
///
/// # Errors
/// It asks for what nobody here has.
pub(super) async fn answers(
    server: &Server,
    result: &Value,
    asker: &Asker,
) -> Result<Map<String, Value>, Failure> {
    let mut more = Map::new();
    if let Some(requests) = result.get("inputRequests").and_then(Value::as_object) {
        let (mut responses, mut further) = (Map::new(), Map::new());
        for (key, request) in requests {
            let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
            let params = request.get("params").unwrap_or(&Value::Null);
            if server.goes_on(method, params, asker) {
                further.insert(key.clone(), request.clone());
                continue;
            }
            match server.reply(method, params, (asker, None)).await {
                Ok(response) => drop(responses.insert(key.clone(), response)),
                Err((_, why)) => {
                    return Err(Failure::new(
                        FailureKind::Unavailable,
                        format!("the server {} can't go on: {why}", server.config.name),
                    ));
                }
            }
        }
        if !further.is_empty() {
            let lent = server.put(further, asker).await;
            responses.extend(lent.map_err(|error| server.unlent(asker, error))?);
        }
        more.insert("inputResponses".to_owned(), Value::Object(responses));
    }
    if let Some(state) = result.get("requestState") {
        more.insert("requestState".to_owned(), state.clone());
    }
    Ok(more)
}
