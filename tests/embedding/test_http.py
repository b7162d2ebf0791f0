"""What is tried again, what is not, and what a person reads; over real HTTP on the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import Any

import pytest

from bythebook.embedding.http import EmbeddingServer, in_order
from bythebook.errors import InvalidSettings, RateLimited, Rejected, Unavailable
from bythebook.retry import Patience, retry_after_seconds
from tests.support.fakes.embedding_servers import Answer, OpenAIServer, json_answer, running

KEY = "sk-test-4815162342"
BODY = {"model": "text-embedding-3-small", "input": ["a text"], "encoding_format": "float"}


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds

    def patience(self, **changes: Any) -> Patience:
        return Patience(random=Random(7), sleep=self.sleep, clock=lambda: self.now, **changes)


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with running(OpenAIServer(key=KEY, dimension=8)) as server:
        yield server


def ask(url: str, time: Time, *, key: str = KEY, path: str = "embeddings", timeout_seconds: float = 30, **changes: Any) -> Any:
    async def asking() -> Any:
        patience = time.patience(**changes)
        server = EmbeddingServer(
            f"{url}/v1", key=key, key_variable="OPENAI_API_KEY", patience=patience, timeout_seconds=timeout_seconds
        )
        try:
            return await server.post(path, BODY)
        finally:
            await server.close()

    return asyncio.run(asking())


@pytest.mark.parametrize(
    "failure",
    [
        *(Answer(status=status) for status in (429, 500, 502, 503, 504)),
        Answer(body=b'{"data": [', missing_bytes=500),
        Answer(body=b"not gzip", headers={"Content-Encoding": "gzip"}),
    ],
)
def test_what_may_go_better_is_tried_again(openai: OpenAIServer, failure: Answer) -> None:
    openai.answers.extend([failure, failure])
    time = Time()
    assert ask(openai.url, time)["object"] == "list"
    assert len(openai.bodies) == 3
    assert 0 < time.sleeps[0] < 0.5
    assert 0 < time.sleeps[1] < 1


def test_delays_are_drawn_from_a_doubling_range_and_repeat_with_the_seed(openai: OpenAIServer) -> None:
    first, second = Time(), Time()
    for time in (first, second):
        openai.answers.extend([Answer(status=503)] * 6)
        with pytest.raises(Unavailable, match=r"^127\.0\.0\.1 does not answer \(status 503\), asked 6 times; check the network"):
            ask(openai.url, time)
    assert first.sleeps == second.sleeps
    assert len(first.sleeps) == 5
    assert all(0 <= delay <= 0.5 * 2**number for number, delay in enumerate(first.sleeps))


def test_the_server_says_how_long_to_wait(openai: OpenAIServer) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    openai.answers.extend(Answer(status=429, headers={"Retry-After": after}) for after in ("7", moment, "3600"))
    time = Time()
    ask(openai.url, time)
    assert time.sleeps == [7, pytest.approx(29, abs=3), 60]


def test_a_rate_limit_that_lasts(openai: OpenAIServer) -> None:
    openai.answers.extend([Answer(status=429, headers={"Retry-After": "50"})] * 9)
    time = Time()
    with pytest.raises(RateLimited, match=r"accepts no more requests for now, asked 3 times; try again in 50 seconds") as caught:
        ask(openai.url, time)
    assert caught.value.retry_after_seconds == 50
    assert time.sleeps == [50, 50], "a third wait would pass 120 seconds"


def test_a_used_up_quota_is_no_rate_limit(openai: OpenAIServer) -> None:
    error = {"message": "You exceeded your current quota, please check your plan.", "code": "insufficient_quota"}
    openai.answers.append(json_answer(429, {"error": error}))
    with pytest.raises(Rejected, match="You exceeded your current quota"):
        ask(openai.url, Time())
    assert len(openai.bodies) == 1


def test_a_silent_server_runs_into_the_timeout(openai: OpenAIServer) -> None:
    openai.answers.extend([Answer(silent=True)] * 2)
    with pytest.raises(Unavailable, match=r"does not answer \(ReadTimeout\), asked 2 times"):
        ask(openai.url, Time(), timeout_seconds=0.1, tries=2)


def test_nobody_listens(closed_port: int) -> None:
    with pytest.raises(Unavailable, match=r"does not answer \(ConnectError\), asked 6 times"):
        ask(f"http://127.0.0.1:{closed_port}", Time())


@pytest.mark.parametrize(("key", "sentence"), [("sk-wrong", "does not accept the key it was sent"), ("", "asks for a key")])
def test_a_wrong_key_is_said_without_showing_it(openai: OpenAIServer, key: str, sentence: str) -> None:
    with pytest.raises(Rejected, match=f"{sentence}; set OPENAI_API_KEY") as caught:
        ask(openai.url, Time(), key=key)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (json_answer(400, {"error": {"message": "Too\n  long."}}), "status 400 (Too long.)"),
        (json_answer(404, {"message": "no such model"}), "status 404 (no such model)"),
        (json_answer(422, {"detail": f"bad token {KEY}"}), "status 422 (bad token …)"),
        (Answer(status=418, body=b"<h1>" + b"x" * 900), f"status 418 (<h1>{'x' * 196})"),
        (Answer(status=302, body=b"", headers={"Location": "/elsewhere"}), "status 302 (Found)"),
    ],
)
def test_a_refusal_by_the_server_is_told_on_one_line_and_not_repeated(openai: OpenAIServer, answer: Answer, said: str) -> None:
    openai.answers.append(answer)
    with pytest.raises(Rejected) as caught:
        ask(openai.url, Time())
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(openai.bodies) == 1


def test_an_answer_that_is_not_json(openai: OpenAIServer) -> None:
    openai.answers.append(Answer(body=b"<html>Welcome to this hotel"))
    with pytest.raises(Unavailable, match="not JSON"):
        ask(openai.url, Time())


def test_another_path_is_not_the_endpoint(openai: OpenAIServer) -> None:
    with pytest.raises(Rejected, match=r"status 404 \(Invalid URL \(POST /v1/embedding\)\)"):
        ask(openai.url, Time(), path="embedding")


@pytest.mark.parametrize("address", ["", "api.openai.com", "ftp://host/v1", "http://", "http://host:eighty"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(InvalidSettings, match="must be like https://host/path"):
        EmbeddingServer(address, key="", key_variable="OPENAI_API_KEY")


@pytest.mark.parametrize("key", ["sk-1\n", " sk-1", "sk-\u2013"])
def test_a_key_that_cannot_be_sent(key: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^The key in OPENAI_API_KEY has spaces or characters") as caught:
        EmbeddingServer("http://127.0.0.1", key=key, key_variable="OPENAI_API_KEY")
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("header", ["", "soon", "-5", "١٢.x"])
def test_an_unreadable_retry_after_counts_as_none(header: str) -> None:
    assert retry_after_seconds(header) is None


def test_a_retry_after_in_the_past_means_now() -> None:
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_work_is_done_two_at_once_and_returned_in_order() -> None:
    at_work: set[int] = set()
    seen: list[int] = []

    async def work(item: int) -> int:
        at_work.add(item)
        seen.append(len(at_work))
        # The earlier an item, the later it ends.
        for _ in range(20 - item):
            await asyncio.sleep(0)
        at_work.discard(item)
        return item * item

    assert asyncio.run(in_order(work, range(10), at_once=2)) == [item * item for item in range(10)]
    assert max(seen) == 2


def test_the_first_error_ends_all_work() -> None:
    started: list[int] = []

    async def work(item: int) -> int:
        started.append(item)
        if item == 1:
            raise Unavailable("gone")
        await asyncio.Event().wait()
        return item

    with pytest.raises(Unavailable, match="gone"):
        asyncio.run(in_order(work, range(100), at_once=2))
    assert started == [0, 1]
