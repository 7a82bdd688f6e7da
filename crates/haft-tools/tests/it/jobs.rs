//! Commands in the background: started, looked at, written to, moved and ended; none outlives its session unasked.
//!
//! A command waits at a FIFO until its test lets it go on, so that nothing here goes by time but the limits that are
//! tested.

use crate::kit::{
    PATIENCE, answered_by, bash, call, denied, denying, done, end_of, equipped, failed, gone, has, invalid,
    kit, mark, marked, said, start,
};
use haft_core::{AnyTool, Ended, Event, FailureKind, Outcome, Progress};
use haft_policy::Mode;
use haft_runtime::{LogEntry, read_log};
use haft_test::{Answers, Harness, HarnessSetup};
use haft_tools::{BashSettings, ToolSettings};
use serde_json::{Value, json};
use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::yield_now;

async fn job(kit: &Harness, input: Value) -> Ended {
    call(kit, "job", input).await
}

/// Starts a job that goes on, and gives its name and what was said of it.
async fn begin(kit: &Harness, command: &str) -> (String, String) {
    begin_with(kit, json!({"command": command, "background": true})).await
}

async fn begin_with(kit: &Harness, input: Value) -> (String, String) {
    let ended = call(kit, "bash", input).await;
    let text = done(&ended);
    let id = ended.output.metadata.as_ref().and_then(|metadata| metadata["job"].as_str().map(str::to_owned));
    (id.unwrap_or_else(|| panic!("it goes on: {text}")), text)
}

async fn read(kit: &Harness, id: &str) -> String {
    done(&job(kit, json!({"action": "read", "id": id})).await)
}

async fn write(kit: &Harness, id: &str, text: &str) -> String {
    done(&job(kit, json!({"action": "write", "id": id, "text": text})).await)
}

async fn wait(kit: &Harness, id: &str) -> String {
    done(&job(kit, json!({"action": "wait", "id": id, "timeout": 60_000})).await)
}

/// Makes the FIFO that a command waits at.
async fn gate(kit: &Harness) {
    kit.sh("mkfifo gate").await;
}

/// Lets the command at the FIFO go on.
async fn open(kit: &Harness) {
    kit.sh("echo > gate").await;
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        yield_now().await;
    }
}

/// The built-in tools, with an own idea of silence.
fn impatient(quiet_after: Duration) -> Harness {
    let settings = ToolSettings { bash: BashSettings { quiet_after }, ..ToolSettings::default() };
    let tools: Vec<Arc<dyn AnyTool>> = haft_tools::tools_with(settings, Arc::new(haft_core::NoMedia));
    let kit = Harness::with(HarnessSetup::default());
    kit.register_core(tools);
    kit
}

#[tokio::test(flavor = "multi_thread")]
async fn each_look_at_a_job_gives_only_what_is_new() {
    let kit = kit();
    let (id, said) = begin(&kit, "echo one; read x; echo two $x; read y; echo three; exit 5").await;
    has(&said, &["one\n", "the tool job can read", &format!("[runs as {id}, pid ")]);
    let nothing = read(&kit, &id).await;
    has(&nothing, &["nothing printed since the last look", &format!("{id} runs for")]);
    let two = write(&kit, &id, "a\n").await;
    has(&two, &["two a\n", "wrote 2 bytes"]);
    assert!(!two.contains("one"), "{two}");
    write(&kit, &id, "b\n").await;
    let end = wait(&kit, &id).await;
    assert!(!end.contains("two"), "{end}");
    has(&end, &[&format!("{id} has ended"), "[exit 5]"]);
    has(&done(&job(&kit, json!({"action": "list"})).await), &[&id, "exit 5", "echo one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_at_once_says_so_at_once() {
    let kit = kit();
    for (command, part, status) in
        [("nosuchprogram", "command not found", "[exit 127]"), ("echo gone; exit 7", "gone\n", "[exit 7]")]
    {
        let text = done(&call(&kit, "bash", json!({"command": command, "background": true})).await);
        has(&text, &[part, status]);
        assert!(!text.contains("[runs as"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_like_a_call_but_leaves_the_sessions_folder_alone() {
    let kit = kit();
    bash(&kit, "mkdir sub other; cd sub").await;
    let there = kit.path("sub").to_string_lossy().into_owned();
    let (id, said) = begin(&kit, "pwd; cd ../other; echo $TERM $HAFT_REPORT.; read x; pwd").await;
    has(&said, &[&there, "dumb .\n"]);
    has(&write(&kit, &id, "\n").await, &["/other\n"]);
    assert_eq!(bash(&kit, "pwd").await.body, format!("{there}\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_the_job_its_time_or_a_text() {
    let kit = kit();
    gate(&kit).await;
    let (id, _) = begin(&kit, "echo up; read x < gate; printf 'ready> '; read x < gate; exit 3").await;
    let late = done(&job(&kit, json!({"action": "wait", "id": id, "timeout": 50})).await);
    has(&late, &["waited 50 ms", &format!("{id} runs for")]);
    // A prompt has no line end, and is seen all the same.
    let wish = json!({"action": "wait", "id": id, "until": "ready>", "timeout": 60_000});
    let waiting = start(&kit, "job", &wish);
    open(&kit).await;
    has(&done(&end_of(waiting).await), &["ready> ", "it printed \"ready>\""]);
    let waiting = start(&kit, "job", &json!({"action": "wait", "id": id, "timeout": 60_000}));
    open(&kit).await;
    has(&done(&end_of(waiting).await), &["has ended", "[exit 3]"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_cancelled_leaves_the_job_alone() {
    let (kit, mark) = (kit(), mark());
    let (id, _) = begin(&kit, &format!("echo up; sleep {mark}")).await;
    let mut events = kit.session().events();
    let waiting = start(&kit, "job", &json!({"action": "wait", "id": id, "timeout": 60_000}));
    while !matches!(events.next().await, Event::Started { .. }) {}
    waiting.cancel.fire();
    assert_eq!(end_of(waiting).await.outcome, Outcome::Cancelled);
    has(&read(&kit, &id).await, &["runs for"]);
    assert!(!marked(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_a_tree_that_ignores_it_and_left_its_session() {
    let (kit, mark) = (kit(), mark());
    let command = format!(
        "trap '' TERM; (setsid sh -c 'trap \"\" TERM HUP; (setsid sleep {mark} &) ; sleep {mark}' &); echo up; \
         sleep {mark}; sleep {mark}"
    );
    let (id, _) = begin(&kit, &command).await;
    assert!(marked(&mark).len() >= 2);
    let text = done(&job(&kit, json!({"action": "stop", "id": id})).await);
    has(&text, &["it was stopped: nothing of it is left", "[killed by signal 9]"]);
    assert!(marked(&mark).is_empty(), "{:?}", marked(&mark));
    has(&done(&job(&kit, json!({"action": "stop", "id": id})).await), &["it had ended already"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_job_lists_the_known_ones_and_asks_nobody() {
    let kit = kit();
    has(&done(&job(&kit, json!({"action": "list"})).await), &["There are no jobs"]);
    let (id, _) = begin(&kit, "read x").await;
    let asked = kit.answers().asked().len();
    for action in ["read", "wait", "write", "stop"] {
        let mut input = json!({"action": action, "id": "job-99"});
        if action == "write" {
            input["text"] = json!("x");
        }
        let text = failed(&job(&kit, input).await, FailureKind::NotFound);
        has(&text, &["job-99", &id]);
    }
    assert_eq!(kit.answers().asked().len(), asked);
    has(&invalid(&job(&kit, json!({"action": "read"})).await), &["/id is required"]);
    has(&invalid(&job(&kit, json!({"action": "restart"})).await), &["/action"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_input_reaches_a_job() {
    let kit = kit();
    let (id, _) = begin(&kit, "echo up; cat; echo end").await;
    let ended = job(&kit, json!({"action": "write", "id": id, "text": "last\n", "close": true})).await;
    has(&done(&ended), &["last\n", "and its input ends there"]);
    has(&wait(&kit, &id).await, &["[exit 0]"]);
    failed(&job(&kit, json!({"action": "write", "id": id, "text": "x"})).await, FailureKind::Conflict);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_goes_on_as_a_job_when_its_time_has_run_out() {
    let kit = kit();
    gate(&kit).await;
    bash(&kit, "mkdir sub").await;
    let input = json!({
        "command": "echo begun; cd sub; read x < ../gate; echo done; exit 2", "timeout": 2_000, "onTimeout": "background",
    });
    let (id, said) = begin_with(&kit, input).await;
    has(&said, &["begun\n", "it took longer than 2 s, so it goes on in the background"]);
    // Its claims are free, and its folder is its own.
    assert_eq!(bash(&kit, "pwd").await.body, format!("{}\n", kit.workspace().display()));
    open(&kit).await;
    let end = wait(&kit, &id).await;
    assert!(!end.contains("begun"), "{end}");
    has(&end, &["done\n", "[exit 2]"]);
    // Nobody can type to what was started without input.
    let (id, _) =
        begin_with(&kit, json!({"command": "read x < gate", "timeout": 50, "onTimeout": "background"})).await;
    let text =
        failed(&job(&kit, json!({"action": "write", "id": id, "text": "x"})).await, FailureKind::Conflict);
    has(&text, &["started without input", "background=true"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_moves_what_runs_to_the_background() {
    let kit = kit();
    gate(&kit).await;
    let mut events = kit.session().events();
    let running = start(&kit, "bash", &json!({"command": "echo begun; read x < gate; echo done"}));
    said(&mut events, "begun").await;
    assert_eq!(kit.session().movable(), std::slice::from_ref(&running.id));
    let other = haft_core::CallId::outer(999);
    assert_eq!(kit.session().move_to_background(&other).unwrap_err().kind, FailureKind::NotFound);
    let id = kit.session().move_to_background(&running.id).unwrap();
    let text = done(&end_of(running).await);
    has(&text, &["begun\n", "the user moved it to the background", &format!("[runs as {id}, pid ")]);
    assert!(kit.session().movable().is_empty());
    assert_eq!(bash(&kit, "echo next").await.body, "next\n");
    open(&kit).await;
    has(&wait(&kit, &id).await, &["done\n", "[exit 0]"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_on_request_is_one_for_all_that_asks() {
    let kit = kit();
    let command =
        "test -t 0 && test -t 1 && test -t 2 && echo all; tty; stty size; echo direct > /dev/tty; echo $TERM";
    let text = done(&call(&kit, "bash", json!({"command": command, "pty": true})).await);
    has(&text, &["all\n", "/dev/pts/", "40 120\n", "direct\n", "xterm-256color\n", "[exit 0]"]);
    assert!(!text.contains('\r'), "{text:?}");
    // The usual command has none.
    has(&bash(&kit, "tty; cat /dev/tty").await.text, &["not a tty", "pty=true"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_at_a_terminal_is_talked_to() {
    let kit = kit();
    let talk = |command: &str| json!({"command": command, "background": true, "pty": true});
    let (id, said) = begin_with(&kit, talk("printf 'name? '; read n; echo \"hi $n\"; cat")).await;
    has(&said, &["name? "]);
    has(&write(&kit, &id, "Bo\n").await, &["hi Bo\n"]);
    // What is typed for the end of input, and for an interrupt.
    let ended = job(&kit, json!({"action": "write", "id": id, "close": true})).await;
    done(&ended);
    has(&wait(&kit, &id).await, &["[exit 0]"]);
    let (id, _) = begin_with(&kit, talk("echo up; cat")).await;
    write(&kit, &id, "\u{3}").await;
    has(&wait(&kit, &id).await, &["[killed by signal 2]"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_command_is_told_of_and_never_killed_for_it() {
    let (kit, mark) = (impatient(Duration::from_millis(300)), mark());
    let mut events = kit.session().events();
    let command = format!("echo question; sleep {mark}");
    let running = start(&kit, "bash", &json!({"command": command, "timeout": 6_000}));
    let warned = async {
        loop {
            if let Event::Progress { progress: Progress::Warning(text), .. } = events.next().await {
                break text;
            }
        }
    };
    let warning = tokio::time::timeout(PATIENCE, warned).await.expect("it is told");
    has(&warning, &["printed nothing for", "may be waiting for input: sleep (pid "]);
    assert!(!marked(&mark).is_empty());
    let ended = end_of(running).await;
    assert_eq!(ended.outcome, Outcome::TimedOut);
    has(&ended.output.joined_text(), &["question", "printed nothing for", "pty=true"]);
    // One that works isn't silent.
    let busy = call(&kit, "bash", json!({"command": "while :; do :; done", "timeout": 2_000})).await;
    assert_eq!(busy.outcome, Outcome::TimedOut);
    assert!(!busy.output.joined_text().contains("printed nothing"), "{}", busy.output.joined_text());
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_end_with_their_session_and_only_what_was_kept_goes_on() {
    let (kit, ends, stays) = (kit(), mark(), mark());
    begin(&kit, &format!("trap '' TERM; echo up; setsid sleep {ends} & sleep {ends}")).await;
    let chatter =
        format!("n=0; while :; do n=$((n+1)); echo $n; echo $n > count; sleep 0.01; : {stays}; done");
    let (id, said) = begin_with(&kit, json!({"command": chatter, "background": true, "keep": true})).await;
    has(&said, &["it goes on after the session; kill -9 "]);
    let left = kit.session().end_jobs().await;
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].id.as_deref(), left[0].kept), (Some(id.as_str()), true));
    assert!(marked(&ends).is_empty());
    // It prints on though nobody listens.
    let count =
        || fs::read_to_string(kit.path("count")).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let before = count().unwrap_or_default();
    until("the kept job goes on", || count().is_some_and(|now| now > before + 20)).await;
    kit.sh(&format!("kill -9 {}", left[0].pid.unwrap())).await;
    gone(&stays).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_session_leaves_no_job() {
    let mark = mark();
    let kit = kit();
    begin(&kit, &format!("echo up; (setsid sleep {mark} &); sleep {mark}")).await;
    assert!(!marked(&mark).is_empty());
    drop(kit);
    gone(&mark).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_kept_is_always_asked() {
    for mode in [Mode::Default, Mode::Auto, Mode::Yolo] {
        let kit = equipped(HarnessSetup { mode, answers: Answers::no(), ..HarnessSetup::default() });
        let input = json!({"command": "sleep 5", "background": true, "keep": true});
        assert_eq!(denied(&call(&kit, "bash", input).await), "user", "{mode}");
        let why: String = kit.answers().asked()[0].why.iter().map(|why| why.reason.clone()).collect();
        has(&why, &["go on after the session"]);
    }
    let kit = kit();
    has(&invalid(&call(&kit, "bash", json!({"command": "ls", "keep": true})).await), &["/keep is for jobs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_at_most_so_many_jobs() {
    let (kit, mark) = (kit(), mark());
    for _ in 0..haft_runtime::JOBS_MAX {
        begin(&kit, &format!("echo up; sleep {mark}")).await;
    }
    let input = json!({"command": format!("echo up; sleep {mark}"), "background": true});
    let text = failed(&call(&kit, "bash", input).await, FailureKind::Unavailable);
    has(&text, &["16 jobs run already", "job-1, job-2", "action=stop"]);
    // What was to go on is stopped instead, and says why.
    let input =
        json!({"command": format!("echo up; sleep {mark}"), "timeout": 500, "onTimeout": "background"});
    let late = call(&kit, "bash", input).await;
    assert_eq!(late.outcome, Outcome::TimedOut);
    has(&late.output.joined_text(), &["It couldn't go on in the background", "16 jobs run"]);
    assert_eq!(marked(&mark).len(), 2 * haft_runtime::JOBS_MAX, "each has a shell and its sleep");
    done(&job(&kit, json!({"action": "stop", "id": "job-1"})).await);
    begin(&kit, &format!("echo up; sleep {mark}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_to_a_job_is_judged_each_time() {
    let kit = answered_by(Answers::no());
    // Reading its own input is harmless, so that this one starts unasked.
    let (id, _) = begin(&kit, "cat").await;
    assert!(kit.answers().asked().is_empty());
    for text in ["touch made\n", "ls\n"] {
        let ended = job(&kit, json!({"action": "write", "id": id, "text": text})).await;
        assert_eq!(denied(&ended), "user", "{text}");
    }
    let asked = kit.answers().asked();
    has(&asked[0].preview.text, &["writes to job-1: cat", "touch made"]);
    assert!(asked[0].rules.is_empty(), "no rule is offered: {:?}", asked[0].rules);
    assert_eq!(denied(&job(&kit, json!({"action": "stop", "id": id})).await), "user");
    done(&job(&kit, json!({"action": "list"})).await);
    read(&kit, &id).await;
    assert_eq!(kit.answers().asked().len(), 3);

    let plan = equipped(HarnessSetup { mode: Mode::Plan, ..HarnessSetup::default() });
    let (id, _) = begin(&plan, "cat").await;
    for text in ["touch made\n", "ls\n"] {
        let ended = job(&plan, json!({"action": "write", "id": id, "text": text})).await;
        assert_eq!(denied(&ended), "plan", "{text}");
    }

    let kit = denying("bash(rm *)", Answers::yes());
    let (id, _) = begin(&kit, "cat").await;
    let ended = job(&kit, json!({"action": "write", "id": id, "text": "rm x\n"})).await;
    assert_eq!(denied(&ended), "deny");
    has(&write(&kit, &id, "hello\n").await, &["hello\n"]);
    // A line may come in pieces; it is judged as the whole that it is.
    write(&kit, &id, "then\nr").await;
    let ended = job(&kit, json!({"action": "write", "id": id, "text": "m x\n"})).await;
    assert_eq!(denied(&ended), "deny");
    write(&kit, &id, "ather\n").await;
    has(&write(&kit, &id, "m x\n").await, &["m x\n"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_while_nobody_looks_is_told_of_once() {
    let kit = kit();
    gate(&kit).await;
    let mut events = kit.session().events();
    let (id, _) = begin(&kit, "echo up; read x < gate; echo last words; exit 4").await;
    open(&kit).await;
    until("it ends", || kit.session().jobs()[0].end.is_some()).await;
    let told = bash(&kit, "echo next").await.text;
    has(
        &told,
        &[
            &format!("[{id} (echo up; read x < gate; echo last words; exit 4): exit 4 after"),
            "job read shows",
        ],
    );
    assert!(!bash(&kit, "echo next").await.text.contains(&id));
    has(&read(&kit, &id).await, &["last words\n", "[exit 4]"]);

    let heard: Vec<Event> = std::iter::from_fn(|| events.try_next()).collect();
    let of_jobs = heard.iter().filter_map(|event| match event {
        Event::JobStarted { job, pid, kept, .. } => Some((job.to_string(), pid.is_some() && !kept)),
        Event::JobEnded { job, status, .. } => Some((job.to_string(), status.is_some())),
        _ => None,
    });
    assert_eq!(of_jobs.collect::<Vec<_>>(), [(id.clone(), true), (id.clone(), true)]);
    let (lines, _) = read_log(&**kit.state(), "test").unwrap();
    let logged_time = lines.iter().find_map(|line| match &line.entry {
        LogEntry::JobEnded { duration_ms, .. } => Some(*duration_ms),
        _ => None,
    });
    let logged: Vec<String> = lines
        .into_iter()
        .filter_map(|line| match line.entry {
            LogEntry::JobStarted { line, .. } => Some(line),
            LogEntry::JobEnded { how, .. } => Some(how),
            _ => None,
        })
        .collect();
    assert_eq!(logged, ["echo up; read x < gate; echo last words; exit 4", "ended"]);
    let took = heard.iter().find_map(|event| match event {
        Event::JobEnded { duration_ms, .. } => Some(*duration_ms),
        _ => None,
    });
    assert_eq!(took, logged_time, "the log and those who listen are told of one time");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_output_of_a_job_is_bounded_and_kept_whole() {
    let kit = kit();
    gate(&kit).await;
    let (id, _) = begin(&kit, "read x < gate; seq 1 60000; echo FAIL: z; read x < gate").await;
    open(&kit).await;
    let wish = json!({"action": "wait", "id": id, "until": "FAIL: z", "timeout": 60_000});
    let ended = job(&kit, wish).await;
    let text = done(&ended);
    has(&text, &["1\n2\n", "lines (", "FAIL: z\n"]);
    let path = ended.output.truncation.as_ref().unwrap().path.clone().unwrap();
    assert!(fs::read_to_string(path).unwrap().contains("\n30000\n"));
    has(&read(&kit, &id).await, &["nothing printed since the last look"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_stopped_at_the_timeout_it_was_given() {
    let (kit, mark) = (kit(), mark());
    let input = json!({"command": format!("echo up; sleep {mark}"), "background": true, "timeout": 1_500});
    let (id, said) = begin_with(&kit, input).await;
    has(&said, &["it is stopped after 1.5 s"]);
    has(&wait(&kit, &id).await, &["its timeout had passed", "[killed by signal 15]"]);
    assert!(marked(&mark).is_empty());
}
