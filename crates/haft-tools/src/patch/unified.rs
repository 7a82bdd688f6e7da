//! Unified diffs, as git and `diff -u` make them, and as they are written by hand.

use super::{
    name::{self, Side},
    parse::Source,
    section::{Hunk, Kind, Line, Patch, Section, Sign},
};
use haft_core::Failure;

/// The numbers of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The number of the first old line, from 1; 0 where there are none in the file.
    pub(super) old_start: usize,
    old: usize,
    new: usize,
}

/// What git says of a file before its hunks.
#[derive(Debug, Default)]
struct Extended {
    /// The one name in the first line.
    name: Option<String>,
    new_file: Option<String>,
    deleted_file: Option<String>,
    new_mode: Option<String>,
    from: Option<String>,
    to: Option<String>,
    is_copy: bool,
}

/// Reads one or more diffs; what stands between them is passed over.
///
/// # Errors
/// Invalid input that names the line.
pub(super) fn parse(source: &Source<'_>) -> Result<Patch, Failure> {
    let mut patch = Patch::default();
    let mut at = 0;
    while let Some(line) = source.get(at) {
        refuse_other_forms(source, at, line)?;
        if let Some(names) = line.strip_prefix("diff --git ") {
            let section = git_section(source, &mut at, names, &mut patch.notes)?;
            patch.sections.push(section);
        } else if has_sides(source, at) {
            let sides = sides(source, &mut at)?;
            let hunks = hunks(source, &mut at, &mut patch.notes)?;
            patch.sections.push(section(source, at, Extended::default(), (Some(sides), hunks))?);
        } else if header(line).is_some() {
            return Err(source.wrong(at, "a hunk must come after the `---` and `+++` lines of its file"));
        } else {
            at += 1;
        }
    }
    Ok(patch)
}

fn refuse_other_forms(source: &Source<'_>, at: usize, line: &str) -> Result<(), Failure> {
    let is_combined = ["diff --cc ", "diff --combined ", "@@@ "].iter().any(|start| line.starts_with(start));
    if is_combined {
        return Err(source.wrong(
            at,
            "a combined diff of a merge can't be applied; use a diff against one parent, for example \
             `git diff HEAD`",
        ));
    }
    if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
        return Err(source.wrong(
            at,
            "binary files can't be patched; leave them out, and copy them with a command through bash",
        ));
    }
    Ok(())
}

fn has_sides(source: &Source<'_>, at: usize) -> bool {
    source.get(at).is_some_and(|line| line.starts_with("--- "))
        && source.get(at + 1).is_some_and(|line| line.starts_with("+++ "))
}

/// The names in a `---` and a `+++` line.
fn sides(source: &Source<'_>, at: &mut usize) -> Result<[Side; 2], Failure> {
    let mut one = |start: &str| {
        let line = source.get(*at).unwrap_or_default();
        let side = line.strip_prefix(start).and_then(name::side).ok_or_else(|| {
            source.wrong(*at, "a quoted name must be closed and be UTF-8; give it as the file is called")
        })?;
        *at += 1;
        Ok::<Side, Failure>(side)
    };
    Ok([one("--- ")?, one("+++ ")?])
}

/// A file's part from its `diff --git` line on.
fn git_section(
    source: &Source<'_>,
    at: &mut usize,
    names: &str,
    notes: &mut Vec<String>,
) -> Result<Section, Failure> {
    let first = *at;
    let mut extended = Extended { name: name::of_git(names), ..Extended::default() };
    *at += 1;
    while let Some(line) = source.get(*at) {
        refuse_other_forms(source, *at, line)?;
        if !extended.take(line) {
            break;
        }
        *at += 1;
    }
    let sides = if has_sides(source, *at) { Some(sides(source, at)?) } else { None };
    let hunks = if sides.is_some() { hunks(source, at, notes)? } else { Vec::new() };
    section(source, first, extended, (sides, hunks))
}

impl Extended {
    /// Takes a line before the hunks; false for any other.
    fn take(&mut self, line: &str) -> bool {
        let line = line.trim_end_matches('\r');
        let after = |start: &str| line.strip_prefix(start).map(str::to_owned);
        if let Some(mode) = after("new file mode ") {
            self.new_file = Some(mode);
        } else if let Some(mode) = after("deleted file mode ") {
            self.deleted_file = Some(mode);
        } else if let Some(mode) = after("new mode ") {
            self.new_mode = Some(mode);
        } else if let Some(name) = line.strip_prefix("rename from ") {
            self.from = name::plain(name);
        } else if let Some(name) = line.strip_prefix("rename to ") {
            self.to = name::plain(name);
        } else if let Some(name) = line.strip_prefix("copy from ") {
            (self.from, self.is_copy) = (name::plain(name), true);
        } else if let Some(name) = line.strip_prefix("copy to ") {
            (self.to, self.is_copy) = (name::plain(name), true);
        } else {
            return ["old mode ", "index ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|start| line.starts_with(start));
        }
        true
    }
}

fn section(
    source: &Source<'_>,
    at: usize,
    extended: Extended,
    (sides, hunks): (Option<[Side; 2]>, Vec<Hunk>),
) -> Result<Section, Failure> {
    let modes = [&extended.new_file, &extended.deleted_file, &extended.new_mode];
    if let Some(mode) = modes.into_iter().flatten().find(|mode| !mode.starts_with("100")) {
        return Err(source.wrong(
            at,
            &format!(
                "mode {mode} is that of a link or another repository, which can't be patched; leave it out, and \
                 change it with a command through bash"
            ),
        ));
    }
    let is_empty_before = hunks.iter().all(|hunk| hunk.old().next().is_none());
    let is_empty_after = hunks.iter().all(|hunk| hunk.new_lines().next().is_none());
    let [no_old, no_new] = match &sides {
        Some([old, new]) => [old.is_none && is_empty_before, new.is_none && is_empty_after],
        None => [false, false],
    };
    let named = match &sides {
        Some([old, new]) => name::common(old, new),
        None => extended.name.clone(),
    };
    let (path, kind) = match (extended.from, extended.to) {
        (Some(from), Some(to)) => {
            let to = name::checked(source, at, &to)?;
            (Some(from), if extended.is_copy { Kind::Copy { to } } else { Kind::Move { to } })
        }
        _ if extended.new_file.is_some() || no_old => (named, Kind::Add),
        _ if extended.deleted_file.is_some() || no_new => (named, Kind::Delete { is_stated: true }),
        _ => (named, Kind::Update),
    };
    let Some(path) = path else {
        return Err(source.wrong(
            at,
            "the two names must be of one file (a/path and b/path); for another name use `rename from` and \
             `rename to`",
        ));
    };
    let path = name::checked(source, at, &path)?;
    if kind == Kind::Add && !is_empty_before {
        return Err(source.wrong(at, "a new file must have only lines that start with +"));
    }
    let mode = extended.new_file.or(extended.new_mode);
    let executable = mode.map(|mode| mode == "100755").filter(|is| *is || kind != Kind::Add);
    if kind == Kind::Update && hunks.is_empty() && executable.is_none() {
        return Err(source.wrong(at, &format!("the part for {path} must have a hunk (`@@ -1,3 +1,4 @@`)")));
    }
    Ok(Section { path, kind, hunks, executable })
}

/// Reads a hunk's first line.
pub(super) fn header(line: &str) -> Option<Header> {
    let (numbers, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = numbers.split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ((old_start, old), (_, new)) = (range(old)?, range(new)?);
    Some(Header { old_start, old, new })
}

fn hunks(source: &Source<'_>, at: &mut usize, notes: &mut Vec<String>) -> Result<Vec<Hunk>, Failure> {
    let mut hunks = Vec::new();
    while let Some(line) = source.get(*at) {
        refuse_other_forms(source, *at, line)?;
        if line.trim().is_empty() && source.get(*at + 1).is_some_and(|line| line.starts_with("@@ ")) {
            *at += 1;
            continue;
        }
        if !line.starts_with("@@") {
            break;
        }
        let header = header(line);
        if header.is_none() && line.starts_with("@@ -") {
            return Err(source.wrong(*at, "a hunk must begin with numbers like `@@ -1,3 +1,4 @@`"));
        }
        let start = *at + 1;
        let counted = header.and_then(|header| by_counts(source, start, header));
        let (lines, end) = counted.unwrap_or_else(|| by_signs(source, start));
        if lines.is_empty() {
            return Err(
                source.wrong(start, "lines must come after this `@@` line, each with its -, + or blank")
            );
        }
        let mut hunk =
            Hunk { line: header.map(|header| header.old_start), lines, states_ends: true, ..Hunk::default() };
        let (old, new) = (hunk.old().count(), hunk.new_lines().count());
        if header.is_some_and(|header| (header.old, header.new) != (old, new)) {
            // Numbers that don't add up don't tell the place either: only lines that are there once do.
            hunk.line = None;
            notes.push(format!(
                "The hunk at line {start} of the patch has {old} old and {new} new lines, not as many as its @@ \
                 line says; all were taken.",
            ));
        }
        hunks.push(hunk);
        *at = end;
    }
    Ok(hunks)
}

/// As many lines as the header says; none where they don't add up.
fn by_counts(source: &Source<'_>, start: usize, header: Header) -> Option<(Vec<Line>, usize)> {
    let (mut old, mut new) = (header.old, header.new);
    let (mut lines, mut at) = (Vec::<Line>::new(), start);
    while old > 0 || new > 0 {
        let written = source.get(at)?;
        if is_open_mark(written) {
            lines.last_mut()?.is_open = true;
        } else {
            let line = Line::parse(written)?;
            if line.sign != Sign::New {
                old = old.checked_sub(1)?;
            }
            if line.sign != Sign::Old {
                new = new.checked_sub(1)?;
            }
            lines.push(line);
        }
        at += 1;
    }
    if source.get(at).is_some_and(is_open_mark) {
        lines.last_mut()?.is_open = true;
        at += 1;
    }
    let ends = match source.get(at) {
        None => true,
        Some(line) => {
            line.trim().is_empty()
                || has_sides(source, at)
                // The signature below a mailed patch.
                || line.trim_end() == "--"
                || !line.starts_with([' ', '+', '-', '\\'])
        }
    };
    ends.then_some((lines, at))
}

/// All lines with a sign, up to what begins something else.
fn by_signs(source: &Source<'_>, start: usize) -> (Vec<Line>, usize) {
    let (mut lines, mut at) = (Vec::<Line>::new(), start);
    while let Some(written) = source.get(at) {
        // The signature below a mailed patch is two lines, the second of which is no line of a hunk; a line that is said
        // to have no end is one of the file's.
        let is_signature = written.trim_end() == "--"
            && source.get(at + 1).is_some_and(|next| !next.starts_with([' ', '+', '-']))
            && source.get(at + 2).is_none()
            && !source.get(at + 1).is_some_and(is_open_mark);
        if has_sides(source, at) || is_signature {
            break;
        }
        if is_open_mark(written) {
            if let Some(last) = lines.last_mut() {
                last.is_open = true;
            }
        } else if let Some(line) = Line::parse(written) {
            lines.push(line);
        } else {
            break;
        }
        at += 1;
    }
    // Empty lines at the end part it from what follows; at the end of all, several blanks are what indented the patch.
    let is_last = source.get(at).is_none();
    let is_empty =
        |line: &str| line.is_empty() || (is_last && line.len() > 1 && line.bytes().all(|b| b == b' '));
    let empty = (start..at).rev().take_while(|index| source.get(*index).is_some_and(is_empty)).count();
    lines.truncate(lines.len().saturating_sub(empty));
    (lines, at)
}

fn is_open_mark(line: &str) -> bool {
    line.starts_with("\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::parse;

    fn one(text: &str) -> Section {
        let patch = parse::parse(text).unwrap();
        assert_eq!(patch.sections.len(), 1);
        patch.sections.into_iter().next().unwrap()
    }

    #[test]
    fn two_dashes_are_a_signature_unless_they_are_said_to_have_no_end() {
        let texts = |end: &str| {
            let section = one(&format!("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n{end}"));
            section.hunks[0].lines.len()
        };
        assert_eq!(texts("-- \n2.40.1\n"), 1);
        assert_eq!(texts("--\n"), 2);
        assert_eq!(texts("-- \n- \n"), 3);
        assert_eq!(texts("--\n\\ No newline at end of file\n"), 2);
    }

    #[test]
    fn counts_say_whether_blanks_at_the_end_are_context() {
        let texts = |header: &str, end: &str| {
            let section = one(&format!("--- a/x\n+++ b/x\n{header}\n+b\n a\n{end}"));
            section.hunks[0].lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(texts("@@ -1,2 +1,3 @@", "  \t\n"), ["b", "a", " \t"]);
        assert_eq!(texts("@@ -1,2 +1,3 @@", " \u{b}\n"), ["b", "a", "\u{b}"]);
        assert_eq!(texts("@@ -1 +1,2 @@", "    \n"), ["b", "a"]);
        assert_eq!(texts("@@ -7,7 +7,9 @@", "    \n"), ["b", "a"]);
    }

    #[test]
    fn headers_are_read() {
        assert_eq!(header("@@ -1,3 +2,4 @@ fn x"), Some(Header { old_start: 1, old: 3, new: 4 }));
        assert_eq!(header("@@ -1 +0,0 @@"), Some(Header { old_start: 1, old: 1, new: 0 }));
        assert_eq!(header("@@ fn x @@"), None);
    }

    #[test]
    fn what_git_says_of_a_file_is_read() {
        for (text, path, kind, executable) in [
            (
                "diff --git a/n b/n\nnew file mode 100755\nindex 000..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n",
                "n",
                Kind::Add,
                Some(true),
            ),
            ("diff --git a/n b/n\nnew file mode 100644\nindex 0..e69de29\n", "n", Kind::Add, None),
            (
                "diff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
                "o",
                Kind::Delete { is_stated: true },
                None,
            ),
            ("diff --git a/m b/m\nold mode 100644\nnew mode 100755\n", "m", Kind::Update, Some(true)),
            (
                "diff --git a/a b/c d\nsimilarity index 100%\nrename from a\nrename to c d\n",
                "a",
                Kind::Move { to: "c d".to_owned() },
                None,
            ),
            (
                "diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n",
                "a",
                Kind::Copy { to: "b".to_owned() },
                None,
            ),
        ] {
            let section = one(text);
            assert_eq!((section.path.as_str(), section.kind, section.executable), (path, kind, executable));
        }
    }

    #[test]
    fn no_file_is_told_by_its_time() {
        let none = "1970-01-01 00:00:00.000000000 +0000";
        let section =
            one(&format!("--- a/x\t{none}\n+++ b/x\t2024-01-01 00:00:00.0 +0000\n@@ -0,0 +1 @@\n+a\n"));
        assert_eq!((section.kind.clone(), section.content()), (Kind::Add, "a\n".to_owned()));
    }

    #[test]
    fn lines_that_look_like_headers_are_lines_where_the_counts_say_so() {
        let section = one("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- one\n+++ two\n same\n");
        let texts: Vec<&str> = section.hunks[0].lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["-- one", "++ two", "same"]);
    }

    #[test]
    fn wrong_counts_are_mended_and_told() {
        let patch =
            parse::parse("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n@@ -20 +20 @@\n-d\n+e\n").unwrap();
        assert_eq!(patch.notes.len(), 1);
        let hunks = &patch.sections[0].hunks;
        assert_eq!((hunks.len(), hunks[0].lines.len(), hunks[1].lines.len()), (2, 3, 2));
    }

    #[test]
    fn open_last_lines_are_marked() {
        let mark = "\\ No newline at end of file";
        let section = one(&format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n{mark}\n+b\n{mark}\n"));
        assert!(section.hunks[0].lines.iter().all(|line| line.is_open));
        let section = one(&format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n{mark}\n+b\n"));
        assert_eq!(section.hunks[0].lines.iter().map(|line| line.is_open).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn what_cannot_be_applied_is_refused_by_name() {
        for (text, part) in [
            ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\n", "binary"),
            ("diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", "binary"),
            ("diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n++a\n", "combined"),
            ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+t\n", "link"),
            ("@@ -1 +1 @@\n-a\n+b\n", "must come after"),
            ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "one file"),
            ("--- a/x\n+++ b/x\n", "must have a hunk"),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "lines must come after"),
        ] {
            let error = parse::parse(text).unwrap_err().text;
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
