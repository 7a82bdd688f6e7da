//! Commands of extensions, as people have them run: in the agent's terminal and in the tool console.

use crate::place::{Place, Ran, ended};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
};

const GREETS: &str = r#"
export function activate(ctx) {
  const add = (name, fn, about) => ctx.api.disposables.add(ctx.api.commands.register(name, fn, about));
  add("greet", (words, cx) => { ctx.log("by the way"); cx.log("aside"); return "hello " + words; }, "Says hello.");
  add("counts", { description: "Counts.", handler: async () => { const n = ((await ctx.api.storage.get("n")) ?? 0) + 1; await ctx.api.storage.set("n", n); return { n }; } });
  add("throws", () => { throw new Error("boom"); });
  add("reads", (words, cx) => cx.readFile("a.txt"));
  add("hangs", (words, cx) => { cx.log("begun"); return new Promise((done, fail) => cx.signal.addEventListener("abort", () => fail(new Error("heard")))); });
  add("spins", (words, cx) => { cx.log("begun"); for (;;) {} });
  add("long", () => "x".repeat(100000));
  add("not typed", () => "");
  add("taken-back", () => "").dispose();
}
"#;

/// Writes an extension with this manifest and main file.
fn pack(place: &Place, id: &str, manifest: &Value, main: &str) {
    place.write(&format!(".haft/extensions/{id}/extension.json"), &manifest.to_string());
    place.write(&format!(".haft/extensions/{id}/main.js"), main);
}

fn greeter() -> Place {
    let place = Place::new();
    pack(&place, "talk", &json!({"permissions": ["storage"]}), GREETS);
    place
}

/// Has `haft` alone be an agent whose model says this, turn by turn.
fn with_agent(place: &Place, texts: &[&str]) {
    let turns: String = texts.iter().map(|text| format!("{}\n", json!({"text": text}))).collect();
    place.write("turns.jsonl", &turns);
    let model = place.workspace().join("turns.jsonl");
    let settings = format!("[models.m]\nprovider = 'scripted'\nmodel = '{}'\n", model.display());
    place.write_home("config.toml", &settings);
}

/// Types lines, to the end of input.
fn typed(place: &Place, lines: &str) -> Ran {
    place.run_with(&[], lines).with(0)
}

#[test]
fn a_command_runs_in_the_agents_terminal_and_the_model_hears_nothing_of_it() {
    let place = greeter();
    with_agent(&place, &["the model spoke"]);
    let ran = typed(&place, "/greet  the world\n/help\n/quit\n");
    assert!(ran.out.contains("hello the world") && !ran.out.contains("the model spoke"), "{ran:?}");
    assert!(ran.err.contains("by the way") && ran.err.contains("aside"), "{ran:?}");
    assert!(ran.out.contains("/greet") && ran.out.contains("Says hello."), "{ran:?}");
    // What is no command goes to the model, as ever.
    let ran = typed(&place, "/greet you\n /greet or a line that begins with a blank\n");
    assert!(ran.out.contains("hello you") && ran.out.contains("the model spoke"), "{ran:?}");
    let ran = typed(&place, "/usr/bin/env isn't there\n");
    assert!(ran.out.contains("the model spoke"), "{ran:?}");
}

#[test]
fn commands_run_in_the_tool_console_too_and_keep_what_they_store() {
    let place = greeter();
    let ran = typed(&place, "/counts\n/counts\nhelp\n");
    assert!(ran.out.contains("\"n\": 1") && ran.out.contains("\"n\": 2"), "{ran:?}");
    assert!(ran.out.contains("Counts."), "{ran:?}");
}

#[test]
fn an_unknown_command_is_answered_with_those_there_are() {
    let place = greeter();
    for agent in [false, true] {
        if agent {
            with_agent(&place, &["the model spoke"]);
        }
        let ran = typed(&place, "/nope\n/taken-back\n");
        for part in ["there is no command /nope", "no command /taken-back", "/greet", "/counts"] {
            assert!(ran.err.contains(part), "no {part} in {ran:?}");
        }
        assert!(!ran.out.contains("the model spoke"), "{ran:?}");
    }
    let listed = place.run(&["tools", "--problems"]).with(0).out;
    assert!(listed.contains("\"not typed\" can't be typed"), "{listed}");
}

#[test]
fn a_command_that_fails_takes_no_other_down_and_reaches_nothing() {
    let place = greeter();
    place.write("a.txt", "private\n");
    let ran = typed(&place, "/throws\n/reads\n/long\n/greet you\n");
    for part in ["/throws failed: boom", "/reads failed", "isn't lent", "bytes more, which aren't shown"] {
        assert!(ran.err.contains(part), "no {part} in {ran:?}");
    }
    assert!(ran.out.contains("hello you") && !ran.out.contains("private"), "{ran:?}");
}

#[test]
fn a_command_that_goes_on_is_cancelled_whether_it_hears_that_or_not() {
    let place = greeter();
    for (name, lines) in [("hangs", "/hangs\n"), ("spins", "/spins\n")] {
        let mut command = place.command(&[]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut keys = child.stdin.take().unwrap();
        let mut notes = BufReader::new(child.stderr.take().unwrap());
        keys.write_all(lines.as_bytes()).unwrap();
        let mut line = String::new();
        while !line.contains("begun") {
            line.clear();
            assert!(notes.read_line(&mut line).unwrap() > 0, "{name} never began");
        }
        let interrupt = format!("kill -INT {}", child.id());
        assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
        // The console goes on, and so does the extension.
        keys.write_all(b"/greet you\nquit\n").unwrap();
        drop(keys);
        let mut rest = String::new();
        notes.read_to_string(&mut rest).unwrap();
        assert!(rest.contains(&format!("/{name} was cancelled")), "{rest}");
        let ran = ended(child).with(0);
        assert!(ran.out.contains("hello you"), "{name}: {ran:?}");
    }
}

#[test]
fn commands_of_one_name_are_told_apart_by_their_extension() {
    let place = greeter();
    let main = "export const activate = (ctx) => { ctx.api.commands.register('greet', (words) => 'good day ' + words) };";
    pack(&place, "formal", &json!({}), main);
    let ran = typed(&place, "/greet you\n/formal:greet you\n/talk:greet you\n");
    assert!(ran.err.contains("/formal:greet, /talk:greet"), "{ran:?}");
    assert!(ran.out.contains("good day you") && ran.out.contains("hello you"), "{ran:?}");
}

#[test]
fn a_command_wakes_an_extension_that_waits_for_it() {
    let place = Place::new();
    let main = "export const activate = (ctx) => { ctx.api.commands.register('wake', () => 'awake') };";
    let events = json!(["onTool:sleepy", "onCommand:wake", "onCommand:never"]);
    pack(&place, "lazy", &json!({"activationEvents": events}), main);
    let ran = typed(&place, "/wake\n/never\n");
    assert!(ran.out.contains("awake"), "{ran:?}");
    assert!(ran.err.contains("there is no command \"never\""), "{ran:?}");
}

#[test]
fn what_is_typed_for_haft_itself_is_never_an_extensions() {
    let place = Place::new();
    let main = "export const activate = (ctx) => { for (const name of ['help', 'quit']) ctx.api.commands.register(name, () => 'sly ' + name) };";
    pack(&place, "sly", &json!({}), main);
    for agent in [false, true] {
        if agent {
            with_agent(&place, &["the model spoke"]);
        }
        let ran = typed(&place, "/help\n/quit now\n/sly:help\n/quit\n");
        assert!(ran.out.contains("What extensions offer") && ran.out.contains("/sly:quit"), "{ran:?}");
        assert!(ran.err.contains("/quit is haft's own"), "{ran:?}");
        assert_eq!(ran.out.matches("sly help").count(), 1, "{ran:?}");
        assert!(!ran.out.contains("sly quit"), "{ran:?}");
    }
}
