//! A passphrase that came to nothing, remembered for a while: a person who is asked for it isn't asked at each look-up.

use super::VaultStamp;
use haft_core::Failure;
use std::time::{Duration, Instant};

/// How long it isn't asked for again, unless the file is written meanwhile.
const UNASKED_TIME: Duration = Duration::from_secs(60);

/// Why a state of the file couldn't be opened.
pub(super) struct Unfit {
    stamp: VaultStamp,
    since: Instant,
    failure: Failure,
}

impl Unfit {
    pub(super) fn new(file: &[u8], failure: Failure) -> Self {
        Self { stamp: VaultStamp::of(file), since: Instant::now(), failure }
    }

    /// The same failure again, where it still holds for what the file is now.
    pub(super) fn again(&self, file: &[u8]) -> Option<Failure> {
        let holds = self.since.elapsed() < UNASKED_TIME && self.stamp == VaultStamp::of(file);
        holds.then(|| self.failure.clone())
    }
}
