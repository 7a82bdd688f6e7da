//! What of haft's own environment a command can see: the allow-listed part, by no way more.

#![allow(unsafe_code, reason = "the environment has to be taken before the test harness makes threads")]

use crate::kit::{bash, kit};
use std::{
    env,
    process::{self, Command},
    sync::atomic::{AtomicBool, Ordering},
};

/// Makes a process take its environment at its start, as haft does.
const TAKES: &str = "HAFT_TEST_TAKES_ENVIRONMENT";

/// Whether this process does, and whether it worked.
static IS_KEEPER: AtomicBool = AtomicBool::new(false);
static IS_SCRUBBED: AtomicBool = AtomicBool::new(false);

/// Runs before `main`, where the process still has one thread.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    if env::var_os(TAKES).is_some() {
        IS_KEEPER.store(true, Ordering::SeqCst);
        IS_SCRUBBED.store(haft_os::Environment::take_at_start().is_scrubbed(), Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f42_no_secret_of_the_environment_reaches_a_command() {
    if IS_KEEPER.load(Ordering::SeqCst) {
        assert!(IS_SCRUBBED.load(Ordering::SeqCst));
        let command = format!("env; cat /proc/$PPID/environ /proc/{}/environ; echo 'the end'", process::id());
        println!("{}", bash(&kit(), &command).await.text);
        return;
    }
    let mut keeper = Command::new(env::current_exe().unwrap());
    keeper
        .args([
            "environment::case_f42_no_secret_of_the_environment_reaches_a_command",
            "--exact",
            "--nocapture",
        ])
        .env(TAKES, "1")
        .env("X_API_KEY", "s3cr3t-1")
        .env("HAFT_TOKEN", "s3cr3t-2")
        .env("LANG", "C");
    let output = keeper.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("PATH=") && text.contains("LANG=C") && text.contains("the end"), "{text}");
    assert!(!text.contains("s3cr3t-1") && !text.contains("s3cr3t-2"), "{text}");
    assert!(!text.contains("HAFT_TOKEN") && !text.contains("X_API_KEY"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_given_what_is_listed_and_nothing_else() {
    // What this very test was started with, by cargo or by hand, isn't on the list.
    let kit = kit();
    let given = bash(&kit, "env | cut -d= -f1 | sort").await.body;
    for name in ["PATH", "TERM", "GIT_EDITOR", "PAGER"] {
        assert!(given.lines().any(|line| line == name), "no {name} in {given}");
    }
    for name in given.lines() {
        let ours =
            name.starts_with("CARGO_PKG") || name.starts_with("CARGO_MANIFEST") || name.starts_with("HAFT");
        assert!(!ours, "{name}");
    }
    assert_eq!(bash(&kit, "echo $TERM $GIT_TERMINAL_PROMPT").await.body, "dumb 0\n");
}
