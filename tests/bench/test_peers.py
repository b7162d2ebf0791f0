"""The comparison's own arithmetic, and a whole trial with the one library that is always here: ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.peers.plot import Bars, picture
from bench.peers.rows import OURS, Row, balanced, rows
from bench.peers.side_by_side import LIBRARIES, Failure, environment, table
from bench.peers.trial import Passage, Trial, run

QUESTIONS: list[dict[str, Any]] = [
    {"question": "How hot is the water for green tea?", "lesson": "tea.md", "answerable": True},
    {"question": "Who painted the ceiling?", "lesson": None, "answerable": False},
]


class Librarian:
    """A library that knows one sentence by heart and quotes it badly every second time."""

    packages: Sequence[str] = ("pytest",)

    def __init__(self) -> None:
        self.ingested: list[str] = []

    def ingest(self, book: Path, store: Path) -> None:
        self.ingested = sorted(path.name for path in book.iterdir())

    def ingest_again(self, book: Path, edited: str) -> None:
        self.ingested.append(edited)

    def search(self, question: str) -> list[Passage]:
        return [Passage(lesson="wall.md", text="A wall."), Passage(lesson="tea.md", text="Green tea.")]

    def answer(self, question: str) -> list[Passage]:
        quotes = ["Green tea is brewed at eighty degrees.", "Green tea is brewed at ninety degrees."]
        return [Passage(lesson="tea.md", text=quote) for quote in quotes] if "tea" in question else []


def test_a_trial_counts_ranks_refusals_and_exact_citations(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (book / "tea.md").write_text("Green tea is brewed at eighty degrees.\n", encoding="utf-8")
    (book / "wall.md").write_text("A wall.\n", encoding="utf-8")
    librarian, folder = Librarian(), tmp_path / "trial"
    folder.mkdir()
    trial = run(librarian, book, QUESTIONS, folder)
    assert trial.ranks == [2, None]
    assert trial.refused == [False, True]
    assert (trial.shown, trial.exact) == (2, 1)
    assert librarian.ingested == ["tea.md", "wall.md", "tea.md"]
    assert (book / "tea.md").read_text("utf-8").count("\n") == 1, "the book itself is left as it was"


def test_always_answering_is_half_right() -> None:
    assert balanced([False, False], QUESTIONS) == 0.5
    assert balanced([False, True], QUESTIONS) == 1.0


def row(ours: float, **given: Any) -> Row:
    figures = {**dict.fromkeys(LIBRARIES, 0.5), OURS: ours}
    return Row(book="book", what="figure", figures=figures, shown=str, **given)


def test_a_row_says_where_ours_stands() -> None:
    assert row(0.6).cells(list(LIBRARIES))[-1] == "ahead"
    assert row(0.5).cells(list(LIBRARIES))[-1] == "level"
    assert row(0.6, better=min).cells(list(LIBRARIES)) == ("book", "figure", "0.6", *["0.5"] * 4, "**behind**")


def test_where_ours_is_behind_the_page_says_why_and_a_library_that_failed_is_named() -> None:
    slow = row(0.6, better=min, why="it reads twice. Reading once would mend it", picture="speed")
    without = Row(book="book", what="other", figures={OURS: 1.0, "txtai": 0.5}, shown=str, picture="quality")
    made = table([slow, without], [Failure(library="Haystack", book="book", said="no such module")], {"txtai": "9"})
    assert "- book, figure: it reads twice. Reading once would mend it." in made.note
    assert "- Haystack did not come through book: no such module" in made.note
    assert made.rows[1][3:7] == ("–", "–", "–", "0.5")
    for name, drawn in made.pictures.items():
        assert f"images/{name}" in made.note
        ElementTree.fromstring(drawn)


def test_libraries_that_cannot_be_installed_are_told_of_in_words(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("./no-such-library\n", encoding="utf-8")
    told = environment(requirements / "no-folder", requirements)
    assert isinstance(told, str)
    assert told.startswith("the other libraries could not be installed (")


def test_every_row_has_a_reason_ready() -> None:
    trials = {name: measured(name) for name in LIBRARIES}
    for one in rows("book", trials, QUESTIONS):
        assert one.why
        assert len(one.cells(list(LIBRARIES))) == len(LIBRARIES) + 3
    found = next(one for one in rows("book", trials, QUESTIONS) if one.what == "one edit, until it is found")
    assert found.figures == {**dict.fromkeys(LIBRARIES, 3.0), OURS: 1.0}


def measured(name: str) -> Trial:
    return Trial(
        versions={},
        ingest_seconds=9.0,
        ingest_again_seconds=3.0,
        search_seconds=[0.1, 0.2],
        peak_bytes=5,
        ranks=[1, None],
        refused=[False, True],
        shown=1,
        exact=1,
        parts={"calibration": 4.0, "calibration_again": 2.0} if name == OURS else {},
    )


def test_the_picture_is_an_svg_with_a_bar_for_each() -> None:
    bars = Bars(title="recall <1>", figures={"ours": 1.0, "theirs": 0.25}, shown=str, most=1.0)
    drawn = ElementTree.fromstring(picture([bars], "Side by side"))
    rectangles = list(drawn.iter("{http://www.w3.org/2000/svg}rect"))
    assert [float(one.attrib["width"]) for one in rectangles if one.attrib["class"] != "track"] == [544.0, 136.0]
