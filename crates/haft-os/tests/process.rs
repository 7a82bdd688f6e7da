//! Real processes: whatever a command does, its call returns and nothing of it is left.
//!
//! Processes are told apart by a length of sleep that no other test uses. Limits are one-sided: how long
//! something may take at most, never how long it must.

#![allow(unsafe_code, reason = "roles have to start before the test harness makes threads")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use haft_core::{
    Cancel, Command, Exit, Failure, FailureKind, Processes, RealPath, Status, Stdio, StopReason,
    TerminalSize, Tether,
};
use haft_os::{ControlGroups, Environment, Limits, OsProcesses};
use std::{
    env,
    fs::{self, read_dir},
    io::{BufRead, BufReader, Write},
    os::unix::fs::{PermissionsExt, symlink},
    process::{self, Command as StdCommand},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};
use tokio::{select, sync::Notify, task::yield_now, time::sleep};

/// How long something that must happen may take on a slow machine.
const LIMIT: Duration = Duration::from_secs(20);
/// Names the test that has a process to itself.
const ALONE: &str = "HAFT_TEST_ALONE";
/// Names what a process does instead of running tests.
const ROLE: &str = "HAFT_TEST_ROLE";
/// Hands a role its mark.
const MARK: &str = "HAFT_TEST_MARK";

type Multi = tokio::runtime::Runtime;

/// What a command gave.
#[derive(Debug)]
struct Ran {
    exit: Exit,
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Ran {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

fn processes() -> OsProcesses {
    OsProcesses::new(Environment::of_process())
}

fn command(argv: &[&str]) -> Command {
    Command::new(argv.iter().map(|&word| word.to_owned()).collect(), RealPath::new("/", "tmp"))
}

fn sh(script: impl AsRef<str>) -> Command {
    command(&["sh", "-c", script.as_ref()])
}

async fn run(command: Command) -> Result<Ran, Failure> {
    run_until(command, &Cancel::new(), "").await
}

/// Runs it and cancels it once it has written `word`.
async fn run_until(command: Command, cancel: &Cancel, word: &str) -> Result<Ran, Failure> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut take = |stream: Stdio, piece: &[u8]| {
        assert!(piece.len() <= 64 * 1024);
        match stream {
            Stdio::Out => out.extend_from_slice(piece),
            Stdio::Err => err.extend_from_slice(piece),
        }
        if !word.is_empty() && String::from_utf8_lossy(&out).contains(word) {
            cancel.fire();
        }
    };
    let exit = processes().run(command, cancel, &mut take).await?;
    Ok(Ran { exit, out, err })
}

/// A length of sleep that stands for one test.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("300.{:08}{:03}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Ids of all processes, from the numbers in `/proc`.
fn everybody() -> Vec<i32> {
    read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The processes with this mark among their arguments.
fn marked(mark: &str) -> Vec<i32> {
    let mut found = everybody();
    found.retain(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(mark)
    });
    found
}

/// The children of this process, also those that have ended and weren't reaped.
fn children() -> Vec<i32> {
    let mut found = everybody();
    found.retain(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent == Some(process::id().to_string().as_str())
    });
    found
}

fn open_files() -> usize {
    read_dir("/proc/self/fd").unwrap().count()
}

/// The control groups that this process made and that are left, in its own group and around it.
fn groups() -> usize {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let own = read("/proc/self/cgroup");
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned();
    let mounts = read("/proc/self/mountinfo");
    let points =
        mounts.lines().filter(|line| line.contains(" - cgroup2 ")).filter_map(|line| line.split(' ').nth(4));
    let folders = points.flat_map(|point| [format!("{point}{own}"), format!("{point}{own}/..")]);
    let start = format!("haft-{}-", process::id());
    let entries = folders.filter_map(|folder| read_dir(folder).ok()).flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start)).count()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "{what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Runs the test of that name again in a process of its own, for counts that others would disturb; `true`
/// in that process.
fn is_alone(test: &str) -> bool {
    if env::var(ALONE).is_ok_and(|name| name == test) {
        return true;
    }
    let mut alone = StdCommand::new(env::current_exe().unwrap());
    let status = alone.args([test, "--exact", "--nocapture"]).env(ALONE, test).status().unwrap();
    assert!(status.success(), "{test} failed in its own process");
    false
}

/// Roles start before `main`, where the process still has one thread.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    match env::var(ROLE).as_deref() {
        Ok("victim") => victim(),
        Ok("keeper") => keeper(),
        Ok("secrets") => secrets(),
        _ => return,
    }
    process::exit(0);
}

fn role(name: &str) -> StdCommand {
    let mut role = StdCommand::new(env::current_exe().unwrap());
    role.env(ROLE, name);
    role
}

fn print(piece: &[u8]) {
    let mut stdout = std::io::stdout();
    stdout.write_all(piece).unwrap();
    stdout.flush().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_returns_although_children_hold_its_output() {
    for script in [
        "sleep MARK & echo ready",
        "setsid sleep MARK & echo ready",
        "sh -c 'while :; do echo chat; done; : MARK' & echo ready",
    ] {
        let mark = mark();
        let start = Instant::now();
        let ran = run(sh(script.replace("MARK", &mark))).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(3), "{script}: {:?}", start.elapsed());
        assert!(ran.text().contains("ready"), "{script}");
        assert_eq!((ran.exit.status, ran.exit.reason), (Status::Code(0), StopReason::Itself), "{script}");
        assert_eq!((ran.exit.survivors.len(), ran.exit.survivor_count), (1, 1), "{script}");
        let name = ran.exit.survivors[0].name.as_str();
        assert!(["sleep", "setsid", "sh"].contains(&name), "{script}: {name}");
        assert!(marked(&mark).is_empty(), "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_with_its_shell_is_no_survivor() {
    let ran = run(sh("seq 1 1000 | cat | tail -1")).await.unwrap();
    assert_eq!((ran.text().as_str(), ran.exit.survivor_count), ("1000\n", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_session_and_parents_is_no_escape() {
    let mark = mark();
    let script =
        format!("(setsid sh -c '(trap \"\" TERM HUP; setsid sleep {mark} & echo ready) &' &); sleep {mark}");
    let ran = run_until(sh(script), &Cancel::new(), "ready").await.unwrap();
    assert_eq!(ran.exit.reason, StopReason::Cancelled);
    assert!(marked(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_what_ignores_to_be_told_so() {
    let mark = mark();
    let folder = tempfile::tempdir().unwrap();
    let late = folder.path().join("late");
    let mut command = sh(format!(
        "trap '' TERM; (sleep 6; echo late > {late}; : {mark}) & echo partial; sleep {mark}; sleep {mark}",
        late = late.display()
    ));
    command.deadline = Some(Duration::from_millis(500));
    let start = Instant::now();
    let ran = run(command).await.unwrap();
    assert!(start.elapsed() < Duration::from_millis(500 + 2000 + 2500), "{:?}", start.elapsed());
    assert_eq!((ran.exit.status, ran.exit.reason), (Status::Signal(9), StopReason::Deadline));
    assert_eq!(ran.text(), "partial\n");
    // Nobody is left who could write it later.
    assert!(marked(&mark).is_empty());
    assert!(!late.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_command_may_clean_up() {
    let script = "trap 'echo cleaned; exit 7' TERM; echo up; while :; do sleep 0.01; done";
    let ran = run_until(sh(script), &Cancel::new(), "up").await.unwrap();
    assert_eq!((ran.exit.status, ran.exit.reason), (Status::Code(7), StopReason::Cancelled));
    assert_eq!(ran.text(), "up\ncleaned\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_by_a_parent_that_ended_is_asked_to_end_too() {
    let folder = tempfile::tempdir().unwrap();
    let (set, asked) = (folder.path().join("set"), folder.path().join("asked"));
    // The child comes after all were asked, and is alone once it can be asked.
    let child = format!("trap 'echo x > {}; exit' TERM; echo x > {}", asked.display(), set.display());
    let child = format!("({child}; while :; do sleep 0.01; done) &");
    let wait = format!("while [ ! -e {} ]; do sleep 0.01; done", set.display());
    let script = "trap on_term TERM; echo up; while :; do sleep 0.01; done";
    let script = format!("on_term() {{ {child} {wait}; exit 3; }}; {script}");
    let ran = run_until(sh(script), &Cancel::new(), "up").await.unwrap();
    assert_eq!((ran.exit.status, ran.exit.reason), (Status::Code(3), StopReason::Cancelled));
    assert!(asked.exists(), "it was killed unasked");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_cancelled_while_it_starts_is_over_once_it_is_gone() {
    for round in 0..40 {
        let (mark, cancel) = (mark(), Cancel::new());
        // A little later each time, so that it meets each step of the start.
        let fire = async {
            for _ in 0..round * 10 {
                yield_now().await;
            }
            cancel.fire();
        };
        let (ran, ()) = tokio::join!(run_until(sh(format!("sleep {mark}; :")), &cancel, ""), fire);
        match ran {
            Ok(ran) => assert_eq!(ran.exit.reason, StopReason::Cancelled),
            Err(failure) => assert_eq!(failure.kind, FailureKind::Cancelled),
        }
        assert!(marked(&mark).is_empty(), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_starts_once_cancelled() {
    let cancel = Cancel::new();
    cancel.fire();
    let failure = run_until(sh("echo x"), &cancel, "").await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_input_comes_back_whole() {
    let mut command = command(&["cat"]);
    command.stdin =
        (0..1_048_576_u32).map(|index| index.to_le_bytes()[usize::from(index % 3 == 0)]).collect();
    let sent = command.stdin.clone();
    let ran = run(command).await.unwrap();
    assert!(ran.out == sent, "{} bytes came back", ran.out.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn input_that_is_not_wanted_is_no_error() {
    for script in ["exec <&-; echo done", "exit 0"] {
        let mut command = sh(script);
        command.stdin = vec![b'x'; 1_048_576];
        assert_eq!(run(command).await.unwrap().exit.status, Status::Code(0), "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn input_is_closed_where_there_is_none() {
    assert_eq!(run(sh("cat; echo end")).await.unwrap().text(), "end\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_any_length_is_seen_whole_in_flat_memory() {
    if !is_alone("output_of_any_length_is_seen_whole_in_flat_memory") {
        return;
    }
    let peak_kib = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    run(sh("echo warm")).await.unwrap();
    let before = peak_kib();
    let mut count = 0;
    let mut take = |_: Stdio, piece: &[u8]| count += piece.len();
    let exit = processes().run(sh("head -c 67108864 /dev/zero"), &Cancel::new(), &mut take).await.unwrap();
    assert_eq!((exit.status, count), (Status::Code(0), 67_108_864));
    assert!(peak_kib() - before < 16 * 1024, "from {before} to {} KiB", peak_kib());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_never_stops_writing_can_be_cancelled() {
    let cancel = Cancel::new();
    let mut take = |_: Stdio, _: &[u8]| cancel.fire();
    let exit = processes().run(command(&["yes"]), &cancel, &mut take).await.unwrap();
    assert_eq!((exit.status, exit.reason), (Status::Signal(15), StopReason::Cancelled));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_stay_as_they_are() {
    let ran = run(sh(r"printf '\377\000\342'; printf '\234\223'")).await.unwrap();
    assert_eq!(ran.out, b"\xff\0\xe2\x9c\x93");
}

#[tokio::test(flavor = "multi_thread")]
async fn merged_streams_keep_their_order() {
    let script = "echo a; echo b >&2; echo c; echo d >&2";
    let apart = run(sh(script)).await.unwrap();
    assert_eq!((apart.out.as_slice(), apart.err.as_slice()), (&b"a\nc\n"[..], &b"b\nd\n"[..]));
    let mut command = sh(script);
    command.merged = true;
    let merged = run(command).await.unwrap();
    assert_eq!((merged.text().as_str(), merged.err.len()), ("a\nb\nc\nd\n", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_children_end_as_they_end() {
    for (script, status) in [
        ("exec >&- 2>&-; cat > /dev/null; exit 4", Status::Code(4)),
        ("exec sh -c 'exec sh -c \"exit 5\"'", Status::Code(5)),
        ("kill -9 $$", Status::Signal(9)),
        ("kill -TERM 0", Status::Signal(15)),
        ("kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; kill -USR1 $PPID; exit 6", Status::Code(6)),
    ] {
        let mut command = sh(script);
        command.stdin = vec![b'x'; 300_000];
        let ran = run(command).await.unwrap();
        assert_eq!((ran.exit.status, ran.exit.reason), (status, StopReason::Itself), "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_may_remove_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let mut command = sh("pwd; rmdir \"$PWD\"; exit 8");
    command.cwd = RealPath::new(folder.path().to_str().unwrap(), "inner");
    let ran = run(command.clone()).await.unwrap();
    assert_eq!((ran.exit.status, ran.text()), (Status::Code(8), format!("{}\n", inner.display())));
    let failure = run(command).await.unwrap_err();
    assert!(failure.text.contains("inner"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain");
    fs::write(&file, "x").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let long = "x".repeat(300_000);
    for (argv, kind, word) in [
        (vec!["no-such-program-here", "x"], FailureKind::NotFound, "no-such-program-here"),
        (vec!["./no-such-program-here"], FailureKind::NotFound, "/tmp"),
        (vec![file.to_str().unwrap()], FailureKind::Permission, "plain"),
        (vec!["echo", &long], FailureKind::InvalidInput, "too long"),
        (vec!["echo", "a\0b"], FailureKind::InvalidInput, "NUL"),
        (vec![], FailureKind::InvalidInput, "empty"),
    ] {
        let failure = run(command(&argv)).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.text.contains(word), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_looked_up_on_the_path_of_the_child() {
    let folder = tempfile::tempdir().unwrap();
    // A link: a program that was just written may be busy, while other tests fork.
    symlink("/bin/sh", folder.path().join("only-here")).unwrap();
    let mut command = command(&["only-here", "-c", "echo found"]);
    command.env = vec![("PATH".into(), folder.path().to_str().unwrap().into())];
    assert_eq!(run(command).await.unwrap().text(), "found\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_comes_back_by_its_own_file() {
    let script = "printf %s $HAFT_REPORT; echo home > $HAFT_REPORT; head -c 99999 /dev/zero >> $HAFT_REPORT";
    let mut command = sh(script);
    command.report = true;
    let ran = run(command).await.unwrap();
    assert_eq!((&ran.exit.report[..5], ran.exit.report.len()), (&b"home\n"[..], 64 * 1024));
    assert!(!fs::exists(ran.text()).unwrap());
    let mut command = sh("rm $HAFT_REPORT; ln -s /etc/passwd $HAFT_REPORT");
    command.report = true;
    assert!(run(command).await.unwrap().exit.report.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_gets_three_descriptors_no_terminal_and_no_blocked_signals() {
    let inherited = fs::File::open("/dev/null").unwrap();
    // A copy without close-on-exec, such as haft may have been started with.
    // SAFETY: copies an open descriptor.
    let inherited = unsafe { libc::dup(std::os::fd::AsRawFd::as_raw_fd(&inherited)) };
    let script =
        "ls /proc/self/fd; if (: < /dev/tty) 2> /dev/null; then echo tty; fi; grep SigBlk /proc/self/status";
    let ran = run(sh(script)).await.unwrap();
    // SAFETY: it was opened above, and nothing else knows it.
    unsafe { libc::close(inherited) };
    // The fourth is the listing itself.
    assert_eq!(ran.text(), "0\n1\n2\n3\nSigBlk:\t0000000000000000\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_call_leaves_nothing() {
    if !is_alone("dropping_a_call_leaves_nothing") {
        return;
    }
    let mark = mark();
    let script = format!("trap '' TERM; setsid sleep {mark} & sleep {mark} & echo up; wait");
    let up = Notify::new();
    let mut take = |_: Stdio, _: &[u8]| up.notify_one();
    let cancel = Cancel::new();
    let processes = processes();
    select! {
        ended = processes.run(sh(script), &cancel, &mut take) => panic!("{ended:?}"),
        () = up.notified() => {}
    }
    until("its processes live on", || marked(&mark).is_empty()).await;
    until("its supervisor is left", || children().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_end_anywhere_leave_no_process_and_no_descriptor() {
    if !is_alone("calls_that_end_anywhere_leave_no_process_and_no_descriptor") {
        return;
    }
    run(sh("echo warm")).await.unwrap();
    let before = open_files();
    let mark = mark();
    let script = format!("sleep {mark} & (setsid sleep {mark} &); echo up; wait; cat");
    let processes = processes();
    let mut seed = 0x2545_F491_u32;
    for round in 0..100 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let time = Duration::from_micros(u64::from(seed >> 18));
        let mut command = sh(&script);
        command.stdin = vec![b'x'; 200_000];
        command.report = true;
        let cancel = Cancel::new();
        let mut take = |_: Stdio, _: &[u8]| {};
        let running = processes.run(command, &cancel, &mut take);
        if round % 2 == 0 {
            drop(tokio::time::timeout(time, running).await);
        } else {
            let fire = async {
                sleep(time).await;
                cancel.fire();
            };
            drop(tokio::join!(running, fire));
        }
    }
    until("processes live on", || marked(&mark).is_empty()).await;
    until("supervisors are left", || children().is_empty()).await;
    until("descriptors are left", || open_files() <= before).await;
    until("control groups are left", || groups() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_children_end_together() {
    let mark = mark();
    let script = format!("for i in $(seq 100); do sleep {mark} & done; echo up; exit 3");
    let ran = run(sh(script)).await.unwrap();
    assert_eq!((ran.exit.status, ran.exit.survivors.len()), (Status::Code(3), 16));
    assert_eq!(ran.exit.survivor_count, 100);
    assert!(marked(&mark).is_empty());
    let script = format!("trap '' TERM; for i in $(seq 100); do setsid sleep {mark} & done; echo up; wait");
    let ran = run_until(sh(script), &Cancel::new(), "up").await.unwrap();
    assert_eq!(ran.exit.reason, StopReason::Cancelled);
    assert!(marked(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_that_is_killed_or_stopped_changes_nothing() {
    let mark = mark();
    let ran = run(sh(format!("sleep {mark} & kill -9 $PPID; sleep {mark}"))).await.unwrap();
    assert_eq!(ran.exit.status, Status::Signal(9));
    until("its processes live on", || marked(&mark).is_empty()).await;
    let script = format!("trap '' TERM; kill -STOP $PPID; echo up; sleep {mark}");
    let ran = run_until(sh(script), &Cancel::new(), "up").await.unwrap();
    assert_eq!(ran.exit.reason, StopReason::Cancelled);
    assert!(marked(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kills_its_supervisor_and_leaves_its_session_is_ended_by_its_control_group() {
    if let ControlGroups::Missing(why) = ControlGroups::detect() {
        println!("left out: {why}");
        return;
    }
    let mark = mark();
    let script = format!("setsid sh -c 'kill -9 '$PPID'; exec sleep {mark}' & sleep {mark}");
    let ran = run(sh(script)).await.unwrap();
    assert_eq!(ran.exit.status, Status::Signal(9));
    until("it got away", || marked(&mark).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_a_control_group_of_its_own_that_goes_with_it() {
    if let ControlGroups::Missing(why) = ControlGroups::detect() {
        println!("left out: {why}");
        return;
    }
    if !is_alone("a_command_has_a_control_group_of_its_own_that_goes_with_it") {
        return;
    }
    let ran = run(sh("cat /proc/self/cgroup; sh -c 'cat /proc/self/cgroup' | grep -c haft-")).await.unwrap();
    let text = ran.text();
    let line = text.lines().find(|line| line.starts_with("0::")).unwrap();
    let group = line.rsplit('/').next().unwrap();
    assert!(group.starts_with(&format!("haft-{}-", process::id())) && text.ends_with("1\n"), "{text}");
    until("its group is left", || groups() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_processes_is_stopped_at_its_limit() {
    let mark = mark();
    let limits = Limits { processes: 30, ..Limits::default() };
    let processes = processes().limited_to(limits);
    let mut told = Vec::new();
    let mut take = |_: Stdio, piece: &[u8]| told.extend_from_slice(piece);
    // At most 150, should nothing stop it.
    let script = format!("for i in $(seq 150); do sleep {mark} & done; wait");
    let command = Command { deadline: Some(3 * LIMIT), ..sh(script) };
    let exit = processes.run(command, &Cancel::new(), &mut take).await.unwrap();
    assert_eq!(exit.reason, StopReason::Itself, "{exit:?}");
    assert_ne!(exit.status, Status::Code(0));
    let told = String::from_utf8_lossy(&told).to_lowercase();
    assert!(told.contains("more than 30 processes") || told.contains("fork"), "{told}");
    until("its processes live on", || marked(&mark).is_empty()).await;
}

/// Runs a command for as long as it is let.
fn victim() {
    let mark = env::var(MARK).unwrap();
    let script = format!(
        "trap '' TERM; setsid sleep {mark} & (setsid sleep {mark} &); sleep {mark} & echo ready $PPID; wait"
    );
    Multi::new().unwrap().block_on(async {
        let mut take = |_: Stdio, piece: &[u8]| print(piece);
        drop(processes().run(sh(script), &Cancel::new(), &mut take).await);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_haft_kills_what_it_started() {
    let mark = mark();
    let mut victim = role("victim").env(MARK, &mark).stdout(process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(victim.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let supervisor: i32 = line.trim().strip_prefix("ready ").unwrap().parse().unwrap();
    assert!(!marked(&mark).is_empty());
    victim.kill().unwrap();
    victim.wait().unwrap();
    until("its processes live on", || marked(&mark).is_empty()).await;
    let name = || fs::read_to_string(format!("/proc/{supervisor}/comm")).unwrap_or_default();
    until("its supervisor lives on", || name().trim() != "haft-supervisor" || is_zombie(supervisor)).await;
}

/// Whether it has ended and waits for whoever adopted it.
fn is_zombie(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

/// A script that counts in a file, prints more than a pipe holds, and leaves a child behind.
fn counting(mark: &str, file: &str) -> String {
    format!(
        "(setsid sleep {mark} &); echo ready $$; n=0; while :; do n=$((n+1)); printf '%04096d\\n' 0; echo $n > {file}; \
         sleep 0.01; : {mark}; done"
    )
}

fn kept(script: String) -> Command {
    Command { keep: true, ..sh(script) }
}

fn counted(file: &str) -> u64 {
    fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

/// That it goes on though nobody listens, and that nothing of it is left once its program is killed.
async fn lives_on_until_killed(mark: &str, file: &str, program: i32) {
    let before = counted(file);
    // More than a pipe holds, were it not read.
    until("it goes on", || counted(file) > before + 40).await;
    assert!(StdCommand::new("kill").args(["-9", &program.to_string()]).status().unwrap().success());
    until("what it left behind lives on", || marked(mark).is_empty()).await;
}

/// Runs a command that is to be kept for as long as it is let.
fn keeper() {
    let mark = env::var(MARK).unwrap();
    let script = counting(&mark, &format!("/tmp/haft-test-{mark}"));
    Multi::new().unwrap().block_on(async {
        let mut take = |_: Stdio, piece: &[u8]| print(piece);
        drop(processes().run(kept(script), &Cancel::new(), &mut take).await);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_kept_outlives_a_killed_haft_and_ends_with_its_program() {
    let mark = mark();
    let file = format!("/tmp/haft-test-{mark}");
    let mut keeper = role("keeper").env(MARK, &mark).stdout(process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(keeper.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let program: i32 = line.trim().strip_prefix("ready ").unwrap().parse().unwrap();
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    lives_on_until_killed(&mark, &file, program).await;
    drop(fs::remove_file(file));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_leaves_only_what_is_to_be_kept_and_cancelling_ends_that_too() {
    if !is_alone("dropping_leaves_only_what_is_to_be_kept_and_cancelling_ends_that_too") {
        return;
    }
    let mark = mark();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("count").to_str().unwrap().to_owned();
    let tether = Tether::closed();
    let command = Command { tether: Some(tether.clone()), ..kept(counting(&mark, &file)) };
    let (up, cancel, processes) = (Notify::new(), Cancel::new(), processes());
    let mut take = |_: Stdio, _: &[u8]| up.notify_one();
    select! {
        ended = processes.run(command, &cancel, &mut take) => panic!("{ended:?}"),
        () = async { up.notified().await; tether.running().await } => {}
    }
    lives_on_until_killed(&mark, &file, tether.pid().unwrap()).await;
    until("its supervisor is left", || children().is_empty()).await;
    let ran = run_until(kept(counting(&mark, &file)), &Cancel::new(), "ready").await.unwrap();
    assert_eq!(ran.exit.reason, StopReason::Cancelled);
    assert!(marked(&mark).is_empty());
    // Also one that is dropped while it is told to end.
    let cancel = Cancel::new();
    let script = format!("trap '' TERM; echo ready; sleep {mark}; sleep {mark}");
    let mut take = |_: Stdio, _: &[u8]| cancel.fire();
    let running = processes.run(kept(script), &cancel, &mut take);
    assert!(tokio::time::timeout(Duration::from_secs(1), running).await.is_err());
    until("it lives on", || marked(&mark).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_comes_while_it_runs_and_its_end_is_seen() {
    let tether = Tether::open();
    let mut command = sh("while read line; do echo got $line; done; echo end");
    command.tether = Some(tether.clone());
    let mut out = Vec::new();
    let other = tether.clone();
    let mut take = move |_: Stdio, piece: &[u8]| {
        out.extend_from_slice(piece);
        match String::from_utf8_lossy(&out).as_ref() {
            "got a\n" => other.write(b"b\n".to_vec()).unwrap(),
            "got a\ngot b\n" => other.close().unwrap(),
            _ => {}
        }
    };
    tether.write(b"a\n".to_vec()).unwrap();
    let exit = processes().run(command, &Cancel::new(), &mut take).await.unwrap();
    assert_eq!((exit.status, tether.waiting()), (Status::Code(0), 0));
    assert!(tether.pid().is_some_and(|pid| pid > 1));
    // What no command reads any more is refused.
    let tether = Tether::open();
    tether.write(vec![b'x'; 300_000]).unwrap();
    let mut command = sh("exec <&-; sleep 0.2");
    command.tether = Some(tether.clone());
    run(command).await.unwrap();
    assert!(tether.write(b"y".to_vec()).unwrap_err().text.contains("closed its input"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_its_own_and_of_the_size_that_was_asked_for() {
    let mut command =
        sh("test -t 0 && test -t 1 && test -t 2 && echo all; stty size; echo direct > /dev/tty");
    command.terminal = Some(TerminalSize { columns: 77, rows: 11 });
    let ran = run(command).await.unwrap();
    assert_eq!(ran.text().replace('\r', ""), "all\n11 77\ndirect\n");
    // A child that holds it on doesn't hold the call.
    let mark = mark();
    let mut command = sh(format!("sleep {mark} & echo ready"));
    command.terminal = Some(TerminalSize::default());
    let start = Instant::now();
    let ran = run(command).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(3) && ran.text().contains("ready"), "{ran:?}");
    assert!(marked(&mark).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_told_with_who_waits_and_ends_with_the_next_word() {
    let (tether, mark) = (Tether::open(), mark());
    let mut command = sh(format!("echo up; read x; echo more; sleep {mark}"));
    (command.tether, command.quiet_after) = (Some(tether.clone()), Some(Duration::from_millis(300)));
    let (cancel, processes) = (Cancel::new(), processes());
    let mut take = |_: Stdio, _: &[u8]| {};
    let looking = async {
        let quiet = tether.silent().await;
        assert_eq!(quiet.waiting.len(), 1, "{quiet:?}");
        assert_eq!(quiet.waiting[0].name, "sh");
        tether.write(b"\n".to_vec()).unwrap();
        until("it is no longer silent", || tether.quiet().is_none()).await;
        let quiet = tether.silent().await;
        assert_eq!(quiet.waiting[0].name, "sleep");
        cancel.fire();
    };
    let (exit, ()) = tokio::join!(processes.run(command, &cancel, &mut take), looking);
    assert_eq!(exit.unwrap().reason, StopReason::Cancelled);
}

/// Takes its environment as haft does, and has a command look for it.
fn secrets() {
    let environment = Environment::take_at_start();
    assert!(environment.is_scrubbed());
    assert_eq!(environment.get("X_API_KEY"), Some("s3cr3t-1"));
    assert!(env::var("X_API_KEY").is_err() && env::var("PATH").is_ok());
    let script = format!("env; cat /proc/$PPID/environ /proc/{}/environ; echo end", process::id());
    let processes = OsProcesses::new(environment.pass(["SHOWN".to_owned()]));
    Multi::new().unwrap().block_on(async {
        let mut take = |_: Stdio, piece: &[u8]| print(piece);
        processes.run(sh(script), &Cancel::new(), &mut take).await.unwrap();
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_the_environment_reaches_a_child() {
    let mut keeper = role("secrets");
    keeper.env("X_API_KEY", "s3cr3t-1").env("HAFT_TOKEN", "s3cr3t-2").env("SHOWN", "by-the-operator");
    let output = keeper.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.contains("PATH=") && text.contains("SHOWN=by-the-operator") && text.ends_with("end\n"),
        "{text}"
    );
    assert!(!text.contains("s3cr3t"), "{text}");
}
