//! How counts are written in listings.

use crate::text::grouped;
use haft_core::WalkReport;

/// A number with its noun: `1 path`, `3 matches`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    match (number, noun.ends_with("ch") || noun.ends_with("ss")) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{} {noun}es", grouped(number)),
        (_, false) => format!("{} {noun}s", grouped(number)),
    }
}

/// What couldn't be read, with the first reasons.
pub(crate) fn unreadable(report: &WalkReport) -> Option<String> {
    (report.error_count > 0).then(|| {
        let reasons: Vec<&str> = report.errors.iter().take(3).map(String::as_str).collect();
        let more = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        format!("{} unreadable{more}", grouped(report.error_count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_their_nouns() {
        assert_eq!(counted(1, "match"), "1 match");
        assert_eq!(counted(2, "match"), "2 matches");
        assert_eq!(counted(0, "path"), "0 paths");
        assert_eq!(counted(2, "binary file"), "2 binary files");
        assert_eq!(counted(1_204, "process"), "1,204 processes");
    }
}
