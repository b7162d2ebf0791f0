"""Document E, the chat API: its confidence metrics, what it takes as a question, and its threads."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import httpx
import pytest
from sqlalchemy import inspect
from sqlalchemy import text as sql

from bythebook.answering.answer import Found
from bythebook.answering.question import Question
from bythebook.errors import InvalidInput, NotFound
from bythebook.grounding.verdict import RULES, ConfidenceLevel, ConfidenceMetrics, assess
from bythebook.retrieval.query import Scope
from bythebook.texts import texts
from bythebook.threads.conversation import Opened
from bythebook.threads.model import Message, Thread
from bythebook.web.field_errors import PATTERNS, UUID4_SAMPLE
from tests.contract.conftest import Asking
from tests.support.lighthouse import DOUBTFUL, FOREIGN, NEAR, WICK, Lighthouse, tell
from tests.support.made_turns import answer, keep, refusal
from tests.support.room import Room, tell_in_room
from tests.support.serving import ask as ask_service
from tests.support.serving import events, problem, stream

SCOPE = Scope(book_id="physical-ai-robotics")

DISCLAIMER = texts("en").disclaimer


def test_confidence_metrics_have_the_documents_fields() -> None:
    names = "average_similarity min_similarity max_similarity num_chunks chunk_diversity confidence_level should_answer"
    assert [field.name for field in dataclasses.fields(ConfidenceMetrics)] == names.split()
    assert get_args(ConfidenceLevel) == ("high", "medium", "low", "insufficient")


def test_the_scoring_rules() -> None:
    assert RULES == ((0.85, 5, "high"), (0.75, 3, "medium"), (0.60, 2, "low"))


def test_the_documents_example() -> None:
    metrics = assess([0.94, 0.92, 0.88, 0.83, 0.78], [])
    assert metrics.average_similarity == pytest.approx(0.87)
    assert (metrics.min_similarity, metrics.max_similarity, metrics.num_chunks) == (0.78, 0.94, 5)
    assert (metrics.confidence_level, metrics.should_answer) == ("high", True)


def test_the_documents_other_example_has_too_few_chunks_for_more_than_low() -> None:
    metrics = assess([0.92, 0.85], [])
    assert metrics.average_similarity == pytest.approx(0.885)
    assert (metrics.confidence_level, metrics.should_answer) == ("low", True)  # answered with a disclaimer


def test_low_answers_with_a_disclaimer_and_insufficient_refuses(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        low = await light.ask(DOUBTFUL)
        assert (low.confidence.confidence_level, low.refused, bool(low.disclaimer)) == ("low", False, True)
        insufficient = await light.ask(FOREIGN)
        assert (insufficient.confidence.confidence_level, insufficient.refused) == ("insufficient", True)
        assert not insufficient.confidence.should_answer

    tell(folder, story)


def test_on_the_literal_scale_the_numbers_are_cosines(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        _, found, *_ = await light.events(WICK, score_scale="cosine")
        assert isinstance(found, Found)
        scores = [result.score for result in found.results]
        metrics = found.confidence
        assert metrics.average_similarity == pytest.approx(sum(scores) / len(scores))
        assert (metrics.min_similarity, metrics.max_similarity) == (min(scores), max(scores))
        assert all(0.0 <= score <= 1.0 for score in scores)

    tell(folder, story)


@pytest.mark.parametrize("length", [1, 1000])
def test_a_message_has_1_to_1000_characters(length: int) -> None:
    assert len(Question(text="w" * length, scope=SCOPE).text) == length
    assert Question(text=f"  {'w' * length}\n", scope=SCOPE).text.strip() == "w" * length


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "w" * 1001])
def test_other_messages_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="A question takes 1 to 1,000 characters"):
        Question(text=text, scope=SCOPE)


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_the_similarity_threshold_is_from_0_to_1(value: float) -> None:
    with pytest.raises(InvalidInput, match="similarity threshold must be from"):
        Question(text=WICK, scope=SCOPE, similarity_threshold=value)


def test_of_two_chunks_that_say_the_same_the_better_one_stays(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        copy = (folder / "book" / "module-1-lamp/chapter-1-the-light/01-wicks.md").read_text()
        (folder / "book" / "copy.md").write_text(copy)
        await light.library.ingest(folder / "book")
        _, found, *_ = await light.events(WICK, limit=8)
        assert isinstance(found, Found)
        hashes = [result.content_hash for result in found.results]
        assert len(hashes) == len(set(hashes))

    tell(folder, story)


def test_a_thread_has_the_documents_fields(folder: Path) -> None:
    names = {field.name for field in dataclasses.fields(Thread)}
    assert names >= {"thread_id", "created_at", "updated_at", "topic_summary", "metadata"}
    assert {field.name for field in dataclasses.fields(Message)} >= {"role", "content", "timestamp", "confidence"}

    async def story(room: Room) -> None:
        (opened, *_) = await room.ask(WICK)
        assert isinstance(opened, Opened)
        assert UUID(opened.thread_id).version == 4
        thread = await room.threads.get(opened.thread_id, None)
        assert (thread.created_at.tzinfo, thread.updated_at.tzinfo) == (UTC, UTC)
        user, assistant = (one for one in await room.threads.messages(opened.thread_id) if one.spoken)
        assert (user.role, user.content, user.confidence) == ("user", WICK, None)
        assert assistant.role == "assistant"
        assert assistant.confidence == (await room.threads.turn(opened.thread_id, 1)).answer.confidence.average_similarity
        assert (thread.created_at, thread.updated_at) == (user.timestamp, assistant.timestamp)

    tell_in_room(None, folder, story)


def test_a_message_creates_or_updates_the_thread_of_its_session(folder: Path) -> None:
    async def story(room: Room) -> None:
        session = "550e8400-e29b-41d4-a716-446655440000"
        for turn in (1, 2):
            (opened, *_) = await room.ask(WICK, session)
            assert opened == Opened(thread_id=session, book_id="light", turn=turn)
        with pytest.raises(InvalidInput, match="UUID of version 4"):
            await room.ask(WICK, "550e8400-e29b-11d4-a716-446655440000")

    tell_in_room(None, folder, story)


def test_the_messages_alternate_and_are_the_last_50(folder: Path) -> None:
    async def story(room: Room) -> None:
        thread_id = await keep(room.threads, *(refusal(f"Question {number}?") for number in range(1, 31)))
        view = [one for one in await room.threads.messages(thread_id) if one.spoken]
        assert [one.role for one in view] == ["user", "assistant"] * 25
        assert view[0].content == "Question 6?"

    tell_in_room(None, folder, story)


def test_a_summary_appears_from_five_exchanges(folder: Path) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun(*[WICK] * 4)
        assert (await room.threads.get(thread_id, None)).topic_summary is None
        await room.ask(WICK, thread_id)
        summary = (await room.threads.get(thread_id, None)).topic_summary
        assert summary == "Wicks and oil (Trimming the wick)"

    tell_in_room(None, folder, story)


def test_idle_for_an_hour_is_archived_and_resumed(folder: Path) -> None:
    async def story(room: Room) -> None:
        long_ago = datetime.now(UTC) - timedelta(hours=2)
        thread_id = await keep(room.threads, answer(at=long_ago))
        assert (await room.threads.get(thread_id, None)).archived_at == long_ago + timedelta(hours=1)
        await room.ask(WICK, thread_id)
        assert (await room.threads.get(thread_id, None)).archived_at is None

    tell_in_room(None, folder, story)


def test_a_thread_is_deleted_for_good(folder: Path) -> None:
    async def story(room: Room) -> None:
        thread_id = await room.begun(WICK)
        await room.threads.delete(thread_id, None)
        with pytest.raises(NotFound):
            await room.threads.get(thread_id, None)
        assert (await room.threads.messages(thread_id, archived=True), await room.threads.turns(thread_id)) == ((), ())

    tell_in_room(None, folder, story)


def test_sources_agree_with_what_was_found_live_and_replayed(client: httpx.Client) -> None:
    """Each source under the label that its sentences bear, with its own chunk's cosine and relevance."""
    for text in (WICK, DOUBTFUL, "What is the fog signal?", "How is the tower built and how does it move?"):
        told = stream(client, text, similarity_threshold=0.0, top_k=10)
        found = {one["id"]: one for one in told[2].data["results"]}
        answered = told[-2].data
        sources, citations = answered["sources"], answered["answer"]["citations"]
        assert [source["label"] for source in sources] == list(range(1, len(sources) + 1))
        for source, citation in zip(sources, citations, strict=True):
            own = found[citation["chunk_id"]]
            assert (source["similarity_score"], source["relevance"]) == (own["score"], own["relevance"])
            assert source["chunk_text"] in own["text"]
        for sentence in answered["answer"]["sentences"]:
            assert all(one["chunk_id"] in found for one in sentence["citations"])
        thread = told[0].data["thread_id"]
        again = events(client.get(f"/threads/{thread}/turns/1/events").text)
        assert again[-2].data == answered


@pytest.mark.parametrize("threshold", [0.0, 0.65, 0.7, 0.9, 1.0])
def test_no_source_lies_below_the_threshold_that_was_asked_for(client: httpx.Client, threshold: float) -> None:
    for text in (WICK, DOUBTFUL):
        told = ask_service(client, text, similarity_threshold=threshold)
        assert all(source["relevance"] >= threshold for source in told["sources"])
        assert told["should_answer"] == told["answer"]["confidence"]["should_answer"] == bool(told["sources"])


def test_the_gate_can_be_left_open(client: httpx.Client) -> None:
    assert ask_service(client, NEAR, similarity_threshold=0.0)["should_answer"] is False
    told = ask_service(client, NEAR, similarity_threshold=0.0, gate=False)
    assert (told["should_answer"], told["confidence_level"]) == (True, "insufficient")
    assert told["response"].endswith(DISCLAIMER)


def test_the_disclaimer_is_part_of_the_answer_wherever_it_is_shown_or_kept(client: httpx.Client, ask: Asking) -> None:
    told = stream(client, DOUBTFUL, similarity_threshold=0.0)
    answered, thread = told[-2].data, told[0].data["thread_id"]
    assert answered["confidence_level"] == "low"
    kept = client.get(f"/threads/{thread}").json()
    exported = client.get(f"/threads/{thread}/export").text
    printed = ask(DOUBTFUL)
    for shown in (
        answered["response"],
        answered["answer"]["answer"],
        kept["messages"][-1]["content"],
        kept["turns"][0]["answer"]["answer"],
        printed["answer"],
        printed["content"],
    ):
        assert shown.endswith(f"\n\n{DISCLAIMER}")
        assert shown.count(DISCLAIMER) == 1
    assert exported.count(DISCLAIMER) == 1
    follow_up = ask_service(client, "Why?", session_id=thread)
    assert "passages" not in follow_up["answer"]["question"], "what follows refers to the book's words"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"message": ""}, "message must not be empty."),
        ({"message": "   "}, "message must not be empty."),
        ({"message": "w" * 1001}, "message must have at most 1,000 characters."),
        ({"message": 7}, "message must be a text, not 7."),
        ({"message": "a\x00b"}, "message holds control characters; leave them out."),
        ({"session_id": "abc"}, f"session_id must be a UUID of version 4, such as {UUID4_SAMPLE}, not 'abc'."),
        ({"top_k": 0}, "top_k must be 1 or more, not 0."),
        ({"top_k": 11}, "top_k must be 10 or less, not 11."),
        ({"top_k": "five"}, "top_k must be a whole number, not 'five'."),
        ({"similarity_threshold": 1.5}, "similarity_threshold must be 1.0 or less, not 1.5."),
        ({"stream": "maybe"}, "stream must be true or false, not 'maybe'."),
        ({"score_scale": "feeling"}, "score_scale must be relevance or cosine, not 'feeling'."),
        ({"filters": {"proficiency_levels": 3}}, "filters.proficiency_levels must be a list, not 3."),
        ({"filters": []}, "filters must be a JSON object."),
        ({"book_id": "../etc"}, f"book_id {PATTERNS['book_id']}, not '../etc'."),
        ({"surprise": 1}, "surprise is no field of this request; /openapi.json lists those it has."),
        ({"metadata": {"note": "w" * 5000}}, "metadata must take 4,096 bytes of JSON or less, not 5,012."),
        ({"metadata": {"note": "\x00"}}, "metadata must not hold the character NUL."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_request_is_said_in_a_sentence(client: httpx.Client, given: dict[str, Any], told: str) -> None:
    response = client.post("/chat/run", json={"message": WICK, **given})
    assert problem(response, 422, "invalid_input")["detail"] == told


def test_metadata_is_kept_with_the_thread_and_returned(client: httpx.Client) -> None:
    first = {"user_id": "user123", "tags": ["ros2", "urdf"]}
    thread = ask_service(client, WICK, metadata=first)["session_id"]
    assert client.get(f"/threads/{thread}").json()["metadata"] == first
    ask_service(client, WICK, session_id=thread)
    assert client.get(f"/threads/{thread}").json()["metadata"] == first
    ask_service(client, WICK, session_id=thread, metadata={"tags": [], "seen": True})
    listed = {one["thread_id"]: one for one in client.get("/threads").json()["threads"]}
    assert listed[thread]["metadata"] == {"user_id": "user123", "tags": [], "seen": True}
    more = {f"n{number}": "w" * 1500 for number in range(2)}
    ask_service(client, WICK, session_id=thread, metadata=more)
    told = problem(
        client.post("/chat/run", json={"message": WICK, "session_id": thread, "metadata": {"n3": "w" * 1500}}),
        422,
        "invalid_input",
    )
    assert "4,096 bytes of JSON or less" in told["detail"]
    kept = client.get(f"/threads/{thread}").json()
    assert (kept["turn_count"], "n3" in kept["metadata"]) == (4, False)


def test_the_database_shows_threads_as_the_document_stores_them(database_address: str | None, folder: Path) -> None:
    """The table's name, columns and types, its messages in the document's form, and its indexes."""

    async def story(room: Room) -> None:
        thread_id = await room.begun(WICK, FOREIGN)
        await room.ask(WICK, thread_id, metadata={"user_id": "user123"})
        database = room.lighthouse.library.database
        rows = await database.run(
            lambda connection: connection.execute(sql("SELECT * FROM conversation_threads")).mappings().all()
        )
        (row,) = rows
        assert list(row) == ["thread_id", "messages", "created_at", "updated_at", "topic_summary", "metadata"]
        postgresql = database_address is not None
        assert row["thread_id"] == (UUID(thread_id) if postgresql else thread_id)
        messages = row["messages"] if postgresql else json.loads(row["messages"])
        kept = [one for one in await room.threads.messages(thread_id) if one.spoken]
        assert [(one["role"], one["content"], one.get("confidence")) for one in messages] == [
            (one.role, one.content, pytest.approx(one.confidence) if one.confidence is not None else None) for one in kept
        ]
        for written, one in zip(messages, kept, strict=True):
            assert abs(datetime.fromisoformat(written["timestamp"]) - one.timestamp) < timedelta(milliseconds=1)
            assert written["timestamp"].endswith("Z")
        assert (row["metadata"] if postgresql else json.loads(row["metadata"])) == {"user_id": "user123"}
        indexes = await database.run(lambda connection: {one["name"] for one in inspect(connection).get_indexes("threads")})
        assert indexes >= {"idx_threads_updated", "idx_threads_created"}

    tell_in_room(database_address, folder, story)


def test_a_retrieval_result_where_it_is_asked_for(client: httpx.Client) -> None:
    told = ask_service(client, WICK, similarity_threshold=0.0, include=["retrieval", "query_embedding", "grounding_context"])
    found = told["retrieval"]
    assert len(found["chunks"]) == len(found["scores"]) == len(found["metadata"]) == 5
    assert found["average_score"] == pytest.approx(sum(found["scores"]) / 5)
    assert found["has_sufficient_context"] is True
    assert len(found["query_embedding"]) == 256
    for one in found["metadata"]:
        assert one.keys() == {"chapter", "section", "url", "chunk_index", "content_hash", "relevance"}
    assert told["grounding_context"]["has_context"] is True
    few = ask_service(client, WICK, similarity_threshold=0.0, top_k=2, include=["retrieval", "assembled_context"])
    assert (few["retrieval"]["has_sufficient_context"], few["retrieval"]["query_embedding"]) == (False, None)
    assert (few["assembled_context"]["chunk_count"], few["grounding_context"]) == (2, None)
    refused = ask_service(client, FOREIGN, similarity_threshold=0.0, include=["retrieval"])
    assert refused["retrieval"]["has_sufficient_context"] is False
    assert ask_service(client, WICK)["retrieval"] is None
    response = client.post("/chat/run", json={"message": WICK, "include": ["everything"]})
    assert problem(response, 422, "invalid_input")["detail"].startswith("include.0 must be retrieval, query_embedding, ")
