// What haft says, and what the engine and modules are handed.

function receive(order) {
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
  return mapSize(asked) + (!isScript && heard !== null && heard() ? 1 : 0);
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
  let oldest = null;
  mapEach(asked, (entry) => { if (oldest === null) oldest = entry; });
  return failed(0, oldest === null ? new Error("stopped") : oldest.error);
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
