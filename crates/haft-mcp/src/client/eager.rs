//! Waiting for a server that is a process of this machine and answers at once: falling asleep and being woken takes
//! longer than such an answer does.
//!
//! Bounded three ways, so that nobody else waits for it: for a moment only, for one request of a server at a time, and
//! not for a server that has lately taken longer. Other tasks of the thread run meanwhile.

use futures::FutureExt as _;
use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::{Duration, Instant},
};
use tokio::{
    sync::oneshot::{Receiver, error::RecvError},
    task::yield_now,
};

/// How long the thread stays awake: what many servers need, and less than a call costs by itself.
const MOMENT: Duration = Duration::from_micros(150);
/// After so many answers in a row that took longer, it goes to sleep at once.
const LATE_MAX: u32 = 2;
/// And tries again each so many requests.
const TRY_EACH: u32 = 64;

/// Stays awake for the answers of one server.
#[derive(Debug, Default)]
pub(crate) struct Eager {
    is_awake: AtomicBool,
    /// How many answers in a row weren't there in a moment, as far as that was tried.
    late: AtomicU32,
}

impl Eager {
    /// Waits for an answer.
    ///
    /// # Errors
    /// Nobody will answer.
    ///
    /// # Cancellation
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn wait<T>(&self, answer: &mut Receiver<T>) -> Result<T, RecvError> {
        if let Some(_turn) = Turn::take(self) {
            let until = Instant::now() + MOMENT;
            while Instant::now() < until {
                if let Some(answer) = (&mut *answer).now_or_never() {
                    self.late.store(0, Ordering::Relaxed);
                    return answer;
                }
                yield_now().await;
            }
        }
        answer.await
    }

    fn is_worth_it(&self) -> bool {
        // Counted as late until it is there in time.
        let late = self.late.fetch_add(1, Ordering::Relaxed);
        late < LATE_MAX || late.is_multiple_of(TRY_EACH)
    }
}

/// That this one stays awake and no other.
struct Turn<'e>(&'e Eager);

impl<'e> Turn<'e> {
    fn take(eager: &'e Eager) -> Option<Self> {
        if eager.is_awake.swap(true, Ordering::Relaxed) {
            return None;
        }
        let turn = Self(eager);
        eager.is_worth_it().then_some(turn)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.is_awake.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::sync::oneshot::{Sender, channel};

    #[tokio::test]
    async fn an_answer_comes_whenever_it_is_given_and_its_lack_too() {
        let eager = Arc::new(Eager::default());
        let (sender, mut there) = channel();
        sender.send(1).unwrap();
        assert_eq!(eager.wait(&mut there).await, Ok(1));
        let (sender, mut later) = channel();
        let own = Arc::clone(&eager);
        tokio::spawn(async move {
            // Until it was given up.
            while own.is_awake.load(Ordering::Relaxed) {
                yield_now().await;
            }
            sender.send(2).unwrap();
        });
        assert_eq!(eager.wait(&mut later).await, Ok(2));
        assert_eq!(eager.late.load(Ordering::Relaxed), 1);
        let (sender, mut never): (Sender<u8>, _) = channel();
        drop(sender);
        assert!(eager.wait(&mut never).await.is_err());
    }

    #[test]
    fn one_waits_awake_at_a_time_and_a_slow_server_is_waited_for_asleep() {
        let eager = Eager::default();
        let first = Turn::take(&eager);
        assert!(first.is_some() && Turn::take(&eager).is_none());
        drop(first);
        let tried = (0..128).filter(|_| Turn::take(&eager).is_some()).count();
        // The second one, and each 64th.
        assert_eq!(tried, 1 + 2);
        eager.late.store(0, Ordering::Relaxed);
        assert!(Turn::take(&eager).is_some());
    }
}
