#!/usr/bin/env python3
"""Measures MCP servers over stdio, all in one run, and prints one Markdown table.

    stdio.py --server NAME TOOL ARGUMENTS COMMAND [--server ...]

Each --server takes a name for the table, the tool to call, its arguments as JSON
and the command line that starts the server. The first server is the one the
others are compared with. Standard library only; Linux only, for /proc.

The servers take turns within each round, so that a slow moment of the machine
falls on all of them alike; a cell is the median over the rounds.
"""

import argparse
import json
import math
import os
import select
import shlex
import signal
import statistics
import subprocess
import sys
import threading
import time

MODERN_VERSION = "2026-07-28"
REPLY_TIMEOUT_SECONDS = 30.0
EXIT_TIMEOUT_SECONDS = 3.0
READ_BYTES = 1 << 16
CLIENT = {"name": "haft-bench", "version": "1"}


METHOD_NOT_FOUND = -32601


class BenchError(Exception):
    """A server that did not do what the measurement needs."""


class OtherEra(BenchError):
    """A server that doesn't know the opening of this era."""


class Server:
    """One running server and the JSON-RPC conversation with it."""

    def __init__(self, command, era, version, cwd):
        self.era = era
        self.version = version
        self.next_id = 0
        self.pending = b""
        self.born = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=cwd,
            start_new_session=True,
        )

    def write(self, message):
        self.process.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def request(self, method, params=None):
        """Sends a request and returns its id."""
        self.next_id += 1
        params = dict(params or {})
        if self.era == "modern":
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
                "io.modelcontextprotocol/clientInfo": CLIENT,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        self.write({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        return self.next_id

    def message(self):
        """The next message from the server."""
        deadline = time.monotonic() + REPLY_TIMEOUT_SECONDS
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            readable = select.select([self.process.stdout], [], [], max(left, 0))[0]
            if not readable:
                raise BenchError(f"no message within {REPLY_TIMEOUT_SECONDS:.0f} s")
            chunk = os.read(self.process.stdout.fileno(), READ_BYTES)
            if not chunk:
                raise BenchError(f"the server closed its output (exit status {self.process.poll()})")
            self.pending += chunk
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def reply(self):
        """The next reply to a request of ours; questions of the server are answered on the way."""
        while True:
            message = self.message()
            if "method" not in message:
                return message
            if "id" in message:
                result = {"roots": []} if message["method"] == "roots/list" else {}
                self.write({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def ask(self, method, params=None):
        """One request and its result."""
        wanted = self.request(method, params)
        message = self.reply()
        if message.get("id") != wanted:
            raise BenchError(f"{method}: a reply to {message.get('id')} came instead of {wanted}")
        if "error" in message:
            unknown = method == "server/discover" and message["error"].get("code") == METHOD_NOT_FOUND
            kind = OtherEra if unknown else BenchError
            raise kind(f"{method}: {json.dumps(message['error'])[:300]}")
        return message["result"]

    def open(self):
        """Opens the conversation. Returns the milliseconds since the process was started."""
        if self.era == "modern":
            self.ask("server/discover")
        else:
            opening = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": CLIENT}
            self.ask("initialize", opening)
        took = (time.perf_counter() - self.born) * 1e3
        if self.era == "legacy":
            self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return took

    def call(self, tool, arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise BenchError(f"{tool}: {json.dumps(result)[:300]}")
        return result

    def close(self):
        """Ends the server as a client does: its input closes, then it has a moment, then it is killed."""
        try:
            self.process.stdin.close()
            self.process.wait(EXIT_TIMEOUT_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()

    def family(self):
        """The process and everything it started that is still its descendant."""
        found, unseen = [], [self.process.pid]
        while unseen:
            pid = unseen.pop()
            found.append(pid)
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with open(f"/proc/{pid}/task/{thread}/children") as children:
                        unseen += [int(child) for child in children.read().split()]
            except OSError:
                continue
        return found

    def memory(self, field):
        """Sum of a VmRSS-like field of /proc/PID/status over the family, in MiB."""
        total = 0.0
        for pid in self.family():
            try:
                total += mebibytes(pid, "status", field)
            except OSError:
                continue
        return total


def mebibytes(pid, file, field):
    """A field of a file in /proc/PID that counts kilobytes, in MiB."""
    with open(f"/proc/{pid}/{file}") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024


def milliseconds(work):
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def percentile(values, part):
    """The nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1]


def pipelined(server, subject, options):
    """Calls per second with a fixed number of them in flight."""
    params = {"name": subject.tool, "arguments": subject.arguments}
    waiting, sent, done = set(), 0, 0
    started = time.perf_counter()
    while done < options.pipelined:
        while sent < options.pipelined and len(waiting) < options.window:
            waiting.add(server.request("tools/call", params))
            sent += 1
        message = server.reply()
        if message.get("id") not in waiting:
            raise BenchError(f"an unexpected reply: {json.dumps(message)[:300]}")
        if "error" in message or message["result"].get("isError"):
            raise BenchError(f"a pipelined call failed: {json.dumps(message)[:300]}")
        waiting.remove(message["id"])
        done += 1
    return options.pipelined / (time.perf_counter() - started)


def flood(server, calls):
    """A thread that writes all calls without waiting for a reply, so that neither side ever waits for the other to read.

    Each call is a tool and its arguments. Returns the thread, which isn't started, and the place of each call by its id.
    """
    places, lines = {}, []
    for place, (tool, arguments) in enumerate(calls):
        server.next_id += 1
        places[server.next_id] = place
        request = {"jsonrpc": "2.0", "id": server.next_id, "method": "tools/call"}
        request["params"] = {"name": tool, "arguments": arguments}
        lines.append(json.dumps(request, separators=(",", ":")))
    data = ("\n".join(lines) + "\n").encode()
    return threading.Thread(target=server.process.stdin.write, args=(data,), daemon=True), places


class Measured:
    """A server, or a way to one, as it was named on the command line, with what was measured of it."""

    def __init__(self, name, tool, command):
        self.name = name
        self.tool = tool
        self.command = shlex.split(command)
        self.figures = {}

    def note(self, **figures):
        for key, value in figures.items():
            self.figures.setdefault(key, []).append(value)

    def median(self, key):
        return statistics.median(self.figures[key])


class Subject(Measured):
    """A server, with the arguments of the call that is measured."""

    def __init__(self, name, tool, arguments, command):
        super().__init__(name, tool, command)
        self.arguments = json.loads(arguments)

    def round(self, options):
        for _ in range(options.starts):
            server = Server(self.command, options.era, options.version, options.cwd)
            try:
                self.note(startup=server.open())
            finally:
                server.close()
        server = Server(self.command, options.era, options.version, options.cwd)
        try:
            server.open()
            self.note(first_list=milliseconds(lambda: server.ask("tools/list")))
            self.note(tools=len(server.ask("tools/list")["tools"]), idle=server.memory("VmRSS"))
            for _ in range(options.warm):
                answer = server.call(self.tool, self.arguments)
            if options.expect and options.expect not in json.dumps(answer):
                raise BenchError(f"{options.expect!r} is not in the answer: {json.dumps(answer)[:300]}")
            calls = [milliseconds(lambda: server.call(self.tool, self.arguments)) for _ in range(options.calls)]
            self.note(call_p50=percentile(calls, 0.50), call_p95=percentile(calls, 0.95))
            self.note(rate=pipelined(server, self, options))
            self.note(after=server.memory("VmRSS"), peak=server.memory("VmHWM"))
        finally:
            server.close()


COLUMNS = [
    ("startup", "start-up ms", "{:.1f}"),
    ("first_list", "first list ms", "{:.2f}"),
    ("call_p50", "call p50 ms", "{:.3f}"),
    ("call_p95", "call p95 ms", "{:.3f}"),
    ("rate", "pipelined calls/s", "{:.0f}"),
    ("idle", "idle MiB", "{:.1f}"),
    ("after", "after MiB", "{:.1f}"),
    ("peak", "peak MiB", "{:.1f}"),
    ("tools", "tools", "{:.0f}"),
]
RATIOS = ["startup", "first_list", "call_p50", "call_p95", "rate", "idle", "after", "peak"]


def table(subjects):
    first = subjects[0]
    lines = ["| server | " + " | ".join(title for _, title, _ in COLUMNS) + " |"]
    lines.append("|---|" + "---:|" * len(COLUMNS))
    for subject in subjects:
        if not subject.figures:
            lines.append(f"| {subject.name} (does not speak this era) |" + " – |" * len(COLUMNS))
            continue
        cells = [form.format(subject.median(key)) for key, _, form in COLUMNS]
        lines.append(f"| {subject.name} | " + " | ".join(cells) + " |")
    for other in subjects[1:]:
        if not (first.figures and other.figures):
            continue
        cells = []
        for key, _, _ in COLUMNS:
            if key in RATIOS:
                cells.append(f"{first.median(key) / other.median(key):.2f} ×")
            else:
                cells.append("")
        lines.append(f"| {first.name} ÷ {other.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", nargs=4, action="append", required=True, metavar=("NAME", "TOOL", "ARGUMENTS", "COMMAND"))
    parser.add_argument("--era", choices=["legacy", "modern"], default="legacy", help="how the conversation opens")
    parser.add_argument("--version", default="2025-11-25", help="protocol version of the legacy opening")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which all servers take turns")
    parser.add_argument("--starts", type=int, default=5, help="start-ups per round")
    parser.add_argument("--warm", type=int, default=50, help="calls before the measured ones")
    parser.add_argument("--calls", type=int, default=400, help="measured calls, one after another, per round")
    parser.add_argument("--pipelined", type=int, default=2000, help="pipelined calls per round")
    parser.add_argument("--window", type=int, default=32, help="pipelined calls in flight")
    parser.add_argument("--expect", help="text that each answer must hold")
    parser.add_argument("--cwd", help="folder in which the servers are started")
    parser.add_argument("--json", metavar="FILE", help="also write every figure of every round there")
    options = parser.parse_args()
    if min(options.rounds, options.starts, options.warm, options.calls, options.pipelined, options.window) < 1:
        parser.error("counts start at 1")

    subjects = [Subject(*words) for words in options.server]
    for number in range(options.rounds):
        for subject in subjects:
            try:
                subject.round(options)
            except OtherEra as error:
                print(f"{subject.name} is left out: {error}", file=sys.stderr)
            except (BenchError, OSError) as error:
                print(f"{subject.name}: {error}", file=sys.stderr)
                return 1
        print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)
    print(table(subjects))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({subject.name: subject.figures for subject in subjects}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
