#!/usr/bin/env python3
"""What one task over 40 files costs a model: as a script, and by direct calls.

    tokens.py HAFT CORPUS COUNTER

The same question is worked on three ways over `haft serve mcp`: by one call of `code`; by listing the files and
reading each of the 40; and by a search for the lines that matter and the list of customers, after which the
model has to add up hundreds of numbers by itself. The script's answer must be the right one, and all that the
direct ways need must have come, uncut.

Out of the model: the compact JSON of each call, {"name", "input"}, escapes and all. Into the model: the text of
each result as it came. Counted in o200k by COUNTER, which takes a JSON list of texts on standard input and
gives a JSON list of numbers. Each text counts once; a provider bills what stands in a conversation again with
each further request. What definitions cost is printed beneath the table, from `haft tools --tokens`. The answer
itself, three lines, is the same in all ways; the model says it once more after the script gave it.
"""

import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mcp"))
import corpus  # noqa: E402
import stdio  # noqa: E402 (the conversation with a server is that of bench/mcp)

WANTED_TOKENS = 400
# `read` shows lines as `number│text`.
SCRIPT = """\
const rows = async (path) => (await tools.read({ path })).split("\\n").slice(1).map((l) => l.split("│")[1].split(","));
const plans = Object.fromEntries((await rows("customers.csv")).map(([id, , plan]) => [id, plan]));
const days = (await tools.glob({ pattern: "orders/*.csv" })).split("\\n");
const sums = {};
for (const [, customer, status, amount] of (await Promise.all(days.map(rows))).flat())
  if (status === "refunded" && +amount >= 100) sums[plans[customer]] = (sums[plans[customer]] ?? 0) + +amount;
Object.entries(sums).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([plan, sum]) => `${plan}: ${sum.toFixed(2)}`).join("\\n")
"""


class Way:
    """The calls of one way, their results, and what they cost."""

    def __init__(self, name, server):
        self.name = name
        self.server = server
        self.calls = []
        self.results = []

    def call(self, tool, arguments):
        text = "".join(part["text"] for part in self.server.call(tool, arguments)["content"])
        self.calls.append(json.dumps({"name": tool, "input": arguments}, separators=(",", ":"), ensure_ascii=False))
        self.results.append(text)
        return text


def by_script(server, _paths, answer):
    way = Way("one script", server)
    text = way.call("code", {"script": SCRIPT})
    if text != answer:
        raise stdio.BenchError(f"the script's answer is {text!r} and should be {answer!r}")
    return way


def by_reading(server, paths, _answer):
    way = Way("a list and 40 reads", server)
    listed = way.call("glob", {"pattern": "orders/*.csv"}).split("\n")
    if sorted(["customers.csv", *listed]) != sorted(paths):
        raise stdio.BenchError(f"the list of files is {listed}")
    for path in ["customers.csv", *listed]:
        lines = way.call("read", {"path": path}).split("\n")
        wanted = corpus.CUSTOMERS if path == "customers.csv" else corpus.ORDERS_A_DAY
        if len(lines) != wanted + 1:
            raise stdio.BenchError(f"{len(lines)} lines of {path} came")
    return way


def by_searching(server, paths, _answer):
    way = Way("a search and one read, adding up left to the model", server)
    found = way.call("grep", {"pattern": ",refunded,", "path": "orders", "limit": 1000})
    if found.count(",refunded,") != sum(refunds(path) for path in paths):
        raise stdio.BenchError(f"the search was cut: {found[-200:]}")
    way.call("read", {"path": "customers.csv"})
    return way


def refunds(path):
    with open(path) as file:
        return file.read().count(",refunded,")


def count(counter, texts):
    """The tokens of each text."""
    ran = subprocess.run([counter], input=json.dumps(texts), capture_output=True, text=True, timeout=120, check=True)
    return json.loads(ran.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("haft")
    parser.add_argument("corpus")
    parser.add_argument("counter")
    options = parser.parse_args()
    options.counter = os.path.realpath(options.counter)
    os.mkdir(options.corpus)
    paths, answer = corpus.write(options.corpus)
    os.chdir(options.corpus)

    server = stdio.Server([options.haft, "serve", "mcp"], "legacy", "2025-11-25", ".")
    try:
        server.open()
        ways = [make(server, paths, answer) for make in (by_script, by_reading, by_searching)]
    except (stdio.BenchError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        server.close()

    [answer_tokens] = count(options.counter, [answer])
    print("| the task over 40 files | calls of the model | out: calls | in: results | out: the answer | altogether | beside the script |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    least = None
    for way in ways:
        out, into = sum(count(options.counter, way.calls)), sum(count(options.counter, way.results))
        altogether = out + into + answer_tokens
        least = least or altogether
        cells = [len(way.calls), out, into, answer_tokens, altogether]
        print(f"| {way.name} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {altogether / least:.1f} × |")
    size = sum(os.path.getsize(path) for path in paths)
    print()
    print(f"The question: {corpus.QUESTION} The {len(paths)} files have {size:,} bytes.")

    listed = subprocess.run(
        [options.haft, "tools", "--tokens", "--json"], capture_output=True, text=True, timeout=120, check=True
    )
    costs = {tool["name"]: tool["tokens"] for tool in json.loads(listed.stdout)["tools"]}
    names = ["code", "read", "glob", "grep"]
    print(
        "Beside this, with each request, the definitions: "
        + ", ".join(f"`{name}` {costs[name]}" for name in names)
        + " tokens."
    )
    if least >= WANTED_TOKENS:
        print(f"target missed: the script costs {least} tokens, under {WANTED_TOKENS} wanted", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
