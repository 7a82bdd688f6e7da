//! Where in a text an old piece stands, and what the new one becomes there.
//!
//! Pure and on bytes: the text may hold bytes that are no characters, which nothing typed ever matches. Exact
//! places count first. Only where there is none, and exactly one place differs in nothing but line ends, then
//! trailing blanks, then look-alikes, then accents, then indentation, is that place taken, and the kind is told.

use super::{
    fold::{End, Fold, fold, starts_inside, trim_end},
    indent::{Shift, indent},
};
use crate::text::ends::with_feeds;
use memchr::memmem::Finder;
use std::ops::Range;

/// More places than this aren't told apart.
const PLACES_MAX: usize = 1_000;

/// A replacement to find a place for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The text to find; never empty.
    pub(crate) old: &'a str,
    /// The text to put there.
    pub(crate) new: &'a str,
    /// Whether every exact place counts.
    pub(crate) all: bool,
}

/// In what the text at a place differs from the old text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In nothing.
    Exact,
    /// In its line ends.
    LineEnds,
    /// In blanks at the ends of lines.
    TrailingBlanks,
    /// In quotes or blanks that look alike.
    LookAlikes,
    /// In whether a letter and its accents are one character.
    Accents,
    /// In its indentation.
    Indentation,
}

impl Kind {
    /// The difference in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Exact => "nothing",
            Self::LineEnds => "line ends",
            Self::TrailingBlanks => "blanks at line ends",
            Self::LookAlikes => "quotes or blanks that look alike",
            Self::Accents => "whether accents are characters of their own",
            Self::Indentation => "indentation",
        }
    }
}

/// A place, and what to put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The bytes of the text that are replaced.
    pub(crate) span: Range<usize>,
    /// What replaces them.
    pub(crate) new: String,
    /// How it was found.
    pub(crate) kind: Kind,
}

/// Why there is no one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Miss {
    /// The old text is nowhere.
    Nowhere,
    /// There are several places, by the start of each.
    Several(Kind, Vec<usize>),
    /// The one place has an indentation that the new text can't be carried over to.
    Indentation(usize),
}

/// Finds the places of a replacement: several only where all are wanted. Where the lines of the text end with
/// carriage returns, line feeds that were typed stand for those.
///
/// # Errors
/// A [`Miss`] where there is no place, or more than one.
pub(crate) fn find(text: &[u8], wanted: &Wanted<'_>) -> Result<Vec<Hit>, Miss> {
    match with_feeds(text).filter(|_| !wanted.old.contains('\r')) {
        Some(feeds) => {
            let hits = find_as_it_is(&feeds, wanted)?;
            Ok(hits.into_iter().map(|hit| with_returns(hit, wanted)).collect())
        }
        None => find_as_it_is(text, wanted),
    }
}

/// A hit in a text that had line feeds put in for its carriage returns. New text in which a carriage return was
/// typed is taken as it is.
fn with_returns(hit: Hit, wanted: &Wanted<'_>) -> Hit {
    let is_by_line_end = hit.kind == Kind::Exact && wanted.old.contains('\n');
    let new = if hit.new.contains('\r') { hit.new } else { hit.new.replace('\n', "\r") };
    Hit { span: hit.span, new, kind: if is_by_line_end { Kind::LineEnds } else { hit.kind } }
}

fn find_as_it_is(text: &[u8], wanted: &Wanted<'_>) -> Result<Vec<Hit>, Miss> {
    let finder = Finder::new(wanted.old.as_bytes());
    let starts: Vec<usize> =
        if wanted.all { finder.find_iter(text).collect() } else { places(text, &finder) };
    if starts.len() > 1 && !wanted.all {
        return Err(Miss::Several(Kind::Exact, starts));
    }
    if !starts.is_empty() {
        return Ok(starts.iter().map(|start| exact(text, *start, wanted)).collect());
    }
    for (step, kind) in [
        (Fold::LineEnds, Kind::LineEnds),
        (Fold::TrailingBlanks, Kind::TrailingBlanks),
        (Fold::LookAlikes, Kind::LookAlikes),
        (Fold::Accents, Kind::Accents),
    ] {
        if let Some(hit) = folded(text, wanted, step, kind)? {
            return Ok(vec![hit]);
        }
    }
    indented(text, wanted).map(|hit| vec![hit])
}

/// Every start of the needle, overlapping ones too: a needle that overlaps itself isn't unique.
fn places(text: &[u8], finder: &Finder<'_>) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| finder.find(rest)) {
        starts.push(from + found);
        from += found + 1;
        if starts.len() > PLACES_MAX {
            break;
        }
    }
    starts
}

fn exact(text: &[u8], start: usize, wanted: &Wanted<'_>) -> Hit {
    let mut span = start..start + wanted.old.len();
    let mut kind = Kind::Exact;
    // A line feed typed for a CRLF stands for both of its bytes, also where it comes first.
    let splits_crlf = wanted.old.starts_with('\n') && byte_before(text, start) == Some(b'\r');
    if splits_crlf && !wanted.old.contains('\r') {
        span.start -= 1;
        kind = Kind::LineEnds;
    }
    let new = with_line_ends(text, &span, wanted, wanted.new);
    Hit { span, new, kind }
}

/// The one place that is equal once both sides are folded.
fn folded(text: &[u8], wanted: &Wanted<'_>, step: Fold, kind: Kind) -> Result<Option<Hit>, Miss> {
    let old = fold(wanted.old.as_bytes(), step, End::Open);
    if old.bytes().iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let whole = fold(text, step, End::Closed);
    // Blanks that the old text ends with were dropped as trailing ones, so they must be that in the text too.
    let last_line = wanted.old.rsplit('\n').next().unwrap_or_default().as_bytes();
    let needs_line_end = step >= Fold::TrailingBlanks && trim_end(last_line).len() < last_line.len();
    let length = old.bytes().len();
    let mut starts = places(whole.bytes(), &Finder::new(old.bytes()));
    starts.retain(|start| {
        !needs_line_end || whole.bytes().get(start + length).is_none_or(|byte| *byte == b'\n')
    });
    if step >= Fold::Accents {
        // No part of a letter is replaced without the rest of it.
        starts.retain(|start| {
            let after = whole.bytes().get(start + length..).unwrap_or_default();
            !starts_inside(after) && !starts_inside(old.bytes())
        });
    }
    let start = match starts.as_slice() {
        [] => return Ok(None),
        [start] => *start,
        _ => {
            let starts = starts.iter().map(|start| whole.source(&(*start..*start + 1)).start).collect();
            return Err(Miss::Several(kind, starts));
        }
    };
    let span = whole.source(&(start..start + length));
    let beyond_end =
        start + length == whole.bytes().len() && !text.ends_with(b"\n") && wanted.old.ends_with('\n');
    let new = if beyond_end { without_last_line_end(wanted.new) } else { wanted.new };
    let new = with_line_ends(text, &span, wanted, new);
    Ok(Some(Hit { span, new, kind }))
}

struct TextLine<'a> {
    /// Without line end and the blanks before it.
    content: &'a [u8],
    start: usize,
    /// Where the next line starts.
    next: usize,
}

fn text_lines(text: &[u8]) -> Vec<TextLine<'_>> {
    let mut start = 0;
    let lines = text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let content = match line.strip_suffix(b"\n") {
            Some(ended) => ended.strip_suffix(b"\r").unwrap_or(ended),
            None => line,
        };
        let content = trim_end(content);
        let next = start + line.len();
        let line = TextLine { content, start, next };
        start = next;
        line
    });
    lines.collect()
}

fn unindented(line: &[u8]) -> &[u8] {
    line.get(indent(line).len()..).unwrap_or_default()
}

/// The one run of whole lines that is equal but for indentation.
fn indented(text: &[u8], wanted: &Wanted<'_>) -> Result<Hit, Miss> {
    let old = text_lines(wanted.old.as_bytes());
    let Some(first_full) = old.iter().position(|line| !line.content.is_empty()) else {
        return Err(Miss::Nowhere);
    };
    let lines = text_lines(text);
    let matches = |window: &[TextLine<'_>]| {
        let equal = |(a, b): (&TextLine<'_>, &TextLine<'_>)| unindented(a.content) == unindented(b.content);
        // The first line with content decides most cases.
        window.iter().zip(&old).skip(first_full).all(equal)
            && window.iter().zip(&old).take(first_full).all(equal)
    };
    let found: Vec<&[TextLine<'_>]> =
        lines.windows(old.len()).filter(|window| matches(window)).take(PLACES_MAX).collect();
    let window = match found.as_slice() {
        [] => return Err(Miss::Nowhere),
        [window] => *window,
        _ => {
            let starts = found.iter().filter_map(|window| window.first()).map(|line| line.start).collect();
            return Err(Miss::Several(Kind::Indentation, starts));
        }
    };
    let (Some(first), Some(last)) = (window.first(), window.last()) else {
        return Err(Miss::Nowhere);
    };
    let pairs: Vec<(&[u8], &[u8])> = old
        .iter()
        .zip(window)
        .filter(|(typed, _)| !typed.content.is_empty())
        .map(|(typed, line)| (indent(typed.content), indent(line.content)))
        .collect();
    let ends_line = wanted.old.ends_with('\n');
    let beyond_end = ends_line && last.next == text.len() && !text.ends_with(b"\n");
    let new = if beyond_end { without_last_line_end(wanted.new) } else { wanted.new };
    let carried =
        Shift::learn(&pairs).and_then(|shift| shift.apply(new)).ok_or(Miss::Indentation(first.start))?;
    let end = if ends_line { last.next } else { last.start + last.content.len() };
    let span = first.start..end;
    let new = with_line_ends(text, &span, wanted, &carried);
    Ok(Hit { span, new, kind: Kind::Indentation })
}

/// The new text with the line ends of the span that it replaces, or, where that has none, of the lines
/// around. Text in which a carriage return was typed is taken as it is.
fn with_line_ends(text: &[u8], span: &Range<usize>, wanted: &Wanted<'_>, new: &str) -> String {
    if !new.contains('\n') || new.contains('\r') || wanted.old.contains('\r') {
        return new.to_owned();
    }
    let own: Vec<bool> = memchr::memchr_iter(b'\n', text.get(span.clone()).unwrap_or_default())
        .map(|at| at > 0 && byte_before(text, span.start + at) == Some(b'\r'))
        .collect();
    let around = own.last().copied().unwrap_or_else(|| is_crlf_around(text, span));
    let mut out = String::with_capacity(new.len() + 16);
    for (index, piece) in new.split('\n').enumerate() {
        if index > 0 {
            let is_crlf = own.get(index - 1).copied().unwrap_or(around);
            out.push_str(if is_crlf { "\r\n" } else { "\n" });
        }
        out.push_str(piece);
    }
    out
}

/// Whether the line that holds a span ends with CRLF, or, where it has no end, the line before.
fn is_crlf_around(text: &[u8], span: &Range<usize>) -> bool {
    let after = text.get(span.end..).and_then(|rest| memchr::memchr(b'\n', rest)).map(|at| span.end + at);
    let end = after.or_else(|| text.get(..span.start).and_then(|before| memchr::memrchr(b'\n', before)));
    end.is_some_and(|end| byte_before(text, end) == Some(b'\r'))
}

fn byte_before(text: &[u8], index: usize) -> Option<u8> {
    text.get(index.checked_sub(1)?).copied()
}

fn without_last_line_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted<'a>(old: &'a str, new: &'a str) -> Wanted<'a> {
        Wanted { old, new, all: false }
    }

    fn replace(text: &[u8], wanted: &Wanted<'_>) -> Result<(Vec<u8>, Kind), Miss> {
        let hits = find(text, wanted)?;
        let kind = hits[0].kind;
        let mut out = Vec::new();
        let mut at = 0;
        for hit in hits {
            out.extend_from_slice(&text[at..hit.span.start]);
            out.extend_from_slice(hit.new.as_bytes());
            at = hit.span.end;
        }
        out.extend_from_slice(&text[at..]);
        Ok((out, kind))
    }

    fn check(text: &str, old: &str, new: &str, after: &str, kind: Kind) {
        let (out, found) = replace(text.as_bytes(), &wanted(old, new)).unwrap();
        assert_eq!((String::from_utf8(out).unwrap().as_str(), found), (after, kind), "{old:?} in {text:?}");
    }

    #[test]
    fn case_f01_line_ends_outside_the_span_stay() {
        check("k=1\r\nm=2\nz=3", "m=2", "m=20", "k=1\r\nm=20\nz=3", Kind::Exact);
        // Typed with line feeds, found in CRLF; inserted lines take the line end of the span.
        check("a\r\nb\r\nc", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc", Kind::LineEnds);
        // A span without a line end takes that of its line.
        check("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n", Kind::Exact);
        check("a\nb", "b", "b\nc", "a\nb\nc", Kind::Exact);
        // A line feed typed first stands for both bytes of a CRLF.
        check("a\r\nb\r\nc\r\n", "\nb", "", "a\r\nc\r\n", Kind::LineEnds);
        check("a\r\nb", "\nb", "\nx", "a\r\nx", Kind::LineEnds);
        // Line ends that were typed are meant.
        check("a\r\nb\r\n", "a\r\nb", "a\nb", "a\nb\r\n", Kind::Exact);
        // No line end is made at the end of the file.
        check("a\nz=3", "z=3\n", "z=4\n", "a\nz=4", Kind::LineEnds);
    }

    #[test]
    fn case_f01_carriage_returns_alone_are_line_ends() {
        check("a\rb\rc", "a\nb", "a\nx\nb", "a\rx\rb\rc", Kind::LineEnds);
        check("a\rb\r", "b", "b\nc", "a\rb\rc\r", Kind::Exact);
        check("a\rb\rc\r", "b\n", "", "a\rc\r", Kind::LineEnds);
        check(
            "if a:\r\tgo()\r",
            "if a:\n    go()",
            "if a:\n    stop()",
            "if a:\r\tstop()\r",
            Kind::Indentation,
        );
        // Line ends that were typed are meant.
        check("a\rb\r", "a\rb", "a\nb", "a\nb\r", Kind::Exact);
        check("a\rb\r", "a\nb", "a\r\nb", "a\r\nb\r", Kind::LineEnds);
        // One that stands among others is none.
        assert_eq!(find(b"a\rb\n", &wanted("a\nb", "x")), Err(Miss::Nowhere));
        let all = Wanted { old: "a\nb", new: "x\ny", all: true };
        assert_eq!(replace(b"a\rb\ra\rb", &all).unwrap().0, b"x\ry\rx\ry");
    }

    #[test]
    fn case_f04_blanks_for_tabs_land_with_tabs() {
        check(
            "if a:\n\tif b:\n\t\tgo()\n",
            "        go()",
            "        stop()",
            "if a:\n\tif b:\n\t\tstop()\n",
            Kind::Indentation,
        );
        // Half a tab can't be written.
        let half = wanted("        go()", "      stop()");
        assert_eq!(find(b"if a:\n\t\tgo()\n", &half), Err(Miss::Indentation(6)));
    }

    #[test]
    fn case_f05_new_text_is_verbatim() {
        let new = "a$&b $$ $1 “q” ’ \\n \\\\ %s {0}";
        check("v=@@", "@@", new, &format!("v={new}"), Kind::Exact);
        check("v=‘x’", "'x'", new, &format!("v={new}"), Kind::LookAlikes);
    }

    #[test]
    fn case_f06_only_the_span_changes_or_nothing() {
        let text = b"def f():\n    a  =  1\n    b = 2\n";
        assert_eq!(find(text, &wanted("    a = 1", "    a = 9")), Err(Miss::Nowhere));
    }

    #[test]
    fn tolerance_takes_one_step_after_the_other() {
        check("a  \nb\n", "a\nb", "c\nd", "c\nd\n", Kind::TrailingBlanks);
        check("x = 1\n", "x = 1  \n", "x = 2\n", "x = 2\n", Kind::TrailingBlanks);
        check("say “hi”\n", "say \"hi\"", "say 'ho'", "say 'ho'\n", Kind::LookAlikes);
        check("a\u{a0}b", "a b", "c", "c", Kind::LookAlikes);
        check(
            "  f(\n    x,\n  )\n",
            "f(\n  x,\n)\n",
            "f(\n  y,\n)\n",
            "  f(\n    y,\n  )\n",
            Kind::Indentation,
        );
        // A dropped blank must be a trailing one in the text too.
        assert_eq!(find(b"foobar\n", &wanted("foo ", "x ")), Err(Miss::Nowhere));
    }

    #[test]
    fn letters_and_their_accents_match_however_they_are_written() {
        check("x cafe\u{301} y\n", "caf\u{e9} y", "th\u{e9}", "x th\u{e9}\n", Kind::Accents);
        check("x caf\u{e9} y\n", "cafe\u{301} y", "the\u{301}", "x the\u{301}\n", Kind::Accents);
        check("“e\u{301}”\r\nb", "\"\u{e9}\"\nb", "c\nd", "c\r\nd", Kind::Accents);
        // Never a part of a letter.
        let part = wanted("\u{e9} q", "x");
        assert_eq!(find("e\u{301} q\u{307}".as_bytes(), &part), Err(Miss::Nowhere));
        let twice = "e\u{301}a e\u{301}a";
        let places = Miss::Several(Kind::Accents, vec![0, 5]);
        assert_eq!(find(twice.as_bytes(), &wanted("\u{e9}a", "x")), Err(places));
        // An exact place wins.
        check("e\u{301}a \u{e9}a", "\u{e9}a", "x", "e\u{301}a x", Kind::Exact);
    }

    #[test]
    fn what_is_not_unique_is_refused() {
        assert_eq!(find(b"a b a", &wanted("a", "c")), Err(Miss::Several(Kind::Exact, vec![0, 4])));
        assert_eq!(find(b"aaa", &wanted("aa", "c")), Err(Miss::Several(Kind::Exact, vec![0, 1])));
        let twice = "‘x’ ’x‘";
        assert_eq!(
            find(twice.as_bytes(), &wanted("'x'", "c")),
            Err(Miss::Several(Kind::LookAlikes, vec![0, 8]))
        );
        // An exact place wins over any number of others.
        check("“a” \"a\"", "\"a\"", "b", "“a” b", Kind::Exact);
    }

    #[test]
    fn all_replaces_every_exact_place() {
        let all = Wanted { old: "a", new: "bb", all: true };
        assert_eq!(replace(b"a-a\r\na", &all).unwrap().0, b"bb-bb\r\nbb");
        let all = Wanted { old: "aa", new: "b", all: true };
        assert_eq!(replace(b"aaa", &all).unwrap().0, b"ba");
    }

    #[test]
    fn bytes_that_are_no_characters_never_match_and_stay() {
        let (out, _) = replace(b"x = 1\nprice \xa2 40\n", &wanted("x = 1", "x = 2")).unwrap();
        assert_eq!(out, b"x = 2\nprice \xa2 40\n");
        assert_eq!(find(b"\xff\xfe", &wanted("\u{fffd}", "x")), Err(Miss::Nowhere));
    }

    /// A small generator of its own: the same texts in every run.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % sides
        }

        fn text(&mut self, most: usize) -> String {
            let pieces = ["a", "b", " ", "  ", "\t", "\n", "\r\n", "\r", "“", "\"", "\u{a0}", "é", "x = 1"];
            (0..=self.roll(most)).map(|_| pieces[self.roll(pieces.len())]).collect()
        }
    }

    #[test]
    fn bytes_outside_the_span_never_change() {
        let mut dice = Dice(7);
        let mut hits = 0;
        for _ in 0..20_000 {
            let (text, new) = (dice.text(24), dice.text(4));
            let old = dice.text(5);
            let Ok(found) = find(text.as_bytes(), &wanted(&old, &new)) else {
                continue;
            };
            let [hit] = found.as_slice() else {
                panic!("one place for {old:?} in {text:?}");
            };
            hits += 1;
            assert!(hit.span.start <= hit.span.end && hit.span.end <= text.len());
            // The span begins and ends between characters, and holds what was asked for but for its blanks,
            // quotes and line ends.
            let span = text.get(hit.span.clone()).expect("whole characters");
            let plain = |text: &str| -> String {
                let folded = fold(text.as_bytes(), Fold::LookAlikes, End::Open);
                String::from_utf8_lossy(folded.bytes()).split_whitespace().collect()
            };
            assert_eq!(plain(span), plain(&old), "{old:?} in {text:?}");
            // The new text is there to the letter, but for line ends and indentation.
            let letters = |text: &str| {
                text.chars().filter(|c| !matches!(c, '\r' | '\n' | ' ' | '\t')).collect::<String>()
            };
            assert_eq!(letters(&hit.new), letters(&new));
            if hit.kind == Kind::Exact && !new.contains('\n') {
                assert_eq!(hit.new, new);
            }
        }
        assert!(hits > 500, "{hits} hits");
    }
}
