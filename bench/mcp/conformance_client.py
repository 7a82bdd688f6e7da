#!/usr/bin/env python3
"""haft as the client under test of the protocol's conformance suite.

The suite starts a server and runs this with the server's address as the last argument. Everything is done by the binary
that HAFT_BIN names, in a home and a workspace of its own: the server is named, logged in to where it wants that, its tools are
listed and called. Forms are answered at a terminal of their own, as a person would.
"""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HAFT = os.environ.get("HAFT_BIN", "haft")
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The address by which the suite expects a client to be named.
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
INPUTS = {
    "add_numbers": {"a": 5, "b": 3},
    "valid_tool": {"region": "us-west1"},
}


class Stage:
    """A home, a workspace, and the binary run in them."""

    def __init__(self, folder: Path, url: str):
        self.folder, self.url = folder, url
        (folder / "workspace" / ".git").mkdir(parents=True)
        (folder / "home").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "HAFT_HOME": str(folder / "home"),
            "TERM": "dumb",
        }

    def name_server(self) -> None:
        lines = ["[mcp.servers.s]", f"url = {json.dumps(self.url)}"]
        if SCENARIO == "auth/basic-cimd":
            lines.append(f"oauthClientId = {json.dumps(CLIENT_METADATA)}")
        if "client_id" in CONTEXT:
            self.env["CONFORMANCE_SECRET"] = CONTEXT["client_secret"]
            lines.append(f"oauthClientId = {json.dumps(CONTEXT['client_id'])}")
            lines.append('oauthClientSecret = "env:CONFORMANCE_SECRET"')
        (self.folder / "home" / "config.toml").write_text("\n".join(lines) + "\n")

    def run(self, *words: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [HAFT, *words], cwd=self.folder / "workspace", env=self.env, capture_output=True, text=True, timeout=60
        )
        print("$ haft", *words, "->", done.returncode, "\n", done.stdout, done.stderr, flush=True)
        return done

    def tools(self) -> dict:
        """The names of the server's tools here, by the server's own."""
        listed = json.loads(self.run("tools", "--json").stdout or "[]")
        rows = listed.get("tools", []) if isinstance(listed, dict) else listed
        names = [row["name"] for row in rows if row["name"].startswith("mcp__s__")]
        return {name.removeprefix("mcp__s__"): name for name in names}

    def call(self, name: str, arguments: dict) -> str:
        """Calls a tool at a terminal, where forms are agreed to and left as they are."""
        words = [HAFT, "call", name, json.dumps(arguments)]
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            words, cwd=self.folder / "workspace", env=self.env, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
        )
        os.close(theirs)
        said, answered, end = "", 0, time.monotonic() + 60
        while time.monotonic() < end:
            ready, _, _ = select.select([ours], [], [], 0.2)
            if ready:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break
                if not piece:
                    break
                said += piece.decode(errors="replace")
            elif child.poll() is not None:
                break
            # Whether to go on with a form, a field of it, or the call itself.
            rest = said[answered:]
            if rest.rstrip().endswith(">"):
                os.write(ours, b"y\n" if "[y/N]" in rest.splitlines()[-1] else b"\n" if "empty" in rest else b"o\n")
                answered = len(said)
        child.kill()
        child.wait()
        os.close(ours)
        print("$ haft call", name, "\n", said, flush=True)
        return said

    def login(self) -> bool:
        """Logs in as somebody who agrees to everything: the page leads straight back."""
        child = subprocess.Popen(
            [HAFT, "mcp", "login", "s", "--again"],
            cwd=self.folder / "workspace",
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in child.stderr:
            print("login:", line.rstrip(), flush=True)
            if line.startswith(("http://", "https://")):
                try:
                    urllib.request.urlopen(line.strip(), timeout=20).read()
                except OSError as error:
                    print("login page:", error, flush=True)
        code = child.wait(timeout=60)
        print("login ended with", code, child.stdout.read(), flush=True)
        return code == 0


def wants_login(said: str) -> bool:
    return "haft mcp login" in said


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), sys.argv[-1])
        stage.name_server()
        looked = stage.run("mcp", "test", "s")
        if wants_login(looked.stdout + looked.stderr) and not stage.login():
            return 1
        tools = stage.tools()
        calls = [(call["name"], call["arguments"]) for call in CONTEXT.get("toolCalls", [])]
        calls = calls or [(tool, INPUTS.get(tool, {})) for tool in tools]
        for tool, arguments in calls:
            if tool not in tools:
                continue
            said = stage.call(tools[tool], arguments)
            # One wider login for what a tool wants; more than that would go in circles.
            if wants_login(said) and stage.login():
                stage.call(tools[tool], arguments)
        if SCENARIO == "auth/authorization-server-migration" and tools:
            tool = next(iter(tools))
            if wants_login(stage.call(tools[tool], {})) and stage.login():
                stage.call(tools[tool], {})
    return 0


if __name__ == "__main__":
    sys.exit(main())
