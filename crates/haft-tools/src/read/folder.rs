//! A folder as `read` shows it.

use crate::text::{grouped, names::escaped, size};
use haft_core::{FileKind, Listing};
use std::fmt::Write as _;

/// At most so many entries are shown.
pub(crate) const ENTRIES_MAX: usize = 500;

/// Names by line: `/` marks folders, files have their size.
pub(crate) fn show(path: &str, listing: &Listing) -> String {
    let shown = u64::try_from(listing.entries.len()).unwrap_or(u64::MAX);
    let total = shown.saturating_add(listing.left_out);
    if total == 0 {
        return format!("{path} is a folder without entries.");
    }
    let noun = if total == 1 { "entry" } else { "entries" };
    let mut text = format!("{path} is a folder with {} {noun}:", grouped(total));
    for entry in &listing.entries {
        text.push('\n');
        text.push_str(&escaped(entry.path.file_name()));
        let _ = match entry.kind {
            FileKind::Folder => text.write_char('/'),
            FileKind::File => write!(text, "  {}", size(entry.len)),
            FileKind::Link => text.write_str("  (link)"),
            FileKind::Special(kind) => write!(text, "  ({kind})"),
        };
    }
    if listing.left_out > 0 {
        let _ = write!(text, "\n… {} more entries; find them with glob", grouped(listing.left_out));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Entry, RealPath};

    #[test]
    fn kinds_are_marked_and_the_rest_is_counted() {
        let entry = |name: &str, kind| Entry {
            path: RealPath::new("/w", name),
            kind,
            len: 2_048,
            modified: None,
            depth: 1,
        };
        let listing = Listing {
            entries: vec![
                entry("src", FileKind::Folder),
                entry("a\nb", FileKind::File),
                entry("p", FileKind::Special("named pipe")),
            ],
            left_out: 7,
        };
        assert_eq!(
            show("x", &listing),
            "x is a folder with 10 entries:\nsrc/\na\\u{a}b  2.0 KiB\np  (named pipe)\n… 7 more \
             entries; find them with glob"
        );
    }
}
