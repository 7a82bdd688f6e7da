// Asking haft: each a line out and an answer in, tools among it.

let nextAsk = 1, open = 0, atOnce = 8, ended = false;
// All that waits for an answer or for its turn, by its number, the oldest first.
const asked = new Map();
// What waits for its turn: each knows who comes after it, so that nobody pays for how many there are.
let firstQueued = null, lastQueued = null, queued = 0;

class ToolError extends Error {
  constructor(message) {
    super(message);
    this.tool = undefined;
    this.kind = undefined;
  }
  get name() { return "ToolError"; }
}

/** Asks haft for something. The error that a refusal becomes is made here, so that it knows the script's line. */
function ask(call, what, name, input) {
  if (ended) throw new Error("the script has ended");
  let parts = "";
  for (let at = 0; at < name.length; at++) parts += (at > 0 ? "," : "") + quote(name[at]);
  const text = '"call":' + call + ',"what":' + quote(what) + ',"name":[' + parts + "]" +
    ',"input":' + encoded(input, "the input of " + what);
  const error = new ToolError("");
  return new Promise((resolve, reject) => {
    const entry = { id: nextAsk++, call, text, resolve, reject, error, next: null };
    mapSet(asked, entry.id, entry);
    if (open >= atOnce) enqueue(entry);
    else start(entry);
  });
}

function enqueue(entry) {
  if (lastQueued === null) firstQueued = entry;
  else lastQueued.next = entry;
  lastQueued = entry;
  queued++;
}

function dequeue() {
  const entry = firstQueued;
  firstQueued = entry.next;
  if (firstQueued === null) lastQueued = null;
  entry.next = null;
  queued--;
  return entry;
}

function start(entry) {
  open++;
  const why = send('{"say":"ask","id":' + entry.id + "," + entry.text + "}");
  if (why === "") return;
  open--;
  mapDelete(asked, entry.id);
  refused(entry, "the input is " + why);
}

function answer(order) {
  const entry = mapGet(asked, order.id);
  if (entry === undefined) return;
  mapDelete(asked, order.id);
  open--;
  while (firstQueued !== null && open < atOnce) start(dequeue());
  if (order.error === undefined || order.error === null) return entry.resolve(order.value);
  const { error } = entry;
  error.tool = order.error.tool === null ? undefined : order.error.tool;
  error.kind = order.error.kind;
  refused(entry, order.error.text);
}

function refused({ error, reject }, text) {
  defineProperty(error, "message", { value: text, writable: true, configurable: true, enumerable: false });
  reject(error);
}

/** What asking for a part of a name and calling come to. One for all names: `this` has whose call it is, and the parts so
 * far. */
const toolTraps = freeze({
  __proto__: null,
  get(_, key) {
    const { call, path } = this;
    if (typeof key !== "string" || key === "then" || key === "toJSON") return undefined;
    if (path.length === 0 && key === "$search") return (query) => ask(call, "search", [], String(query));
    if (path.length === 0 && key === "$read") {
      return (path) => then(ask(call, "readFile", [], { path: String(path) }), (found) => found.text);
    }
    if (path.length === 0 && key === "$describe") return (name) => ask(call, "describe", [], String(name));
    if (path.length >= NESTING_MAX) throw new TypeError("no tool's name has so many parts");
    return toolNode(call, [...path, key]);
  },
  apply(_, __, args) {
    if (this.path.length === 0) throw new TypeError("name a tool: tools.NAME({…})");
    const input = args.length === 0 || args[0] === undefined ? {} : args[0];
    return ask(this.call, "tool", this.path, input);
  },
  set() { throw new TypeError("tools can't be changed"); },
  defineProperty() { throw new TypeError("tools can't be changed"); },
  deleteProperty() { throw new TypeError("tools can't be changed"); },
  setPrototypeOf() { throw new TypeError("tools can't be changed"); },
  construct() { throw new TypeError("a tool is called, not constructed"); },
  getPrototypeOf() { return null; },
  ownKeys() { return []; },
  getOwnPropertyDescriptor() { return undefined; },
  has() { return true; },
});

const toolNode = (call, path) => new Proxy(() => {}, { __proto__: toolTraps, call, path });

/** The tools as functions: `tools.grep({…})`, `tools["word-stats"]({…})`, `tools.mcp.github.list_issues({…})`. */
const toolsOf = (call) => toolNode(call, []);
