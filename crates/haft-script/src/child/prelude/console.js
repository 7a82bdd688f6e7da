// The console, and how values are shown on it.

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
