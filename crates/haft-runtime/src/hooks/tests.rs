//! Hooks as real processes, endpoints and Rust code: each way to end, and what follows from it.

use super::{
    Endpoint, Handler, Hook, HookCall, HookEnd, HookEvent, HookFolder, HookHandler, HookSession, Hooks,
    Matcher, Names, OnError, SeenFolder, SessionEvent, ToolUse,
    answer::{After, Before, Permitted},
};
use crate::source::command::folder_hash;
use haft_core::{Block, BoxFuture, Cancel, Credential, Failure, Output, PathArg, Secret};
use haft_policy::{Action, Mode};
use haft_test::Harness;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::Notify;

/// Prints a decision.
fn decide(word: &str) -> String {
    format!("echo '{{\"hookSpecificOutput\":{{\"permissionDecision\":\"{word}\"}}}}'")
}

/// Prints a new input.
fn rewrite(input: &Value) -> String {
    format!("echo '{}'", json!({"hookSpecificOutput": {"updatedInput": input}}))
}

fn hook(line: &str) -> Hook {
    Hook {
        source: Some("c.toml:7".to_owned()),
        ..Hook::new(HookEvent::PreToolUse, Handler::Command(line.to_owned()))
    }
}

fn session() -> HookSession {
    HookSession { id: "s".into(), transcript: Some("/t/log.jsonl".to_owned()), mode: Mode::AcceptEdits }
}

fn hooks(kit: &Harness, all: Vec<Hook>) -> Hooks {
    Hooks::new(kit.world().clone(), all)
}

async fn before(hooks: &Hooks, tool: &str, input: &Value) -> Before {
    let session = session();
    let call = HookCall { session: &session, id: "toolu_1", tool, is_core: true, input };
    hooks.before(&call, &Cancel::new()).await
}

async fn bash(kit: &Harness, all: Vec<Hook>) -> Before {
    before(&hooks(kit, all), "bash", &json!({"command": "a"})).await
}

async fn after(kit: &Harness, event: HookEvent, line: &str, error: Option<&str>) -> After {
    let hooks = hooks(kit, vec![Hook { event, ..hook(line) }]);
    let (session, input, output) = (session(), json!({"command": "a"}), Output::text("done"));
    let call = HookCall { session: &session, id: "toolu_1", tool: "bash", is_core: true, input: &input };
    let end = HookEnd { output: &output, error, took: Duration::from_millis(12) };
    hooks.after(&call, &end, &Cancel::new()).await
}

async fn asked(kit: &Harness, lines: &[String]) -> Permitted {
    let hook =
        |line: &String| Hook { event: HookEvent::PermissionRequest, on_error: OnError::Allow, ..hook(line) };
    let hooks = hooks(kit, lines.iter().map(hook).collect());
    let (session, input) = (session(), json!({"command": "a"}));
    let call = HookCall { session: &session, id: "toolu_1", tool: "bash", is_core: true, input: &input };
    hooks.permission_request(&call, &Cancel::new()).await
}

fn outcomes(before: &Before) -> Vec<&str> {
    before.steps.iter().map(|step| step.verdict.as_ref()).collect()
}

fn actions(before: &Before) -> Vec<Action> {
    before.words.iter().map(|word| word.action).collect()
}

fn seen(kit: &Harness) -> Value {
    serde_json::from_slice(&kit.read("seen.json")).unwrap()
}

#[tokio::test]
async fn case_f41_each_way_to_end_has_its_name_and_its_consequence() {
    let kit = Harness::new();
    let deny = decide("deny");
    let huge = "head -c 2097152 /dev/zero | tr '\\0' x";
    // The line, its outcome, and what follows with onError = "deny" and with "allow".
    let (yes, ask, no) = (Some(Action::Allow), Some(Action::Ask), Some(Action::Deny));
    let cases = [
        ("./nope.sh".to_owned(), "spawn-failed", no, None),
        ("echo 'sh: 0: cannot open ./nope.sh' >&2; exit 2".to_owned(), "spawn-failed", no, no),
        ("if".to_owned(), "spawn-failed", no, no),
        ("sleep 60".to_owned(), "timed-out", no, None),
        ("exit 1".to_owned(), "failed", no, None),
        ("kill -9 $$".to_owned(), "failed", no, None),
        ("echo '{'".to_owned(), "bad-json", no, None),
        (format!("printf '{{'; {huge}"), "bad-json", no, None),
        (deny.clone(), "denied", no, no),
        (format!("{deny}; exit 2"), "denied", no, no),
        (format!("{deny}; exit 1"), "denied", no, no),
        (format!("{deny}; sleep 60"), "denied", no, no),
        ("echo not here >&2; exit 2".to_owned(), "refused", no, no),
        (decide("allow"), "allowed", yes, yes),
        (decide("ask"), "asked", ask, ask),
        (format!("{}; exit 1", decide("allow")), "failed", no, None),
        ("true".to_owned(), "nothing", None, None),
        ("echo a note".to_owned(), "nothing", None, None),
        (huge.to_owned(), "bad-json", no, None),
    ];
    for (line, outcome, closed, open) in cases {
        let timeout = if line.contains("sleep") { Duration::from_secs(1) } else { Duration::from_secs(30) };
        for (on_error, expected) in [(OnError::Deny, closed), (OnError::Allow, open)] {
            let before = bash(&kit, vec![Hook { timeout, on_error, ..hook(&line) }]).await;
            assert_eq!(outcomes(&before), [outcome], "{line}");
            assert_eq!(actions(&before), Vec::from_iter(expected), "{line} {on_error:?}");
            let is_passed_over = closed == no && expected.is_none();
            assert_eq!(before.warnings.len(), usize::from(is_passed_over), "{line} {:?}", before.warnings);
            let step = &before.steps[0];
            assert_eq!((&*step.step, step.source.as_deref()), ("hook:PreToolUse", Some("c.toml:7")));
            assert!(step.reason.as_ref().unwrap().contains(" ms"), "{step:?}");
        }
    }
}

#[tokio::test]
async fn a_refusal_names_the_hook_its_place_what_happened_and_what_helps() {
    let kit = Harness::new();
    let said = |before: &Before| before.words[0].why.clone();
    let refused = said(&bash(&kit, vec![hook("echo no pushes on friday >&2; exit 2")]).await);
    assert!(refused.reason.ends_with("refuses it: no pushes on friday"), "{refused:?}");
    assert_eq!((&*refused.gate, refused.source.as_deref()), ("hook", Some("c.toml:7")));
    let broken = said(&bash(&kit, vec![hook("./nope.sh")]).await).reason;
    for part in ["\"./nope.sh\"", "spawn-failed", "c.toml:7", "nope.sh: ", "exists"] {
        assert!(broken.contains(part), "{part}: {broken}");
    }
    let slow = Hook { timeout: Duration::from_millis(200), ..hook("sleep 60") };
    let slow = said(&bash(&kit, vec![slow]).await).reason;
    assert!(slow.contains("timed-out") && slow.contains("timeoutMs"), "{slow}");
    let unreadable = Hook { handler: Handler::Broken("no command".to_owned()), ..hook("x") };
    assert_eq!(actions(&bash(&kit, vec![unreadable]).await), [Action::Deny]);
}

#[tokio::test]
async fn a_hook_is_run_only_while_its_folder_is_what_it_was_when_it_was_seen() {
    let kit = Harness::new();
    let runs = "echo ran >> \"$HAFT_WORKSPACE/ran\"\n";
    kit.write("pack/guard.sh", runs);
    let files = &kit.world().files;
    let path = files.resolve(&PathArg("pack".to_owned())).unwrap();
    let hash = folder_hash(files.as_ref(), &path, "{}").unwrap();
    let folder = HookFolder { path, seen: Some(SeenFolder { manifest: "{}".into(), hash }) };
    let guard = Hook { folder: Some(folder.clone()), ..hook("sh ./guard.sh") };
    assert_eq!(outcomes(&bash(&kit, vec![guard.clone()]).await), ["nothing"]);
    // What its line runs is another program now, though the line is the same.
    kit.write("pack/guard.sh", format!("{runs}# changed\n"));
    let before = bash(&kit, vec![guard.clone()]).await;
    assert_eq!((outcomes(&before), actions(&before)), (vec!["spawn-failed"], vec![Action::Deny]));
    assert!(before.words[0].why.reason.contains("run `haft trust` again"), "{:?}", before.words);
    assert_eq!(kit.read("ran"), b"ran\n");
    // The user's own may change as they like.
    let own = Hook { folder: Some(HookFolder { seen: None, ..folder }), ..guard };
    assert_eq!(outcomes(&bash(&kit, vec![own]).await), ["nothing"]);
}

#[tokio::test]
async fn rewriting_hooks_follow_each_other_and_deciding_ones_see_what_will_run() {
    let kit = Harness::new();
    let first = Hook { rewrite: true, ..hook(&rewrite(&json!({"command": "b"}))) };
    let line = format!("grep -q '\"command\":\"b\"' && {}", rewrite(&json!({"command": "c"})));
    let second = Hook { rewrite: true, ..hook(&line) };
    let decider = hook("grep -q '\"command\":\"c\"' && { echo saw c >&2; exit 2; }; exit 0");
    // Declared first, heard last.
    let before = bash(&kit, vec![decider, first, second]).await;
    assert_eq!(outcomes(&before), ["rewrote", "rewrote", "refused"]);
    assert_eq!(before.input, Some(json!({"command": "c"})));
    assert!(before.words[0].why.reason.contains("saw c"), "{:?}", before.words);
}

#[tokio::test]
async fn what_was_allowed_before_a_later_change_is_void() {
    let kit = Harness::new();
    let allow = Hook { rewrite: true, ..hook(&decide("allow")) };
    let change = Hook { rewrite: true, ..hook(&rewrite(&json!({"command": "b"}))) };
    assert!(actions(&bash(&kit, vec![allow.clone(), change.clone()]).await).is_empty());
    assert_eq!(actions(&bash(&kit, vec![change, allow]).await), [Action::Allow]);
}

#[tokio::test]
async fn a_change_that_isnt_declared_asks_and_its_allow_isnt_heard() {
    let kit = Harness::new();
    let answer =
        json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "b"}}});
    let line = format!("echo '{answer}'");
    let before = bash(&kit, vec![hook(&line)]).await;
    assert_eq!((actions(&before), before.input), (vec![Action::Ask], None));
    assert!(before.words[0].why.reason.contains("rewrite = true"));
    let before = bash(&kit, vec![Hook { rewrite: true, ..hook(&line) }]).await;
    assert_eq!((actions(&before), before.input), (vec![Action::Allow], Some(json!({"command": "b"}))));
    // The same input again is no change.
    let before = bash(&kit, vec![hook(&rewrite(&json!({"command": "a"})))]).await;
    assert_eq!((outcomes(&before), before.input.clone()), (vec!["nothing"], None));
}

/// Answers when it was told to, and tells others.
struct Says {
    word: &'static str,
    waits: Option<Arc<Notify>>,
    tells: Option<Arc<Notify>>,
}

impl HookHandler for Says {
    fn handle(&self, _: Value) -> BoxFuture<'_, Result<Value, Failure>> {
        Box::pin(async move {
            if let Some(waits) = &self.waits {
                waits.notified().await;
            }
            if let Some(tells) = &self.tells {
                tells.notify_one();
            }
            Ok(json!({"hookSpecificOutput": {"permissionDecision": self.word}}))
        })
    }
}

fn rust(handler: impl HookHandler + 'static) -> Hook {
    Hook::new(HookEvent::PreToolUse, Handler::Rust(Arc::new(handler)))
}

#[tokio::test]
async fn the_strictest_wins_whatever_the_order_they_finish_in() {
    let kit = Harness::new();
    for deny_is_last in [true, false] {
        let done = Arc::new(Notify::new());
        let (early, late) = (Some(Arc::clone(&done)), Some(done));
        let (deny, allow) = if deny_is_last {
            (
                Says { word: "deny", waits: late, tells: None },
                Says { word: "allow", waits: None, tells: early },
            )
        } else {
            (
                Says { word: "deny", waits: None, tells: early },
                Says { word: "allow", waits: late, tells: None },
            )
        };
        let before = bash(&kit, vec![rust(deny), rust(allow)]).await;
        // In declared order, so that the judge's trace doesn't depend on it either.
        assert_eq!(actions(&before), [Action::Deny, Action::Allow], "{deny_is_last}");
    }
}

/// Breaks in each way that Rust code can.
struct Breaks(&'static str);

impl HookHandler for Breaks {
    fn handle(&self, _: Value) -> BoxFuture<'_, Result<Value, Failure>> {
        assert!(self.0 != "early", "before there is a future");
        Box::pin(async move {
            match self.0 {
                "late" => panic!("in the future"),
                "fails" => Err(Failure::internal("no")),
                "odd" => Ok(json!([1])),
                "hangs" => std::future::pending().await,
                _ => Ok(Value::Null),
            }
        })
    }
}

#[tokio::test]
async fn rust_code_that_breaks_is_one_hook_that_doesnt_work() {
    let kit = Harness::new();
    let cases = [
        ("early", "failed"),
        ("late", "failed"),
        ("fails", "failed"),
        ("odd", "bad-json"),
        ("hangs", "timed-out"),
        ("", "nothing"),
    ];
    for (how, outcome) in cases {
        let hook = Hook { timeout: Duration::from_millis(100), ..rust(Breaks(how)) };
        assert_eq!(outcomes(&bash(&kit, vec![hook]).await), [outcome], "{how}");
    }
}

#[tokio::test]
async fn an_own_hook_is_told_in_our_names_and_runs_in_the_workspace() {
    let kit = Harness::new();
    let line =
        "cat > seen.json; printf '%s|%s|' \"$CLAUDE_PROJECT_DIR\" \"$HAFT_WORKSPACE\" > env; pwd >> env";
    let before = bash(&kit, vec![hook(line)]).await;
    assert_eq!(outcomes(&before), ["nothing"]);
    let place = kit.workspace().display().to_string();
    let expected = json!({
        "session_id": "s", "transcript_path": "/t/log.jsonl", "cwd": place, "permission_mode": "accept-edits",
        "hook_event_name": "PreToolUse", "tool_name": "bash", "tool_input": {"command": "a"},
        "tool_use_id": "toolu_1",
    });
    assert_eq!(seen(&kit), expected);
    assert_eq!(String::from_utf8(kit.read("env")).unwrap(), format!("{place}|{place}|{place}\n"));
}

#[tokio::test]
async fn an_imported_hook_is_told_and_heard_in_the_other_tools_names() {
    let kit = Harness::new();
    let new = json!({"file_path": "/x/b.rs", "old_string": "o", "new_string": "p"});
    let imported = Hook {
        names: Names::ClaudeCode,
        matcher: Matcher::parse("Edit|Write").unwrap(),
        rewrite: true,
        ..hook(&format!("cat > seen.json; {}", rewrite(&new)))
    };
    let hooks = hooks(&kit, vec![imported]);
    let input = json!({"path": "a.rs", "edits": [{"old": "o", "new": "n"}]});
    let before = before(&hooks, "edit", &input).await;
    let seen = seen(&kit);
    assert_eq!((&seen["tool_name"], &seen["permission_mode"]), (&json!("Edit"), &json!("acceptEdits")));
    let path = kit.path("a.rs").display().to_string();
    assert_eq!(seen["tool_input"], json!({"file_path": path, "old_string": "o", "new_string": "n"}));
    assert_eq!(before.input, Some(json!({"path": "/x/b.rs", "edits": [{"old": "o", "new": "p"}]})));
    assert_eq!(hooks.matching(HookEvent::PreToolUse, "edit", true).len(), 1);
    assert_eq!(hooks.matching(HookEvent::PreToolUse, "edit", false).len(), 0);
    assert_eq!(hooks.matching(HookEvent::PreToolUse, "read", true).len(), 0);
    assert_eq!(hooks.matching(HookEvent::PostToolUse, "edit", true).len(), 0);
}

/// An endpoint that answers once and gives what it was sent.
fn endpoint(status: u16, body: &str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let body = body.to_owned();
    let served = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            head.push_str(&line);
            if line.trim().is_empty() {
                break;
            }
        }
        let mut sent = vec![0; length];
        reader.read_exact(&mut sent).unwrap();
        let answer = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        // A client that had enough may be gone.
        drop(socket.write_all(answer.as_bytes()));
        head + &String::from_utf8(sent).unwrap()
    });
    (url, served)
}

fn post(url: String, headers: Vec<(String, Credential)>) -> Hook {
    Hook::new(HookEvent::PreToolUse, Handler::Http(Endpoint { url, headers }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_answers_like_a_script() {
    let kit = Harness::new();
    let denied = json!({"hookSpecificOutput": {"permissionDecision": "deny"}}).to_string();
    let large = format!("{{{}", " ".repeat(2 * 1024 * 1024));
    let cases = [
        (200, denied.as_str(), "denied"),
        (204, "", "nothing"),
        (200, "fine", "nothing"),
        (200, "{", "bad-json"),
        (200, large.as_str(), "bad-json"),
        (500, "", "failed"),
        (500, denied.as_str(), "denied"),
        (302, "", "failed"),
    ];
    for (status, body, outcome) in cases {
        let (url, served) = endpoint(status, body);
        let before = bash(&kit, vec![post(url, Vec::new())]).await;
        assert_eq!(outcomes(&before), [outcome], "{status}");
        let sent = served.join().unwrap();
        assert!(sent.starts_with("POST /hook") && sent.contains("\"tool_name\":\"bash\""), "{sent}");
    }
}

#[tokio::test]
async fn an_endpoint_that_isnt_there_is_a_failed_start() {
    let kit = Harness::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let before = bash(&kit, vec![post(format!("http://{port}/"), Vec::new())]).await;
    assert_eq!((outcomes(&before), actions(&before)), (vec!["spawn-failed"], vec![Action::Deny]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_come_from_the_operators_credentials() {
    let kit = Harness::new();
    let key = Credential::Variable("KEY".to_owned());
    let header = vec![("x-key".to_owned(), key.clone())];
    let (url, served) = endpoint(200, "");
    let with = hooks(&kit, vec![post(url, header.clone())]).with_credentials(Arc::new(
        move |credential: &Credential| {
            if *credential == key { Ok(Secret::new("s3cret")) } else { Err(credential.missing()) }
        },
    ));
    let told = before(&with, "bash", &json!({"command": "a"})).await;
    assert_eq!(outcomes(&told), ["nothing"]);
    assert!(served.join().unwrap().contains("x-key: s3cret"));
    let without = bash(&kit, vec![post("http://127.0.0.1:9/".to_owned(), header)]).await;
    assert_eq!(outcomes(&without), ["spawn-failed"]);
    assert!(without.words[0].why.reason.contains("the variable KEY"), "{:?}", without.words);
    let stored = Credential::parse("secret:guard").unwrap();
    let unset =
        bash(&kit, vec![post("http://127.0.0.1:9/".to_owned(), vec![("x-key".to_owned(), stored)])]).await;
    assert!(unset.words[0].why.reason.contains("haft secret set guard"), "{:?}", unset.words);
}

#[tokio::test]
async fn a_hook_that_stops_the_run_refuses_the_call_too() {
    let kit = Harness::new();
    let line = "echo '{\"continue\": false, \"stopReason\": \"enough\", \"systemMessage\": \"bye\"}'";
    let before = bash(&kit, vec![hook(line)]).await;
    assert_eq!((before.stop.as_deref(), actions(&before)), (Some("enough"), vec![Action::Deny]));
    assert!(before.warnings[0].ends_with("bye"), "{:?}", before.warnings);
}

#[tokio::test]
async fn after_a_call_hooks_object_add_and_replace() {
    let kit = Harness::new();
    let objection = after(&kit, HookEvent::PostToolUse, "echo untidy >&2; exit 2", None).await;
    assert!(objection.context[0].contains("untidy"), "{objection:?}");
    let answer = json!({"hookSpecificOutput": {"additionalContext": "more", "updatedToolOutput": "new"}});
    let line = format!("cat > seen.json; echo '{answer}'");
    let replaced = after(&kit, HookEvent::PostToolUse, &line, None).await;
    assert_eq!(replaced.output, Some(vec![Block::text("new")]));
    assert_eq!(replaced.context, ["more"]);
    let told = seen(&kit);
    assert_eq!((&told["duration_ms"], &told["tool_response"]["text"]), (&json!(12), &json!("done")));
    let failed = after(&kit, HookEvent::PostToolUseFailure, "cat > seen.json; exit 1", Some("broke")).await;
    assert_eq!((&*failed.steps[0].verdict, failed.warnings.len()), ("failed", 1));
    assert_eq!(seen(&kit)["error"], "broke");
    // The other event's hooks aren't heard.
    assert!(after(&kit, HookEvent::PostToolUse, "exit 2", Some("broke")).await.steps.is_empty());
}

#[tokio::test]
async fn a_question_is_answered_by_the_strictest() {
    let kit = Harness::new();
    let behave = |word: &str| {
        format!("echo '{}'", json!({"hookSpecificOutput": {"decision": {"behavior": word, "message": "m"}}}))
    };
    let word = |permitted: Permitted| permitted.word.map(|word| word.action);
    let both = [behave("allow"), behave("deny")];
    assert_eq!(word(asked(&kit, &both).await), Some(Action::Deny));
    assert_eq!(word(asked(&kit, &both[..1]).await), Some(Action::Allow));
    assert_eq!(word(asked(&kit, &[decide("allow")]).await), Some(Action::Allow));
    assert_eq!(word(asked(&kit, &["exit 1".to_owned(), decide("ask")]).await), None);
    let other =
        json!({"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"command": "b"}}}});
    let permitted = asked(&kit, &[format!("echo '{other}'")]).await;
    assert_eq!((permitted.warnings.len(), word(permitted)), (1, None));
}

#[tokio::test]
async fn hosts_tell_hooks_of_the_session() {
    let kit = Harness::new();
    let at = |event: HookEvent, line: &str| Hook { event, on_error: OnError::Allow, ..hook(line) };
    let all = hooks(
        &kit,
        vec![
            Hook {
                matcher: Matcher::parse("resume").unwrap(),
                ..at(HookEvent::SessionStart, "echo welcome back")
            },
            at(HookEvent::UserPromptSubmit, "echo '{\"decision\":\"block\",\"reason\":\"no secrets\"}'"),
            at(HookEvent::Stop, "cat > seen.json; echo tests are red >&2; exit 2"),
            at(HookEvent::SessionEnd, "echo late >&2; exit 2"),
            at(HookEvent::PostToolBatch, "cat > batch.json"),
        ],
    );
    let (session, cancel) = (session(), Cancel::new());
    let fresh = all.notify(&session, SessionEvent::Start { source: "startup" }, &cancel).await;
    assert!(fresh.steps.is_empty());
    let resumed = all.notify(&session, SessionEvent::Start { source: "resume" }, &cancel).await;
    assert_eq!(resumed.context, ["welcome back"]);
    let prompt = all.notify(&session, SessionEvent::Prompt { text: "hi" }, &cancel).await;
    assert!(prompt.block.unwrap().ends_with("no secrets"));
    let stop = all.notify(&session, SessionEvent::Stop { again: true, last: "done" }, &cancel).await;
    assert!(stop.block.unwrap().contains("tests are red"));
    let told = seen(&kit);
    assert_eq!((&told["stop_hook_active"], &told["last_assistant_message"]), (&json!(true), &json!("done")));
    let end = all.notify(&session, SessionEvent::End { reason: "exit" }, &cancel).await;
    assert_eq!((end.block, end.warnings.len()), (None, 1));
    let call = ToolUse {
        id: "1".to_owned(),
        tool: "bash".to_owned(),
        is_core: true,
        input: json!({"command": "a"}),
        response: "ok".to_owned(),
    };
    all.notify(&session, SessionEvent::Batch { calls: &[call] }, &cancel).await;
    let batch: Value = serde_json::from_slice(&kit.read("batch.json")).unwrap();
    assert_eq!(batch["tool_calls"][0]["tool_input"], json!({"command": "a"}));
}

#[tokio::test]
async fn a_cancelled_call_leaves_no_hook_running() {
    let kit = Harness::new();
    let cancel = Cancel::new();
    let hooks = hooks(&kit, vec![hook("sleep 60"), post("http://127.0.0.1:9/".to_owned(), Vec::new())]);
    let (session, input) = (session(), json!({}));
    let call = HookCall { session: &session, id: "1", tool: "bash", is_core: true, input: &input };
    let (before, ()) = tokio::join!(hooks.before(&call, &cancel), async { cancel.fire() });
    assert_eq!(outcomes(&before)[0], "cancelled");
    assert_eq!(actions(&before)[0], Action::Deny);
}

#[tokio::test]
async fn without_hooks_nothing_is_said() {
    let none = Hooks::default();
    assert!(none.is_empty());
    let before = before(&none, "bash", &json!({})).await;
    assert!(before.words.is_empty() && before.steps.is_empty() && before.input.is_none());
}
