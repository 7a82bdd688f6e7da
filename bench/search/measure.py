"""Runs `rg` and haft's searches in turn on one tree, compares what they find, and
prints one Markdown table of medians.

    measure.py <rg> <search> <tree> <scratch> [--runs 10]
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

AT_MOST = 1.1
RG = ["--no-config", "--no-require-git", "--color", "never"]
SEARCHES = [
    ("a literal that is rare", "needle_in_haystack"),
    ("a literal that is nowhere", "nowhere_at_all"),
    ("a word in one line of a hundred", "TODO"),
    ("a regular expression", r"fn \w+_worker\("),
    ("letters beyond ASCII", "größer"),
]


def run(argv, tree, out):
    """Seconds from the start of the process to its end, its output in a file."""
    with open(out, "wb") as file:
        began = time.perf_counter()
        code = subprocess.run(argv, cwd=tree, stdout=file, stdin=subprocess.DEVNULL, check=False).returncode
        took = time.perf_counter() - began
    # rg says 1 where nothing was found.
    if code not in (0, 1):
        sys.exit(f"{argv} ended with {code}")
    return took


def lines(out, parts):
    """The lines of an output, of each its first parts between colons."""
    with open(out, "rb") as file:
        found = (one.removeprefix(b"./").rstrip(b"\n") for one in file)
        return sorted(b":".join(one.split(b":")[:parts]) if parts else one for one in found)


def main():
    options = argparse.ArgumentParser()
    for name in ("rg", "search", "tree", "scratch"):
        options.add_argument(name)
    options.add_argument("--runs", type=int, default=10)
    given = options.parse_args()
    state = os.path.join(given.scratch, "state")
    rows = [
        (
            name,
            [given.rg, *RG, "--line-number", "--no-heading", "-e", pattern, "."],
            [given.search, "lines", given.tree, state, pattern],
            2,
        )
        for name, pattern in SEARCHES
    ]
    rows.append(
        (
            "all files, the newest first",
            [given.rg, *RG, "--files", "--sortr", "modified"],
            [given.search, "files", given.tree, state],
            0,
        )
    )
    failed = False
    print("| search | found | rg ms | haft ms | haft ÷ rg | same results |")
    print("|---|---:|---:|---:|---:|---|")
    for name, rg, haft, parts in rows:
        outs = [os.path.join(given.scratch, out) for out in ("rg.out", "haft.out")]
        times = ([], [])
        # The first round only warms the caches.
        for turn in range(given.runs + 1):
            order = (0, 1) if turn % 2 else (1, 0)
            for side in order:
                took = run((rg, haft)[side], given.tree, outs[side])
                if turn:
                    times[side].append(took)
        theirs, own = (lines(out, parts) for out in outs)
        same = theirs == own
        medians = [statistics.median(took) * 1_000 for took in times]
        ratio = medians[1] / medians[0]
        failed |= not same or ratio > AT_MOST
        print(
            f"| {name} | {len(theirs):,} | {medians[0]:.1f} | {medians[1]:.1f} | {ratio:.2f} × |"
            f" {'yes' if same else 'NO'} |",
            flush=True,
        )
    sys.exit(1 if failed else 0)


main()
