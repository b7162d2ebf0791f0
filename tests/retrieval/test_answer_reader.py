"""The reader with its real weights: what it says of statements, and what becomes of weights that are not whole."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bythebook.embedding.granite import GraniteEmbedder
from bythebook.errors import StorageFailure
from bythebook.retrieval import answer_reader
from bythebook.retrieval.answer_reader import WEIGHTS, AnswerReader
from bythebook.retrieval.sentence_reader import SentenceReader
from tests.support.made_chunks import chunk

LAMP = (
    "The lamp of Hollow Point burns rape oil. It was lit for the first time in 1841. The keeper trims the wick twice a night, "
    "because a long wick smokes. Visitors climb 212 steps."
)


@pytest.fixture(scope="module")
def reader() -> Iterator[AnswerReader]:
    made = AnswerReader()
    yield made
    asyncio.run(made.close())


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("What does the lamp of Hollow Point burn?", 0),
        ("When was the lamp first lit?", 1),
        ("Why is the wick trimmed?", 2),
        ("how many steps are there to the top", 3),
    ],
)
def test_the_statement_that_answers_has_the_best_score(reader: AnswerReader, question: str, place: int) -> None:
    (scores,) = asyncio.run(reader.read(question, [chunk(LAMP)]))
    told = [-99.0 if score is None else score for score in scores]
    assert told.index(max(told)) == place


def test_a_fact_that_is_missing_is_told_from_one_that_is_there(reader: AnswerReader) -> None:
    def best(question: str) -> float:
        (scores,) = asyncio.run(reader.read(question, [chunk(LAMP)]))
        return max(score for score in scores if score is not None)

    assert best("When was the lamp first lit?") > 0 > best("Who built the tower?")


def test_headings_and_questions_are_not_scored(reader: AnswerReader) -> None:
    (scores,) = asyncio.run(reader.read("What is oil?", [chunk("## Oil\n\nWhat is oil? Oil is what lamps burn.")]))
    assert [score is None for score in scores] == [True, True, False]


def test_what_does_not_fit_is_not_read_and_hostile_text_is_read_like_any_other(reader: AnswerReader) -> None:
    long = "\n\n".join(f"Lamp number {number} hangs in the tower and burns all night long." for number in range(60))
    (scores,) = asyncio.run(reader.read("Which lamps burn?" * 200, [chunk(long)]))
    assert scores[0] is not None
    assert scores[-1] is None
    (strange,) = asyncio.run(reader.read("\ud800 <s></s>", [chunk("<s>\udfff " + "x" * 20_000)]))
    assert len(strange) >= 1


def test_headings_that_leave_no_room_are_not_repeated(reader: AnswerReader) -> None:
    """A heading as long as a paragraph, several in a row: nothing was left of the input for the statement after them."""
    long = " ".join(f"Chapter {number} of the keeper's great book" for number in range(40))
    text = "\n\n".join([*(f"## {long}" for _ in range(4)), "The lamp burns rape oil.", f"## {long}", "It was lit in 1841."])
    (scores,) = asyncio.run(reader.read("What does the lamp of the tower burn? " * 12, [chunk(text)]))
    assert scores[-3] is not None


def test_no_passage_needs_no_weights(tmp_path: Path) -> None:
    assert asyncio.run(AnswerReader(tmp_path / "none").read("What?", [])) == []


def test_weights_that_are_missing_or_damaged_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageFailure, match=r"The reader's weights cannot be read .* Searching still works"):
        asyncio.run(AnswerReader(tmp_path / "none").read("What?", [chunk(LAMP)]))
    damaged = tmp_path / "reader.pack"
    damaged.write_bytes(WEIGHTS.read_bytes()[:-8] + b"damaged!")
    monkeypatch.setattr(answer_reader, "WEIGHTS", damaged)
    with pytest.raises(StorageFailure, match=r"are damaged .* pip install --force-reinstall bythebook"):
        asyncio.run(AnswerReader().read("What?", [chunk(LAMP)]))


def test_the_reader_decides_among_statements_with_the_same_words(reader: AnswerReader) -> None:
    async def first(question: str, *texts: str) -> str:
        embedder = GraniteEmbedder()
        chunks = [chunk(text, index=index) for index, text in enumerate(texts)]
        read = await SentenceReader(embedder, reader).read(question, chunks, "en")
        await embedder.close()
        return read[0].statement.readable

    announces = "This page will help you to keep salt out of the lamp oil of the tower."
    answers = "Strain the oil through linen and keep the lid shut, and no salt gets in."
    assert asyncio.run(first("How do I keep salt out of the lamp oil?", announces, answers)) == answers
