// What is sent to haft: JSON texts, and errors in them.

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
