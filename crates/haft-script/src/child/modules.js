// What stands around modules: tools that a file exports, and extensions that register theirs. It is read after the
// prelude, before any module, and has its means. What is declared here is the module's word; haft checks it and decides what it may do.
(function (kit) {
  "use strict";
  const { sent, quote, encoded, describe, show, log, failed, ask, atRest, leave, toolsOf, addTimer, abortWith, AbortController } = kit;
  const { defineProperty, freeze, keys, create, getOwnPropertyDescriptor } = Object;
  const isArray = Array.isArray;

  // What tool authors write, and what it is called here.
  const RUNS = ["execute", "call", "run", "handler", "executeStream"];
  const ASKED = {
    isReadOnly: "readOnly", isConcurrencySafe: "concurrencySafe", isDestructive: "destructive", isMutating: "mutates",
  };
  const NOT_DATA = { ...ASKED, validateInput: 1, checkPermissions: 1, isEnabled: 1, cleanup: 1 };
  const FINAL_RULE = 'yield exactly one {"type":"final","output":…}, and yield it last';

  const registry = create(null); // by tool name
  const hooks = create(null), commands = create(null);
  const calls = create(null); // that run
  let callCount = 0, loading = false, nextNumber = 1;
  let deactivate = null;
  const disposables = [];

  // ---------------------------------------------------------------------------------------------- declarations

  function isTool(value) {
    if (typeof value !== "object" || value === null || isArray(value)) return false;
    return typeof value.name === "string" && RUNS.some((name) => typeof value[name] === "function");
  }

  /** A tool's data, with what is a function asked for where it has to be said at once. */
  async function declared(def) {
    const data = create(null), functions = [];
    for (const key of ownNames(def)) {
      const value = def[key];
      if (typeof value === "function") {
        functions.push(key);
        continue;
      }
      if (key === "parameters" && value && typeof value === "object" && def.inputSchema === undefined) data.inputSchema = value;
      else if (value !== undefined) data[key] = value;
    }
    for (const key of ["description", "prompt", "usageHint"]) {
      if (typeof def[key] === "function") {
        const text = await def[key]({}, {});
        if (typeof text === "string") data[key === "prompt" ? "usageHint" : key] = text;
      }
    }
    if (typeof data.prompt === "string" && data.usageHint === undefined) data.usageHint = data.prompt;
    delete data.prompt;
    if (typeof def.isEnabled === "function") data.enabled = (await def.isEnabled()) !== false;
    // What depends on the input is asked with each; without one, the careful answer stands.
    for (const key of keys(ASKED)) {
      if (typeof def[key] !== "function" || def[key].length > 0) continue;
      const answer = attempt(() => def[key]({}));
      if (typeof answer !== "boolean") continue;
      if (ASKED[key] === "destructive") { if (answer) data.riskTier = "destructive"; }
      else if (data[ASKED[key]] === undefined) data[ASKED[key]] = answer;
    }
    for (const key of ["inputJSONSchema", "schema", "input_schema"]) {
      if (data[key] !== undefined && data.inputSchema === undefined) data.inputSchema = data[key];
      delete data[key];
    }
    return { data, functions };
  }

  /** Also those of classes, whose methods stand on a prototype. */
  function ownNames(def) {
    const names = [...keys(def)];
    let above = Object.getPrototypeOf(def);
    while (above && above !== Object.prototype) {
      for (const name of Object.getOwnPropertyNames(above)) if (name !== "constructor" && !names.includes(name)) names.push(name);
      above = Object.getPrototypeOf(above);
    }
    return names;
  }

  function attempt(fn) {
    try {
      return fn();
    } catch {
      return undefined;
    }
  }

  async function exported(namespace) {
    const found = [], seen = [];
    const take = (value) => {
      if (isArray(value)) value.forEach(take);
      else if (isTool(value) && !seen.includes(value)) {
        seen.push(value);
        found.push(value);
      }
    };
    if ("default" in namespace) {
      take(namespace.default);
      if (!isTool(namespace.default) && namespace.default && isArray(namespace.default.tools)) take(namespace.default.tools);
    }
    for (const name of keys(namespace)) take(namespace[name]);
    if (found.length === 0) {
      throw new Error("it exports no tool: export default { name, description, inputSchema, execute(input, ctx) { … } }");
    }
    const list = [];
    for (const def of found) {
      if (registry[def.name] !== undefined) throw new Error('it exports two tools named "' + def.name + '"');
      registry[def.name] = def;
      list.push(await declared(def));
    }
    return { tools: list };
  }

  // ---------------------------------------------------------------------------------------------- what calls are lent

  function missing(id, what, capability) {
    return () => {
      throw new Error(what + " isn't lent to this tool; it needs the capability " + capability);
    };
  }

  const noTools = () => {
    throw new Error('ctx.tools isn\'t lent to this tool; it needs "capabilities": those of the tools that it calls, as fs.read, or tool.meta for all, and no "effects"');
  };

  /** What `ctx` is for one call. Functions that weren't granted say what would grant them. */
  function contextOf(id, lent, controller, extension) {
    const abortHooks = [], read = create(null);
    const can = (what) => lent.grants.includes(what);
    const when = (what, name, capability, fn) => (can(what) ? fn : missing(id, "ctx." + name, capability));
    const kept = (path, answer) => {
      read[path] = answer.modified === undefined ? null : answer.modified;
      return answer.text;
    };
    const readFile = when("read", "readFile", "fs.read", async (path) => kept(path, await ask(id, "readFile", [], { path: String(path) })));
    const context = {
      callId: lent.callId, sessionId: lent.sessionId, workspace: lent.workspace, cwd: lent.workspace,
      signal: controller.signal, abortSignal: controller.signal,
      tools: can("tools") ? toolsOf(id) : new Proxy(() => {}, {
        get: (_, key) => (typeof key === "symbol" || key === "then" || key === "toJSON" ? undefined : noTools),
      }),
      fetch: when("fetch", "fetch", "net.outbound", (url, init) => fetched(id, url, init)),
      readFile,
      writeFile: when("write", "writeFile", "fs.write", async (path, content) => {
        await ask(id, "writeFile", [], { path: String(path), content: String(content) });
      }),
      recordRead: when("read", "recordRead", "fs.read", async (path) => { await readFile(path); }),
      hasRead: async (path) => read[path] !== undefined || (await ask(id, "hasRead", [], { path: String(path) })) === true,
      lastReadMtime: (path) => (read[path] === undefined ? null : read[path]),
      registerAbortHook: (fn) => {
        if (typeof fn !== "function") throw new TypeError("registerAbortHook takes a function");
        abortHooks.push(fn);
        return { dispose: () => { const at = abortHooks.indexOf(fn); if (at >= 0) abortHooks.splice(at, 1); } };
      },
      session: freeze({ id: lent.sessionId, append: (text) => { event(id, { type: "append", text: show(text) }); } }),
      log: logger((level, text) => event(id, { type: level === "warn" || level === "error" ? "warning" : "log", text })),
      emit: (one) => emitted(id, one),
      secrets: freeze({ get: async (name) => ask(id, "secret", [], { name: String(name) }) }),
      getState: () => ({}), setState: () => {},
    };
    if (extension !== null) context.api = extension;
    return { context: freeze(context), abortHooks };
  }

  function logger(say) {
    const line = (args) => args.map(show).join(" ");
    const made = (...args) => say("log", line(args));
    for (const level of ["debug", "info", "warn", "error"]) made[level] = (...args) => say(level === "info" ? "log" : level, line(args));
    made.log = made.info;
    return freeze(made);
  }

  async function fetched(id, url, init = {}) {
    const headers = create(null);
    const given = init.headers;
    if (given && typeof given.forEach === "function") given.forEach((value, name) => { headers[String(name)] = String(value); });
    else for (const name of keys(given || {})) headers[name] = String(given[name]);
    if (init.signal && init.signal.aborted) throw init.signal.reason;
    const answer = await ask(id, "fetch", [], {
      url: String(url), method: init.method === undefined ? "GET" : String(init.method), headers,
      body: init.body === undefined || init.body === null ? null : String(init.body),
    });
    const found = create(null);
    for (const [name, value] of answer.headers) found[name.toLowerCase()] = value;
    return freeze({
      ok: answer.status >= 200 && answer.status < 300, status: answer.status, url: answer.url, redirected: false,
      headers: freeze({ get: (name) => { const value = found[String(name).toLowerCase()]; return value === undefined ? null : value; },
        has: (name) => found[String(name).toLowerCase()] !== undefined, entries: () => Object.entries(found)[Symbol.iterator]() }),
      text: async () => answer.text, json: async () => JSON.parse(answer.text),
      arrayBuffer: async () => new TextEncoder().encode(answer.text).buffer,
    });
  }

  function event(call, value) {
    sent('{"say":"event","call":' + call + ',"event":' + encoded(value, "the event") + "}", "the event");
  }

  const EVENTS = ["log", "warning", "partial_output", "metric", "file_changed"];

  function emitted(id, one) {
    if (typeof one === "string") return event(id, { type: "partial_output", text: one });
    if (typeof one !== "object" || one === null || !EVENTS.includes(one.type)) {
      throw new Error("an event has a type: " + EVENTS.join(", "));
    }
    return event(id, one);
  }

  // ---------------------------------------------------------------------------------------------- calls

  async function run(order, controller, lent) {
    const def = registry[order.of];
    if (def === undefined) {
      throw new Error('the extension has registered no tool "' + order.of + '", or took it back: register it in activate, or take it out of its manifest');
    }
    const { context } = lent;
    if (order.cx.checksFirst === true) await checked(order);
    const extra = { signal: controller.signal, abortSignal: controller.signal };
    if (typeof def.executeStream === "function") return streamed(order.id, def.executeStream(order.input, context, extra));
    const name = RUNS.find((one) => typeof def[one] === "function");
    const result = await def[name](order.input, context, extra);
    if (result && (typeof result[Symbol.asyncIterator] === "function")) return streamed(order.id, result);
    return result;
  }

  /** What a tool says of an input that it couldn't be asked about before. */
  async function checked(order) {
    const said = await consulted(order);
    const refuse = (text, kind) => {
      const error = new Error(text);
      error.kind = kind;
      throw error;
    };
    if (said.valid !== true) refuse(said.valid, "invalid-input");
    if (said.check && said.check.deny) refuse(said.check.deny, "permission");
    if (said.check && said.check.ask) refuse(said.check.ask + " (a tool that wakes its extension can't ask)", "permission");
  }

  /** The last event of a stream; before it there is none, and after it nothing. */
  async function streamed(id, stream) {
    let output, ended = false, count = 0;
    for await (const one of stream) {
      count++;
      const isFinal = typeof one === "object" && one !== null && one.type === "final";
      if (ended) throw new Error("event " + count + " of its stream is " + (isFinal ? "a second final event" : "an event after the final one") + " — " + FINAL_RULE);
      if (isFinal) {
        if (!("output" in one)) throw new Error("event " + count + ' of its stream is a final event without "output" — ' + FINAL_RULE);
        output = one.output;
        ended = true;
      } else emitted(id, one);
    }
    if (!ended) throw new Error("its stream ended without a final event — " + FINAL_RULE);
    return output;
  }

  /** What a tool says of one input before it runs. Each question by itself: one that throws is no answer. */
  async function consulted(order) {
    const def = registry[order.of];
    const answer = { valid: true };
    const input = order.input;
    if (typeof def.validateInput === "function") {
      try {
        const said = await def.validateInput(input, {});
        if (said === false) answer.valid = "it refuses this input";
        else if (typeof said === "string" && said !== "") answer.valid = said;
        else if (said && typeof said === "object") {
          const ok = said.result !== undefined ? said.result : said.ok !== undefined ? said.ok : said.valid;
          if (ok === false) answer.valid = String(said.message || said.error || said.reason || "it refuses this input");
        }
      } catch (error) {
        answer.valid = describe(error);
      }
    }
    if (typeof def.checkPermissions === "function") {
      try {
        const said = await def.checkPermissions(input, {});
        const word = typeof said === "string" ? said : said && (said.behavior || said.decision || said.permission);
        const reason = String((said && (said.message || said.reason)) || "the tool's own check says so");
        if (word === "deny") answer.check = { deny: reason };
        else if (word !== "allow" && word !== "passthrough" && word !== undefined && said !== true) answer.check = { ask: reason };
        else if (said === false) answer.check = { deny: reason };
      } catch (error) {
        answer.check = { ask: "the tool's own check failed: " + describe(error) };
      }
    }
    for (const key of keys(ASKED)) {
      if (typeof def[key] !== "function") continue;
      const said = attempt(() => def[key](input));
      if (typeof said === "boolean") answer[ASKED[key]] = said;
    }
    return answer;
  }

  function called(order) {
    const controller = new AbortController();
    const lent = contextOf(order.id, order.cx, controller, order.cx.isExtension === true ? api : null);
    calls[order.id] = { controller, hooks: lent.abortHooks };
    callCount++;
    const work = async () => {
      switch (order.fn) {
        case "execute": return run(order, controller, lent);
        case "consult": return consulted(order);
        case "cleanup": {
          const def = registry[order.of];
          return def && typeof def.cleanup === "function" ? def.cleanup(order.input, lent.context) : undefined;
        }
        case "hook": return hooked(order);
        case "command": {
          if (typeof commands[order.of] !== "function") throw new Error('there is no command "' + order.of + '"');
          return commands[order.of](order.input, lent.context);
        }
        case "deactivate": return ended();
        default: throw new Error("unknown function " + order.fn);
      }
    };
    const done = (value) => {
      if (!over(order.id)) return;
      try {
        const text = encoded(value, "the result");
        sent('{"say":"done","id":' + order.id + ',"value":' + text + ',"isNothing":' + (value === undefined) + "}", "the result");
      } catch (error) {
        failed(order.id, error);
      }
    };
    // Calls that it didn't wait for are finished all the same, unless all of it is to end.
    const last = (value) => (calls[order.id] === undefined || calls[order.id].isLeft ? done(value) : atRest(order.id, () => done(value)));
    work().then(last, (error) => { if (over(order.id)) failed(order.id, error); });
  }

  function over(id) {
    if (calls[id] === undefined) return false;
    delete calls[id];
    callCount--;
    return true;
  }

  function aborted(order) {
    const call = calls[order.id];
    if (call === undefined) return;
    call.isLeft = true;
    leave(order.id);
    abortWith(call.controller.signal, undefined);
    while (call.hooks.length > 0) {
      const hook = call.hooks.pop();
      try {
        const done = hook();
        if (done && typeof done.then === "function") done.then(undefined, (error) => log("error", "an abort hook failed: " + describe(error)));
      } catch (error) {
        log("error", "an abort hook failed: " + describe(error));
      }
    }
  }

  function stuck(error) {
    if (loading) {
      loading = false;
      failed(0, error);
    }
    for (const id of keys(calls)) if (over(id)) failed(Number(id), error);
  }

  // ---------------------------------------------------------------------------------------------- extensions

  let api = null;

  function disposable(dispose) {
    let isDone = false;
    return freeze({
      dispose: () => {
        if (isDone) return;
        isDone = true;
        dispose();
      },
    });
  }

  /** Runs `activate` with what the extension is granted. */
  async function activated(namespace, about) {
    const main = namespace.activate || (namespace.default && namespace.default.activate) || (typeof namespace.default === "function" ? namespace.default : undefined);
    if (typeof main !== "function") throw new Error("its main exports no activate(ctx)");
    deactivate = namespace.deactivate || (namespace.default && namespace.default.deactivate) || null;
    const granted = (what) => about.grants.includes(what);
    const pending = [];
    const notGranted = (what) => () => {
      throw new Error("ctx.api." + what + ' isn\'t granted; write "' + what + '" in the "permissions" of extension.json');
    };
    const registered = (def) => {
      if (!isTool(def)) throw new Error("register takes { name, description, inputSchema, execute(input, ctx) { … } }");
      if (registry[def.name] !== undefined) throw new Error('Tool "' + def.name + '" already registered by "' + about.id + '"');
      if (about.core.includes(def.name)) throw new Error('Tool "' + def.name + '" already registered by "core"');
      registry[def.name] = def;
      const number = nextNumber++;
      pending.push(declared(def).then((one) => event(0, { type: "register", number, data: one.data, functions: one.functions })));
      return disposable(() => {
        if (registry[def.name] === def) delete registry[def.name];
        event(0, { type: "dispose", number });
      });
    };
    const changed = (type) => (name, how = {}) => {
      const number = nextNumber++;
      event(0, { type, number, name: String(name), how });
      return disposable(() => event(0, { type: "dispose", number }));
    };
    const storage = freeze({
      get: async (key, otherwise) => {
        const value = await ask(0, "storage", ["get"], { key: String(key) });
        return value === null ? otherwise : value;
      },
      set: async (key, value) => { await ask(0, "storage", ["set"], { key: String(key), value: value === undefined ? null : value }); },
      delete: async (key) => { await ask(0, "storage", ["delete"], { key: String(key) }); },
      keys: async () => ask(0, "storage", ["keys"], {}),
    });
    const secrets = freeze({ get: async (name) => ask(0, "secret", [], { name: String(name) }) });
    const fetching = (url, init) => fetched(0, url, init);
    const adding = (...all) => {
      for (const one of all) if (one && (typeof one.dispose === "function" || typeof one === "function")) disposables.push(one);
      return all[0];
    };
    api = freeze({
      tools: freeze({ register: registered, wrap: changed("wrap"), remove: changed("remove") }),
      disposables: freeze({ add: adding, push: adding }),
      hooks: freeze({
        register: (name, handler, matcher) => {
          const fn = typeof handler === "function" ? handler : handler && handler.handler;
          if (typeof fn !== "function") throw new Error("hooks.register takes an event's name and a function");
          const number = nextNumber++;
          hooks[number] = fn;
          const wanted = typeof matcher === "string" ? matcher : handler && typeof handler.matcher === "string" ? handler.matcher : "";
          event(0, { type: "hook", number, event: String(name), matcher: wanted });
          return disposable(() => {
            delete hooks[number];
            event(0, { type: "dispose", number });
          });
        },
      }),
      commands: freeze({
        register: (name, handler, description) => {
          const fn = typeof handler === "function" ? handler : handler && (handler.handler || handler.execute || handler.run);
          if (typeof fn !== "function") throw new Error("commands.register takes a name and a function");
          const key = String(name), number = nextNumber++;
          if (commands[key] !== undefined) throw new Error('Command "' + key + '" already registered by "' + about.id + '"');
          commands[key] = fn;
          const said = description === undefined && typeof handler === "object" ? handler.description : description;
          event(0, { type: "command", number, name: key, description: typeof said === "string" ? said : "" });
          return disposable(() => {
            if (commands[key] === fn) delete commands[key];
            event(0, { type: "dispose", number });
          });
        },
      }),
      storage: granted("storage") ? storage : freeze({ get: notGranted("storage"), set: notGranted("storage"), delete: notGranted("storage"), keys: notGranted("storage") }),
      secrets: granted("secrets") ? secrets : freeze({ get: notGranted("secrets") }),
      http: freeze({ fetch: granted("http") ? fetching : notGranted("http"), get: granted("http") ? (url, init) => fetching(url, { ...init, method: "GET" }) : notGranted("http") }),
    });
    const context = freeze({
      id: about.id, name: about.name, version: about.version, api, log: logger((level, text) => log(level, text)),
      subscriptions: { push: adding }, disposables: api.disposables,
      extension: freeze({ id: about.id, name: about.name, version: about.version }),
    });
    const returned = await main(context);
    if (typeof returned === "function" || (returned && typeof returned.dispose === "function")) adding(returned);
    await Promise.all(pending);
    return { activated: true };
  }

  async function hooked(order) {
    const hook = hooks[order.of];
    if (typeof hook !== "function") return null;
    const said = await hook(order.input);
    return said === undefined ? null : said;
  }

  async function ended() {
    while (disposables.length > 0) {
      const one = disposables.pop();
      try {
        await (typeof one === "function" ? one() : one.dispose());
      } catch (error) {
        log("error", "a disposable failed: " + describe(error));
      }
    }
    if (typeof deactivate === "function") await deactivate();
  }

  // ---------------------------------------------------------------------------------------------- orders

  kit.orders((order) => {
    switch (order.do) {
      case "call": return called(order);
      case "abort": return aborted(order);
      case "stuck": return stuck(order.error);
      default: return undefined;
    }
  }, () => callCount === 0 && !loading, () => keys(calls).some((id) => kit.isHeard(calls[id].controller.signal)));

  /** Waits for a module, and says what it declares. */
  function loaded(promise, namespace, text) {
    const order = kit.parse(text);
    kit.limits(order.bounds);
    loading = true;
    const done = promise.then(() => (order.form === "extension" ? activated(namespace, order.about) : exported(namespace)));
    done.then((value) => {
      const text = encoded(value, "the declaration");
      loading = false;
      sent('{"say":"done","id":0,"value":' + text + "}", "the declaration");
    }).then(undefined, (error) => {
      loading = false;
      failed(0, error);
    });
  }

  return { loaded };
})
