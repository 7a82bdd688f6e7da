//! Hooks on the call path: what they refuse, change and add, with real programs.

use crate::kit::{log_of, only, path_in, probe, request, session_of};
use haft_core::{AnyTool, Approver, BoxFuture, Ended, Failure, Outcome, Touch};
use haft_policy::{Action, Mode, Policy, Rule, RuleOrigin};
use haft_runtime::{
    LogEntry, Session, SessionSetup,
    hooks::{Handler, Hook, HookEvent, HookHandler, Hooks, Matcher, OnError},
    read_log,
};
use haft_test::{Answers, Harness};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

fn hook(event: HookEvent, line: &str) -> Hook {
    Hook { source: Some("c.toml:7".to_owned()), ..Hook::new(event, Handler::Command(line.to_owned())) }
}

fn before(line: &str) -> Hook {
    hook(HookEvent::PreToolUse, line)
}

fn says(specific: &Value) -> String {
    format!("echo '{}'", json!({"hookSpecificOutput": specific}))
}

fn rewrites(input: &Value) -> Hook {
    Hook { rewrite: true, ..before(&says(&json!({"updatedInput": input}))) }
}

fn decides(word: &str) -> Hook {
    before(&says(&json!({"permissionDecision": word})))
}

/// A tool that writes its path into `ran`, and says it.
fn note(asks: bool) -> Arc<dyn AnyTool> {
    let tool = probe("note").with(|spec| {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false,
        });
        spec.with_input_schema(schema)
    });
    let tool = if asks { tool.asks() } else { tool };
    tool.touches(|input| only(Touch::Write(path_in(input))))
        .run(|input, _| async move { Ok(format!("noted {}", path_in(&input).0)) })
}

/// A session with these hooks and one rule.
fn session(kit: &Harness, hooks: Vec<Hook>, rule: Option<(Action, &str)>) -> Arc<Session> {
    let workspace = kit.world().files.workspace();
    let folder = workspace.absolute();
    let at = RuleOrigin { workspace: folder.clone(), folder, ..RuleOrigin::default() };
    let mut policy = Policy::new(Mode::Default, workspace);
    policy.rules.extend(rule.map(|(action, text)| Rule::parse(action, text, &at).unwrap()));
    session_of(kit, "hooked", |setup| SessionSetup {
        hooks: Arc::new(Hooks::new(kit.world().clone(), hooks)),
        policy,
        approver: Arc::new(kit.answers().clone()) as Arc<dyn Approver>,
        ..setup
    })
}

/// Looks into the log of the session.
struct Reads {
    state: Arc<haft_os::OsState>,
    found: Mutex<Vec<LogEntry>>,
}

impl HookHandler for Reads {
    fn handle(&self, _: Value) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(async move {
            let (lines, _) = read_log(&*self.state, "hooked")?;
            *self.found.lock().unwrap() = lines.into_iter().map(|line| line.entry).collect();
            Ok(Value::Null)
        })
    }
}

#[tokio::test]
async fn a_hook_begins_for_a_call_that_is_in_the_log() {
    let kit = Harness::new();
    kit.register(note(false));
    let reads = Arc::new(Reads { state: Arc::clone(kit.state()), found: Mutex::default() });
    let handler = Handler::Rust(Arc::clone(&reads) as Arc<dyn HookHandler>);
    let session = session(&kit, vec![Hook::new(HookEvent::PreToolUse, handler)], None);
    assert!(call(&kit, &session).await.outcome.is_completed());
    let found = reads.found.lock().unwrap();
    assert!(matches!(found.last(), Some(LogEntry::Requested { .. })), "{found:?}");
}

async fn call(kit: &Harness, session: &Arc<Session>) -> Ended {
    kit.executor().submit(session, request("note", &json!({"path": "a.txt"}))).await
}

fn gate(ended: &Ended) -> &str {
    match &ended.outcome {
        Outcome::Denied { why, .. } => &why.gate,
        other => other.name(),
    }
}

fn verdicts(ended: &Ended) -> Vec<&str> {
    let hooks = ended.trace.iter().filter(|step| step.step.starts_with("hook:"));
    hooks.map(|step| step.verdict.as_ref()).collect()
}

#[tokio::test]
async fn a_refusal_by_exit_or_by_json_denies_with_its_reason() {
    let kit = Harness::new();
    kit.register(note(false));
    let json = says(&json!({"permissionDecision": "deny", "permissionDecisionReason": "frozen"}));
    for line in ["echo frozen >&2; exit 2", &json, &format!("{json}; exit 1")] {
        let ended = call(&kit, &session(&kit, vec![before(line)], None)).await;
        assert_eq!(gate(&ended), "hook", "{line}");
        assert!(ended.output.joined_text().contains("frozen"), "{}", ended.output.joined_text());
    }
}

#[tokio::test]
async fn case_f41_a_hook_that_doesnt_work_refuses_or_warns_as_declared_and_is_in_the_log() {
    let kit = Harness::new();
    kit.register(note(false));
    for (line, outcome) in [("./nope.sh", "spawn-failed"), ("exit 1", "failed"), ("echo '{'", "bad-json")] {
        for (on_error, end) in [(OnError::Deny, "hook"), (OnError::Allow, "completed")] {
            let session = session(&kit, vec![Hook { on_error, ..before(line) }], None);
            let ended = call(&kit, &session).await;
            assert_eq!((gate(&ended), verdicts(&ended)), (end, vec![outcome]), "{line} {on_error:?}");
            let logged = log_of(&kit, "hooked").into_iter().any(|entry| {
                matches!(&entry, LogEntry::Ended { call, trace, .. } if *call == ended.call
                    && trace.iter().any(|step| step.verdict == outcome))
            });
            assert!(logged, "{line} {on_error:?}");
        }
    }
}

#[tokio::test]
async fn a_rewritten_input_runs_after_it_was_validated_and_judged_again() {
    let kit = Harness::new();
    kit.register(note(false));
    let rule = Some((Action::Deny, "edit(secret/**)"));
    let cases = [
        (json!({"path": "b.txt"}), "completed"),
        (json!({"path": "secret/k"}), "deny"),
        (json!({"path": 7}), "invalid"),
        (json!({"other": "b.txt"}), "invalid"),
    ];
    for (input, end) in cases {
        let ended = call(&kit, &session(&kit, vec![rewrites(&input)], rule)).await;
        assert_eq!((gate(&ended), verdicts(&ended)), (end, vec!["rewrote"]), "{input}");
    }
    let ended = call(&kit, &session(&kit, vec![rewrites(&json!({"path": "b.txt"}))], None)).await;
    assert_eq!(ended.output.joined_text(), "noted b.txt");
}

#[tokio::test]
async fn an_input_that_a_hook_spoilt_is_not_blamed_on_the_model() {
    let kit = Harness::new();
    kit.register(note(false));
    let spoils = Hook { name: "spoiler".to_owned(), ..rewrites(&json!({"path": 7})) };
    let told = call(&kit, &session(&kit, vec![spoils], None)).await.output.joined_text();
    for part in ["Invalid input", "as rewritten by the hook \"spoiler\" at c.toml:7", "wasn't at fault"] {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
}

#[tokio::test]
async fn an_allow_settles_what_no_guard_asks_and_beats_none() {
    let kit = Harness::answering(Answers::no());
    kit.register(note(true));
    assert_eq!(gate(&call(&kit, &session(&kit, vec![decides("allow")], None)).await), "completed");
    for rule in [(Action::Ask, "note"), (Action::Deny, "note")] {
        let ended = call(&kit, &session(&kit, vec![decides("allow")], Some(rule))).await;
        assert!(matches!(ended.outcome, Outcome::Denied { .. }), "{rule:?} {:?}", ended.outcome);
    }
}

#[tokio::test]
async fn an_ask_asks_where_nobody_else_would() {
    let kit = Harness::new();
    kit.register(note(false));
    let ended = call(&kit, &session(&kit, vec![decides("allow"), decides("ask")], None)).await;
    assert!(ended.outcome.is_completed());
    let asked = kit.answers().asked();
    assert!(asked.len() == 1 && asked[0].why.iter().any(|why| why.gate == "hook"), "{asked:?}");
}

#[tokio::test]
async fn hooks_run_once_and_not_for_a_call_that_is_denied_anyway() {
    let kit = Harness::new();
    kit.register(note(true));
    let counting = || vec![before("echo x >> count"), rewrites(&json!({"path": "b.txt"}))];
    call(&kit, &session(&kit, counting(), None)).await;
    assert_eq!(kit.read("count"), b"x\n");
    call(&kit, &session(&kit, counting(), Some((Action::Deny, "note")))).await;
    assert_eq!(kit.read("count"), b"x\n");
}

#[tokio::test]
async fn explaining_lists_the_hooks_that_match_and_runs_none() {
    let kit = Harness::new();
    kit.register(note(false));
    let other = Hook { matcher: Matcher::parse("bash").unwrap(), ..before("touch ran") };
    let session = session(&kit, vec![before("touch ran"), other], None);
    let explained = kit.executor().explain(&session, &request("note", &json!({"path": "a"})));
    let listed: Vec<_> = explained.trace.iter().filter(|step| step.step == "hook:PreToolUse").collect();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!((&*listed[0].verdict, listed[0].source.as_deref()), ("matches", Some("c.toml:7")));
    assert!(!kit.path("ran").exists());
}

#[tokio::test]
async fn hooks_after_a_call_add_context_and_replace_its_content() {
    let kit = Harness::new();
    kit.register(note(false));
    let line = says(&json!({"additionalContext": "run the tests", "updatedToolOutput": "kept quiet"}));
    let hooks =
        vec![hook(HookEvent::PostToolUse, &line), hook(HookEvent::PostToolUseFailure, "touch failed")];
    let ended = call(&kit, &session(&kit, hooks, None)).await;
    let told = format!("{}\n{}", ended.output.joined_text(), ended.output.messages.join("\n"));
    assert!(told.contains("kept quiet") && told.contains("run the tests"), "{told}");
    assert!(!told.contains("noted"), "{told}");
    assert!(ended.outcome.is_completed() && !kit.path("failed").exists());
}

#[tokio::test]
async fn a_replaced_result_is_bounded_like_any_other() {
    let kit = Harness::new();
    kit.register(note(false));
    let line = "printf '{\"hookSpecificOutput\":{\"updatedToolOutput\":\"'; head -c 200000 /dev/zero | tr '\\0' x; \
                echo '\"}}'";
    let ended = call(&kit, &session(&kit, vec![hook(HookEvent::PostToolUse, line)], None)).await;
    assert!(ended.output.joined_text().len() < 60_000, "{}", ended.output.joined_text().len());
    assert!(ended.output.truncation.is_some());
}

#[tokio::test]
async fn a_question_can_be_answered_by_a_hook_but_not_one_that_a_guard_asks() {
    let kit = Harness::answering(Answers::no());
    kit.register(note(true));
    let answer = |word: &str| {
        vec![hook(HookEvent::PermissionRequest, &says(&json!({"decision": {"behavior": word}})))]
    };
    assert_eq!(gate(&call(&kit, &session(&kit, answer("allow"), None)).await), "completed");
    assert!(kit.answers().asked().is_empty());
    assert_eq!(gate(&call(&kit, &session(&kit, answer("deny"), None)).await), "hook");
    assert!(kit.answers().asked().is_empty());
    let rule = Some((Action::Ask, "note"));
    let ended = call(&kit, &session(&kit, answer("allow"), rule)).await;
    assert!(matches!(ended.outcome, Outcome::Denied { .. }), "{:?}", ended.outcome);
    assert_eq!(kit.answers().asked().len(), 1);
}

#[tokio::test]
async fn what_hooks_said_of_a_question_stays_where_the_question_fails() {
    let kit = Harness::answering(Answers::yes());
    let tool = probe("note").asks().touches(|input| only(Touch::Write(path_in(input))));
    let tool = tool.preview(|_, _| async { Err(Failure::invalid("it can't be shown")) });
    kit.register(tool.run(|_, _| async { Ok("ran") }));
    let hooks = vec![hook(HookEvent::PermissionRequest, "echo broken >&2; exit 3")];
    let session = session(&kit, hooks, None);
    let ended = call(&kit, &session).await;
    assert_eq!(ended.outcome.name(), "failed");
    assert_eq!(verdicts(&ended), ["failed"]);
    assert!(ended.trace.iter().any(|step| step.step == "approve" && step.verdict == "failed"));
    assert!(kit.answers().asked().is_empty());
}
