"""All libraries on the same books and questions, one after the other, as one table and two pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.material import SQUAD, squad_book
from bench.peers.plot import picture
from bench.peers.rows import OURS, Question, Row, rows
from bench.peers.trial import Trial
from bench.table import Table
from bench.workshop import Workshop
from bythebook.cli.demo import sample_book
from bythebook.ingestion.calibrator import for_fitting

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv" / "peers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
LIBRARIES = {
    OURS: "ours",
    "LlamaIndex": "llamaindex",
    "Haystack": "haystack",
    "LangChain": "langchain",
    "txtai": "txtai",
}
PICTURES = {
    "quality": ("peers-quality.svg", "Quality side by side; longer is better"),
    "speed": ("peers-speed.svg", "Time side by side; shorter is better"),
}
HOW = (
    "Each library in a process of its own, with the same lessons, questions and embedding weights, as its own documentation sets "
    "it up (`bench/peers/`, one file each). Without a language model none of the others writes an answer: it is taken to refuse "
    "when its documented cut-off leaves no passage to answer from, and its citation is exact when the passage it shows stands in "
    "the file it names, character for character. Every ingestion ends with what is kept on disk. The sample book "
    "brings questions of its author, and half of them fit ours: only the other half is asked here."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A library that did not come through a book, and the last it said."""

    library: str
    book: str
    said: str


def peers(workshop: Workshop) -> Table:
    python = environment()
    if isinstance(python, str):
        return Table(title="Beside other libraries", columns=("what",), rows=(), note=f"Not measured in this run: {python}")
    books = [("sample book", sample_book(), sample_questions()[: workshop.sizes.peer_questions])]
    if SQUAD.exists():
        folder = workshop.folder / "books" / "squad"
        questions = squad_questions(folder)
        books.append(("SQuAD 2.0, half", folder, questions[:: max(1, len(questions) // workshop.sizes.peer_questions)]))
    measured: list[Row] = []
    failures: list[Failure] = []
    versions: dict[str, str] = {}
    for name, book, questions in books:
        trials, failed = _measured(python, workshop, name, book, questions)
        measured += rows(name, trials, questions)
        failures += failed
        versions |= {package: number for trial in trials.values() for package, number in trial.versions.items()}
    return table(measured, failures, versions)


def table(measured: Sequence[Row], failures: Sequence[Failure], versions: dict[str, str]) -> Table:
    pictures = {
        file: picture([row.bars() for row in measured if row.picture == kind], name) for kind, (file, name) in PICTURES.items()
    }
    seen = [f"![{name}](images/{file})" for file, name in PICTURES.values()]
    behind = [f"- {row.book}, {row.what}: {row.why}." for row in measured if row.behind]
    missing = [f"- {one.library} did not come through {one.book}: {one.said}" for one in failures]
    parts = [
        *seen,
        HOW,
        "Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items()) + ".",
        *(["Where ours is behind, why, and what would mend it:\n\n" + "\n".join(behind)] if behind else []),
        *(["Not measured:\n\n" + "\n".join(missing)] if missing else []),
    ]
    return Table(
        title="Beside other libraries",
        columns=("book", "what", *LIBRARIES, "ours is"),
        rows=tuple(row.cells(list(LIBRARIES)) for row in measured),
        note="\n\n".join(parts),
        pictures=pictures,
    )


def sample_questions() -> list[Question]:
    """The half that nothing was fitted by, of those that need no filter; what follows others is asked as it would stand alone."""
    lines = [json.loads(line) for line in (sample_book() / "questions.jsonl").read_text("utf-8").splitlines()]
    return [
        _question(line["standalone"] or line["question"], line["lesson"], line["answerable"])
        for line in lines
        if not line["filters"] and not for_fitting(line["id"])
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
) -> tuple[dict[str, Trial], list[Failure]]:
    path = workshop.folder / f"questions of {name}.jsonl"
    path.write_text("\n".join(json.dumps(question) for question in questions), encoding="utf-8")
    trials: dict[str, Trial] = {}
    failures: list[Failure] = []
    for library, module in LIBRARIES.items():
        program = Path(sys.executable) if library == OURS else python
        command = [str(program), "-m", "bench.peers.trial", module, str(book), str(path)]
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
        ended = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", cwd=ROOT, env=variables)
        if ended.returncode and library == OURS:
            raise RuntimeError(f"ours did not come through {name}:\n{ended.stderr}")
        if ended.returncode:
            failures.append(Failure(library=library, book=name, said=_last(ended.stderr)))
        else:
            trials[library] = Trial(**json.loads(ended.stdout.splitlines()[-1]))
    return trials, failures


def environment(folder: Path = ENVIRONMENT, requirements: Path = REQUIREMENTS) -> Path | str:
    """The peers' own virtual environment, made once: none of them is a dependency of the product. Words, where it cannot be."""
    python, made = folder / "bin" / "python", folder / "made"
    if not made.exists() or made.read_text("utf-8") != requirements.read_text("utf-8"):
        install = [str(python), "-m", "pip", "install", "-q", "-r", str(requirements)]
        for command in ([sys.executable, "-m", "venv", str(folder)], install):
            ended = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
            if ended.returncode:
                return f"the other libraries could not be installed ({_last(ended.stderr)})."
        made.write_text(requirements.read_text("utf-8"), "utf-8")
    return python


def _last(said: str) -> str:
    return (said.strip().splitlines() or ["it said nothing"])[-1][:200].rstrip(".")
