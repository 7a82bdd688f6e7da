//! What an import comes to, for people and for programs. Pure.

use super::Plan;
use crate::{
    command::permissions::covers,
    terminal::{bad, clean, dim},
};
use haft_runtime::settings::{HookEntry, HookFate, HookTarget, ImportedHook, ImportedRule};
use serde_json::{Value, json};

/// How many things of a plan are marked.
pub(super) fn loud(plan: &Plan) -> usize {
    let rules = plan.imported.rules.iter().filter(|rule| rule.is_loud).count();
    let hooks = plan.imported.hooks.iter().filter(|hook| hook.is_loud()).count();
    rules + hooks + plan.imported.notes.iter().filter(|note| note.is_loud).count()
}

/// One file: each rule as written and as understood, hooks, and what else is to be said.
pub(super) fn plan(plan: &Plan) -> String {
    let mut lines = vec![String::new(), clean(&format!("{} → {}", plan.source.path, plan.file.shown))];
    lines.extend(plan.imported.rules.iter().flat_map(|rule| of_rule(rule, plan)));
    if let Some((written, mode)) = &plan.imported.mode {
        let state =
            if plan.added.new.mode.is_some() { "" } else { " (a mode is set there already, and stays)" };
        lines.push(format!("  {}", clean(&format!("mode   {written} → {mode}{state}"))));
    }
    for folder in &plan.imported.roots {
        let state = if plan.added.new.roots.contains(folder) { "" } else { " (there already)" };
        lines.push(format!("  {}", clean(&format!("folder {folder}{state}"))));
    }
    lines.extend(plan.imported.hooks.iter().flat_map(|hook| of_hook(hook, plan)));
    lines.extend(plan.imported.notes.iter().map(|note| line(&note.text, note.is_loud)));
    lines.join("\n")
}

fn of_rule(rule: &ImportedRule, plan: &Plan) -> Vec<String> {
    let list = rule.action.name();
    let mut lines = Vec::new();
    if rule.becomes.is_empty() {
        lines.push(line(&format!("{list:<6} {} → not imported", rule.written), rule.is_loud));
    }
    for becomes in &rule.becomes {
        let state = if plan.added.new.rules.contains(becomes) { "" } else { " (there already)" };
        lines.push(line(&format!("{list:<6} {} → {}{state}", rule.written, becomes.1), rule.is_loud));
        lines.push(under(&format!("covers {}", covers(&becomes.1))));
    }
    lines.extend(rule.note.iter().map(|note| under(note)));
    lines
}

fn of_hook(hook: &ImportedHook, plan: &Plan) -> Vec<String> {
    let (state, why) = match &hook.fate {
        HookFate::Lost(why) => ("not imported".to_owned(), Some(why)),
        HookFate::Becomes(entry) if plan.added.new.hooks.contains(entry) => (place(entry), None),
        HookFate::Becomes(entry) => (format!("{} (there already)", place(entry)), None),
    };
    let mut lines = vec![line(&format!("hook   {} → {state}", hook.written), hook.is_loud())];
    lines.extend(why.into_iter().chain(&hook.notes).map(|note| under(note)));
    lines
}

fn place(entry: &HookEntry) -> String {
    format!("[[hooks.{}]] with names = \"claude-code\"", entry.event)
}

/// A hook that was written, as a row.
pub(super) fn hook_row(entry: &HookEntry) -> Vec<String> {
    let target = match &entry.target {
        HookTarget::Command(line) => line.lines().next().unwrap_or_default(),
        HookTarget::Url { url, .. } => url.split('?').next().unwrap_or_default(),
    };
    let matcher = entry.matcher.as_deref().unwrap_or("*");
    vec!["hook".to_owned(), format!("{} {matcher}", entry.event), target.to_owned()]
}

fn line(text: &str, is_loud: bool) -> String {
    let text = clean(text).replace('\n', " ");
    if is_loud { format!("{} {}", bad("!"), bad(&text)) } else { format!("  {text}") }
}

fn under(text: &str) -> String {
    format!("         {}", dim(&clean(text).replace('\n', " ")))
}

/// One file as an object.
pub(super) fn object(plan: &Plan) -> Value {
    let imported = &plan.imported;
    let rules: Vec<Value> = imported.rules.iter().map(|rule| rule_object(rule, plan)).collect();
    let hooks: Vec<Value> = imported
        .hooks
        .iter()
        .map(|hook| {
            let (entry, why) = match &hook.fate {
                HookFate::Becomes(entry) => (Some(entry), None),
                HookFate::Lost(why) => (None, Some(why)),
            };
            json!({
                "written": hook.written,
                "imported": entry.is_some(),
                "isNew": entry.is_some_and(|entry| plan.added.new.hooks.contains(entry)),
                "why": why,
                "notes": hook.notes,
                "loud": hook.is_loud(),
            })
        })
        .collect();
    let notes: Vec<Value> =
        imported.notes.iter().map(|note| json!({"text": note.text, "loud": note.is_loud})).collect();
    json!({
        "from": plan.source.path,
        "to": plan.file.shown,
        "scope": plan.source.scope.name(),
        "mode": imported.mode.as_ref().map(|(_, mode)| mode.name()),
        "roots": imported.roots,
        "rules": rules,
        "hooks": hooks,
        "notes": notes,
    })
}

fn rule_object(rule: &ImportedRule, plan: &Plan) -> Value {
    let becomes: Vec<Value> = rule
        .becomes
        .iter()
        .map(|becomes| {
            json!({
                "rule": becomes.1,
                "covers": covers(&becomes.1),
                "isNew": plan.added.new.rules.contains(becomes),
            })
        })
        .collect();
    json!({
        "action": rule.action.name(),
        "written": rule.written,
        "becomes": becomes,
        "note": rule.note,
        "loud": rule.is_loud,
    })
}
