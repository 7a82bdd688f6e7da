//! Names that git lists, sorted by whether they and what stands there may be shown.

use crate::glob::counted;
use haft_core::{Cancel, Failure, FailureKind, Files, RealPath};

/// So many changed files are shown in one call.
const NAMES_MAX: usize = 500;
/// So long may their names be together: they are handed over as arguments.
const NAMES_MAX_BYTES: usize = 100_000;

/// Names of files, sorted by whether their content may be shown.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) shown: Vec<String>,
    pub(crate) denied: u64,
    pub(crate) unnamed: u64,
    pub(crate) left_out: u64,
}

impl Sorted {
    /// Whether there was no name at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty() && self.denied + self.unnamed + self.left_out == 0
    }

    /// What is left out, counted; `is_whole` says whether git's list was.
    pub(crate) fn notes(&self, is_whole: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if self.denied > 0 {
            let files = counted(self.denied, "changed file");
            notes.push(format!("({files} left out: they may hold secrets, or rules deny reading them)"));
        }
        if self.unnamed > 0 {
            let files = counted(self.unnamed, "changed file");
            notes.push(format!("({files} left out: the name isn't UTF-8)"));
        }
        if self.left_out > 0 || !is_whole {
            let least = if is_whole { "" } else { "at least " };
            let files = counted(self.left_out, "further changed file");
            notes.push(format!("({least}{files} left out; name files or folders in paths)"));
        }
        notes
    }
}

/// Sorts names that count from the workspace's root.
///
/// # Errors
/// Cancelled.
pub(crate) fn sorted<'n>(
    names: impl Iterator<Item = &'n [u8]>,
    files: &dyn Files,
    cancel: &Cancel,
) -> Result<Sorted, Failure> {
    let workspace = files.workspace();
    let mut sorted = Sorted::default();
    let mut bytes = 0;
    for name in names.filter(|name| !name.is_empty()) {
        if cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        let Ok(name) = std::str::from_utf8(name) else {
            sorted.unnamed += 1;
            continue;
        };
        // A file with a conflict is named more than once.
        if sorted.shown.last().is_some_and(|last| last == name) {
            continue;
        }
        if sorted.shown.len() >= NAMES_MAX || bytes + name.len() > NAMES_MAX_BYTES {
            sorted.left_out += 1;
            continue;
        }
        match files.read(&workspace.join(name), 0, 1) {
            Err(failure) if is_refusal(&failure) => sorted.denied += 1,
            // What is removed, a link or a submodule has no content to be read and may be shown.
            _ => {
                bytes += name.len();
                sorted.shown.push(name.to_owned());
            }
        }
    }
    Ok(sorted)
}

/// Whether a rule keeps a file from being named.
pub(super) fn is_denied(at: &RealPath, files: &dyn Files) -> bool {
    files.stat(at).is_err_and(|failure| is_refusal(&failure))
}

/// The handle refuses what a rule denies as something that wasn't stated.
fn is_refusal(failure: &Failure) -> bool {
    matches!(failure.kind, FailureKind::Internal | FailureKind::Permission)
}

/// A name for readers: one line, every byte told.
pub(super) fn named(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => {
            let mut shown = String::with_capacity(name.len());
            for c in name.chars() {
                if c.is_control() {
                    shown.extend(c.escape_default());
                } else {
                    shown.push(c);
                }
            }
            shown
        }
        Err(_) => format!("{} (not UTF-8)", name.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(named("a é\nb\"".as_bytes()), "a é\\nb\"");
        assert_eq!(named(b"d\xffe\n"), "d\\xffe\\n (not UTF-8)");
    }
}
