"""A thread with a model configured, from the variables that name it to what is stored: it rewrites a follow-up, drafts, and is
checked in both."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bythebook.answering.answer import Answer, Answered, Refused, SearchBegun
from bythebook.answering.trace import FollowUp
from bythebook.settings import read_settings
from bythebook.wiring.author import Resources, open_resources
from tests.support.fakes.openai_server import ChatServer, Says, running, usage
from tests.support.lighthouse import FOREIGN, TRIMMED, WICK, copy_published, make_embedder
from tests.support.room import asked

THREAD = "550e8400-e29b-41d4-a716-446655440000"
SMOKES = "A wick that is cut unevenly smokes and blackens the glass."

SAID = (Says(text="When does the wick smoke?"), Says(text=SMOKES))


async def turn(resources: Resources, text: str) -> tuple[str, Answer, FollowUp | None]:
    """What was searched for, how it ended, and who rewrote it."""
    events = [event async for event in resources.conversation.turn(asked(text, THREAD))]
    (searching,) = [event for event in events if isinstance(event, SearchBegun)]
    assert isinstance(events[-1], Answered | Refused)
    assert events[-1].trace is not None
    return searching.question, events[-1].answer, events[-1].trace.follow_up


def test_a_follow_up_is_rewritten_drafted_and_checked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_published(folder)

    async def story(server: ChatServer) -> None:
        settings = read_settings(data_dir=folder / "data")
        async with open_resources(settings, embedder=make_embedder()) as resources:
            server.turns.append(Says(text=f"{TRIMMED} The moon is made of cheese [1]."))
            _, first, follow_up = await turn(resources, WICK)
            assert (first.answer, follow_up) == (f"{TRIMMED} [1]", None)

            server.turns.extend(SAID)
            searched, second, follow_up = await turn(resources, "When does it smoke?")
            assert (searched, follow_up) == ("When does the wick smoke?", FollowUp(by="model"))
            assert SMOKES in second.answer
            assert [len(body["messages"]) for body in server.bodies] == [4, 2, 6]
            told = [usage(body, said) for body, said in zip(server.bodies[1:], SAID, strict=True)]
            assert second.tokens_used == sum(one["total_tokens"] for one in told)

            server.turns.extend([Says(text="When does the wick smoke in Norway?"), Says(text=SMOKES)])
            searched, _, follow_up = await turn(resources, "When does it smoke?")
            assert "Norway" not in searched
            assert follow_up == FollowUp(by="rules", note="the model's line brings in what nobody said (norway)")

            _, refused, _ = await turn(resources, FOREIGN)
            assert refused.refused
        assert not server.turns
        assert len(server.bodies) == 5, "the refusal called no model"

    with running(ChatServer(key="", model="small")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_MODEL", "small")
        monkeypatch.setenv("BYTHEBOOK_MODEL_SECONDS", "600")
        asyncio.run(story(server))
