//! A patch's text read: which format it is in, and what both have in common.

use super::{envelope, section::Patch, unified};
use crate::text::size;
use haft_core::Failure;

/// A longer patch isn't read.
const PATCH_MAX_BYTES: usize = 8 * 1_024 * 1_024;
/// So many files are changed by one patch.
const SECTIONS_MAX: usize = 1_000;
/// So many characters of a line are shown.
const SHOWN_CHARS: usize = 120;

/// The lines of a patch's text.
#[derive(Debug)]
pub(super) struct Source<'a> {
    lines: Vec<&'a str>,
    /// The number of the first one, from 1.
    first: usize,
}

impl<'a> Source<'a> {
    /// Takes a text apart. Carriage returns go where every line has one: then they came with the transport.
    fn of(text: &'a str) -> Self {
        let mut lines: Vec<&str> = text.split('\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        if lines.iter().all(|line| line.ends_with('\r')) {
            lines = lines.iter().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        }
        let mut source = Self { lines, first: 1 };
        source.trim();
        source.unwrap_fence();
        source.trim();
        source
    }

    /// The line at an index.
    pub(super) fn get(&self, index: usize) -> Option<&'a str> {
        self.lines.get(index).copied()
    }

    /// A failure at a line.
    pub(super) fn wrong(&self, index: usize, what: &str) -> Failure {
        let shown: String = self.get(index).unwrap_or("(the end)").chars().take(SHOWN_CHARS).collect();
        Failure::invalid(format!(
            "/patch, line {}: {what}, got: {}. Nothing was changed",
            self.first + index,
            crate::text::visible::line(&shown)
        ))
    }

    /// Empty lines before and after go; but a single blank after the line of a hunk is an empty line of context. Where
    /// hunks are counted, their counts say which further lines of blanks are.
    fn trim(&mut self) {
        let end = self.lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
        let is_hunk = end
            .checked_sub(1)
            .and_then(|last| self.get(last))
            .is_some_and(|last| last.starts_with([' ', '+', '-', '@', '\\']));
        let is_counted = self.lines.iter().any(|line| line.starts_with("@@ -"));
        let is_context = |line: &&&str| {
            if is_counted { line.starts_with(' ') } else { line.trim_end_matches('\r') == " " }
        };
        let context = self.lines.iter().skip(end).take_while(is_context).count();
        self.lines.truncate(if is_hunk { end + context } else { end });
        let empty = self.lines.iter().take_while(|line| line.trim().is_empty()).count();
        self.lines.drain(..empty);
        self.first += empty;
    }

    /// A Markdown fence, or a here-document around the patch, goes.
    fn unwrap_fence(&mut self) {
        let Some(first) = self.get(0) else { return };
        let end = if first.starts_with("```") {
            "```"
        } else if let Some((command, word)) = first.split_once("<<")
            && !command.starts_with(['-', '+', ' ', '*', '@'])
        {
            word.trim().trim_matches(['\'', '"'])
        } else {
            return;
        };
        // One line can't be both ends of a fence.
        if self.lines.len() > 1 && self.lines.last().is_some_and(|last| last.trim() == end) {
            self.lines.pop();
            self.lines.drain(..1);
            self.first += 1;
        }
    }
}

/// Reads a patch in either format.
///
/// # Errors
/// Invalid input that names the line and what would be right.
pub(super) fn parse(text: &str) -> Result<Patch, Failure> {
    if text.len() > PATCH_MAX_BYTES {
        return Err(Failure::invalid(format!(
            "/patch must be at most {} long; send it in several calls",
            size(u64::try_from(PATCH_MAX_BYTES).unwrap_or(u64::MAX))
        )));
    }
    let source = Source::of(text);
    let patch = match source.get(0) {
        None => {
            return Err(Failure::invalid(
                "/patch is empty; give `*** Begin Patch` … `*** End Patch`, or a unified diff",
            ));
        }
        Some(first) if first.trim_end() == "*** Begin Patch" => envelope::parse(&source)?,
        Some(_) => unified::parse(&source)?,
    };
    if patch.sections.is_empty() {
        return Err(Failure::invalid(
            "/patch names no file; give `*** Begin Patch` … `*** End Patch`, or a unified diff with its \
             `---` and `+++` lines",
        ));
    }
    if patch.sections.len() > SECTIONS_MAX {
        return Err(Failure::invalid(format!(
            "/patch changes {} files, more than {SECTIONS_MAX} at once; send it in several calls",
            patch.sections.len()
        )));
    }
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::section::Kind;

    #[test]
    fn what_stands_around_a_patch_goes() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        for text in [
            patch.to_owned(),
            format!("\n{patch}\n\n"),
            format!("```diff\n{patch}\n```\n"),
            format!("apply_patch <<'EOF'\n{patch}\nEOF\n"),
            patch.replace('\n', "\r\n") + "\r\n",
        ] {
            let parsed = parse(&text).unwrap();
            assert_eq!(parsed.sections.len(), 1, "{text}");
            assert_eq!(parsed.sections[0].path, "a");
            assert_eq!(parsed.sections[0].kind, Kind::Delete { is_stated: false });
        }
    }

    #[test]
    fn one_line_is_no_fence() {
        for text in ["```", "````+", "x <<x <<x", "<<", "```\n"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_empty_line_of_context_at_the_end_stays() {
        let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n \n";
        for text in [patch.to_owned(), format!("{patch}\n\n"), format!("```diff\n{patch}```\n \n")] {
            let parsed = parse(&text).unwrap();
            assert_eq!((parsed.sections[0].hunks[0].lines.len(), parsed.notes.len()), (3, 0), "{text}");
        }
    }

    #[test]
    fn what_is_no_patch_is_refused_with_both_formats() {
        for text in ["", "\n\n", "hello"] {
            let error = parse(text).unwrap_err().text;
            assert!(error.contains("*** Begin Patch") && error.contains("unified diff"), "{error}");
        }
    }
}
