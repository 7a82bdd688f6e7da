//! The diff of any two texts leads from the one to the other, or is refused.
#![no_main]

use haft_tools::fuzzing::patched;
use libfuzzer_sys::fuzz_target;
use similar::TextDiff;

fuzz_target!(|input: (String, String)| {
    let (old, new) = input;
    if !has_plain_ends(&old) || !has_plain_ends(&new) || old == new {
        return;
    }
    let diff = TextDiff::from_lines(&old, &new).unified_diff().header("a/f", "b/f").to_string();
    if let Some(after) = patched(old.as_bytes(), &diff) {
        assert_eq!(String::from_utf8_lossy(&after), new, "{diff}");
    }
});

/// A carriage return alone ends a line for one who makes diffs, and for another it doesn't.
fn has_plain_ends(text: &str) -> bool {
    !text.replace("\r\n", "\n").contains('\r')
}
