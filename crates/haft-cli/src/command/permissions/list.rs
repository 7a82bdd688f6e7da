//! `haft permissions list`: everything that decides, and where it is written.

use crate::{app::App, print, status::Status, terminal::clean};
use haft_policy::Rule;
use haft_runtime::settings::SavedGrant;
use serde_json::json;

/// How much of a hash is shown.
const HASH_SHOWN: usize = 12;

/// Prints mode, rules, grants, refusals, pins and problems.
///
/// # Errors
/// What is listed has no JSON form.
pub(super) fn list(app: &App, json: bool) -> anyhow::Result<Status> {
    let policy = app.policy();
    let trust = app.trust.load();
    // The refusals are rules as well, and have a part of their own.
    let from_trust = |rule: &&Rule| rule.source.as_deref() == Some(trust.path.as_str());
    let rules: Vec<&Rule> = policy.rules.iter().filter(|rule| !from_trust(rule)).collect();
    if json {
        let rules: Vec<_> = rules
            .iter()
            .map(|rule| {
                json!({
                    "action": rule.action.name(),
                    "rule": rule.text,
                    "source": rule.source,
                    "problem": rule.problem(),
                })
            })
            .collect();
        let pins: Vec<_> = trust
            .pins
            .iter()
            .map(|(tool, pin)| json!({"tool": tool, "hash": pin.hash, "pinnedAt": pin.pinned_at}))
            .collect();
        print::json(&json!({
            "mode": policy.mode.name(),
            "modeSource": app.settings.mode.as_ref().map(|mode| mode.origin.to_string()),
            "trusted": trust.trusted,
            "trustFile": trust.path,
            "rules": rules,
            "grants": trust.saved,
            "denied": trust.denied,
            "pins": pins,
            "problems": app.problems,
        }))?;
        return Ok(Status::Completed);
    }
    let from = app.settings.mode.as_ref().map(|mode| format!(" ({})", mode.origin)).unwrap_or_default();
    let trusted = if trust.trusted { "trusted" } else { "not trusted" };
    print::line(&format!("mode {}{from}; workspace {trusted}", policy.mode));
    let rows: Vec<Vec<String>> = rules
        .iter()
        .map(|rule| {
            let source = rule.source.clone().unwrap_or_default();
            vec![rule.action.name().to_owned(), rule.text.clone(), source]
        })
        .collect();
    part("rules (deny beats ask beats allow):", "no rules", &rows);
    let grants: Vec<Vec<String>> = trust.saved.iter().map(bound).collect();
    part("always allowed:", "nothing was always allowed", &grants);
    let denied: Vec<Vec<String>> = trust.denied.iter().map(bound).collect();
    if !denied.is_empty() {
        part("always denied:", "", &denied);
    }
    let pins: Vec<Vec<String>> =
        trust.pins.iter().map(|(tool, pin)| vec![tool.clone(), format!("as {}", short(&pin.hash))]).collect();
    if !pins.is_empty() {
        part("let run as they were then (a change asks again):", "", &pins);
    }
    for problem in &app.problems {
        print::note(&problem.to_string());
    }
    Ok(Status::Completed)
}

/// A saved rule, and the tool it is bound to.
fn bound(saved: &SavedGrant) -> Vec<String> {
    let bound = saved.tool_hash.as_ref().map(|hash| format!("while the tool is {}", short(hash)));
    vec![saved.rule.clone(), bound.unwrap_or_default()]
}

fn short(hash: &str) -> &str {
    hash.get(..HASH_SHOWN).unwrap_or(hash)
}

fn part(title: &str, none: &str, rows: &[Vec<String>]) {
    if rows.is_empty() {
        print::line(none);
        return;
    }
    print::line(title);
    print::line(&format!("  {}", clean(&print::table(rows)).replace('\n', "\n  ")));
}
