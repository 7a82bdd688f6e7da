#!/usr/bin/env python3
"""How long short programs take from their start to their end.

    measure.py HAFT WORKSPACE [--runs N]

The programs take turns. What is measured is the whole process: it is started with pipes, all that it prints is
read, and it is waited for. All are run twice before, so that what a first start makes (haft's state folder) and
what the system reads from disk is there. Standard library only.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import time

WANTED_MS = 20.0
LEAST_RUNS = 50
RUN_TIMEOUT_SECONDS = 60
PEERS = [["node", "-e", "0"], ["python3", "-c", "pass"], ["rg", "--version"], ["true"]]


def run(command, workspace):
    """Milliseconds that a process took."""
    started = time.perf_counter()
    ran = subprocess.run(
        command, cwd=workspace, stdin=subprocess.DEVNULL, capture_output=True, timeout=RUN_TIMEOUT_SECONDS, check=False
    )
    took = (time.perf_counter() - started) * 1e3
    if ran.returncode != 0:
        raise SystemExit(f"{command}: exit status {ran.returncode}: {ran.stderr.decode(errors='replace')[-300:]}")
    return took, ran.stdout


def real(program):
    """The program that a name in PATH leads to, past the scripts of version managers where Python knows better."""
    return sys.executable if program == "python3" else shutil.which(program)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("haft")
    parser.add_argument("workspace")
    parser.add_argument("--runs", type=int, default=100, help="runs of each program")
    options = parser.parse_args()
    if options.runs < LEAST_RUNS:
        parser.error(f"at least {LEAST_RUNS} runs")

    programs = {"haft tools": [options.haft, "tools"], "haft --version": [options.haft, "--version"]}
    for peer in PEERS:
        path = real(peer[0])
        if path is None:
            print(f"left out: {peer[0]} (it is not installed)", file=sys.stderr)
        else:
            programs[" ".join(peer)] = [path, *peer[1:]]
    figures = {name: [] for name in programs}
    for name, command in programs.items():
        for _ in range(2):
            _, out = run(command, options.workspace)
        if name == "haft tools" and b"\nread " not in out:
            raise SystemExit(f"{name} lists no tool `read`: {out[:300]!r}")
    for _ in range(options.runs):
        for name, command in programs.items():
            figures[name].append(run(command, options.workspace)[0])

    own = statistics.median(figures["haft tools"])
    print("| the whole process | least ms | median ms | most ms | haft tools ÷ it |")
    print("|---|---:|---:|---:|---:|")
    for name, values in figures.items():
        median = statistics.median(values)
        ratio = "" if name == "haft tools" else f"{own / median:.2f} ×"
        print(f"| `{name}` | {min(values):.1f} | {median:.1f} | {max(values):.1f} | {ratio} |")
    print(f"{options.runs} runs of each, in turn", file=sys.stderr)
    if own > WANTED_MS:
        print(f"target missed: {own:.1f} ms, at most {WANTED_MS:g} wanted", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
