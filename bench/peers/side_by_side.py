"""All libraries on the same books and questions, one after the other, as one table and one picture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.material import SQUAD, squad_book
from bench.peers.plot import bars
from bench.peers.trial import RESULTS, Trial
from bench.ranking import quality
from bench.table import Table
from bench.timing import median, milliseconds, percentile
from bench.workshop import Workshop
from bythebook.cli.demo import sample_book

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "peers.svg"
ENVIRONMENT = ROOT / ".venv" / "peers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
OURS = "By the Book"
LIBRARIES = {
    OURS: "ours",
    "LlamaIndex": "llamaindex",
    "Haystack": "haystack",
    "LangChain": "langchain",
    "txtai": "txtai",
}
Question = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of every library. `better` is what to prefer: the higher, or the lower."""

    what: str
    figures: dict[str, float]
    shown: Callable[[float], str]
    better: Callable[..., float] = max
    why: str = ""
    """Said where ours is not ahead."""

    def cells(self) -> tuple[str, ...]:
        ours, best = self.figures[OURS], self.better(self.figures.values())
        others = self.better(value for name, value in self.figures.items() if name != OURS)
        standing = "behind: " + self.why if ours != best else "level" if ours == others else "ahead"
        return self.what, *(self.shown(self.figures[name]) for name in LIBRARIES), standing.removesuffix(": ")


def peers(workshop: Workshop) -> Table:
    python = _environment()
    sample = _measured(python, workshop, "sample book", sample_book(), sample_questions()[: workshop.sizes.questions])
    rows = list(_rows("sample book", *sample))
    if SQUAD.exists():
        folder = workshop.folder / "books" / "squad"
        questions = squad_questions(folder)[:: max(1, 2_917 // workshop.sizes.peer_questions)]
        rows += _rows("SQuAD 2.0, half", *_measured(python, workshop, "SQuAD", folder, questions))
    PICTURE.write_text(bars([(row.what, row.figures) for row in rows if row.what in _pictured(rows)]), encoding="utf-8")
    versions = {name: number for trial in sample[0].values() for name, number in trial.versions.items()}
    return Table(
        title="Beside other libraries",
        columns=("what", *LIBRARIES, ""),
        rows=tuple(row.cells() for row in rows),
        note="![The same figures as bars](peers.svg)\n\n"
        "Each library in a process of its own, with the same lessons, questions and embedding weights, as its own documentation "
        "sets it up (`bench/peers/`, one file each). Without a language model none of the others writes an answer: it is "
        "taken to refuse when its documented cut-off leaves no passage to answer from, and its citation is exact when the "
        "passage it shows stands in the file it names, character for character. Our ingestion includes calibration, which the "
        "others do not have. Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()) + ".",
    )


def sample_questions() -> list[Question]:
    """Those of the sample book that need no filter; one that follows others is asked as it would stand alone."""
    rows = [json.loads(line) for line in (sample_book() / "questions.jsonl").read_text("utf-8").splitlines()]
    return [
        _question(row["standalone"] or row["question"], row["lesson"], row["answerable"]) for row in rows if not row["filters"]
    ]


def squad_questions(folder: Path) -> list[Question]:
    """Those that a paragraph answers and those written to look as if it did."""
    squad_book(folder)
    questions = []
    for article in json.loads(SQUAD.read_text("utf-8"))["data"]:
        for number, paragraph in enumerate(article["paragraphs"], start=1):
            path = f"{article['title']}/{number:03}.md"
            questions += [_question(asked["question"], path, not asked["is_impossible"]) for asked in paragraph["qas"]]
    return questions


def _question(text: str, lesson: str | None, answerable: bool) -> Question:
    return {"question": text, "lesson": lesson, "answerable": answerable}


def _measured(
    python: Path, workshop: Workshop, name: str, book: Path, questions: Sequence[Question]
) -> tuple[dict[str, Trial], Sequence[Question]]:
    path = workshop.folder / f"questions of {name}.jsonl"
    path.write_text("\n".join(json.dumps(question) for question in questions), encoding="utf-8")
    trials = {}
    for library, module in LIBRARIES.items():
        program = Path(sys.executable) if library == OURS else python
        command = [str(program), "-m", "bench.peers.trial", module, str(book), str(path)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment)
        trials[library] = Trial(**json.loads(ended.stdout.splitlines()[-1]))
    return trials, questions


def _rows(book: str, trials: dict[str, Trial], questions: Sequence[Question]) -> list[Row]:
    def each(figure: Callable[[Trial], float]) -> dict[str, float]:
        return {name: figure(trial) for name, trial in trials.items()}

    def scored(figure: str) -> dict[str, float]:
        return each(lambda trial: getattr(quality(_answerable(trial.ranks, questions)), figure))

    return [
        Row(
            what=f"{book}: ingestion",
            figures=each(lambda trial: trial.ingest_seconds),
            shown="{:.1f} s".format,
            better=min,
            why="a third or more of ours is calibration; the embeddings take about the same",
        ),
        Row(
            what=f"{book}: ingestion again after one edit",
            figures=each(lambda trial: trial.ingest_again_seconds),
            shown="{:.2f} s".format,
            better=min,
            why="ours checks every file and fits its calibration again; the fastest is told what changed, or cannot notice",
        ),
        Row(
            what=f"{book}: search, median",
            figures=each(lambda trial: median(trial.search_seconds)),
            shown=milliseconds,
            better=min,
            why="ours fuses two searches and looks at sentences; a single in-memory scan is cheaper on a small book",
        ),
        Row(
            what=f"{book}: search, p95",
            figures=each(lambda trial: percentile(trial.search_seconds, 0.95)),
            shown=milliseconds,
            better=min,
            why="as above",
        ),
        Row(
            what=f"{book}: peak memory",
            figures=each(lambda trial: trial.peak_bytes),
            shown=lambda held: f"{held / 1e6:.0f} MB",
            better=min,
            why="the index and its sentence cache are held beside the model",
        ),
        Row(what=f"{book}: recall@1", figures=scored("recall_at_1"), shown="{:.3f}".format),
        Row(what=f"{book}: recall@5", figures=scored("recall_at_5"), shown="{:.3f}".format),
        Row(what=f"{book}: recall@{RESULTS}", figures=scored("recall_at_10"), shown="{:.3f}".format),
        Row(what=f"{book}: MRR@{RESULTS}", figures=scored("mrr_at_10"), shown="{:.3f}".format),
        Row(
            what=f"{book}: right decision, balanced",
            figures=each(lambda trial: balanced(trial.refused, questions)),
            shown="{:.1%}".format,
        ),
        Row(
            what=f"{book}: citations exact",
            figures=each(lambda trial: trial.exact / trial.shown if trial.shown else 0.0),
            shown="{:.1%}".format,
        ),
    ]


def balanced(refused: Sequence[bool], questions: Sequence[Question]) -> float:
    """The mean of how often an answerable question is answered and an unanswerable one refused: half for always answering."""
    answered = [not one for one, question in zip(refused, questions, strict=True) if question["answerable"]]
    declined = [one for one, question in zip(refused, questions, strict=True) if not question["answerable"]]
    return (sum(answered) / len(answered) + sum(declined) / len(declined)) / 2


def _answerable(ranks: Sequence[int | None], questions: Sequence[Question]) -> list[int | None]:
    return [rank for rank, question in zip(ranks, questions, strict=True) if question["answerable"]]


def _pictured(rows: Sequence[Row]) -> set[str]:
    wanted = ("MRR", "balanced", "exact")
    return {row.what for row in rows if any(word in row.what for word in wanted)}


def _environment() -> Path:
    """The peers' own virtual environment, made once: none of them is a dependency of the product."""
    python = ENVIRONMENT / "bin" / "python"
    made = ENVIRONMENT / "made"
    if not made.exists() or made.read_text() != REQUIREMENTS.read_text():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", REQUIREMENTS], check=True)
        made.write_text(REQUIREMENTS.read_text())
    return python
