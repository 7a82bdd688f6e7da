//! A text cut to what a model gets, with a notice at the cut.

use super::{SpillStore, scrub::strip_escapes};
use haft_core::{Block, OUTPUT_MAX_LINES, Output, Shape, Spec, Truncation};

/// How much of a result over its persistence quota a model sees.
const PREVIEW_BYTES: usize = 2 * 1024;
/// No tool's own limit is higher.
pub(crate) const BYTES_MAX: usize = 16 << 20;
/// A line that would lose more than this by being left out whole is cut within.
const LINE_LOST_BYTES: usize = 2 * 1024;
/// A tool that keeps the bounds itself may say so in a few more lines and bytes.
const NOTES_MAX_LINES: usize = 16;
const NOTES_MAX_BYTES: usize = 1_024;

/// What bounds one call's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    pub(crate) lines: usize,
    /// Characters above which the whole goes to disk.
    pub(crate) quota: Option<usize>,
}

impl Limits {
    pub(crate) fn of(spec: &Spec) -> Self {
        Self {
            bytes: spec.max_output_bytes.min(BYTES_MAX),
            lines: OUTPUT_MAX_LINES,
            quota: spec.persistence_quota,
        }
    }
}

/// Bounds all text of an output together. What is cut goes to `spill`, unless it came from there.
pub(crate) fn bound<'a>(
    output: &mut Output,
    limits: Limits,
    spill: impl FnOnce() -> Option<(&'a SpillStore, String)>,
) {
    for block in &mut output.content {
        if let Block::Text { text } = block {
            *text = strip_escapes(std::mem::take(text));
        }
    }
    let total: usize = output.content.iter().filter_map(Block::as_text).map(str::len).sum();
    let lines: usize = output.content.iter().filter_map(Block::as_text).map(line_count).sum();
    let over_quota = limits.quota.is_some_and(|quota| {
        output.content.iter().filter_map(Block::as_text).map(|text| text.chars().count()).sum::<usize>()
            > quota
    });
    // What a capture or the tool has bounded may say so in a few more lines and bytes.
    let is_bounded = output.truncation.is_some()
        && total <= limits.bytes + NOTES_MAX_BYTES
        && lines <= limits.lines + NOTES_MAX_LINES;
    if !over_quota && (is_bounded || total <= limits.bytes && lines <= limits.lines) {
        return;
    }
    let text = output.joined_text();
    // What was cut before has its whole on disk already; of that, and of its length, is spoken.
    let before = output.truncation.take();
    let path = match &before {
        Some(Truncation { path: Some(path), .. }) => Some(path.clone()),
        _ => spill()
            .and_then(|(store, call)| store.keep(&call, &text).ok())
            .filter(|kept| kept.not_kept() == 0)
            .map(|kept| kept.path().to_owned()),
    };
    let (bytes, lines) = if over_quota {
        (PREVIEW_BYTES.min(limits.bytes), limits.lines)
    } else {
        (limits.bytes, limits.lines)
    };
    let (short, truncation) = cut(&text, bytes, lines, output.shape, (path, before.as_ref()));
    let mut placed = false;
    output.content.retain_mut(|block| match block {
        Block::Text { text } if !placed => {
            placed = true;
            text.clone_from(&short);
            true
        }
        Block::Text { .. } => false,
        _ => true,
    });
    output.truncation = Some(truncation);
    // As it came it would be as long as before.
    output.foreign = None;
}

/// Cuts a text at line borders (at a character border where one line is too long, so that it is seen in part,
/// however much stands before or after it). `path` is where the whole
/// is, `before` an earlier cut of the same text.
pub(crate) fn cut(
    text: &str,
    max_bytes: usize,
    max_lines: usize,
    shape: Shape,
    (path, before): (Option<String>, Option<&Truncation>),
) -> (String, Truncation) {
    let (head, tail) = match shape {
        Shape::Head => (head_of(text, max_bytes, max_lines), ""),
        Shape::HeadTail => {
            let head = head_of(text, max_bytes / 3, max_lines / 3);
            let rest = text.get(head.len()..).unwrap_or_default();
            (head, tail_of(rest, max_bytes - max_bytes / 3, max_lines - max_lines / 3))
        }
    };
    let total_lines = before.map_or(wide(line_count(text)), |before| before.total_lines);
    let truncation = Truncation {
        shown_bytes: wide(head.len() + tail.len()),
        total_bytes: before.map_or(wide(text.len()), |before| before.total_bytes),
        shown_lines: wide(line_count(head) + line_count(tail)).min(total_lines),
        total_lines,
        path,
    };
    (joined(head, tail, &truncation), truncation)
}

/// Head, notice, tail.
pub(crate) fn joined(head: &str, tail: &str, truncation: &Truncation) -> String {
    let mut text = String::with_capacity(head.len() + tail.len() + 256);
    text.push_str(head);
    if !head.is_empty() && !head.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&notice(truncation));
    if !tail.is_empty() {
        text.push('\n');
        text.push_str(tail);
    }
    text
}

fn notice(truncation: &Truncation) -> String {
    let lines = truncation.total_lines.saturating_sub(truncation.shown_lines);
    let bytes = truncation.total_bytes.saturating_sub(truncation.shown_bytes);
    let count = match lines {
        0 => format!("{bytes} bytes"),
        1 => format!("1 line ({bytes} bytes)"),
        lines => format!("{lines} lines ({bytes} bytes)"),
    };
    match &truncation.path {
        // What a tool didn't read isn't there either, so that "all" is said of the output alone.
        Some(path) => {
            format!("[… {count} left out; all of this output is in {path}, which read and grep can open …]")
        }
        None => format!("[… {count} left out …]"),
    }
}

fn head_of(text: &str, max_bytes: usize, max_lines: usize) -> &str {
    let mut end = floor_border(text, max_bytes);
    let within = text.get(..end).unwrap_or_default();
    if let Some((index, _)) = within.match_indices('\n').nth(max_lines.saturating_sub(1)) {
        end = index + 1;
    } else if end < text.len()
        && let Some(index) = within.rfind('\n')
        && end - (index + 1) <= line_lost(max_bytes)
    {
        end = index + 1;
    }
    text.get(..end).unwrap_or_default()
}

/// How much of a line may be lost so that a cut falls between lines.
fn line_lost(max_bytes: usize) -> usize {
    LINE_LOST_BYTES.min(max_bytes / 2)
}

fn tail_of(text: &str, max_bytes: usize, max_lines: usize) -> &str {
    let mut start = ceil_border(text, text.len().saturating_sub(max_bytes));
    let within = text.get(start..).unwrap_or_default();
    let body = within.strip_suffix('\n').unwrap_or(within);
    if let Some((index, _)) = body.rmatch_indices('\n').nth(max_lines.saturating_sub(1)) {
        start += index + 1;
    } else if start > 0
        && let Some(index) = body.find('\n')
        && index < line_lost(max_bytes)
    {
        start += index + 1;
    }
    text.get(start..).unwrap_or_default()
}

/// The largest character border at most `at`.
pub(crate) fn floor_border(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil_border(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Lines of a text; a last one without its end counts.
pub(crate) fn line_count(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
        + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_counts_what_it_leaves_out() {
        let text: String = (1..=5_000).map(|n| format!("{n}\n")).collect();
        for shape in [Shape::Head, Shape::HeadTail] {
            let (short, truncation) = cut(&text, 50_000, 2_000, shape, (None, None));
            assert_eq!((truncation.shown_lines, truncation.total_lines), (2_000, 5_000));
            assert!(short.starts_with("1\n2\n"));
            assert_eq!(short.contains("\n5000\n"), shape == Shape::HeadTail);
            assert!(short.contains("[… 3000 lines ("), "{shape:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_a_character() {
        let text = "é".repeat(1_000);
        let (short, truncation) = cut(&text, 101, 10, Shape::HeadTail, (Some("/s/1.txt".into()), None));
        assert_eq!(truncation.total_bytes, 2_000);
        assert!(truncation.shown_bytes <= 101 && truncation.shown_bytes > 90);
        assert!(short.contains("/s/1.txt"));
    }

    #[test]
    fn a_very_long_line_is_seen_in_part_whatever_stands_around_it() {
        let text = format!("From there:\n\n{}é\nlast\n", "é".repeat(50_000));
        let (short, truncation) = cut(&text, 10_000, 100, Shape::Head, (None, None));
        assert!(short.starts_with("From there:\n\néé"), "{}", short.len());
        assert!((9_990..=10_000).contains(&truncation.shown_bytes), "{truncation:?}");
        let left_out = truncation.total_bytes - truncation.shown_bytes;
        assert!(short.contains(&format!("[… 1 line ({left_out} bytes)")));
        let (short, truncation) = cut(&text, 10_000, 100, Shape::HeadTail, (None, None));
        assert!(short.starts_with("From there:\n\néé") && short.ends_with("éé\nlast\n"));
        assert!((9_990..=10_000).contains(&truncation.shown_bytes), "{truncation:?}");
        assert_eq!((truncation.shown_lines, truncation.total_lines), (4, 4));
        // Of lines of a usual length none is torn.
        let text = format!("{}\n", "x".repeat(150)).repeat(1_000);
        let (short, _) = cut(&text, 10_000, 1_000, Shape::HeadTail, (None, None));
        assert!(short.lines().all(|line| line.len() == 150 || line.starts_with("[…")), "{short}");
    }

    #[test]
    fn what_fits_is_left_alone() {
        let mut output = Output::text("a\nb");
        bound(&mut output, Limits { bytes: 10, lines: 2, quota: None }, || None);
        assert_eq!(output, Output::text("a\nb"));
        let mut output = Output::text("a\n".repeat(40));
        bound(&mut output, Limits { bytes: 100, lines: 20, quota: None }, || None);
        assert_eq!(output.truncation.as_ref().unwrap().shown_lines, 20);
    }

    #[test]
    fn what_was_cut_before_keeps_its_place_and_its_length() {
        let before = Truncation {
            total_bytes: 5_000_000,
            total_lines: 90_000,
            path: Some("/s/1".into()),
            ..Truncation::default()
        };
        let mut output = Output { truncation: Some(before), ..Output::text("line\n".repeat(2_000)) };
        bound(&mut output, Limits { bytes: 5_000, lines: 2_000, quota: None }, || panic!("spilled again"));
        let after = output.truncation.as_ref().unwrap();
        assert_eq!(
            (after.total_bytes, after.total_lines, after.path.as_deref()),
            (5_000_000, 90_000, Some("/s/1"))
        );
        assert!(output.joined_text().contains("/s/1"));
    }

    #[test]
    fn over_its_quota_only_a_preview_is_shown() {
        let mut output = Output::text("line\n".repeat(2_000));
        bound(&mut output, Limits { bytes: 51_200, lines: 2_000, quota: Some(5_000) }, || None);
        assert!(output.joined_text().len() < 2_300);
        assert_eq!(output.truncation.unwrap().total_bytes, 10_000);
    }
}
