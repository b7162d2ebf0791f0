"""Model servers that people run on their own machine, looked for on their usual ports; suggested, never used unasked."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

LOCAL_SERVERS = {"Ollama": 11434, "llama.cpp": 8080, "LM Studio": 1234, "vLLM": 8000}
HOST = "127.0.0.1"
SECONDS = 1.0
LARGEST_REPLY = 1_000_000
MOST_MODELS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A server on the loopback that lists its models as OpenAI's does."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(ports: dict[str, int] | None = None) -> list[LocalServer]:
    """Those that answer within a second, all asked at once."""
    asked = (_server(name, port) for name, port in (LOCAL_SERVERS if ports is None else ports).items())
    return [one for one in await asyncio.gather(*asked) if one]


async def _server(name: str, port: int) -> LocalServer | None:
    try:
        async with asyncio.timeout(SECONDS):
            reply = await _get(port, "/v1/models")
    except (OSError, TimeoutError):
        return None
    models = _models(reply)
    return LocalServer(name=name, base_url=f"http://{HOST}:{port}/v1", models=models) if models else None


async def _get(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {HOST}:{port}\r\nAccept: application/json\r\n\r\n".encode())
        await writer.drain()
        return await reader.read(LARGEST_REPLY)
    finally:
        writer.close()


def _models(reply: bytes) -> tuple[str, ...]:
    """The names in a list of models; nothing where the reply is anything else."""
    head, _, body = reply.partition(b"\r\n\r\n")
    if b" 200 " not in head[:64]:
        return ()
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = given.get("data") if isinstance(given, dict) else None
    names = [one.get("id") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return tuple(name for name in names if isinstance(name, str))[:MOST_MODELS]
