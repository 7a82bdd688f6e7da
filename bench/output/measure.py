#!/usr/bin/env python3
"""1 GB of command output through `haft call bash`, beside the same command into a file.

    measure.py HAFT WORKSPACE [--blocks N] [--runs N]

Prints one Markdown table: seconds, speed, and the memory of each way. Two figures
of memory are given. "peak of the largest process" is the kernel's own high-water
mark; "peak of the whole tree" is the sum over all processes alive at one moment,
looked at every few milliseconds, so a spike between two looks can be missed.
Standard library only; Linux only, for /proc.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

LOOK_EVERY_SECONDS = 0.005
MIB = 1024.0  # /proc gives KiB
BLOCK_LINES = 152_000


def family(root):
    """The process and all its descendants."""
    found, unseen = [], [root]
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


def memory(pid):
    """What a process holds now and the most it ever held, in KiB."""
    now = peak = 0
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    now = int(line.split()[1])
                elif line.startswith("VmHWM:"):
                    peak = int(line.split()[1])
    except OSError:
        pass
    return now, peak


def run(command, workspace, environment, timeout):
    """Runs a command to its end. Returns seconds, peak of the tree, peak of one process, status, output."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    os.set_blocking(process.stdout.fileno(), False)
    os.set_blocking(process.stderr.fileno(), False)
    out, err = bytearray(), bytearray()
    tree_peak = process_peak = 0
    while True:
        ended = process.poll() is not None
        seconds = time.perf_counter() - started
        out += process.stdout.read() or b""
        err += process.stderr.read() or b""
        if ended:
            return seconds, tree_peak, process_peak, process.returncode, bytes(out), bytes(err)
        looks = [memory(pid) for pid in family(process.pid)]
        tree_peak = max(tree_peak, sum(now for now, _ in looks))
        process_peak = max(process_peak, max(peak for _, peak in looks))
        if seconds > timeout:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise SystemExit(f"not finished after {timeout} s: {command}")
        time.sleep(LOOK_EVERY_SECONDS)


def write_block(path):
    """Writes 10 MB of lines that all differ, as a build's do. Returns the number of bytes."""
    with open(path, "w") as block:
        for number in range(BLOCK_LINES):
            block.write(f"[{number:8}] compiling part {number * 7919 % BLOCK_LINES:8} of the program, no warning, ok\n")
    return os.path.getsize(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("haft")
    parser.add_argument("workspace")
    parser.add_argument("--blocks", type=int, default=100, help="how often the block of 10 MB is printed")
    parser.add_argument("--runs", type=int, default=3, help="runs of each way, in turn; the median counts")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for one run")
    parser.add_argument("--memory-limit", type=float, default=64, help="MiB that haft's tree may reach")
    parser.add_argument("--speed-limit", type=float, default=0.25, help="part of the pipe's speed that haft must reach")
    options = parser.parse_args()

    size = options.blocks * write_block(os.path.join(options.workspace, "block"))
    source = "cat" + " block" * options.blocks
    sink = os.path.join(options.workspace, "sink")
    environment = dict(os.environ)
    call = json.dumps({"command": source})
    ways = {
        "haft call bash": [options.haft, "call", "--json", "--yes", "--workspace", options.workspace, "bash", call],
        "sh, a pipe into a file": ["sh", "-c", f"({source}) | cat > '{sink}'"],
        "sh, straight into a file": ["sh", "-c", f"({source}) > '{sink}'"],
    }
    figures = {name: [] for name in ways}
    for number in range(options.runs):
        for name, command in ways.items():
            seconds, tree, single, status, out, err = run(command, options.workspace, environment, options.timeout + 30)
            if status != 0:
                print(f"{name}: exit status {status}", file=sys.stderr)
                print(err.decode(errors="replace")[-2000:] or out.decode(errors="replace")[-2000:], file=sys.stderr)
                return 1
            if name.startswith("haft"):
                seen = (json.loads(out).get("truncation") or {}).get("totalBytes", 0)
            else:
                seen = os.path.getsize(sink)
                os.unlink(sink)
            # haft may count a few bytes of its own, such as the line with the exit code.
            if not size <= seen <= size + 4096:
                print(f"{name}: {seen} bytes arrived of {size}", file=sys.stderr)
                return 1
            figures[name].append((seconds, tree, single))
        print(f"run {number + 1} of {options.runs} done", file=sys.stderr)

    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in figures.items()}
    base = medians["sh, a pipe into a file"][0]
    print(f"| {size / 1e9:g} GB of output | s | MB/s | speed beside the pipe | peak of the whole tree MiB | peak of the largest process MiB |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, (seconds, tree, single) in medians.items():
        print(f"| {name} | {seconds:.2f} | {size / seconds / 1e6:.0f} | {base / seconds:.2f} × | {tree / MIB:.1f} | {single / MIB:.1f} |")

    haft_seconds, haft_tree, _ = medians["haft call bash"]
    missed = []
    if haft_tree / MIB > options.memory_limit:
        missed.append(f"memory: {haft_tree / MIB:.1f} MiB, at most {options.memory_limit:g} wanted")
    if base / haft_seconds < options.speed_limit:
        missed.append(f"speed: {base / haft_seconds:.2f} of the pipe's, at least {options.speed_limit:g} wanted")
    for line in missed:
        print(f"target missed: {line}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
