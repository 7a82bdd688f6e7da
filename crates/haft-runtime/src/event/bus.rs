//! The event bus: slow subscribers lose progress, never terminal events.

use haft_core::Event;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::sync::Notify;

/// How many events wait for one subscriber before progress is dropped.
const QUEUE_MAX_EVENTS: usize = 1_024;

/// Sends each event to every subscriber.
#[derive(Clone, Default)]
pub struct Bus {
    queues: Arc<Mutex<Vec<Weak<Queue>>>>,
}

#[derive(Default)]
struct Queue {
    events: Mutex<VecDeque<Event>>,
    arrived: Notify,
}

/// One subscriber's events in order.
pub struct EventStream {
    queue: Arc<Queue>,
    // Keeps the bus alive as long as somebody listens, so that `next` can wait for ever.
    _bus: Bus,
}

impl Bus {
    /// Starts listening; earlier events aren't repeated.
    pub fn subscribe(&self) -> EventStream {
        let queue = Arc::new(Queue::default());
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&queue));
        EventStream { queue, _bus: self.clone() }
    }

    /// Whether anybody listens; saves building events nobody hears.
    pub fn is_heard(&self) -> bool {
        !self.queues.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Publishes an event made by `event`, if anybody listens.
    pub fn publish(&self, event: impl FnOnce() -> Event) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if queues.is_empty() {
            return;
        }
        let event = event();
        queues.retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            queue.push(event.clone());
            true
        });
    }
}

impl Queue {
    fn push(&self, event: Event) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() >= QUEUE_MAX_EVENTS {
            let is_progress = |event: &Event| matches!(event, Event::Progress { .. });
            if let Some(index) = events.iter().position(is_progress) {
                events.remove(index);
            } else if is_progress(&event) {
                return;
            }
        }
        events.push_back(event);
        drop(events);
        self.arrived.notify_one();
    }
}

impl EventStream {
    /// The next event; waits for one.
    ///
    /// # Cancellation
    /// Safe: no event is lost.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.try_next() {
                return event;
            }
            self.queue.arrived.notified().await;
        }
    }

    /// The next event if there is one.
    pub fn try_next(&mut self) -> Option<Event> {
        self.queue.events.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Outcome, Progress};

    #[test]
    fn a_slow_subscriber_loses_progress_but_no_end() {
        let bus = Bus::default();
        let mut slow = bus.subscribe();
        let ends: u64 = 2_000;
        for number in 1..=ends {
            let call = CallId::outer(number);
            let progress = Progress::Log("x".into());
            bus.publish(|| Event::Progress { call: call.clone(), progress });
            bus.publish(|| Event::Ended {
                call,
                tool: "t".into(),
                outcome: Outcome::Completed,
                duration_ms: 0,
            });
        }
        let mut seen = (0, 0);
        while let Some(event) = slow.try_next() {
            match event {
                Event::Ended { .. } => seen.0 += 1,
                _ => seen.1 += 1,
            }
        }
        assert_eq!(seen.0, ends);
        assert!(seen.1 < ends);
    }

    #[test]
    fn nobody_listening_costs_nothing() {
        let bus = Bus::default();
        drop(bus.subscribe());
        bus.publish(|| Event::ToolsChanged { count: 1 });
        assert!(!bus.is_heard());
        bus.publish(|| unreachable!("nobody listens"));
    }
}
