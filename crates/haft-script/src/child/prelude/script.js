// A script: it is run, and told of once all is at rest.

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
