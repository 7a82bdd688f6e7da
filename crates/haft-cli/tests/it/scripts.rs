//! Tools in TypeScript: the shapes that authors know, what they are lent, and what becomes of faulty ones.

use crate::place::{Place, Ran, ended, has_program, left_out};
use serde_json::{Value, json};
use std::process::Stdio;

fn call(place: &Place, tool: &str, input: &Value) -> Ran {
    place.run_with(&["--yes", "call", "--json", tool, "-"], &input.to_string())
}

fn text(object: &Value) -> String {
    let blocks = object["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// What a tool gives.
#[track_caller]
fn given(place: &Place, tool: &str, input: &Value) -> String {
    text(&call(place, tool, input).with(0).json())
}

/// What a tool fails with.
#[track_caller]
fn failed(place: &Place, tool: &str, input: &Value) -> String {
    text(&call(place, tool, input).with(1).json())
}

#[test]
fn ten_lines_with_execute_and_with_a_stream_run_without_node() {
    let place = Place::new();
    place.write(
        ".haft/tools/greet.ts",
        r#"import type { Tool } from "some-host";
enum Tone { Plain, Loud }
export default {
  name: "greet", description: "Greets.", permission: "auto", riskTier: "safe", mutating: false,
  inputSchema: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
  async execute({ who }: { who: string }, ctx, { signal }) {
    const tone: Tone = who.endsWith("!") ? Tone.Loud : Tone.Plain;
    return `hello ${who} ${Tone[tone]} ${signal.aborted}`;
  },
} satisfies Tool;
"#,
    );
    place.write(
        ".haft/tools/steps.ts",
        r#"import { buildTool } from "some-host";
export const steps = buildTool({
  name: "steps", description: "Goes step by step.", inputSchema: { type: "object", properties: {} },
  async *executeStream(input: unknown, ctx: any) {
    yield { type: "log", text: "begin" };
    yield { type: "metric", data: { n: 1 } };
    yield { type: "partial_output", text: "half" };
    yield { type: "final", output: { done: true } };
  },
});
"#,
    );
    assert_eq!(given(&place, "greet", &json!({"who": "you!"})), "hello you! Loud false");
    let object = call(&place, "steps", &json!({})).with(0).json();
    assert_eq!((&object["structured"], text(&object).as_str()), (&json!({"done": true}), "{\"done\":true}"));
    call(&place, "greet", &json!({})).with(2);
    let checked = place.run(&["check", "--json"]).with(0).json();
    assert_eq!(checked["usable"], json!(["greet", "steps"]));
    let shown = place.run(&["tools", "--json"]).with(0).out;
    assert!(shown.contains("script:.haft/tools"), "{shown}");
}

#[test]
fn other_names_for_the_same_and_several_tools_in_one_file_are_taken() {
    let place = Place::new();
    place.write(
        ".haft/tools/many.js",
        r#"
const one = { name: "one", description: () => "The first.", inputSchema: { type: "object" }, isReadOnly: () => true, call: () => "1" };
class Two { name = "two"; description = "The second."; inputSchema = { type: "object" }; execute() { return [{ type: "text", text: "2" }]; } }
export default [one, new Two()];
export const off = { name: "off", description: "Not there.", isEnabled: () => false, execute: () => "" };
"#,
    );
    assert_eq!(given(&place, "one", &json!({})), "1");
    assert_eq!(given(&place, "two", &json!({})), "2");
    call(&place, "off", &json!({})).with(2);
    let shown = place.run(&["tools", "show", "one", "--json"]).with(0).out;
    assert!(shown.contains("\"readOnly\":true") && shown.contains("The first."), "{shown}");
}

#[test]
fn a_folder_with_an_index_has_modules_of_its_own_and_no_packages() {
    let place = Place::new();
    place.write(
        ".haft/tools/sum/index.ts",
        "import { add } from './lib/add.js';\nimport data from './data.json';\nimport tool from 'any-host';\nexport default tool({ name: 'sum', description: 'd', execute: () => String(add(data.a, data.b)) });\n",
    );
    place.write(
        ".haft/tools/sum/lib/add.ts",
        "export function add(a: number, b: number): number { return a + b; }\n",
    );
    place.write(".haft/tools/sum/data.json", "{\"a\": 1, \"b\": 2}");
    assert_eq!(given(&place, "sum", &json!({})), "3");
    place.write(".haft/tools/dash.ts", "import _ from 'lodash';\nexport default { name: 'dash', description: 'd', execute: () => _.chunk([1], 1) };\n");
    place.write(".haft/tools/bad.ts", "import { readFileSync } from 'node:fs';\nexport default { name: 'bad', description: 'd', execute: () => readFileSync('/etc/passwd') };\n");
    place.write(".haft/tools/pack.ts", "import { pad } from 'left-pad';\nexport default { name: 'pack', description: 'd', execute: () => pad('a') };\n");
    for (name, line) in [
        ("all", "export * as all from 'lodash';"),
        ("one", "export { chunk } from 'lodash';"),
        ("late", "const chunk = async () => (await import('lodash')).chunk;"),
    ] {
        let tool =
            format!("{line}\nexport default {{ name: '{name}', description: 'd', execute: () => 'x' }};\n");
        place.write(&format!(".haft/tools/{name}.ts"), &tool);
    }
    let listed = place.run(&["tools", "--problems"]).with(0).out;
    for file in ["all.ts:1", "one.ts:1", "late.ts:1"] {
        assert!(listed.lines().any(|line| line.contains(file) && line.contains("\"lodash\"")), "{listed}");
    }
    assert!(
        listed.contains("bad.ts:1") && listed.contains("no Node") && listed.contains("pack.ts:1"),
        "{listed}"
    );
    let late = place.run(&["check", ".haft/tools/late.ts"]).with(1);
    assert!(format!("{}{}", late.out, late.err).contains("no package \"lodash\""), "{late:?}");
    assert!(listed.contains("dash.ts:1") && listed.contains("no package \"lodash\""), "{listed}");
    assert_eq!(given(&place, "sum", &json!({})), "3");
}

#[test]
fn the_first_use_asks_and_so_does_each_change() {
    let place = Place::new();
    let tool = |word: &str| {
        format!(
            "export default {{ name: 'says', description: 'd', readOnly: true, execute: () => '{word}' }};\n"
        )
    };
    place.write(".haft/tools/says.ts", &tool("one"));
    let denied = place.run(&["call", "says"]).with(3);
    assert!(denied.err.contains("was never used in this workspace"), "{denied:?}");
    place.run(&["call", "--yes", "says"]).with(0);
    assert_eq!(place.run(&["call", "says"]).with(0).out, "one\n");
    place.write(".haft/tools/says.ts", &tool("two"));
    let denied = place.run(&["call", "says"]).with(3);
    assert!(denied.err.contains("file says.ts changed"), "{denied:?}");
    place.run(&["call", "--yes", "says"]).with(0);
    assert_eq!(place.run(&["call", "says"]).with(0).out, "two\n");
}

/// A tool with capabilities that does one thing with `ctx`.
fn lent(place: &Place, name: &str, more: &str, body: &str) {
    place.write(
        &format!(".haft/tools/{name}.ts"),
        &format!(
            "export default {{ name: '{name}', description: 'd', inputSchema: {{ type: 'object', properties: {{ path: {{ type: 'string' }} }} }}, {more} async execute(input: any, ctx: any) {{ {body} }} }};\n"
        ),
    );
}

#[test]
fn ctx_has_what_capabilities_lend_and_each_access_is_judged() {
    let place = Place::new();
    place.write(".haft/config.toml", "[permissions]\ndeny = ['read(secret/**)']\n");
    place.write("secret/k", "hidden");
    place.write("a.txt", "one\ntwo\n");
    lent(
        &place,
        "reads",
        "capabilities: ['fs.read'],",
        "const text = await ctx.readFile(input.path); return [text.split('\\n').length, await ctx.hasRead(input.path), typeof ctx.lastReadMtime(input.path)].join();",
    );
    assert_eq!(given(&place, "reads", &json!({"path": "a.txt"})), "3,true,number");
    assert!(
        failed(&place, "reads", &json!({"path": "secret/k"})).contains("denied"),
        "a rule holds for what scripts read"
    );
    assert!(failed(&place, "reads", &json!({"path": "gone"})).contains("not-found"));
    lent(&place, "bare", "", "return [await ctx.readFile('a.txt')]");
    assert!(failed(&place, "bare", &json!({})).contains("it needs the capability fs.read"));
    lent(&place, "alone", "", "return await ctx.tools.grep({ pattern: 'x' })");
    let said = failed(&place, "alone", &json!({}));
    assert!(
        said.contains("those of the tools that it calls") && said.contains("tool.meta for all"),
        "{said}"
    );
    lent(
        &place,
        "writes",
        "capabilities: ['fs.read', 'fs.write'],",
        "await ctx.recordRead(input.path); await ctx.writeFile(input.path, 'three\\n'); return 'ok'",
    );
    assert_eq!(given(&place, "writes", &json!({"path": "a.txt"})), "ok");
    assert_eq!(place.read("a.txt").unwrap(), "three\n");
    lent(
        &place,
        "finds",
        "capabilities: ['fs.read'],",
        "return (await ctx.tools.grep({ pattern: 'three', path: 'a.txt' })).includes('three') ? 'found' : 'none'",
    );
    assert_eq!(given(&place, "finds", &json!({})), "found");
    lent(&place, "shells", "capabilities: ['fs.read'],", "return ctx.tools.bash({ command: 'true' })");
    assert!(failed(&place, "shells", &json!({})).contains("shell.arbitrary"));
    lent(
        &place,
        "posts",
        "capabilities: ['net.outbound'],",
        "return ctx.fetch('https://example.com/', { method: 'POST', body: 'x' })",
    );
    assert!(failed(&place, "posts", &json!({})).contains("only GET"));
    lent(&place, "calls-itself", "capabilities: ['tool.meta'],", "return ctx.tools['calls-itself']({})");
    assert!(failed(&place, "calls-itself", &json!({})).contains("can't be called from inside"));
    lent(
        &place,
        "notes",
        "",
        "ctx.session.append('remember'); ctx.log('on it'); return typeof fetch + typeof process",
    );
    assert_eq!(given(&place, "notes", &json!({})), "undefinedundefined");
}

#[test]
fn what_a_tool_began_is_finished_and_what_it_returns_is_bounded() {
    let place = Place::new();
    lent(
        &place,
        "late",
        "capabilities: ['fs.write'],",
        "for (let n = 0; n < 12; n++) ctx.writeFile('late' + n + '.txt', 'x'); return 'done'",
    );
    assert_eq!(given(&place, "late", &json!({})), "done");
    for n in 0..12 {
        assert_eq!(place.read(&format!("late{n}.txt")).as_deref(), Some("x"), "{n}");
    }
    lent(&place, "huge", "", "return 'x'.repeat(20000000)");
    assert!(failed(&place, "huge", &json!({})).contains("16 MiB"));
    lent(&place, "twice", "", "return { isError: true, content: [{ type: 'text', text: 'once' }] }");
    assert_eq!(failed(&place, "twice", &json!({})).matches("once").count(), 1);
}

#[test]
fn hooks_and_rules_for_read_and_fetch_hold_for_what_scripts_reach_by_ctx() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    let reads = "return await ctx.readFile(input.path)";
    lent(&place, "reads", "capabilities: ['fs.read'],", reads);
    let fetches = "return await ctx.fetch('https://example.com/')";
    lent(&place, "fetches", "capabilities: ['net.outbound'],", fetches);
    for names in ["haft", "claude-code"] {
        place.write_home(
            "config.toml",
            &format!(
                "[[hooks.PreToolUse]]\nmatcher = \"Read\"\nnames = \"{names}\"\n\
                 command = \"cat > heard; echo not that one >&2; exit 2\"\n"
            ),
        );
        assert!(failed(&place, "reads", &json!({"path": "a.txt"})).contains("not that one"), "{names}");
        let heard: Value = serde_json::from_str(&place.read("heard").unwrap()).unwrap();
        let expected = if names == "haft" { "read" } else { "Read" };
        assert_eq!(heard["tool_name"], expected, "{heard}");
    }
    for rule in ["fetch", "fetch(domain:example.com)", "WebFetch"] {
        place.write_home("config.toml", &format!("[permissions]\ndeny = [\"{rule}\"]\n"));
        let said = failed(&place, "fetches", &json!({}));
        assert!(said.contains("denied") && said.contains(rule), "{rule}: {said}");
    }
}

#[test]
fn a_tool_that_states_its_effects_reaches_those_and_no_others() {
    let place = Place::new();
    place.write("a.txt", "one\n");
    place.write("b.txt", "two\n");
    let more = "capabilities: ['fs.read', 'fs.write'], effects: { reads: ['{path}'], writes: ['out.txt'] },";
    lent(
        &place,
        "stated",
        more,
        "const text = await ctx.readFile(input.path); await ctx.writeFile('out.txt', text); return 'ok'",
    );
    assert_eq!(given(&place, "stated", &json!({"path": "a.txt"})), "ok");
    assert_eq!(place.read("out.txt").unwrap(), "one\n");
    place.run(&["--yes", "undo"]).with(0);
    assert_eq!(place.read("out.txt"), None);
    lent(&place, "strays", more, "return await ctx.readFile('b.txt')");
    assert!(failed(&place, "strays", &json!({"path": "a.txt"})).contains("hadn't stated"));
    lent(&place, "more", more, "return await ctx.tools.read({ path: 'b.txt' })");
    let said = failed(&place, "more", &json!({"path": "a.txt"}));
    assert!(said.contains("tool.meta") || said.contains("states its effects"), "{said}");
}

#[test]
fn a_tool_has_its_own_word_on_an_input() {
    let place = Place::new();
    place.write(
        ".haft/tools/picky.ts",
        r#"export default {
  name: "picky", description: "d", permission: "auto", riskTier: "safe", readOnly: true,
  inputSchema: { type: "object", properties: { n: { type: "number" } } },
  validateInput: ({ n }) => (n < 0 ? { result: false, message: "n is below zero" } : { result: true }),
  checkPermissions: async ({ n }) => (n === 1 ? { behavior: "ask", message: "one is odd" } : n === 2 ? { behavior: "deny", message: "two is too much" } : { behavior: "allow" }),
  execute: ({ n }) => `ran ${n}`,
};
"#,
    );
    assert_eq!(given(&place, "picky", &json!({"n": 0})), "ran 0");
    let invalid = call(&place, "picky", &json!({"n": -1})).with(2);
    assert!(invalid.out.contains("n is below zero"), "{invalid:?}");
    let asked = place.run(&["call", "picky", "{\"n\": 1}"]).with(3);
    assert!(asked.err.contains("one is odd"), "{asked:?}");
    assert!(call(&place, "picky", &json!({"n": 2})).with(3).out.contains("two is too much"));
    for (n, verdict, says) in [(0, "allow", ""), (1, "ask", "one is odd"), (2, "deny", "two is too much")] {
        let explained =
            place.run(&["explain", "--json", "picky", &json!({"n": n}).to_string()]).with(0).json();
        assert_eq!(explained["verdict"], verdict, "{explained}");
        assert!(explained["reason"].as_str().unwrap().contains(says), "{explained}");
    }
}

#[test]
fn a_stream_has_one_final_and_it_is_last() {
    let place = Place::new();
    let last = "yield { type: 'final', output: 'done' };";
    let log = "yield { type: 'log', text: 'on it' };";
    for (name, body, rule) in [
        ("none", log.to_owned(), "without a final event"),
        ("two", format!("{last}{last}"), "second final event"),
        ("early", format!("{last}{log}"), "after the final one"),
        ("empty", "yield { type: 'final' };".to_owned(), "without \"output\""),
    ] {
        place.write(
            &format!(".haft/tools/{name}.ts"),
            &format!("export default {{ name: '{name}', description: 'd', async *executeStream() {{ {body} }} }};\n"),
        );
        let said = failed(&place, name, &json!({}));
        assert!(said.contains(rule) && said.contains("last"), "{name}: {said}");
    }
}

#[test]
fn a_stopped_tool_hears_its_signal_and_tidies_up() {
    let place = Place::new();
    place.write(
        ".haft/tools/slow.ts",
        r#"export default {
  name: "slow", description: "d", timeoutMs: 500,
  execute: (input, ctx, { signal }) => new Promise((done) => {
    ctx.registerAbortHook(() => ctx.log("hook"));
    signal.addEventListener("abort", () => done("stopped"));
  }),
  async cleanup(input, ctx) { ctx.log("tidied"); },
};
"#,
    );
    let object = call(&place, "slow", &json!({})).with(4).json();
    assert_eq!(object["outcome"], "timed-out", "{object}");
    for body in [
        "for (;;) {}",
        "return new Promise((done) => setInterval(() => {}, 10))",
        "throw new TypeError('boom')",
        "return new Promise(() => {})",
    ] {
        place.write(
            ".haft/tools/stuck.ts",
            &format!("export default {{ name: 'stuck', description: 'd', timeoutMs: 500, execute() {{ {body} }} }};\n"),
        );
        let ran = call(&place, "stuck", &json!({}));
        assert!(ran.status == 4 || ran.status == 1, "{body}: {ran:?}");
    }
}

#[test]
fn each_bad_module_is_named_with_its_line_and_the_others_work() {
    let place = Place::new();
    let good = |name: &str| {
        format!(
            "export default {{ name: '{name}', description: 'd', readOnly: true, execute: () => 'fine' }};\n"
        )
    };
    place.write(".haft/tools/good.ts", &good("good"));
    place.write(".haft/tools/read.ts", &good("read"));
    place.write(".haft/tools/syntax.ts", "export default {\n  name: 'syntax',\n  execute( {\n};\n");
    place.write(
        ".haft/tools/throws.ts",
        "const a: number = 1;\nthrow new Error('boom');\nexport default {};\n",
    );
    place.write(".haft/tools/endless.ts", "for (;;) {}\nexport default {};\n");
    place.write(".haft/tools/waits.ts", "await new Promise(() => {});\nexport default {};\n");
    place.write(".haft/tools/nothing.ts", "export const a = 1;\n");
    place.write(
        ".haft/tools/nameless.ts",
        "export default {\n  name: 'a.b',\n  description: 'd',\n  execute: () => '' };\n",
    );
    place.write(".haft/tools/wrong.ts", "export default {\n  name: 'wrong',\n  description: 'd',\n  riskTier: 'high',\n  execute: () => '' };\n");
    place.write(".haft/tools/again.ts", &good("good"));
    let listed = place.run(&["tools", "--problems"]).with(0).out;
    for part in [
        "syntax.ts:",
        "throws.ts:2",
        "boom",
        "endless.ts",
        "waits.ts",
        "never comes",
        "nothing.ts",
        "exports no tool",
        "Invalid tool name \"a.b\"",
        "wrong.ts:4",
        "hides a built-in",
        "two tools named \"good\"",
    ] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    assert_eq!(given(&place, "good", &json!({})), "fine");
    let checked = place.run(&["check", "--json", ".haft/tools/syntax.ts"]).with(1).json();
    assert_eq!((&checked["usable"], &checked["setAside"]), (&json!([]), &json!(1)));
    let all = place.run(&["check"]).with(1).out;
    assert!(all.contains("two tools named \"good\""), "{all}");
}

#[test]
fn checking_tells_of_two_files_with_tools_of_one_name() {
    let place = Place::new();
    let tool = "export default { name: 'dup', description: 'd', execute: () => 1 };\n";
    for at in [".haft/tools/dup.js", ".haft/tools/dup.ts", ".pequenin/tools/dup.ts"] {
        place.write(at, &format!("{tool}// {at}\n"));
    }
    for words in [&["check", "--json"][..], &["check", "--json", "dup"]] {
        let checked = place.run(words).with(1).json();
        assert_eq!((&checked["usable"], &checked["setAside"]), (&json!(["dup"]), &json!(2)), "{checked}");
        let told = checked["problems"].to_string();
        assert!(told.contains("two tools named") && told.contains("already registered by"), "{told}");
    }
}

#[test]
fn a_script_becomes_a_tool_by_its_call() {
    let place = Place::new();
    place.write("a.txt", "TODO one\nTODO two\n");
    let script = "type Line = string;\nconst text: string = await tools.read({ path: 'a.txt' });\nconsole.log('counted', 1n, new Map([['a', 1]]));\nconsole.table([1]);\nconsole.assert(false, 'odd');\nconst cyclic: any = {};\ncyclic.self = cyclic;\nconsole.warn(cyclic);\nif ((await tools.$read('a.txt')) !== 'TODO one\\nTODO two\\n') throw new Error('not as it is');\n(text.match(/TODO/g) ?? []).length";
    let ran =
        place.run_with(&["--yes", "call", "--json", "code", "-"], &json!({"script": script}).to_string());
    let object = ran.with(0).json();
    let id = object["call"].as_str().unwrap();
    let saved =
        place.run(&["save-tool", id, "count-todos", "--description", "Counts what is to do."]).with(0);
    assert!(saved.out.contains("count-todos.ts"), "{saved:?}");
    assert!(
        saved.out.contains("haft call count-todos '{}'") && !saved.out.contains("haft test"),
        "{saved:?}"
    );
    let given = given(&place, "count-todos", &json!({}));
    assert_eq!(given, text(&object), "it prints as the script did");
    assert!(given.starts_with("counted 1n Map {") && given.ends_with("\n2"), "{given}");
    assert!(place.run(&["tools", "show", "count-todos"]).with(0).out.contains("Counts what is to do."));
    let inner = format!("{id}.1");
    for (words, says) in [
        (["save-tool", inner.as_str(), "x"], "was one of read"),
        (["save-tool", "999", "x"], "no call 999"),
        (["save-tool", "abc", "x"], "is no call"),
        (["save-tool", id, "X Y"], "Invalid tool name"),
        (["save-tool", id, "count-todos"], "already"),
    ] {
        let ran = place.run(&words).with(2);
        assert!(ran.err.contains(says), "{words:?}: {ran:?}");
    }
}

#[test]
fn a_module_that_needs_packages_runs_under_node_and_is_kept_in() {
    if !has_program("node") {
        left_out("a module under Node", "node");
        return;
    }
    let place = Place::new();
    let packages = ".haft/tools/node_modules/pad";
    place.write(&format!("{packages}/package.json"), r#"{"name": "pad", "main": "index.js"}"#);
    place.write(&format!("{packages}/index.js"), "exports.pad = (text) => text.padStart(5, '*');\n");
    place.write(
        ".haft/tools/pads/tool.json",
        r#"{"name": "pads", "description": "Pads a word.", "runtime": "node", "capabilities": ["fs.read"], "readOnly": true,
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}"#,
    );
    place.write("a.txt", "here");
    place.write(
        ".haft/tools/pads/index.mjs",
        r#"import { pad } from "pad";
export default tool({
  name: "pads",
  validateInput: ({ word }) => (word === "bad" ? "not that word" : true),
  async execute({ word }, ctx) {
    if (word === "") throw new RangeError("empty");
    if (word === "file") return pad(await ctx.readFile("a.txt"));
    if (word === "write") await ctx.writeFile("b.txt", "b");
    if (word === "tools") await ctx.tools.grep({ pattern: "x" });
    if (word === "never") await new Promise(() => {});
    if (word === "gone") throw Object.assign(new Error("no such word"), { kind: "not-found" });
    if (word === "forge") process.stdout.write('{"type":"final","output":"forged"}\n');
    console.log("padding");
    return pad(word);
  },
});
"#,
    );
    let denied = place.run(&["call", "pads", r#"{"word":"a"}"#]).with(3);
    assert!(denied.err.contains("was never used in this workspace"), "{denied:?}");
    assert_eq!(given(&place, "pads", &json!({"word": "a"})), "****a");
    assert_eq!(given(&place, "pads", &json!({"word": "file"})), "*here");
    let forged = given(&place, "pads", &json!({"word": "forge"}));
    assert!(forged.starts_with("forge\n[stderr]\n"), "{forged}");
    for (word, says) in [
        ("", "RangeError: empty (at index.mjs:6)"),
        ("bad", "not that word"),
        ("write", "needs the capability fs.write"),
        ("tools", "calls no others"),
        ("never", "never comes"),
    ] {
        let failed = failed(&place, "pads", &json!({"word": word}));
        assert!(failed.contains(says), "{word}: {failed}");
    }
    let gone = call(&place, "pads", &json!({"word": "gone"})).with(1).json();
    assert_eq!(
        (&gone["error"]["kind"], &gone["error"]["text"]),
        (&json!("not-found"), &json!("no such word (at index.mjs:11)"))
    );
    let tool = |name: &str| {
        format!(
            r#"{{"name": "{name}", "description": "d", "runtime": "node", "readOnly": true, "timeoutMs": 3000}}"#
        )
    };
    // Who listens for the end of the call is left to wait for it.
    place.write(".haft/tools/hears/tool.json", &tool("hears"));
    place.write(
        ".haft/tools/hears/index.mjs",
        "export default { name: 'hears', execute: (_, { signal }) => new Promise((done) => signal.addEventListener('abort', done)) };\n",
    );
    assert_eq!(call(&place, "hears", &json!({})).with(4).json()["outcome"], "timed-out");
    place.write(".haft/tools/syntax/tool.json", &tool("syntax"));
    place.write(".haft/tools/syntax/index.mjs", "export default {\n  name: 'syntax',\n  execute( {\n};\n");
    let said = failed(&place, "syntax", &json!({}));
    assert!(said.contains("SyntaxError: ") && said.contains("(at index.mjs:4)"), "{said}");
    let shown = place.run(&["tools", "show", "pads", "--json"]).with(0).out;
    assert!(shown.contains("\"confined\":true"), "{shown}");
    place.write(
        ".haft/tools/none/tool.json",
        r#"{"name": "none", "description": "d", "runtime": "node", "main": "gone.mjs"}"#,
    );
    let listed = place.run(&["tools", "--problems"]).with(0).out;
    assert!(listed.contains("none/tool.json:1") && listed.contains("gone.mjs"), "{listed}");
}

#[test]
fn a_module_has_the_language_and_what_the_web_has_without_node() {
    let place = Place::new();
    place.write(
        ".haft/tools/modern.ts",
        r#"import type { Tool, Context } from "some-host";
import { type Other } from "some-host";
enum Level { Low = 1, High }
interface Box<T> { value?: T }
const open = <T,>(box: Box<T> | undefined, otherwise: T): T => box?.value ?? otherwise;
const ready: string = await Promise.resolve("ready");
async function* steps(): AsyncGenerator<number> { yield 1; yield 2; }
export default {
  name: "modern", description: "d", riskTier: "safe", readOnly: true, inputSchema: { type: "object" },
  async execute(input: unknown, ctx: Context) {
    let sum = 0;
    for await (const step of steps()) sum += step;
    const controller = new AbortController();
    controller.signal.addEventListener("abort", () => { sum += 10; });
    controller.abort();
    const waited = await new Promise<string>((done) => setTimeout(done, 1, "waited"));
    return {
      level: Level[Level.High], open: open<number>({ value: 4 }, 5), none: open<number>(undefined, 5), ready, sum, waited,
      id: crypto.randomUUID().length, url: new URL("../a?b=c", "https://example.com/x/y").href,
      bytes: new TextEncoder().encode("é").length, clone: structuredClone(new Map([["a", [1]]])).get("a")[0], text: atob("aGk="),
    };
  },
} satisfies Tool;
"#,
    );
    // Nothing but haft itself is on this machine.
    let nowhere = place.beside("nowhere");
    let mut command = place.command(&["--yes", "call", "--json", "modern", "{}"]);
    command.env("PATH", nowhere).stdout(Stdio::piped()).stderr(Stdio::piped());
    let object = ended(command.spawn().unwrap()).with(0).json();
    assert_eq!(
        object["structured"],
        json!({
            "level": "High", "open": 4, "none": 5, "ready": "ready", "sum": 13, "waited": "waited", "id": 36,
            "url": "https://example.com/a?b=c", "bytes": 2, "clone": 1, "text": "hi",
        })
    );
}

#[test]
fn a_stripped_file_names_its_lines_in_every_child() {
    let place = Place::new();
    // One child strips it and asks about the input, another one runs it.
    place.write(
        ".haft/tools/placed/index.ts",
        "import { fail } from './fail';\nexport default {\n  name: 'placed', description: 'd',\n  validateInput: () => true,\n  execute: () => fail(),\n};\n",
    );
    place.write(
        ".haft/tools/placed/fail.ts",
        "interface A {\n  n: number;\n}\n\nexport function fail(): A {\n  throw new RangeError('too far');\n}\n",
    );
    let said = failed(&place, "placed", &json!({}));
    assert!(said.contains("RangeError: too far (at fail.ts:6)"), "{said}");
}

#[test]
fn a_folder_with_more_than_is_read_is_refused_and_says_so() {
    let place = Place::new();
    let tool =
        |name: &str| format!("export default {{ name: '{name}', description: 'd', execute: () => 1 }};\n");
    place.write(".haft/tools/many/index.ts", &tool("many"));
    for number in 0..201 {
        place.write(&format!(".haft/tools/many/part{number}.ts"), "export {};\n");
    }
    place.write(".haft/tools/crowded/index.ts", &tool("crowded"));
    for number in 0..1_000 {
        place.write(&format!(".haft/tools/crowded/data/{number}.bin"), "");
    }
    place.write(".haft/tools/deep/index.ts", &tool("deep"));
    place.write(".haft/tools/deep/1/2/3/4/5/6/7/8/a.ts", "export {};\n");
    place.write(".haft/tools/good.ts", &tool("good"));
    let listed = place.run(&["tools", "--problems"]).with(0).out;
    for part in ["more than 200 files", "more than 1000 files and folders", "lies deeper than 8 folders"] {
        assert!(listed.contains(part), "no {part:?} in {listed}");
    }
    assert_eq!(given(&place, "good", &json!({})), "1");
}

#[test]
fn what_is_kept_of_modules_is_bounded() {
    let place = Place::new();
    let tool = |number: u32| {
        format!("export default {{ name: 'one', description: 'd', execute: () => {number} }};\n")
    };
    place.write(".haft/tools/one.ts", &tool(1));
    place.run(&["tools"]).with(0);
    let workspaces = std::fs::read_dir(place.home().join("state/workspaces")).unwrap();
    let kept = workspaces.flatten().next().unwrap().path().join("scripts");
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 1);
    for number in 0..2_050 {
        let file = std::fs::File::create(kept.join(format!("{number}.json"))).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(number)).unwrap();
    }
    place.write(".haft/tools/one.ts", &tool(2));
    place.run(&["tools"]).with(0);
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 2_000);
    assert!(!kept.join("0.json").exists() && kept.join("2049.json").exists(), "the oldest go first");
}
