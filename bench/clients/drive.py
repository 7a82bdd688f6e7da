#!/usr/bin/env python3
"""Drives real MCP clients against `haft serve mcp`, offline, and prints Markdown tables.

    drive.py --clients DIR [--behind DIR] -- HAFT serve mcp

Each client runs once over standard input and output and once over HTTP, without a
person, in a home folder of its own; its model is provider.py, which asks for one read
of one file. A client passes when it ends well,
the call arrived at the server (seen in the recorded conversation, not only claimed)
and the model got the text of the file back. Then Inspector lists the tools in both
eras of the protocol with its strict check of the schemas, over both as well.

With --behind, haft has three public servers behind it, and the model asks for a call of
each of them after the read: all four have to arrive and to give what they should.

Exit status: 0 all passed, 1 something failed, 2 wrong usage.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from provider import ECHO, Provider
from record_http import Recorder

HERE = Path(__file__).resolve().parent
SERVER = "haft"  # the name under which each client knows the server
PROMPT = "Read the file note.txt and tell me what it says."
CLIENT_TIMEOUT_SECONDS = 120
STARTED_WITHIN_SECONDS = 20
TOKEN_VARIABLE = "HAFT_TOKEN"  # how clients know the token of the server over HTTP


class Failure(Exception):
    """A check that did not hold; the text says which."""


class Stage:
    """The folders of one client's run and the server: as the client is to start it, or at work over HTTP."""

    def __init__(self, scratch, name, over, clients, server, url, behind):
        self.folder = scratch / name
        self.home = self.folder / "home"
        self.project = self.folder / "project"
        self.log = self.folder / "conversation.jsonl"
        self.haft_home = self.folder / "haft"
        self.clients = clients
        self.url = url
        self.secret = f"otter-{secrets.token_hex(6)}"
        for folder in (self.home, self.project, self.haft_home):
            folder.mkdir(parents=True)
        (self.project / "note.txt").write_text(f"The word of the day is {self.secret}.\n")
        if behind:
            self.put_behind(server[0], behind)
        recorder = [sys.executable, str(HERE / "record.py"), str(self.log), str(self.project)]
        self.server = [*recorder, f"HAFT_HOME={self.haft_home}", "--", *server]
        self.over_http = over == "http"
        self.served = self.recorder = None
        self.environment = {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            # At least one client takes its folder from here and not from the kernel.
            "PWD": str(self.project),
            "PATH": f"{clients / 'node/node_modules/.bin'}:{os.environ['PATH']}",
        }
        if self.over_http:
            self.serve(server)

    def put_behind(self, haft, folder):
        """Names the public servers in haft's settings, and lets it run the three tools that are called."""
        lines = []
        for name, (words, *_) in BEHIND.items():
            program, *arguments = [word.replace("DIR", str(folder)) for word in words]
            lines += [f"[mcp.servers.{name}]", f"command = {json.dumps(program)}", f"args = {json.dumps(arguments)}"]
        tools = [f"mcp__{name}__{tool}" for name, (_, tool, *_) in BEHIND.items()]
        lines += ["[permissions]", f"allow = {json.dumps(tools)}"]
        (self.haft_home / "config.toml").write_text("\n".join(lines) + "\n")
        environment = {**os.environ, "HAFT_HOME": str(self.haft_home)}
        for tool in tools:
            pinned = subprocess.run(
                [haft, "--yes", "permissions", "pin", tool], cwd=self.project, env=environment, capture_output=True, text=True
            )
            if pinned.returncode != 0:
                raise Failure(f"{tool} can't be pinned: {pinned.stderr or pinned.stdout}")

    def serve(self, server):
        """Starts the server over HTTP, with the recorder in front of it."""
        self.served = subprocess.Popen(
            [*server, "--http", "127.0.0.1:0"],
            cwd=self.project,
            env={**os.environ, "HAFT_HOME": str(self.haft_home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=open(self.folder / "server", "wb"),
            text=True,
        )
        late = threading.Timer(STARTED_WITHIN_SECONDS, self.served.kill)
        late.start()
        for line in self.served.stdout:
            if line.startswith("token, shown only now: "):
                self.environment[TOKEN_VARIABLE] = line.split(": ", 1)[1].strip()
            elif line.startswith("listening at "):
                late.cancel()
                self.recorder = Recorder(self.log, line.removeprefix("listening at ").strip())
                return
        late.cancel()
        raise Failure(f"the server doesn't listen; see {self.folder}")

    def close(self):
        """Ends the server; it must end well by a signal."""
        if self.recorder:
            self.recorder.close()
        if not self.served:
            return
        self.served.terminate()
        try:
            status = self.served.wait(10)
        except subprocess.TimeoutExpired:
            self.served.kill()
            status = "killed after 10 s"
        if status != 0:
            raise Failure(f"the server ended with {status}; see {self.folder}")

    def bearer(self, form):
        """The header that lets a client in, with the variable as this client writes it."""
        return {"Authorization": f"Bearer {form}"}

    def write(self, path, content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))

    def program(self, name):
        return str(self.clients / "apps/node_modules/.bin" / name)

    def entry(self):
        """The server as most clients write it."""
        if self.over_http:
            return {"url": self.recorder.url, "headers": self.bearer(f"${{{TOKEN_VARIABLE}}}")}
        return {"command": self.server[0], "args": self.server[1:]}

    def conversation(self):
        """The messages that the client sent to the server and those that came back."""
        sent, received = [], []
        if self.log.exists():
            for entry in map(json.loads, self.log.read_text().splitlines()):
                try:
                    message = json.loads(entry["line"])
                except ValueError:
                    continue
                if entry["from"] == "client":
                    sent.append(message)
                elif entry["from"] == "server":
                    received.append(message)
        return sent, received

    def run(self, command):
        """Runs a command in the project. Returns its exit status, output and seconds."""
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=CLIENT_TIMEOUT_SECONDS)
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            status = "timed out"
        seconds = time.monotonic() - started
        (self.folder / "stdout").write_bytes(out)
        (self.folder / "stderr").write_bytes(err)
        return status, out.decode(errors="replace"), seconds


def opencode(stage):
    built_in = ["bash", "edit", "glob", "grep", "read", "skill", "task", "todowrite", "webfetch", "write"]
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{stage.url}/v1", "apiKey": "none"},
        "models": {"mock": {"limit": {"context": 100_000, "output": 4096}}},
    }
    entry = {"type": "local", "command": stage.server, "enabled": True}
    if stage.over_http:
        headers = stage.bearer(f"{{env:{TOKEN_VARIABLE}}}")
        entry = {"type": "remote", "url": stage.recorder.url, "headers": headers, "oauth": False, "enabled": True}
    stage.write(
        stage.project / "opencode.json",
        {
            "autoupdate": False,
            "share": "disabled",
            "enabled_providers": ["mock"],
            "model": "mock/mock",
            "small_model": "mock/mock",
            "provider": {"mock": provider},
            "tools": dict.fromkeys(built_in, False),
            "mcp": {SERVER: entry},
        },
    )
    stage.environment |= {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return [stage.program("opencode"), "run", PROMPT]


def codex(stage):
    # JSON strings and lists of strings are TOML as well.
    entry = [f"command = {json.dumps(stage.server[0])}", f"args = {json.dumps(stage.server[1:])}"]
    if stage.over_http:
        entry = [f"url = {json.dumps(stage.recorder.url)}", f"bearer_token_env_var = {json.dumps(TOKEN_VARIABLE)}"]
    lines = [
        'model = "mock"',
        'model_provider = "mock"',
        'approval_policy = "never"',
        'sandbox_mode = "read-only"',
        "[model_providers.mock]",
        'name = "mock"',
        f"base_url = {json.dumps(stage.url + '/v1')}",
        'env_key = "MOCK_KEY"',
        'wire_api = "responses"',
        f"[mcp_servers.{SERVER}]",
        *entry,
        'default_tools_approval_mode = "approve"',
        "startup_timeout_sec = 20",
    ]
    stage.write(stage.home / ".codex/config.toml", "\n".join(lines) + "\n")
    stage.environment |= {"CODEX_HOME": str(stage.home / ".codex"), "MOCK_KEY": "none"}
    return [stage.program("codex"), "exec", "--skip-git-repo-check", PROMPT]


def gemini(stage):
    entry = stage.entry()
    if stage.over_http:
        entry = {"httpUrl": entry.pop("url"), **entry}
    stage.write(
        stage.home / ".gemini/settings.json",
        {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "mcpServers": {SERVER: {**entry, "trust": True}},
        },
    )
    stage.environment |= {
        "GEMINI_API_KEY": "none",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GOOGLE_GEMINI_BASE_URL": stage.url,
    }
    return [stage.program("gemini"), "--model", "gemini-2.5-flash", "--yolo", "--prompt", PROMPT]


def claude(stage):
    kind = "http" if stage.over_http else "stdio"
    stage.write(stage.project / "mcp.json", {"mcpServers": {SERVER: {"type": kind, **stage.entry()}}})
    stage.environment |= {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": stage.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    only_ours = ["--strict-mcp-config", "--mcp-config", "mcp.json", "--tools", "", "--allowedTools", f"mcp__{SERVER}"]
    return [stage.program("claude"), "-p", PROMPT, "--model", "mock", *only_ours]


def pi(stage):
    provider = {
        "api": "openai-completions",
        "apiKey": "none",
        "baseUrl": f"{stage.url}/v1",
        "models": [{"id": "mock"}],
    }
    stage.write(stage.home / ".pi/agent/models.json", {"providers": {"mock": provider}})
    stage.write(
        stage.home / ".pi/agent/mcp.json",
        {"mcpServers": {SERVER: {**stage.entry(), "exposure": "direct"}}},
    )
    stage.environment["PI_OFFLINE"] = "1"
    return [stage.program("pi"), "--provider", "mock", "--model", "mock", "--no-session", "-p", PROMPT]


# Name, package, what prepares its folders and says how it is run.
CLIENTS = {
    "opencode": ("opencode-ai", opencode),
    "codex": ("@openai/codex", codex),
    "claude": ("@anthropic-ai/claude-code", claude),
    "gemini": ("@google/gemini-cli", gemini),
    "pi": ("@earendil-works/pi-coding-agent", pi),
}
INSPECTOR = "@modelcontextprotocol/inspector"

# Name, how it is started, the tool that is called, its arguments, what its result has to hold. In all words DIR is where
# run.sh installed them.
NODE_SERVERS = "DIR/servers/node_modules/@modelcontextprotocol"
BEHIND = {
    "files": (
        ["node", f"{NODE_SERVERS}/server-filesystem/dist/index.js", "."],
        "read_text_file",
        {"path": "note.txt"},
        "The word of the day is ",
    ),
    "everything": (
        ["node", f"{NODE_SERVERS}/server-everything/dist/index.js"],
        "echo",
        {"message": "a heron stands"},
        "Echo: a heron stands",
    ),
    "time": (
        ["DIR/python/bin/mcp-server-time"],
        "get_current_time",
        {"timezone": "UTC"},
        "is_dst",
    ),
}


def version_of(clients, package):
    manifest = clients / "apps/node_modules" / package / "package.json"
    if not manifest.exists():
        raise Failure(f"{package} is not installed in {clients}")
    return json.loads(manifest.read_text())["version"]


def opening(sent):
    """With which request and protocol version a client opened the conversation."""
    openings = []
    for message in sent:
        params = message.get("params") or {}
        if message.get("method") == "initialize":
            openings.append(f"initialize {params.get('protocolVersion')}")
        elif message.get("method") == "server/discover":
            version = (params.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
            openings.append(f"server/discover {version}")
    return ", then ".join(dict.fromkeys(openings)) or "nothing"


def wants(tool):
    """An offered tool counts when its name holds both the server's and the tool's."""
    return lambda name: SERVER in name and name.endswith(tool)


def calls_of(options):
    """The calls that the model makes: the tool's name, its arguments, what its result has to hold."""
    calls = [(options.tool, json.loads(options.arguments), None)]
    if options.behind:
        calls += [(f"mcp__{name}__{tool}", arguments, holds) for name, (_, tool, arguments, holds) in BEHIND.items()]
    return calls


def drive(stage, provider, options, command):
    """Runs one client and checks it. Returns the cells of its row after the version."""
    wanted = calls_of(options)
    status, out, seconds = stage.run(command)
    sent, received = stage.conversation()
    opened = opening(sent)
    seen_as = next((asked["tool"] for asked in provider.asked if asked["tool"]), None)
    names = [name for name, *_ in wanted]
    calls = [m for m in sent if m.get("method") == "tools/call" and m["params"].get("name") in names]
    cells = [opened, f"`{seen_as}`" if seen_as else "–", str(len(calls)), f"{seconds:.1f}"]

    def check(holds, text):
        if not holds:
            raise Failure(f"{text}; see {stage.folder}", cells)

    check(status == 0, f"exit status {status}")
    check(opened != "nothing", "it never opened a conversation with the server")
    check(seen_as, "it offered the model no such tool")
    came = [call["params"]["name"] for call in calls]
    check(sorted(set(came)) == sorted(names), f"of the calls of {', '.join(names)} there arrived {', '.join(came) or 'none'}")
    results = [text for asked in provider.asked for text in asked["results"]]
    for call, (name, _, holds) in ((call, one) for call in calls for one in wanted if call["params"]["name"] == one[0]):
        reply = next((m for m in received if m.get("id") == call["id"] and "method" not in m), {})
        check("result" in reply, f"{name} was answered with {json.dumps(reply)[:200]}")
        check(not reply["result"].get("isError"), f"{name} failed: {json.dumps(reply)[:200]}")
        check(not holds or any(holds in text for text in results), f"the model never got the result of {name}")
    check(any(stage.secret in text for text in results), "the model never got the text of the file")
    check(ECHO in out and stage.secret in out, "the last answer was not shown")
    return cells


def inspect(stage, era):
    """Lists the tools with Inspector in one era. Returns the cells of its row after the version."""
    command = [stage.program("mcp-inspector"), "--cli", "--method", "tools/list", "--strict", "--format", "json"]
    if stage.over_http:
        token = stage.environment[TOKEN_VARIABLE]
        command += ["--transport", "http", "--server-url", stage.recorder.url, "--header", f"Authorization: Bearer {token}"]
        command += ["--protocol-era", era]
    else:
        command += ["--protocol-era", era, "--", *stage.server]
    status, out, seconds = stage.run(command)
    sent, _ = stage.conversation()
    cells = [opening(sent), "–", "–", f"{seconds:.1f}"]
    if status != 0:
        raise Failure(f"exit status {status}; see {stage.folder}", cells)
    listed = json.loads(out)
    tools = listed["result"]["tools"]
    # Findings of any severity, also those that leave the exit status at 0.
    findings = [item for entry in listed.get("schemaFindings") or [] for item in entry.get("findings") or [entry]]
    cells[1:3] = [str(len(tools)), str(len(findings))]
    if not tools:
        raise Failure(f"no tool is listed; see {stage.folder}", cells)
    if findings:
        raise Failure(f"{len(findings)} findings about schemas, the first: {json.dumps(findings[0])[:200]}", cells)
    return cells


def table(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def on_stage(make, work):
    """Does the work on a stage, and ends the stage."""
    stage = make()
    try:
        cells = work(stage)
    except BaseException:
        try:
            stage.close()
        except Failure:
            pass  # What failed first is what is told.
        raise
    stage.close()
    return cells


def attempt(clients, package, work):
    """The cells of a row: the version, what the work gives, and 'passed' or what failed."""
    version, blank = "–", ["–"] * 4
    try:
        version = version_of(clients, package)
        return [version, *work(), "passed"]
    except Failure as failure:
        cells = failure.args[1] if len(failure.args) > 1 else blank
        text = failure.args[0]
    except (OSError, ValueError, KeyError) as error:
        cells, text = blank, f"{type(error).__name__}: {error}"
    return [version, *cells, "FAILED: " + text.replace("|", "\\|").replace("\n", " ")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=Path, required=True, help="where run.sh installed the clients")
    parser.add_argument("--only", help="clients to run, separated by commas; 'inspector' is one of them")
    parser.add_argument("--over", default="stdio,http", help="how clients reach the server: stdio, http or both")
    parser.add_argument("--tool", default="read", help="the tool that reads a file")
    parser.add_argument("--arguments", default='{"path": "note.txt"}', help="its arguments as JSON")
    parser.add_argument("--behind", type=Path, help="where run.sh installed the public servers, to put them behind haft")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs also if all passed")
    parser.add_argument("server", nargs="+", help="the command that starts the server, after --")
    options = parser.parse_args()
    options.clients = options.clients.resolve()
    options.behind = options.behind and options.behind.resolve()
    known = [*CLIENTS, "inspector"]
    chosen = options.only.split(",") if options.only else known
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"no client is named {unknown[0]}; known: {', '.join(known)}")
    ways = options.over.split(",")
    if unknown := [way for way in ways if way not in ("stdio", "http")]:
        parser.error(f"there is no way {unknown[0]}; known: stdio, http")

    scratch = Path(tempfile.mkdtemp(prefix="haft-clients-"))
    client_rows, inspector_rows = [], []
    for way in ways:
        for name in (name for name in CLIENTS if name in chosen):
            package, prepare = CLIENTS[name]
            provider = Provider([(wants(tool), arguments) for tool, arguments, _ in calls_of(options)])

            def work():
                return on_stage(
                    lambda: Stage(
                        scratch, f"{name}-{way}", way, options.clients, options.server, provider.url, options.behind
                    ),
                    lambda stage: drive(stage, provider, options, prepare(stage)),
                )

            try:
                client_rows.append([name, way, *attempt(options.clients, package, work)])
            finally:
                provider.close()
            print(f"{name}, {way}: {client_rows[-1][-1]}", file=sys.stderr)
        for era in ("legacy", "modern") if "inspector" in chosen else ():

            def work():
                return on_stage(
                    lambda: Stage(
                        scratch, f"inspector-{era}-{way}", way, options.clients, options.server, "", options.behind
                    ),
                    lambda stage: inspect(stage, era),
                )

            inspector_rows.append([era, way, *attempt(options.clients, INSPECTOR, work)])
            print(f"inspector, {era}, {way}: {inspector_rows[-1][-1]}", file=sys.stderr)

    if client_rows:
        print(table(["client", "over", "version", "opens with", "model sees", "calls", "seconds", "result"], client_rows))
    if client_rows and inspector_rows:
        print()
    if inspector_rows:
        print(table(["Inspector, era", "over", "version", "opens with", "tools", "findings", "seconds", "result"], inspector_rows))
    failed = [row for row in client_rows + inspector_rows if row[-1] != "passed"]
    if failed or options.keep:
        print(f"the folders of the runs are kept in {scratch}", file=sys.stderr)
    else:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
