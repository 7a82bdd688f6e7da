//! Pages of a document: which are asked for, and how their text is shown.

use super::{page::COLUMNS_MAX, roll::Roll};
use crate::text::grouped;
use haft_core::{PageRange, PdfText};

/// So many pages are shown in one call.
pub(crate) const PAGES_MAX: u32 = 20;

/// Reads `3`, `1-5` and `5-`.
pub(crate) fn parse(text: &str) -> Option<PageRange> {
    let text = text.trim();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: u32 = first.trim().parse().ok().filter(|first| *first > 0)?;
    let last = match last.trim() {
        "" => u32::MAX,
        last => last.parse().ok()?,
    };
    (first <= last).then_some(PageRange { first, last })
}

/// At most [`PAGES_MAX`] of the pages that are asked for, or the first ones.
pub(crate) fn shown(asked: Option<PageRange>) -> PageRange {
    let PageRange { first, last } = asked.unwrap_or(PageRange { first: 1, last: u32::MAX });
    PageRange { first, last: last.min(first.saturating_add(PAGES_MAX - 1)) }
}

/// The text of a document, which goes by `name`; `skip` lines of the first page were shown before.
pub(crate) fn show(name: &str, text: &PdfText, skip: usize, asked: PageRange) -> String {
    let noun = if text.total == 1 { "page" } else { "pages" };
    let total = grouped(u64::from(text.total));
    let mut roll = Roll::default();
    roll.line(&format!("{name} is a PDF with {total} {noun}:"));
    if text.pages.is_empty() {
        roll.line(&format!("There is no page {}; give pages up to \"{}\".", asked.first, text.total));
        return roll.finish();
    }
    let mut next = None;
    let mut has_text = false;
    'pages: for (index, page) in text.pages.iter().enumerate() {
        if roll.is_full() {
            next = Some(format!("read on with pages=\"{}-\"", page.number));
            break;
        }
        roll.line(&format!("── page {} of {total} ──", page.number));
        let content = match &page.text {
            Ok(content) => content.as_str(),
            Err(why) => {
                roll.line(&format!("(its text can't be read: {why})"));
                continue;
            }
        };
        let skip = if index == 0 { skip } else { 0 };
        has_text |= !content.trim().is_empty();
        for (line, words) in tidy(content).enumerate().skip(skip) {
            if roll.is_full() {
                next = Some(format!(
                    "page {} goes on: read on with pages=\"{}-\", offset={}",
                    page.number,
                    page.number,
                    line + 1
                ));
                break 'pages;
            }
            roll.cut_line(words, COLUMNS_MAX);
        }
    }
    if !has_text {
        roll.line("(no text on these pages: they may be scans or drawings)");
    }
    let last = text.pages.last().map_or(0, |page| page.number);
    if next.is_none() && last < text.total {
        let more = grouped(u64::from(text.total - last));
        next = Some(format!("{more} more pages; read on with pages=\"{}-\"", last + 1));
    }
    if let Some(next) = next {
        roll.note(&format!("… {next}"));
    }
    roll.finish()
}

/// The lines of a page: runs of empty ones, which stand for white space on paper, as one.
fn tidy(content: &str) -> impl Iterator<Item = &str> {
    let mut was_empty = true;
    content.trim_end().lines().map(str::trim_end).filter(move |line| {
        let keeps = !(line.is_empty() && was_empty);
        was_empty = line.is_empty();
        keeps
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::PdfPage;

    fn page(number: u32, text: &str) -> PdfPage {
        PdfPage { number, text: Ok(text.to_owned()) }
    }

    #[test]
    fn ranges_of_pages_are_read() {
        for (text, range) in [
            ("3", Some((3, 3))),
            (" 2 - 5 ", Some((2, 5))),
            ("4-", Some((4, u32::MAX))),
            ("0", None),
            ("5-2", None),
            ("all", None),
        ] {
            assert_eq!(parse(text).map(|range| (range.first, range.last)), range, "{text}");
        }
        assert_eq!(shown(parse("4-")), PageRange { first: 4, last: 23 });
        assert_eq!(shown(None), PageRange { first: 1, last: 20 });
    }

    #[test]
    fn pages_are_told_apart_and_what_is_left_is_counted() {
        let text = PdfText { total: 9, pages: vec![page(2, "\n\na\n\n\nb  \n"), page(3, "c")] };
        assert_eq!(
            show("f.pdf", &text, 0, PageRange { first: 2, last: 3 }),
            "f.pdf is a PDF with 9 pages:\n── page 2 of 9 ──\na\n\nb\n── page 3 of 9 ──\nc\n… 6 more pages; read on \
             with pages=\"4-\""
        );
        let scan = PdfText { total: 1, pages: vec![page(1, " ")] };
        assert!(show("f", &scan, 0, PageRange { first: 1, last: 1 }).contains("may be scans"));
        let none = PdfText { total: 1, pages: Vec::new() };
        assert!(show("f", &none, 0, PageRange { first: 4, last: 4 }).contains("There is no page 4"));
    }

    #[test]
    fn a_long_page_is_read_on_by_its_lines() {
        let long: String = (1..=4_000).map(|n| format!("l{n}\n")).collect();
        let text = PdfText { total: 1, pages: vec![page(1, &long)] };
        let shown = show("f", &text, 0, PageRange { first: 1, last: 1 });
        let last = shown.lines().last().unwrap();
        let offset: usize = last.rsplit('=').next().unwrap().parse().unwrap();
        assert!(
            last.starts_with("… page 1 goes on") && shown.contains(&format!("\nl{}\n", offset - 1)),
            "{last}"
        );
        let rest = show("f", &text, offset - 1, PageRange { first: 1, last: 1 });
        assert!(rest.contains(&format!("──\nl{offset}\n")), "{rest}");
    }
}
