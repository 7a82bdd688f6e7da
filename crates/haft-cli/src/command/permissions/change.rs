//! `haft permissions allow`, `ask`, `deny` and `revoke`.

use super::{RuleArgs, parsed, words};
use crate::{
    app::App, cli::RulePlace, command::settings_file::SettingsFile, print, status::Status, terminal::clean,
    trouble::Trouble,
};
use haft_core::Clock;
use haft_os::SystemClock;
use haft_policy::Action;
use haft_runtime::{
    Resolved,
    settings::{Additions, SavedGrant, Scope},
};
use serde_json::json;

/// Adds a rule: to the trust file, or to the settings that a flag names.
///
/// # Errors
/// The rule is none; the file can't be written.
pub(super) fn add(app: &App, action: Action, args: &RuleArgs, json: bool) -> anyhow::Result<Status> {
    let rule = parsed(app, action, action.name(), &args.rule)?.text;
    match scope(args.place, action) {
        Some(scope) => to_settings(app, action, &rule, (scope, json)),
        None => to_trust(app, action, &rule, json),
    }
}

/// The settings to write to; none for the trust file, which can't hold a rule that asks.
fn scope(place: RulePlace, action: Action) -> Option<Scope> {
    match place {
        RulePlace { user: true, .. } => Some(Scope::User),
        RulePlace { project: true, .. } => Some(Scope::Workspace),
        RulePlace { local: true, .. } => Some(Scope::Local),
        _ if action == Action::Ask => Some(Scope::Local),
        _ => None,
    }
}

fn to_settings(
    app: &App,
    action: Action,
    rule: &str,
    (scope, json): (Scope, bool),
) -> anyhow::Result<Status> {
    let file = SettingsFile::of(app, scope)?;
    let additions = Additions { rules: vec![(action, rule.to_owned())], ..Additions::default() };
    let is_new = !file.add(&additions)?.new.is_empty();
    let waits = action == Action::Allow && scope.is_in_workspace() && !app.place.trusted;
    let covers = words::covers(rule);
    if json {
        print::json(&json!({
            "added": rule,
            "action": action.name(),
            "covers": covers,
            "file": file.shown,
            "isNew": is_new,
            "countsAfterTrust": waits,
        }))?;
        return Ok(Status::Completed);
    }
    let did = if is_new { "written to" } else { "stood there already:" };
    print::line(&clean(&format!("{} {rule}: {did} {}", action.name(), file.shown)));
    print::line(&clean(&format!("  it covers {covers}")));
    print::line("  a haft that is running already reads its settings files when it is started again");
    if waits {
        print::line(
            "  it counts only after `haft trust`: settings of an untrusted workspace can only tighten",
        );
    }
    Ok(Status::Completed)
}

fn to_trust(app: &App, action: Action, rule: &str, json: bool) -> anyhow::Result<Status> {
    let now = SystemClock.now();
    let (verb, warning) = if action == Action::Deny {
        app.trust.add_denial(&SavedGrant::new(rule, None, now))?;
        ("denied", None)
    } else {
        // Bound to what the tool is now, so that a changed tool asks again.
        let tools = app.tools()?;
        let name = rule.split_once('(').map_or(rule, |(name, _)| name).trim();
        let snapshot = tools.catalogue.snapshot();
        let hash = match snapshot.resolve(name) {
            Resolved::Tool(offer, _) => offer.hash.clone(),
            Resolved::Gone(_) | Resolved::Unknown(_) => None,
        };
        let unbound = hash.is_none() && {
            let meant = words::tools_of(app, rule)?;
            meant.iter().any(|tool| snapshot.get(tool).is_some_and(|offer| offer.hash.is_some()))
        };
        app.trust.add_grant(&SavedGrant::new(rule, hash, now))?;
        let text = "it holds for built-in tools only: of others, name each by itself, so that it is bound to what the \
                    tool is now";
        ("allowed", unbound.then_some(text))
    };
    let covers = words::covers(rule);
    if json {
        print::json(&json!({
            "added": rule,
            "action": action.name(),
            "covers": covers,
            "file": app.trust.path(),
            "warning": warning,
        }))?;
        return Ok(Status::Completed);
    }
    print::line(&clean(&format!("always {verb} in this workspace: {rule}")));
    print::line(&clean(&format!("  it covers {covers}")));
    if let Some(warning) = warning {
        print::line(&format!("  {warning}"));
    }
    let weight = if action == Action::Deny {
        "it beats every allow and ask rule"
    } else {
        "it never beats a deny or ask rule"
    };
    print::line(&format!("  {weight}; take it back with: haft permissions revoke RULE"));
    Ok(Status::Completed)
}

/// Takes one saved rule back.
///
/// # Errors
/// It was never saved; the trust file can't be written.
pub(super) fn revoke(app: &App, rule: &str, json: bool) -> anyhow::Result<Status> {
    let rule = rule.trim();
    if !app.trust.remove_grant(rule)? {
        let written = app.settings.rules.iter().find(|known| known.text == rule);
        let source = written.and_then(|known| known.source.clone());
        let what = format!("\"{rule}\" was never always allowed or denied here");
        let fix = match source {
            Some(source) => format!("it is written at {source}: take it out there"),
            None => "run `haft permissions` and name a rule as it is listed".to_owned(),
        };
        return Err(Trouble::usage(what, fix).into());
    }
    if json {
        print::json(&json!({"revoked": rule}))?;
    } else {
        print::line(&clean(&format!("judged anew from now on: {rule}")));
    }
    Ok(Status::Completed)
}

/// Takes all saved rules back; trust and pins stay.
///
/// # Errors
/// The trust file can't be written.
pub(super) fn revoke_all(app: &App, json: bool) -> anyhow::Result<Status> {
    let trust = app.trust.load();
    let mut rules: Vec<String> =
        trust.saved.iter().chain(&trust.denied).map(|saved| saved.rule.clone()).collect();
    rules.dedup();
    let mut revoked = Vec::new();
    for rule in rules {
        if app.trust.remove_grant(&rule)? {
            revoked.push(rule);
        }
    }
    if json {
        print::json(&json!({"revoked": revoked}))?;
        return Ok(Status::Completed);
    }
    for rule in &revoked {
        print::line(&clean(&format!("judged anew from now on: {rule}")));
    }
    if revoked.is_empty() {
        print::line("nothing was always allowed or denied here");
    }
    Ok(Status::Completed)
}
