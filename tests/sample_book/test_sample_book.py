"""The sample book is what it promises: whole, varied, and with questions whose answers stand in it."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

from bythebook.books.blocks import read_page
from bythebook.books.booktoml import read_book
from bythebook.books.discovery import file_hash, read_source
from bythebook.books.frontmatter import read_frontmatter
from bythebook.books.lesson import decode, read_lesson
from bythebook.books.markdown import heading_text
from bythebook.books.model import HARDWARE_TIERS, LAYERS, PROFICIENCIES, Lesson
from bythebook.books.statements import statements
from bythebook.cli.demo import sample_book
from bythebook.ingestion.plan import Plan, make_plan
from scripts.count_markup import marked

ROOT = sample_book()
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
QUESTIONS: list[dict[str, Any]] = [json.loads(line) for line in (ROOT / "questions.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def plan() -> Plan:
    book, warnings = read_book(ROOT)
    return make_plan(ROOT, book, {}, book_warnings=warnings, limit_bytes=10_000_000)


@pytest.fixture(scope="module")
def lessons(plan: Plan) -> dict[str, Lesson]:
    read: dict[str, Lesson] = {}
    for page in plan.pages:
        raw = read_source(ROOT, page.path)
        read[page.path] = read_lesson(
            plan.book,
            page.path,
            decode(raw, page.path),
            file_hash=file_hash(raw),
            claim=page.claim,
            id_base=page.id_base,
            chapter_title=page.chapter_title,
        )
    return read


def test_it_reads_without_a_warning_or_a_failure(plan: Plan, lessons: dict[str, Lesson]) -> None:
    assert (plan.warnings, plan.failures) == ((), ())
    assert [warning for lesson in lessons.values() for warning in lesson.warnings] == []


def test_it_has_lessons_of_a_fair_length(lessons: dict[str, Lesson]) -> None:
    numbered = [lesson.source_file for lesson in lessons.values() if lesson.place.lesson > 0]
    assert len(numbered) >= 24
    for path in numbered:
        words = len(FENCE.sub("", FRONT.sub("", (ROOT / path).read_text("utf-8"))).split())
        assert 600 <= words <= 1_200, f"{path} has {words} words"


def test_every_module_tier_level_and_layer_is_in_use(plan: Plan) -> None:
    places = [page.claim.place for page in plan.pages]
    assert {place.module for place in places} >= {"ros2", "gazebo", "isaac", "vla"}
    assert {place.hardware_tier for place in places} == set(HARDWARE_TIERS)
    assert {place.proficiency_level for place in places} == set(PROFICIENCIES)
    assert {place.layer for place in places} == set(LAYERS)


@pytest.mark.parametrize(
    "construct",
    [r"^```python", r"^\|.*\|$", r"^:::", r"<TabItem", r"^import ", r"^```mermaid", r"^\$\$|\$[^$\n]+\$", r"!\[[^\]]+\]\("],
)
def test_every_construct_is_in_use(construct: str) -> None:
    assert any(re.search(construct, path.read_text("utf-8"), re.MULTILINE) for path in ROOT.rglob("*.md*"))


def test_every_image_exists() -> None:
    found = 0
    for path in ROOT.rglob("*.md*"):
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)", path.read_text("utf-8")):
            assert (path.parent / target).is_file(), f"{path}: {target}"
            found += 1
    assert found > 0


def test_there_are_enough_questions_of_each_kind() -> None:
    kinds = Counter(question["kind"] for question in QUESTIONS)
    assert len(QUESTIONS) >= 100
    assert kinds.keys() == {"answerable", "near", "foreign", "beyond_filter"}
    assert sum(not question["answerable"] for question in QUESTIONS) * 3 >= len(QUESTIONS)
    assert all(question["answerable"] == (question["kind"] == "answerable") for question in QUESTIONS)
    follow_ups = [question for question in QUESTIONS if question["history"]]
    assert len(follow_ups) >= 15
    assert all(question["standalone"] for question in follow_ups)
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert len({(question["question"], json.dumps(question["history"])) for question in QUESTIONS}) == len(QUESTIONS)


def test_every_quote_stands_in_its_lesson_and_in_its_chunks(lessons: dict[str, Lesson]) -> None:
    """In one chunk, or across two that adjoin."""
    for question in QUESTIONS:
        if question["lesson"] is None:
            assert question["quote"] is None
            continue
        lesson, quote = lessons[question["lesson"]], question["quote"]
        source = (ROOT / question["lesson"]).read_text("utf-8")
        assert source.count(quote) >= 1, question["id"]
        start = source.index(quote)
        touched = [chunk for chunk in lesson.chunks if chunk.span.start < start + len(quote) and start < chunk.span.end]
        assert 1 <= len(touched) <= 2, question["id"]


def test_filters_of_questions_beyond_them_shut_their_lesson_out(lessons: dict[str, Lesson]) -> None:
    for question in QUESTIONS:
        filters = question["filters"]
        if question["kind"] != "beyond_filter":
            continue
        place = lessons[question["lesson"]].place
        passes: dict[str, Any] = {
            "hardware_tier_filter": lambda value, place=place: place.hardware_tier <= value,
            "module_filter": lambda value, place=place: place.module == value,
            "chapter_min": lambda value, place=place: place.chapter >= value,
            "chapter_max": lambda value, place=place: place.chapter <= value,
            "lesson_filter": lambda value, place=place: place.lesson == value,
            "proficiency_levels": lambda value, place=place: place.proficiency_level in value,
            "layer_filter": lambda value, place=place: place.layer == value,
        }
        assert filters, question["id"]
        assert not all(passes[name](value) for name, value in filters.items()), question["id"]


def test_questions_are_spread_over_the_book() -> None:
    asked: dict[str, int] = defaultdict(int)
    for question in QUESTIONS:
        if question["lesson"]:
            asked[question["lesson"].split("/")[0]] += 1
    assert len(asked) == 4
    assert min(asked.values()) >= 15


def test_the_wheel_carries_it(tmp_path: Path) -> None:
    project = Path(__file__).parents[2]
    make: Any = WheelBuilder
    builder = make(str(project))
    (built,) = builder.build(directory=str(tmp_path), versions=["standard"])
    names = {name for name in zipfile.ZipFile(built).namelist() if name.startswith("bythebook/sample_book/")}
    wanted = {f"bythebook/sample_book/{path.relative_to(ROOT).as_posix()}" for path in ROOT.rglob("*") if path.is_file()}
    assert names == wanted


def test_every_statement_stands_under_its_own_heading(lessons: dict[str, Lesson]) -> None:
    checked = 0
    for path, lesson in lessons.items():
        source = (ROOT / path).read_text("utf-8")
        page = read_page(source, body_start=read_frontmatter(source).body_start, mdx=True)
        headings = [(page.line_starts[one.line - 1], heading_text(one.content)) for one in page.headings if one.section]
        for chunk in lesson.chunks:
            for statement in statements(chunk.preface, chunk.text):
                above = [text for start, text in headings if start <= chunk.span.start + statement.start]
                if above and above[-1] != lesson.title:
                    assert chunk.section_at(statement.start).title == above[-1], (path, statement.readable)
                    checked += 1
    assert checked > 1000


def test_no_answer_from_it_can_show_a_mark(lessons: dict[str, Lesson]) -> None:
    assert [(mark, one.readable) for lesson in lessons.values() for chunk in lesson.chunks for one, mark in marked(chunk)] == []
