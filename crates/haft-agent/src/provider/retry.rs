//! How often a turn is tried, and how long to wait between.

use haft_core::HttpResponse;
use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Exponential back-off with jitter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a turn is sent at most.
    pub tries: u32,
    /// The pause after the first failure; it doubles each time.
    pub base: Duration,
    /// The longest pause, also of those a provider asks for.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { tries: 5, base: Duration::from_secs(1), cap: Duration::from_secs(60) }
    }
}

impl RetryPolicy {
    /// The pause after a failed try (from 1): what the provider asked for, else between half and the whole of
    /// the exponential one, so that many agents don't come back at once.
    pub fn delay(&self, attempt: u32, retry_after: Option<Duration>) -> Duration {
        if let Some(asked) = retry_after {
            return asked.min(self.cap);
        }
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let half = self.base.saturating_mul(doubled).min(self.cap) / 2;
        // Each hasher has keys of its own: chance enough for a pause.
        let chance = u32::try_from(RandomState::new().hash_one(attempt) % 1_001).unwrap_or(0);
        half + half / 1_000 * chance
    }
}

/// What a response asks to wait: `retry-after-ms`, or `retry-after` in seconds. Dates aren't read.
pub(super) fn retry_after(response: &HttpResponse) -> Option<Duration> {
    let number = |name: &str| response.header(name)?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1_000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{StreamExt, stream};

    #[test]
    fn pauses_double_within_their_cap() {
        let policy = RetryPolicy::default();
        for (attempt, whole) in [(1, 1), (2, 2), (3, 4), (4, 8), (9, 60), (200, 60)] {
            let whole = Duration::from_secs(whole);
            let delay = policy.delay(attempt, None);
            assert!(delay >= whole / 2 && delay <= whole, "{attempt}: {delay:?}");
        }
        assert_eq!(policy.delay(1, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(policy.delay(1, Some(Duration::from_secs(700))), Duration::from_secs(60));
    }

    #[test]
    fn the_providers_wish_is_read() {
        let asked = |name: &str, value: &str| {
            let headers = vec![(name.to_owned(), value.to_owned())];
            retry_after(&HttpResponse { status: 429, headers, body: stream::empty().boxed() })
        };
        assert_eq!(asked("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(asked("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(asked("retry-after", "-1"), None);
        assert_eq!(asked("retry-after", "soon"), None);
        assert_eq!(asked("other", "2"), None);
    }
}
