"""Checks the parts of an installation: for a person who wants to know what is wrong before asking anyone.

Nothing is changed, except that the database is migrated, as whenever it is opened. Remote servers are connected to, and sent
nothing.
"""

from __future__ import annotations

import asyncio
import platform
import shutil
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from bythebook import __version__
from bythebook.errors import BookError
from bythebook.settings import Settings

PartState = Literal["works", "note", "problem"]
EXTRAS = {
    "dask": "distributed",
    "mcp": "mcp",
    "openai": "agents",
    "postgres": "psycopg",
    "qdrant": "qdrant_client",
    "redis": "redis",
}
"""Each extra, with a module that it brings."""
CONNECT_SECONDS = 5.0
LEAST_FREE_BYTES = 1_000_000_000
GIGABYTE = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One part of the installation: how it is, and what to do where it does not work."""

    part: str
    state: PartState
    told: str
    remedy: str = ""


async def diagnose(settings: Settings) -> list[Diagnosis]:
    """Checks all parts, one after the other. A part that fails does not stop the check of the next."""
    parts: dict[str, Callable[[Settings], Awaitable[Diagnosis]]] = {
        "program": _program,
        "documents": _documents,
        "data folder": _data_folder,
        "disk": _disk,
        "database": _database,
        "index": _index,
        "embedder": _embedder,
        "reader": _reader,
        "model": _model,
        "port": _port,
    }
    return [await _found(part, look, settings) for part, look in parts.items()]


async def _found(part: str, look: Callable[[Settings], Awaitable[Diagnosis]], settings: Settings) -> Diagnosis:
    try:
        return await look(settings)
    except BookError as error:  # its sentence says what to do
        return Diagnosis(part=part, state="problem", told=str(error))


async def _program(_: Settings) -> Diagnosis:
    there = [extra for extra, module in EXTRAS.items() if find_spec(module)]
    told = f"bythebook {__version__}, Python {platform.python_version()}, with {', '.join(there) or 'no extras'}"
    return Diagnosis(part="program", state="works", told=told)


async def _documents(_: Settings) -> Diagnosis:
    """Messages name docs/*.md."""
    if found := find_readme():
        return Diagnosis(part="documents", state="works", told=f"{found} and docs beside it")
    return Diagnosis(part="documents", state="note", told="this installation came without them")


def find_readme() -> Path | None:
    """A wheel installs README.md and docs/ below share/doc; otherwise they are the checkout's."""
    try:
        installed = distribution("bythebook").files or []
    except PackageNotFoundError:
        installed = []
    ours = [Path(str(file.locate())).resolve() for file in installed if file.match("share/doc/bythebook/README.md")]
    return next((file for file in (*ours, Path(__file__).resolve().parents[3] / "README.md") if file.is_file()), None)


async def _data_folder(settings: Settings) -> Diagnosis:
    from bythebook.index.qdrant_edge.index import is_read_only

    folder = settings.data_dir.expanduser()
    if not folder.exists():
        return Diagnosis(part="data folder", state="note", told=f"{folder} is made when a book is ingested")
    if is_read_only(folder):
        remedy = "Books can be asked, not ingested. Make the folder writable, or choose another with BYTHEBOOK_DATA_DIR."
        return Diagnosis(part="data folder", state="note", told=f"{folder} cannot be written", remedy=remedy)
    return Diagnosis(part="data folder", state="works", told=str(folder))


async def _disk(settings: Settings) -> Diagnosis:
    folder = settings.data_dir.expanduser()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    told = f"{free / GIGABYTE:.1f} GB free"
    if free < LEAST_FREE_BYTES:
        return Diagnosis(part="disk", state="problem", told=told, remedy="Free some space, or choose another BYTHEBOOK_DATA_DIR.")
    return Diagnosis(part="disk", state="works", told=told)


async def _database(settings: Settings) -> Diagnosis:
    from bythebook.ingestion.records import Records
    from bythebook.wiring.author import open_database

    if settings.database_url is None and not (settings.data_dir.expanduser() / "bythebook.db").exists():
        return Diagnosis(part="database", state="note", told="there is none yet; it is made when a book is ingested")
    async with open_database(settings) as database:
        books = await Records(database).books()
        names = ", ".join(state.book_id for state in books)
        remedy = "" if books else "Ingest a book: bythebook ingest FOLDER. Or try the sample book: bythebook demo."
        told = f"{database.where}, {len(books):,} {'book' if len(books) == 1 else 'books'}{f': {names}' if names else ''}"
        return Diagnosis(part="database", state="works" if books else "note", told=told, remedy=remedy)


async def _index(settings: Settings) -> Diagnosis:
    from bythebook.operations.author import list_outdated
    from bythebook.operations.runner import InProcess, open_runner
    from bythebook.wiring.author import open_resources

    if not settings.qdrant_url and not (settings.data_dir.expanduser() / "index").exists():
        return Diagnosis(part="index", state="note", told="there is none yet; it is made when a book is ingested")
    async with open_runner(settings, open_resources) as runner:
        outdated = await runner.run(list_outdated)
        where = settings.qdrant_url or ("embedded" if isinstance(runner, InProcess) else "embedded, held by another command")
    if outdated:
        names = ", ".join(book.book_id for book in outdated)
        usable = all(book.usable for book in outdated)
        return Diagnosis(
            part="index",
            state="note" if usable else "problem",
            told=f"{where}; {'read by an earlier version' if usable else 'outdated'}: {names}",
            remedy="Run: bythebook upgrade",
        )
    return Diagnosis(part="index", state="works", told=where)


async def _embedder(settings: Settings) -> Diagnosis:
    """The embedded one embeds a word; a remote one is only connected to, because an embedding may cost money."""
    from bythebook.wiring.reader import open_embedder

    embedder = open_embedder(settings)
    try:
        if settings.chosen_embedder == "granite":
            await embedder.embed_question("book")
            return Diagnosis(part="embedder", state="works", told=f"{embedder.name}, on this machine")
        url = (
            settings.embedder_url
            or {"cohere": "https://api.cohere.com", "openai": "https://api.openai.com"}[settings.chosen_embedder]
        )
        return await _reached("embedder", url, embedder.name, "Check BYTHEBOOK_EMBEDDER_URL and the network.")
    finally:
        await embedder.close()


async def _reader(_: Settings) -> Diagnosis:
    from bythebook.retrieval.answer_reader import AnswerReader

    reader = AnswerReader()
    try:
        await reader.load()
    finally:
        await reader.close()
    return Diagnosis(part="reader", state="works", told="its weights are there and whole; it reads English")


async def _model(settings: Settings) -> Diagnosis:
    from bythebook.wiring.reader import check_model

    if not settings.openai_api_key and not settings.openai_base_url:
        return Diagnosis(
            part="model", state="works", told="none is set, and none is needed: answers are the book's own sentences"
        )
    check_model(settings)
    if find_spec(EXTRAS["openai"]) is None:
        remedy = "Run: pip install 'bythebook[openai]'. Or unset OPENAI_API_KEY and OPENAI_BASE_URL."
        return Diagnosis(part="model", state="problem", told="the OpenAI Agents SDK is not installed", remedy=remedy)
    url = settings.openai_base_url or "https://api.openai.com"
    return await _reached(
        "model", url, settings.openai_model, "Start it, or check OPENAI_BASE_URL. To try it: bythebook model check"
    )


async def _reached(part: str, url: str, name: str, remedy: str) -> Diagnosis:
    place = urlsplit(url)
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(place.hostname, port)
        writer.close()
    except (OSError, TimeoutError):
        return Diagnosis(
            part=part, state="problem", told=f"{name}: {place.hostname} does not answer on port {port}", remedy=remedy
        )
    return Diagnosis(part=part, state="works", told=f"{name} at {place.hostname}")


async def _port(settings: Settings) -> Diagnosis:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", settings.port))
        except OSError as error:
            remedy = "If that is not a server of yours: bythebook serve --port 0"
            return Diagnosis(part="port", state="note", told=f"{settings.port} is taken ({error.strerror})", remedy=remedy)
    return Diagnosis(part="port", state="works", told=f"{settings.port} is free for bythebook serve")
