//! What `glob` says about what it found; pure.

use super::{
    newest::Hit,
    say::{counted, unreadable},
    search::{Found, Hidden},
    tool::LIMIT_MAX,
};
use crate::text::grouped;
use haft_core::Output;
use serde_json::json;

/// Most bytes of paths in one answer, so that the count below them stays true.
const LIST_MAX_BYTES: usize = 48 * 1024;

/// The list, and all that was left out of it.
pub(super) fn answer(pattern: &str, found: Found, hidden: Hidden) -> Output {
    let notes = notes(&found, hidden);
    let total = found.newest.total();
    let incomplete = found.report.error_count > 0;
    let (folder, special, limit) = (found.folder, found.special, found.newest.limit());
    let mut lines = list(found.newest.into_sorted());
    let shown = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    // A larger limit helps only where the limit ended the list.
    let is_raisable = lines.len() == limit && u32::try_from(limit).is_ok_and(|limit| limit < LIMIT_MAX);
    if total == 0 {
        let among = if incomplete { " in what could be read" } else { "" };
        let files = if special > 0 { "regular files" } else { "files" };
        lines.push(format!("No {files} match \"{pattern}\"{among}."));
        if folder {
            lines.push("[a folder has that name; end the pattern with / for what is in it]".to_owned());
        } else if pattern.replace("\\[", "").contains('[') {
            lines.push("[a literal [ needs a backslash before it]".to_owned());
        }
    } else if shown < total {
        let files = counted(total, "file");
        let raise = if is_raisable { "raise limit or " } else { "" };
        lines.push(format!("[{} of {files} shown, newest first; {raise}narrow the pattern]", grouped(shown)));
    }
    lines.extend(notes.into_iter().map(|note| format!("[{note}]")));
    Output::text(lines.join("\n")).with_metadata(json!({
        "files": total,
        "shown": shown,
        "hidden": hidden.count,
    }))
}

fn list(hits: Vec<Hit>) -> Vec<String> {
    let mut bytes = 0;
    hits.into_iter()
        .map(|hit| hit.path)
        .take_while(|path| {
            bytes += path.len() + 1;
            bytes <= LIST_MAX_BYTES
        })
        .collect()
}

fn notes(found: &Found, hidden: Hidden) -> Vec<String> {
    let mut notes = Vec::new();
    match hidden {
        Hidden { count: 0, at_least: false } => {}
        Hidden { count: 0, at_least: true } => {
            notes.push(
                "not all that ignore rules hide was looked at; pass ignored=true to search it".to_owned(),
            );
        }
        Hidden { count, at_least } => {
            let at_least = if at_least { "at least " } else { "" };
            notes.push(format!(
                "{at_least}{} hidden by ignore rules; pass ignored=true",
                counted(count, "path")
            ));
        }
    }
    let mut left_out = Vec::new();
    if found.report.denied > 0 {
        left_out.push(counted(found.report.denied, "denied path"));
    }
    if found.links > 0 {
        left_out.push(counted(found.links, "link"));
    }
    if found.special > 0 {
        left_out.push(counted(found.special, "special file"));
    }
    left_out.extend(unreadable(&found.report));
    if !left_out.is_empty() {
        notes.push(format!("left out: {}", left_out.join(", ")));
    }
    notes
}
