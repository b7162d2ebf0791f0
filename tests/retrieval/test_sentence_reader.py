"""Which sentence answers: judged by what comes first when the candidates stand side by side."""

from __future__ import annotations

import asyncio

import pytest

from bythebook.books.model import Chunk
from bythebook.retrieval.answer_shapes import Shape, asked_for
from bythebook.retrieval.sentence_reader import LOOKED_AT, ReadStatement, SentenceReader, all_stems, surroundings
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.made_chunks import chunk


def read(question: str, *texts: str, language: str = "en", **given: str) -> tuple[ReadStatement, ...]:
    chunks = [chunk(text, index=index, **given) for index, text in enumerate(texts)]
    return asyncio.run(SentenceReader(SmallEmbedder(dimension=256)).read(question, chunks, language))


def best(question: str, *texts: str) -> str:
    return read(question, *texts)[0].statement.readable


@pytest.mark.parametrize(
    ("question", "shape"),
    [
        ("What is a node?", "definition"),
        ("What is the disadvantage of chunking?", "plain"),
        ("What is the difference between a node and a process?", "comparison"),
        ("absolute vs relative names", "comparison"),
        ("How many joints does a hand have?", "number"),
        ("At what frequency does it run?", "number"),
        ("Why does my robot fall? It is new.", "cause"),
        ("It falls. What is the probable reason?", "cause"),
        ("How do I start two copies?", "steps"),
        ("List the folders.", "listing"),
        ("Which line picks the hardware?", "code"),
        ("What formula gives the port?", "formula"),
        ("Can you give an example?", "example"),
        ("When may I take it off its tether?", "time"),
        ("I set a value. Would ROS tell me?", "plain"),
    ],
)
def test_a_question_asks_for_something(question: str, shape: Shape) -> None:
    assert asked_for(question, "en") == shape
    assert asked_for(question, "de") == "plain"


def test_the_definition_comes_before_other_sentences_about_the_word() -> None:
    text = "A node is not a process. Many people start a node by hand. A **node** is a participant that does one job."
    assert best("What is a node?", text) == "A node is a participant that does one job."


def test_a_number_is_preferred_where_one_is_asked_for() -> None:
    text = "The hand has strong joints. The hand has 21 joints."
    assert best("How many joints does a hand have?", text) == "The hand has 21 joints."


def test_a_cause_is_preferred_where_one_is_asked_for() -> None:
    text = "The robot falls at night. The robot falls because its battery is low."
    assert best("Why does the robot fall?", text) == "The robot falls because its battery is low."


def test_a_sentence_is_understood_with_the_one_before_it() -> None:
    found = read("Which fields has the sensor header?", "Bolts are cheap. The sensor header comes first. It has two fields.")
    scores = {one.statement.readable: one.score for one in found}
    assert scores["It has two fields."] > scores["Bolts are cheap."]


@pytest.mark.parametrize(
    "text",
    [
        "Why does the timer delay callbacks?",
        "- Why does the timer delay callbacks?",
        "Explain why the timer can delay callbacks.",
        "**Tutor:** \u201cRe-explain why the timer delays callbacks.\u201d",
        "## Why the timer delays callbacks",
    ],
)
def test_what_repeats_the_question_is_no_answer(text: str) -> None:
    found = read("Why does the timer delay callbacks?", f"{text}\n\nOne thread runs everything in turn.")
    assert [one.statement.readable for one in found] == ["One thread runs everything in turn."]


def test_sections_that_ask_come_last() -> None:
    found = read("Which port has domain 7?", "Domain ports grow.\n\n## Check yourself\n\n1. The port of domain 7 is wanted.")
    assert found[-1].statement.readable == "The port of domain 7 is wanted."


def test_only_the_best_statements_are_embedded_and_each_once() -> None:
    embedder = SmallEmbedder()
    reader = SentenceReader(embedder)
    one = chunk(" ".join(f"Sentence {number} is about legs." for number in range(40)))
    first = asyncio.run(reader.read("What are legs?", [one], "en"))
    assert len(first) == 40
    assert len(embedder.embedded) == LOOKED_AT == sum(read.cosine > 0 for read in first)
    assert asyncio.run(reader.read("What are legs?", [one], "en")) == first
    assert len(embedder.embedded) == LOOKED_AT


def test_the_rarity_of_the_book_weighs_words() -> None:
    one = chunk("The gearbox hums. The robot walks.")
    reader = SentenceReader(SmallEmbedder())
    common = {"robot": 0.1, "gearbox": 9.0}
    found = asyncio.run(reader.read("robot gearbox", [one], "en", rarity=common))
    coverages = {read.statement.readable: read.coverage for read in found}
    assert coverages["The gearbox hums."] == pytest.approx(9.0 / 9.1)
    assert coverages["The robot walks."] == pytest.approx(0.1 / 9.1)


def test_nothing_to_read_gives_nothing() -> None:
    none: list[Chunk] = []
    assert asyncio.run(SentenceReader(SmallEmbedder()).read("What is a node?", none, "en")) == ()
    assert read("What is a node?", "## Nodes") == ()


def test_other_languages_are_read_by_their_words() -> None:
    found = read("Was ist ein Gelenk?", "Der Motor brummt. Ein Gelenk verbindet zwei Glieder.", language="de")
    assert found[0].statement.readable == "Ein Gelenk verbindet zwei Glieder."


def test_a_statement_is_embedded_with_what_follows_it_under_its_heading() -> None:
    embedder = SmallEmbedder()
    one = chunk("Legs bend. They need oil.\n\n## Arms\n\nArms reach.")
    asyncio.run(SentenceReader(embedder).read("What do legs need?", [one], "en"))
    assert sorted(embedder.embedded) == ["Arms reach.", "Legs bend. They need oil.", "They need oil."]


def test_what_stands_around_a_statement_and_in_a_whole_chunk() -> None:
    text = "Gears turn. Belts slip. Legs bend. Feet land. Toes curl."
    one = chunk(text)
    read = asyncio.run(SentenceReader(SmallEmbedder()).read("Do legs bend?", [one], "en"))
    legs = next(each for each in read if "Legs" in each.statement.readable)
    around = surroundings(legs, "en")
    assert {"gear", "belt", "leg", "feet"} <= around
    assert "toe" not in around
    assert around | {"toe", "curl"} <= all_stems(one, "en")


def said_already(question: str, text: str) -> float:
    async def ask() -> float:
        reader = SentenceReader(SmallEmbedder(dimension=256))
        return await reader.said_already(question, (await reader.read(question, [chunk(text)], "en"))[:3])

    return asyncio.run(ask())


def test_a_question_adds_little_to_the_statement_that_answers_it() -> None:
    statement = "The lamp is lit at dusk by the keeper."
    near, far = said_already("When is the lamp lit?", statement), said_already("Who painted the old harbour?", statement)
    assert 0.0 <= far < near <= 1.0


def test_a_question_is_not_held_to_be_answered_for_its_length() -> None:
    """A short one moves the statement less, whatever it asks."""
    statement = "The lamp is lit at dusk by the keeper, and put out by the boy at dawn."
    short, long = said_already("Painted harbour?", statement), said_already("Who painted the old harbour wall?", statement)
    assert short - long < 0.03  # 0.04 where nothing is made up for


def test_where_nothing_was_read_nothing_is_said() -> None:
    assert asyncio.run(SentenceReader(SmallEmbedder()).said_already("When is the lamp lit?", ())) == 0.0
