"""Readings and their marks: cut to chunks, packed and unpacked, and never more exact than they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bythebook.books.formats import readers
from bythebook.books.lesson import read_claim, read_lesson
from bythebook.books.model import (
    Book,
    Reading,
    SourceMark,
    SourcePlace,
    fold,
    marks_within,
    pack_readings,
    unpack_readings,
    where,
)

BOOK = Book(book_id="b", title="B")
PLACES = some.builds(
    SourcePlace,
    file=some.text(max_size=5),
    kind=some.sampled_from(["line", "cell", "page", "element", "paragraph"]),
    number=some.integers(1, 9),
    label=some.text(max_size=3),
    line=some.integers(0, 9),
    part=some.text(max_size=3),
    first=some.integers(0, 9),
    last=some.integers(0, 9),
)
MARKS = some.lists(
    some.builds(SourceMark, start=some.integers(0, 9), end=some.integers(9, 20), place=PLACES, exact=some.booleans())
)


def line(number: int, start: int, end: int) -> SourceMark:
    return SourceMark(start=start, end=end, place=SourcePlace(file="f", kind="line", number=number))


@given(MARKS, some.text(), some.none() | some.lists(some.text()).map(tuple))
def test_a_packed_reading_is_unpacked_as_it_was(marks: list[SourceMark], text: str, anchors: tuple[str, ...] | None) -> None:
    reading = Reading(source_file="f/1", file="f", text=text, marks=tuple(marks), anchors=anchors, warnings=("w",))
    assert unpack_readings(pack_readings([reading])) == (reading,)


@pytest.mark.parametrize("damaged", [b"", b"x", pack_readings([])[:-3]])
def test_a_damaged_reading_is_a_value_error(damaged: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # whatever it says: it is read again
        unpack_readings(damaged)


def test_marks_are_cut_to_a_stretch_of_the_text() -> None:
    marks = [line(1, 0, 5), line(2, 6, 10), line(3, 11, 20)]
    assert marks_within(marks, 3, 12) == (line(1, 0, 2), line(2, 3, 7), line(3, 8, 9))
    assert marks_within(marks, 10, 11) == ()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (SourcePlace(file="a.pdf", kind="page", number=52, label="42"), "p. 42"),
        (SourcePlace(file="a.pdf", kind="page", number=52), "p. 52"),
        (SourcePlace(file="a.epub", part="OPS/ch4.xhtml", kind="element", number=7, label="sec"), "ch4.xhtml#sec"),
        (SourcePlace(file="a/b.html", kind="element", number=7), "b.html, paragraph 7"),
        (SourcePlace(file="a.docx", kind="paragraph", number=7), "paragraph 7"),
    ],
)
def test_a_place_in_words(place: SourcePlace, words: str) -> None:
    assert where(place) == words
    assert where(place, exact=False) == f"near {words}"


def test_a_mark_that_claims_to_be_exact_and_is_not_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The range ends at 2³¹.\n\nAn elbow bends twice.\n"
    said = {1: "The range ends at 231.", 2: "An elbow bends once."}
    reading = Reading(source_file="f", file="f", text=text, marks=(line(1, 0, 22), line(2, 24, 45)))
    fake: Any = SimpleNamespace(read=lambda path, raw: (reading,), source_texts=lambda raw: lambda place: said[place.number])
    monkeypatch.setattr(readers, "import_module", lambda name: fake)
    (read,) = readers.read_file(readers.FORMATS[0], "f", b"")
    assert [mark.exact for mark in read.marks] == [True, False]
    pieces = [(text[mark.start : mark.end], mark.place) for mark in reading.marks]
    assert readers.misplaced(readers.FORMATS[0], {"f": b""}, pieces) == [1]


def test_spaces_and_forms_of_letters_do_not_make_a_text_another() -> None:
    assert fold("of\ufb01ce | x²") == fold("office x2") != fold("office x3")


def test_a_markdown_lesson_is_its_own_reading_with_the_ids_it_always_had() -> None:
    source = "# Arms\n\nAn elbow bends in one plane and carries the forearm.\n"
    claim = read_claim(BOOK, "a.md", source)
    made = [
        read_lesson(BOOK, "a.md", source, file_hash="h", claim=claim, id_base="a.md", chapter_title="", reading=reading)
        for reading in (None, Reading(source_file="a.md", file="a.md", text=source))
    ]
    assert made[0] == made[1]
    assert [chunk.id for chunk in made[0].chunks] == ["4d664de0-a3c0-5e7c-8612-acba75f57844"]
    assert made[0].chunks[0].mark_at(10).place == SourcePlace(file="a.md", kind="line", number=3)
