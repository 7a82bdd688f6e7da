//! Extensions: what they register, when their code runs, and what becomes of faulty ones.

use crate::place::{Place, Ran};
use serde_json::{Value, json};

fn call(place: &Place, tool: &str, input: &Value) -> Ran {
    place.run_with(&["--yes", "call", "--json", tool, "-"], &input.to_string())
}

fn text(object: &Value) -> String {
    let blocks = object["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn given(place: &Place, tool: &str, input: &Value) -> String {
    text(&call(place, tool, input).with(0).json())
}

/// Writes an extension with this manifest and main file.
fn pack(place: &Place, id: &str, manifest: &Value, main: &str) {
    place.write(&format!(".haft/extensions/{id}/extension.json"), &manifest.to_string());
    place.write(&format!(".haft/extensions/{id}/main.ts"), main);
}

fn problems(place: &Place) -> String {
    place.run(&["tools", "--problems"]).with(0).out
}

const THREE: &str = r#"
import type { ExtensionContext } from "some-host";
export async function activate(ctx: ExtensionContext) {
  const { tools, disposables } = ctx.api;
  disposables.add(tools.register({ name: "one", description: "inline", inputSchema: { type: "object" }, execute: async () => "1" }));
  disposables.add(tools.register({ name: "two", description: "d", inputSchema: { type: "object" }, execute: () => [{ type: "text", text: "2" }] }));
  const gone = tools.register({ name: "gone", description: "d", execute: () => "" });
  gone.dispose();
  gone.dispose();
  disposables.add(tools.register({
    name: "three", description: "d", async *executeStream() { yield { type: "final", output: 3 }; },
  }));
  ctx.log.info("active");
}
export function deactivate() {}
"#;

#[test]
fn a_pack_of_another_host_runs_and_its_manifest_holds_over_its_code() {
    let place = Place::new();
    let manifest = json!({
        "name": "Some pack", "version": "1.0.0", "main": "./main.ts", "icon": "x.png", "engines": {"other": "^2"},
        "activationEvents": ["onStartupFinished"], "permissions": [],
        "contributes": {"toolMetadata": [{"id": "one", "description": "from the manifest", "readOnly": true, "riskTier": "safe"}]},
    });
    pack(&place, "some-pack", &manifest, THREE);
    for (tool, expected) in [("one", "1"), ("two", "2"), ("three", "3")] {
        assert_eq!(given(&place, tool, &json!({})), expected);
    }
    call(&place, "gone", &json!({})).with(2);
    let shown = place.run(&["tools", "show", "one", "--json"]).with(0).out;
    assert!(shown.contains("from the manifest") && shown.contains("extension:some-pack"), "{shown}");
    // What the manifest says is read-only needs no question, once it was let run.
    assert_eq!(place.run(&["call", "one"]).with(0).out, "1\n");
    let checked = place.run(&["check", "--json", "some-pack"]).with(0).json();
    assert_eq!(checked["usable"], json!(["one", "three", "two"]));
}

#[test]
fn the_older_form_of_modules_is_read() {
    let place = Place::new();
    pack(
        &place,
        "older",
        &json!({"main": "main"}),
        "exports.activate = function (ctx) {\n  ctx.subscriptions.push(ctx.api.tools.register({ name: 'old', description: 'd', execute: () => 'fine' }));\n};\n",
    );
    assert_eq!(given(&place, "old", &json!({})), "fine");
}

#[test]
fn a_lazy_one_is_advertised_by_its_manifest_and_wakes_at_the_first_call() {
    let place = Place::new();
    let main = r#"
export function activate(ctx) {
  ctx.api.tools.register({
    name: "sleepy", description: "inline", inputSchema: { type: "object" },
    validateInput: (input) => input.n < 0 ? { result: false, message: "below zero" } : { result: true },
    execute: ({ n }) => "woke with " + n,
  });
}
"#;
    let manifest = json!({
        "activationEvents": ["onTool:sleepy"],
        "contributes": {"toolMetadata": {"sleepy": {"description": "Sleeps until it is called.", "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}}}},
    });
    pack(&place, "lazy", &manifest, main);
    assert!(place.run(&["tools", "show", "sleepy"]).with(0).out.contains("Sleeps until it is called."));
    call(&place, "sleepy", &json!({})).with(2);
    assert_eq!(given(&place, "sleepy", &json!({"n": 3})), "woke with 3");
    assert!(text(&call(&place, "sleepy", &json!({"n": -1})).with(1).json()).contains("below zero"));
    // Its code is broken, which shows when it is needed and not before.
    pack(&place, "lazy", &manifest, "export function activate() { throw new Error('boom') }");
    assert!(!problems(&place).contains("boom"));
    assert!(
        text(&call(&place, "sleepy", &json!({"n": 1})).with(1).json())
            .contains("couldn't be activated: boom")
    );
}

#[test]
fn one_that_fails_takes_no_other_down() {
    let place = Place::new();
    let tool = |name: &str| {
        format!("ctx.api.tools.register({{ name: '{name}', description: 'd', execute: () => 'fine' }});")
    };
    let main = |body: &str| format!("export async function activate(ctx) {{\n{body}\n}}\n");
    pack(&place, "good", &json!({}), &main(&tool("good")));
    pack(&place, "throws", &json!({}), &main("throw new Error('boom');"));
    pack(&place, "endless", &json!({}), &main("for (;;) {}"));
    pack(&place, "never", &json!({}), &main("await new Promise(() => {});"));
    pack(&place, "twice", &json!({}), &main(&format!("{}\n{}", tool("twice"), tool("twice"))));
    pack(&place, "core-name", &json!({}), &main(&tool("read")));
    pack(&place, "theirs", &json!({}), &main(&tool("good")));
    pack(&place, "no-main", &json!({"main": "other.js"}), "");
    pack(&place, "no-activate", &json!({}), "export const a = 1;\n");
    place.write(".haft/extensions/broken/extension.json", "{\n,}");
    place.write(".haft/extensions/empty/readme.md", "");
    let listed = problems(&place);
    for part in [
        "boom",
        "main.ts:2",
        "activate didn't end",
        "never comes",
        "Tool \"twice\" already registered by \"twice\"",
        "Tool \"read\" already registered by \"core\"",
        "already registered by \"extension:good\"",
        "there is no file other.js",
        "exports no activate",
        "broken/extension.json:2",
    ] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    assert!(!listed.contains("empty"), "{listed}");
    // It takes its time whenever it is asked.
    std::fs::remove_dir_all(place.workspace().join(".haft/extensions/endless")).unwrap();
    assert_eq!(given(&place, "good", &json!({})), "fine");
    place.run(&["check", "good"]).with(0);
    place.run(&["check", "throws"]).with(1);
}

#[test]
fn a_tool_that_throws_or_hangs_fails_alone_and_the_extension_goes_on() {
    let place = Place::new();
    let main = r#"
export function activate(ctx) {
  const add = (tool) => ctx.api.disposables.add(ctx.api.tools.register({ description: "d", ...tool }));
  add({ name: "throws", execute: () => { throw new TypeError("boom"); } });
  add({ name: "hangs", timeoutMs: 700, execute: () => { for (;;) {} } });
  add({ name: "waits", timeoutMs: 700, execute: (input, c, { signal }) => new Promise((done) => signal.addEventListener("abort", () => done(1))) });
  add({ name: "fine", execute: () => "fine" });
}
"#;
    pack(&place, "mixed", &json!({}), main);
    assert!(text(&call(&place, "throws", &json!({})).with(1).json()).contains("TypeError: boom"));
    call(&place, "hangs", &json!({})).with(4);
    call(&place, "waits", &json!({})).with(4);
    // All in one session's process, one after another.
    let script = "const said = [];\nfor (const name of ['throws', 'hangs', 'fine', 'waits', 'fine']) { try { said.push(await tools[name]({})) } catch (error) { said.push(error.kind) } }\nsaid.join()";
    let ran =
        place.run_with(&["--yes", "call", "--json", "code", "-"], &json!({"script": script}).to_string());
    assert_eq!(text(&ran.with(0).json()), "internal,timed-out,fine,timed-out,fine");
}

#[test]
fn it_keeps_what_it_stores_and_is_lent_what_its_manifest_asks_for() {
    let place = Place::new();
    let main = r#"
export async function activate(ctx) {
  ctx.api.disposables.add(ctx.api.tools.register({
    name: "counts", description: "d",
    execute: async () => { const n = ((await ctx.api.storage.get("n")) ?? 0) + 1; await ctx.api.storage.set("n", n); return n + " " + (await ctx.api.storage.keys()); },
  }));
  ctx.api.disposables.add(ctx.api.tools.register({ name: "tells", description: "d", execute: () => ctx.api.secrets.get("SOME_TOKEN") }));
}
"#;
    pack(&place, "keeps", &json!({"permissions": ["storage"]}), main);
    for expected in ["1 n", "2 n", "3 n"] {
        assert_eq!(given(&place, "counts", &json!({})), expected);
    }
    assert!(text(&call(&place, "tells", &json!({})).with(1).json()).contains("isn't granted"));
}

#[test]
fn others_tools_are_only_tightened_and_only_where_capabilities_meet() {
    let place = Place::new();
    place.write("a.txt", "text\n");
    let main = |body: &str| format!("export function activate(ctx) {{\n{body}\n}}\n");
    let wrap = "ctx.api.disposables.add(ctx.api.tools.wrap('read', { permission: 'confirm' }));";
    pack(&place, "stranger", &json!({}), &main(wrap));
    assert!(problems(&place).contains("may not wrap tool \"read\""));
    place.run(&["call", "read", r#"{"path": "a.txt"}"#]).with(0);
    pack(&place, "stranger", &json!({"toolMutateCapabilities": ["fs.read"]}), &main(wrap));
    assert!(!problems(&place).contains("may not wrap"));
    place.run(&["call", "read", r#"{"path": "a.txt"}"#]).with(3);
    place.run(&["--yes", "call", "read", r#"{"path": "a.txt"}"#]).with(0);
    let loosens = "ctx.api.tools.wrap('bash', { permission: 'auto', riskTier: 'safe' });";
    pack(&place, "stranger", &json!({"toolMutateCapabilities": ["shell.arbitrary"]}), &main(loosens));
    let listed = problems(&place);
    assert!(listed.contains("may only tighten"), "{listed}");
    let removes = "const back = ctx.api.tools.remove('glob');";
    pack(&place, "stranger", &json!({"toolMutateCapabilities": ["fs.read"]}), &main(removes));
    call(&place, "glob", &json!({"pattern": "*"})).with(2);
    pack(
        &place,
        "stranger",
        &json!({"toolMutateCapabilities": ["fs.read"]}),
        &main(&format!("{removes} back.dispose(); back.dispose();")),
    );
    call(&place, "glob", &json!({"pattern": "*"})).with(0);
}

#[test]
fn its_hooks_are_heard_where_the_workspace_is_trusted() {
    let place = Place::new();
    place.write("a.txt", "text\n");
    let main = r#"
export function activate(ctx) {
  ctx.api.disposables.add(ctx.api.hooks.register("PreToolUse", (input) => input.tool_input.path === "a.txt"
    ? { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "not that one" } } : undefined, "read"));
}
"#;
    pack(&place, "guard", &json!({}), main);
    place.write("b.txt", "text\n");
    place.run(&["call", "read", r#"{"path": "a.txt"}"#]).with(0);
    place.run(&["trust"]).with(0);
    let denied = place.run(&["call", "read", r#"{"path": "a.txt"}"#]).with(3);
    assert!(denied.err.contains("not that one"), "{denied:?}");
    place.run(&["call", "read", r#"{"path": "b.txt"}"#]).with(0);
}

#[test]
fn its_first_use_asks_and_so_does_each_change_of_any_of_its_files() {
    let place = Place::new();
    let manifest = json!({"permissions": ["storage"]});
    let main = "import { word } from './lib/word';\nexport const activate = (ctx) => { ctx.api.tools.register({ name: 'says', description: 'd', readOnly: true, execute: () => word }) };\n";
    pack(&place, "talk", &manifest, main);
    place.write(".haft/extensions/talk/lib/word.ts", "export const word: string = 'one';\n");
    place.run(&["call", "says"]).with(3);
    place.run(&["--yes", "call", "says"]).with(0);
    assert_eq!(place.run(&["call", "says"]).with(0).out, "one\n");
    place.write(".haft/extensions/talk/lib/word.ts", "export const word: string = 'two';\n");
    let denied = place.run(&["call", "says"]).with(3);
    assert!(denied.err.contains("file lib/word.ts changed"), "{denied:?}");
}

#[test]
fn a_new_extension_works() {
    let place = Place::new();
    let made = place.run(&["new", "extension", "my-pack"]).with(0);
    assert!(made.out.contains("extension.json") && made.out.contains("main.ts"), "{made:?}");
    place.run(&["check", "my-pack"]).with(0);
    let tested = place.run(&["test", "my-pack"]).with(0);
    assert!(tested.out.ends_with("2 passed, 0 failed\n"), "{tested:?}");
    assert_eq!(place.run(&["call", "my-pack", r#"{"text": "Hi", "loud": true}"#]).with(0).out, "HI\n");
    place.run(&["new", "extension", "my-pack"]).with(2);
    place.run(&["new", "extension", "x.y"]).with(2);
    place.run(&["new", "extension", "for-all", "--user"]).with(0);
    assert!(place.home().join("extensions/for-all/extension.json").is_file());
    place.run(&["call", "for-all", r#"{"text": "Hi"}"#]).with(0);
}
