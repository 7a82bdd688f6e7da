// Timers: the engine asks when the next is due.

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
