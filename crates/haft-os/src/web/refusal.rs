//! Why a hop isn't taken, in words that name the hop.

use haft_core::{Failure, FailureKind, WebUrl};
use std::fmt::Write as _;

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
    pub(super) fn not_public(self, why: &str) -> Failure {
        self.refused(&format!("{why}, and only public hosts are contacted. Use a public URL"))
    }

    /// The same for one that is private and no more, which an operator may well allow where the call itself names it:
    /// a page must not talk anybody into it.
    pub(super) fn private(self, url: &WebUrl, why: &str, allow_by: Option<&str>) -> Failure {
        let mut failure = self.not_public(why);
        if let Some(how) = allow_by.filter(|_| self.number == 1) {
            let _ = write!(failure.text, ", or ask the user to allow {} ({how})", url.host_and_port());
        }
        failure
    }

    /// It may be contacted, and can't be.
    pub(super) fn unavailable(self, what: &str) -> Failure {
        let text = format!("{} failed: {what}", self.name());
        Failure::new(FailureKind::Unavailable, text)
    }
}
