"""A quiz over HTTP where a model is configured: drafted by it in one request, checked as an answer is, and drawn from the text
where the model, the check or the key's limits leave nothing."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from bythebook.web.keys import KeyLimits
from tests.support.fakes.openai_server import ChatServer, Fails, Json, Says
from tests.support.fakes.openai_server import running as running_model
from tests.support.processes import SECONDS, wait_for
from tests.support.sample_library import sample_library
from tests.support.serving import BOOK, Service, running
from tests.web.test_connections import connected, head

CHAPTER = "module-1-ros2/chapter-1-how-robots-talk"
TOPICS = f"{CHAPTER}/02-topics-and-messages.md"
NODES = f"{CHAPTER}/01-nodes-and-the-graph.md"
TYPED = "A **message** is a typed data structure whose fields are declared in a `.msg` file."
ONE_WAY = "Communication on a topic goes one way."
RETOLD = "Messages on a topic travel in one direction only."


def card(quote: str, text: str, question: str) -> Json:
    return {"label": 1, "quote": quote, "text": text, "question": question}


KEPT = [
    card(ONE_WAY, RETOLD, "In how many directions do messages on a topic travel?"),
    card(TYPED, "A message is a typed data structure whose fields are declared in a `.msg` file.", "What is a `message`?"),
]
FAILS = [
    card("A topic is a kind of mailbox.", "A topic is a kind of mailbox.", "What is a topic like?"),
    card(ONE_WAY, "Communication on a topic goes 7 ways.", "How does communication on a topic go?"),
    card(ONE_WAY, ONE_WAY, "Why do 17 subscribers share one topic?"),
    card(ONE_WAY, ONE_WAY, "Topics go one way."),
    card(TYPED, "A message is a typed data structure whose fields are declared in a `.msg` file.", "Where is a message printed?"),
]


def written(*cards: Json) -> Says:
    return Says(text=json.dumps({"cards": cards}))


def judged(body: Json) -> Says:
    """Says yes, unless a message is said to be printed somewhere."""
    asked = json.loads(body["messages"][1]["content"])["sentences"]
    verdicts = [{"n": one["n"], "words": "goes one way", "supported": "printed" not in one["sentence"]} for one in asked]
    return Says(text=json.dumps({"verdicts": verdicts}))


@pytest.fixture(scope="module")
def model() -> Iterator[ChatServer]:
    with running_model(ChatServer()) as server:
        yield server


@pytest.fixture(scope="module")
def tutor(model: ChatServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("quiz")
    with running(sample_library(folder), loopback=False, openai_base_url=model.url, openai_api_key="sk-test") as there:
        yield there


def quiz(client: httpx.Client, lesson: str, limit: int = 50) -> list[dict[str, Any]]:
    response = client.get(f"/books/{BOOK}/questions", params={"lesson": lesson, "purpose": "learn", "limit": limit})
    assert response.status_code == 200, response.text
    questions: list[dict[str, Any]] = response.json()["questions"]
    return questions


def by_model(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in questions if one["by"] == "model"]


def test_a_quiz_is_drafted_in_one_request_and_every_card_is_checked(tutor: Service, model: ChatServer) -> None:
    model.bodies.clear()
    model.turns.extend([written(*KEPT, *FAILS), judged])
    with tutor.client(tutor.key()) as client:
        found = quiz(client, TOPICS)
        retold, copied = by_model(found)
        assert (retold["answer"], retold["quote"], retold["source_file"]) == (RETOLD, ONE_WAY, TOPICS)
        assert RETOLD in retold["answer_html"]
        assert ONE_WAY in retold["html"]
        assert (copied["question"], copied["quote"], copied["answer"]) == ("What is a message?", TYPED, "")
        assert [one["by"] for one in found] == sorted((one["by"] for one in found), key=["author", "model", "draft"].index)
        assert "What is a topic?" in {one["question"] for one in found if one["by"] == "draft"}, "the rest is drawn from the text"
        assert quiz(client, TOPICS) == found
    drafting, judging = model.bodies
    assert drafting["response_format"]["json_schema"]["name"] == "quiz"
    assert TYPED in json.loads(drafting["messages"][1]["content"])["results"][0]["chunk_text"]
    claims = [one["sentence"] for one in json.loads(judging["messages"][1]["content"])["sentences"]]
    assert not any("7 ways" in one or "17" in one or "mailbox" in one for one in claims), "what the program knows is not judged"


@pytest.mark.parametrize(
    "turn", [Fails(status=500), Says(text="What is a node? A process."), Says(text='{"cards": [{"label"', finish=None)]
)
def test_a_model_that_fails_leaves_the_quiz_of_the_text_and_is_asked_again(
    tutor: Service, model: ChatServer, turn: Fails | Says
) -> None:
    with tutor.client(tutor.key()) as client:
        model.bodies.clear()
        model.turns.append(turn)
        found = quiz(client, NODES, limit=41)
        assert found
        assert by_model(found) == []
        assert len(model.bodies) == 1
        model.turns.append(turn)
        assert quiz(client, NODES, limit=41) == found
        assert len(model.bodies) == 2


def test_a_draft_that_breaks_off_counts_as_far_as_it_came(tutor: Service, model: ChatServer) -> None:
    model.turns.extend([Says(text=json.dumps({"cards": KEPT})[:-30], finish=None), judged])
    with tutor.client(tutor.key()) as client:
        assert [one["question"] for one in by_model(quiz(client, TOPICS, limit=42))] == [KEPT[0]["question"]]


def test_readers_who_come_together_share_one_draft_and_one_who_leaves_does_not_end_it(tutor: Service, model: ChatServer) -> None:
    drafting, answer = threading.Event(), threading.Event()

    def slow(body: Json) -> Says:
        drafting.set()
        assert answer.wait(SECONDS)
        return written(*KEPT)

    model.bodies.clear()
    model.turns.extend([slow, judged])
    key = tutor.key()
    path = f"/books/{BOOK}/questions?{urlencode({'lesson': TOPICS, 'purpose': 'learn', 'limit': 44})}"
    with connected(tutor.port) as line:
        line.sendall(head("GET", path, {"Authorization": f"Bearer {key}"}))
        assert drafting.wait(SECONDS)

    def ask_too() -> list[dict[str, Any]]:
        with tutor.client(key) as client:
            return quiz(client, TOPICS, limit=44)

    with ThreadPoolExecutor(2) as readers:
        asked = [readers.submit(ask_too) for _ in range(2)]
        wait_for(lambda: requests_in_flight(tutor) >= 2)
        answer.set()
        one, other = (reader.result(SECONDS) for reader in asked)
    assert len(by_model(one)) == 2
    assert one == other
    assert len(model.bodies) == 2, "one draft, one judgement"


def requests_in_flight(service: Service) -> float:
    (line,) = re.findall(rb"^bythebook_requests_in_flight (.+)$", service.state.metrics.exposition(), re.MULTILINE)
    return float(line)


def test_a_public_key_uses_no_more_of_the_model_than_it_may(tutor: Service, model: ChatServer) -> None:
    limits = KeyLimits(tokens_per_day=50)
    secret = tutor.run(tutor.state.keys.create("readers", ("public",), BOOK, 1000, limits=limits))[1]
    model.bodies.clear()
    model.turns.extend([written(*KEPT), judged])
    with tutor.client(secret) as client:
        paid = quiz(client, TOPICS, limit=43)
        assert len(by_model(paid)) == 2
        assert by_model(quiz(client, NODES, limit=43)) == [], "its tokens of the day are used up"
        assert quiz(client, TOPICS, limit=43) == paid, "what was drafted is there for everyone"
    assert len(model.bodies) == 2
