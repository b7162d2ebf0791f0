"""Clients in a process of their own: `python -m bench.callers PORT COUNT AT_ONCE`.

What to ask comes as lines of JSON, a path and a body; what was waited for each answer goes out as one line. Written on bare
sockets, because a client library takes more time than the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """`seconds` each answer took, and how long all of them took together."""

    seconds: tuple[float, ...]
    total_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A GET where there is no body."""

    path: str
    body: dict[str, Any] | None = None


def call(port: int, requests: Sequence[Request], *, count: int, at_once: int) -> Called:
    """Ask `count` times, taking the requests in turn."""
    command = [sys.executable, "-m", "bench.callers", str(port), str(count), str(at_once)]
    lines = "\n".join(json.dumps([request.path, request.body]) for request in requests)
    root = Path(__file__).parents[1]
    ended = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, cwd=root)
    told = json.loads(ended.stdout)
    return Called(seconds=tuple(told["seconds"]), total_seconds=told["total_seconds"])


async def _call(port: int, requests: list[bytes], count: int, at_once: int) -> dict[str, Any]:
    numbers = iter(range(count))
    seconds: list[float] = []

    async def one_caller() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            began = time.perf_counter()
            writer.write(requests[number % len(requests)])
            await _answer(reader)
            seconds.append(time.perf_counter() - began)
        writer.close()
        await writer.wait_closed()

    began = time.perf_counter()
    await asyncio.gather(*(one_caller() for _ in range(at_once)))
    return {"seconds": seconds, "total_seconds": time.perf_counter() - began}


def _wire(path: str, body: dict[str, Any] | None) -> bytes:
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    written = json.dumps(body).encode()
    headers = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(written)}"
    return f"POST {path} HTTP/1.1\r\n{headers}\r\n\r\n".encode() + written


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise SystemExit(f"the server answered {head.decode()}")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in head.splitlines()[1:])}
    if b"content-length" in headers:
        return await reader.readexactly(int(headers[b"content-length"]))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readline()
    if b"event: done" not in parts[-1]:
        raise SystemExit("a stream did not end as it should")
    return b"".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.callers")
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("at_once", type=int)
    given = parser.parse_args()
    asked = [_wire(*json.loads(line)) for line in sys.stdin.read().splitlines()]
    print(json.dumps(asyncio.run(_call(given.port, asked, given.count, given.at_once))))
