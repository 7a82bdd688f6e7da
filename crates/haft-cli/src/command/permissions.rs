//! `haft permissions`: what may run, where that is written, and what was always allowed.

use crate::{
    app::App,
    cli::{PermissionsArgs, PermissionsCommand},
    print,
    status::Status,
    trouble::Trouble,
};
use haft_core::Clock;
use haft_os::SystemClock;
use haft_policy::{Action, Rule, RuleOrigin};
use haft_runtime::{Resolved, settings::SavedGrant};
use serde_json::json;

/// Lists, adds or revokes.
///
/// # Errors
/// The rule is none, or the trust file can't be written.
pub(super) fn permissions(app: &App, args: &PermissionsArgs) -> anyhow::Result<Status> {
    match args.command.as_ref().unwrap_or(&PermissionsCommand::List) {
        PermissionsCommand::List => list(app, args.json),
        PermissionsCommand::Add { rule } => add(app, rule, args.json),
        PermissionsCommand::Revoke { rule } => revoke(app, rule, args.json),
    }
}

fn list(app: &App, json: bool) -> anyhow::Result<Status> {
    let policy = app.policy();
    let trust = app.trust.load();
    if json {
        let rules: Vec<_> = policy
            .rules
            .iter()
            .map(|rule| json!({"action": action(rule), "rule": rule.text, "source": rule.source, "problem": rule.problem()}))
            .collect();
        print::json(&json!({
            "mode": policy.mode.name(),
            "modeSource": app.settings.mode.as_ref().map(|mode| mode.origin.to_string()),
            "trusted": trust.trusted,
            "rules": rules,
            "grants": trust.saved,
            "problems": app.problems,
        }))?;
        return Ok(Status::Completed);
    }
    let from = app.settings.mode.as_ref().map(|mode| format!(" ({})", mode.origin)).unwrap_or_default();
    print::line(&format!(
        "mode {}{from}; workspace {}",
        policy.mode,
        if trust.trusted { "trusted" } else { "not trusted" }
    ));
    let rules: Vec<Vec<String>> = policy
        .rules
        .iter()
        .map(|rule| vec![action(rule).to_owned(), rule.text.clone(), rule.source.clone().unwrap_or_default()])
        .collect();
    print::line(if rules.is_empty() { "no rules" } else { "rules (deny beats ask beats allow):" });
    section(&rules);
    let grants: Vec<Vec<String>> = trust
        .saved
        .iter()
        .map(|grant| {
            let bound = grant
                .tool_hash
                .as_ref()
                .map(|hash| format!("while the tool is {}", hash.get(..12).unwrap_or(hash)));
            vec![grant.rule.clone(), bound.unwrap_or_default()]
        })
        .collect();
    print::line(if grants.is_empty() { "nothing was always allowed" } else { "always allowed:" });
    section(&grants);
    for problem in &app.problems {
        print::note(&problem.to_string());
    }
    Ok(Status::Completed)
}

fn section(rows: &[Vec<String>]) {
    if !rows.is_empty() {
        print::line(&format!("  {}", print::table(rows).replace('\n', "\n  ")));
    }
}

fn action(rule: &Rule) -> &'static str {
    match rule.action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}

fn add(app: &App, rule: &str, json: bool) -> anyhow::Result<Status> {
    let at = RuleOrigin {
        source: None,
        workspace: app.place.workspace.clone(),
        home: app.place.home.clone(),
        folder: app.place.workspace.clone(),
    };
    Rule::parse(Action::Allow, rule, &at).map_err(|error| {
        Trouble::usage(error.to_string(), "write it as in: haft permissions add 'bash(cargo test *)'")
    })?;
    let rule = rule.trim();
    // Bound to what the tool is now, so that a changed tool asks again.
    let tools = app.tools()?;
    let name = rule.split_once('(').map_or(rule, |(name, _)| name).trim();
    let hash = match tools.catalogue.snapshot().resolve(name) {
        Resolved::Tool(offer, _) => offer.hash.clone(),
        Resolved::Gone(_) | Resolved::Unknown(_) => None,
    };
    app.trust.add_grant(&SavedGrant::new(rule, hash, SystemClock.now()))?;
    if json {
        print::json(&json!({"added": rule, "file": app.trust.path()}))?;
    } else {
        print::line(&format!("always allowed in this workspace: {rule}"));
        print::line("  it never beats a deny or ask rule; take it back with: haft permissions revoke RULE");
    }
    Ok(Status::Completed)
}

fn revoke(app: &App, rule: &str, json: bool) -> anyhow::Result<Status> {
    if !app.trust.remove_grant(rule.trim())? {
        let what = format!("\"{rule}\" was never always allowed here");
        return Err(Trouble::usage(what, "run `haft permissions` and name a rule as it is listed").into());
    }
    if json {
        print::json(&json!({"revoked": rule.trim()}))?;
    } else {
        print::line(&format!("asked again from now on: {}", rule.trim()));
    }
    Ok(Status::Completed)
}
