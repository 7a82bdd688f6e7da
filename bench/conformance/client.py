#!/usr/bin/env python3
"""haft as the client under test of the protocol's conformance suite.

The suite starts a server and runs this with the server's address as the last argument. Everything is done by the binary
that HAFT_BIN names, in a home and a workspace of its own: the server is named, logged in to where it wants that, its tools are
listed and called, its resources and prompts read through `haft serve mcp`. Forms are answered at a terminal of their own,
as a person would. What is called, and with what, the suite says in MCP_CONFORMANCE_CONTEXT; else each tool is called once.
"""

import fcntl
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

HAFT = os.environ.get("HAFT_BIN", "haft")
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The address by which the suite expects a client to be named.
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
SAMPLES = {"number": 5, "integer": 5, "boolean": True, "array": [], "object": {}}


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

    def sample(self, name: str) -> dict:
        """Some input that fits a tool with a flat schema."""
        schema = json.loads(self.run("tools", "show", name, "--json").stdout or "{}").get("inputSchema", {})
        known = schema.get("properties", {})
        wanted = {field: known.get(field, {}) for field in schema.get("required", [])}
        return {
            field: what["enum"][0] if what.get("enum") else SAMPLES.get(what.get("type"), "text")
            for field, what in wanted.items()
        }

    def read_all(self) -> None:
        """Reads each resource and gets each prompt."""
        with Front(self) as front:
            for resource in front.ask("resources/list", {}).get("resources", []):
                front.ask("resources/read", {"uri": resource["uri"]})
            for prompt in front.ask("prompts/list", {}).get("prompts", []):
                given = {argument["name"]: "text" for argument in prompt.get("arguments", [])}
                front.ask("prompts/get", {"name": prompt["name"], "arguments": given})

    def schema_behind(self, name: str) -> dict:
        """The input schema of a tool as haft passes it on."""
        with Front(self) as front:
            listed = front.ask("tools/list", {}).get("tools", [])
        return next((tool["inputSchema"] for tool in listed if tool["name"] == name), {})

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


class Front:
    """A client with haft in front of the server."""

    def __init__(self, stage: Stage):
        self.child = subprocess.Popen(
            [HAFT, "--yes", "serve", "mcp"],
            cwd=stage.folder / "workspace",
            env=stage.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.watchdog = threading.Timer(60, self.child.kill)
        self.count = 0

    def __enter__(self) -> "Front":
        self.watchdog.start()
        me = {"name": "suite", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": me})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self.child.stdin.close()
        self.child.wait()
        self.watchdog.cancel()

    def say(self, message: dict) -> None:
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()

    def ask(self, method: str, params: dict) -> dict:
        self.count += 1
        self.say({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        for line in self.child.stdout:
            reply = json.loads(line)
            if reply.get("id") == self.count and "method" not in reply:
                print("serve mcp:", method, params, "->", line.rstrip()[:300], flush=True)
                return reply.get("result", {})
        return {}


def wants_login(said: str) -> bool:
    return "haft mcp login" in said


def turn():
    """Waits until fewer of these run than the machine has processors: the suite starts all scenarios at once, and some
    measure time."""
    places = [Path(tempfile.gettempdir(), f"haft-conformance-{os.getuid()}-{n}") for n in range(os.cpu_count() or 1)]
    while True:
        for place in places:
            file = place.open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                file.close()
        time.sleep(0.05)


def main() -> int:
    with turn(), tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), sys.argv[-1])
        stage.name_server()
        looked = stage.run("mcp", "test", "s", "--json")
        # Twice, since who gives tokens may be somebody else after the first.
        for _ in range(2):
            if not wants_login(looked.stdout + looked.stderr):
                break
            if not stage.login():
                return 1
            looked = stage.run("mcp", "test", "s", "--json")
        tools = stage.tools()
        calls = [(call["name"], call["arguments"]) for call in CONTEXT.get("toolCalls", [])]
        if "json_schema_echo" in tools:
            # It wants to be told what arrived here of the other tool's schema.
            calls = [("json_schema_echo", {"schema": stage.schema_behind("mcp__s__json_schema_2020_12_tool")})]
        calls = calls or [(tool, stage.sample(name)) for tool, name in tools.items()]
        for tool, arguments in calls:
            if tool not in tools:
                continue
            said = stage.call(tools[tool], arguments)
            # One wider login for what a tool wants; more than that would go in circles.
            if wants_login(said) and stage.login():
                stage.call(tools[tool], arguments)
        if looked.returncode == 0:
            can = json.loads(looked.stdout)["server"]["capabilities"]
            if "resources" in can or "prompts" in can:
                stage.read_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
