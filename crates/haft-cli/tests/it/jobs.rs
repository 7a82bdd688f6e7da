//! Commands in the background of the real binary: they live as long as its session, and no longer unless asked.

use crate::{place::Place, serving::Client};
use serde_json::{Value, json};
use std::{
    fs,
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// Only a fault takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A length of sleep that stands for one test.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("300.{:08}{:03}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The living processes with this mark among their arguments.
fn marked(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let has_mark = |pid: &i32| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(mark) && !name.starts_with("haft")
    };
    pids.filter(has_mark).collect()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::yield_now();
    }
}

fn serving(place: &Place) -> Command {
    place.command(&["--yes", "serve", "mcp"])
}

fn background(command: &str) -> Value {
    json!({"command": command, "background": true})
}

/// The name of the job that a result says goes on.
#[track_caller]
fn id_in(text: &str) -> String {
    let (_, rest) = text.split_once("[runs as ").unwrap_or_else(|| panic!("no job goes on: {text}"));
    rest.split([',', ']']).next().unwrap().to_owned()
}

/// The process that a result names.
#[track_caller]
fn pid_in(text: &str) -> String {
    let (_, rest) = text.split_once(", pid ").unwrap_or_else(|| panic!("no process is named: {text}"));
    rest.split(']').next().unwrap().to_owned()
}

#[test]
fn a_served_session_looks_after_its_jobs_and_takes_them_along() {
    let (place, mark) = (Place::new(), mark());
    let mut client = Client::greeted(serving(&place));
    let said = client.call("bash", &background(&format!("echo up; read x; echo got $x; sleep {mark}")));
    assert!(said.contains("up\n"), "{said}");
    let id = id_in(&said);
    let told = client.call("job", &json!({"action": "write", "id": id, "text": "it\n"}));
    assert!(told.contains("got it\n") && !told.contains("up\n"), "{told}");
    let stays =
        client.call("bash", &background(&format!("trap '' TERM; echo up; sleep {mark}; sleep {mark}")));
    let stopped = client.call("job", &json!({"action": "stop", "id": id}));
    assert!(stopped.contains("nothing of it is left"), "{stopped}");
    assert!(!marked(&mark).is_empty());
    client.leave();
    assert!(marked(&mark).is_empty(), "{stays}");
    let log = place.run(&["log", "mcp", "--json"]).with(0).json();
    let how: Vec<&Value> = log["jobs"].as_array().unwrap().iter().map(|job| &job["how"]).collect();
    assert_eq!(how, ["stopped", "stopped"]);
}

#[test]
fn a_killed_haft_leaves_no_job_and_the_next_one_tells_of_it() {
    let (place, ends, stays) = (Place::new(), mark(), mark());
    let mut client = Client::greeted(serving(&place));
    let lost =
        id_in(&client.call("bash", &background(&format!("echo up; (setsid sleep {ends} &); sleep {ends}"))));
    let input = json!({"command": format!("echo up; sleep {stays}"), "background": true, "keep": true});
    let said = client.call("bash", &input);
    let (kept, pid) = (id_in(&said), pid_in(&said));
    assert!(said.contains(&format!("kill -9 {pid}")), "{said}");
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    until("jobs outlive haft", || marked(&ends).is_empty());
    assert!(!marked(&stays).is_empty());
    let mut client = Client::greeted(serving(&place));
    let list = client.call("job", &json!({"action": "list"}));
    assert!(list.contains(&format!("{lost}, interrupted: haft ended while it ran")), "{list}");
    assert!(list.contains(&kept) && list.contains(&format!("kill -9 {pid} ends it")), "{list}");
    client.leave();
    assert!(!marked(&stays).is_empty());
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    until("it ends with its first process", || marked(&stays).is_empty());
}

#[test]
fn one_call_starts_no_job_but_one_that_is_kept() {
    let (place, mark) = (Place::new(), mark());
    for input in [
        background(&format!("sleep {mark}")),
        json!({"command": format!("sleep {mark}"), "onTimeout": "background", "timeout": 100}),
    ] {
        let ran = place.run(&["call", "--yes", "bash", &input.to_string()]).with(1);
        assert!(ran.err.contains("ends with this call") && ran.err.contains("haft serve mcp"), "{ran:?}");
        assert!(marked(&mark).is_empty());
    }
    let input = json!({"command": format!("echo up; sleep {mark}"), "background": true, "keep": true});
    // Nobody is there to be asked.
    place.run(&["call", "bash", &input.to_string()]).with(3);
    let ran = place.run(&["call", "--yes", "bash", &input.to_string()]).with(0);
    assert!(ran.out.contains("up\n") && ran.err.contains("goes on; kill -9 "), "{ran:?}");
    assert!(!marked(&mark).is_empty());
    let pid = pid_in(&ran.out);
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    until("it ends with its first process", || marked(&mark).is_empty());
}

#[test]
fn the_settings_say_how_many_jobs_there_may_be() {
    let place = Place::new();
    place.write_home("config.toml", "[tools.bash]\njobs = 1\n");
    let mut client = Client::greeted(serving(&place));
    id_in(&client.call("bash", &background("echo up; read x")));
    let refused = client.call("bash", &background("echo up; read x"));
    assert!(refused.contains("1 jobs run already, which is the limit here: job-1"), "{refused}");
    client.leave();
}

#[test]
fn no_look_at_a_job_shows_a_secret_whole() {
    let place = Place::new();
    // In form only; in parts, so that nobody takes it for a leak.
    let (first, rest) = (["ghp", "_q8Zt3nV7cX1mK4"].concat(), "wPx2Ld9sYtB6hR5jGfA0eU");
    place
        .write("parts.sh", &format!("printf 'a {first}'\nread x\nprintf '{rest} b\\n'\nread x\nexport -p\n"));
    let mut command = serving(&place);
    command.env("DEPLOY_TOKEN", "correct-horse-battery");
    let mut client = Client::greeted(command);
    let mut shown = client.call("bash", &background("sh parts.sh; echo correct-horse-battery; read x"));
    let id = id_in(&shown);
    for _ in 0..2 {
        shown += &client.call("job", &json!({"action": "write", "id": id, "text": "\n"}));
    }
    shown += &client.call("job", &json!({"action": "list"}));
    client.leave();
    assert!(shown.contains("a ghp") && shown.contains("[secret:github-token:"), "{shown}");
    for secret in [format!("{first}{rest}").as_str(), rest, "correct-horse"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    let log = place.run(&["log", "mcp", "--json"]).with(0).out;
    assert!(log.contains("parts.sh") && !log.contains("correct-horse"), "{log}");
}
