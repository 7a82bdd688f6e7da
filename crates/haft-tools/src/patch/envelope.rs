//! The `*** Begin Patch` format.

use super::{
    name,
    parse::Source,
    section::{Hunk, Kind, Line, Patch, Section, Sign},
    unified,
};
use haft_core::Failure;

const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";
const END: &str = "*** End Patch";

/// Reads a patch whose first line is `*** Begin Patch`.
///
/// # Errors
/// Invalid input that names the line.
pub(super) fn parse(source: &Source<'_>) -> Result<Patch, Failure> {
    let mut patch = Patch::default();
    let mut at = 1;
    loop {
        let Some(line) = source.get(at) else {
            return Err(source.wrong(
                at,
                "the patch has no `*** End Patch` and may be cut off; send all of it, with that line at its end",
            ));
        };
        let (line, header) = (line.trim_end(), at);
        at += 1;
        if line == END {
            break;
        }
        if let Some(path) = line.strip_prefix(ADD) {
            let hunk = added(source, &mut at)?;
            patch.sections.push(section(source, header, path, Kind::Add, vec![hunk])?);
        } else if let Some(path) = line.strip_prefix(DELETE) {
            patch.sections.push(section(
                source,
                header,
                path,
                Kind::Delete { is_stated: false },
                Vec::new(),
            )?);
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            let to = source.get(at).and_then(|line| line.trim_end().strip_prefix(MOVE));
            let kind = match to {
                None => Kind::Update,
                Some(to) => {
                    at += 1;
                    Kind::Move { to: name::checked(source, at - 1, to.trim())? }
                }
            };
            let hunks = updated(source, &mut at)?;
            if hunks.is_empty() && kind == Kind::Update {
                return Err(source.wrong(at, "an update must have lines that start with - or +"));
            }
            patch.sections.push(section(source, header, path, kind, hunks)?);
        } else if !line.is_empty() {
            return Err(source.wrong(
                at - 1,
                "here must be `*** Add File: path`, `*** Update File: path`, `*** Delete File: path` or \
                 `*** End Patch`",
            ));
        }
    }
    if source.get(at).is_some() {
        return Err(
            source.wrong(at, "nothing may stand after `*** End Patch`; leave it out, or send two patches")
        );
    }
    Ok(patch)
}

fn section(
    source: &Source<'_>,
    header: usize,
    path: &str,
    kind: Kind,
    hunks: Vec<Hunk>,
) -> Result<Section, Failure> {
    let path = name::checked(source, header, path.trim())?;
    Ok(Section { path, kind, hunks, executable: None })
}

/// The lines of a new file.
fn added(source: &Source<'_>, at: &mut usize) -> Result<Hunk, Failure> {
    let mut hunk = Hunk::default();
    while let Some(line) = source.get(*at).filter(|line| !line.starts_with("*** ")) {
        if let Some(text) = line.strip_prefix('+') {
            hunk.lines.push(Line { sign: Sign::New, text: text.to_owned(), is_open: false });
        } else if is_open_mark(line) {
            if let Some(last) = hunk.lines.last_mut() {
                last.is_open = true;
            }
        } else if !(line.is_empty() && is_followed_by_header(source, *at)) {
            return Err(source.wrong(*at, "each line of a new file must start with +, empty ones too"));
        }
        *at += 1;
    }
    Ok(hunk)
}

/// Whether nothing but empty lines comes before the next header.
fn is_followed_by_header(source: &Source<'_>, at: usize) -> bool {
    let mut rest = (at..).map_while(|index| source.get(index));
    rest.find(|line| !line.is_empty()).is_some_and(|line| line.starts_with("*** "))
}

/// The hunks of an update.
fn updated(source: &Source<'_>, at: &mut usize) -> Result<Vec<Hunk>, Failure> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut hunk = Hunk::default();
    let mut start = *at;
    while let Some(line) = source.get(*at) {
        if line.trim_end() == END_OF_FILE {
            hunk.to_end = true;
        } else if line.starts_with("*** ") {
            break;
        } else if let Some(anchor) = line.strip_prefix("@@") {
            if !hunk.lines.is_empty() {
                finish(source, start, std::mem::take(&mut hunk), &mut hunks)?;
            }
            start = *at;
            anchored(&mut hunk, line, anchor);
        } else if is_open_mark(line) {
            if let Some(last) = hunk.lines.last_mut() {
                last.is_open = true;
            }
        } else if let Some(line) = Line::parse(line) {
            hunk.lines.push(line);
        } else {
            return Err(source
                .wrong(*at, "each line of an update must start with a blank, - or +, or be a `@@` line"));
        }
        *at += 1;
    }
    // Empty lines before the next header part it from this one; they say nothing of the file.
    let parting = trailing_empty(source, *at).min(hunk.lines.len());
    hunk.lines.truncate(hunk.lines.len() - parting);
    if !hunk.lines.is_empty() || !hunk.anchors.is_empty() || hunk.line.is_some() {
        finish(source, start, hunk, &mut hunks)?;
    }
    Ok(hunks)
}

/// How many lines right before this one are wholly empty.
fn trailing_empty(source: &Source<'_>, at: usize) -> usize {
    (0..at).rev().take_while(|index| source.get(*index).is_some_and(str::is_empty)).count()
}

fn finish(source: &Source<'_>, start: usize, hunk: Hunk, hunks: &mut Vec<Hunk>) -> Result<(), Failure> {
    if hunk.lines.is_empty() {
        return Err(source.wrong(start, "lines must come after this `@@` line, each with its -, + or blank"));
    }
    hunks.push(hunk);
    Ok(())
}

/// A `@@` line: a line above, or the numbers of a unified diff.
fn anchored(hunk: &mut Hunk, line: &str, anchor: &str) {
    if let Some(header) = unified::header(line) {
        hunk.line = Some(header.old_start);
        return;
    }
    let anchor = anchor.strip_prefix(' ').unwrap_or(anchor).trim_end();
    if !anchor.is_empty() {
        hunk.anchors.push(anchor.to_owned());
    }
}

fn is_open_mark(line: &str) -> bool {
    line.starts_with("\\ No newline")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::parse::parse;

    fn sections(body: &str) -> Vec<Section> {
        parse(&format!("*** Begin Patch\n{body}\n*** End Patch\n")).unwrap().sections
    }

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().text
    }

    #[test]
    fn all_kinds_of_parts_are_read() {
        let sections = sections(
            "*** Add File: new\n+a\n+\n+b\n\n*** Delete File: gone\n*** Update File: x\n*** Move to: y\n@@ class A\n@@ \
             def f\n one\n-two\n+2\n\n three\n@@\n-four\n*** End of File\n\n*** Update File: z\n a\n+b",
        );
        assert_eq!(sections.len(), 4);
        assert_eq!((sections[0].kind.clone(), sections[0].content()), (Kind::Add, "a\n\nb\n".to_owned()));
        assert_eq!(sections[1].kind, Kind::Delete { is_stated: false });
        assert_eq!(sections[2].kind, Kind::Move { to: "y".to_owned() });
        let hunks = &sections[2].hunks;
        assert_eq!(hunks[0].anchors, ["class A", "def f"]);
        assert_eq!(
            hunks[0].old().map(|line| line.text.as_str()).collect::<Vec<_>>(),
            ["one", "two", "", "three"]
        );
        assert!(hunks[1].to_end && !hunks[0].to_end);
        assert_eq!(hunks[1].lines.len(), 1);
        assert_eq!(sections[3].hunks[0].counts(), (0, 1));
    }

    #[test]
    fn what_is_wrong_is_named_by_line() {
        for (body, part) in [
            ("*** Update File: a\nxyz\n*** End Patch", "line 3: each line of an update"),
            ("*** Add File: a\nxyz\n*** End Patch", "line 3: each line of a new file"),
            ("*** Update File: a\n-x", "no `*** End Patch`"),
            ("*** Update File: a\n*** End Patch", "must have lines"),
            ("*** Update File: \n-x\n*** End Patch", "path"),
            ("*** Change File: a\n*** End Patch", "here must be"),
            ("*** Delete File: a\n*** End Patch\nmore", "nothing may stand after"),
            ("*** Update File: a\n@@ f\n*** End Patch", "lines must come after"),
        ] {
            let error = refused(&format!("*** Begin Patch\n{body}"));
            assert!(error.contains(part), "{body}: {error}");
        }
    }
}
