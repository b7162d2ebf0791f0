"""What readers are told is words: no Markdown, HTML, directive, role or label of the book's source stands in a sentence."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from bythebook.answering.answer import Answered, Sentence
from bythebook.answering.answerer import Answerer
from bythebook.answering.question import Question
from bythebook.cli.demo import sample_book
from bythebook.retrieval.query import Scope
from bythebook.settings import read_settings
from bythebook.wiring.author import open_resources
from scripts.count_markup import MARK
from tests.support.sample_library import sample_library
from tests.support.soak import soak_size

ASKED = 12
WORDS = ("sentence", "item", "row", "heading")
LABEL = re.compile(
    r":(?:numref|eqref|ref|cite|label|width):|\b(?:sec|fig|eq|tab|chap|subsec)_\w+|(?<!\w)_[^\W_][^_]*_(?!\w)|\*\w|\\[a-z]{2,}"
)


def marks(text: str) -> list[str]:
    return [*MARK.findall(text), *LABEL.findall(text)]


@pytest.mark.parametrize(
    "text", ["A **node** talks.", "See [here](x.md).", "As :numref:`fig_arm` shows.", "In <b>bold</b>.", r"Of \ell_2."]
)
def test_a_mark_is_seen(text: str) -> None:
    assert marks(text)


def test_no_markup_in_the_sentences_of_answers(folder: Path) -> None:
    _count(folder, ASKED)


@pytest.mark.soak
def test_no_markup_in_the_sentences_of_200_answers(folder: Path) -> None:
    _count(folder, soak_size(200, least=ASKED))


def _count(folder: Path, asked: int) -> None:
    lines = (sample_book() / "questions.jsonl").read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["answerable"] and not case["history"] and not case["filters"]]
    said = asyncio.run(_sentences(sample_library(folder), [case["question"] for case in cases[:: max(1, len(cases) // asked)]]))
    assert len(said) > asked
    assert {text: found for text in said if (found := marks(text))} == {}


async def _sentences(data: Path, questions: list[str]) -> list[str]:
    async with open_resources(read_settings(data_dir=data)) as resources:
        return [sentence.text for question in questions for sentence in await _asked(resources.answerer, question)]


async def _asked(answerer: Answerer, question: str) -> list[Sentence]:
    scope = Scope(book_id="physical-ai-robotics")
    last = [event async for event in answerer.answer(Question(text=question, scope=scope))][-1]
    sentences = last.answer.sentences if isinstance(last, Answered) else ()
    return [sentence for sentence in sentences if sentence.kind in WORDS]
