//! Any bytes as a file, and any text to be replaced in it.
#![no_main]

use haft_tools::fuzzing::{Edit, edited};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, String, String, bool)| {
    let (before, old, new, all) = input;
    let edit = Edit { old, new, all };
    let done = edited(&before, &edit);
    assert_eq!(done, edited(&before, &edit), "finding a place has no memory");
    if let Some(done) = &done {
        let mut rest = done.after.as_slice();
        let mut at = 0;
        for (span, new) in &done.changes {
            assert!(at <= span.start && span.start <= span.end && span.end <= before.len());
            rest = rest.strip_prefix(&before[at..span.start]).expect("bytes outside the spans stay");
            rest = rest.strip_prefix(new.as_slice()).expect("the new bytes stand in their place");
            at = span.end;
        }
        assert_eq!(rest, &before[at..]);
    }
    check_only_place(&before, &edit, done.map(|done| done.after));
});

/// In plain text, an old text that stands in one place is replaced just there.
fn check_only_place(before: &[u8], edit: &Edit, after: Option<Vec<u8>>) {
    let Ok(text) = std::str::from_utf8(before) else { return };
    let is_plain = !text.starts_with('\u{feff}') && !text.contains('\r') && !edit.new.contains('\n');
    if !is_plain || edit.old.is_empty() || edit.old == edit.new {
        return;
    }
    if let Some(at) = text.find(&edit.old).filter(|at| text.rfind(&edit.old) == Some(*at)) {
        let expected = [&text[..at], &edit.new, &text[at + edit.old.len()..]].concat();
        assert_eq!(after, Some(expected.into_bytes()));
    }
}
