"""Commands that answer send their spans to the collector that is configured, the last of them before they end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.fakes.collector import Collector, collecting

QUESTION = "What is a node?"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as started:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", started.address)
        yield started


def answers(collector: Collector) -> list[dict[str, str]]:
    """The turns' own spans, and what they tell in words; each step belongs to one of them."""
    roots = [span for span in collector.spans if not span.parent_span_id]
    assert {span.name for span in roots} == {"answer"}
    assert {span.parent_span_id for span in collector.spans if span.parent_span_id} == {root.span_id for root in roots}
    return [{one.key: one.value.string_value for one in root.attributes} for root in roots]


def test_ask(shelf: Cli, collector: Collector) -> None:
    assert shelf("ask", QUESTION, "--format", "json").code == 0
    (told,) = answers(collector)
    assert (told["bythebook.book_id"], told["bythebook.model"]) == ("small", "extractive")
    assert {"follow-up", "search", "verdict"} <= {span.name for span in collector.spans}
    assert QUESTION not in told.values()


def test_chat(shelf: Cli, collector: Collector) -> None:
    assert shelf("chat", "-q", QUESTION).code == 0
    (told,) = answers(collector)
    assert told["bythebook.thread_id"]
    assert "store" in {span.name for span in collector.spans}


def test_evaluate(shelf: Cli, book: Path, collector: Collector) -> None:
    rows = [{"question": QUESTION, "answerable": True}, {"question": "What is compound interest?", "answerable": False}]
    questions = book / "asked.jsonl"
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert shelf("evaluate", questions, "--json").code == 0
    assert len(answers(collector)) == len(rows)
    assert Counter(span.name for span in collector.spans)["search"] == len(rows)


def test_a_collector_that_is_away_fails_no_command(shelf: Cli, collector: Collector) -> None:
    collector.refusing = True
    outcome = shelf("ask", QUESTION, "--format", "json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["query"] == QUESTION
