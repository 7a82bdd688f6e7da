//! Signs of life of a request: progress is one, and while a person is asked silence means nothing.

use super::router::Asker;
use crate::Front;
use haft_core::{Progress, Sink};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// Progress is passed on at most so often.
const PROGRESS_TIME: Duration = Duration::from_millis(100);
/// How long a text of progress may be.
const PROGRESS_MAX_CHARS: usize = 400;

/// Signs of life of one request, and where its progress goes.
pub(crate) struct Pulse {
    state: Mutex<Beat>,
    sink: Option<Arc<dyn Sink>>,
    front: Option<Arc<dyn Front>>,
}

struct Beat {
    last: Instant,
    told: Option<Instant>,
    /// While a person is asked, silence means nothing.
    held: usize,
}

impl Pulse {
    pub(super) fn new(asker: &Asker) -> Self {
        let state = Mutex::new(Beat { last: Instant::now(), told: None, held: 0 });
        Self { state, sink: asker.sink.clone(), front: asker.front.clone() }
    }

    /// Notes a sign of life.
    fn beat(&self) {
        self.lock().last = Instant::now();
    }

    /// Silence means nothing until what it gives is dropped.
    pub(crate) fn hold(self: &Arc<Self>) -> HeldPulse {
        self.lock().held += 1;
        HeldPulse(Arc::clone(self))
    }

    /// Waits until nothing was heard for so long.
    pub(crate) async fn silent_for(&self, limit: Duration) {
        loop {
            let due = {
                let beat = self.lock();
                let from = if beat.held > 0 { Instant::now() } else { beat.last };
                from.checked_add(limit)
            };
            match due {
                Some(due) if due <= Instant::now() => return,
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Takes what the server says of it: that too is a sign of life.
    pub(super) fn progress(&self, params: &Value) {
        self.beat();
        if let Some(front) = &self.front {
            if let Some(step) = params.as_object() {
                front.progress(step);
            }
            return;
        }
        let Some(sink) = &self.sink else { return };
        {
            let mut beat = self.lock();
            let now = Instant::now();
            if beat.told.is_some_and(|told| now.duration_since(told) < PROGRESS_TIME) {
                return;
            }
            beat.told = Some(now);
        }
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        if let Some(text) =
            params.get("message").and_then(Value::as_str).filter(|text| !text.trim().is_empty())
        {
            let text: String = text.trim().chars().take(PROGRESS_MAX_CHARS).collect();
            sink.progress(Progress::Log(text));
        } else {
            let numbers = [("progress", number("progress")), ("total", number("total"))];
            let known: BTreeMap<String, f64> =
                numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), number?))).collect();
            if !known.is_empty() {
                sink.progress(Progress::Metric(known));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Beat> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps silence from counting while it lives.
pub(crate) struct HeldPulse(Arc<Pulse>);

impl Drop for HeldPulse {
    fn drop(&mut self) {
        let mut beat = self.0.lock();
        beat.held = beat.held.saturating_sub(1);
        beat.last = Instant::now();
    }
}
