//! A run that was killed: what its log says once the session is taken up again, and what is left of it.

use crate::place::{Place, ended};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

/// Only a fault takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process, also told from a later one with the same number.
type Born = (u32, u64);

/// Says on the FIFO that it has begun, and never ends by itself.
const HOLD: &str = r#"sleep 300 & echo "begun" > "$HAFT_WORKSPACE/begun"; wait"#;

/// Two commands of one shell exclude each other, two calls of a tool that touches nothing don't: with these,
/// the kill finds one call ended and two running.
#[test]
fn case_f39_a_turn_killed_in_the_middle_gives_each_call_one_outcome_on_resume() {
    let place = Place::new();
    let hold = json!({
        "name": "hold", "description": "Holds on.", "command": HOLD, "concurrencySafe": true, "effects": {},
        "capabilities": ["fs.write"],
    });
    place.write(".haft/tools/hold/tool.json", &hold.to_string());
    let turn = json!({"calls": [
        {"tool": "bash", "input": {"command": "echo done at once"}},
        {"tool": "hold", "input": {}},
        {"tool": "hold", "input": {}},
    ]});
    place.write("first.jsonl", &format!("{turn}\n"));
    assert!(Command::new("mkfifo").arg(place.workspace().join("begun")).status().unwrap().success());
    let mut child = place
        .command(&["--yes", "run", "--model", "scripted:first.jsonl", "go"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_two(&place);
    let tree = tree_of(child.id());
    assert!(tree.len() >= 5, "haft and two shells with their sleeps: {tree:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until_gone(&tree);
    let told = ended(child).err;
    let session = told.lines().find_map(|line| line.strip_prefix("session ")).expect("it says its name");
    let session = session.split_once(';').unwrap().0;
    let ends = [("1", "completed")];
    assert_eq!(ends_of(&place, session), ends.map(owned));

    // A script goes on at the line of its turn, so the turn that was killed comes first here too.
    place.write("second.jsonl", &format!("{turn}\n{}\n", json!({"text": "It goes on."})));
    let words = ["--yes", "run", "--resume", session, "--model", "scripted:second.jsonl", "--output", "json"];
    let resumed = place.run(&words).with(0).json();
    assert_eq!((&resumed["end"], &resumed["text"]), (&json!("done"), &json!("It goes on.")));
    let ends = [("1", "completed"), ("2", "interrupted"), ("3", "interrupted")];
    assert_eq!(ends_of(&place, session), ends.map(owned));
}

/// Waits until two calls have said that they have begun.
fn wait_for_two(place: &Place) {
    // Open for writing too, so that it has no end while the second writer is still to come.
    let fifo = fs::File::options().read(true).write(true).open(place.workspace().join("begun")).unwrap();
    let (sender, begun) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(fifo).lines().take(2) {
            sender.send(line.unwrap()).unwrap();
        }
    });
    for _ in 0..2 {
        assert_eq!(begun.recv_timeout(PATIENCE).expect("both calls begin"), "begun");
    }
}

/// Each call's end, in the order of the log.
fn ends_of(place: &Place, session: &str) -> Vec<(String, String)> {
    let workspaces = fs::read_dir(place.home().join("state/workspaces")).unwrap();
    let workspace = workspaces.map(|entry| entry.unwrap().path()).next().unwrap();
    let log = fs::read_to_string(workspace.join("sessions").join(session).join("log.jsonl")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["entry"] == "ended")
        .map(|line| owned((line["call"].as_str().unwrap(), line["outcome"].as_str().unwrap())))
        .collect()
}

fn owned((call, outcome): (&str, &str)) -> (String, String) {
    (call.to_owned(), outcome.to_owned())
}

/// A process and all beneath it.
fn tree_of(root: u32) -> BTreeSet<Born> {
    let all: Vec<(u32, u32, u64)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|process| alive(process).map(|(parent, birth)| (process, parent, birth)))
        .collect();
    let mut processes = BTreeSet::from([root]);
    loop {
        let known = processes.len();
        for (process, parent, _) in &all {
            if processes.contains(parent) {
                processes.insert(*process);
            }
        }
        if processes.len() == known {
            break;
        }
    }
    let beneath = all.into_iter().filter(|(process, ..)| processes.contains(process));
    beneath.map(|(process, _, birth)| (process, birth)).collect()
}

/// A process's parent and its time of birth; none for one that is gone or only waits to be reaped.
fn alive(process: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if ["Z", "X"].contains(fields.first()?) {
        return None;
    }
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

fn wait_until_gone(tree: &BTreeSet<Born>) {
    let patience = Instant::now() + PATIENCE;
    let is_left = |(process, birth): &&Born| alive(*process).is_some_and(|(_, now)| now == *birth);
    while let Some(left) = tree.iter().find(is_left) {
        assert!(Instant::now() < patience, "{left:?} of {tree:?} outlives its run");
        std::thread::yield_now();
    }
}
