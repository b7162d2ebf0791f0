"""The comparison's own arithmetic, and a whole trial with the one library that is always here: ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.peers.plot import bars
from bench.peers.side_by_side import LIBRARIES, OURS, Row, balanced
from bench.peers.trial import Passage, run

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


def test_a_row_says_where_ours_stands() -> None:
    figures = dict.fromkeys(LIBRARIES, 0.5)
    assert Row(what="recall", figures={**figures, OURS: 0.6}, shown=str).cells()[-1] == "ahead"
    assert Row(what="recall", figures=figures, shown=str).cells()[-1] == "level"
    assert Row(what="time", figures={**figures, OURS: 0.6}, shown=str, better=min, why="slow").cells()[-1] == "behind: slow"


def test_the_picture_is_an_svg_with_a_bar_for_each() -> None:
    picture = ElementTree.fromstring(bars([("recall <1>", {"ours": 1.0, "theirs": 0.25})]))
    widths = [float(bar.attrib["width"]) for bar in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths == [450.0, 112.5]
