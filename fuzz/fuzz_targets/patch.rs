//! Any text as a patch, on any bytes.
#![no_main]

use haft_tools::fuzzing::patched;
use libfuzzer_sys::fuzz_target;

/// Starts that lead deeper into the parser than random text does.
const STARTS: [&str; 4] = [
    "",
    "*** Begin Patch\n*** Update File: f\n",
    "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n",
    "diff --git a/f b/f\n",
];

fuzz_target!(|input: (Vec<u8>, String, u8)| {
    let (before, body, start) = input;
    let start = STARTS[usize::from(start) % STARTS.len()];
    let patch = format!("{start}{body}");
    for patch in [format!("{patch}\n*** End Patch\n"), patch] {
        let after = patched(&before, &patch);
        assert_eq!(after, patched(&before, &patch), "reading a patch has no memory");
    }
});
