"""Document C, the agent with sources: its response, its footer, its filter prefix, its settings and its limit of turns."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from uuid import uuid4

import pytest

from bythebook.answering.answer import MAX_CITATIONS, Answer, Answered, Sentence, sources_footer
from bythebook.books.statements import statements
from bythebook.cli.ask import agent_response
from bythebook.drafting.draft import DraftEvent, DraftRequest, DraftSentence, Quote
from bythebook.drafting.prompts import labelled_tool_response
from bythebook.errors import InvalidInput, InvalidSettings
from bythebook.settings import read_settings
from tests.contract.conftest import Asking
from tests.support.lighthouse import DOUBTFUL, FOREIGN, LAMP, NEAR, TRIMMED, WICK, Lighthouse, Scripted, tell
from tests.support.made_turns import keep, refusal
from tests.support.room import SCOPE, Room, asked, tell_in_room


def test_settings_by_the_documents_names(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read_settings()
    assert (settings.openai_model, settings.agent_top_k, settings.agent_max_turns) == ("gpt-4o-mini", 5, 50)
    for name, value in (
        ("OPENAI_MODEL", "small"),
        ("AGENT_TOP_K", "7"),
        ("AGENT_SCORE_THRESHOLD", "0.1"),
        ("AGENT_MAX_TURNS", "9"),
    ):
        monkeypatch.setenv(name, value)
    settings = read_settings()
    assert (settings.openai_model, settings.agent_top_k, settings.agent_score_threshold) == ("small", 7, 0.1)
    assert settings.agent_max_turns == 9


@pytest.mark.parametrize(("name", "value"), [("AGENT_TOP_K", "21"), ("AGENT_MAX_TURNS", "0"), ("AGENT_TOP_K", "five")])
def test_settings_out_of_range(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSettings, match=f"{name}.*{value}"):
        read_settings()


def test_the_response(folder: Path) -> None:
    assert {field.name for field in dataclasses.fields(Answer)} >= {"model", "tokens_used", "retrieval_count", "created_at"}

    async def story(light: Lighthouse) -> None:
        for text in (WICK, FOREIGN):
            answer, found = await light.ask_with_results(text)
            response = agent_response(answer, found)
            assert response["content"] == answer.answer != ""
            assert answer.tokens_used >= 0
            assert answer.created_at.tzinfo is UTC
            assert [source["rank"] for source in response["sources"]] == list(range(1, len(answer.citations) + 1))
            texts = {one.id: one.text for one in found}
            for source, one in zip(response["sources"], answer.citations, strict=True):
                assert source.keys() == {"rank", "score", "source_url", "content", "quote", "relevance"}
                assert (source["content"], source["quote"]) == (texts[one.chunk_id], one.quote)
                assert one.quote in source["content"]

    tell(folder, story)


def test_the_footer_to_the_letter(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        answer = await light.ask(WICK)
        (one,) = answer.citations
        assert sources_footer(answer.citations) == ["---", "**Sources:**", f"[1] {one.source_url} (score: {one.score:.2f})"]
        assert sources_footer((await light.ask(FOREIGN)).citations) == []

    tell(folder, story)


class Backwards(Scripted):
    """Quotes the first sentence of all it was given, the last first, after one that its source does not say."""

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        self.requests.append(request)
        yield DraftSentence(text="Whales sing in the cistern of the moon.", labels=(1,))
        for evidence in reversed(request.evidence):
            chunk = evidence.first
            one = next(one for one in statements(chunk.preface, chunk.text) if one.kind == "sentence")
            quote = Quote(label=evidence.label, chunk_id=chunk.id, start=one.start, end=one.end)
            yield DraftSentence(text=one.readable, labels=(evidence.label,), quotes=(quote,))


def test_citations_are_numbered_without_gaps_in_the_order_of_first_use_wherever_they_are_shown(folder: Path) -> None:
    async def story(room: Room) -> None:
        drafter, thread_id = Backwards(), str(uuid4())
        scope = replace(SCOPE, limit=8)
        events = [event async for event in room.conversation(drafter).turn(asked(WICK, thread_id, scope=scope))]
        streamed = [event for event in events if isinstance(event, Sentence)]
        answered = next(event for event in events if isinstance(event, Answered))
        shown = drafter.requests[0].evidence
        assert len(shown) > MAX_CITATIONS, "so that some are cited and some are not"
        numbers = list(range(1, MAX_CITATIONS + 1))
        assert [sentence.labels for sentence in streamed] == [(number,) for number in numbers]
        assert [sentence.citations[0].chunk_id for sentence in streamed] == [one.first.id for one in shown[:-6:-1]]
        assert answered.answer.sentences == tuple(streamed)
        assert re.findall(r"\[(\d+)\]", answered.answer.answer) == [str(number) for number in numbers]
        assert [one.label for one in answered.answer.citations] == numbers
        assert [line[:3] for line in sources_footer(answered.answer.citations)[2:]] == [f"[{number}]" for number in numbers]
        said = await room.threads.messages(thread_id)
        assert (said[-1].role, said[-1].content) == ("assistant", answered.answer.answer)
        trace = answered.trace
        assert trace is not None
        assert [one.labels for one in trace.draft if one.dropped is None] == [(number,) for number in numbers]
        chunks = {one.label: one.chunk_ids for one in trace.evidence}
        assert len(chunks) == len(shown)
        assert all(one.chunk_id in chunks[one.label] for one in answered.answer.citations)

    tell_in_room(None, folder, story)


def test_what_was_retrieved_goes_to_the_model_with_its_label_source_and_score(folder: Path) -> None:
    """The contract has document B's JSON as the form; what document C's text form tells stands in it."""

    async def story(light: Lighthouse) -> None:
        drafter = Scripted(TRIMMED)
        await light.ask(WICK, drafter)
        first = drafter.requests[0].evidence[0]
        told = json.loads(labelled_tool_response(drafter.requests[0].evidence, WICK))["results"][0]
        assert (told["label"], told["source_url"]) == ("[1]", first.first.source_url)
        assert told["similarity_score"] == round(first.relevance, 3)
        assert told["chunk_text"] == first.first.preface + first.text

    tell(folder, story)


def test_the_filter_prefix_is_applied_and_recorded(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        for prefix in (LAMP, "https://light.example/module-1-lamp"):
            answer = await light.ask(WICK, prefix_filter=prefix)
            assert answer.filter_applied == prefix
            assert all(one.source_file.startswith(LAMP) for one in answer.citations)
        assert (await light.ask(WICK, prefix_filter="module-2")).refused

    tell(folder, story)


def test_a_thread_takes_50_user_turns(folder: Path) -> None:
    async def story(room: Room) -> None:
        thread_id = await keep(room.threads, *(refusal(f"Question {number}?") for number in range(50)))
        with pytest.raises(InvalidInput, match="has had its 50 questions"):
            await anext(room.conversation().turn(asked(WICK, thread_id)))
        whole = await room.threads.messages(thread_id, archived=True)
        assert len([message for message in whole if message.role == "user"]) == 50

    tell_in_room(None, folder, story)


def test_messages_are_what_the_document_allows(folder: Path) -> None:
    """Roles, `tool_calls` of the assistant and `tool_call_id` of the tool; a user's message is never empty."""

    async def story(room: Room) -> None:
        for message in await room.threads.messages(await room.begun(WICK, FOREIGN)):
            assert message.role in {"system", "user", "assistant", "tool"}
            assert message.content or message.tool_calls
            assert message.tool_calls is None or message.role == "assistant"
            assert (message.tool_call_id is not None) == (message.role == "tool")
            assert message.timestamp.tzinfo == UTC

    tell_in_room(None, folder, story)


def test_a_threshold_of_zero_with_the_gate_off_accepts_all_that_was_found(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", "0.0")
    for text in (WICK, NEAR, DOUBTFUL):
        found = ask(text, "--no-gate")
        assert (found["refused"], found["grounded"], found["retrieval_count"]) == (False, True, 5)
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", "0.9")
    assert ask(NEAR, "--no-gate")["refused"]


def test_the_retrieval_context_is_in_the_json(ask: Asking) -> None:
    found = ask(WICK, "--prefix", LAMP)
    context, grounding = found["retrieval_context"], found["grounding_context"]
    assert (context["query"], context["filter_applied"]) == (WICK, LAMP)
    assert context["retrieved_at"] < found["created_at"]
    first = context["results"][0]
    assert first.keys() == {"rank", "score", "relevance", "source_url", "content"}
    assert grounding["formatted_text"].startswith(
        f"[1] Source: {first['source_url']}\n    Score: {first['score']:.2f}\n    Content: {first['content']}\n\n[2] Source: "
    )
