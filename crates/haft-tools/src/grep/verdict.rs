//! What `grep` says about its page; pure.

use super::{input::GrepMode, page::Page};
use crate::{
    glob::{Hidden, counted, unreadable},
    text::grouped,
};
use haft_core::WalkReport;

/// The page with its closing lines.
pub(super) fn text(page: &Page, report: &WalkReport, hidden: Hidden) -> String {
    let mut lines = page.lines.clone();
    if page.matches == 0 {
        lines.push(nothing(report, hidden));
    } else {
        lines.push(format!("[{}]", summary(page)));
        if page.unlisted() > 0 {
            let unlisted = counted(page.unlisted(), "further match");
            lines.push(format!("[{unlisted} not listed: at most 1000 a file; narrow the pattern]"));
        }
    }
    lines.extend(left_out(report).map(|left_out| format!("[left out: {left_out}]")));
    if hidden.count > 0 {
        let at_least = if hidden.at_least { "at least " } else { "" };
        lines.push(format!(
            "[{at_least}{} hidden by ignore rules or a leading dot; name file or folder as path to search it, or \
             find it by glob with ignored=true]",
            counted(hidden.count, "file")
        ));
    }
    lines.join("\n")
}

/// How many files were searched for text.
pub(super) fn searched(report: &WalkReport) -> u64 {
    report.files.saturating_sub(report.binary)
}

fn nothing(report: &WalkReport, hidden: Hidden) -> String {
    match (searched(report), report.error_count) {
        (0, _) if hidden.count > 0 && report.files == 0 => {
            "Nothing was searched: all that fits path, glob and type is hidden.".to_owned()
        }
        (0, _) => "Nothing was searched: no text file here fits path, glob and type.".to_owned(),
        (files, 0) => format!("No matches in {} searched.", counted(files, "file")),
        (files, _) => format!("No matches in {} that could be searched.", counted(files, "file")),
    }
}

fn summary(page: &Page) -> String {
    let (matches, files) = (counted(page.matches, "match"), counted(page.files, "file"));
    if page.shown == 0 {
        return format!("nothing past offset={}; there are {matches} in {files}", page.window.offset);
    }
    let shown = match page.window.mode {
        GrepMode::Content => {
            format!("{} in {} shown", counted(page.shown, "match"), counted(page.shown_files, "file"))
        }
        GrepMode::Files => format!("{} shown", counted(page.shown_files, "file")),
        GrepMode::Count if page.shown == page.files => format!("{matches} in {files} shown"),
        GrepMode::Count => format!("{} shown, of {matches} in {files}", counted(page.shown_files, "file")),
    };
    match page.more() {
        0 => shown,
        more => {
            let next = page.window.offset.saturating_add(page.shown);
            format!("{shown}; {} more, go on with offset={next}", grouped(more))
        }
    }
}

fn left_out(report: &WalkReport) -> Option<String> {
    let counts =
        [(report.binary, "binary file"), (report.special, "special file"), (report.denied, "denied path")];
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| counted(*number, noun))
        .collect();
    parts.extend(unreadable(report));
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grep::page::Window;
    use haft_core::{GrepHit, GrepLine, RealPath};

    fn page(offset: u64, limit: u64, numbers: &[u64]) -> Page {
        let mut page = Page::new(Window { mode: GrepMode::Content, context: 0, offset, limit });
        if !numbers.is_empty() {
            let lines = numbers
                .iter()
                .map(|&number| GrepLine { number, text: "x".to_owned(), matched: true, after_gap: false })
                .collect();
            let count = u64::try_from(numbers.len()).unwrap();
            let path = RealPath::new("/w", "a");
            page.add("a", &GrepHit { path, modified: None, count, lines, left_out: 0 });
        }
        page
    }

    #[test]
    fn the_summary_counts_what_is_shown_and_what_is_not() {
        let report = WalkReport { files: 3, ..WalkReport::default() };
        assert_eq!(
            text(&page(0, 9, &[1, 2]), &report, Hidden::default()),
            "a:1:x\na:2:x\n[2 matches in 1 file shown]"
        );
        assert_eq!(
            text(&page(0, 1, &[1, 2]), &report, Hidden::default()),
            "a:1:x\n[1 match in 1 file shown; 1 more, go on with offset=1]"
        );
        assert_eq!(
            text(&page(7, 1, &[1, 2]), &report, Hidden::default()),
            "[nothing past offset=7; there are 2 matches in 1 file]"
        );
    }

    #[test]
    fn no_matches_is_said_only_of_what_was_searched() {
        let mut report = WalkReport { files: 3, ..WalkReport::default() };
        assert_eq!(text(&page(0, 9, &[]), &report, Hidden::default()), "No matches in 3 files searched.");
        report.error_count = 1;
        report.errors = vec!["b: permission denied".to_owned()];
        report.binary = 2;
        assert_eq!(
            text(&page(0, 9, &[]), &report, Hidden::default()),
            "No matches in 1 file that could be searched.\n\
             [left out: 2 binary files, 1 unreadable (b: permission denied)]"
        );
        assert!(
            text(&page(0, 9, &[]), &WalkReport::default(), Hidden::default())
                .starts_with("Nothing was searched")
        );
    }

    #[test]
    fn what_is_hidden_is_told_with_the_way_to_it() {
        let report = WalkReport { files: 3, ..WalkReport::default() };
        let hidden = Hidden { count: 2, at_least: false };
        let said = text(&page(0, 9, &[]), &report, hidden);
        assert!(
            said.starts_with("No matches in 3 files searched.\n[2 files hidden by ignore rules"),
            "{said}"
        );
        let said = text(&page(0, 9, &[]), &WalkReport::default(), Hidden { count: 1, at_least: true });
        assert!(said.starts_with("Nothing was searched: all that fits"), "{said}");
        assert!(said.contains("[at least 1 file hidden") && said.contains("ignored=true"), "{said}");
    }

    #[test]
    fn a_mode_that_is_none_is_refused_with_its_place() {
        let error = serde_json::from_value::<GrepMode>(serde_json::json!("zzz")).unwrap_err();
        assert_eq!(error.to_string(), "/mode must be one of files, content, count, got \"zzz\"");
    }

    #[test]
    fn foreign_names_of_modes_are_understood() {
        for (name, mode) in [
            ("files", GrepMode::Files),
            ("files_with_matches", GrepMode::Files),
            ("content", GrepMode::Content),
        ] {
            assert_eq!(serde_json::from_value::<GrepMode>(serde_json::json!(name)).unwrap(), mode);
        }
    }
}
