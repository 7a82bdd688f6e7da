// What stands around every script. It runs first and keeps what it needs of the language, so that a script that
// changes prototypes changes them for itself only. Messages are put together from JSON texts of single values: no
// value, whatever its `toJSON` says, becomes a message of its own.
(function (native) {
  "use strict";
  const { Array, ArrayBuffer, Date, Error, JSON, Map, Math, Object, Promise, Proxy, RangeError, RegExp, Set, String, Symbol,
    TypeError, Uint8Array, WeakMap } = globalThis;
  const stringify = JSON.stringify, parse = JSON.parse;
  const { defineProperty, freeze, getPrototypeOf, getOwnPropertyDescriptor, keys, create } = Object;
  const ownKeys = Reflect.ownKeys, apply = Reflect.apply;
  const isArray = Array.isArray, isView = ArrayBuffer.isView;
  const { floor, max, min } = Math;
  const toText = Function.prototype.call.bind(Object.prototype.toString);
  const bound = (method) => Function.prototype.call.bind(method);
  const slice = bound(String.prototype.slice), codeAt = bound(String.prototype.charCodeAt);
  const replaceAll = bound(String.prototype.replaceAll), startsWith = bound(String.prototype.startsWith);
  const split = bound(String.prototype.split), indexOf = bound(String.prototype.indexOf), join = bound(Array.prototype.join);
  const toISO = bound(Date.prototype.toISOString);
  const fromCode = String.fromCharCode;
  const send = native.send;
  const then = bound(Promise.prototype.then);
  const mapSet = bound(Map.prototype.set), mapDelete = bound(Map.prototype.delete), mapEach = bound(Map.prototype.forEach);
  let further = null, idle = null, heard = null;
  // A script has returned first; then what it began and didn't wait for is finished, and it is settled.
  let isScript = false, returned = false, settled = false;

  const DEPTH_MAX = 5;
  const ITEMS_MAX = 100;
  const TIMERS_MAX = 1000;
  const NESTING_MAX = 8;
  const FAULT_MAX = 1 << 20;
  const INNER_MAX = 3;
  const UNHEARD_MAX = 1000;
  const TOLD_MAX = 5;

  // ---------------------------------------------------------------------------------------------- messages

  const quote = (text) => stringify(String(text));

  /** What JSON has no form for gets the nearest one. */
  function plain(key, value) {
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    switch (toText(value)) {
      case "[object Map]": {
        const made = create(null);
        for (const [name, item] of value) made[typeof name === "object" ? stringify(name) : String(name)] = item;
        return made;
      }
      case "[object Set]": return [...value];
      case "[object Error]": return { name: String(value.name), message: String(value.message) };
      default: return isView(value) && typeof value.length === "number" ? Array.from(value) : value;
    }
  }

  /** The JSON text of a value; none where it has none. */
  function encode(value) {
    return stringify(value, plain);
  }

  function encoded(value, what) {
    let text;
    try {
      text = encode(value);
    } catch (error) {
      if (isOfMemory(error)) throw error;
      throw new TypeError(what + " has no JSON form: " + describe(error));
    }
    return text === undefined ? "null" : text;
  }

  function described(error, message) {
    try {
      if (typeof error === "object" && error !== null && "message" in error) {
        const name = error.name === undefined ? "Error" : error.name;
        return String(name) + ": " + message(error, String(error.message));
      }
      return String(error);
    } catch {
      return "an error that can't be shown";
    }
  }

  const describe = (error) => described(error, withInner);

  /** A message with the errors that one of several has in it. */
  function withInner(error, message) {
    let inner = "";
    try {
      const { errors } = error;
      if (isArray(errors)) {
        for (let at = 0; at < errors.length && at < INNER_MAX; at++) inner += (at > 0 ? "; " : "") + described(errors[at], (_, text) => text);
        if (errors.length > INNER_MAX) inner += "; … " + (errors.length - INNER_MAX) + " more";
      }
    } catch {
      return message;
    }
    return inner === "" ? message : message === "" ? inner : message + " (" + inner + ")";
  }

  /** Sends something; throws where it is too long or nested too deep. */
  function sent(text, what) {
    const why = send(text);
    if (why !== "") throw new RangeError(what + " is " + why);
  }

  function log(level, text) {
    sent('{"say":"log","level":' + quote(level) + ',"text":' + quote(text) + "}", "what is printed");
  }

  /** Says that something failed. Where there is no memory left to say what, just that. */
  function failed(id, error) {
    if (id === 0) settled = true;
    try {
      sent('{"say":"failed","id":' + id + ',"fault":' + faultOf(error) +
        (id === 0 && isScript ? ',"rest":' + rest(error) : "") + "}", "the error");
    } catch {
      native.spent(id);
    }
  }

  /** Where the engine has no memory for an error either, it throws null. */
  function isOfMemory(error) {
    try {
      return error === null || (typeof error === "object" && error.name === "InternalError" && error.message === "out of memory");
    } catch {
      return false;
    }
  }

  function faultOf(error) {
    const isObject = (typeof error === "object" || typeof error === "function") && error !== null;
    const part = (name) => {
      try {
        const value = isObject ? error[name] : undefined;
        return value === undefined || value === null ? null : String(value);
      } catch {
        return null;
      }
    };
    const json = (text) => (text === null ? "null" : stringify(text));
    const name = part("name"), message = part("message"), stack = part("stack");
    const isMemory = isOfMemory(error);
    const text = isMemory ? (error === null && native.throwsNull() ? "the script threw null, or it was " : "") + native.memory
      : message === null ? "the script threw " + show(error) : withInner(error, message);
    return '{"name":' + json(isMemory || message === null ? null : name) + ',"text":' + json(slice(text, 0, FAULT_MAX)) +
      ',"tool":' + json(part("tool")) + ',"kind":' + json(part("kind")) +
      ',"place":' + native.where(stack === null ? "" : stack) + "}";
  }

  // ---------------------------------------------------------------------------------------------- what nobody waited for

  // Promises that were rejected while nobody waited for them, with why; of very many only the number.
  let unheard = new Map();
  let unheardCount = 0, unheardMore = 0, lateTimers = 0;

  function rejected(promise, reason, isHandled) {
    if (isHandled) {
      if (mapDelete(unheard, promise)) unheardCount--;
      else if (unheardMore > 0) unheardMore--;
    } else if (unheardCount < UNHEARD_MAX) {
      mapSet(unheard, promise, reason);
      unheardCount++;
    } else unheardMore++;
  }

  /** What is told beside a script's end: what failed unheard, and what was left out. */
  function rest(error) {
    let faults = "", told = 0, more = unheardMore;
    mapEach(unheard, (reason) => {
      if (reason === error && error !== undefined) return;
      if (told >= TOLD_MAX) more++;
      else faults += (told++ > 0 ? "," : "") + faultOf(reason);
    });
    return '{"unheard":[' + faults + '],"more":' + more + ',"unmade":' + queue.length + ',"timers":' + lateTimers + "}";
  }

  /** A module goes on, so that it is told at once. */
  function tellUnheard() {
    const reasons = [];
    mapEach(unheard, (reason) => { reasons[reasons.length] = reason; });
    unheard = new Map();
    const more = unheardMore;
    unheardCount = unheardMore = 0;
    for (let at = 0; at < reasons.length && at < TOLD_MAX; at++) {
      log("error", "a promise that nobody waited for was rejected: " + describe(reasons[at]));
    }
    const left = reasons.length + more - TOLD_MAX;
    if (left > 0) log("error", left + " more promises that nobody waited for were rejected");
  }

  // Whose end waits until nothing that it asked for is still to be answered.
  let ending = [];

  /** Calls `done` once all that was asked for in a call was answered, and what follows from the answers has run. */
  function atRest(call, done) {
    ending[ending.length] = { call, done };
  }

  /** Ends what has come to rest; whether anything did. */
  function endRested() {
    const all = ending, left = [];
    let any = false;
    const open = create(null);
    const ids = keys(asked);
    for (let at = 0; at < ids.length; at++) open[asked[ids[at]].call] = true;
    ending = left;
    for (let at = 0; at < all.length; at++) {
      if (open[all[at].call] === true) left[left.length] = all[at];
      else {
        any = true;
        all[at].done();
      }
    }
    return any;
  }

  // ---------------------------------------------------------------------------------------------- console

  function show(value) {
    return typeof value === "string" ? value : inspect(value, 0, []);
  }

  function inspect(value, depth, above) {
    try {
      return inspected(value, depth, above);
    } catch {
      return "[can't be shown]";
    }
  }

  function inspected(value, depth, above) {
    switch (typeof value) {
      case "string": return depth === 0 ? value : quote(value);
      case "bigint": return String(value) + "n";
      case "symbol": return String(value);
      case "function": return "[Function" + (value.name ? ": " + String(value.name) : "") + "]";
      case "object": break;
      default: return String(value);
    }
    if (value === null) return "null";
    for (let at = 0; at < above.length; at++) if (above[at] === value) return "[Circular]";
    const kind = toText(value);
    if (kind === "[object Error]") return describe(value);
    if (kind === "[object Date]") return toISO(value);
    if (kind === "[object RegExp]") return String(value);
    if (kind === "[object Promise]") return "[Promise]";
    if (depth >= DEPTH_MAX) return isArray(value) ? "[…]" : "{…}";
    const inner = [...above, value];
    const item = (one) => inspect(one, depth + 1, inner);
    const list = (items, total) => {
      const text = join(items, ", ");
      return total > items.length ? text + ", … " + (total - items.length) + " more" : text;
    };
    if (isArray(value) || isView(value)) {
      const total = value.length === undefined ? 0 : value.length;
      const items = [];
      for (let at = 0; at < total && at < ITEMS_MAX; at++) items[at] = item(value[at]);
      return "[" + list(items, total) + "]";
    }
    if (kind === "[object Map]" || kind === "[object Set]") {
      const items = [];
      for (const one of value) {
        if (items.length >= ITEMS_MAX) break;
        items[items.length] = kind === "[object Map]" ? item(one[0]) + " => " + item(one[1]) : item(one);
      }
      return (kind === "[object Map]" ? "Map {" : "Set {") + list(items, value.size) + "}";
    }
    const names = keys(value);
    const items = [];
    for (let at = 0; at < names.length && at < ITEMS_MAX; at++) items[at] = names[at] + ": " + get(value, names[at], item);
    return items.length === 0 ? "{}" : "{ " + list(items, names.length) + " }";
  }

  function get(value, name, item) {
    let found;
    try {
      found = value[name];
    } catch (error) {
      return "[threw " + describe(error) + "]";
    }
    return item(found);
  }

  const line = (args) => {
    const parts = [];
    for (let at = 0; at < args.length; at++) parts[at] = show(args[at]);
    return join(parts, " ");
  };
  const counts = create(null), clocks = create(null);
  /** The console whose lines go to `say`, with their level. */
  const consoleOf = (say) => {
    const speaker = (level) => (...args) => { say(level, line(args)); };
    return {
      log: speaker("log"), info: speaker("log"), debug: speaker("debug"), warn: speaker("warn"), error: speaker("error"),
      dir: (value) => say("log", show(value)),
      table: (value) => say("log", show(value)),
      trace: (...args) => say("debug", line(args)),
      assert: (holds, ...args) => { if (!holds) say("error", "Assertion failed" + (args.length ? ": " + line(args) : "")); },
      count: (label = "default") => { counts[label] = (counts[label] || 0) + 1; say("log", label + ": " + counts[label]); },
      time: (label = "default") => { clocks[label] = native.now(); },
      timeEnd: (label = "default") => { say("log", label + ": " + (native.now() - (clocks[label] || 0)).toFixed(1) + " ms"); },
      group: (...args) => { if (args.length) say("log", line(args)); },
      groupEnd: () => {},
    };
  };
  /** Runs `main` with a console whose lines stand before what it returns, as the result of a script has them. */
  async function printing(main) {
    let printed = "", isFirst = true;
    const add = (text) => {
      printed += (isFirst ? "" : "\n") + text;
      isFirst = false;
    };
    const value = await main(freeze(consoleOf((level, text) => add((level === "warn" || level === "error" ? "[" + level + "] " : "") + text))));
    if (isFirst) return value;
    if (value !== undefined) add(typeof value === "string" ? value : encoded(value, "the result"));
    return printed;
  }
  const console = freeze({ ...consoleOf(log), printing });

  // ---------------------------------------------------------------------------------------------- timers

  let timers = [];
  let nextTimer = 1;
  let longest = 300000;

  function addTimer(fn, delay, every, args) {
    if (typeof fn !== "function") throw new TypeError("a timer needs a function");
    if (returned) lateTimers++;
    if (timers.length >= TIMERS_MAX) throw new RangeError("there are " + TIMERS_MAX + " timers already");
    const time = min(max(Number(delay) || 0, every ? 1 : 0), longest);
    const timer = { id: nextTimer++, at: native.now() + time, every: every ? time : null, fn, args };
    timers[timers.length] = timer;
    return timer.id;
  }

  function dropTimer(id) {
    const left = [];
    for (let at = 0; at < timers.length; at++) if (timers[at].id !== id) left[left.length] = timers[at];
    timers = left;
  }

  /** Calls one timer that is due. Says how many milliseconds there are until the next; below zero where there is none. */
  function tick() {
    if (!isScript && unheardCount > 0) tellUnheard();
    if (ending.length > 0 && endRested()) return 0;
    let first = null;
    for (let at = 0; at < timers.length; at++) if (first === null || timers[at].at < first.at) first = timers[at];
    if (first === null || (isScript && (settled || returned))) return -1;
    const left = first.at - native.now();
    if (left > 0) return floor(left) + 1;
    if (first.every === null) dropTimer(first.id);
    else first.at = native.now() + first.every;
    try {
      apply(first.fn, undefined, first.args);
    } catch (error) {
      log("error", "a timer threw " + describe(error));
    }
    return 0;
  }

  const sleep = (ms) => new Promise((done) => addTimer(() => done(undefined), ms, false, []));

  // ---------------------------------------------------------------------------------------------- asking haft

  let nextAsk = 1, open = 0, atOnce = 8, ended = false;
  const asked = create(null);
  let queue = [];

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
      const entry = { id: nextAsk++, call, text, resolve, reject, error };
      asked[entry.id] = entry;
      if (open >= atOnce) queue[queue.length] = entry;
      else start(entry);
    });
  }

  function start(entry) {
    open++;
    const why = send('{"say":"ask","id":' + entry.id + "," + entry.text + "}");
    if (why === "") return;
    open--;
    delete asked[entry.id];
    refused(entry, "the input is " + why);
  }

  function answer(order) {
    const entry = asked[order.id];
    if (entry === undefined) return;
    delete asked[order.id];
    open--;
    while (queue.length > 0 && open < atOnce) {
      const next = queue[0];
      const left = [];
      for (let at = 1; at < queue.length; at++) left[at - 1] = queue[at];
      queue = left;
      start(next);
    }
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

  /** The tools as functions: `tools.grep({…})`, `tools["word-stats"]({…})`, `tools.mcp.github.list_issues({…})`. */
  function toolsOf(call) {
    const node = (path) => new Proxy(() => {}, {
      get(_, key) {
        if (typeof key !== "string" || key === "then" || key === "toJSON") return undefined;
        if (path.length === 0 && key === "$search") return (query) => ask(call, "search", [], String(query));
        if (path.length === 0 && key === "$read") {
          return (path) => then(ask(call, "readFile", [], { path: String(path) }), (found) => found.text);
        }
        if (path.length === 0 && key === "$describe") return (name) => ask(call, "describe", [], String(name));
        if (path.length >= NESTING_MAX) throw new TypeError("no tool's name has so many parts");
        return node([...path, key]);
      },
      apply(_, __, args) {
        if (path.length === 0) throw new TypeError("name a tool: tools.NAME({…})");
        const input = args.length === 0 || args[0] === undefined ? {} : args[0];
        return ask(call, "tool", path, input);
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
    return node([]);
  }

  // ---------------------------------------------------------------------------------------------- the web's own

  class AbortSignal {
    #aborted = false;
    #reason = undefined;
    #listeners = [];
    onabort = null;
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    addEventListener(kind, listener) {
      if (kind === "abort") this.#listeners[this.#listeners.length] = listener;
    }
    removeEventListener(kind, listener) {
      const left = [];
      for (const one of this.#listeners) if (kind !== "abort" || one !== listener) left[left.length] = one;
      this.#listeners = left;
    }
    dispatchEvent() { return true; }
    static isHeard(signal) {
      return !signal.#aborted && (typeof signal.onabort === "function" || signal.#listeners.length > 0);
    }
    static abortWith(signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? abortError("This operation was aborted") : reason;
      const event = { type: "abort", target: signal };
      const all = typeof signal.onabort === "function" ? [signal.onabort, ...signal.#listeners] : [...signal.#listeners];
      for (const listener of all) {
        try {
          if (typeof listener === "function") apply(listener, signal, [event]);
          else if (listener && typeof listener.handleEvent === "function") listener.handleEvent(event);
        } catch (error) {
          log("error", "an abort listener threw " + describe(error));
        }
      }
    }
    static abort(reason) {
      const signal = new AbortSignal();
      abortWith(signal, reason);
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal();
      const error = abortError("The operation timed out");
      error.name = "TimeoutError";
      addTimer(() => abortWith(signal, error), ms, false, []);
      return signal;
    }
    static any(signals) {
      const made = new AbortSignal();
      for (const signal of signals) {
        if (signal.aborted) abortWith(made, signal.reason);
        else signal.addEventListener("abort", () => abortWith(made, signal.reason));
      }
      return made;
    }
  }
  const abortWith = AbortSignal.abortWith;
  delete AbortSignal.abortWith;
  const isHeard = AbortSignal.isHeard;
  delete AbortSignal.isHeard;

  function abortError(message) {
    const error = new Error(message);
    defineProperty(error, "name", { value: "AbortError", writable: true, configurable: true });
    return error;
  }

  class AbortController {
    #signal = new AbortSignal();
    get signal() { return this.#signal; }
    abort(reason) { abortWith(this.#signal, reason); }
  }

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(input = "") {
      const text = String(input);
      const bytes = new Uint8Array(text.length * 3);
      let to = 0;
      for (let at = 0; at < text.length; at++) {
        let code = codeAt(text, at);
        if (code >= 0xd800 && code <= 0xdfff) {
          const low = code < 0xdc00 && at + 1 < text.length ? codeAt(text, at + 1) : 0;
          if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at++;
          } else code = 0xfffd;
        }
        if (code < 0x80) bytes[to++] = code;
        else if (code < 0x800) {
          bytes[to++] = 0xc0 | (code >> 6);
          bytes[to++] = 0x80 | (code & 63);
        } else if (code < 0x10000) {
          bytes[to++] = 0xe0 | (code >> 12);
          bytes[to++] = 0x80 | ((code >> 6) & 63);
          bytes[to++] = 0x80 | (code & 63);
        } else {
          bytes[to++] = 0xf0 | (code >> 18);
          bytes[to++] = 0x80 | ((code >> 12) & 63);
          bytes[to++] = 0x80 | ((code >> 6) & 63);
          bytes[to++] = 0x80 | (code & 63);
        }
      }
      return bytes.slice(0, to);
    }
    encodeInto(input, target) {
      const bytes = this.encode(input).subarray(0, target.length);
      target.set(bytes);
      return { read: String(input).length, written: bytes.length };
    }
  }

  class TextDecoder {
    #fatal; #ignoreBOM;
    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      const name = String(label).toLowerCase();
      if (name !== "utf-8" && name !== "utf8") throw new RangeError("only utf-8 is decoded here, not " + label);
      this.#fatal = fatal;
      this.#ignoreBOM = ignoreBOM;
    }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input) {
      if (input === undefined) return "";
      const bytes = input instanceof Uint8Array ? input
        : isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
      let text = "", at = 0;
      const bad = () => {
        if (this.#fatal) throw new TypeError("the bytes are no utf-8");
        text += "\ufffd";
      };
      if (!this.#ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) at = 3;
      while (at < bytes.length) {
        const first = bytes[at++];
        if (first < 0x80) { text += fromCode(first); continue; }
        const more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
        if (more === 0) { bad(); continue; }
        let code = first & (0x3f >> more), taken = 0;
        while (taken < more && at < bytes.length) {
          const next = bytes[at];
          const lowest = taken === 0 ? (first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80) : 0x80;
          const highest = taken === 0 ? (first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf) : 0xbf;
          if (next < lowest || next > highest) break;
          code = (code << 6) | (next & 63);
          at++;
          taken++;
        }
        if (taken < more) bad();
        else if (code < 0x10000) text += fromCode(code);
        else text += fromCode(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
      }
      return text;
    }
  }

  const SIX = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  function btoa(input) {
    const text = String(input);
    let out = "";
    for (let at = 0; at < text.length; at += 3) {
      const codes = [codeAt(text, at), at + 1 < text.length ? codeAt(text, at + 1) : 0, at + 2 < text.length ? codeAt(text, at + 2) : 0];
      if (codes[0] > 255 || codes[1] > 255 || codes[2] > 255) throw new TypeError("btoa takes characters up to U+00FF only");
      const bits = (codes[0] << 16) | (codes[1] << 8) | codes[2];
      out += SIX[bits >> 18] + SIX[(bits >> 12) & 63] + (at + 1 < text.length ? SIX[(bits >> 6) & 63] : "=") +
        (at + 2 < text.length ? SIX[bits & 63] : "=");
    }
    return out;
  }

  function atob(input) {
    let text = "";
    for (const one of String(input)) if (one !== " " && one !== "\n" && one !== "\t" && one !== "\r" && one !== "\f") text += one;
    if (text.length % 4 === 0 && slice(text, -1) === "=") text = slice(text, 0, slice(text, -2) === "==" ? -2 : -1);
    let out = "", bits = 0, held = 0;
    if (text.length % 4 === 1) throw new TypeError("the text is no base64");
    for (let at = 0; at < text.length; at++) {
      const value = indexOf(SIX, text[at]);
      if (value < 0) throw new TypeError("the text is no base64");
      bits = ((bits << 6) | value) & 0xffffff;
      held += 6;
      if (held >= 8) {
        held -= 8;
        out += fromCode((bits >> held) & 255);
      }
    }
    return out;
  }

  function structuredClone(value) {
    const made = new Map();
    const clone = (one) => {
      if (typeof one === "function" || typeof one === "symbol") throw new TypeError("a " + typeof one + " can't be cloned");
      if (typeof one !== "object" || one === null) return one;
      if (made.has(one)) return made.get(one);
      const keep = (copy) => { made.set(one, copy); return copy; };
      switch (toText(one)) {
        case "[object Date]": return keep(new Date(one.getTime()));
        case "[object RegExp]": return keep(new RegExp(one.source, one.flags));
        case "[object Promise]": case "[object WeakMap]": case "[object WeakSet]":
          throw new TypeError("a " + slice(toText(one), 8, -1) + " can't be cloned");
        case "[object ArrayBuffer]": return keep(one.slice(0));
        case "[object Map]": {
          const copy = keep(new Map());
          for (const [key, item] of one) copy.set(clone(key), clone(item));
          return copy;
        }
        case "[object Set]": {
          const copy = keep(new Set());
          for (const item of one) copy.add(clone(item));
          return copy;
        }
        case "[object Error]": {
          const copy = keep(new Error(one.message));
          copy.name = one.name;
          return copy;
        }
        default:
      }
      if (isView(one)) return keep(new one.constructor(one));
      const copy = keep(isArray(one) ? [] : {});
      for (const key of keys(one)) copy[key] = clone(one[key]);
      return copy;
    };
    return clone(value);
  }

  class URLSearchParams {
    #pairs = [];
    #told;
    constructor(init = "", told = null) {
      this.#told = told;
      if (typeof init === "object" && init !== null) {
        if (typeof init[Symbol.iterator] === "function") for (const [name, value] of init) this.#add(name, value);
        else for (const name of keys(init)) this.#add(name, init[name]);
        return;
      }
      let text = String(init);
      if (text[0] === "?") text = slice(text, 1);
      for (const pair of split(text, "&")) {
        if (pair === "") continue;
        const at = indexOf(pair, "=");
        this.#add(at < 0 ? read(pair) : read(slice(pair, 0, at)), at < 0 ? "" : read(slice(pair, at + 1)));
      }
    }
    #add(name, value) { this.#pairs[this.#pairs.length] = [String(name), String(value)]; }
    #tell() { if (this.#told) this.#told(this.toString()); }
    append(name, value) { this.#add(name, value); this.#tell(); }
    delete(name) { this.#pairs = this.#pairs.filter((pair) => pair[0] !== String(name)); this.#tell(); }
    get(name) { const pair = this.#pairs.find((one) => one[0] === String(name)); return pair ? pair[1] : null; }
    getAll(name) { return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]); }
    has(name) { return this.#pairs.some((pair) => pair[0] === String(name)); }
    set(name, value) {
      const at = this.#pairs.findIndex((pair) => pair[0] === String(name));
      if (at < 0) this.#add(name, value);
      else this.#pairs = this.#pairs.filter((pair, index) => index <= at || pair[0] !== String(name))
        .map((pair, index) => (index === at ? [pair[0], String(value)] : pair));
      this.#tell();
    }
    sort() { this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#tell(); }
    forEach(fn, self) { for (const [name, value] of this.#pairs) apply(fn, self, [value, name, this]); }
    get size() { return this.#pairs.length; }
    *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
    *keys() { for (const [name] of this.#pairs) yield name; }
    *values() { for (const [, value] of this.#pairs) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map((pair) => written(pair[0]) + "=" + written(pair[1])).join("&"); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
  }

  const decodePart = decodeURIComponent, encodePart = encodeURIComponent;
  function read(text) {
    const spaced = replaceAll(text, "+", " ");
    try {
      return decodePart(spaced);
    } catch {
      return spaced;
    }
  }
  function written(text) {
    return encodePart(text).replace(/%20/g, "+").replace(/[!'()~]/g, (one) => "%" + codeAt(one, 0).toString(16).toUpperCase());
  }

  class URL {
    #parts;
    #params;
    constructor(href, base) {
      this.#parts = parsed(String(href), base === undefined ? "" : String(base));
      if (this.#parts === null) throw new TypeError("Invalid URL: " + String(href));
      this.#params = this.#made();
    }
    #made() { return new URLSearchParams(this.#parts.search, (text) => this.#set("search", text)); }
    #set(part, value) {
      const set = native.url(this.#parts.href, part, String(value));
      if (set !== "") this.#parts = parse(set);
    }
    static canParse(href, base) { return parsed(String(href), base === undefined ? "" : String(base)) !== null; }
    static parse(href, base) { try { return new URL(href, base); } catch { return null; } }
    get href() { return this.#parts.href; }
    set href(value) {
      const parts = parsed(String(value), "");
      if (parts === null) throw new TypeError("Invalid URL: " + String(value));
      this.#parts = parts;
      this.#params = this.#made();
    }
    get origin() { return this.#parts.origin; }
    get protocol() { return this.#parts.protocol; }
    set protocol(value) { this.#set("protocol", value); }
    get username() { return this.#parts.username; }
    set username(value) { this.#set("username", value); }
    get password() { return this.#parts.password; }
    set password(value) { this.#set("password", value); }
    get host() { return this.#parts.host; }
    set host(value) { this.#set("host", value); }
    get hostname() { return this.#parts.hostname; }
    set hostname(value) { this.#set("hostname", value); }
    get port() { return this.#parts.port; }
    set port(value) { this.#set("port", value); }
    get pathname() { return this.#parts.pathname; }
    set pathname(value) { this.#set("pathname", value); }
    get search() { return this.#parts.search; }
    set search(value) { this.#set("search", value); this.#params = this.#made(); }
    get hash() { return this.#parts.hash; }
    set hash(value) { this.#set("hash", value); }
    get searchParams() { return this.#params; }
    toString() { return this.#parts.href; }
    toJSON() { return this.#parts.href; }
    get [Symbol.toStringTag]() { return "URL"; }
  }

  function parsed(href, base) {
    const text = native.url(href, base === "" ? "" : "base", base);
    return text === "" ? null : parse(text);
  }

  function randomUUID() {
    const hex = native.random();
    const variant = "89ab"[parseInt(hex[16], 16) & 3];
    return slice(hex, 0, 8) + "-" + slice(hex, 8, 12) + "-4" + slice(hex, 13, 16) + "-" + variant + slice(hex, 17, 20) + "-" + slice(hex, 20, 32);
  }

  function getRandomValues(view) {
    if (!isView(view)) throw new TypeError("getRandomValues takes a typed array");
    if (view.byteLength > 65536) throw new RangeError("at most 65,536 bytes at once");
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    let hex = "";
    for (let at = 0; at < bytes.length; at++) {
      if (hex.length < 2) hex = native.random();
      bytes[at] = parseInt(slice(hex, 0, 2), 16);
      hex = slice(hex, 2);
    }
    return view;
  }

  // ---------------------------------------------------------------------------------------------- what there is

  const started = native.now();
  const same = (definition) => definition;
  const all = {
    console, sleep, ToolError, URL, URLSearchParams, TextEncoder, TextDecoder, AbortController, AbortSignal, structuredClone,
    atob, btoa,
    setTimeout: (fn, delay, ...args) => addTimer(fn, delay, false, args),
    setInterval: (fn, delay, ...args) => addTimer(fn, delay, true, args),
    clearTimeout: dropTimer, clearInterval: dropTimer,
    queueMicrotask: (fn) => {
      if (typeof fn !== "function") throw new TypeError("queueMicrotask takes a function");
      then(new Promise((done) => done(undefined)), () => {
        try {
          fn();
        } catch (error) {
          log("error", "a microtask threw " + describe(error));
        }
      });
    },
    performance: freeze({ now: () => native.now() - started, timeOrigin: Date.now() }),
    crypto: freeze({ randomUUID, getRandomValues }),
    tool: same, buildTool: same, defineTool: same,
  };
  for (const name of keys(all)) defineProperty(globalThis, name, { value: all[name], writable: true, configurable: true, enumerable: false });

  // Code that is made at run time would be in the same closed process; it isn't offered all the same.
  const refuse = function Function() { throw new TypeError("code can't be made from text here"); };
  delete globalThis.eval;
  for (const made of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    defineProperty(getPrototypeOf(made), "constructor", { value: refuse, writable: false, configurable: false, enumerable: false });
  }
  defineProperty(globalThis, "Function", { value: refuse, writable: false, configurable: false, enumerable: false });

  // ---------------------------------------------------------------------------------------------- scripts

  /** Runs the function that a script was made into. */
  function script(fn, limits) {
    isScript = true;
    atOnce = limits.atOnce;
    longest = limits.timerMs;
    defineProperty(globalThis, "tools", { value: toolsOf(0), writable: false, configurable: false, enumerable: false });
    try {
      running = fn();
    } catch (error) {
      failed(0, error);
      return;
    }
    hear();
  }

  let running = null, wasHeardAgain = false;

  function hear() {
    then(running, (value) => {
      returned = true;
      atRest(0, () => finished(value));
    }, (error) => failed(0, error));
  }

  function finished(value) {
    try {
      if (typeof value === "function") throw new TypeError("the script's result is a function, and nobody calls it: write (async () => { … })()");
      const text = value === undefined ? "null" : encoded(value, "the script's result");
      sent('{"say":"done","id":0,"value":' + text + ',"isNothing":' + (value === undefined) + ',"rest":' + rest() + "}",
        "the script's result");
      settled = true;
    } catch (error) {
      failed(0, error);
    }
  }

  // ---------------------------------------------------------------------------------------------- orders

  function receive(text) {
    const order = parse(text);
    switch (order.do) {
      case "answer": return answer(order);
      case "end": ended = true; return undefined;
      default: return further === null ? undefined : further(order);
    }
  }

  /** How many answers are still to come; below zero where nothing waits for any. */
  function waits() {
    if (isScript ? settled : idle === null || idle()) return -1;
    // Who listens for the end of a call waits for that.
    return keys(asked).length + (!isScript && heard !== null && heard() ? 1 : 0);
  }

  /** Nothing more will happen, and something waits; where the memory ran out, for what was lost with it. Whether to look
   * again: that the script ended may have been lost too. */
  function stuck(isSpent) {
    if (running !== null && !wasHeardAgain) {
      wasHeardAgain = true;
      hear();
      return true;
    }
    const error = isSpent ? { name: "InternalError", message: "out of memory" } : new Error("it waits for something that never comes: a promise that nothing resolves");
    if (isScript) failed(0, error);
    else further({ do: "stuck", error });
    return false;
  }

  /** It is to stop while it waits: what for is what it was at. */
  function stopped() {
    if (settled) return undefined;
    for (const id of keys(asked)) return failed(0, asked[id].error);
    return failed(0, new Error("stopped"));
  }

  const settle = () => { isScript = true; settled = true; };

  /** What modules are given, in a file of its own. */
  const kit = {
    sent, quote, encoded, describe, show, log, failed, ask, toolsOf, parse, atRest, addTimer, abortWith, isHeard, AbortController, AbortSignal,
    limits: (limits) => { atOnce = limits.atOnce; longest = limits.timerMs; },
    /** Who waits no longer for what a call asked for. */
    leave: (call) => { for (let at = 0; at < ending.length; at++) if (ending[at].call === call) ending[at].call = -1; },
    orders: (fn, isIdle, someoneListens) => { further = fn; idle = isIdle; heard = someoneListens; },
  };

  return { receive, tick, waits, stuck, stopped, settle, script, failed, rejected, kit };
})
