"""The lighthouse with its threads kept: a turn asked in one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import select

from bythebook.answering.answerer import Answerer
from bythebook.database.tables import threads as table
from bythebook.drafting.draft import Drafter
from bythebook.drafting.extractive import ExtractiveDrafter
from bythebook.retrieval.query import Scope
from bythebook.retrieval.sentence_reader import SentenceReader
from bythebook.threads.conversation import Asked, Conversation, ThreadEvent
from bythebook.threads.store import Threads
from tests.support.library import open_library
from tests.support.lighthouse import Lighthouse, copy_published, make_embedder

SCOPE = Scope(book_id="light")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A lighthouse whose threads are kept."""

    lighthouse: Lighthouse
    threads: Threads

    @property
    def drafter(self) -> Drafter:
        return ExtractiveDrafter(SentenceReader(self.lighthouse.library.embedder))

    def conversation(self, drafter: Drafter | None = None, **given: Any) -> Conversation:
        library = self.lighthouse.library
        answerer = Answerer(
            search=library.search,
            assessor=self.lighthouse.assessor,
            embedder=library.embedder,
            drafter=drafter or self.drafter,
        )
        return Conversation(answerer=answerer, threads=self.threads, **given)

    async def ask(self, text: str, thread_id: str | None = None, **given: Any) -> list[ThreadEvent]:
        return [event async for event in self.conversation().turn(asked(text, thread_id, **given))]

    async def begun(self, *questions: str) -> str:
        """A thread in which these were asked."""
        thread_id = str(uuid4())
        for question in questions:
            await self.ask(question, thread_id)
        return thread_id

    async def rows(self) -> list[Any]:
        return list(await self.lighthouse.library.database.run(lambda connection: connection.execute(select(table)).all()))

    async def lease_ends(self) -> datetime | None:
        return (await self.rows())[0].turn_expires_at  # type: ignore[no-any-return]


def asked(text: str, thread_id: str | None = None, **given: Any) -> Asked:
    return Asked(**{"text": text, "scope": SCOPE, "thread_id": thread_id, **given})


def tell_in_room(address: str | None, folder: Path, story: Callable[[Room], Awaitable[None]]) -> None:
    """`address` of an empty database; None for SQLite in the folder."""
    copy_published(folder)

    async def whole() -> None:
        async with open_library(folder / "data", make_embedder(), url=address) as library:
            await story(Room(lighthouse=Lighthouse(library=library), threads=Threads(library.database)))

    asyncio.run(whole())
