"""A model provider that is no model: it asks for tool calls, one by one, then repeats what they returned.

It speaks, on the loopback interface, the four wire formats that the clients use:
OpenAI Chat Completions, OpenAI Responses, Anthropic Messages and Gemini. A request
that holds as many results as calls were made so far is answered with the next call, if
its tool is offered; one that holds a result of each with `ECHO:` and the results; any
other (a client asking for a title, say) with a harmless sentence.
"""

import itertools
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ECHO = "ECHO:"
ECHO_MAX_CHARS = 2000
NUMBERS = itertools.count(1)


def flatten(value):
    """The text inside whatever shape a client sends a tool's result in."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(flatten(part) for part in value)
    if isinstance(value, dict):
        for key in ("text", "content", "output"):
            if key in value:
                return flatten(value[key])
    return json.dumps(value)


class Turn:
    """What the made-up model says: a call of a tool, or text."""

    def __init__(self, tool=None, arguments=None, text=None):
        self.number = next(NUMBERS)
        self.tool = tool
        self.arguments = arguments
        self.text = text


def server_sent(events, named, closing=""):
    """A stream of server-sent events as one body."""
    lines = []
    for event in events:
        if named:
            lines.append(f"event: {event['type']}")
        lines += [f"data: {json.dumps(event)}", ""]
    return "\n".join(lines) + "\n" + closing


class ChatCompletions:
    """POST …/chat/completions"""

    @staticmethod
    def takes(path):
        return path.endswith("/chat/completions")

    @staticmethod
    def offered(request):
        return [tool["function"]["name"] for tool in request.get("tools") or [] if "function" in tool]

    @staticmethod
    def results(request):
        return [flatten(m.get("content")) for m in request.get("messages") or [] if m.get("role") == "tool"]

    @staticmethod
    def answer(request, turn, _path):
        head = {"id": f"chat-{turn.number}", "created": int(time.time()), "model": request.get("model")}
        if turn.tool:
            function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
            call = {"id": f"call-{turn.number}", "type": "function", "function": function}
            message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        else:
            message, reason = {"role": "assistant", "content": turn.text}, "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        if turn.tool:
            message = {**message, "tool_calls": [{"index": 0, **message["tool_calls"][0]}]}
        head["object"] = "chat.completion.chunk"
        chunks = [
            {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        ]
        return server_sent(chunks, named=False, closing="data: [DONE]\n\n")


class Responses:
    """POST …/responses"""

    SEPARATOR = "::"

    @staticmethod
    def takes(path):
        return path.endswith("/responses")

    @classmethod
    def offered(cls, request):
        names = []
        for tool in request.get("tools") or []:
            if tool.get("type") == "namespace":
                names += [tool["name"] + cls.SEPARATOR + inner["name"] for inner in tool.get("tools") or []]
            elif "name" in tool:
                names.append(tool["name"])
        return names

    @staticmethod
    def results(request):
        items = request.get("input")
        if not isinstance(items, list):
            return []
        return [flatten(item.get("output")) for item in items if item.get("type") == "function_call_output"]

    @classmethod
    def answer(cls, request, turn, _path):
        if turn.tool:
            space, _, name = turn.tool.rpartition(cls.SEPARATOR)
            item = {
                "type": "function_call",
                "id": f"fc-{turn.number}",
                "call_id": f"call-{turn.number}",
                "name": name,
                "arguments": json.dumps(turn.arguments),
                "status": "completed",
            }
            if space:
                item["namespace"] = space
        else:
            item = {
                "type": "message",
                "id": f"msg-{turn.number}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": turn.text, "annotations": []}],
            }
        usage = {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        }
        whole = {
            "id": f"resp-{turn.number}",
            "object": "response",
            "created_at": int(time.time()),
            "model": request.get("model"),
            "status": "completed",
            "output": [item],
            "usage": usage,
        }
        if not request.get("stream"):
            return whole
        begun = {**whole, "status": "in_progress", "output": []}
        events = [
            {"type": "response.created", "response": begun},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
        return server_sent(events, named=True)


class Messages:
    """POST …/messages"""

    @staticmethod
    def takes(path):
        return path.endswith("/messages")

    @staticmethod
    def offered(request):
        return [tool.get("name", "") for tool in request.get("tools") or []]

    @staticmethod
    def results(request):
        found = []
        for message in request.get("messages") or []:
            if isinstance(message.get("content"), list):
                blocks = [block for block in message["content"] if block.get("type") == "tool_result"]
                found += [flatten(block.get("content")) for block in blocks]
        return found

    @staticmethod
    def answer(request, turn, _path):
        if turn.tool:
            block = {"type": "tool_use", "id": f"toolu_{turn.number}", "name": turn.tool, "input": turn.arguments}
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
            reason = "tool_use"
        else:
            block = {"type": "text", "text": turn.text}
            empty = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": turn.text}
            reason = "end_turn"
        whole = {
            "id": f"msg_{turn.number}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model"),
            "content": [block],
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if not request.get("stream"):
            return whole
        events = [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": {"output_tokens": 1},
            },
            {"type": "message_stop"},
        ]
        return server_sent(events, named=True)


class Gemini:
    """POST …:generateContent and …:streamGenerateContent"""

    @staticmethod
    def takes(path):
        return path.endswith((":generateContent", ":streamGenerateContent"))

    @staticmethod
    def offered(request):
        groups = [tool.get("functionDeclarations") or [] for tool in request.get("tools") or []]
        return [declared["name"] for group in groups for declared in group]

    @staticmethod
    def results(request):
        parts = [part for content in request.get("contents") or [] for part in content.get("parts") or []]
        return [flatten(part["functionResponse"].get("response")) for part in parts if "functionResponse" in part]

    @staticmethod
    def answer(_request, turn, path):
        part = {"functionCall": {"name": turn.tool, "args": turn.arguments}} if turn.tool else {"text": turn.text}
        whole = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "mock",
        }
        return server_sent([whole], named=False) if path.endswith(":streamGenerateContent") else whole


DIALECTS = [ChatCompletions, Responses, Messages, Gemini]


class Provider:
    """The server, and a record of what was asked of it.

    `calls` are the calls to make, in their order: each a function that says whether an offered tool is the one to
    call, and the arguments.
    """

    def __init__(self, calls):
        self.calls = calls
        self.asked = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def reply(self, path, request):
        """The body for a POST, as JSON or as an event stream, or None for a path that is not known."""
        if path.endswith("/messages/count_tokens"):
            return {"input_tokens": 1}
        dialect = next((known for known in DIALECTS if known.takes(path)), None)
        if dialect is None:
            return None
        offered, results = dialect.offered(request), dialect.results(request)
        tool = arguments = None
        if len(results) < len(self.calls):
            wants, arguments = self.calls[len(results)]
            tool = next((name for name in offered if wants(name)), None)
        self.asked.append({"path": path, "offered": offered, "tool": tool, "results": results})
        if tool:
            turn = Turn(tool=tool, arguments=arguments)
        elif results:
            shown = " ".join(result[:ECHO_MAX_CHARS] for result in results)
            turn = Turn(text=f"{ECHO} {shown}")
        else:
            turn = Turn(text="there is nothing to do here")
        return dialect.answer(request, turn, path)

    def handler(provider):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def respond(self, status, body, kind):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def do_HEAD(self):
                self.respond(200, b"", "text/plain")

            def do_GET(self):
                model = {"id": "mock", "object": "model", "type": "model", "display_name": "mock"}
                body = {"object": "list", "data": [model], "models": [], "has_more": False}
                self.respond(200, json.dumps(body).encode(), "application/json")

            def do_POST(self):
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    request = json.loads(raw or b"{}")
                except ValueError:
                    request = {}
                answer = provider.reply(self.path.partition("?")[0], request)
                if isinstance(answer, str):
                    self.respond(200, answer.encode(), "text/event-stream")
                elif answer is None:
                    self.respond(404, b'{"error": "unknown path"}', "application/json")
                else:
                    self.respond(200, json.dumps(answer).encode(), "application/json")

        return Handler
