//! Why a hop isn't taken, in words that name the hop.

use haft_core::{Failure, FailureKind, WebUrl};

/// One hop of a fetch, for texts: the first is what was asked for, later ones are redirects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop<'a> {
    pub(super) number: usize,
    pub(super) target: &'a str,
}

impl<'a> Hop<'a> {
    pub(super) fn new(number: usize, target: &'a str) -> Self {
        Self { number, target }
    }

    fn name(self) -> String {
        match self.number {
            1 => format!("hop 1, {},", self.target),
            number => format!("hop {number}, the redirect to {},", self.target),
        }
    }

    /// The guard's no.
    pub(super) fn refused(self, why: &str) -> Failure {
        Failure::new(FailureKind::Permission, format!("{} was refused: {why}", self.name()))
    }

    /// The guard's no to a host that isn't public.
    pub(super) fn not_public(self, url: &WebUrl, why: &str) -> Failure {
        let place = url.host_and_port();
        self.refused(&format!(
            "{why}, and only public hosts are contacted. Use a public URL, or ask the user to allow {place}"
        ))
    }

    /// It may be contacted, and can't be.
    pub(super) fn unavailable(self, what: &str) -> Failure {
        let text = format!("{} failed: {what}", self.name());
        Failure::new(FailureKind::Unavailable, text)
    }
}
