"""`bythebook model check`: a model tried on the sample book, and servers of this machine that are suggested."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from bythebook.cli.demo import sample_book
from bythebook.drafting import local_servers
from bythebook.drafting.local_servers import LocalServer, find_local_servers
from tests.cli.conftest import Cli
from tests.support.fakes.openai_server import ChatServer, Fails, Json, Says, running

SENTENCE = re.compile(r"^[A-Z][a-z ,]{30,}\.", re.MULTILINE)


def copies(body: Json) -> Says:
    """Answers with a sentence of the book, and judges that everything is supported."""
    if "tools" not in body:
        return Says(text='{"verdicts": []}')
    results = json.loads(body["messages"][-1]["content"])["results"]
    found = next(((one["label"], said[0]) for one in results if (said := SENTENCE.search(one["chunk_text"]))), None)
    if found is None:
        return Says(text='{"answered": false, "search": "", "sentences": []}')
    sentence = {"quote": found[1], "label": int(found[0].strip("[]")), "text": found[1]}
    return Says(text=json.dumps({"answered": True, "search": "", "sentences": [sentence]}), piece=200)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ChatServer:
    server = ChatServer(key="", model="small")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_MODEL", "small")
    return server


def test_a_model_that_follows_the_protocol(cli: Cli, model: ChatServer) -> None:
    model.turns.extend([copies] * 30)
    with running(model):
        outcome = cli("model", "check")
    assert outcome.code == 0, outcome.err
    assert "protocol    followed" in outcome.out
    assert re.search(r"answered +[1-9] of 9", outcome.out)
    assert "first words" in outcome.out
    assert not model.refused


def judged(body: Json, *, yes: set[str] | None) -> Says:
    """Says yes to the sentences of `yes`, to all where it is None, with words of the passage."""
    if "tools" in body:
        return copies(body)
    shown = json.loads(body["messages"][-1]["content"])
    verdicts = [
        {
            "n": one["n"],
            "words": shown["passages"][one["passages"][0]].split("\n\n")[-1][:40],
            "supported": yes is None or one["sentence"] in yes,
        }
        for one in shown["sentences"]
    ]
    return Says(text=json.dumps({"verdicts": verdicts}), piece=200)


def labelled() -> list[Json]:
    return [json.loads(line) for line in (sample_book() / "sentences.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("knows", "removed"), [(True, 12), (False, 0)])
def test_a_judge_is_tried_with_true_and_wrong_sentences(cli: Cli, model: ChatServer, knows: bool, removed: int) -> None:
    yes = {one["true"] for one in labelled()} if knows else None
    model.turns.extend([lambda body: judged(body, yes=yes)] * 40)
    with running(model):
        outcome = cli("model", "check", "--json")
    assert outcome.code == 0, outcome.err
    judge = json.loads(outcome.out)["judge"]
    assert (judge["true"], judge["true_released"], judge["wrong"], judge["wrong_removed"]) == (12, 12, 12, removed)
    assert judge["undecided"] == 0
    assert all(one["by"] == "judge" for one in judge["verdicts"])
    assert not model.refused


@pytest.mark.parametrize(
    ("yes", "told"),
    [
        (None, ["released    12 of 12 true", "removed     0 of 12 wrong", "does not tell true sentences from wrong ones"]),
        (set(), ["released    0 of 12 true", "removed     12 of 12 wrong", "does not tell true sentences from wrong ones"]),
    ],
)
def test_a_judge_that_always_says_the_same_is_told_plainly(
    cli: Cli, model: ChatServer, yes: set[str] | None, told: list[str]
) -> None:
    model.turns.extend([lambda body: judged(body, yes=yes)] * 40)
    with running(model):
        outcome = cli("model", "check")
    assert [one for one in told if one not in outcome.out] == [], outcome.out
    wrong = [f"- released, though wrong: {one['wrong']}" for one in labelled()]
    lost = [f"- removed, though true: {one['true']}" for one in labelled()]
    assert [one in outcome.out for one in (*wrong, *lost)] == [yes is None] * 12 + [yes is not None] * 12


def test_a_judge_that_answers_in_prose_decides_nothing(cli: Cli, model: ChatServer) -> None:
    model.turns.extend([lambda body: copies(body) if "tools" in body else Says(text="They all look fine to me.")] * 40)
    with running(model):
        outcome = cli("model", "check")
    assert "no usable answer about any of them" in outcome.out, outcome.out
    assert not re.search(r"(?:released|removed) +\d+ of 12 ", outcome.out), "the words' figures are not the judge's"
    assert "BYTHEBOOK_CHECK=words" in outcome.out


def test_no_judge_is_tried_where_words_decide(cli: Cli, model: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_CHECK", "words")
    model.turns.extend([copies] * 30)
    with running(model):
        outcome = cli("model", "check", "--json")
    assert json.loads(outcome.out)["judge"] is None
    assert all("tools" in body for body in model.bodies)


def test_a_model_that_fails_is_told_plainly(cli: Cli, model: ChatServer) -> None:
    model.turns.extend([Fails(status=401, message="no")] * 12)
    with running(model):
        outcome = cli("model", "check")
    assert outcome.code == 1
    assert "protocol    not followed" in outcome.out
    assert "asks for a key" in outcome.out


def test_without_a_model_local_servers_are_suggested_and_not_used(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    async def found() -> list[LocalServer]:
        return [LocalServer(name="Ollama", base_url="http://127.0.0.1:11434/v1", models=("qwen2.5:7b",))]

    monkeypatch.setattr(local_servers, "find_local_servers", found)
    outcome = cli("model", "check")
    assert outcome.code == 0
    assert "No model is configured" in outcome.out
    assert "export OPENAI_BASE_URL=http://127.0.0.1:11434/v1" in outcome.out


@pytest.mark.parametrize(
    ("reply", "models"),
    [
        (b'HTTP/1.1 200 OK\r\n\r\n{"data": [{"id": "small"}, {"id": 3}, 4]}', ("small",)),
        (b"HTTP/1.1 404 Not Found\r\n\r\n{}", None),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", None),
        (b"SSH-2.0-OpenSSH_9", None),
        (b"", None),
    ],
)
def test_only_what_lists_models_is_a_model_server(reply: bytes, models: tuple[str, ...] | None) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await writer.drain()
        writer.close()

    async def look() -> list[LocalServer]:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            return await find_local_servers({"Ollama": server.sockets[0].getsockname()[1]})

    assert [one.models for one in asyncio.run(look())] == ([models] if models else [])
