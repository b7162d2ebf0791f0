"""A process that talks with the lighthouse in given threads, a turn in each at a time, and prints each turn that was kept.

python -m tests.support.talking_child FOLDER DATABASE NAME TURNS THREAD...
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bythebook.answering.answer import Answered, Refused
from bythebook.answering.answerer import Answerer
from bythebook.drafting.extractive import ExtractiveDrafter
from bythebook.retrieval.query import Scope
from bythebook.retrieval.sentence_reader import SentenceReader
from bythebook.threads.conversation import Asked, Conversation, Opened
from bythebook.threads.store import Threads
from tests.support.library import open_library
from tests.support.lighthouse import Lighthouse, make_embedder

SCOPE = Scope(book_id="light")


async def talk(folder: Path, address: str, name: str, turns: int, thread_ids: list[str]) -> None:
    async with open_library(folder, make_embedder(), url=address) as library:
        reader = SentenceReader(library.embedder)
        answerer = Answerer(
            search=library.search,
            assessor=Lighthouse(library=library).assessor,
            embedder=library.embedder,
            drafter=ExtractiveDrafter(reader),
        )
        conversation = Conversation(answerer=answerer, threads=Threads(library.database), max_turns=10_000)

        async def one(thread_id: str) -> None:
            for number in range(turns):
                opened = None
                async for event in conversation.turn(Asked(text=f"Wick of {name} {number}?", scope=SCOPE, thread_id=thread_id)):
                    if isinstance(event, Opened):
                        opened = event
                    elif isinstance(event, Answered | Refused):
                        assert opened is not None
                        os.write(1, f"{thread_id} {opened.turn}\n".encode())  # at once: a kill leaves a whole line or none

        await asyncio.gather(*map(one, thread_ids))


if __name__ == "__main__":
    where, database, called, count, *ids = sys.argv[1:]
    asyncio.run(talk(Path(where), database, called, int(count), ids))
