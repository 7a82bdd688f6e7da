//! A hook that is an HTTP endpoint: JSON goes there by POST, and its answer is what a script would print.

use super::{
    Endpoint, Hook,
    kept::Kept,
    place::Place,
    wire::{Ending, OUT_MAX_BYTES, Raw},
};
use futures::StreamExt;
use haft_core::{Cancel, Failure, FailureKind, HttpRequest};
use serde_json::Value;

/// Sends the event; the hook's timeout is for the whole exchange.
pub(super) async fn post(
    place: &Place,
    hook: &Hook,
    endpoint: &Endpoint,
    input: &Value,
    cancel: &Cancel,
) -> Raw {
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    for (name, credential) in &endpoint.headers {
        let value = (place.lookup)(credential).and_then(|secret| secret.line().map(str::to_owned));
        match value {
            Ok(value) => headers.push((name.clone(), value)),
            Err(failure) => {
                let text = format!("its header {name} can't be filled: {}", failure.text);
                return Raw::ended(Ending::NotStarted(text));
            }
        }
    }
    let request = HttpRequest {
        method: "POST".to_owned(),
        url: endpoint.url.clone(),
        headers,
        body: input.to_string().into_bytes(),
        idle_timeout: hook.timeout,
    };
    let exchange = tokio::time::timeout(hook.timeout, exchange(place, request));
    let answer = tokio::select! {
        biased;
        () = cancel.fired() => return Raw::ended(Ending::Cancelled),
        answer = exchange => answer,
    };
    match answer {
        Ok(Ok(raw)) => raw,
        Ok(Err(failure)) if failure.kind == FailureKind::Timeout => Raw::ended(Ending::TimedOut),
        Ok(Err(failure)) => Raw::ended(Ending::NotStarted(failure.text)),
        Err(_) => Raw::ended(Ending::TimedOut),
    }
}

async fn exchange(place: &Place, request: HttpRequest) -> Result<Raw, Failure> {
    let mut response = place.world.http.send(request).await?;
    let mut out = Kept::new(OUT_MAX_BYTES);
    while let Some(piece) = response.body.next().await {
        out.push(&piece?);
        if out.is_cut() {
            break;
        }
    }
    let ending = match response.status {
        200..=299 => Ending::Good,
        status => Ending::Bad(format!("it answered with status {status}")),
    };
    Ok(Raw { ending, is_cut: out.is_cut(), out: out.into_bytes(), err: String::new() })
}
