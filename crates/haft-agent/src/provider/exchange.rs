//! One request and its streamed answer, whatever the protocol.

use super::{ModelError, ModelEvent, ModelStream, retry::retry_after, sse};
use futures::{StreamExt, stream};
use haft_core::{BoxStream, Http, HttpBody, HttpRequest};
use std::{collections::VecDeque, sync::Arc};

/// Most bytes that are read of an error's body.
const ERROR_MAX_BYTES: usize = 65_536;

/// Reads one protocol's events.
pub(super) trait Decoder: Send + 'static {
    /// Takes one event's data. What was pushed before an error counts.
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The body is over: pushes the stop, or says that the answer broke off.
    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// Whether the stop was pushed.
    fn is_done(&self) -> bool;
}

/// Sends a request when first polled and decodes its answer.
pub(super) fn exchange(http: Arc<dyn Http>, request: HttpRequest, decoder: impl Decoder) -> ModelStream {
    let exchange = Exchange { http, phase: Phase::Sending(request), decoder, ready: VecDeque::new() };
    stream::unfold(exchange, |mut exchange| async move {
        let event = exchange.next().await?;
        Some((event, exchange))
    })
    .fuse()
    .boxed()
}

struct Exchange<D> {
    http: Arc<dyn Http>,
    phase: Phase,
    decoder: D,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
}

enum Phase {
    Sending(HttpRequest),
    Reading(BoxStream<'static, Result<String, ModelError>>),
    Over,
}

impl<D: Decoder> Exchange<D> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let next = match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Sending(request) => open(self.http.as_ref(), request).await,
                Phase::Reading(events) => self.read(events).await,
                Phase::Over => return None,
            };
            match next {
                Ok(phase) => self.phase = phase,
                Err(error) => self.ready.push_back(Err(error)),
            }
        }
    }

    async fn read(
        &mut self,
        mut events: BoxStream<'static, Result<String, ModelError>>,
    ) -> Result<Phase, ModelError> {
        let mut out = Vec::new();
        let told = match events.next().await {
            Some(Ok(data)) if data.trim().is_empty() => Ok(()),
            Some(Ok(data)) => self.decoder.event(&data, &mut out),
            // What breaks after the last word loses nothing.
            Some(Err(error)) => self.decoder.end(&mut out).map_err(|_| error),
            None => self.decoder.end(&mut out),
        };
        self.ready.extend(out.into_iter().map(Ok));
        told?;
        Ok(if self.decoder.is_done() { Phase::Over } else { Phase::Reading(events) })
    }
}

async fn open(http: &dyn Http, request: HttpRequest) -> Result<Phase, ModelError> {
    let response = http.send(request).await.map_err(|failure| ModelError::unreachable(&failure))?;
    if !(200..300).contains(&response.status) {
        let status = response.status;
        let asked = retry_after(&response);
        let words = beginning(response.body).await;
        return Err(ModelError::answered(status, asked, &words));
    }
    if response.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return Err(ModelError::protocol("answered without streaming: it must support `stream: true`"));
    }
    Ok(Phase::Reading(sse::events(response.body)))
}

/// The beginning of an error's body; as much as came.
async fn beginning(mut body: HttpBody) -> String {
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = body.next().await {
        bytes.extend(piece);
        if bytes.len() >= ERROR_MAX_BYTES {
            bytes.truncate(ERROR_MAX_BYTES);
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
