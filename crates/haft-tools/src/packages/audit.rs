//! What a manager, or a program beside it, says of known vulnerabilities; pure.
//!
//! An answer counts only with its own proof that packages were looked at: a summary, a count, a list. A refusal by a
//! registry can have the form of an answer, and comes with exit code 0 from some.

use super::manager::Manager;
use serde_json::Value;

/// One known fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) package: String,
    pub(super) what: String,
    pub(super) fix: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Audit {
    /// How many packages were looked at, where that is told.
    pub(super) looked_at: Option<u64>,
    /// How many couldn't be.
    pub(super) skipped: u64,
    /// How many faults there are, by the summary: there may be more than are listed.
    pub(super) count: u64,
    pub(super) findings: Vec<Finding>,
}

/// The program that answers, where it is another one than the manager.
pub(super) fn helper(manager: Manager) -> Option<(&'static str, &'static str)> {
    match manager {
        Manager::Cargo => Some(("cargo-audit", "cargo install cargo-audit")),
        Manager::Pip => Some(("pip-audit", "pipx install pip-audit")),
        Manager::Go => Some(("govulncheck", "go install golang.org/x/vuln/cmd/govulncheck@latest")),
        Manager::Npm | Manager::Pnpm | Manager::Yarn | Manager::Uv => None,
    }
}

/// Reads an answer; none where it proves nothing.
pub(super) fn audit(manager: Manager, out: &str) -> Option<Audit> {
    match manager {
        Manager::Npm => npm(&serde_json::from_str(out).ok()?),
        Manager::Pnpm => pnpm(&serde_json::from_str(out).ok()?),
        Manager::Yarn => yarn(out),
        Manager::Cargo => cargo(&serde_json::from_str(out).ok()?),
        Manager::Pip => pip(&serde_json::from_str(out).ok()?),
        Manager::Go => go(out),
        Manager::Uv => None,
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// The sum of `{"low": 1, "high": 2, …}`, each of which has to be a number.
fn sum(counts: &Value) -> Option<u64> {
    let counts = counts.as_object().filter(|counts| !counts.is_empty())?;
    counts.iter().filter(|(level, _)| *level != "total").map(|(_, count)| count.as_u64()).sum()
}

fn npm(value: &Value) -> Option<Audit> {
    let metadata = value.get("metadata")?;
    let count = sum(metadata.get("vulnerabilities")?)?;
    let packages = value.get("vulnerabilities")?.as_object()?;
    let finding = |(name, entry): (&String, &Value)| {
        let titles = entry.get("via").and_then(Value::as_array).into_iter().flatten();
        let titles: Vec<String> = titles
            .filter_map(|via| {
                text(via, "title").or_else(|| via.as_str().map(|name| format!("through {name}")))
            })
            .collect();
        let range = text(entry, "range").unwrap_or_default();
        let severity = text(entry, "severity").unwrap_or_default();
        let fix = match entry.get("fixAvailable") {
            Some(Value::Bool(true)) => Some("npm has a fix".to_owned()),
            Some(fix @ Value::Object(_)) => Some(format!("{} {}", text(fix, "name")?, text(fix, "version")?)),
            _ => None,
        };
        Some(Finding {
            package: format!("{name} {range}"),
            what: format!("{severity}: {}", titles.join("; ")),
            fix,
        })
    };
    let looked_at = metadata.get("dependencies").and_then(|counts| counts.get("total")?.as_u64());
    let findings = packages.iter().filter_map(finding).collect();
    Some(Audit { looked_at, skipped: 0, count, findings })
}

fn advisory(entry: &Value) -> Option<Finding> {
    Some(Finding {
        package: text(entry, "module_name")?,
        what: format!("{}: {}", text(entry, "severity").unwrap_or_default(), text(entry, "title")?),
        fix: text(entry, "patched_versions").filter(|fix| fix != "<0.0.0"),
    })
}

fn pnpm(value: &Value) -> Option<Audit> {
    let metadata = value.get("metadata")?;
    let count = sum(metadata.get("vulnerabilities")?)?;
    let findings = value.get("advisories")?.as_object()?.values().filter_map(advisory).collect();
    let looked_at = metadata.get("totalDependencies").or_else(|| metadata.get("dependencies"));
    Some(Audit { looked_at: looked_at.and_then(Value::as_u64), skipped: 0, count, findings })
}

fn yarn(out: &str) -> Option<Audit> {
    let lines: Option<Vec<Value>> = out.lines().map(|line| serde_json::from_str(line).ok()).collect();
    let lines = lines?;
    let of = |kind: &'static str| {
        let is_kind = move |line: &&Value| line.get("type").and_then(Value::as_str) == Some(kind);
        lines.iter().filter(is_kind).filter_map(|line| line.get("data"))
    };
    let summary = of("auditSummary").next()?;
    let count = sum(summary.get("vulnerabilities")?)?;
    let findings = of("auditAdvisory").filter_map(|data| advisory(data.get("advisory")?)).collect();
    let looked_at = summary.get("totalDependencies").and_then(Value::as_u64);
    Some(Audit { looked_at, skipped: 0, count, findings })
}

fn cargo(value: &Value) -> Option<Audit> {
    let looked_at = value.get("lockfile")?.get("dependency-count")?.as_u64()?;
    let vulnerabilities = value.get("vulnerabilities")?;
    let count = vulnerabilities.get("count")?.as_u64()?;
    let finding = |entry: &Value| {
        let (advisory, package) = (entry.get("advisory")?, entry.get("package")?);
        let patched = entry.get("versions").and_then(|versions| versions.get("patched")?.as_array());
        let patched: Vec<&str> = patched.into_iter().flatten().filter_map(Value::as_str).collect();
        Some(Finding {
            package: format!("{} {}", text(package, "name")?, text(package, "version")?),
            what: format!("{}: {}", text(advisory, "id")?, text(advisory, "title")?),
            fix: Some(patched.join(", ")).filter(|fix| !fix.is_empty()),
        })
    };
    let findings = vulnerabilities.get("list")?.as_array()?.iter().filter_map(finding).collect();
    Some(Audit { looked_at: Some(looked_at), skipped: 0, count, findings })
}

fn pip(value: &Value) -> Option<Audit> {
    let packages = value.get("dependencies")?.as_array().filter(|packages| !packages.is_empty())?;
    let mut audit = Audit::default();
    let mut looked_at = 0;
    for package in packages {
        let Some(faults) = package.get("vulns").and_then(Value::as_array) else {
            audit.skipped += 1;
            continue;
        };
        looked_at += 1;
        let name = text(package, "name")?;
        let version = text(package, "version").unwrap_or_default();
        for fault in faults {
            let fixes = fault.get("fix_versions").and_then(Value::as_array).into_iter().flatten();
            let fixes: Vec<&str> = fixes.filter_map(Value::as_str).collect();
            audit.count += 1;
            audit.findings.push(Finding {
                package: format!("{name} {version}"),
                what: text(fault, "id")?,
                fix: Some(fixes.join(", ")).filter(|fix| !fix.is_empty()),
            });
        }
    }
    audit.looked_at = Some(looked_at);
    Some(audit)
}

/// Objects one after the other; `config` comes first, `SBOM` tells the modules, `finding` a fault in one.
fn go(out: &str) -> Option<Audit> {
    let messages: Result<Vec<Value>, _> =
        serde_json::Deserializer::from_str(out).into_iter::<Value>().collect();
    let messages = messages.ok()?;
    let modules = messages.iter().find_map(|message| message.get("SBOM")?.get("modules")?.as_array())?;
    let mut findings: Vec<Finding> = Vec::new();
    for finding in messages.iter().filter_map(|message| message.get("finding")) {
        let first = finding.get("trace").and_then(|trace| trace.get(0));
        let module = first.and_then(|first| text(first, "module")).unwrap_or_default();
        let version = first.and_then(|first| text(first, "version")).unwrap_or_default();
        let one = Finding {
            package: format!("{module} {version}"),
            what: text(finding, "osv")?,
            fix: text(finding, "fixed_version"),
        };
        if !findings.contains(&one) {
            findings.push(one);
        }
    }
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Some(Audit {
        looked_at: Some(number(modules.len())),
        skipped: 0,
        count: number(findings.len()),
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Manager; 6] =
        [Manager::Npm, Manager::Pnpm, Manager::Yarn, Manager::Cargo, Manager::Pip, Manager::Go];

    #[test]
    fn what_proves_nothing_is_no_answer() {
        let refusals = [
            "",
            "{}",
            "[]",
            "<html>",
            r#"{"message": "405 Method Not Allowed", "statusCode": 405, "error": {"summary": ""}}"#,
            r#"{"error": {"code": "ENOLOCK", "summary": "requires an existing lockfile"}}"#,
            r#"{"error": {"code": "ERR_PNPM_AUDIT_BAD_RESPONSE", "message": "405"}}"#,
            r#"{"metadata": {"vulnerabilities": {}}, "vulnerabilities": {}, "advisories": {}}"#,
            r#"{"metadata": {"vulnerabilities": {"high": "?"}}, "vulnerabilities": {}, "advisories": {}}"#,
            r#"{"type":"info","data":"Visit …"}"#,
            r#"{"vulnerabilities": {"found": false, "count": 0, "list": []}}"#,
            r#"{"dependencies": [], "fixes": []}"#,
        ];
        for manager in ALL {
            for out in refusals {
                assert_eq!(audit(manager, out), None, "{manager:?}: {out}");
            }
        }
    }

    #[test]
    fn npm_is_read() {
        let out = r#"{"auditReportVersion": 2, "vulnerabilities": {"minimist": {"severity": "critical", "range": "<0.2.4",
            "via": [{"title": "Prototype Pollution"}, "mkdirp"], "fixAvailable": {"name": "mkdirp", "version": "1.0.4"}}},
            "metadata": {"vulnerabilities": {"low": 0, "critical": 1, "total": 1}, "dependencies": {"total": 7}}}"#;
        let found = audit(Manager::Npm, out).unwrap();
        assert_eq!((found.looked_at, found.count), (Some(7), 1));
        let finding = &found.findings[0];
        assert_eq!(finding.package, "minimist <0.2.4");
        assert_eq!(finding.what, "critical: Prototype Pollution; through mkdirp");
        assert_eq!(finding.fix.as_deref(), Some("mkdirp 1.0.4"));
    }

    #[test]
    fn the_others_are_read() {
        let pnpm = r#"{"advisories": {"1": {"module_name": "a", "severity": "high", "title": "T", "patched_versions": ">=2"}},
            "metadata": {"vulnerabilities": {"high": 1}, "totalDependencies": 3}}"#;
        let found = audit(Manager::Pnpm, pnpm).unwrap();
        assert_eq!((found.looked_at, found.count, found.findings[0].what.as_str()), (Some(3), 1, "high: T"));
        let yarn = "{\"type\":\"auditAdvisory\",\"data\":{\"advisory\":{\"module_name\":\"a\",\"title\":\"T\"}}}\n\
            {\"type\":\"auditSummary\",\"data\":{\"vulnerabilities\":{\"high\":1},\"totalDependencies\":3}}";
        assert_eq!(audit(Manager::Yarn, yarn).unwrap().findings.len(), 1);
        let cargo = r#"{"lockfile": {"dependency-count": 12}, "vulnerabilities": {"found": true, "count": 1, "list": [
            {"advisory": {"id": "RUSTSEC-1", "title": "T"}, "package": {"name": "a", "version": "1"},
             "versions": {"patched": [">=1.1"]}}]}}"#;
        let found = audit(Manager::Cargo, cargo).unwrap();
        assert_eq!((found.looked_at, found.findings[0].fix.as_deref()), (Some(12), Some(">=1.1")));
        let pip = r#"{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]},
            {"name": "b", "skip_reason": "not found"}], "fixes": []}"#;
        let found = audit(Manager::Pip, pip).unwrap();
        assert_eq!((found.looked_at, found.skipped, found.count), (Some(1), 1, 1));
        let go = "{\"config\": {}}\n{\"SBOM\": {\"modules\": [{\"path\": \"m\"}]}}\n{\"finding\": {\"osv\": \"GO-1\", \
            \"fixed_version\": \"v2\", \"trace\": [{\"module\": \"h.x/y\", \"version\": \"v1\"}]}}";
        assert_eq!(audit(Manager::Go, go).unwrap().findings[0].package, "h.x/y v1");
        let clean = r#"{"vulnerabilities": {}, "metadata": {"vulnerabilities": {"low": 0, "total": 0}}}"#;
        assert_eq!(audit(Manager::Npm, clean).unwrap().count, 0);
    }
}
