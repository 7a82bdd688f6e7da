// The web's own: what stops what goes on.

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
