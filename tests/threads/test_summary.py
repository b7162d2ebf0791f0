"""What a thread is about, in a line: by its sections, and by a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.answering.answer import Answered
from bythebook.drafting.completion import Line, WriteLine
from bythebook.drafting.draft import DraftEvent, DraftRequest, Exchange
from bythebook.drafting.openai_agents.drafter import AgentDrafter
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.retry import Patience
from bythebook.threads.summary import summarise, sums_up
from tests.support.fakes.openai_server import ChatServer, Fails, Says, Script, running
from tests.support.lighthouse import FOREIGN, TRIMMED, WICK, Scripted
from tests.support.room import Room, asked, tell_in_room


def exchange(*sources: str, question: str = "Why?") -> Exchange:
    return Exchange(question=question, answer="Because.", sources=sources)


def test_nothing_before_five_exchanges() -> None:
    told = [exchange("Wicks › Trimming")] * 4
    assert summarise(told) is None
    assert summarise([*told, exchange()]) == "Wicks (Trimming)"


def test_the_most_cited_come_first() -> None:
    told = [
        exchange("Lenses › Cleaning"),
        exchange("Wicks › Trimming", "Wicks › Trimming", "Lenses › Cleaning"),
        exchange("Wicks › Filling"),
        exchange("Wicks › Trimming", "Fog"),
        exchange("Wicks › Oil", "Wicks › Wicks"),
    ]
    assert summarise(told) == "Wicks (Trimming, Filling); Lenses (Cleaning); Fog"


def test_a_thread_the_book_did_not_answer() -> None:
    told = [exchange(question=f"What is\n{thing}?") for thing in ("a bank", "a loan", "interest", "money", "gold")]
    assert summarise(told) == (
        "Not answered by the book: What is a bank?; What is a loan?; What is interest?; What is money?; What is gold?"
    )


@given(
    st.lists(
        st.builds(Exchange, question=st.text(min_size=1), answer=st.text(), sources=st.lists(st.text()).map(tuple)), min_size=5
    )
)
def test_200_characters_at_most_and_one_line(exchanges: list[Exchange]) -> None:
    summary = summarise(exchanges)
    assert summary is not None
    assert len(summary) <= 200
    assert "\n" not in summary


def test_long_titles_are_cut() -> None:
    assert summarise([exchange("x" * 300)] * 5) == "x" * 199 + "…"


TOLD = [exchange("Wicks › Trimming", question="How often is the wick trimmed?")] * 5


@pytest.mark.parametrize(
    ("line", "stands"),
    [
        ("How often the wick is trimmed", True),
        ("Discussion about trimming wicks", True),
        ("Trimming wicks in Norway", False),
        ("Trimming 12 wicks", False),
        ("Wicks are not trimmed", False),
        ("Trimming wicks\nand more", False),
        ("Trimming wicks " * 20, False),
        ("Trimming\x07 wicks", False),
        ("A discussion of topics", False),
        ("", False),
    ],
)
def test_a_model_s_line_says_what_the_thread_said(line: str, stands: bool) -> None:
    assert sums_up(line, TOLD) is stands


class Held(Scripted):
    """A drafter that has more to say once the summary is written."""

    def __init__(self, write_line: WriteLine) -> None:
        super().__init__(TRIMMED)
        self._write_line = write_line
        self._written = asyncio.Event()

    async def write(self, instructions: str, material: str) -> Line:
        try:
            return await self._write_line(instructions, material)
        finally:
            self._written.set()

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        async for event in super().draft(request):
            yield event
        await self._written.wait()


SECTIONS = "Wicks and oil (Trimming the wick)"
LINE = "How often the keeper trims the wick"


WRITTEN: list[tuple[tuple[Script, ...], str]] = [
    ((Says(text=f'"{LINE}"'),), LINE),
    ((Says(text="How often the keeper of Bishop Rock trims the wick"),), SECTIONS),
    ((Fails(status=429, headers={"Retry-After": "1"}), Says(text=LINE)), LINE),
    ((Says(text=""),), SECTIONS),
    ((Fails(status=503),) * 3, SECTIONS),
    ((Says(text="How often", finish=None),), SECTIONS),
]
"""What the model does in one turn after the other, and what the summary is then."""


def test_a_model_writes_it_while_the_answer_is_drafted(folder: Path) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun(*[WICK] * 4)
        with running(ChatServer(key="")) as server:
            patience = Patience(tries=3, sleep=lambda _: asyncio.sleep(0))
            model = AgentDrafter(AgentOptions(api_key="", base_url=server.url, patience=patience, line_seconds=60))
            for turns, summary in WRITTEN:
                server.turns.extend(turns)
                held = Held(model.write_line)
                conversation = room.conversation(held, write_line=held.write)
                events = [event async for event in conversation.turn(asked(WICK, thread_id))]
                assert isinstance(events[-1], Answered)
                assert (await room.threads.get(thread_id, None)).topic_summary == summary
                assert not server.turns
            await model.close()
            assert server.bodies[0]["messages"][1]["content"].endswith(f"Last question: {WICK}")

    tell_in_room(None, folder, story)


def test_nobody_waits_for_it_and_it_is_not_asked_for_early_or_for_a_refusal(folder: Path) -> None:
    async def story(room: Room) -> None:
        asked_for: list[str] = []

        async def never(instructions: str, material: str) -> Line:
            asked_for.append(material)
            await asyncio.Event().wait()
            raise AssertionError

        async def turn(text: str) -> None:
            drafter = Scripted(TRIMMED, TRIMMED)
            async for _ in room.conversation(drafter, write_line=never).turn(asked(text, thread_id)):
                await asyncio.sleep(0)

        thread_id = await room.begun(*[WICK] * 3)
        await turn(WICK)
        await turn(FOREIGN)
        assert (asked_for, (await room.threads.get(thread_id, None)).topic_summary) == ([], SECTIONS)
        await turn(WICK)
        assert (len(asked_for), (await room.threads.get(thread_id, None)).topic_summary) == (1, SECTIONS)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    tell_in_room(None, folder, story)
