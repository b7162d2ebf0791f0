"""A process that holds the index and answers other commands on the loopback, where anybody on this machine can connect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bythebook.operations.host import hosting
from bythebook.operations.runner import ServerAddress, read_address
from bythebook.settings import read_settings
from bythebook.wiring.author import open_resources


@asynccontextmanager
async def hosted(folder: Path) -> AsyncIterator[ServerAddress]:
    async with open_resources(read_settings(data_dir=folder)) as resources, hosting(resources):
        address = read_address(folder / "index")
        assert address is not None
        yield address


async def said(address: ServerAddress, request: str, body: bytes = b"") -> bytes:
    """All that is answered to a request whose end never comes."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        writer.write(f"{request}\r\nContent-Length: 60000000\r\n\r\n".encode() + body)
        return await reader.read()
    finally:
        writer.close()


def test_who_has_no_token_is_turned_away_before_anything_is_read(folder: Path) -> None:
    """It would be kept in memory, as often as somebody connects."""

    async def story() -> None:
        async with hosted(folder) as address:
            for token in ("", "\r\nAuthorization: Bearer a guess"):
                answer = await said(address, f"POST /local/operations/list_books HTTP/1.1{token}", b"{")
                assert answer.startswith(b"HTTP/1.1 404 ")
                assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"detail": "There is nothing at this address."}

    asyncio.run(story())
