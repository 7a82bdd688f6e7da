//! Any bytes as a file's text: the characters stand for bytes in their order, and Unicode comes back as it was.
#![no_main]

use haft_tools::fuzzing::coded;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let coded = coded(bytes);
    let mut at = 0;
    for span in &coded.spans {
        assert!(at <= span.start && span.start <= span.end && span.end <= bytes.len(), "{coded:?}");
        at = span.start;
    }
    if let Some(again) = coded.again.filter(|_| coded.is_unicode) {
        assert_eq!(again, bytes);
    }
});
