//! Hooks of Claude Code as hooks of haft.

use crate::{
    hooks::{HOOK_TIMEOUT_MAX, HookEvent, Matcher},
    settings::{HookEntry, HookTarget},
};
use serde_json::{Map, Value};
use std::time::Duration;

/// How much of a command or an address is shown.
const SHOWN_MAX_CHARS: usize = 80;

/// What becomes of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookFate {
    /// It is written so.
    Becomes(HookEntry),
    /// It isn't imported, for this reason.
    Lost(String),
}

impl HookFate {
    /// What is written.
    pub fn entry(&self) -> Option<&HookEntry> {
        match self {
            Self::Becomes(entry) => Some(entry),
            Self::Lost(_) => None,
        }
    }
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedHook {
    /// Event, matcher and target, as they were written.
    pub written: String,
    /// What becomes of it.
    pub fate: HookFate,
    /// What differs from before.
    pub notes: Vec<String>,
}

impl ImportedHook {
    /// Whether a guard protects less than before: it is lost, or its failure lets the call go on.
    pub fn is_loud(&self) -> bool {
        self.fate.entry().is_none_or(|entry| entry.event.can_refuse())
    }

    /// All hooks, in the order in which they are written.
    pub(super) fn all(events: &Map<String, Value>) -> Vec<Self> {
        let mut hooks = Vec::new();
        for (event, groups) in events {
            let Some(groups) = groups.as_array() else {
                hooks.push(Self::lost(event.clone(), "it is no list"));
                continue;
            };
            for group in groups {
                let matcher = group.get("matcher").and_then(Value::as_str).map(str::trim);
                let matcher = matcher.filter(|matcher| !matcher.is_empty() && *matcher != "*");
                let shown = matcher.map_or_else(|| event.clone(), |matcher| format!("{event} {matcher}"));
                match group.get("hooks").and_then(Value::as_array) {
                    Some(list) => hooks.extend(list.iter().map(|hook| Self::of(event, matcher, hook))),
                    None => hooks.push(Self::lost(shown, "it has no list of hooks")),
                }
            }
        }
        hooks
    }

    fn lost(written: String, why: &str) -> Self {
        Self { written, fate: HookFate::Lost(why.to_owned()), notes: Vec::new() }
    }

    fn of(event: &str, matcher: Option<&str>, hook: &Value) -> Self {
        let text = |key: &str| hook.get(key).and_then(Value::as_str);
        let kind = text("type").unwrap_or("command");
        let target = text("command").or(text("url")).unwrap_or(kind);
        let first = target.lines().next().unwrap_or_default();
        let shown: String = first.chars().take(SHOWN_MAX_CHARS).collect();
        let cut = if shown.len() < target.len() { "…" } else { "" };
        let matcher_shown = matcher.map(|matcher| format!("{matcher} ")).unwrap_or_default();
        let written = format!("{event} {matcher_shown}{shown}{cut}");
        match entry(event, matcher, hook) {
            Ok((entry, notes)) => Self { written, fate: HookFate::Becomes(entry), notes },
            Err(why) => Self::lost(written, &why),
        }
    }
}

/// The hook as it is written here, and what differs; or why there is none.
fn entry(event: &str, matcher: Option<&str>, hook: &Value) -> Result<(HookEntry, Vec<String>), String> {
    let known = HookEvent::parse(event).ok_or_else(|| format!("haft has no event \"{event}\""))?;
    if let Some(matcher) = matcher {
        Matcher::parse(matcher)?;
    }
    let target = target(hook)?;
    let mut notes = Vec::new();
    let timeout_ms = timeout(hook, &mut notes);
    if hook.get("async").and_then(Value::as_bool) == Some(true) {
        notes.push("it ran in the background there; here it is waited for".to_owned());
    }
    if let Some(condition) = hook.get("if").and_then(Value::as_str) {
        notes.push(format!(
            "its condition \"{condition}\" has no counterpart: it hears every call of its matcher"
        ));
    }
    let mut comment = "Imported from Claude Code.".to_owned();
    if known.can_refuse() {
        let failing = "where it fails (crash, timeout, not found), it goes on without it, as it did there; as a guard \
                       it needs onError = \"deny\"";
        notes.push(failing.to_owned());
        comment.push_str(
            "\nIf it fails, things go on without it: write onError = \"deny\" where it has to guard.",
        );
    }
    if known == HookEvent::PreToolUse {
        notes.push(
            "whether it changes inputs (updatedInput) can't be told from here: if it does, add rewrite = true; without \
             it, a changed input is asked about and not used"
                .to_owned(),
        );
        comment.push_str("\nIf it changes inputs (updatedInput), add: rewrite = true");
    }
    let matcher = matcher.map(str::to_owned);
    Ok((HookEntry { event: known, matcher, target, timeout_ms, comment }, notes))
}

fn target(hook: &Value) -> Result<HookTarget, String> {
    let text = |key: &str| hook.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    match text("type").unwrap_or("command") {
        "command" if hook.get("args").is_some() => {
            Err("its command is a list of arguments: write it as one shell line".to_owned())
        }
        "command" => text("command")
            .map(|line| HookTarget::Command(line.to_owned()))
            .ok_or_else(|| "it has no command".to_owned()),
        "http" => {
            let url = text("url").ok_or_else(|| "it has no url".to_owned())?;
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err("its url is no address of the web".to_owned());
            }
            Ok(HookTarget::Url { url: url.to_owned(), headers: headers(hook)? })
        }
        other => Err(format!("haft has no hooks of the type \"{other}\"")),
    }
}

/// Headers whose whole value is a variable; keys don't belong in a settings file.
fn headers(hook: &Value) -> Result<Vec<(String, String)>, String> {
    let Some(headers) = hook.get("headers").and_then(Value::as_object) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (name, value) in headers {
        let variable = value.as_str().and_then(|value| value.strip_prefix('$'));
        let variable = variable
            .map(|text| text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text))
            .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        let variable = variable.ok_or_else(|| {
            format!("the header {name} isn't one variable: put its whole value into one, and name it there")
        })?;
        found.push((name.clone(), variable.to_owned()));
    }
    Ok(found)
}

/// Seconds there, milliseconds here.
fn timeout(hook: &Value, notes: &mut Vec<String>) -> Option<u64> {
    let seconds = hook.get("timeout").and_then(Value::as_f64)?;
    let Some(asked) = Duration::try_from_secs_f64(seconds).ok().filter(|asked| asked.as_millis() > 0) else {
        notes.push(format!("its timeout {seconds} is none, so the usual one holds"));
        return None;
    };
    if asked > HOOK_TIMEOUT_MAX {
        notes.push(format!("its timeout of {seconds} s is cut to {} s", HOOK_TIMEOUT_MAX.as_secs()));
    }
    u64::try_from(asked.min(HOOK_TIMEOUT_MAX).as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn all(hooks: &Value) -> Vec<ImportedHook> {
        ImportedHook::all(hooks.as_object().unwrap())
    }

    #[test]
    fn commands_and_endpoints_come_over() {
        let hooks = all(&json!({
            "PreToolUse": [
                {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "./a.sh", "timeout": 5}]},
                {"matcher": "*", "hooks": [{"type": "http", "url": "http://h/x", "headers": {"A": "${TOKEN}"}}]},
            ],
            "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        }));
        let entries: Vec<&HookEntry> = hooks.iter().filter_map(|hook| hook.fate.entry()).collect();
        assert_eq!(entries.len(), 3);
        assert_eq!((entries[0].matcher.as_deref(), entries[0].timeout_ms), (Some("Edit|Write"), Some(5_000)));
        assert_eq!(entries[0].target, HookTarget::Command("./a.sh".to_owned()));
        let headers = vec![("A".to_owned(), "TOKEN".to_owned())];
        assert_eq!(entries[1].target, HookTarget::Url { url: "http://h/x".to_owned(), headers });
        assert_eq!(entries[1].matcher, None);
        assert_eq!(entries[2].event, HookEvent::Stop);
        assert_eq!(hooks.iter().map(ImportedHook::is_loud).collect::<Vec<_>>(), [true, true, false]);
        assert!(hooks[0].notes.iter().any(|note| note.contains("onError")));
        assert!(hooks[0].notes.iter().any(|note| note.contains("rewrite = true")));
        assert!(hooks[2].notes.is_empty());
    }

    #[test]
    fn what_cant_come_over_says_why_and_is_loud() {
        let cases = [
            (json!({"Notification": [{"hooks": [{"type": "command", "command": "x"}]}]}), "no event"),
            (json!({"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}), "type \"prompt\""),
            (json!({"PreToolUse": [{"hooks": [{"type": "command"}]}]}), "no command"),
            (json!({"PreToolUse": [{"matcher": "(", "hooks": [{"command": "x"}]}]}), "no usable pattern"),
            (json!({"PreToolUse": [{"matcher": "Bash"}]}), "no list of hooks"),
            (json!({"PreToolUse": {}}), "no list"),
            (
                json!({"Stop": [{"hooks": [{"type": "http", "url": "http://h", "headers": {"A": "Bearer $T"}}]}]}),
                "header A",
            ),
        ];
        for (hooks, says) in cases {
            let imported = all(&hooks);
            let [ImportedHook { fate: HookFate::Lost(why), .. }] = imported.as_slice() else {
                panic!("{imported:?}")
            };
            assert!(why.contains(says) && imported[0].is_loud(), "{why}");
        }
    }

    #[test]
    fn differences_are_named() {
        let hooks = all(&json!({"PostToolUse": [{"hooks": [
            {"type": "command", "command": "x", "async": true, "if": "Bash(git *)", "timeout": 9000},
        ]}]}));
        let notes = hooks[0].notes.join("; ");
        for part in ["background", "Bash(git *)", "cut to 600 s"] {
            assert!(notes.contains(part), "{notes}");
        }
        assert_eq!(hooks[0].fate.entry().unwrap().timeout_ms, Some(600_000));
    }
}
