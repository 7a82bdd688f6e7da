//! How far an extension's word goes.

/// Whose an extension is, and whether the user has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The user's own: it counts in full.
    Own,
    /// The workspace's, just as it was when the user trusted that: it counts in full.
    Approved,
    /// The workspace's, and nobody has seen it as it is: it only tightens.
    Unseen,
}
