//! How results are told; pure.

use super::{audit::Audit, manager::Manager, outdated::Newer, standing::Standing};
use crate::{glob::counted, text::visible};
use std::fmt::Write as _;

/// So many lines are listed.
const LISTED_MAX: usize = 100;

fn listed(lines: &[String]) -> String {
    let mut text =
        lines.iter().take(LISTED_MAX).map(|line| visible::line(line)).collect::<Vec<_>>().join("\n");
    if let Some(more) = lines.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\n(and {more} more)");
    }
    text
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// A package after it was added.
pub(super) fn added(name: &str, standing: &Standing) -> String {
    let wanted =
        standing.wanted.as_deref().map_or(String::new(), |wanted| format!(", asked for as {wanted}"));
    let has = if standing.has.is_empty() {
        "no version is settled in this folder's lock file".to_owned()
    } else {
        standing.has.join(", ")
    };
    format!("{name}: {has}{wanted}")
}

/// Newer versions.
pub(super) fn outdated(manager: Manager, newer: &[Newer]) -> String {
    if newer.is_empty() {
        return format!("{} says that nothing is outdated.", manager.name());
    }
    let line = |one: &Newer| {
        let allowed = one.allowed.as_ref().filter(|allowed| **allowed != one.newest);
        let allowed = allowed.map_or(String::new(), |allowed| format!(" (the manifest allows {allowed})"));
        format!("{} {} -> {}{allowed}", one.name, one.has, one.newest)
    };
    let lines: Vec<String> = newer.iter().map(line).collect();
    format!("{}:\n{}", counted(number(newer.len()), "outdated package"), listed(&lines))
}

/// Known faults.
pub(super) fn audit(source: &str, audit: &Audit) -> String {
    let among = audit.looked_at.map_or(String::new(), |count| format!(" in {}", counted(count, "package")));
    let mut text = if audit.count == 0 {
        format!("{source} knows of no vulnerability{among}.")
    } else {
        let line = |finding: &super::audit::Finding| {
            let fix = finding.fix.as_ref().map_or("no fix yet".to_owned(), |fix| format!("fixed in {fix}"));
            format!("{}: {} ({fix})", finding.package, finding.what)
        };
        let lines: Vec<String> = audit.findings.iter().map(line).collect();
        let count = match audit.count {
            1 => "1 vulnerability".to_owned(),
            count => format!("{count} vulnerabilities"),
        };
        format!("{source} knows of {count}{among}:\n{}", listed(&lines))
    };
    if audit.skipped > 0 {
        let _ = write!(text, "\n({} couldn't be looked at)", counted(audit.skipped, "package"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::audit::Finding;

    #[test]
    fn results_are_short_and_counted() {
        let standing = Standing { is_listed: true, wanted: Some("^1".into()), has: vec!["1.2".into()] };
        assert_eq!(added("a", &standing), "a: 1.2, asked for as ^1");
        assert!(added("a", &Standing::default()).contains("no version is settled"));
        let one = Newer { name: "a".into(), has: "1".into(), allowed: Some("1".into()), newest: "2".into() };
        let text = outdated(Manager::Npm, &[one]);
        assert_eq!(text, "1 outdated package:\na 1 -> 2 (the manifest allows 1)");
        assert_eq!(outdated(Manager::Npm, &[]), "npm says that nothing is outdated.");
        let clean = Audit { looked_at: Some(2), skipped: 1, ..Audit::default() };
        assert_eq!(
            audit("npm audit", &clean),
            "npm audit knows of no vulnerability in 2 packages.\n(1 package couldn't be looked at)"
        );
        let finding = Finding { package: "a 1".into(), what: "high: T".into(), fix: None };
        let bad = Audit { count: 1, findings: vec![finding], ..Audit::default() };
        assert_eq!(audit("x", &bad), "x knows of 1 vulnerability:\na 1: high: T (no fix yet)");
    }
}
