"""What the libraries' trials come to, row by row, and why ours is behind where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.peers.plot import Bars
from bench.peers.trial import RESULTS, Trial
from bench.ranking import quality
from bench.timing import median, milliseconds, percentile

OURS = "By the Book"
Question = dict[str, Any]
Picture = Literal["quality", "speed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of every library that could be measured. `better` is what to prefer: the higher, or the lower."""

    book: str
    what: str
    figures: Mapping[str, float]
    shown: Callable[[float], str]
    better: Callable[..., float] = max
    why: str = ""
    """Said where ours is not ahead: the reason, and what would mend it."""
    picture: Picture | None = None

    @property
    def behind(self) -> bool:
        return self.figures[OURS] != self.better(self.figures.values())

    def cells(self, libraries: Sequence[str]) -> tuple[str, ...]:
        others = [value for name, value in self.figures.items() if name != OURS]
        level = bool(others) and self.figures[OURS] == self.better(others)
        standing = "behind" if self.behind else "level" if level else "ahead" if others else ""
        told = [self.shown(self.figures[name]) if name in self.figures else "–" for name in libraries]
        return self.book, self.what, *told, f"**{standing}**" if standing == "behind" else standing

    def bars(self) -> Bars:
        most, way = (1.0, "longer") if self.picture == "quality" else (None, "shorter")
        return Bars(title=f"{self.book}: {self.what} ({way} is better)", figures=self.figures, shown=self.shown, most=most)


def rows(book: str, trials: Mapping[str, Trial], questions: Sequence[Question]) -> list[Row]:
    return [*_speed(book, trials), *_quality(book, trials, questions)]


def _each(trials: Mapping[str, Trial], figure: Callable[[Trial], float]) -> dict[str, float]:
    return {name: figure(trial) for name, trial in trials.items()}


def _speed(book: str, trials: Mapping[str, Trial]) -> list[Row]:
    ours = trials[OURS]
    fit, fit_again = (ours.parts.get(name, 0.0) for name in ("calibration", "calibration_again"))
    again = _each(trials, lambda trial: trial.ingest_again_seconds)
    search = (
        "ours searches by meaning and by words, fuses the two and reads the sentences of the best; a single pass over vectors in "
        "memory is cheaper while a book is small. Fewer candidates read closely would be faster, and find less"
    )
    return [
        Row(
            book=book,
            what="ingestion",
            figures=_each(trials, lambda trial: trial.ingest_seconds),
            shown="{:.1f} s".format,
            better=min,
            why=f"{fit:.1f} s of ours fit relevance to the book, which no other library does; without that it takes "
            f"{ours.ingest_seconds - fit:.1f} s. Fitting by fewer made-up questions would be faster, and refuse less surely",
            picture="speed",
        ),
        Row(
            book=book,
            what="one edit, until it is found",
            figures={**again, OURS: again[OURS] - fit_again},
            shown="{:.2f} s".format,
            better=min,
            why="ours reads every file to see which one changed and writes it durably; the fastest is told which one it is. A "
            "watcher that names the file would save the reading",
            picture="speed",
        ),
        Row(
            book=book,
            what="one edit, until all is done",
            figures=again,
            shown="{:.2f} s".format,
            better=min,
            why=f"{fit_again:.1f} s of ours fit relevance to the book again, while it is served. Fitting by what changed alone "
            "would make it short",
        ),
        Row(
            book=book,
            what="search, median",
            figures=_each(trials, lambda trial: median(trial.search_seconds)),
            shown=milliseconds,
            better=min,
            why=search,
            picture="speed",
        ),
        Row(
            book=book,
            what="search, p95",
            figures=_each(trials, lambda trial: percentile(trial.search_seconds, 0.95)),
            shown=milliseconds,
            better=min,
            why=search,
        ),
        Row(
            book=book,
            what="peak memory",
            figures=_each(trials, lambda trial: trial.peak_bytes),
            shown=lambda held: f"{held / 1e6:.0f} MB",
            better=min,
            why="ours has a database, a vector engine and the embeddings of sentences beside the model. Keeping fewer of these "
            "would save some",
        ),
    ]


def _quality(book: str, trials: Mapping[str, Trial], questions: Sequence[Question]) -> list[Row]:
    def scored(figure: str) -> dict[str, float]:
        return _each(trials, lambda trial: getattr(quality(_answerable(trial.ranks, questions)), figure))

    def ranked(what: str, figure: str, picture: Picture | None = None) -> Row:
        why = "ours ranks what a reader can use, sentence by sentence, and loses a lesson here that a plain ranking keeps"
        return Row(book=book, what=what, figures=scored(figure), shown="{:.3f}".format, why=why, picture=picture)

    return [
        ranked("recall@1", "recall_at_1", "quality"),
        ranked("recall@5", "recall_at_5"),
        ranked(f"recall@{RESULTS}", "recall_at_10"),
        ranked(f"MRR@{RESULTS}", "mrr_at_10"),
        Row(
            book=book,
            what="right decision, balanced",
            figures=_each(trials, lambda trial: balanced(trial.refused, questions)),
            shown="{:.1%}".format,
            why="a cut-off that happens to suit this book does better than ours, which never saw these questions. A reader "
            "that tells whether a passage answers would mend it",
            picture="quality",
        ),
        Row(
            book=book,
            what="citations exact",
            figures=_each(trials, lambda trial: trial.exact / trial.shown if trial.shown else 0.0),
            shown="{:.1%}".format,
            why="a quote of ours does not stand in its file, which is a mistake to be mended",
            picture="quality",
        ),
    ]


def balanced(refused: Sequence[bool], questions: Sequence[Question]) -> float:
    """The mean of how often an answerable question is answered and an unanswerable one refused: half for always answering."""
    answered = [not one for one, question in zip(refused, questions, strict=True) if question["answerable"]]
    declined = [one for one, question in zip(refused, questions, strict=True) if not question["answerable"]]
    return (sum(answered) / len(answered) + sum(declined) / len(declined)) / 2


def _answerable(ranks: Sequence[int | None], questions: Sequence[Question]) -> list[int | None]:
    return [rank for rank, question in zip(ranks, questions, strict=True) if question["answerable"]]
