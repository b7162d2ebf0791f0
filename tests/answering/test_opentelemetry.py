"""Turns as spans: the real SDK, and a strict collector on the loopback."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from bythebook.answering.opentelemetry import SpanRecorder, open_tracing
from bythebook.errors import InvalidSettings, Unavailable
from bythebook.settings import read_settings
from bythebook.threads.conversation import Opened
from bythebook.wiring.author import open_resources
from bythebook.wiring.reader import open_spans
from tests.support.fakes.collector import Collector, collecting
from tests.support.lighthouse import FOREIGN, TRIMMED, WICK, Scripted, copy_published, make_embedder
from tests.support.room import Room, asked, tell_in_room
from tests.threads.test_conversation import Failing

MOON = "The moon is made of cheese."


class Listened:
    """Spans as they are exported."""

    def __init__(self, *, questions: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracing = SpanRecorder(SimpleSpanProcessor(self._exporter), questions=questions)

    def heard(self) -> tuple[ReadableSpan, list[ReadableSpan]]:
        """The turn's span and those below it, in the order in which they began."""
        spans = self._exporter.get_finished_spans()
        self._exporter.clear()
        (root,) = [span for span in spans if span.parent is None]
        below = [span for span in spans if span.parent is not None]
        assert root.context is not None
        for span in below:
            assert span.context is not None
            assert span.parent is not None
            assert (span.parent.span_id, span.context.trace_id) == (root.context.span_id, root.context.trace_id)
        return root, sorted(below, key=lambda span: span.start_time or 0)


def told(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_an_answer_is_a_span_with_a_span_for_every_step(folder: Path) -> None:
    async def story(room: Room) -> None:
        listened = Listened()
        conversation = room.conversation(Scripted(TRIMMED, MOON), tracing=listened.tracing)
        (opened, *_) = [event async for event in conversation.turn(asked(WICK))]
        assert isinstance(opened, Opened)
        root, below = listened.heard()
        assert (root.name, root.status.status_code) == ("answer", StatusCode.UNSET)
        assert [span.name for span in below] == ["follow-up", "search", "verdict", "draft", "check", "check", "store"]
        for span in below:
            assert (root.start_time or 0) // 1000 <= (span.start_time or 0) // 1000 <= (span.end_time or 0) // 1000
        assert (
            told(root).items()
            >= {
                "bythebook.book_id": "light",
                "bythebook.thread_id": opened.thread_id,
                "bythebook.turn": 1,
                "bythebook.refused": False,
                "bythebook.sentences": 1,
                "bythebook.dropped": 1,
                "bythebook.model": "scripted",
            }.items()
        )
        assert [told(span)["bythebook.supported"] for span in below if span.name == "check"] == [True, False]
        words = [value for span in (root, *below) for value in told(span).values()]
        assert not {WICK, TRIMMED, MOON} & set(map(str, words))

    tell_in_room(None, folder, story)


def test_a_refusal_drafts_nothing_and_questions_are_told_where_that_is_wanted(folder: Path) -> None:
    async def story(room: Room) -> None:
        listened = Listened(questions=True)
        async for _ in room.conversation(tracing=listened.tracing).turn(asked(FOREIGN)):
            pass
        root, below = listened.heard()
        assert [span.name for span in below] == ["follow-up", "search", "verdict", "store"]
        assert (told(root)["bythebook.refused"], told(root)["bythebook.reason"]) == (True, "off_topic")
        assert (told(root)["bythebook.asked"], told(below[0])["bythebook.question"]) == (FOREIGN, FOREIGN)
        assert told(below[2])["bythebook.answerable"] is False

    tell_in_room(None, folder, story)


def test_a_turn_that_fails_or_is_given_up_is_told_too(folder: Path) -> None:
    async def story(room: Room) -> None:
        listened = Listened()
        with pytest.raises(Unavailable):
            async for _ in room.conversation(Failing(), tracing=listened.tracing).turn(asked(WICK)):
                pass
        root, below = listened.heard()
        assert (root.status.status_code, told(root)["error.type"]) == (StatusCode.ERROR, "Unavailable")
        assert "store" not in {span.name for span in below}
        async with aclosing(room.conversation(tracing=listened.tracing).turn(asked(WICK))) as events:
            async for event in events:
                if not isinstance(event, Opened):
                    break
        root, below = listened.heard()
        assert (root.status.status_code, told(root)["bythebook.abandoned"]) == (StatusCode.UNSET, True)
        assert [span.name for span in below] == ["follow-up"]

    tell_in_room(None, folder, story)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as started:
        yield started


def test_a_collector_gets_them(folder: Path, collector: Collector) -> None:
    async def story(room: Room) -> None:
        tracing = open_tracing(f"{collector.address}/")
        async for _ in room.conversation(tracing=tracing).turn(asked(WICK)):
            pass
        await tracing.close()

    tell_in_room(None, folder, story)
    (root,) = [span for span in collector.spans if not span.parent_span_id]
    below = [span for span in collector.spans if span.parent_span_id]
    assert root.name == "answer"
    assert {span.name for span in below} == {"follow-up", "search", "verdict", "draft", "check", "store"}
    assert {(span.parent_span_id, span.trace_id) for span in below} == {(root.span_id, root.trace_id)}
    resource = {one.key: one.value.string_value for one in collector.received[0].resource_spans[0].resource.attributes}
    assert resource["service.name"] == "bythebook"


def test_the_program_sends_them_when_it_is_configured_and_the_rest_when_it_ends(
    monkeypatch: pytest.MonkeyPatch, folder: Path, collector: Collector
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    copy_published(folder)

    async def story() -> None:
        settings = read_settings(data_dir=folder / "data")
        async with open_resources(settings, embedder=make_embedder()) as resources:
            async for _ in resources.conversation.turn(asked(WICK)):
                pass

    asyncio.run(story())
    assert [span.name for span in collector.spans].count("answer") == 1


def test_a_collector_that_takes_nothing_is_told_of_once(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    collector.refusing = True
    tracing = open_tracing(collector.address)
    with caplog.at_level(logging.WARNING):
        with tracing() as steps, steps.step("search"):
            pass
        asyncio.run(tracing.close())
    (told,) = [record.getMessage() for record in caplog.records]
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in told


def test_configured_without_the_extra(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert open_spans(read_settings(data_dir=folder)) is None
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.delitem(sys.modules, "bythebook.answering.opentelemetry")
    monkeypatch.setitem(sys.modules, "opentelemetry.context", None)  # as if it were not there
    with pytest.raises(InvalidSettings, match=r"bythebook\[tracing\]"):
        open_spans(read_settings(data_dir=folder))
