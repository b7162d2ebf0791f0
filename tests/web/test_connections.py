"""Clients that speak the protocol badly, slowly or not to the end."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from bythebook.web.middleware.body import WholeBody
from bythebook.web.server import LONGEST_HEAD_BYTES, MOST_CHUNKS, Patient
from bythebook.web.sockets import listen
from tests.support.clock import Clock
from tests.support.processes import SECONDS, wait_for
from tests.support.serving import Service, ask

NODE = "What is a node?"
CHAT = json.dumps({"message": NODE}).encode()
UNSENT = 20_000_000
"""More bytes than the system keeps for a connection."""
App = Callable[..., Awaitable[None]]


def test_ten_megabytes_are_not_read(service: Service) -> None:
    """The answer comes while most of it is still here."""
    with connected(service.port) as line:
        line.sendall(head("POST", "/chat/run", {"Content-Type": "application/json", "Content-Length": "10000000"}))
        assert read_all(line).startswith(b"HTTP/1.1 413 ")


def test_ten_megabytes_in_pieces_are_not_read(service: Service) -> None:
    piece = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    with connected(service.port) as line:
        line.sendall(head("POST", "/chat/run", {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}))
        line.sendall(piece * 12)
        assert read_all(line).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "5"), ("Content-Length", "6")],
        [("Content-Length", "+5")],
        [("Content-Length", "5, 6")],
        [("Transfer-Encoding", "xchunked")],
        [("Transfer-Encoding", "chunked, identity")],
        [("X-A", "b\x00c")],
        [("X A", "b")],
    ],
)
def test_headers_that_two_servers_could_read_differently_are_refused(service: Service, headers: list[tuple[str, str]]) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    with connected(service.port) as line:
        line.sendall(f"POST /chat/run HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode())
        line.sendall(b"hello")
        answer = read_all(line)
    assert answer.split(b" ", 2)[1] in {b"400", b"501"}, answer[:200]
    assert answer.count(b"HTTP/1.1 ") == 1


def test_a_body_in_too_many_chunks_is_refused_and_one_in_many_is_read() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        size = len((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d bytes" % size})

    async def story() -> None:
        async with listening(WholeBody(app), Patient) as address:
            for count, told in ((MOST_CHUNKS, b"5000 bytes"), (MOST_CHUNKS + 1, b"more than 5,000 chunks. Send larger ones.")):
                reader, writer = await asyncio.open_connection(*address)
                sent = head("POST", "/chat/run", {"Transfer-Encoding": "chunked", "Connection": "close"})
                writer.write(sent + b"1\r\nx\r\n" * count + b"0\r\n\r\n")
                assert told in await reader.read()
                writer.close()

    asyncio.run(story())


def test_a_body_that_turns_into_nonsense_is_refused_once_and_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    """The application refuses it too, for its size; only one of the two can be sent."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the body is refused")

    async def story() -> bytes:
        async with listening(WholeBody(app), Patient) as address:
            reader, writer = await asyncio.open_connection(*address)
            chunks = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
            writer.write(head("POST", "/chat/run", {"Transfer-Encoding": "chunked"}) + chunks * 12 + b"zz\r\n")
            answer = await reader.read()
            writer.close()
            return answer

    answer = asyncio.run(story())
    assert (answer.startswith(b"HTTP/1.1 400 "), answer.count(b"HTTP/1.1 ")) == (True, 1)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_head_without_end_is_not_waited_for(service: Service) -> None:
    """What is sent fits into what the system keeps for a connection: the server may close while it is on its way."""
    with connected(service.port) as line:
        line.sendall(b"GET /books HTTP/1.1\r\nX-Long: " + b"x" * LONGEST_HEAD_BYTES)
        assert read_all(line).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_request_within_a_request_is_not_answered(service: Service, method: str) -> None:
    """Both lengths given: a proxy before this server may go by the other one. It is refused, and what follows is no request."""
    inner = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    outer = {"Content-Type": "application/json", "Content-Length": str(5 + len(inner)), "Transfer-Encoding": "chunked"}
    with connected(service.port) as line:
        line.sendall(head(method, "/chat/run", outer) + b"0\r\n\r\n" + inner)
        answer = read_all(line)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"alive" not in answer


def test_a_client_that_says_nothing_is_let_go() -> None:
    """So is one whose request comes byte by byte."""

    class Impatient(Patient):
        patience_seconds = 0.05

    async def app(scope: dict[str, object], receive: object, send: object) -> None:
        raise AssertionError("nothing was asked")

    async def story() -> None:
        async with listening(app, Impatient) as address:
            for said in (b"", b"GET / HT"):
                reader, writer = await asyncio.open_connection(*address)
                writer.write(said)
                with suppress(ConnectionResetError):  # it closed before this had come
                    assert await reader.read() == b""
                writer.close()
                with suppress(ConnectionResetError):
                    await writer.wait_closed()

    asyncio.run(story())


def test_a_request_that_was_sent_ahead_is_answered_however_long_it_takes() -> None:
    """It is under way as soon as the one before it has been answered, and nothing more has to come."""

    async def app(scope: dict[str, object], receive: object, send: Callable[[dict[str, object]], Awaitable[None]]) -> None:
        if scope["path"] == "/slow":
            loop = asyncio.get_running_loop()
            assert isinstance(loop, Clock)
            loop.set_ahead(2 * Patient.patience_seconds)
            await asyncio.sleep(0.001)  # whatever was to happen until now has happened then
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def story() -> bytes:
        async with listening(app, Patient) as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(head("GET", "/quick", {}) + head("GET", "/slow", {"Connection": "close"}))
            answers = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answers

    with asyncio.Runner(loop_factory=Clock) as runner:
        assert runner.run(story()).count(b"HTTP/1.1 200 ") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count this")
@pytest.mark.parametrize("more", [False, True], ids=["all is said", "more is to be said"])
def test_a_client_that_reads_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch, more: bool) -> None:
    """What waits for it would stay in the memory, and its request would count among those at once."""
    monkeypatch.setattr("bythebook.web.sockets.UNREAD_MILLISECONDS", 50)
    lost = asyncio.Event()

    class Observed(Patient):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            lost.set()

    async def app(scope: dict[str, object], receive: object, send: Callable[[dict[str, object]], Awaitable[None]]) -> None:
        length = b"%d" % (UNSENT + more)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": b"x" * UNSENT, "more_body": more})
        if more:
            await send({"type": "http.response.body", "body": b"!"})

    async def story() -> None:
        async with listening(app, Observed) as address:
            with socket.create_connection(address) as line:
                line.sendall(head("GET", "/", {}))
                async with asyncio.timeout(SECONDS):
                    await lost.wait()

    asyncio.run(story())


@asynccontextmanager
async def listening(app: App, protocol: type[Patient]) -> AsyncIterator[tuple[str, int]]:
    with listen("127.0.0.1", 0) as line:
        server = uvicorn.Server(uvicorn.Config(app, http=protocol, lifespan="off", log_config=None))
        serving = asyncio.create_task(server._serve([line]))
        yield line.getsockname()
        server.should_exit = True
        await serving


def test_a_reader_who_leaves_stops_the_work_and_nothing_is_kept(service: Service, client: httpx.Client) -> None:
    before = client.get("/threads", params={"limit": 100}).json()
    for _ in range(5):
        with connected(service.port) as line:
            line.sendall(chat_head("/chat/stream") + CHAT)
            line.recv(10)
    eventually_idle(service)
    after = client.get("/threads", params={"limit": 100}).json()
    for thread in after["threads"]:  # those that had ended before their reader left are whole
        if thread not in before["threads"]:
            assert thread["turn_count"] == 1
            assert len(client.get(f"/threads/{thread['thread_id']}").json()["messages"]) == 2


def test_a_thread_can_be_gone_on_with_after_its_reader_left(service: Service, client: httpx.Client) -> None:
    thread = ask(client, NODE)["session_id"]
    body = json.dumps({"message": "What is a topic?", "session_id": thread}).encode()
    with connected(service.port) as line:
        line.sendall(chat_head("/chat/stream", len(body)) + body)
        line.recv(10)
    last = ask(client, "What is a topic?", session_id=thread)
    shown = client.get(f"/threads/{thread}").json()
    assert [turn["number"] for turn in shown["turns"]] == list(range(1, last["turn"] + 1))


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=300) as line:
        yield line


def head(method: str, path: str, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n".encode()


def chat_head(path: str, length: int = len(CHAT)) -> bytes:
    return head("POST", path, {"Content-Type": "application/json", "Content-Length": str(length)})


def read_all(line: socket.socket) -> bytes:
    """Until the server closes."""
    parts = []
    try:
        while part := line.recv(65536):
            parts.append(part)
    except ConnectionResetError:  # it closed with more of ours under way
        pass
    return b"".join(parts)


def eventually_idle(service: Service) -> None:
    """When no request is being answered any more."""
    wait_for(lambda: b"bythebook_requests_in_flight 0.0" in service.state.metrics.exposition())


def test_small_answers_are_sent_at_once() -> None:
    """Without TCP_NODELAY an answer of two writes waits 40 ms for the other side."""

    async def story() -> int:
        accepted: asyncio.Future[asyncio.BaseTransport] = asyncio.get_running_loop().create_future()

        class Accepting(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                accepted.set_result(transport)

        with listen("127.0.0.1", 0) as listening:
            server = await asyncio.get_running_loop().create_server(Accepting, sock=listening)
            with socket.create_connection(listening.getsockname()):
                transport = await accepted
                found: int = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                transport.close()
            server.close()
            await server.wait_closed()
        return found

    assert asyncio.run(story())
