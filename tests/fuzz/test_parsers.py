"""Every parser of what others wrote, fuzzed: whatever comes, the result keeps its invariants or is an error with a sentence, and
soon. A part in `make test`, the rest in `make soak` (`FUZZ_SECONDS` for each target, 330: an hour together)."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile

import httpx
import pytest
from markdown_it import MarkdownIt
from pydantic import ValidationError

from bythebook.answering.markdown import harmless, read_exchange
from bythebook.books.formats.readers import format_of, read_file
from bythebook.books.frontmatter import read_frontmatter
from bythebook.drafting.openai_agents.judge_form import read_verdicts
from bythebook.drafting.openai_agents.search_arguments import read_arguments
from bythebook.errors import BookError
from bythebook.evaluation.files import read_cases
from bythebook.web.completions.request import CompletionRequest
from bythebook.web.render.html import render_passage
from bythebook.wiring import reader
from tests.books.test_properties import check_chain, check_partition, lesson_of
from tests.drafting.openai_agents.test_answer_form import read as read_stream
from tests.fuzz.mutations import mutated, seeds
from tests.support.lighthouse import make_embedder
from tests.support.serving import Service, running, silent
from tests.web.render.test_html import Read, assert_harmless

IN_MAKE_TEST = 60
SECONDS_EACH = 3.0
"""Processor time for 20,000 characters at most, with room for a busy machine."""
LENIENT = MarkdownIt("commonmark", {"html": True}).enable("table")
LIVE = {"script", "iframe", "object", "embed", "svg", "math", "style", "form", "base", "meta", "link", "template"}
SECRET = "a secret of the tests, long enough"


def frontmatter(text: str) -> None:
    front = read_frontmatter(text)
    assert 0 <= front.body_start <= len(text)


def lesson(text: str) -> None:
    source = text.replace("\x00", "")
    made = lesson_of(source)
    check_partition(source, made)
    check_chain(made)


def page(text: str) -> None:
    assert_harmless(render_passage(text))


def export(text: str) -> None:
    read = Read(LENIENT.render(harmless(text)))
    assert not LIVE & set(read.tags)
    assert [name for name, _ in read.attributes if name.startswith("on")] == []


def notebook(text: str) -> None:
    kind = format_of("a.ipynb")
    assert kind is not None
    read_file(kind, "a.ipynb", text.encode("utf-8", "replace"))


def questions(text: str) -> None:
    with NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(text.encode("utf-8", "replace"))
        file.flush()
        read_cases(Path(file.name))


def model_stream(text: str) -> None:
    for piece in (7, 100_000):
        sentences, _ = read_stream(text, piece)
        assert sum(len(sentence) for sentence, _ in sentences) <= 2 * len(text) + 100


def verdicts(text: str) -> None:
    assert len(read_verdicts(text, 3)) == 3


def search_arguments(text: str) -> None:
    assert 1 <= read_arguments(text).top_k <= 20


def completions(text: str) -> None:
    read_exchange("What?", text)
    try:
        body = CompletionRequest.model_validate_json(text)
        body.check()
        body.chore()
        body.conversation()
    except ValidationError:
        pass


TARGETS: dict[str, Callable[[str], None]] = {
    one.__name__: one
    for one in (frontmatter, lesson, page, export, notebook, questions, model_stream, verdicts, search_arguments, completions)
}
CORPORA = {"page": "lesson", "export": "lesson", "verdicts": "model_stream", "search_arguments": "model_stream"}


def fuzz(name: str, target: Callable[[str], None], numbers: Iterator[int]) -> int:
    """How many inputs were tried. What fails is shown whole, to be put into the corpus."""
    known = seeds(CORPORA.get(name, name))
    tried = 0
    for number in numbers:
        text = known[number] if number < len(known) else mutated(known, Random(f"{name} {number}"))
        began, sentence = time.process_time(), "none"
        try:
            target(text)
        except BookError as error:
            sentence = str(error)
        except Exception as error:
            raise AssertionError(f"{name}, input {number}: {text!r}") from error
        seconds = time.process_time() - began
        assert sentence, f"{name}, input {number}, without a sentence: {text!r}"
        assert seconds < SECONDS_EACH, f"{name}, input {number}, {seconds:.1f} s: {text!r}"
        tried += 1
    return tried


def for_seconds() -> Iterator[int]:
    end, start = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "330")), time.time_ns() % 1_000_000_000
    for number in count(1000 + start):
        if time.monotonic() > end:
            return
        yield number


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_takes_whatever_comes(name: str) -> None:
    assert fuzz(name, TARGETS[name], iter(range(IN_MAKE_TEST))) == IN_MAKE_TEST


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_takes_whatever_comes_for_long(name: str) -> None:
    print(f"\n{name}: {fuzz(name, TARGETS[name], for_seconds()):,} inputs")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "open_embedder", lambda _: make_embedder())
        folder, source = tmp_path_factory.mktemp("fuzz"), "light=https://host.example/me/light#main"
        with silent(), running(folder, github_webhook_secret=SECRET, git_sources=source) as there:
            yield there


def webhook(client: httpx.Client) -> Callable[[str], None]:
    def send(text: str) -> None:
        body = text.encode("utf-8", "replace")[:9000]
        signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature-256": signature, "X-GitHub-Event": "push", "Content-Type": "application/json"}
        response = client.post("/webhooks/github", content=body, headers=headers)
        assert response.status_code in (202, 404, 422), response.text
        assert json.loads(response.text)

    return send


def test_a_signed_webhook_takes_whatever_comes(service: Service) -> None:
    with service.client() as client:
        assert fuzz("webhook", webhook(client), iter(range(IN_MAKE_TEST))) == IN_MAKE_TEST


@pytest.mark.soak
def test_a_signed_webhook_takes_whatever_comes_for_long(service: Service) -> None:
    with service.client() as client:
        print(f"\nwebhook: {fuzz('webhook', webhook(client), for_seconds()):,} inputs")
