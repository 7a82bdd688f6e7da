#!/usr/bin/env python3
"""How soon the result of a script is there, and what 1,000 calls inside one script take.

    measure.py HAFT WORKSPACE [--node NODE] [--rounds N] [--runs N]

First result: from the moment the call of `code` is written to `haft serve mcp` to the moment its result is
read. "warm" are calls of an open session (each script has a new child process all the same), "the session's
first call" is the first one after the opening, "from the shell" is `haft call code` as a whole process.

1,000 calls: the time of one script that makes them, less that of a script that does nothing. The same calls
are made directly over the same session, and by Node with functions in its own process, which has no calls to
judge, no bounds and no log: the floor. Every row's work is checked. A cell is the median over the rounds, in
which all rows take turns. Standard library only; Linux only.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mcp"))
import stdio  # noqa: E402 (the conversation with a server is that of bench/mcp)

CALLS = 1_000
AT_ONCE = 8
FIRST_WANTED_MS = 15.0
CALLS_WANTED_MS = 150.0
RUN_TIMEOUT_SECONDS = 120
FILE = "f.txt"
FILE_BYTES = 1024
NUMBERS = itertools.count(1)

NOTHING = "1 + 1"
ONE_READ = f'(await tools.read({{path: "{FILE}"}})).length > {FILE_BYTES}'
# The sum shows that each call gave the whole of its result.
IN_TURN = "let sum = 0; for (let i = 0; i < %d; i++) sum += (await tools.%s).length; sum"
AT_ONCE_SCRIPT = (
    "const all = await Promise.all(Array.from({length: %d}, () => tools.%s)); "
    "all.reduce((sum, text) => sum + text.length, 0)"
)
INNER = {
    "`read` of a file of 1 KiB": ("read", {"path": FILE}),
    "`tool_help`": ("tool_help", {"name": "read"}),
}

# What Node does with the same calls: functions of its own process.
NODE_SCRIPT = """
const { readFile } = require("node:fs/promises");
const tools = { read: async ({ path }) => await readFile(path, "utf8") };
(async () => {
  const [calls, way] = [Number(process.argv[1]), process.argv[2]];
  const started = performance.now();
  let sum = 0;
  if (way === "turn") for (let i = 0; i < calls; i++) sum += (await tools.read({ path: "f.txt" })).length;
  else {
    let next = 0;
    const worker = async () => {
      while (next++ < calls) {
        const text = await tools.read({ path: "f.txt" });
        sum += text.length;
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
  }
  console.log(JSON.stringify({ ms: performance.now() - started, sum }));
})();
"""


def session(options):
    """A server with a session that holds nothing yet."""
    command = [options.haft, "serve", "mcp", "--session", f"bench-{next(NUMBERS)}"]
    server = stdio.Server(command, "legacy", "2025-11-25", options.workspace)
    server.open()
    return server


def code(server, script):
    """Milliseconds until the result of a script was there, and its text."""
    started = time.perf_counter()
    result = server.call("code", {"script": script})
    return (time.perf_counter() - started) * 1e3, result["content"][0]["text"]


def expect(found, wanted, what):
    if found != wanted:
        raise stdio.BenchError(f"{what}: {found!r} came, {wanted!r} was expected")


def process(command, cwd):
    """Milliseconds that a whole process took, and what it printed."""
    started = time.perf_counter()
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=RUN_TIMEOUT_SECONDS, check=False)
    took = (time.perf_counter() - started) * 1e3
    if ran.returncode != 0:
        raise stdio.BenchError(f"{command[:3]}: exit status {ran.returncode}: {(ran.stderr or ran.stdout)[-300:]}")
    return took, ran.stdout.strip()


class Figures:
    """Milliseconds by row."""

    def __init__(self):
        self.rows = {}

    def note(self, row, milliseconds):
        self.rows.setdefault(row, []).append(milliseconds)

    def median(self, row):
        return statistics.median(self.rows[row])


def first_results(options, first):
    """One round of the first table."""
    server = session(options)
    try:
        took, text = code(server, NOTHING)
        expect(text, "2", "a script that does nothing")
        first.note(("haft, the session's first call", "nothing"), took)
        for name, script, wanted in [("nothing", NOTHING, "2"), ("one `read`", ONE_READ, "true")]:
            for _ in range(options.runs):
                took, text = code(server, script)
                expect(text, wanted, name)
                first.note(("haft, warm", name), took)
    finally:
        server.close()
    for _ in range(options.runs):
        took, text = process([options.haft, "call", "code", json.dumps({"script": NOTHING})], options.workspace)
        expect(text, "2", "haft call code")
        first.note(("haft call code, from the shell", "nothing"), took)
        if options.node:
            took, _ = process([options.node, "-e", "1 + 1"], options.workspace)
            first.note(("node -e, from the shell", "nothing"), took)


def direct(server, tool, arguments, window):
    """Milliseconds of the same calls over MCP, some of them in flight at once."""
    subject = stdio.Subject("", tool, json.dumps(arguments), "")
    counts = argparse.Namespace(pipelined=CALLS, window=window)
    return CALLS / stdio.pipelined(server, subject, counts) * 1e3


def inner_calls(options, calls):
    """One round of the second table."""
    for name, (tool, arguments) in INNER.items():
        server = session(options)
        try:
            text = server.call(tool, arguments)["content"][0]["text"]
            call = f"{tool}({json.dumps(arguments)})"
            # JavaScript counts UTF-16 units.
            sum_wanted = str(CALLS * (len(text.encode("utf-16-le")) // 2))
            nothing = statistics.median([code(server, NOTHING)[0] for _ in range(options.runs)])
            for way, script in [("one by one", IN_TURN), (f"{AT_ONCE} at once", AT_ONCE_SCRIPT)]:
                took, text = code(server, script % (CALLS, call))
                expect(text, sum_wanted, f"{CALLS} calls of {tool} {way}")
                calls.note(("haft, inside a script", name, way), took - nothing)
            for way, window in [("one by one", 1), (f"{AT_ONCE} at once", AT_ONCE)]:
                calls.note(("haft, directly over MCP", name, way), direct(server, tool, arguments, window))
        finally:
            server.close()
    if options.node:
        for way, word in [("one by one", "turn"), (f"{AT_ONCE} at once", "once")]:
            _, text = process([options.node, "-e", NODE_SCRIPT, str(CALLS), word], options.workspace)
            answer = json.loads(text)
            expect(answer["sum"], CALLS * FILE_BYTES, "Node")
            calls.note(("Node, functions of its process", "`read` of a file of 1 KiB", way), answer["ms"])


def first_table(first):
    print("| first result | the script does | p50 ms | p95 ms | longest ms |")
    print("|---|---|---:|---:|---:|")
    for (who, what), values in first.rows.items():
        cells = [first.median((who, what)), stdio.percentile(values, 0.95), max(values)]
        print(f"| {who} | {what} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")


def calls_table(calls):
    print(f"| {CALLS:,} calls | of | one by one ms | {AT_ONCE} at once ms |")
    print("|---|---|---:|---:|")
    for who, what in dict.fromkeys((who, what) for who, what, _ in calls.rows):
        cells = [calls.median((who, what, way)) for way in ("one by one", f"{AT_ONCE} at once")]
        print(f"| {who} | {what} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")


def missed(first, calls):
    for row in [row for row in first.rows if row[0] == "haft, warm"]:
        if first.median(row) > FIRST_WANTED_MS:
            yield f"first result, {row[1]}: {first.median(row):.1f} ms, {FIRST_WANTED_MS:g} wanted"
    for row in [row for row in calls.rows if row[0] == "haft, inside a script"]:
        if calls.median(row) > CALLS_WANTED_MS:
            yield f"{CALLS} calls of {row[1]} {row[2]}: {calls.median(row):.0f} ms, {CALLS_WANTED_MS:g} wanted"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("haft")
    parser.add_argument("workspace")
    parser.add_argument("--node", help="the Node to measure beside it")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which all rows take turns")
    parser.add_argument("--runs", type=int, default=10, help="runs of each row of the first table in a round")
    options = parser.parse_args()
    if min(options.rounds, options.runs) < 1:
        parser.error("counts start at 1")
    with open(os.path.join(options.workspace, FILE), "w") as file:
        file.writelines(f"line {number:02} {'0' * 55}\n" for number in range(1, 17))
    expect(os.path.getsize(os.path.join(options.workspace, FILE)), FILE_BYTES, FILE)

    first, calls = Figures(), Figures()
    for number in range(options.rounds):
        try:
            first_results(options, first)
            inner_calls(options, calls)
        except (stdio.BenchError, OSError, subprocess.TimeoutExpired) as error:
            print(error, file=sys.stderr)
            return 1
        print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)
    first_table(first)
    print()
    calls_table(calls)
    misses = list(missed(first, calls))
    for line in misses:
        print(f"target missed: {line}", file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
