//! Bytes with some spans replaced, and not one byte else.

use std::ops::Range;

/// The bytes after the changes, which are in order and apart from each other.
pub(crate) fn splice<'c>(
    before: &[u8],
    changes: impl IntoIterator<Item = (&'c Range<usize>, &'c [u8])>,
) -> Vec<u8> {
    let mut after = Vec::with_capacity(before.len());
    let mut at = 0;
    for (span, new) in changes {
        after.extend_from_slice(before.get(at..span.start).unwrap_or_default());
        after.extend_from_slice(new);
        at = span.end;
    }
    after.extend_from_slice(before.get(at..).unwrap_or_default());
    after
}
