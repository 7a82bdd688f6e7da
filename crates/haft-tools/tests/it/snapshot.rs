//! Texts that stand in files of their own, so that each change of one shows in review.

use similar::TextDiff;
use std::{env, fs, path::Path};

/// Set to anything, it has the files written anew.
const RENEW: &str = "HAFT_RENEW";

/// Compares a text with the one that was reviewed.
pub(crate) fn check(name: &str, test: &str, now: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name);
    if env::var_os(RENEW).is_some() {
        fs::write(&file, now).unwrap();
    }
    let reviewed = fs::read_to_string(&file).unwrap_or_default();
    if reviewed != now {
        let diff = TextDiff::from_lines(reviewed.as_str(), now);
        let diff = diff.unified_diff().header("reviewed", "now").to_string();
        let file = file.display();
        panic!("{diff}\nIf this is meant, {RENEW}=1 cargo test -p haft-tools {test} writes {file}");
    }
}
