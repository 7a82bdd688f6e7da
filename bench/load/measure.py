#!/usr/bin/env python3
"""1,000 calls at once over one stdio session: no outcome lost or doubled, and the memory that they take.

    measure.py HAFT WORKSPACE [--node-peer NODE SCRIPT] [--calls N] [--rounds N]

All requests are written without waiting for a reply, by a thread of their own, so that neither side ever waits for
the other to read. Each call asks for something of its own (a file with a number in it, or a command that prints
one), and its reply must hold just that. Counted are replies per id, and for haft also the outcomes in its log.

Memory: "the server" is the kernel's high-water mark of the server's own process; "with what it starts" is the
largest sum of proportional shares (PSS) over its whole family, looked at every few milliseconds. Standard library
only; Linux only, for /proc.
"""

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mcp"))
import stdio  # noqa: E402 (the conversation with a server is that of bench/mcp)

# The first reply of a storm may be long in coming.
stdio.REPLY_TIMEOUT_SECONDS = 120.0
WANTED_MIB = 200.0
LOOK_EVERY_SECONDS = 0.01
LOG_TIMEOUT_SECONDS = 60
# Commands are processes: a fifth as many is a storm already.
COMMANDS_PART = 5


class Storm:
    """Calls that are made at once: who answers them, and whether that is haft, which also logs them."""

    def __init__(self, name, command, calls, is_haft):
        self.name = name
        self.command = command
        self.calls = calls
        self.is_haft = is_haft
        self.figures = []

    def column(self, place):
        return statistics.median(row[place] for row in self.figures)


def marker(number):
    return f"number {number:05}."


def share(pid):
    """The proportional share of a process's memory, in MiB."""
    try:
        return stdio.mebibytes(pid, "smaps_rollup", "Pss")
    except OSError:
        return 0.0


def watch(server, ended, found):
    """Notes the largest sum over the family until it is told to end."""
    while not ended.wait(LOOK_EVERY_SECONDS):
        found[0] = max(found[0], sum(share(pid) for pid in server.family()))


def storm(kind, options, session):
    """One round of one kind: seconds, MiB of the server, MiB of the family. Fails where an outcome is amiss."""
    command = [*kind.command, "--session", session] if kind.is_haft else kind.command
    server = stdio.Server(command, "legacy", "2025-11-25", options.workspace)
    ended, largest = threading.Event(), [0.0]
    watcher = threading.Thread(target=watch, args=(server, ended, largest))
    try:
        server.open()
        writer, numbers = stdio.flood(server, kind.calls)
        watcher.start()
        started = time.perf_counter()
        writer.start()
        replies = collections.Counter()
        while len(replies) < len(numbers):
            message = server.reply()
            number = numbers.get(message.get("id"))
            if number is None or "error" in message or message["result"].get("isError"):
                raise stdio.BenchError(f"a call failed: {json.dumps(message)[:300]}")
            if marker(number) not in json.dumps(message["result"]):
                raise stdio.BenchError(f"call {number} got another's result: {json.dumps(message)[:300]}")
            replies[number] += 1
        took = time.perf_counter() - started
        writer.join()
        # What comes after the last one would be doubled; a reply to this ping comes after all of it.
        ping = server.request("ping")
        while (message := server.reply()).get("id") != ping:
            replies[numbers.get(message.get("id"))] += 1
        doubled = {number: times for number, times in replies.items() if times != 1}
        if doubled:
            raise stdio.BenchError(f"replies more than once: {doubled}")
        ended.set()
        watcher.join()
        own = stdio.mebibytes(server.process.pid, "status", "VmHWM")
    finally:
        ended.set()
        server.close()
    if kind.is_haft:
        logged(options, session, len(numbers))
    return took, own, largest[0]


def logged(options, session, wanted):
    """Each call has one outcome in the log, and it is that it was completed."""
    ran = subprocess.run(
        [options.haft, "log", session, "--json"],
        cwd=options.workspace,
        capture_output=True,
        text=True,
        timeout=LOG_TIMEOUT_SECONDS,
        check=True,
    )
    log = json.loads(ran.stdout)
    ids = collections.Counter(call["call"] for call in log["calls"])
    outcomes = collections.Counter(call["outcome"] for call in log["calls"])
    if len(ids) != wanted or set(ids.values()) != {1} or outcomes != {"completed": wanted} or log["unreadable"]:
        raise stdio.BenchError(f"the log has {len(ids)} calls of {wanted}, with outcomes {dict(outcomes)}")


def kinds(options):
    """The storms, in the order of the table."""
    haft = [options.haft, "serve", "mcp"]
    paths = [f"f{number:05}.txt" for number in range(options.calls)]
    for number, path in enumerate(paths):
        with open(os.path.join(options.workspace, path), "w") as file:
            file.writelines(f"{marker(number)} {'0' * 49}\n" for _ in range(16))
    reads = [("read", {"path": path}) for path in paths]
    commands = [("bash", {"command": f"printf '{marker(number)}'"}) for number in range(options.calls // COMMANDS_PART)]
    found = [Storm("haft, `read` of 1 KiB", haft, reads, True), Storm("haft, `bash`", haft, commands, True)]
    if options.node_peer:
        texts = [("read_text_file", {"path": os.path.join(options.workspace, path)}) for path in paths]
        peer = [*options.node_peer, options.workspace]
        found.insert(1, Storm("Node file-system server, the same reads", peer, texts, False))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("haft")
    parser.add_argument("workspace")
    parser.add_argument("--node-peer", nargs=2, metavar=("NODE", "SCRIPT"), help="the server to compare with")
    parser.add_argument("--calls", type=int, default=1000, help="calls at once")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which all kinds take turns")
    options = parser.parse_args()
    if options.calls < COMMANDS_PART or options.rounds < 1:
        parser.error(f"at least {COMMANDS_PART} calls and one round")
    options.workspace = os.path.realpath(options.workspace)

    storms = kinds(options)
    for number in range(options.rounds):
        for place, kind in enumerate(storms):
            try:
                kind.figures.append(storm(kind, options, f"load-{number}-{place}"))
            except (stdio.BenchError, OSError, subprocess.SubprocessError) as error:
                print(f"{kind.name}: {error}", file=sys.stderr)
                return 1
        print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)

    print("| at once | calls | lost or doubled | s | calls/s | the server MiB | with what it starts MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for kind in storms:
        seconds, own, family = (kind.column(place) for place in range(3))
        cells = [f"{len(kind.calls):,}", "0", f"{seconds:.2f}", f"{len(kind.calls) / seconds:,.0f}", f"{own:.1f}", f"{family:.1f}"]
        print(f"| {kind.name} | " + " | ".join(cells) + " |")
    status = 0
    for kind in [kind for kind in storms if kind.is_haft]:
        most = max(own for _, own, _ in kind.figures)
        if most >= WANTED_MIB:
            print(f"target missed: {kind.name}: {most:.0f} MiB, under {WANTED_MIB:g} wanted", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
