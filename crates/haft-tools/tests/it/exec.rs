//! `exec`: only what the user's list allows, word for word, and how it ended.

use crate::kit::{PATIENCE, denied, done, failed, has, invalid};
use haft_core::{Ended, FailureKind, Outcome};
use haft_policy::Mode;
use haft_test::{Answers, Harness, HarnessSetup};
use haft_tools::{ExecSettings, ToolSettings, tools_with};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::timeout;

/// A harness with the built-in tools where `exec` may run these programs.
fn allowing(programs: &[&str], setup: HarnessSetup) -> Harness {
    let kit = Harness::with(setup);
    let exec = ExecSettings { programs: programs.iter().map(|name| (*name).to_owned()).collect() };
    let settings = ToolSettings { exec, ..ToolSettings::default() };
    kit.register_core(tools_with(settings, Arc::new(haft_core::NoMedia)));
    kit
}

async fn exec(kit: &Harness, input: Value) -> Ended {
    timeout(PATIENCE, kit.call("exec", input)).await.expect("the call ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_nothing_runs_and_the_refusal_says_how_to_allow_it() {
    let kit = allowing(&[], HarnessSetup::default());
    let ended = exec(&kit, json!({"program": "printf", "args": ["x"]})).await;
    assert_eq!(denied(&ended), "own");
    has(&ended.output.joined_text(), &["no program is allowed yet", "[tools.exec]\nprograms = [\"printf\"]"]);
    assert!(kit.answers().asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn words_reach_the_program_as_they_are() {
    let kit = allowing(&["printf"], HarnessSetup::default());
    let words = ["a b", "", "$HOME", "*", "it's", "\"q\"", "~", "a\nb", "-n", ";id", "`id`", "é"];
    let mut args = vec!["%s|"];
    args.extend(words);
    let text = done(&exec(&kit, json!({"program": "printf", "args": args})).await);
    assert_eq!(text, format!("{}\n[exit 0]", words.map(|word| format!("{word}|")).concat()));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_list_counts_in_every_mode() {
    for mode in [Mode::Default, Mode::Yolo, Mode::Full] {
        let kit = allowing(&["printf"], HarnessSetup { mode, ..HarnessSetup::default() });
        for program in ["id", "/usr/bin/printf", "env", "sh", "sudo"] {
            let ended = exec(&kit, json!({"program": program, "args": ["printf"]})).await;
            assert_eq!(denied(&ended), "own", "{program}");
        }
        for program in ["./x", "bin/x", "", "-x", "printf x"] {
            invalid(&exec(&kit, json!({"program": program})).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_is_judged_as_any_other() {
    let setup = HarnessSetup { answers: Answers::no(), ..HarnessSetup::default() };
    let kit = allowing(&["ls", "touch", "rm", "cat", "python3"], setup);
    kit.write("a", "x");
    kit.write(".env", "x");
    // It only reads.
    done(&exec(&kit, json!({"program": "ls"})).await);
    assert!(kit.answers().asked().is_empty());
    for (program, args) in
        [("touch", vec!["b"]), ("cat", vec![".env"]), ("ls", vec!["/"]), ("python3", vec!["-c", "print(1)"])]
    {
        let ended = exec(&kit, json!({"program": program, "args": args})).await;
        assert_eq!(denied(&ended), "user", "{program}");
    }
    let ended = exec(&kit, json!({"program": "rm", "args": ["-rf", "/"]})).await;
    assert_eq!(denied(&ended), "hard-deny");
    assert!(!kit.path("b").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_is_always_told() {
    let kit = allowing(&["cat", "false", "sleep", "kill", "nosuchprogram"], HarnessSetup::default());
    let text = done(&exec(&kit, json!({"program": "cat", "stdin": "in\n"})).await);
    assert_eq!(text, "in\n[exit 0]");
    assert_eq!(done(&exec(&kit, json!({"program": "cat"})).await), "[exit 0]");
    assert_eq!(done(&exec(&kit, json!({"program": "false"})).await), "[exit 1]");
    has(&done(&exec(&kit, json!({"program": "cat", "args": ["nope"]})).await), &["nope", "[exit 1]"]);
    let ended = exec(&kit, json!({"program": "sleep", "args": ["60"], "timeout": 50})).await;
    assert_eq!(ended.outcome, Outcome::TimedOut);
    has(&ended.output.joined_text(), &["timed out after 50 ms", "larger timeout"]);
    let missing = exec(&kit, json!({"program": "nosuchprogram"})).await;
    has(&failed(&missing, FailureKind::NotFound), &["no program nosuchprogram on the PATH"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_runs_in_the_workspace_or_the_named_folder() {
    let kit = allowing(&["pwd"], HarnessSetup::default());
    kit.write("sub/x", "x");
    kit.write("f", "x");
    let root = kit.workspace().display().to_string();
    assert_eq!(done(&exec(&kit, json!({"program": "pwd"})).await), format!("{root}\n[exit 0]"));
    let sub = done(&exec(&kit, json!({"program": "pwd", "cwd": "sub"})).await);
    assert_eq!(sub, format!("{root}/sub\n[exit 0]"));
    for cwd in ["gone", "f"] {
        let ended = exec(&kit, json!({"program": "pwd", "cwd": cwd})).await;
        has(&failed(&ended, FailureKind::NotFound), &["there is no folder", "nothing ran"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_output_keeps_both_ends() {
    let kit = allowing(&["seq"], HarnessSetup::default());
    let text = done(&exec(&kit, json!({"program": "seq", "args": ["1", "100000"]})).await);
    assert!(text.starts_with("1\n2\n") && text.contains("100000") && text.ends_with("[exit 0]"), "{text}");
    assert!(text.len() < 60_000);
}
