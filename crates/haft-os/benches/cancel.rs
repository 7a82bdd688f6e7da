//! How long a command's whole tree takes to be gone once it is cancelled: 1,000 commands, 16 in flight, each cancelled
//! at some moment of its first 200 ms. A tree is a shell, a child, and a child in a session of its own.
//!
//! Beside it what a program gets from its runtime alone: kill the process, and wait for it. What that leaves behind is
//! counted.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a bench fails by panicking, and starts its peer itself"
)]

use haft_core::{Allowance, Cancel, Command, Confinement, Processes as _, RealPath, Stdio};
use haft_os::{Environment, OsProcesses, Sandbox};
use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::Semaphore, task::JoinSet, time::sleep};

const COMMANDS: u32 = 1_000;
const IN_FLIGHT: usize = 16;

/// A tree that nobody else has.
fn script(mark: u32) -> String {
    format!("sleep {mark} & (setsid sleep {mark} &); echo up; wait")
}

/// The moment to cancel, different for each and the same in every run.
fn moment(number: u32) -> Duration {
    let spread = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) >> 12;
    Duration::from_micros(u64::from(spread % 200_000))
}

/// Processes with this mark that are alive.
fn alive(mark: u32) -> usize {
    let mark = mark.to_string();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())).count()
}

/// The open descriptors of this process.
fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// How many descriptors are open that weren't before, once what ends in the background has ended.
async fn left_open(before: usize) -> usize {
    for _ in 0..50 {
        if open_files() <= before {
            break;
        }
        sleep(Duration::from_millis(100)).await;
    }
    open_files().saturating_sub(before)
}

async fn by_haft(processes: OsProcesses, mark: u32, confined: bool) -> Vec<Duration> {
    let (room, processes) = (Arc::new(Semaphore::new(IN_FLIGHT)), Arc::new(processes));
    let mut running = JoinSet::new();
    for number in 0..COMMANDS {
        let (room, processes) = (Arc::clone(&room), Arc::clone(&processes));
        running.spawn(async move {
            let _place = room.acquire().await.unwrap();
            let argv = ["sh", "-c", &script(mark)].map(str::to_owned).to_vec();
            let command = Command {
                merged: true,
                confined: confined.then(Allowance::default),
                ..Command::new(argv, RealPath::new("/tmp", ""))
            };
            let cancel = Cancel::new();
            let fire = async {
                sleep(moment(number)).await;
                cancel.fire();
                Instant::now()
            };
            let mut ignore = |_: Stdio, _: &[u8]| {};
            let (ended, fired) = tokio::join!(
                async {
                    let _ = processes.run(command, &cancel, &mut ignore).await;
                    Instant::now()
                },
                fire
            );
            ended.saturating_duration_since(fired)
        });
    }
    running.join_all().await
}

async fn by_runtime(mark: u32) -> Vec<Duration> {
    let room = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut running = JoinSet::new();
    for number in 0..COMMANDS {
        let room = Arc::clone(&room);
        running.spawn(async move {
            let _place = room.acquire().await.unwrap();
            let mut command = tokio::process::Command::new("sh");
            command.args(["-c", &script(mark)]).stdin(std::process::Stdio::null());
            let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
            sleep(moment(number)).await;
            let fired = Instant::now();
            child.kill().await.unwrap();
            fired.elapsed()
        });
    }
    running.join_all().await
}

fn row(name: &str, mut times: Vec<Duration>, left: (usize, usize)) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1_000.0;
    println!("| {name} | {:.1} | {:.1} | {:.1} | {} | {} |", at(50), at(99), at(100), left.0, left.1);
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    println!("| who cancels | p50 ms | p99 ms | longest ms | processes left | descriptors left |");
    println!("|---|---:|---:|---:|---:|---:|");
    let state = tempfile::tempdir().unwrap();
    let confinement = Confinement { writable: vec!["/tmp".to_owned()], ..Confinement::default() };
    let sandbox = Sandbox::new(confinement, state.path().to_owned());
    println!("<!-- sandbox: {:?} -->", sandbox.confined().layers);
    let plain = || OsProcesses::new(Environment::of_process());
    let before = open_files();
    let times = by_haft(plain(), 71_001, false).await;
    row("haft", times, (alive(71_001), left_open(before).await));
    let times = by_haft(plain().confined_by(sandbox), 71_002, true).await;
    row("haft, in the sandbox", times, (alive(71_002), left_open(before).await));
    let times = by_runtime(71_003).await;
    let left = alive(71_003);
    row("kill and wait", times, (left, open_files().saturating_sub(before)));
    let _ = std::process::Command::new("pkill").args(["-f", "sleep 71003"]).status();
}
