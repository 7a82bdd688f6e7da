//! The state that a client of the modern era brings back with its answers: which call they are for, sealed so that
//! nobody can make one up or use it for another request.

use std::hash::{BuildHasher, RandomState};

/// Seals states; those of another process don't open.
pub(crate) struct Seal([u8; 32]);

/// Which open call a state is for, and which of its rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The call, by the number under which it waits.
    pub(crate) number: u64,
    /// How often it has asked.
    pub(crate) round: u64,
}

impl Seal {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// One with a secret of its own, by the keys that the standard library draws from the system for its tables.
    pub(crate) fn random() -> Self {
        let mut hasher = blake3::Hasher::new();
        for _ in 0..4 {
            hasher.update(&RandomState::new().hash_one("haft").to_le_bytes());
        }
        Self(hasher.finalize().into())
    }

    /// A state for the client; `request` is what it must ask again.
    pub(crate) fn close(&self, ticket: Ticket, request: &str) -> String {
        let Ticket { number, round } = ticket;
        format!("{number}.{round}.{}", self.mac(ticket, request).to_hex())
    }

    /// What a state stands for; none where it was changed, or is for another request.
    pub(crate) fn open(&self, state: &str, request: &str) -> Option<Ticket> {
        let mut parts = state.splitn(3, '.');
        let ticket = Ticket { number: parts.next()?.parse().ok()?, round: parts.next()?.parse().ok()? };
        let mac = blake3::Hash::from_hex(parts.next()?).ok()?;
        // Hashes are compared in constant time.
        (mac == self.mac(ticket, request)).then_some(ticket)
    }

    /// A name that nobody can guess, one for each number.
    pub(crate) fn name(&self, number: u64) -> String {
        blake3::keyed_hash(&self.0, format!("name {number}").as_bytes()).to_hex().chars().take(32).collect()
    }

    fn mac(&self, ticket: Ticket, request: &str) -> blake3::Hash {
        let Ticket { number, round } = ticket;
        blake3::keyed_hash(&self.0, format!("{number}.{round}.{request}").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_sealed_here_for_this_request_opens() {
        let seal = Seal::new([7; 32]);
        let ticket = Ticket { number: 3, round: 1 };
        let state = seal.close(ticket, "call a");
        assert_eq!(seal.open(&state, "call a"), Some(ticket));
        assert_eq!(seal.open(&state, "call b"), None);
        assert_eq!(seal.open(&format!("{state}-TAMPERED"), "call a"), None);
        assert_eq!(seal.open(&state.replacen('3', "4", 1), "call a"), None);
        assert_eq!(Seal::random().open(&state, "call a"), None);
        assert_eq!(seal.open("", "call a"), None);
    }
}
