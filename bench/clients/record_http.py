"""Stands between an MCP client and a server over HTTP and writes down each message.

Passes requests and responses on as they come, streams too, and logs in the form of
record.py: each line is one JSON object with `from` ("client", "server" or "end") and
`line`, the message. What isn't a message stands as "end": a refusal, for example.
"""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# Headers of one connection, and those that the copy says anew.
OWN = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "te", "upgrade"}


class Recorder:
    """A server in front of another one. `url` is where clients connect."""

    def __init__(self, log, upstream):
        self.log = open(log, "a")
        self.lock = threading.Lock()
        self.upstream = urlsplit(upstream)
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                recorder.pass_on(self)

            do_GET = do_DELETE = do_OPTIONS = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{self.upstream.path}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def note(self, source, line):
        with self.lock:
            if not self.log.closed:
                self.log.write(json.dumps({"from": source, "line": line}) + "\n")
                self.log.flush()

    def pass_on(self, request):
        # One request a connection: the end of a stream is then the end of the connection.
        request.close_connection = True
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        if body:
            self.note("client", body.decode(errors="replace"))
        link = http.client.HTTPConnection(self.upstream.hostname, self.upstream.port)
        try:
            headers = {name: value for name, value in request.headers.items() if name.lower() not in OWN}
            link.request(request.command, request.path, body or None, headers)
            self.answer(request, link.getresponse())
        except OSError as error:
            self.note("end", f"{type(error).__name__}: {error}")
        finally:
            link.close()

    def answer(self, request, response):
        request.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in OWN:
                request.send_header(name, value)
        request.send_header("Connection", "close")
        if response.length == 0:
            request.send_header("Content-Length", "0")
        request.end_headers()
        kind = response.getheader("Content-Type") or ""
        if kind.startswith("text/event-stream"):
            for line in iter(response.readline, b""):
                data = line.decode(errors="replace").rstrip("\r\n")
                if data.startswith("data:") and data[5:].strip():
                    self.note("server", data[5:].strip())
                request.wfile.write(line)
                request.wfile.flush()
            return
        body = response.read()
        if body:
            self.note("server" if kind.startswith("application/json") else "end", body.decode(errors="replace"))
        request.wfile.write(body)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            self.log.close()
