//! Why nothing was undone, in words that lead on: pure.

use super::{
    diff::Diff,
    plan::{Lost, Now},
    target::{Target, Undone, open},
};
use haft_core::{CallId, ChangedBy, Failure};
use std::fmt::Write;

/// So many calls or files are named.
const NAMED_MAX: usize = 10;

/// There is nothing to be undone.
pub(crate) fn nothing(target: &Target, changes: &[ChangedBy], undone: &Undone) -> Failure {
    let what = match target {
        Target::Last | Target::Session => "There is nothing to undo".to_owned(),
        Target::Call(call) => format!("No change of a file is known of call {call}"),
        Target::Turn(turn) => format!("No change of a file that isn't undone is known of turn {turn}"),
    };
    let open = open(changes, undone);
    let known: Vec<String> =
        open.iter().rev().take(NAMED_MAX).map(|by| format!("{} ({})", by.call, by.tool)).collect();
    let next = if known.is_empty() {
        "no call of this session changed a file by a file tool and isn't undone yet; what commands changed has to be \
         put back by other means, for example from version control"
            .to_owned()
    } else {
        format!("calls that can be undone, the last first: {}", known.join(", "))
    };
    Failure::not_found(format!("{what}: {next}."))
}

/// What would be lost, each with how much it is, where that is known.
pub(crate) fn lost(all: &[(Lost, String, Option<Diff>)]) -> Failure {
    let mut text = "Nothing was undone, since files changed later and that would be lost:".to_owned();
    for (lost, name, diff) in all.iter().take(NAMED_MAX) {
        let what = match (&lost.left, &lost.found) {
            (_, Now::Other(what)) => what.clone(),
            (_, Now::Nothing) => "it was removed".to_owned(),
            (None, Now::File(_)) => "it was made anew".to_owned(),
            (Some(_), Now::File(_)) => "its content changed".to_owned(),
        };
        let much = match diff {
            Some(diff) => format!(" ({diff})"),
            None => String::new(),
        };
        let by = if lost.by.is_empty() {
            "by something that is no file tool here: a command, an editor, another program".to_owned()
        } else {
            format!("by {}", lost.authors())
        };
        let _ = write!(text, "\n{name}: {what}{much}, {by}");
    }
    if all.len() > NAMED_MAX {
        let _ = write!(text, "\nand {} more files", all.len() - NAMED_MAX);
    }
    // The later calls can be undone one by one only if all is by them.
    let last = all.iter().flat_map(|(lost, ..)| &lost.by).map(|(call, _)| call).max();
    let next = match last {
        Some(call) if all.iter().all(|(lost, ..)| !lost.by.is_empty()) => {
            format!("Undo what came later first, the last before the others: call=\"{call}\".")
        }
        _ => "Read these files; then change by edit what should be as before, and keep the rest.".to_owned(),
    };
    let _ = write!(text, "\n{next}");
    Failure::conflict(text)
}

/// The calls are taken back already.
pub(crate) fn taken(what: &str, by: Option<&CallId>) -> Failure {
    let by = by.map(|undo| format!(", by the undo {undo}")).unwrap_or_default();
    Failure::conflict(format!(
        "Nothing was changed now: {what} was taken back already{by}. To take back the last change that still stands, \
         call undo without a call."
    ))
}

/// Another process was faster.
pub(crate) fn taken_meanwhile(what: &str) -> Failure {
    Failure::conflict(format!(
        "Nothing was changed by this undo: {what} was taken back meanwhile, by another process of this session. Call \
         undo again to take back what still stands."
    ))
}

/// The content before isn't kept: of which files, and why, where that is known.
pub(crate) fn gone(files: &[(String, Option<String>)]) -> Failure {
    let named = |(name, why): &(String, Option<String>)| match why {
        Some(why) => format!("{name} ({why})"),
        None => name.clone(),
    };
    let names: Vec<String> = files.iter().map(named).collect();
    let shown: Vec<&str> = names.iter().take(NAMED_MAX).map(String::as_str).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Failure::conflict(format!(
        "Nothing was undone: the content before isn't kept of {}{more}. Contents are kept for 7 days, up to 64 MiB a \
         file and 256 MiB a session. Put it back by other means, for example from version control; or undo another \
         call.",
        shown.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{FileState, FileStep, RealPath};

    fn state() -> FileState {
        FileState { hash: "h".into(), len: 1, mode: None, traits: None }
    }

    fn lost_by(calls: &[u64], found: Now) -> (Lost, String, Option<Diff>) {
        let by = calls.iter().map(|call| (CallId::outer(*call), "edit".into())).collect();
        let path = RealPath::new("/w", "a");
        (Lost { path, left: Some(state()), found, by }, "a".to_owned(), None)
    }

    #[test]
    fn what_would_be_lost_is_named_with_the_next_step() {
        let diff = Diff::of("a", Some(b"1\n"), Some(b"1\n2\n"));
        let mut by_calls = lost_by(&[4, 5], Now::File(state()));
        by_calls.2 = Some(diff);
        assert_eq!(
            lost(std::slice::from_ref(&by_calls)).text,
            "Nothing was undone, since files changed later and that would be lost:\n\
             a: its content changed (+1 −0 lines), by call 4 (edit), call 5 (edit)\n\
             Undo what came later first, the last before the others: call=\"5\"."
        );
        let outside = lost_by(&[], Now::Nothing);
        assert_eq!(
            lost(&[by_calls, outside]).text.lines().skip(2).collect::<Vec<_>>().join("\n"),
            "a: it was removed, by something that is no file tool here: a command, an editor, another program\n\
             Read these files; then change by edit what should be as before, and keep the rest."
        );
    }

    #[test]
    fn nothing_to_undo_names_what_can_be() {
        let step = FileStep {
            path: RealPath::new("/w", "a"),
            before: None,
            after: None,
            seen: None,
            folders: Vec::new(),
            unkept: None,
        };
        let changes =
            [ChangedBy { call: CallId::outer(3), tool: "edit".into(), turn: None, files: vec![step] }];
        let undone = Undone::default();
        let text = nothing(&Target::Call(CallId::outer(9)), &changes, &undone).text;
        assert_eq!(
            text,
            "No change of a file is known of call 9: calls that can be undone, the last first: 3 (edit)."
        );
        assert!(nothing(&Target::Last, &[], &undone).text.contains("version control"));
    }

    #[test]
    fn what_is_not_kept_is_named_and_counted() {
        let names: Vec<(String, Option<String>)> = (0..12).map(|n| (format!("f{n}"), None)).collect();
        let text = gone(&names).text;
        assert!(text.contains("f9 and 2 more.") && !text.contains("f10"), "{text}");
        let text = gone(&[("a".to_owned(), Some("no space".to_owned()))]).text;
        assert!(text.contains("isn't kept of a (no space)."), "{text}");
    }
}
