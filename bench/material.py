"""Texts and questions to measure on: the sample book, books made from its paragraphs, and, where it lies beside the
repository, material by others, which is read in place or from a temporary folder and never kept."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bythebook.cli.demo import sample_book

SAMPLE_BOOK = "physical-ai-robotics"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CURRICULUM = SHARED / "books" / "physical-ai-curriculum"
CURRICULUM_QUESTIONS = SHARED / "questions" / "physical-ai-curriculum.jsonl"
SQUAD = SHARED / "questions" / "squad2-half.json"
CLAPNQ = (SHARED / "questions" / "clapnq-dev_answerable.jsonl", SHARED / "questions" / "clapnq-dev_unanswerable.jsonl")

PARAGRAPHS_PER_SECTION = 3
SHORTEST_PARAGRAPH = 200
FENCED = re.compile(r"^ *(```+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
LESSONS_PER_CHAPTER = 10
CHAPTERS_PER_MODULE = 20
TIERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`lesson` is the path of the one lesson that answers."""

    text: str
    lesson: str
    kind: str = ""


def make_book(folder: Path, *, lessons: int, sections: int, first: int = 0) -> Path:
    """A book of the sample book's paragraphs, drawn anew for each section; its lessons are the same every time."""
    paragraphs = sample_paragraphs()
    for number in range(first, first + lessons):
        path = folder / lesson_path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_lesson(number, sections, paragraphs), encoding="utf-8")
    return folder


def lesson_path(number: int) -> str:
    chapter, lesson = divmod(number, LESSONS_PER_CHAPTER)
    return f"module-{chapter // CHAPTERS_PER_MODULE + 1}-part/chapter-{chapter + 1}-made/{lesson + 1:02}-lesson.md"


def sample_paragraphs() -> list[str]:
    """The sample book's prose, without what stands in code fences."""
    pages = sorted(path for path in sample_book().rglob("*") if path.suffix in {".md", ".mdx"})
    blocks = [block.strip() for page in pages for block in FENCED.sub("", page.read_text(encoding="utf-8")).split("\n\n")]
    return [block for block in blocks if len(block) >= SHORTEST_PARAGRAPH and block[0].isalpha()]


def sample_questions() -> list[Question]:
    """The sample book's answerable questions; one that follows others in a thread is asked as it would stand alone."""
    rows = _rows(sample_book() / "questions.jsonl")
    return [Question(text=row["standalone"] or row["question"], lesson=row["lesson"]) for row in rows if row["answerable"]]


def curriculum_questions() -> list[Question]:
    return [Question(text=row["question"], lesson=row["lesson"], kind=row["type"]) for row in _rows(CURRICULUM_QUESTIONS)]


def squad_book(folder: Path) -> list[Question]:
    """Each paragraph becomes a lesson under its article's title. The questions are those that a paragraph answers."""
    questions = []
    for article in json.loads(SQUAD.read_text(encoding="utf-8"))["data"]:
        for number, paragraph in enumerate(article["paragraphs"], start=1):
            path = f"{article['title']}/{number:03}.md"
            _write(folder / path, article["title"].replace("_", " "), paragraph["context"])
            asked = (question for question in paragraph["qas"] if not question["is_impossible"])
            questions += [Question(text=question["question"], lesson=path) for question in asked]
    return questions


def clapnq_book(folder: Path) -> list[Question]:
    """Each passage becomes a lesson under its article's title; those that do not answer their question stand among them."""
    questions, paths = [], dict[str, str]()
    for row in (row for path in CLAPNQ for row in _rows(path)):
        passage = row["passages"][0]
        path = paths.setdefault(passage["text"], f"{len(paths):03}.md")
        _write(folder / path, passage["title"], passage["text"])
        if row["output"][0]["answer"]:
            questions.append(Question(text=row["input"], lesson=path))
    return questions


def _write(path: Path, title: str, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\ntitle: {json.dumps(title)}\n---\n\n{text}\n", encoding="utf-8")


def _lesson(number: int, sections: int, paragraphs: list[str]) -> str:
    draw = random.Random(number)
    front = f"---\ntitle: Lesson {number}\nhardware_tier: {number % TIERS + 1}\n---\n"
    parts = [
        "\n\n".join([f"## Part {section} of lesson {number}", *draw.sample(paragraphs, PARAGRAPHS_PER_SECTION)])
        for section in range(1, sections + 1)
    ]
    return "\n\n".join([front, *parts]) + "\n"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
