// What there is: the names that every script finds, and those that are taken away.

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
