// Runs the module of a tool under Node, Deno or Bun: input on stdin, events on stdout, in the shapes that modules have
// in haft's own engine. `about` is put before this text: the tool's name, its main file, what it is granted, and the
// extension that it is of.
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { existsSync, writeSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

const RUNS = ["execute", "call", "run", "handler"];
const EVENTS = ["log", "warning", "partial_output", "metric", "file_changed"];
const FINAL_RULE = 'yield exactly one {"type":"final","output":…}, and yield it last';
const ABORT_MS = 1500;
const STOPPED = 143;
// Known to who reads the events; of no other output.
const FAILED = "haft:failed";
const controller = new AbortController();

/** Who listens for the end of the call waits for that. */
const listeners = new Set();
for (const [name, change] of [["addEventListener", "add"], ["removeEventListener", "delete"]]) {
  const own = controller.signal[name].bind(controller.signal);
  controller.signal[name] = (type, listener, ...rest) => {
    if (type === "abort") listeners[change](listener);
    return own(type, listener, ...rest);
  };
}
const isHeard = () => listeners.size > 0 || typeof controller.signal.onabort === "function";

// ------------------------------------------------------------------------------------------------ what it says

function plain(_, value) {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}

/** Writes a line, all of it, before anything else happens. */
function say(event) {
  let bytes = Buffer.from(`${JSON.stringify(event, plain)}\n`);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(1, bytes));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      // Who reads is slower.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

const show = (value) => (typeof value === "string" ? value : inspect(value));
const line = (parts) => parts.map(show).join(" ");
const log = (...parts) => say({ type: "log", text: line(parts) });
const warn = (...parts) => say({ type: "warning", text: line(parts) });

/** What is printed is for people, and never a line of the protocol. */
function divert() {
  const quiet = () => {};
  globalThis.console = {
    ...globalThis.console, log, info: log, debug: log, dir: log, table: log, trace: log, warn, error: warn, group: log,
    groupEnd: quiet, assert: (holds, ...parts) => { if (!holds) warn("Assertion failed", ...parts); },
  };
  process.stdout.write = (...args) => process.stderr.write(...args);
}

/** A thrown value in words, with the line of the tool's own file. */
function described(error) {
  if (typeof error !== "object" || error === null) return show(error);
  const name = error.name && error.name !== "Error" ? `${error.name}: ` : "";
  // Bun writes paths where the others write addresses.
  const owns = [`${pathToFileURL(process.cwd()).href}/`, `${process.cwd()}/`];
  const frames = stackOf(error).split("\n").filter((one) => !/\[eval|\$deno\$eval|node_modules\//.test(one));
  const behind = (frame) => owns.filter((own) => frame.includes(own)).map((own) => frame.slice(frame.indexOf(own) + own.length))[0];
  const errors = Array.isArray(error.errors) ? error.errors : [];
  // Bun says of a syntax error where it is beside its stack.
  const position = [error, ...errors].find((one) => one?.position?.line > 0)?.position;
  const place = frames.map(behind).find((rest) => rest !== undefined)?.match(/^[^?:)]+[^:)]*:\d+/)?.[0]
    ?? (position ? `${path.relative(process.cwd(), String(position.file))}:${position.line}` : undefined);
  const inner = errors.slice(0, 3).map((one) => one?.message ?? show(one)).join("; ");
  const message = [error.message ?? show(error), inner, whyNot(error)].filter((one) => one !== "").join(": ");
  return `${name}${message}${place ? ` (at ${place})` : ""}`;
}

/** Why something couldn't be fetched, of which Node and Deno say no more than that. */
function whyNot({ message, cause }) {
  if (message !== "fetch failed" || typeof cause !== "object" || cause === null) return "";
  const [major, minor] = process.versions.node.split(".").map(Number);
  const usesProxies = about.runtime !== "node" || major >= 24 || (major === 22 && minor >= 21);
  const hint = process.env.HTTP_PROXY === undefined || usesProxies ? ""
    : ", and this Node's fetch doesn't take the proxy to the hosts that the sandbox allows; use Node 22.21 or newer";
  return `${cause.message || cause.code || show(cause)}${hint}`;
}

/** Where an error came from. Node says of a syntax error only what it says when it reads the file by itself. */
function stackOf(error) {
  if (about.runtime !== "node" || !(error instanceof SyntaxError) || error.stack.includes("(file:")) return String(error.stack ?? "");
  const read = spawnSync(process.execPath, ["--check", path.join(process.cwd(), about.main)], { encoding: "utf8", timeout: 5000 });
  return String(read.stderr ?? "");
}

/** Ends it; what was thrown becomes the call's failure, of its own kind where it names one. */
function fail(error) {
  // Who was told to end is on the way.
  if (controller.signal.aborted) return;
  const kind = typeof error?.kind === "string" ? error.kind : null;
  say({ type: "final", output: { [FAILED]: { kind, text: described(error) } } });
  process.exit(0);
}

// ------------------------------------------------------------------------------------------------ what calls are lent

function contextOf(hooks) {
  const granted = (name, capability, fn) => (about.capabilities.includes(capability) ? fn : () => {
    throw new Error(`ctx.${name} isn't lent to this tool; it needs the capability ${capability}`);
  });
  const workspace = process.env.HAFT_WORKSPACE ?? process.cwd();
  const at = (file) => path.resolve(workspace, String(file));
  const read = new Map();
  const readText = granted("readFile", "fs.read", async (file) => {
    const text = await readFile(at(file), "utf8");
    read.set(at(file), (await stat(at(file))).mtimeMs);
    return text;
  });
  return Object.freeze({
    callId: process.env.HAFT_CALL_ID, sessionId: process.env.HAFT_SESSION, workspace, cwd: workspace,
    signal: controller.signal, abortSignal: controller.signal,
    tools: new Proxy({}, { get: (_, name) => (typeof name === "symbol" || name === "then" || name === "toJSON" ? undefined : () => {
      throw new Error(`a tool under ${about.runtime} calls no others: ctx.tools.${String(name)} isn't there`);
    }) }),
    fetch: granted("fetch", "net.outbound", (url, init) => fetch(url, { signal: controller.signal, ...init })),
    readFile: readText,
    writeFile: granted("writeFile", "fs.write", async (file, text) => {
      if (existsSync(at(file)) && !read.has(at(file))) throw new Error(`${file} is there already; read it first, with ctx.readFile`);
      await writeFile(at(file), String(text));
      read.set(at(file), (await stat(at(file))).mtimeMs);
      say({ type: "file_changed", data: { path: at(file) } });
    }),
    recordRead: granted("recordRead", "fs.read", async (file) => { await readText(file); }),
    hasRead: async (file) => read.has(at(file)),
    lastReadMtime: (file) => read.get(at(file)) ?? null,
    registerAbortHook: (fn) => {
      if (typeof fn !== "function") throw new TypeError("registerAbortHook takes a function");
      hooks.push(fn);
      return { dispose: () => { const index = hooks.indexOf(fn); if (index >= 0) hooks.splice(index, 1); } };
    },
    session: Object.freeze({ id: process.env.HAFT_SESSION, append: log }),
    log: Object.assign((...parts) => log(...parts), { log, info: log, debug: log, warn, error: warn }),
    emit: emitted,
    secrets: Object.freeze({ get: async () => null }),
    getState: () => ({}), setState: () => {},
  });
}

function emitted(event) {
  if (typeof event === "string") return say({ type: "partial_output", text: event });
  if (!EVENTS.includes(event?.type)) throw new Error(`an event has a type: ${EVENTS.join(", ")}`);
  return say(event);
}

// ------------------------------------------------------------------------------------------------ the tool

const isTool = (value) => typeof value?.name === "string" && [...RUNS, "executeStream"].some((name) => typeof value[name] === "function");

async function found() {
  let module;
  try {
    module = await import(pathToFileURL(path.join(process.cwd(), about.main)).href);
  } catch (error) {
    if (error?.code !== "ERR_UNKNOWN_FILE_EXTENSION") throw error;
    throw new Error(`this ${about.runtime} runs no TypeScript; use Node 22.18 or newer, or compile the tool to index.mjs`);
  }
  if (about.extension !== undefined) return activated(module);
  const own = module.default;
  const all = [own, own?.default, own?.tools, ...Object.values(module)].flat().filter(isTool);
  const distinct = [...new Set(all)];
  const tool = distinct.find((one) => one.name === about.name) ?? (distinct.length === 1 ? distinct[0] : undefined);
  if (tool === undefined) throw new Error(`${about.main} exports no tool "${about.name}": export default { name, execute(input, ctx) { … } }`);
  return tool;
}

/** What goes when the extension does. */
const disposables = [];

/** Activates an extension, and gives its tool. */
async function activated(module) {
  const own = module.default;
  const main = module.activate ?? own?.activate ?? (typeof own === "function" ? own : undefined);
  if (typeof main !== "function") throw new Error(`${about.main} exports no activate(ctx)`);
  const left = module.deactivate ?? own?.deactivate;
  if (typeof left === "function") disposables.push(left);
  const tools = [];
  const register = (tool) => {
    if (!isTool(tool)) throw new Error("register takes { name, description, inputSchema, execute(input, ctx) { … } }");
    if (tools.some((one) => one.name === tool.name)) throw new Error(`Tool "${tool.name}" already registered by "${about.extension}"`);
    tools.push(tool);
    return { dispose: () => { const at = tools.indexOf(tool); if (at >= 0) tools.splice(at, 1); } };
  };
  const add = (...all) => {
    disposables.push(...all.filter((one) => typeof one === "function" || typeof one?.dispose === "function"));
    return all[0];
  };
  // Who counts on one of these is told, since a guard that isn't heard would be none.
  const missing = (name) => () => {
    throw new Error(`ctx.api.${name} isn't there under ${about.runtime}; leave out "runtime" to have it`);
  };
  const all = (name, ...parts) => Object.freeze(Object.fromEntries(parts.map((part) => [part, missing(`${name}.${part}`)])));
  const api = Object.freeze({
    tools: Object.freeze({ register, wrap: missing("tools.wrap"), remove: missing("tools.remove") }),
    disposables: Object.freeze({ add, push: add }),
    hooks: all("hooks", "register"), commands: all("commands", "register"), http: all("http", "fetch", "get"),
    storage: all("storage", "get", "set", "delete", "keys"), secrets: all("secrets", "get"),
  });
  const known = { id: about.extension, name: about.extension, version: "" };
  add(await main(Object.freeze({
    ...known, api, subscriptions: { push: add }, disposables: api.disposables, extension: Object.freeze(known),
    log: Object.assign((...parts) => log(...parts), { log, info: log, debug: log, warn, error: warn }),
  })));
  const tool = tools.find((one) => one.name === about.name);
  if (tool === undefined) throw new Error(`activate registers no tool "${about.name}", which its manifest names`);
  return tool;
}

/** Lets the extension go, the last of its things first. */
async function ended() {
  for (const one of disposables.splice(0).reverse()) {
    try {
      await (typeof one === "function" ? one() : one.dispose());
    } catch (error) {
      warn("a disposable failed:", described(error));
    }
  }
}

/** What the tool says of an input. Here it can only refuse: who may run it is settled by then. */
async function checked(tool, input) {
  const refused = (text, kind) => Object.assign(new Error(text), { kind });
  if (typeof tool.isEnabled === "function" && (await tool.isEnabled()) === false) throw refused("the tool says that it isn't enabled", "unavailable");
  const valid = await tool.validateInput?.(input, {});
  const isRefused = valid === false || (valid?.result ?? valid?.ok ?? valid?.valid) === false;
  if (typeof valid === "string" && valid !== "") throw refused(valid, "invalid-input");
  if (isRefused) throw refused(String(valid.message ?? valid.error ?? valid.reason ?? "it refuses this input"), "invalid-input");
  const check = await tool.checkPermissions?.(input, {});
  const word = typeof check === "string" ? check : check?.behavior ?? check?.decision ?? check?.permission;
  if (check === false || ![undefined, "allow", "passthrough"].includes(word)) {
    throw refused(String(check?.message ?? check?.reason ?? "the tool's own check doesn't allow this input"), "permission");
  }
}

/** The last event of a stream; before it there is none, and after it nothing. */
async function streamed(stream) {
  let count = 0, isOver = false, output;
  for await (const event of stream) {
    count++;
    const isFinal = event?.type === "final";
    if (isOver) throw new Error(`event ${count} of its stream is ${isFinal ? "a second final event" : "an event after the final one"} — ${FINAL_RULE}`);
    if (!isFinal) emitted(event);
    else if (!("output" in event)) throw new Error(`event ${count} of its stream is a final event without "output" — ${FINAL_RULE}`);
    else [output, isOver] = [event.output, true];
  }
  if (!isOver) throw new Error(`its stream ended without a final event — ${FINAL_RULE}`);
  return output;
}

async function run(tool, input, context) {
  const extra = { signal: context.signal, abortSignal: context.signal };
  if (typeof tool.executeStream === "function") return streamed(tool.executeStream(input, context, extra));
  const result = await tool[RUNS.find((name) => typeof tool[name] === "function")](input, context, extra);
  return typeof result?.[Symbol.asyncIterator] === "function" ? streamed(result) : result;
}

/** Content blocks, alone or in an object, are told as such. */
function output(value) {
  const list = Array.isArray(value) ? value : value?.content;
  const areBlocks = Array.isArray(list) && list.length > 0 && list.every((one) => ["text", "image", "audio"].includes(one?.type));
  if (!areBlocks) return value ?? "";
  if (value.isError === true) throw new Error(list.map((one) => one.text ?? "").join("\n"));
  const named = ({ mimeType, ...rest }) => (mimeType === undefined ? rest : { ...rest, mediaType: mimeType });
  return { content: list.map(named) };
}

async function main() {
  divert();
  globalThis.sleep ??= (ms) => new Promise((done) => setTimeout(done, ms));
  for (const wrapper of ["tool", "buildTool", "defineTool"]) globalThis[wrapper] ??= (definition) => definition;
  const hooks = [];
  let tool, input, context, working = Promise.resolve();
  process.on("SIGTERM", async () => {
    if (controller.signal.aborted) return;
    controller.abort();
    const later = new Promise((done) => setTimeout(done, ABORT_MS));
    const tidied = (async () => {
      for (const hook of hooks.reverse()) await Promise.resolve().then(hook).catch((error) => warn("an abort hook failed:", described(error)));
      await working.catch(() => {});
      await tool?.cleanup?.(input, context);
      await ended();
    })();
    await Promise.race([tidied, later]).catch((error) => warn("cleanup failed:", described(error)));
    process.exit(STOPPED);
  });
  const pieces = [];
  for await (const piece of process.stdin) pieces.push(piece);
  input = JSON.parse(Buffer.concat(pieces).toString("utf8") || "{}");
  context = contextOf(hooks);
  tool = await found();
  await checked(tool, input);
  working = run(tool, input, context);
  const value = output(await working);
  if (controller.signal.aborted) return;
  await Promise.race([ended(), new Promise((done) => setTimeout(done, ABORT_MS))]);
  say({ type: "final", output: value });
  process.exit(0);
}

process.on("uncaughtException", fail);
process.on("beforeExit", () => {
  if (isHeard()) setInterval(() => {}, 2 ** 30);
  else fail(new Error("it waits for something that never comes: a promise that nothing resolves"));
});
process.on("unhandledRejection", fail);
main().catch(fail);
