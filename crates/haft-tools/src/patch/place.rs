//! Where a hunk stands in a file.
//!
//! Its lines must be there one after the other, exactly, or, where they are nowhere so, with other line ends; no
//! line of context is ever dropped. There must be one such place. Where there are several, the one at the line that
//! the patch states counts, or the one in the block of the anchor.

use super::{
    lines::FileLines,
    section::{Hunk, Line, Sign},
};
use std::ops::Range;

/// More places than this aren't told apart.
const PLACES_MAX: usize = 1_000;
/// So many lines are compared for one hunk.
const COMPARED_MAX: usize = 50_000_000;

/// How a hunk's lines equal those of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// In all.
    Exact,
    /// But for line ends.
    LineEnds,
}

/// A hunk's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The index of the first line, from 0.
    pub(super) at: usize,
    /// How its lines were found.
    pub(super) by: Match,
}

/// Why a hunk has no one place. Lines are indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Miss {
    /// Its lines are nowhere, or only before the hunk before it.
    Nowhere,
    /// They are in several places.
    Several(Vec<usize>),
    /// They are in places that don't end the file, as it says.
    NotAtEnd(Vec<usize>),
    /// The anchor is nowhere.
    NoAnchor(String),
    /// The anchor is there several times, and nothing else tells the place.
    Anchors(String, Vec<usize>),
    /// It has no lines of context, and its line number alone proves nothing.
    NoContext,
    /// It repeats itself too much to be found in time.
    Repetitive,
}

/// Finds a hunk from a line on.
///
/// # Errors
/// A [`Miss`] where there is no place, or no telling which.
pub(super) fn find(lines: &FileLines<'_>, hunk: &Hunk, from: usize) -> Result<Place, Miss> {
    let anchors = anchors(lines, hunk, from)?;
    let old: Vec<&Line> = hunk.old().collect();
    if old.is_empty() {
        return without_context(lines, hunk, &anchors);
    }
    let from = anchors.first().copied().unwrap_or(from);
    for by in [Match::Exact, Match::LineEnds] {
        let places = places(lines, &old, (hunk.states_ends, by), from)?;
        if places.is_empty() {
            continue;
        }
        let ending: Vec<usize> =
            places.iter().copied().filter(|at| !hunk.to_end || at + old.len() == lines.len()).collect();
        return match ending.as_slice() {
            [] => Err(Miss::NotAtEnd(places)),
            [at] => Ok(Place { at: *at, by }),
            _ => choose(lines, hunk, &ending, &anchors, by).ok_or(Miss::Several(ending)),
        };
    }
    Err(Miss::Nowhere)
}

/// Of several places the one that the patch points at.
fn choose(
    lines: &FileLines<'_>,
    hunk: &Hunk,
    places: &[usize],
    anchors: &[usize],
    by: Match,
) -> Option<Place> {
    let stated = hunk.line.and_then(|line| line.checked_sub(1));
    if by == Match::Exact
        && let Some(at) = stated.filter(|at| places.contains(at))
    {
        return Some(Place { at, by });
    }
    let blocks: Vec<Range<usize>> = anchors.iter().map(|anchor| block(lines, *anchor)).collect();
    let mut inside = places.iter().filter(|at| blocks.iter().any(|block| block.contains(*at)));
    let at = *inside.next()?;
    inside.next().is_none().then_some(Place { at, by })
}

/// An addition without context stands after its anchor, or at the end.
fn without_context(lines: &FileLines<'_>, hunk: &Hunk, anchors: &[usize]) -> Result<Place, Miss> {
    let at = match (anchors, hunk.anchors.last()) {
        ([only], _) if !hunk.to_end => only + 1,
        ([_, _, ..], Some(name)) if !hunk.to_end => {
            return Err(Miss::Anchors(name.clone(), anchors.to_vec()));
        }
        _ if hunk.line.is_some() && lines.len() > 0 => return Err(Miss::NoContext),
        _ => lines.len(),
    };
    Ok(Place { at, by: Match::LineEnds })
}

/// The lines that the last anchor may be; empty where there is no anchor. Each is in the block of one that the anchor
/// before it may be, or, where it is in none of these, after the first of them.
fn anchors(lines: &FileLines<'_>, hunk: &Hunk, from: usize) -> Result<Vec<usize>, Miss> {
    let mut found: Vec<usize> = Vec::new();
    for anchor in &hunk.anchors {
        let mut inside: Vec<usize> = Vec::new();
        for outer in &found {
            // A block in one that was looked through already.
            if inside.last().is_some_and(|last| last > outer) {
                continue;
            }
            let block = block(lines, *outer);
            inside.extend(like(lines, anchor, outer + 1..block.end));
            if inside.len() >= PLACES_MAX {
                break;
            }
        }
        if inside.is_empty() {
            let from = found.first().map_or(from, |first| first + 1);
            inside = like(lines, anchor, from..lines.len());
        }
        if inside.is_empty() {
            return Err(Miss::NoAnchor(anchor.clone()));
        }
        found = inside;
    }
    Ok(found)
}

/// How like a line must be.
type Level<'a> = &'a dyn Fn(&[u8]) -> bool;

/// The lines that are this one: wholly, else but for blanks around them, else from their beginning.
fn like(lines: &FileLines<'_>, anchor: &str, within: Range<usize>) -> Vec<usize> {
    let (whole, trimmed) = (anchor.as_bytes(), anchor.trim().as_bytes());
    let levels: [Level<'_>; 3] =
        [&|line: &[u8]| line == whole, &|line: &[u8]| line.trim_ascii() == trimmed, &|line: &[u8]| {
            line.trim_ascii_start().starts_with(trimmed)
        }];
    for is_like in levels {
        let found: Vec<usize> =
            within.clone().filter(|line| is_like(lines.bare(*line))).take(PLACES_MAX).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The lines from an anchor up to the next one that isn't indented deeper, closing ones left out of account.
fn block(lines: &FileLines<'_>, anchor: usize) -> Range<usize> {
    let indent = |line: &[u8]| line.len() - line.trim_ascii_start().len();
    let own = indent(lines.bare(anchor));
    let end = (anchor + 1..lines.len()).find(|index| {
        let line = lines.bare(*index);
        let text = line.trim_ascii();
        let closes = matches!(text, b"end") || text.first().is_some_and(|first| b"})]{(".contains(first));
        !text.is_empty() && !closes && indent(line) <= own
    });
    anchor..end.unwrap_or(lines.len())
}

fn places(
    lines: &FileLines<'_>,
    old: &[&Line],
    (states_ends, by): (bool, Match),
    from: usize,
) -> Result<Vec<usize>, Miss> {
    let mut places = Vec::new();
    let mut compared = 0_usize;
    let Some(last) = lines.len().checked_sub(old.len()) else { return Ok(places) };
    for at in from..=last {
        let equal = old.iter().enumerate().take_while(|(index, line)| {
            let index = at + index;
            match by {
                Match::Exact => {
                    lines.raw(index) == line.text.as_bytes()
                        && (!states_ends || line.is_open == lines.end_of(index).is_empty())
                }
                Match::LineEnds => lines.bare(index) == line.text.trim_end_matches('\r').as_bytes(),
            }
        });
        let equal = equal.count();
        compared += equal + 1;
        if equal == old.len() {
            places.push(at);
        }
        if compared > COMPARED_MAX {
            return Err(Miss::Repetitive);
        }
        if places.len() >= PLACES_MAX {
            break;
        }
    }
    Ok(places)
}

/// Where the new lines of a hunk that was found stand already, so that it was applied before: a line that is only
/// added would else be added again. Lines of context on both sides of what is added rule that out.
pub(super) fn applied_at(lines: &FileLines<'_>, hunk: &Hunk, place: Place) -> Option<usize> {
    let is = |line: Option<&Line>, sign: Sign| line.is_some_and(|line| line.sign == sign);
    let new: Vec<&Line> = hunk.new_lines().collect();
    let old = hunk.old().count();
    if new.len() <= old {
        return None;
    }
    let stands = |at: usize| {
        at + new.len() <= lines.len()
            && new
                .iter()
                .enumerate()
                .all(|(index, line)| lines.bare(at + index) == line.text.trim_end_matches('\r').as_bytes())
    };
    let lead = hunk.lines.iter().take_while(|line| line.sign == Sign::New).count();
    let mut starts = Vec::new();
    if !is(hunk.lines.last(), Sign::Context) {
        starts.push(place.at);
    }
    if is(hunk.lines.first(), Sign::New) {
        starts.extend(place.at.checked_sub(lead));
    }
    starts.into_iter().find(|at| stands(*at))
}

/// Where the lines that a hunk would leave stand, for one whose own lines are nowhere.
pub(super) fn outcome_at(lines: &FileLines<'_>, hunk: &Hunk) -> Option<usize> {
    let new: Vec<&Line> = hunk.new_lines().collect();
    let says_something = hunk.counts().1 > 0 || new.len() > 1;
    if new.is_empty() || !says_something {
        return None;
    }
    places(lines, &new, (false, Match::LineEnds), 0).ok()?.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{parse::parse, section::Section};

    fn hunk(body: &str) -> Hunk {
        let mut patch =
            parse(&format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n")).unwrap();
        let Section { mut hunks, .. } = patch.sections.remove(0);
        hunks.remove(0)
    }

    fn found(text: &str, body: &str) -> Result<(usize, Match), Miss> {
        let place = find(&FileLines::of(text.as_bytes()), &hunk(body), 0)?;
        Ok((place.at, place.by))
    }

    #[test]
    fn context_must_be_in_one_place() {
        assert_eq!(found("a\nb\nc\n", " b\n-c"), Ok((1, Match::Exact)));
        assert_eq!(found("a\r\nb\r\n", "-b"), Ok((1, Match::LineEnds)));
        assert_eq!(found("a\nb\na\n", "-a"), Err(Miss::Several(vec![0, 2])));
        assert_eq!(found("a\n", "-b"), Err(Miss::Nowhere));
        assert_eq!(found("a\nx\n", " a\n-b"), Err(Miss::Nowhere), "no context is dropped");
        assert_eq!(found("a \n", "-a"), Err(Miss::Nowhere), "blanks count");
    }

    #[test]
    fn a_stated_line_decides_only_where_the_text_is_there() {
        let text = "a\nb\na\nb\n";
        assert_eq!(found(text, "@@ -3,1 +3,1 @@\n-a\n+x"), Ok((2, Match::Exact)));
        assert_eq!(found(text, "@@ -2,1 +2,1 @@\n-a\n+x"), Err(Miss::Several(vec![0, 2])));
        assert_eq!(found("a\nb\n", "@@ -9,1 +9,1 @@\n-b"), Ok((1, Match::Exact)));
    }

    #[test]
    fn anchors_narrow_the_place() {
        let text = "def f():\n    x\n\ndef g():\n    x\n\ndef h():\n    x\n";
        assert_eq!(found(text, "@@ def g():\n-    x"), Ok((4, Match::Exact)));
        assert_eq!(found(text, "@@ def g\n-    x"), Ok((4, Match::Exact)));
        assert_eq!(found(text, "@@ def g():\n def g():\n-    x"), Ok((3, Match::Exact)));
        assert_eq!(found(text, "@@ def z():\n-    x"), Err(Miss::NoAnchor("def z():".to_owned())));
        assert!(matches!(found(text, "-    x"), Err(Miss::Several(_))));
        let braces = "fn a() {\n    x\n}\nfn b() {\n    x\n}\n";
        assert_eq!(found(braces, "@@ fn a() {\n-    x"), Ok((1, Match::Exact)));
        let nested = "class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n";
        assert_eq!(found(nested, "@@ class B:\n@@   def f():\n-    x"), Ok((5, Match::Exact)));
        assert_eq!(found(nested, "@@ class A:\n@@   def f():\n-    x"), Ok((2, Match::Exact)));
        assert_eq!(found(nested, "@@ class A:\n@@   def f():\n+    y"), Ok((2, Match::LineEnds)));
        let methods = "class A:\n  def e():\n    x\n  def f():\n    x\nclass B:\n  def f():\n    x\n";
        assert_eq!(found(methods, "@@ class A:\n@@   def f():\n-    x"), Ok((4, Match::Exact)));
        assert_eq!(found("a\nb\nc\n", "@@ a\n@@ b\n-c"), Ok((2, Match::Exact)), "in no block of another");
    }

    #[test]
    fn additions_without_context_stand_after_their_anchor_or_at_the_end() {
        assert_eq!(found("a\nb\nc\n", "@@ b\n+x"), Ok((2, Match::LineEnds)));
        assert_eq!(found("a\nb\n", "+x"), Ok((2, Match::LineEnds)));
        assert_eq!(found("b\nb\n", "@@ b\n+x"), Err(Miss::Anchors("b".to_owned(), vec![0, 1])));
        assert_eq!(found("a\n", "@@ -1,0 +2,1 @@\n+x"), Err(Miss::NoContext));
        assert_eq!(found("", "@@ -0,0 +1,1 @@\n+x"), Ok((0, Match::LineEnds)));
    }

    #[test]
    fn what_was_applied_before_is_noticed() {
        for (text, body, at) in [
            ("1\n1b\n", "-1\n+1\n+1b", Some(0)),
            ("a\nb\n", " a\n+b", Some(0)),
            ("new\na\n", "+new\n a", Some(0)),
            ("a\nx\n", "+x", Some(1)),
            ("a\nb\n", "@@ a\n+b", Some(1)),
            ("a\nc\n", " a\n+b\n c", None),
            ("a\nc\n", " a\n+b", None),
            ("a\n", "-a", None),
        ] {
            let (lines, hunk) = (FileLines::of(text.as_bytes()), hunk(body));
            let place = find(&lines, &hunk, 0).unwrap();
            assert_eq!(applied_at(&lines, &hunk, place), at, "{text:?} {body:?}");
        }
        let lines = FileLines::of(b"a\nb\nc\n");
        assert_eq!(outcome_at(&lines, &hunk(" a\n+b\n c")), Some(0));
        assert_eq!(outcome_at(&lines, &hunk("-x\n+z")), None);
    }

    #[test]
    fn the_end_of_the_file_is_where_it_says() {
        assert_eq!(found("a\nb\na\n", "-a\n*** End of File"), Ok((2, Match::Exact)));
        assert_eq!(found("a\nb\n", "-a\n*** End of File"), Err(Miss::NotAtEnd(vec![0])));
    }
}
