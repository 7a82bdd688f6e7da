//! The JSON contract: what a hook's answer means, whoever gave it. Pure.
//!
//! An exit with 0 (or a 2xx) may print one JSON object; 2 refuses, with standard error as the reason; all
//! else is a fault. A deny in JSON holds whatever the exit. Text that doesn't begin with `{` is plain text,
//! unless a call is judged and an answer stands among it: that is a fault, and a deny in it holds.

use super::{HookEvent, kept::shortened};
use haft_policy::Action;
use serde_json::Value;

/// The most that a hook may print.
pub(super) const OUT_MAX_BYTES: usize = 1024 * 1024;
/// How much of its standard error is kept.
pub(super) const ERR_MAX_BYTES: usize = 64 * 1024;
/// The longest reason.
const REASON_MAX_BYTES: usize = 4 * 1024;
/// The longest context for the model.
const CONTEXT_MAX_BYTES: usize = 10 * 1024;
/// Where there is nothing.
static NULL: Value = Value::Null;
/// How much of a bad answer is shown.
const SAMPLE_MAX_BYTES: usize = 120;
/// How many lines of a text are tried for the beginning of an answer.
const TRIES_MAX: usize = 64;
/// What only an answer has.
const ANSWER_KEYS: [&str; 6] =
    ["hookSpecificOutput", "decision", "permissionDecision", "updatedInput", "continue", "systemMessage"];

/// What came back from a hook.
pub(super) struct Raw {
    pub(super) ending: Ending,
    pub(super) out: Vec<u8>,
    /// Whether it printed more than is kept.
    pub(super) is_cut: bool,
    pub(super) err: String,
}

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// With 0, or a 2xx.
    Good,
    /// With 2.
    Refused,
    /// With anything else.
    Bad(String),
    /// It never ran, or couldn't be reached.
    NotStarted(String),
    /// Its time ran out.
    TimedOut,
    /// The call was cancelled meanwhile.
    Cancelled,
}

/// What a hook said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    pub(super) decision: Option<(Action, Option<String>)>,
    pub(super) input: Option<Value>,
    pub(super) output: Option<Value>,
    pub(super) context: Option<String>,
    pub(super) message: Option<String>,
    /// Why the run is to stop.
    pub(super) stop: Option<String>,
}

/// Why a hook said nothing that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    SpawnFailed,
    TimedOut,
    BadJson,
    Failed,
    Cancelled,
}

/// A hook's answer, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// It said this, perhaps nothing.
    Said(Said),
    /// It refused by its exit.
    Refused(String),
    /// It didn't work; the text says how. `true`: its exit refuses all the same.
    Trouble(Trouble, String, bool),
}

impl Raw {
    /// Nothing but an ending.
    pub(super) fn ended(ending: Ending) -> Self {
        Self { ending, out: Vec::new(), is_cut: false, err: String::new() }
    }

    /// What it means.
    pub(super) fn read(self, event: HookEvent) -> Reading {
        let printed = Printed::read(&self.out, self.is_cut, event);
        if let Printed::Said(said) = &printed
            && said.denies()
            && self.ending != Ending::Good
        {
            // What goes with a deny isn't taken from a hook that broke down.
            return Reading::Said(Said { decision: said.decision.clone(), ..Said::default() });
        }
        let err = self.err.trim();
        match self.ending {
            Ending::Good => match printed {
                Printed::Nothing => Reading::Said(Said::default()),
                Printed::Text(text) => {
                    let context = event.takes_text().then_some(text);
                    Reading::Said(Said { context, ..Said::default() })
                }
                Printed::Said(said) => Reading::Said(said),
                Printed::Bad(why) => Reading::Trouble(Trouble::BadJson, why, false),
            },
            Ending::Refused if is_launch_fault(err) => {
                Reading::Trouble(Trouble::SpawnFailed, shortened(err, REASON_MAX_BYTES), true)
            }
            Ending::Refused if err.is_empty() => Reading::Refused("it gave no reason".to_owned()),
            Ending::Refused => Reading::Refused(shortened(err, REASON_MAX_BYTES)),
            Ending::Bad(how) => Reading::Trouble(Trouble::Failed, with(how, err), false),
            Ending::NotStarted(how) => Reading::Trouble(Trouble::SpawnFailed, with(how, err), false),
            Ending::TimedOut => {
                Reading::Trouble(Trouble::TimedOut, with("its time ran out".to_owned(), err), false)
            }
            Ending::Cancelled => {
                Reading::Trouble(Trouble::Cancelled, "the call was cancelled".to_owned(), false)
            }
        }
    }
}

fn with(how: String, err: &str) -> String {
    if err.is_empty() { how } else { format!("{how}: {}", shortened(err, REASON_MAX_BYTES)) }
}

/// Whether an exit with 2 comes from the shell or the interpreter that found no script to run, or couldn't
/// read the line, and not from the hook. It refuses all the same, since a hook might print just that; but
/// under its true name.
fn is_launch_fault(err: &str) -> bool {
    let first = err.lines().next().unwrap_or_default();
    let (program, rest) = first.split_once(": ").unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let is_shell = matches!(program, "sh" | "dash" | "bash" | "ash" | "ksh" | "busybox");
    let is_short = err.lines().count() <= 3;
    let says = |part: &str| rest.to_ascii_lowercase().contains(part);
    is_short
        && ((is_shell && (says("cannot open ") || says("syntax error") || says("unexpected eof")))
            || (program.starts_with("python") && rest.starts_with("can't open file ")))
}

/// What stood on standard output.
enum Printed {
    Nothing,
    Text(String),
    Said(Said),
    Bad(String),
}

impl Printed {
    fn read(out: &[u8], is_cut: bool, event: HookEvent) -> Self {
        let text = String::from_utf8_lossy(out);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Self::Nothing;
        }
        let judges = matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest);
        let among = || if judges { Self::among(text) } else { None };
        let too_long = || Self::Bad(format!("it printed more than {} MiB", OUT_MAX_BYTES / 1024 / 1024));
        if !text.starts_with('{') {
            return match among() {
                Some(found) => found,
                // What was cut off may have been the answer.
                None if is_cut && judges => too_long(),
                None => Self::Text(shortened(text, CONTEXT_MAX_BYTES)),
            };
        }
        if is_cut {
            return too_long();
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Said::of(&value).map_or_else(Self::Bad, Self::Said),
            Err(error) => match among() {
                Some(Self::Said(denied)) => Self::Said(denied),
                _ => Self::Bad(format!("{error}; it begins with {}", shortened(text, SAMPLE_MAX_BYTES))),
            },
        }
    }

    /// Answers that other text stands around: a deny holds; of anything else it can't be told what was meant.
    fn among(text: &str) -> Option<Self> {
        let (mut is_found, mut at, mut read_to, mut tries) = (false, 0, 0, 0);
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if start < read_to || !line.trim_start().starts_with('{') {
                continue;
            }
            tries += 1;
            if tries > TRIES_MAX {
                is_found = true;
                break;
            }
            let rest = text.get(start..).unwrap_or_default();
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            while let Some(Ok(value)) = values.next() {
                read_to = start + values.byte_offset();
                if !ANSWER_KEYS.iter().any(|key| value.get(key).is_some()) {
                    continue;
                }
                is_found = true;
                if let Some(denied) = Said::of(&value).ok().filter(Said::denies) {
                    return Some(Self::Said(Said { decision: denied.decision, ..Said::default() }));
                }
            }
        }
        is_found.then(|| Self::Bad("its answer stands among other text".to_owned()))
    }
}

impl Said {
    /// Leaves of it what is against something, and says whether there was more: an allow, words for the model, another
    /// result.
    pub(super) fn tighten(&mut self) -> bool {
        let allows = matches!(self.decision, Some((Action::Allow, _)));
        if allows {
            self.decision = None;
        }
        let tells = self.context.take().is_some();
        let replaces = self.output.take().is_some();
        allows || tells || replaces
    }

    /// Reads an object that a hook printed.
    ///
    /// # Errors
    /// What breaks the contract; a deny in it holds nevertheless.
    pub(super) fn of(value: &Value) -> Result<Self, String> {
        let specific = match value.get("hookSpecificOutput") {
            None | Some(Value::Null) => &NULL,
            Some(specific) if specific.is_object() => specific,
            Some(_) => {
                let fault = || "hookSpecificOutput must be an object".to_owned();
                return denial(value, &NULL).ok_or_else(fault);
            }
        };
        if let Some(denied) = denial(value, specific) {
            // Whatever else may be wrong with it.
            let rest = Self::rest(value, specific).unwrap_or_default();
            return Ok(Self { input: None, decision: denied.decision, ..rest });
        }
        let decision = decisions(value, specific).into_iter().collect::<Result<Vec<_>, _>>()?;
        let strictest = decision.into_iter().max_by_key(|(action, _)| *action);
        Ok(Self { decision: strictest, ..Self::rest(value, specific)? })
    }

    fn denies(&self) -> bool {
        self.decision.as_ref().is_some_and(|(action, _)| *action == Action::Deny)
    }

    fn rest(value: &Value, specific: &Value) -> Result<Self, String> {
        let answer = specific.get("decision").unwrap_or(&NULL);
        let input = match present(specific, "updatedInput").or_else(|| present(answer, "updatedInput")) {
            None => None,
            Some(input) if input.is_object() => Some(input.clone()),
            Some(_) => return Err("updatedInput must be an object".to_owned()),
        };
        let stop = match present(value, "continue") {
            None | Some(Value::Bool(true)) => None,
            Some(Value::Bool(false)) => {
                Some(text(value, "stopReason")?.unwrap_or_else(|| "it gave no reason".to_owned()))
            }
            Some(_) => return Err("continue must be true or false".to_owned()),
        };
        let output =
            ["updatedToolOutput", "updatedMCPToolOutput"].iter().find_map(|key| present(specific, key));
        let context = match text(specific, "additionalContext")? {
            None => text(value, "additionalContext")?,
            some => some,
        };
        Ok(Self {
            decision: None,
            input,
            output: output.cloned(),
            context: context.map(|context| shortened(&context, CONTEXT_MAX_BYTES)),
            message: text(value, "systemMessage")?.map(|message| shortened(&message, REASON_MAX_BYTES)),
            stop: stop.map(|reason| shortened(&reason, REASON_MAX_BYTES)),
        })
    }
}

type Decision = (Action, Option<String>);

/// A deny, wherever it stands.
fn denial(value: &Value, specific: &Value) -> Option<Said> {
    let all = decisions(value, specific);
    let denied = all.into_iter().flatten().find(|(action, _)| *action == Action::Deny)?;
    Some(Said { decision: Some(denied), ..Said::default() })
}

/// The decisions in each of the places where one may stand.
fn decisions(value: &Value, specific: &Value) -> Vec<Result<Decision, String>> {
    let answer = specific.get("decision").unwrap_or(&NULL);
    let places = [
        (specific, "permissionDecision", "permissionDecisionReason"),
        (answer, "behavior", "message"),
        (value, "decision", "reason"),
    ];
    let mut all = Vec::new();
    for (place, key, reason) in places {
        let Some(word) = present(place, key) else { continue };
        let action = match word.as_str() {
            Some("allow" | "approve") => Action::Allow,
            Some("ask") => Action::Ask,
            Some("deny" | "block") => Action::Deny,
            _ => {
                let word = shortened(&word.to_string(), SAMPLE_MAX_BYTES);
                all.push(Err(format!("{key} must be allow, deny or ask and is {word}")));
                continue;
            }
        };
        // A reason of another kind doesn't take the decision with it.
        let reasons = [(place, reason), (value, "reason")];
        let why = reasons.into_iter().find_map(|(place, key)| present(place, key)?.as_str());
        all.push(Ok((action, why.map(|why| shortened(why, REASON_MAX_BYTES)))));
    }
    all
}

fn present<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|found| !found.is_null())
}

fn text(value: &Value, key: &str) -> Result<Option<String>, String> {
    match present(value, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
        Some(_) => Err(format!("{key} must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(ending: Ending, out: &str, err: &str) -> Reading {
        let raw = Raw { ending, out: out.into(), is_cut: false, err: err.into() };
        raw.read(HookEvent::PreToolUse)
    }

    fn deny(reason: &str) -> Reading {
        Reading::Said(Said { decision: Some((Action::Deny, Some(reason.to_owned()))), ..Said::default() })
    }

    #[test]
    fn a_deny_in_json_holds_whatever_the_exit() {
        let forms = [
            json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}),
            json!({"decision": "block", "reason": "no"}),
            json!({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no"}}}),
            json!({"hookSpecificOutput": {"permissionDecision": "deny"}, "reason": "no"}),
            json!({"decision": "deny", "reason": "no", "continue": "odd", "systemMessage": 7}),
            json!({"decision": "block", "reason": "no", "hookSpecificOutput": 1}),
            json!({"decision": "block", "reason": "no", "hookSpecificOutput": {"permissionDecision": "allow"}}),
        ];
        let endings = [
            Ending::Good,
            Ending::Refused,
            Ending::Bad("exit 1".into()),
            Ending::TimedOut,
            Ending::NotStarted("gone".into()),
        ];
        for form in &forms {
            for ending in &endings {
                assert_eq!(read(ending.clone(), &form.to_string(), "x"), deny("no"), "{form} {ending:?}");
            }
        }
    }

    #[test]
    fn an_allow_counts_only_with_a_good_exit() {
        let allow = json!({"hookSpecificOutput": {"permissionDecision": "allow"}}).to_string();
        let said = Said { decision: Some((Action::Allow, None)), ..Said::default() };
        assert_eq!(read(Ending::Good, &allow, ""), Reading::Said(said));
        assert_eq!(read(Ending::Refused, &allow, "no"), Reading::Refused("no".into()));
        assert!(matches!(
            read(Ending::Bad("1".into()), &allow, ""),
            Reading::Trouble(Trouble::Failed, _, false)
        ));
        let both = json!({"decision": "approve", "hookSpecificOutput": {"permissionDecision": "ask"}});
        let Reading::Said(said) = read(Ending::Good, &both.to_string(), "") else { panic!("{both}") };
        assert_eq!(said.decision.unwrap().0, Action::Ask);
    }

    #[test]
    fn all_of_the_form_is_read() {
        let whole = json!({
            "continue": false, "stopReason": "enough", "systemMessage": "m", "suppressOutput": true,
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "r",
                "updatedInput": {"a": 1}, "additionalContext": "c",
            },
        });
        let expected = Said {
            decision: Some((Action::Ask, Some("r".into()))),
            input: Some(json!({"a": 1})),
            output: None,
            context: Some("c".into()),
            message: Some("m".into()),
            stop: Some("enough".into()),
        };
        assert_eq!(read(Ending::Good, &whole.to_string(), ""), Reading::Said(expected));
        let output = json!({"hookSpecificOutput": {"updatedMCPToolOutput": "new"}});
        assert_eq!(Said::of(&output).unwrap().output, Some(json!("new")));
    }

    #[test]
    fn what_begins_like_json_must_be_json() {
        for out in [
            "{",
            "{\"decision\": \"perhaps\"}",
            "{\"hookSpecificOutput\": 3}",
            "{\"continue\": 1}",
            "{\"hookSpecificOutput\": {\"updatedInput\": \"x\"}}",
            "{} {}",
        ] {
            let read = read(Ending::Good, out, "");
            assert!(matches!(read, Reading::Trouble(Trouble::BadJson, _, false)), "{out} {read:?}");
        }
        for out in ["", " \n", "ok", "[1]", "\"deny\""] {
            assert_eq!(read(Ending::Good, out, ""), Reading::Said(Said::default()), "{out}");
        }
        let cut = Raw { ending: Ending::Good, out: b"{}".to_vec(), is_cut: true, err: String::new() };
        assert!(matches!(cut.read(HookEvent::PreToolUse), Reading::Trouble(Trouble::BadJson, _, _)));
    }

    #[test]
    fn an_answer_among_text_is_no_plain_text() {
        let said = json!({"permissionDecision": "deny", "permissionDecisionReason": "no"});
        let denied = json!({"hookSpecificOutput": said});
        let pretty = serde_json::to_string_pretty(&denied).unwrap();
        for out in [
            format!("checking\n{denied}\n"),
            format!("checking\n  {denied} done"),
            format!("{denied}\ndone"),
            format!("checking\n{pretty}\ndone\n"),
            format!("{{\"level\": \"info\"}}\n{denied}"),
            format!("{{not json\n{denied}"),
            format!("{} {denied}", json!({"decision": "approve"})),
        ] {
            for ending in [Ending::Good, Ending::Bad("exit 1".into())] {
                assert_eq!(read(ending, &out, ""), deny("no"), "{out}");
            }
        }
        let allowed = json!({"hookSpecificOutput": {"permissionDecision": "allow"}});
        let many = "{\n".repeat(TRIES_MAX + 1);
        for after in [allowed.to_string(), json!({"decision": 7}).to_string(), many] {
            let read = read(Ending::Good, &format!("checking\n{after}"), "");
            assert!(matches!(read, Reading::Trouble(Trouble::BadJson, _, false)), "{after} {read:?}");
        }
        for out in ["a\n{\"level\": \"info\"}", "see {decision}", "a\n{x", "a {\"decision\": \"block\"}"] {
            assert_eq!(read(Ending::Good, out, ""), Reading::Said(Said::default()), "{out}");
        }
        let cut = Raw { ending: Ending::Good, out: b"text".to_vec(), is_cut: true, err: String::new() };
        assert!(matches!(cut.read(HookEvent::PreToolUse), Reading::Trouble(Trouble::BadJson, _, _)));
        // Where nothing is judged, text is text.
        let told = Raw { out: format!("a\n{denied}").into(), ..Raw::ended(Ending::Good) };
        assert!(matches!(told.read(HookEvent::SessionStart), Reading::Said(Said { decision: None, .. })));
    }

    #[test]
    fn plain_text_is_context_only_where_it_is_meant() {
        let raw =
            || Raw { ending: Ending::Good, out: b"hello\n".to_vec(), is_cut: false, err: String::new() };
        let said = Said { context: Some("hello".into()), ..Said::default() };
        assert_eq!(raw().read(HookEvent::UserPromptSubmit), Reading::Said(said));
        assert_eq!(raw().read(HookEvent::PostToolUse), Reading::Said(Said::default()));
    }

    #[test]
    fn case_f41_a_script_that_isnt_there_is_no_deliberate_deny() {
        let faults = [
            "sh: 0: cannot open ./nope.sh: No such file",
            "sh: 1: Syntax error: end of file unexpected (expecting \"then\")",
            "sh: 1: .: cannot open ./nope: No such file",
            "/usr/bin/python3: can't open file '/w/nope.py': [Errno 2] No such file or directory",
            "bash: -c: line 1: syntax error near unexpected token `)'\nbash: -c: line 1: `)'",
        ];
        for err in faults {
            let read = read(Ending::Refused, "", err);
            assert!(matches!(read, Reading::Trouble(Trouble::SpawnFailed, _, true)), "{err} {read:?}");
        }
        for err in ["no writes to main", "cannot open the gate", "guard: cannot open x", ""] {
            assert!(matches!(read(Ending::Refused, "", err), Reading::Refused(_)), "{err}");
        }
    }
}
