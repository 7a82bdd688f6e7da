//! A time limit that stands still while a person is asked.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

/// Counts a call's running time. Pausing one pauses all outer calls too.
#[derive(Clone)]
pub(crate) struct Stopwatch {
    inner: Arc<Inner>,
    outer: Option<Arc<Stopwatch>>,
}

struct Inner {
    limit: Duration,
    state: Mutex<State>,
    resumed: Notify,
}

struct State {
    used: Duration,
    since: Option<Instant>,
    pauses: usize,
}

impl Stopwatch {
    pub(crate) fn start(limit: Duration, outer: Option<Arc<Self>>) -> Self {
        let state = State { used: Duration::ZERO, since: Some(Instant::now()), pauses: 0 };
        Self { inner: Arc::new(Inner { limit, state: Mutex::new(state), resumed: Notify::new() }), outer }
    }

    /// Stands still until the guard is dropped.
    pub(crate) fn pause(&self) -> Paused {
        let mut held = Vec::new();
        let mut next = Some(self);
        while let Some(watch) = next {
            let mut state = watch.lock();
            state.pauses += 1;
            if let Some(since) = state.since.take() {
                state.used += since.elapsed();
            }
            drop(state);
            held.push(watch.clone());
            next = watch.outer.as_deref();
        }
        Paused(held)
    }

    /// Waits until the limit is used up.
    pub(crate) async fn expired(&self) {
        loop {
            let resumed = self.inner.resumed.notified();
            let left = {
                let state = self.lock();
                let running = state.since.map(|since| since.elapsed());
                running.map(|running| self.inner.limit.saturating_sub(state.used + running))
            };
            match left {
                Some(Duration::ZERO) => return,
                Some(left) => {
                    tokio::select! {
                        () = sleep(left) => {}
                        () = resumed => {}
                    }
                }
                None => resumed.await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps stopwatches still while it lives.
pub(crate) struct Paused(Vec<Stopwatch>);

impl Drop for Paused {
    fn drop(&mut self) {
        for watch in &self.0 {
            let mut state = watch.lock();
            state.pauses = state.pauses.saturating_sub(1);
            if state.pauses == 0 {
                state.since = Some(Instant::now());
                drop(state);
                watch.inner.resumed.notify_waiters();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{advance, timeout};

    #[tokio::test(start_paused = true)]
    async fn it_stands_still_while_a_person_is_asked() {
        let outer = Arc::new(Stopwatch::start(Duration::from_secs(10), None));
        let inner = Stopwatch::start(Duration::from_secs(10), Some(Arc::clone(&outer)));
        let paused = inner.pause();
        advance(Duration::from_secs(100)).await;
        assert!(timeout(Duration::from_secs(100), outer.expired()).await.is_err());
        drop(paused);
        let before = Instant::now();
        outer.expired().await;
        assert_eq!(before.elapsed().as_secs(), 10);
    }
}
