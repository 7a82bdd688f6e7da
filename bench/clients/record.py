#!/usr/bin/env python3
"""Stands between an MCP client and a server on stdio and writes down each message.

    record.py LOG FOLDER [NAME=VALUE ...] -- COMMAND [ARGUMENT ...]

Starts COMMAND in FOLDER with the given variables (clients pass on only some of
theirs) and copies both directions unchanged. Each line of LOG is one JSON object:
`from` is "client", "server", "stderr" or "end", `line` is what was said.
"""

import json
import os
import subprocess
import sys
import threading

LOCK = threading.Lock()


def note(log, source, line):
    with LOCK:
        log.write(json.dumps({"from": source, "line": line.decode(errors="replace").rstrip("\n")}) + "\n")
        log.flush()


def copy(log, name, source, target):
    """Copies lines until the source ends or the target is gone."""
    for line in iter(source.readline, b""):
        note(log, name, line)
        try:
            target.write(line)
            target.flush()
        except OSError:
            return


def main():
    split = sys.argv.index("--")
    path, folder, *variables = sys.argv[1:split]
    log = open(path, "a")
    server = subprocess.Popen(
        sys.argv[split + 1 :],
        cwd=folder,
        env={**os.environ, **dict(pair.split("=", 1) for pair in variables)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )

    def from_client():
        copy(log, "client", sys.stdin.buffer, server.stdin)
        try:
            server.stdin.close()
        except OSError:
            pass

    threading.Thread(target=from_client, daemon=True).start()
    errors = threading.Thread(target=copy, args=(log, "stderr", server.stderr, sys.stderr.buffer), daemon=True)
    errors.start()
    copy(log, "server", server.stdout, sys.stdout.buffer)
    status = server.wait()
    errors.join(1)
    note(log, "end", f"exit status {status}".encode())
    # Not sys.exit: the thread that reads the client may still hold its input.
    os._exit(status if status >= 0 else 1)


if __name__ == "__main__":
    main()
