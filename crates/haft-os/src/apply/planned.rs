//! One change to one file, checked, and how it is made.

use crate::journal;
use haft_core::{FileTraits, RealPath};
use std::{borrow::Cow, sync::Arc};

/// One checked change to one file.
pub(super) struct Planned<'a> {
    pub(super) at: &'a RealPath,
    pub(super) way: Way<'a>,
}

impl<'a> Planned<'a> {
    pub(super) fn new(at: &'a RealPath, content: Cow<'a, [u8]>, bits: Bits) -> Self {
        Self {
            at,
            way: Way::New { temp: journal::temp_beside(at), content, model: None, traits: None, bits },
        }
    }

    /// A new file with mode, owner and attributes of another.
    pub(super) fn like(mut self, other: &'a RealPath) -> Self {
        if let Way::New { model, .. } = &mut self.way {
            *model = Some(other);
        }
        self
    }

    /// A new file with owner and attributes of one that was removed.
    pub(super) fn with_traits(mut self, given: Option<&'a FileTraits>) -> Self {
        if let Way::New { traits, .. } = &mut self.way {
            *traits = given;
        }
        self
    }

    pub(super) fn temp(&self) -> Option<&RealPath> {
        match &self.way {
            Way::New { temp, .. } | Way::Swap { temp, .. } | Way::Remove { temp, .. } => Some(temp),
            Way::InPlace { .. } | Way::Rename { .. } => None,
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &RealPath> {
        let to = if let Way::Rename { to, .. } = &self.way { Some(*to) } else { None };
        std::iter::once(self.at).chain(to)
    }
}

/// How a change is made.
pub(super) enum Way<'a> {
    /// A name that nothing has is taken; mode and attributes are those of `model`, where there is one.
    New {
        temp: RealPath,
        content: Cow<'a, [u8]>,
        model: Option<&'a RealPath>,
        traits: Option<&'a FileTraits>,
        bits: Bits,
    },
    /// The file's place is taken.
    Swap { temp: RealPath, content: &'a [u8], before: &'a Arc<str>, bits: Bits },
    /// The file is written over.
    InPlace { old: Vec<u8>, content: &'a [u8], mode: u32, bits: Bits },
    /// The file goes.
    Remove { temp: RealPath, before: &'a Arc<str> },
    /// The file takes another name.
    Rename { to: &'a RealPath, before: &'a Arc<str> },
}

/// What becomes of permission bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bits {
    /// They stay, or are those of a new file; it may be run from now on, or not, where that is said.
    Run(Option<bool>),
    /// They are these.
    Exactly(u32),
}

impl Bits {
    /// The bits of a file that has these now.
    pub(super) fn of(self, mode: u32) -> u32 {
        match self {
            Self::Run(None) => mode,
            Self::Run(Some(true)) => mode | ((mode & 0o444) >> 2),
            Self::Run(Some(false)) => mode & !0o111,
            // Those that give a program another user's rights stay as they are.
            Self::Exactly(bits) => (mode & !0o777) | (bits & 0o777),
        }
    }
}
