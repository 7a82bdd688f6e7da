//! The sandbox as a user of the command meets it.

use crate::place::{Place, Ran, ended};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A place that isn't beneath the temporary folders, which are writable in the sandbox: beside what was built, or in
/// the home where that is temporary too.
fn place() -> Place {
    let home = std::env::var("HOME").unwrap_or_default();
    let is_temporary =
        |path: &&str| ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|temp| path.starts_with(temp));
    let all = [env!("CARGO_TARGET_TMPDIR"), &home];
    let base = all.iter().copied().find(|path| !is_temporary(path) && !path.is_empty());
    Place::within(base.expect("a home that isn't a temporary folder").as_ref())
}

fn bash(place: &Place, flags: &[&str], input: &Value) -> Ran {
    let input = input.to_string();
    let arguments: Vec<&str> = ["call"].iter().chain(flags).copied().chain(["bash", &input]).collect();
    place.run(&arguments)
}

/// Whether this machine has all that the sandbox needs; says so where it hasn't.
fn is_whole(place: &Place) -> bool {
    let report = place.run(&["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "sandbox").unwrap();
    if found["health"] != "ok" {
        println!("left out: {}", found["detail"]);
    }
    found["health"] == "ok"
}

#[test]
fn a_command_is_kept_in_and_told_the_way_out() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let outside = place.beside("file");
    let line = json!({"command": format!("make_it() {{ echo x > \"$1\"; }}; echo in > made; make_it {}", outside.display())});
    let ran = bash(&place, &["--yes"], &line);
    assert!(ran.out.contains("Read-only file system") && ran.out.contains("outside=true"), "{ran:?}");
    assert!(!outside.exists() && place.read("made").as_deref() == Some("in\n"));
    let mut line = line;
    line["outside"] = true.into();
    let ran = bash(&place, &["--yes"], &line);
    assert!(ran.out.contains("[exit 0]") && outside.exists(), "{ran:?}");
}

#[test]
fn no_rule_and_no_mode_below_full_lets_a_command_out() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    place.write_home("config.toml", "[permissions]\nallow = ['bash']\n");
    for mode in ["default", "accept-edits", "auto", "yolo"] {
        let inside = bash(&place, &["--mode", mode], &json!({"command": "touch a && rm a"}));
        assert!(inside.out.contains("[exit 0]"), "{mode}: {inside:?}");
        let out = bash(&place, &["--mode", mode], &json!({"command": "touch a", "outside": true}));
        assert!((out.out + &out.err).contains("outside the sandbox"), "{mode}");
        assert!(place.read("a").is_none(), "{mode}");
    }
}

#[test]
fn in_auto_mode_commands_run_without_a_question_and_what_leaves_does_not() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let run = |input: &Value| bash(&place, &["--mode", "auto"], input);
    assert!(run(&json!({"command": "touch made && python3 -c 'print(1)' || true"})).out.contains("[exit 0]"));
    assert!(place.read("made").is_some());
    for input in [
        json!({"command": "touch x", "outside": true}),
        json!({"command": "echo x > /opt/haft-test"}),
        json!({"command": "rm -rf /etc"}),
        json!({"command": "echo x > .git/hooks/pre-commit"}),
    ] {
        let ran = run(&input);
        assert_ne!(ran.status, 0, "{input}: {ran:?}");
    }
    // With an open network it isn't relied on.
    place.write_home("config.toml", "[sandbox]\nnetwork = 'open'\n");
    assert_ne!(run(&json!({"command": "touch later"})).status, 0);
    place.write_home("config.toml", "[sandbox]\nmode = 'off'\n");
    assert_ne!(run(&json!({"command": "touch later"})).status, 0);
    assert!(place.read("later").is_none());
}

#[test]
fn what_runs_outside_by_itself_is_no_program_that_a_command_put_there() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let made = Command::new("git").args(["init", "-q"]).current_dir(place.workspace()).status().unwrap();
    assert!(made.success());
    let outside = place.beside("ran");
    place.write("bin/git", &format!("#!/bin/sh\ntouch {}\n", outside.display()));
    let path = std::env::var("PATH").unwrap();
    for first in [place.workspace().join("bin").to_str().unwrap(), "bin", ""] {
        let mut command =
            place.command(&["call", "--mode", "auto", "bash", r#"{"command": "chmod +x bin/git"}"#]);
        assert!(command.status().unwrap().success());
        for (tool, input) in [("diff", "{}"), ("git", r#"{"action": "status"}"#)] {
            let mut command = place.command(&["call", "--mode", "auto", tool, input]);
            command.env("PATH", format!("{first}:{path}"));
            let ran = ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
            assert!(ran.status == 0 && !outside.exists(), "{tool} with {first:?} first: {ran:?}");
        }
    }
}

/// A command folder that runs a shell line; further fields of its manifest as given.
fn tool(place: &Place, name: &str, line: &str, more: &Value) {
    let mut manifest = json!({"name": name, "description": "A tool under test.", "command": line});
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    place.write(&format!(".haft/tools/{name}/tool.json"), &manifest.to_string());
}

#[test]
fn a_command_folder_is_kept_in_by_what_it_declares() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let makes = r#"echo x > "$HAFT_WORKSPACE/made""#;
    tool(&place, "reads", makes, &json!({"capabilities": ["fs.read"]}));
    let ran = place.run(&["call", "--yes", "reads", "{}"]).with(1);
    let said = ran.out + &ran.err;
    assert!(said.contains("Read-only file system") && said.contains("\"fs.write\""), "{said}");
    assert!(place.read("made").is_none());
    let inside = [
        ("says-nothing", makes, json!({})),
        ("writes", makes, json!({"capabilities": ["fs.write"]})),
        ("states", r#"echo x > "$HAFT_WORKSPACE/out/made""#, json!({"effects": {"writes": ["out"]}})),
        ("keeps-notes", r#"echo x > "$TMPDIR/note" && cat "$TMPDIR/note""#, json!({"readOnly": true})),
    ];
    fs::create_dir(place.workspace().join("out")).unwrap();
    for (name, line, more) in inside {
        tool(&place, name, line, &more);
        place.run(&["call", "--yes", name, "{}"]).with(0);
    }
    assert!(place.read("made").is_some() && place.read("out/made").is_some());
    // Stated is what is written, and nothing beside it.
    tool(&place, "strays", makes, &json!({"effects": {"writes": ["out"]}}));
    place.run(&["call", "--yes", "strays", "{}"]).with(1);
    let object = place.run(&["call", "--yes", "--json", "writes", "{}"]).with(0).json();
    assert_eq!(object["metadata"]["sandbox"]["gaps"], json!([]), "{object}");
}

#[test]
fn what_a_command_folder_asks_for_beyond_is_in_the_question_and_then_holds() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let cache = place.beside("cache");
    let makes = format!("echo x > {}/made", cache.display());
    let more = json!({"sandbox": {"writable": [cache], "network": ["api.example"]}, "permission": "auto"});
    tool(&place, "caches", &makes, &more);
    let asked = place.run(&["call", "caches", "{}"]).with(3);
    assert!(asked.err.contains("it asks to reach api.example and to change"), "{asked:?}");
    assert!(!cache.exists());
    place.run(&["call", "--yes", "caches", "{}"]).with(0);
    assert!(cache.join("made").exists());
    place.run(&["call", "caches", "{}"]).with(0);
    // The user's own word holds over the manifest's.
    place.write_home("config.toml", "[tools.caches]\nsandbox = 'on'\n");
    place.run(&["call", "caches", "{}"]).with(1);
    let shown = place.run(&["tools", "show", "caches"]).with(0);
    assert!(shown.out.contains("changes the workspace, reaches nobody"), "{shown:?}");
}

#[test]
fn a_command_folder_that_wants_out_is_asked_each_time_unless_the_user_lets_it_out() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let outside = place.beside("file");
    let more = json!({"sandbox": {"off": true}});
    tool(&place, "wants-out", &format!("touch {}", outside.display()), &more);
    place.write_home("config.toml", "[permissions]\nallow = ['wants-out']\n");
    place.run(&["call", "--yes", "wants-out", "{}"]).with(0);
    assert!(outside.exists());
    let asked = place.run(&["call", "wants-out", "{}"]).with(3);
    assert!(asked.err.contains("outside the sandbox"), "{asked:?}");
    place.write_home(
        "config.toml",
        "[permissions]\nallow = ['wants-out']\n[tools.wants-out]\nsandbox = 'off'\n",
    );
    place.run(&["call", "wants-out", "{}"]).with(0);
    place.write_home(
        "config.toml",
        "[permissions]\nallow = ['wants-out']\n[tools.wants-out]\nsandbox = 'on'\n",
    );
    fs::remove_file(&outside).unwrap();
    place.run(&["call", "wants-out", "{}"]).with(1);
    assert!(!outside.exists());
    place.write_home("config.toml", "[tools.bash]\nsandbox = 'off'\n");
    let problems = place.run(&["tools", "--problems"]);
    assert!((problems.out + &problems.err).contains("bash is built in"), "it says so");
}

#[test]
fn what_was_allowed_outside_can_be_done() {
    let place = place();
    let outside = place.beside("notes");
    let ran = bash(&place, &["--yes"], &json!({"command": format!("echo x > {}", outside.display())}));
    assert!(ran.out.contains("[exit 0]") && outside.exists(), "{ran:?}");
}

#[test]
fn what_was_merely_named_or_lies_beside_what_was_allowed_stays_closed() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let [allowed, beside, named] = ["allowed", "beside", "named"].map(|name| place.beside(name));
    fs::write(&named, "before").unwrap();
    place.write("try.sh", &format!("echo x > {}; echo x > \"$1\"; true", beside.display()));
    let line = format!("echo x > {}; sh ./try.sh {}", allowed.display(), named.display());
    let ran = bash(&place, &["--yes"], &json!({"command": line}));
    assert!(ran.out.contains("[exit 0]"), "{ran:?}");
    assert!(allowed.exists() && !beside.exists(), "{ran:?}");
    assert_eq!(fs::read_to_string(&named).unwrap(), "before");
}

/// Runs a command with haft's own files in a folder of the workspace.
fn with_own_files_in(place: &Place, folder: &str, input: &Value) -> Ran {
    let mut command = place.command(&["call", "--yes", "bash", &input.to_string()]);
    command.env("HAFT_HOME", place.workspace().join(folder)).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(command.spawn().unwrap())
}

#[test]
fn what_haft_goes_by_is_out_of_reach_also_in_the_workspace() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    place.write("own/state/workspaces/other/sessions/s/log.jsonl", "of another workspace");
    place.write(
        "try.sh",
        "for to in own/config.toml own/tools own/state/x own/state/workspaces/other/x; do \
         (echo x > $to) 2>/dev/null && echo wrote $to; done; mkdir own/tools 2>/dev/null && echo made; \
         cat own/state/workspaces/other/sessions/s/log.jsonl 2>/dev/null; mv own away 2>/dev/null && echo moved; echo fine",
    );
    let ran = with_own_files_in(&place, "own", &json!({"command": "sh ./try.sh"}));
    assert!(ran.out.starts_with("fine\n"), "{ran:?}");
    assert!(place.read("own/config.toml").is_none());
}

#[test]
fn a_long_result_can_be_read_by_later_commands() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let long = bash(&place, &["--yes"], &json!({"command": "seq 1 200000"}));
    let files = |folder: &Path| -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let is_folder = entry.file_type().unwrap().is_dir();
                if is_folder { waiting.push(entry.path()) } else { found.push(entry.path()) }
            }
        }
        found
    };
    let spilled = files(&place.home().join("state")).into_iter().find(|path| {
        long.out.contains(path.to_str().unwrap()) || path.components().any(|part| part.as_os_str() == "spill")
    });
    let spilled = spilled.unwrap_or_else(|| panic!("{}", long.out));
    place.write("try.sh", &format!("tail -n 1 {}", spilled.display()));
    let ran = bash(&place, &["--yes"], &json!({"command": "sh ./try.sh"}));
    assert!(ran.out.starts_with("200000"), "{ran:?}");
}

#[test]
fn where_haft_itself_would_be_changed_no_command_runs_in_a_sandbox() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let ran = with_own_files_in(&place, ".", &json!({"command": "touch made"}));
    assert!((ran.out + &ran.err).contains("haft's own files lie there") && place.read("made").is_none());
    let ran = with_own_files_in(&place, ".", &json!({"command": "touch made", "outside": true}));
    assert!(place.read("made").is_some(), "{ran:?}");
}

#[test]
fn what_git_is_kept_from_is_told_with_the_way_out() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    let made = Command::new("git").args(["init", "-q"]).current_dir(place.workspace()).status().unwrap();
    assert!(made.success());
    let line = json!({"command": "git init -q new && git -C new remote add a b && git remote add x https://example.org/x"});
    let ran = bash(&place, &["--yes"], &line);
    assert!(
        ran.out.contains("git's settings and hooks stay as they are") && ran.out.contains("outside=true"),
        "{ran:?}"
    );
    assert!(place.read("new/.git/config").unwrap().contains("[remote \"a\"]"));
    assert!(!place.read(".git/config").unwrap().contains("example.org"));
}

#[test]
fn what_a_command_planted_is_told_in_its_result() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    place.write("try.sh", "git init -q new; git -C new config core.fsmonitor ./x");
    let ran = bash(&place, &["--yes"], &json!({"command": "sh ./try.sh"}));
    assert!(ran.out.contains("core.fsmonitor") && ran.out.contains("set aside"), "{ran:?}");
    assert!(ran.out.contains("[exit 0]") && place.read("new/.git/HEAD").is_none());
}

#[test]
fn without_namespaces_the_rest_is_named_or_refused() {
    let place = place();
    if !is_whole(&place) {
        return;
    }
    // As on a machine whose users may make no namespaces.
    let within = |arguments: &[&str]| -> Ran {
        let haft = place.command(arguments);
        let mut command = Command::new("unshare");
        // Root in here could still use bubblewrap.
        let limit = "echo 0 > /proc/sys/user/max_user_namespaces; \
                     for found in /usr/bin/bwrap /usr/local/bin/bwrap /bin/bwrap; do \
                         if [ -e $found ]; then mount --bind /dev/null $found || exit 1; fi; done; \
                     exec \"$0\" \"$@\"";
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", limit])
            .arg(haft.get_program())
            .args(haft.get_args());
        command.current_dir(haft.get_current_dir().unwrap());
        for (name, value) in haft.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let line = json!({"command": "echo ran > made; cat made"}).to_string();
    let ran = within(&["call", "--yes", "bash", &line]);
    assert!(
        ran.out.contains("the sandbox isn't whole: protected paths inside the workspace can be changed"),
        "{ran:?}"
    );
    assert!(ran.out.starts_with("ran\n"), "{ran:?}");
    let doctor = within(&["doctor"]);
    assert!(
        doctor.out.contains("sandbox: namespaces") && doctor.out.contains("max_user_namespaces=15000"),
        "{doctor:?}"
    );
    fs::remove_file(place.workspace().join("made")).unwrap();
    // It isn't relied on.
    let ran = within(&["call", "--mode", "auto", "bash", &line]);
    assert!(place.read("made").is_none(), "{ran:?}");
    place.write_home("config.toml", "[sandbox]\nmode = 'required'\n");
    let ran = within(&["call", "--yes", "bash", &line]);
    assert!((ran.out + &ran.err).contains("isn't whole: protected paths"), "refused");
    assert!(place.read("made").is_none());
    assert_eq!(within(&["doctor"]).status, 1);
}
