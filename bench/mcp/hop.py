#!/usr/bin/env python3
"""What a proxy over stdio adds to a server behind it, all measured in one run. Prints one Markdown table.

    hop.py --direct TOOL COMMAND --proxy NAME TOOL COMMAND [--proxy ...]

The same call of the same server is made directly and through each proxy. In a round all take turns, and in each turn:

- ready: from the start of the process to its first answer to tools/list, which must name the tool; several starts.
- call: one after another, the median and the 95th percentile; "added" is the median less that of the direct
  connection in the same round.
- pipelined: 1,000 calls, all written without waiting for a reply (by a thread of their own, so that neither side
  ever waits for the other to read); each must be answered once, with the file's text.
- memory, of the proxy's own process alone, without the server behind it: "idle" is what is resident when it then stood
  idle for two seconds; "resident" after further calls, and of that its proportional share (PSS), which splits pages
  that several processes have in common; "own" is what it made itself, without the pages of its program file, which the
  system can drop and shares between processes.

A cell is the median over the rounds. Standard library only; Linux only, for /proc.
"""

import argparse
import json
import sys
import time

import stdio

# 1,000 calls at once may be long in coming.
stdio.REPLY_TIMEOUT_SECONDS = 120.0
# Long enough for a process to give back what it no longer needs.
IDLE_SECONDS = 2.0
WANTED_ADDED_MS = 0.2
WANTED_READY_MS = 20.0
WANTED_MIB = 20e6 / 2**20


class Way(stdio.Measured):
    """A way to the server."""

    def start(self, options):
        return stdio.Server(self.command, "legacy", "2025-11-25", options.cwd)

    def ready(self, server):
        """Opens, lists, and returns the milliseconds since the start and the number of tools."""
        server.open()
        names = [tool["name"] for tool in server.ask("tools/list")["tools"]]
        took = (time.perf_counter() - server.born) * 1e3
        if self.tool not in names:
            raise stdio.BenchError(f"{self.tool} is not among {names}")
        return took, len(names)

    def round(self, options):
        for _ in range(options.starts):
            server = self.start(options)
            try:
                self.note(ready=self.ready(server)[0])
            finally:
                server.close()
        server = self.start(options)
        try:
            self.note(tools=self.ready(server)[1])
            for _ in range(options.warm):
                answer = server.call(self.tool, options.arguments)
            if options.expect not in json.dumps(answer):
                raise stdio.BenchError(f"{options.expect!r} is not in the answer: {json.dumps(answer)[:300]}")
            calls = [
                stdio.milliseconds(lambda: server.call(self.tool, options.arguments)) for _ in range(options.calls)
            ]
            self.note(p50=stdio.percentile(calls, 0.50), p95=stdio.percentile(calls, 0.95))
            self.note(rate=rate(server, self.tool, options))
            pid = server.process.pid
            time.sleep(IDLE_SECONDS)
            self.note(idle=stdio.mebibytes(pid, "status", "VmRSS"))
            for _ in range(options.warm):
                server.call(self.tool, options.arguments)
            self.note(rss=stdio.mebibytes(pid, "status", "VmRSS"), pss=stdio.mebibytes(pid, "smaps_rollup", "Pss"))
            self.note(anon=stdio.mebibytes(pid, "status", "RssAnon"))
        finally:
            server.close()


def rate(server, tool, options):
    """Calls per second, all of them in flight from the start."""
    writer, places = stdio.flood(server, [(tool, options.arguments)] * options.pipelined)
    waiting = set(places)
    started = time.perf_counter()
    writer.start()
    while waiting:
        message = server.reply()
        if message.get("id") not in waiting:
            raise stdio.BenchError(f"an unexpected reply: {json.dumps(message)[:300]}")
        if "error" in message or message["result"].get("isError") or options.expect not in json.dumps(message):
            raise stdio.BenchError(f"a pipelined call failed: {json.dumps(message)[:300]}")
        waiting.remove(message["id"])
    took = time.perf_counter() - started
    writer.join()
    return options.pipelined / took


COLUMNS = [
    ("ready", "ready ms", "{:.1f}"),
    ("p50", "call p50 ms", "{:.3f}"),
    ("p95", "call p95 ms", "{:.3f}"),
    ("added", "added ms", "{:.3f}"),
    ("rate", "pipelined calls/s", "{:,.0f}"),
    ("idle", "idle MiB", "{:.1f}"),
    ("rss", "resident MiB", "{:.1f}"),
    ("pss", "share MiB", "{:.1f}"),
    ("anon", "own MiB", "{:.1f}"),
    ("tools", "tools", "{:.0f}"),
]
RATIOS = ["ready", "added", "rate", "rss", "pss", "anon"]


def table(direct, proxies):
    print("| way | " + " | ".join(title for _, title, _ in COLUMNS) + " |")
    print("|---|" + "---:|" * len(COLUMNS))
    for way in [direct, *proxies]:
        cells = [form.format(way.median(key)) if key in way.figures else "" for key, _, form in COLUMNS]
        print(f"| {way.name} | " + " | ".join(cells) + " |")
    first = proxies[0]
    for other in proxies[1:]:
        cells = [f"{first.median(key) / other.median(key):.2f} ×" if key in RATIOS else "" for key, _, _ in COLUMNS]
        print(f"| {first.name} ÷ {other.name} | " + " | ".join(cells) + " |")


def missed(first):
    for key, wanted in [("added", WANTED_ADDED_MS), ("ready", WANTED_READY_MS), ("rss", WANTED_MIB)]:
        if first.median(key) > wanted:
            yield f"target missed: {first.name}: {key} {first.median(key):.3f}, at most {wanted:.3g} wanted"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--direct", nargs=2, required=True, metavar=("TOOL", "COMMAND"))
    parser.add_argument("--proxy", nargs=3, action="append", required=True, metavar=("NAME", "TOOL", "COMMAND"))
    parser.add_argument("--arguments", type=json.loads, default={}, help="of the call, as JSON")
    parser.add_argument("--expect", required=True, help="text that each answer must hold")
    parser.add_argument("--cwd", help="folder in which all are started")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which all take turns")
    parser.add_argument("--starts", type=int, default=3, help="starts per round")
    parser.add_argument("--warm", type=int, default=50, help="calls before the measured ones")
    parser.add_argument("--calls", type=int, default=400, help="measured calls, one after another, per round")
    parser.add_argument("--pipelined", type=int, default=1000, help="calls at once per round")
    options = parser.parse_args()
    if min(options.rounds, options.starts, options.warm, options.calls, options.pipelined) < 1:
        parser.error("counts start at 1")

    direct = Way("direct", *options.direct)
    proxies = [Way(*words) for words in options.proxy]
    for number in range(options.rounds):
        for way in [direct, *proxies]:
            try:
                way.round(options)
            except (stdio.BenchError, OSError) as error:
                print(f"{way.name}: {error}", file=sys.stderr)
                return 1
            if way is not direct:
                way.note(added=way.figures["p50"][-1] - direct.figures["p50"][-1])
        print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)
    table(direct, proxies)
    misses = list(missed(proxies[0]))
    for line in misses:
        print(line, file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
