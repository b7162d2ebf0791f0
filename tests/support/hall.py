"""What several workers share: a Qdrant server, a database, and a library over both. And workers that run in the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bythebook.database.engine import Database, database_url
from bythebook.embedding.embedder import Embedder
from bythebook.index.qdrant_server.index import ServerIndex
from bythebook.ingestion.records import Records
from bythebook.ingestion.request import Mode
from bythebook.jobs.model import Folder, Job, Order
from bythebook.jobs.progress import JobEvent
from bythebook.jobs.runner import JobRunner, new_owner, this_host
from bythebook.jobs.sources import Sources
from bythebook.jobs.store import Jobs
from bythebook.threads.stale_answers import StaleAnswers
from tests.support.fakes.qdrant_rest import QdrantServer, qdrant_server
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import Library, heard
from tests.support.lighthouse import Lighthouse
from tests.support.small_book import lesson, write


async def at_once(_: float) -> None:
    """Sleeps not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hall:
    """`url`: of the database; none is SQLite in `folder`."""

    folder: Path
    server: QdrantServer
    url: str | None = None

    @asynccontextmanager
    async def open(self, embedder: Embedder | None = None) -> AsyncIterator[Library]:
        async with AsyncExitStack() as stack:
            database = await Database.open(database_url(self.url, self.folder))
            stack.push_async_callback(database.close)
            index = await ServerIndex.open(self.server.url, sleep=at_once)
            stack.push_async_callback(index.close)
            yield Library(index=index, database=database, records=Records(database), embedder=embedder or SmallEmbedder())


@contextmanager
def open_hall(folder: Path, url: str | None = None) -> Iterator[Hall]:
    (folder / "qdrant").mkdir()
    with qdrant_server(folder / "qdrant") as server:
        yield Hall(folder=folder, server=server, url=url)


def runner_of(library: Library, *, attended: bool = False, sleep: Callable[[float], Awaitable[None]] = at_once) -> JobRunner:
    return JobRunner(
        jobs=Jobs(library.database),
        publisher=Lighthouse(library=library).publisher,
        sources=Sources(folder=Path("/nonexistent")),
        stale_answers=StaleAnswers(library.database),
        attended=attended,
        sleep=sleep,
    )


def order_of(book: Path, *, book_id: str = "small", mode: Mode = "incremental") -> Order:
    return Order(book_id=book_id, source=Folder(path=book), mode=mode)


async def begin(library: Library, order: Order) -> Job:
    """Queued, and taken by a worker of this process."""
    jobs = Jobs(library.database)
    await jobs.queue(order)
    job = await jobs.claim(new_owner(), this_host())
    assert job is not None
    return job


async def run_whole(library: Library, order: Order) -> list[JobEvent]:
    job = await begin(library, order)
    return await heard(lambda tell: runner_of(library).run(job, tell=tell))


def write_listings(root: Path, *, book_id: str = "small", lessons: int = 4) -> Path:
    """A book of nothing but code: its text makes no questions, so that calibrating it, which takes long, comes to nothing."""
    write(root, "book.toml", f'book_id = "{book_id}"\ntitle = "Listings"\n')
    for number in range(lessons):
        code = "\n".join(f"turn_{number}_{line} = joint[{line}] + {number}" for line in range(60))
        write(root, f"module-1-code/chapter-1-turns/{number + 1:02}-listing.md", f"```python\n{code}\n```\n")
    return root


def many_lessons(book: Path) -> Path:
    """More than are embedded in one go."""
    for number in range(20):
        write(book, f"more/{number:02}.md", lesson(f"More {number}", f"There is more to say, number {number}."))
    return book
