//! What ignore rules and leading dots keep out of a tree, counted by a second walk that is bounded.
//!
//! A hidden folder counts as one path: what is in it is hidden with it.

use super::tool::beneath;
use crate::{glob::counted, text::grouped};
use haft_core::{Cancel, Files, RealPath, WalkOptions};
use std::{collections::HashSet, ops::ControlFlow};

/// So many entries are visited only to count what is hidden.
const SURVEY_MAX_ENTRIES: usize = 100_000;

/// How many paths are hidden.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// How many were counted.
    pub(super) count: u64,
    /// Whether there may be more.
    pub(super) at_least: bool,
}

impl Hidden {
    /// Counts what a walk down to `depth` finds without any rules, and the tree doesn't have.
    pub(super) fn count(
        files: &dyn Files,
        folder: &RealPath,
        depth: usize,
        shown: &HashSet<&str>,
        cancel: &Cancel,
    ) -> Self {
        let mut survey = Survey { shown, hidden: Self::default() };
        let options = WalkOptions {
            ignored: true,
            depth: Some(depth),
            cancel: cancel.clone(),
            ..WalkOptions::default()
        };
        let mut entries = 0_usize;
        let walked = files.walk(folder, &options, &mut |entry| {
            entries += 1;
            if entries > SURVEY_MAX_ENTRIES {
                survey.hidden.at_least = true;
                return ControlFlow::Break(());
            }
            if let Some(path) = beneath(folder, &entry.path) {
                survey.take(&path);
            }
            ControlFlow::Continue(())
        });
        survey.hidden.at_least |= walked.is_err();
        survey.hidden
    }

    /// What is to be said of it; none where nothing is hidden.
    pub(super) fn note(self) -> Option<String> {
        match self {
            Self { count: 0, at_least: false } => None,
            Self { count: 0, at_least: true } => Some(format!(
                "not all that ignore rules and leading dots hide was looked at, only {} entries; \
                 ignored=true shows it",
                grouped(u64::try_from(SURVEY_MAX_ENTRIES).unwrap_or(u64::MAX))
            )),
            Self { count, at_least } => {
                let at_least = if at_least { "at least " } else { "" };
                let them = if count == 1 { "it" } else { "them" };
                let paths = counted(count, "path");
                Some(format!(
                    "{at_least}{paths} hidden by ignore rules or leading dots; ignored=true shows {them}"
                ))
            }
        }
    }
}

struct Survey<'a> {
    /// The paths that the tree has.
    shown: &'a HashSet<&'a str>,
    hidden: Hidden,
}

impl Survey<'_> {
    fn take(&mut self, path: &str) {
        let is_beneath_shown = path.rsplit_once('/').is_none_or(|(parent, _)| self.shown.contains(parent));
        if is_beneath_shown && !self.shown.contains(path) {
            self.hidden.count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_folder_counts_as_one_path() {
        let shown = HashSet::from(["src", "src/a"]);
        let mut survey = Survey { shown: &shown, hidden: Hidden::default() };
        for path in [".env", "dist", "dist/x", "dist/y/z", "src", "src/.b", "src/a"] {
            survey.take(path);
        }
        assert_eq!(survey.hidden, Hidden { count: 3, at_least: false });
    }

    #[test]
    fn the_note_says_how_to_see_it() {
        let note = |count, at_least| Hidden { count, at_least }.note();
        assert_eq!(note(0, false), None);
        assert_eq!(
            note(1, false).unwrap(),
            "1 path hidden by ignore rules or leading dots; ignored=true shows it"
        );
        assert!(note(1_200, true).unwrap().starts_with("at least 1,200 paths hidden by"));
        assert!(note(0, true).unwrap().starts_with("not all"));
    }
}
