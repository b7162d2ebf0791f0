"""OpenAI's chat completions on the loopback, as strict as the real ones, answering what a test has scripted.

It checks method, path, key, every field of the body, and that tool calls and their outputs belong together, and refuses
in the words and JSON of the real one. What a model or a network does wrong is put into `turns`.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

PATH = "/v1/chat/completions"
FIELDS = {"model", "messages", "tools", "tool_choice", "temperature", "max_tokens", "stream", "stream_options", "store"}
STRUCTURED = "response_format"
ROLES = {"system", "user", "assistant", "tool"}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Says:
    """A message in pieces, calls of tools, or both. `finish` None: the stream ends without a word about it."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str | None = "stop"
    piece: int = 7
    whatever_was_asked: bool = False
    """Calls tools even where `tool_choice` forbids it, as many servers do."""
    reset: bool = False
    """The connection breaks in the middle of the body."""
    stalls: bool = False
    """Nothing more is sent after the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fails:
    status: int
    message: str = "The server had an error while processing your request."
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """Nothing is sent until the server closes."""


Turn = Says | Fails | Silent
Script = Turn | Callable[[Json], Turn]


class RequestError(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class ChatServer:
    """`turns` are played one a request. `bodies` are the requests that were in order. One that is not `listening` holds its port,
    so that no other answers there."""

    def __init__(
        self,
        *,
        key: str = "sk-test",
        model: str = "gpt-4o-mini",
        listening: bool = True,
        structured: bool = True,
        tools: bool = True,
        streams: bool = True,
    ) -> None:
        self.key = key
        self.model = model
        self.models = {model}
        self.structured = structured
        self.tools = tools
        self.streams = streams
        self.turns: deque[Script] = deque()
        self.bodies: list[Json] = []
        self.refused: list[str] = []
        self.closing = threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self), bind_and_activate=False)
        self.http.server_bind()
        if listening:
            self.http.server_activate()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/v1"

    def respond(self, method: str, path: str, headers: Message, content: bytes) -> tuple[Json, Turn]:
        try:
            body = self._checked(method, path, headers, content)
            turn = self.turns.popleft()
            turn = turn(body) if callable(turn) else turn
            if isinstance(turn, Says) and turn.calls and body.get("tool_choice") == "none" and not turn.whatever_was_asked:
                raise RequestError(500, "The script calls a tool where tool_choice is none")
            return body, turn
        except RequestError as refused:
            self.refused.append(refused.message)
            return {}, Fails(status=refused.status, message=refused.message, code=refused.code)

    def _checked(self, method: str, path: str, headers: Message, content: bytes) -> Json:
        if (method, path) != ("POST", PATH):
            raise RequestError(404, f"Invalid URL ({method} {path})")
        sent = headers.get("Authorization")
        if sent != (f"Bearer {self.key}" if self.key else None):
            raise RequestError(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")
        if headers.get("Content-Type") != "application/json":
            raise RequestError(400, "Content-Type must be application/json")
        body: Json = json.loads(content)
        if unknown := body.keys() - FIELDS - ({STRUCTURED} if self.structured else set()):
            raise RequestError(400, f"Unrecognized request argument supplied: {', '.join(sorted(unknown))}")
        if body.get("model") not in {self.model, *self.models}:
            raise RequestError(404, f"The model `{body.get('model')}` does not exist or you do not have access to it.")
        if not self.tools and ("tools" in body or any(message.get("role") == "tool" for message in body["messages"])):
            raise RequestError(400, "This model does not support tools")
        check_settings(body)
        check_response_format(body.get(STRUCTURED))
        check_tools(body)
        check_messages(body.get("messages"))
        self.bodies.append(body)
        return body


def check_settings(body: Json) -> None:
    temperature = body.get("temperature", 1)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not 0 <= temperature <= 2:
        raise RequestError(400, f"Invalid 'temperature': {temperature}")
    limit = body.get("max_tokens")
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise RequestError(400, f"Invalid 'max_tokens': {limit}")
    options = body.get("stream_options")
    if options is not None and not body.get("stream"):
        raise RequestError(400, "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if options is not None and (options.keys() - {"include_usage"} or not isinstance(options.get("include_usage"), bool)):
        raise RequestError(400, f"Invalid 'stream_options': {options}")


def check_response_format(given: Any) -> None:
    """Strict schemas name every property as required and allow no other."""
    if given is None:
        return
    form = given.get("json_schema", {})
    if given.get("type") != "json_schema" or not NAME.fullmatch(form.get("name", "")) or form.get("strict") is not True:
        raise RequestError(400, f"Invalid 'response_format': {given}")
    waiting = [form.get("schema", {})]
    while waiting:
        schema = waiting.pop()
        if schema.get("type") == "object":
            if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != schema["properties"].keys():
                raise RequestError(400, f"Invalid schema for response_format '{form['name']}'")
            waiting += schema["properties"].values()
        if schema.get("type") == "array":
            waiting.append(schema["items"])


def check_tools(body: Json) -> None:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body:
            raise RequestError(400, "'tool_choice' is only allowed when 'tools' are specified.")
        return
    if not tools or body.get("tool_choice", "auto") not in ("none", "auto", "required"):
        raise RequestError(400, "Invalid 'tools' or 'tool_choice'")
    for tool in tools:
        function = tool.get("function", {})
        schema = function.get("parameters", {})
        if tool.get("type") != "function" or not NAME.fullmatch(function.get("name", "")):
            raise RequestError(400, f"Invalid 'tools': {tool}")
        if schema.get("type") != "object" or set(schema.get("required", ())) - schema.get("properties", {}).keys():
            raise RequestError(400, f"Invalid schema for function '{function['name']}'")
        if function.get("strict") and set(schema["required"]) != schema["properties"].keys():
            raise RequestError(400, f"Invalid schema for function '{function['name']}': 'required' must name every property")


def check_messages(messages: Any) -> None:  # noqa: C901  one rule of the API a branch
    """Every call is answered right after the message that made it, and nothing is answered that was not called."""
    if not isinstance(messages, list) or not messages or messages[0].get("role") != "system":
        raise RequestError(400, "'messages' must be a list that begins with a system message")
    awaited: list[str] = []
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            raise RequestError(400, f"Invalid role: {role}")
        if role == "tool":
            if message.get("tool_call_id") not in awaited:
                raise RequestError(400, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
            awaited.remove(message["tool_call_id"])
        elif awaited:
            raise RequestError(400, "An assistant message with 'tool_calls' must be followed by tool messages for each id.")
        calls = message.get("tool_calls", [])
        if not isinstance(content, str) and not calls:
            raise RequestError(400, f"Invalid value for 'content' of a message with role '{role}'")
        for call in calls:
            if role != "assistant" or call.get("type") != "function" or not isinstance(call["function"]["arguments"], str):
                raise RequestError(400, "Invalid 'tool_calls'")
            awaited.append(call["id"])
    if awaited:
        raise RequestError(400, f"The following tool_call_ids did not have response messages: {', '.join(awaited)}")


def chunks(body: Json, turn: Says, serial: int) -> Iterator[Json]:
    """As the real one streams: the role, the pieces, the calls, the end, and the usage when asked for it."""
    yield _chunk(body, {"role": "assistant", "content": ""})
    for start in range(0, len(turn.text), turn.piece):
        yield _chunk(body, {"content": turn.text[start : start + turn.piece]})
    for index, (name, arguments) in enumerate(turn.calls):
        call = {"index": index, "id": f"call_{serial}_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield _chunk(body, {"tool_calls": [call]})
        for start in range(0, len(arguments), turn.piece):
            piece = {"index": index, "function": {"arguments": arguments[start : start + turn.piece]}}
            yield _chunk(body, {"tool_calls": [piece]})
    if turn.finish is None:
        return
    yield _chunk(body, {}, "tool_calls" if turn.calls and turn.finish == "stop" else turn.finish)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**_chunk(body, {}), "choices": [], "usage": usage(body, turn)}


def usage(body: Json, turn: Says) -> Json:
    prompt, completion = len(json.dumps(body["messages"])) // 4, max(1, len(turn.text) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def completion(body: Json, turn: Says, serial: int) -> Json:
    """The same without streaming."""
    calls = [
        {"id": f"call_{serial}_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(turn.calls)
    ]
    message = {"role": "assistant", "content": turn.text or None} | ({"tool_calls": calls} if calls else {})
    finish = "tool_calls" if calls else turn.finish
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage(body, turn),
    }


def _chunk(body: Json, delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": [choice]}


def _handler_for(server: ChatServer) -> type[BaseHTTPRequestHandler]:  # noqa: C901  the sum of its methods
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Tests print nothing."""

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body, turn = server.respond(self.command, self.path, self.headers, content)
            match turn:
                case Silent():
                    server.closing.wait()
                    self.close_connection = True
                case Fails():
                    error = {"message": turn.message, "type": "invalid_request_error", "param": None, "code": turn.code}
                    self._send_json(turn.status, {"error": error}, turn.headers)
                case Says() if body.get("stream") and server.streams:
                    self._stream(body, turn)
                case Says():
                    self._send_json(200, completion(body, turn, len(server.bodies)), {})

        def _send_json(self, status: int, body: Json, headers: Mapping[str, str]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _stream(self, body: Json, turn: Says) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for chunk in chunks(body, turn, len(server.bodies)):
                self._send_chunk(f"data: {json.dumps(chunk)}\n\n")
            if turn.stalls:
                server.closing.wait()
            if turn.reset or turn.stalls:
                self.close_connection = True
                return
            if turn.finish is not None:
                self._send_chunk("data: [DONE]\n\n")
            self._send_chunk("")

        def _send_chunk(self, text: str) -> None:
            content = text.encode()
            self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")

    return Handler


@contextmanager
def running(server: ChatServer) -> Iterator[ChatServer]:
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.http.shutdown()
        server.http.server_close()
        thread.join()
