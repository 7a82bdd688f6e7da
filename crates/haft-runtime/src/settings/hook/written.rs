//! Hooks that a manifest declares as JSON, with the fields and the rules that the settings have. Pure.
//!
//! Each is read by the reader of the settings, by itself: what is wrong with one takes no other down.

use super::read_hooks;
use crate::{
    catalogue::Problem,
    hooks::{Handler, Hook, HookEvent},
    settings::{
        Scope, SettingsSource,
        section::{Document, Limit, Section},
    },
};
use serde_json::Value;
use toml::de::DeTable;

/// How many hooks one manifest can declare.
const HOOKS_MAX: usize = 100;
/// How much of what is wrong with them is told.
const PROBLEMS_MAX: usize = 100;

/// A table of hooks, by event, and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct WrittenHooks<'a> {
    /// What is said of them: `{"PreToolUse": [{"matcher": …, "command": …}]}`.
    pub table: &'a Value,
    /// The file, as it is shown to people.
    pub path: &'a str,
    /// Whose problems they are.
    pub owner: &'a str,
}

/// Reads hooks; `line` gives the line of what stands at a JSON pointer below the table. One that can't be read stays, and
/// never works, since it may be a guard.
pub fn written_hooks(from: &WrittenHooks<'_>, line: &dyn Fn(&str) -> usize) -> (Vec<Hook>, Vec<Problem>) {
    let Value::Object(table) = from.table else {
        let text = "\"hooks\" can't be used: they stand by event".to_owned();
        let fix = "write {\"PreToolUse\": [{\"matcher\": \"bash\", \"command\": \"./guard.sh\"}]}, or a file's name";
        let unread = unread_hooks(format!("{}:{}", from.path, line("")), text.clone());
        return (vec![unread], vec![from.problem(line(""), text, fix.to_owned())]);
    };
    let (mut hooks, mut problems, mut last) = (Vec::new(), Vec::new(), None);
    'all: for (event, written) in table {
        let known = HookEvent::parse(event);
        let items: Vec<Option<&Value>> = match (known, written) {
            (None, _) if problems.len() > PROBLEMS_MAX => Vec::new(),
            // Said once, however many hooks there are for it.
            (None, _) => vec![None],
            (Some(_), Value::Array(items)) => items.iter().map(Some).collect(),
            (Some(_), one) => vec![Some(one)],
        };
        for (index, item) in items.into_iter().enumerate() {
            let at = line(&format!("/{event}/{index}"));
            if hooks.len() >= HOOKS_MAX {
                let text =
                    format!("there are more than {HOOKS_MAX} hooks; from here on they are never heard");
                last = Some(from.problem(at, text, "put several checks into one hook".to_owned()));
                break 'all;
            }
            let (mut read, faults) = read(event, item).unwrap_or_else(|why| {
                let broken = known.map(|event| Hook::new(event, Handler::Broken(why.clone())));
                let fix = "write it with the fields of hooks in the settings".to_owned();
                (broken.into_iter().collect(), vec![from.problem(at, why, fix)])
            });
            for hook in &mut read {
                hook.source = Some(format!("{}:{at}", from.path));
            }
            hooks.append(&mut read);
            let faults = faults.into_iter().take(PROBLEMS_MAX.saturating_add(1));
            problems.extend(faults.map(|fault| from.problem(at, fault.text, fault.fix)));
        }
    }
    if problems.len() > PROBLEMS_MAX {
        problems.truncate(PROBLEMS_MAX);
        let text = "more is wrong with its hooks than is told here".to_owned();
        problems.push(from.problem(line(""), text, "mend these first".to_owned()));
    }
    problems.extend(last);
    (hooks, problems)
}

/// What stands for hooks that can't be read at all, and where that is: any of them may be a guard, over any tool.
pub fn unread_hooks(place: String, why: String) -> Hook {
    Hook { source: Some(place), ..Hook::new(HookEvent::PreToolUse, Handler::Broken(why)) }
}

impl WrittenHooks<'_> {
    fn problem(&self, line: usize, text: String, fix: String) -> Problem {
        Problem::at_line(self.owner, self.path, line, text, fix)
    }
}

/// One declaration as the settings would have it.
///
/// # Errors
/// It can't be written as the settings are.
fn read(event: &str, item: Option<&Value>) -> Result<(Vec<Hook>, Vec<Problem>), String> {
    let written = item.map(toml_of).unwrap_or_default();
    let text = format!("hooks = {{{} = [{written}]}}", Value::from(event));
    let source = SettingsSource::new(Scope::User, "", text);
    let table = DeTable::parse(&source.text)
        .map_err(|error| format!("a hook for {event} can't be read: {}", error.message()))?;
    let document = Document::new(&source, Limit::Free);
    let root = Section::root(&document, table.get_ref());
    let hooks = root.section("hooks").map(|section| read_hooks(&section)).unwrap_or_default();
    Ok((hooks, document.into_problems()))
}

/// JSON as TOML has it, on one line; fields that are null are left out.
fn toml_of(value: &Value) -> String {
    match value {
        // TOML has none; it isn't what belongs there, and neither is this.
        Value::Null => "false".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_of).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> = fields
                .map(|(key, value)| format!("{} = {}", Value::from(key.as_str()), toml_of(value)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::OnError;
    use serde_json::json;
    use std::time::Duration;

    fn read(table: &Value) -> (Vec<Hook>, Vec<String>) {
        let from = WrittenHooks { table, path: "p/extension.json", owner: "extension:p" };
        let (hooks, problems) = written_hooks(&from, &|pointer| pointer.len());
        (hooks, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_hook_in_json_is_what_it_is_in_the_settings() {
        let (hooks, problems) = read(&json!({
            "PreToolUse": [{"matcher": "bash", "command": "sh \"a b\".sh\n", "timeoutMs": 500, "onError": "allow", "name": null}],
            "PostToolUse": {"url": "http://127.0.0.1:9/h", "headers": {"A": "secret:t"}},
        }));
        assert_eq!(problems, Vec::<String>::new());
        let [first, second] = &hooks[..] else { panic!("{hooks:?}") };
        // Events come in an order of their own.
        let (post, pre) =
            if first.event == HookEvent::PostToolUse { (first, second) } else { (second, first) };
        let Handler::Command(line) = &pre.handler else { panic!("{pre:?}") };
        assert_eq!(line, "sh \"a b\".sh\n");
        assert_eq!((pre.timeout, pre.on_error), (Duration::from_millis(500), OnError::Allow));
        assert_eq!(pre.source.as_deref(), Some("p/extension.json:13"));
        assert!(matches!(&post.handler, Handler::Http(endpoint) if endpoint.headers.len() == 1), "{post:?}");
    }

    #[test]
    fn a_guard_that_cant_be_read_stays_and_never_works() {
        for (item, says) in [
            (json!({"matcher": "bash"}), "either a command or a url"),
            (json!({"command": "x", "matcher": "("}), "no usable pattern"),
            (json!({"command": 3}), "must be a string"),
            (json!("x"), "must be a list of tables"),
            (json!(null), "must be a list of tables"),
        ] {
            let (hooks, problems) = read(&json!({"PreToolUse": [item, {"command": "fine"}]}));
            assert!(problems.iter().any(|problem| problem.contains(says)), "{item}: {problems:?}");
            assert!(matches!(hooks[0].handler, Handler::Broken(_)), "{item}: {hooks:?}");
            assert!(matches!(hooks[1].handler, Handler::Command(_)), "{item}: {hooks:?}");
        }
    }

    #[test]
    fn what_is_no_event_is_a_problem_and_what_is_no_table_may_be_a_guard() {
        let (hooks, problems) = read(&json!({"NoSuch": [{"command": "a"}, {"command": "b"}]}));
        assert!(hooks.is_empty());
        assert!(matches!(&problems[..], [one] if one.contains("is not an event")), "{problems:?}");
        let (hooks, problems) = read(&json!(3));
        assert!(problems[0].starts_with("p/extension.json:0"), "{problems:?}");
        assert!(matches!(&hooks[..], [Hook { handler: Handler::Broken(_), .. }]), "{hooks:?}");
    }

    #[test]
    fn there_is_an_end_to_them() {
        let many: Vec<Value> = (0..=HOOKS_MAX).map(|_| json!({"command": "x"})).collect();
        let (hooks, problems) = read(&json!({"Stop": many}));
        assert_eq!((hooks.len(), problems.len()), (HOOKS_MAX, 1));
    }

    #[test]
    fn what_is_told_of_faults_has_an_end_and_every_guard_is_read_all_the_same() {
        let fields = (0..1_000).map(|number| (format!("f{number}"), json!(1)));
        let odd = Value::Object(fields.chain([("command".to_owned(), json!("x"))]).collect());
        let events = (0..1_000).map(|number| (format!("E{number}"), json!([])));
        let table = events.chain([("PreToolUse".to_owned(), json!([odd, {"command": "y"}]))]);
        let (hooks, problems) = read(&Value::Object(table.collect()));
        assert_eq!((hooks.len(), problems.len()), (2, PROBLEMS_MAX + 1));
        assert!(problems.iter().any(|problem| problem.contains("than is told here")), "{problems:?}");
    }
}
