//! `[hooks]`: programs and endpoints that hear of calls.
//!
//! Counts only where the text may loosen: a hook runs a program. What can't be read of a declaration doesn't
//! take the hook away, which may be a guard: it stays, and never works.

mod fitting;
mod written;

use super::{
    Origin,
    section::{CREDENTIAL_FIX, Section},
};
use crate::hooks::{Endpoint, HOOK_TIMEOUT_MAX, Handler, Hook, HookEvent, Matcher, Names, OnError};
use haft_core::Credential;
use std::time::Duration;

pub use written::{WrittenHooks, unread_hooks, written_hooks};

const KEYS: [&str; 9] =
    ["name", "matcher", "command", "url", "headers", "timeoutMs", "rewrite", "onError", "names"];

/// Reads all hooks of one text, in the order in which events and hooks are written.
pub(super) fn read_hooks(section: &Section<'_>) -> Vec<Hook> {
    let mut hooks = Vec::new();
    for (key, _) in section.keys() {
        match HookEvent::parse(key) {
            None => {
                let known = HookEvent::ALL.map(HookEvent::name);
                let text = format!("\"{}\" is not an event: its hooks are never heard", section.full(key));
                section.document.problem(section.line(key), text, super::instead(&known, key));
            }
            Some(event) if section.counts(key) => {
                for (origin, table) in section.tables(key) {
                    hooks.push(match table {
                        Some(table) => read_hook(event, &table, &origin),
                        None => unreadable(event, &origin, "it is no table".to_owned()),
                    });
                }
            }
            Some(_) => {}
        }
    }
    hooks
}

fn unreadable(event: HookEvent, origin: &Origin, why: String) -> Hook {
    Hook { source: Some(origin.to_string()), ..Hook::new(event, Handler::Broken(why)) }
}

fn read_hook(event: HookEvent, section: &Section<'_>, origin: &Origin) -> Hook {
    section.only(&KEYS);
    let names = section.word::<Names>("names");
    let on_error = section.word::<OnError>("onError");
    let matcher = section.text("matcher");
    let rewrite = section.flag("rewrite");
    let timeout = section.number("timeoutMs");
    let own_name = section.text("name");
    let mut faults = Faults { section, origin, first: None };
    for (key, is_read) in [
        ("names", names.is_some()),
        ("onError", on_error.is_some()),
        ("matcher", matcher.is_some()),
        ("rewrite", rewrite.is_some()),
        ("timeoutMs", timeout.is_some()),
        ("name", own_name.is_some()),
    ] {
        faults.unless(is_read || !has(section, key), key);
    }
    let names = names.map_or(Names::Haft, |set| set.value);
    let handler = read_handler(section, &mut faults);
    if let Some(set) = &matcher
        && let Some((text, fix)) = fitting::misfit(event, &set.value)
    {
        section.document.problem(set.origin.line, text, fix);
    }
    let matcher = matcher.map_or_else(
        || Ok(Matcher::all()),
        |set| Matcher::parse(&set.value).map_err(|why| faults.found(set.origin.line, why, MATCHER_FIX)),
    );
    let on_error = on_error.filter(|set| {
        let helps = event.can_refuse() || set.value == OnError::Allow;
        if !helps {
            let text = format!("onError = \"deny\" can't hold for {event}: nothing is left to be refused");
            section.document.problem(set.origin.line, text, "remove it");
        }
        helps
    });
    let may_rewrite = rewrite.as_ref().is_some_and(|set| set.value);
    if let Some(set) = rewrite.filter(|set| set.value && event != HookEvent::PreToolUse) {
        let text = format!("rewrite can't hold for {event}");
        section.document.problem(set.origin.line, text, "only a PreToolUse hook changes an input; remove it");
    }
    let mut hook = Hook::new(event, handler);
    if let Some(set) = own_name {
        hook.name = set.value;
    }
    hook.matcher = matcher.unwrap_or_else(|()| Matcher::all());
    hook.rewrite = may_rewrite && event == HookEvent::PreToolUse;
    hook.names = names;
    hook.on_error = on_error.map_or_else(|| OnError::default_of(event, names), |set| set.value);
    hook.source = Some(origin.to_string());
    if let Some(set) = timeout {
        let asked = Duration::from_millis(set.value);
        if asked > HOOK_TIMEOUT_MAX {
            let text = format!("a hook may take {} ms at most", HOOK_TIMEOUT_MAX.as_millis());
            let fix = "write a smaller timeoutMs; until then the most holds";
            section.document.problem(set.origin.line, text, fix);
        }
        hook.timeout = asked.min(HOOK_TIMEOUT_MAX);
    }
    if let Some(why) = faults.first {
        hook.handler = Handler::Broken(why);
    }
    hook
}

const MATCHER_FIX: &str = "write a tool's name, names with | between them, or a regular expression";

/// What keeps a declaration from being used; the first is what its calls are told.
struct Faults<'s, 'd> {
    section: &'s Section<'d>,
    origin: &'s Origin,
    first: Option<String>,
}

impl Faults<'_, '_> {
    /// A key that can't be read; the problem is reported already.
    fn unless(&mut self, holds: bool, key: &str) {
        if !holds {
            self.first.get_or_insert_with(|| format!("its \"{key}\" can't be read"));
        }
    }

    fn found(&mut self, line: usize, why: String, fix: &str) {
        self.section.document.problem(line, why.clone(), fix);
        self.first.get_or_insert(why);
    }
}

fn read_handler(section: &Section<'_>, faults: &mut Faults<'_, '_>) -> Handler {
    let line = faults.origin.line;
    match (section.text("command"), section.text("url")) {
        (Some(command), None) if !has(section, "url") && !command.value.trim().is_empty() => {
            Handler::Command(command.value)
        }
        (None, Some(url)) if !has(section, "command") => {
            if !url.value.starts_with("http://") && !url.value.starts_with("https://") {
                let fix = "write an address that begins with http:// or https://";
                faults.found(url.origin.line, format!("\"{}\" is no address", url.value), fix);
            }
            Handler::Http(Endpoint { url: url.value, headers: read_headers(section, faults) })
        }
        _ => {
            let why = "a hook needs either a command or a url".to_owned();
            faults.found(line, why.clone(), "write command = \"…\", or url = \"http://…\"");
            Handler::Broken(why)
        }
    }
}

/// Names, each with where its value is. What is written there may be the value itself, and is never repeated.
fn read_headers(section: &Section<'_>, faults: &mut Faults<'_, '_>) -> Vec<(String, Credential)> {
    let table = section.section("headers");
    faults.unless(table.is_some() || !has(section, "headers"), "headers");
    let Some(table) = table else { return Vec::new() };
    let mut headers = Vec::new();
    for (name, _) in table.keys() {
        let Some(written) = table.text(name) else {
            faults.unless(false, "headers");
            continue;
        };
        match Credential::parse_or_variable(&written.value) {
            Ok(credential) => headers.push((name.to_owned(), credential)),
            Err(error) => {
                let why = format!("the value of its header {name} can't be used: {error}");
                faults.found(written.origin.line, why, CREDENTIAL_FIX);
            }
        }
    }
    headers
}

fn has(section: &Section<'_>, key: &str) -> bool {
    section.keys().any(|(known, _)| known == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{
        Scope, SettingsSource,
        section::{Document, Limit},
    };
    use toml::de::DeTable;

    /// The hooks of a text, and what is wrong with it as `line text`.
    fn read(limit: Limit, text: &str) -> (Vec<Hook>, Vec<String>) {
        let source = SettingsSource::new(Scope::User, "c.toml", text);
        let table = DeTable::parse(&source.text).unwrap();
        let document = Document::new(&source, limit);
        let root = Section::root(&document, table.get_ref());
        let hooks = root.section("hooks").map(|section| read_hooks(&section)).unwrap_or_default();
        let problems = document.into_problems();
        let listed =
            problems.iter().map(|it| format!("{} {}", it.line.unwrap_or_default(), it.text)).collect();
        (hooks, listed)
    }

    #[test]
    fn a_whole_declaration_is_read_with_its_place() {
        let text = "[[hooks.PreToolUse]]\nmatcher = 'bash'\ncommand = './check.sh'\ntimeoutMs = 500\nrewrite = true\n\
                    onError = 'allow'\nnames = 'claude-code'\nname = 'check'\n\
                    [[hooks.PreToolUse]]\nurl = 'http://127.0.0.1:9/h?k=1'\nheaders = { Authorization = 'TOKEN', A = 'secret:t' }\n\
                    [[hooks.PostToolUse]]\ncommand = 'fmt'\n";
        let (hooks, problems) = read(Limit::Free, text);
        assert_eq!(problems, Vec::<String>::new());
        let places: Vec<_> = hooks.iter().map(|hook| hook.source.as_deref().unwrap()).collect();
        let mut sorted = places.clone();
        sorted.sort_by_key(|place| place.rsplit(':').next().unwrap().parse::<usize>().unwrap());
        assert_eq!(sorted, ["c.toml:1", "c.toml:9", "c.toml:12"]);
        let at = |place: &str| hooks.iter().find(|hook| hook.source.as_deref() == Some(place)).unwrap();
        let first = at("c.toml:1");
        assert_eq!((first.name.as_str(), first.rewrite, first.names), ("check", true, Names::ClaudeCode));
        assert_eq!((first.timeout, first.on_error), (Duration::from_millis(500), OnError::Allow));
        let second = at("c.toml:9");
        assert_eq!((second.name.as_str(), second.on_error), ("http://127.0.0.1:9/h", OnError::Deny));
        let Handler::Http(endpoint) = &second.handler else { panic!("{second:?}") };
        let mut headers: Vec<String> =
            endpoint.headers.iter().map(|(name, credential)| format!("{name} {credential}")).collect();
        headers.sort();
        assert_eq!(headers, ["A secret:t", "Authorization env:TOKEN"]);
        assert_eq!(at("c.toml:12").on_error, OnError::Allow);
    }

    #[test]
    fn an_unreadable_guard_stays_and_never_works() {
        let cases = [
            ("matcher = '('\ncommand = 'x'", "no usable pattern"),
            ("matcher = 3\ncommand = 'x'", "must be a string"),
            ("command = ''", "either a command or a url"),
            ("matcher = 'bash'", "either a command or a url"),
            ("command = 'x'\nurl = 'http://h'", "either a command or a url"),
            ("url = 'ftp://h'", "is no address"),
            ("command = 'x'\ntimeoutMs = 0", "above 0"),
            ("command = 'x'\nonError = 'maybe'", "unknown variant"),
            ("url = 'http://h'\nheaders = { A = 1 }", "must be a string"),
            ("url = 'http://h'\nheaders = { A = 'Bearer hunter2' }", "never be the value itself"),
        ];
        for (body, says) in cases {
            let (hooks, problems) = read(Limit::Free, &format!("[[hooks.PreToolUse]]\n{body}\n"));
            assert!(problems.iter().any(|problem| problem.contains(says)), "{body}: {problems:?}");
            assert!(matches!(&hooks[..], [Hook { handler: Handler::Broken(_), .. }]), "{body}: {hooks:?}");
            assert!(!format!("{hooks:?} {problems:?}").contains("hunter2"), "{problems:?}");
            assert_eq!(hooks[0].on_error, OnError::Deny, "{body}");
        }
        let (hooks, problems) = read(Limit::Free, "hooks.PreToolUse = 'x'");
        assert!(matches!(&hooks[..], [Hook { handler: Handler::Broken(_), .. }]), "{hooks:?}");
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn what_doesnt_matter_for_the_guard_is_only_a_problem() {
        let cases = [
            ("[[hooks.PreTool]]\ncommand = 'x'", "1 \"hooks.PreTool\" is not an event", 0),
            ("[[hooks.PreToolUse]]\ncommand = 'x'\nmatchr = 'a'", "3 \"hooks.PreToolUse.matchr\"", 1),
            ("[[hooks.PostToolUse]]\ncommand = 'x'\nonError = 'deny'", "3 onError = \"deny\" can't hold", 1),
            ("[[hooks.PostToolUse]]\ncommand = 'x'\nrewrite = true", "3 rewrite can't hold", 1),
            ("[[hooks.Stop]]\ncommand = 'x'\ntimeoutMs = 9_000_000", "3 a hook may take 600000 ms", 1),
            (
                "[[hooks.PreToolUse]]\ncommand = 'x'\nmatcher = 'edit, read'",
                "3 the matcher \"edit, read\"",
                1,
            ),
            ("[[hooks.PreToolUse]]\ncommand = 'x'\nmatcher = 'Reed'", "3 no built-in tool is called", 1),
        ];
        for (text, says, count) in cases {
            let (hooks, problems) = read(Limit::Free, text);
            assert!(problems.iter().any(|problem| problem.starts_with(says)), "{text}: {problems:?}");
            let usable = hooks.iter().filter(|hook| matches!(hook.handler, Handler::Command(_))).count();
            assert_eq!(usable, count, "{text}");
        }
    }

    #[test]
    fn an_untrusted_workspace_brings_no_hook() {
        let (hooks, problems) = read(Limit::Untrusted, "[[hooks.PreToolUse]]\ncommand = 'x'");
        assert!(hooks.is_empty());
        assert!(problems[0].contains("isn't trusted"), "{problems:?}");
    }

    #[test]
    fn a_single_table_is_a_list_of_one() {
        let (hooks, problems) = read(Limit::Free, "[hooks.pre_tool_use]\ncommand = 'x'");
        assert_eq!((hooks.len(), problems.len()), (1, 0));
        assert_eq!(hooks[0].event, HookEvent::PreToolUse);
    }
}
