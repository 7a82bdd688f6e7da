// Promises that were rejected while nobody waited for them, and ends that wait until all is answered.

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
  return '{"unheard":[' + faults + '],"more":' + more + ',"unmade":' + queued + ',"timers":' + lateTimers + "}";
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
  mapEach(asked, (entry) => { open[entry.call] = true; });
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
