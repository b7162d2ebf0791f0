"""Whatever happens to a book between two ingestions, the index says what a fresh ingest would say."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from bythebook.ingestion.request import Mode
from tests.support.fakes.mortal import Killed, Steps, mortal
from tests.support.library import Library, fast_folder, forget_book, open_library
from tests.support.small_book import BOOK_TOML, CHAPTER_PAGE, lesson, write, write_small_book

T = TypeVar("T")

FOLDERS = ("module-1-arms/chapter-1-joints", "module-1-arms/chapter-2-grips", "module-2-legs/chapter-3-walking")
PLACES = tuple(f"{folder}/{number:02}-{name}.md" for folder in FOLDERS for number in (1, 2, 3) for name in ("one", "two"))
SUBJECTS = ("A hip swings.", "A knee locks.", "A toe lifts off.")
picked = st.integers(0, 1000)
subject = st.sampled_from(SUBJECTS)


class AuthorAtWork(RuleBasedStateMachine):
    """Rules are what authors do to files; `ingest` compares with a library that never saw the book before."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = fast_folder()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.root = write_small_book(self.folder / "book")
        self.library = self.run(self.stack.enter_async_context(open_library(self.folder / "data")))
        self.reference = self.run(self.stack.enter_async_context(open_library(self.folder / "reference")))
        self.run(self.library.ingest(self.root))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def lessons(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*.md") if path.name != "index.md")

    def pick(self, number: int) -> Path:
        lessons = self.lessons()
        return lessons[number % len(lessons)]

    @rule(number=picked, subject=subject, sections=st.integers(0, 4))
    def edit(self, number: int, subject: str, sections: int) -> None:
        self.pick(number).write_text(lesson("Another title", subject, sections=sections))

    @rule(number=picked)
    def append(self, number: int) -> None:
        with self.pick(number).open("a") as file:
            file.write("\n## One more thing\n\nIt was forgotten at first, and is said here at the very end.\n")

    @rule(number=picked, tier=st.integers(0, 4))
    def frontmatter(self, number: int, tier: int) -> None:
        path = self.pick(number)
        path.write_text(f"---\nhardware_tier: {tier}\n---\n\n" + path.read_text().rpartition("---\n\n")[2])

    @precondition(lambda self: len(self.lessons()) > 1)
    @rule(number=picked)
    def delete(self, number: int) -> None:
        self.pick(number).unlink()

    @rule(place=st.sampled_from(PLACES), subject=subject, front=st.sampled_from(["", "lesson: 1\n", "chapter: 9\nlesson: 9\n"]))
    def write_lesson(self, place: str, subject: str, front: str) -> None:
        write(self.root, place, lesson("New", subject, front=front))

    @rule(number=picked, place=st.sampled_from([*PLACES, "outside.md", "glossary/words.md"]))
    def rename(self, number: int, place: str) -> None:
        (self.root / place).parent.mkdir(parents=True, exist_ok=True)
        self.pick(number).rename(self.root / place)

    @rule(one=picked, other=picked)
    def swap_numbers(self, one: int, other: int) -> None:
        first, second = self.pick(one), self.pick(other)
        between = self.root / "between"
        first.rename(between)
        if second != first:
            second.rename(first)
        between.rename(second)

    @rule(number=picked, place=st.sampled_from(PLACES))
    def copy(self, number: int, place: str) -> None:
        target = self.root / place
        if target != self.pick(number):
            shutil.copy(self.pick(number), target)

    @rule(title=st.sampled_from(["Joints", "Hinges", None]))
    def chapter_page(self, title: str | None) -> None:
        (self.root / CHAPTER_PAGE).unlink(missing_ok=True)
        if title:
            write(self.root, CHAPTER_PAGE, f"# {title}\n\nThis chapter is about joints of every kind.\n")

    @rule(url=st.sampled_from(["https://a.example", "/docs"]), site=st.sampled_from(["docusaurus", "mkdocs"]))
    def book_toml(self, url: str, site: str) -> None:
        text = BOOK_TOML.replace("https://small.example/docs", url).replace("docusaurus", site)
        write(self.root, "book.toml", text)

    @rule(number=picked)
    def touch(self, number: int) -> None:
        self.pick(number).touch()

    @rule(number=picked)
    def save_as_binary(self, number: int) -> None:
        """A save that went wrong, and was put right before the next comparison."""
        path = self.pick(number)
        before = path.read_bytes()
        path.write_bytes(b"\x00\x01" + before)
        report = self.run(self.library.ingest(self.root))
        assert [failure.source_file for failure in report.failures] == [path.relative_to(self.root).as_posix()]
        path.write_bytes(before)

    @rule(fatal=st.integers(0, 12), full=st.booleans())
    def killed(self, fatal: int, full: bool) -> None:
        with suppress(Killed):
            self.run(mortal(self.library, Steps(fatal)).ingest(self.root, "full" if full else "incremental"))

    @rule()
    def ingest_changes(self) -> None:
        self.ingest("incremental")

    @rule()
    def ingest_all(self) -> None:
        self.ingest("full")

    @rule(twice=st.booleans())
    def ingest_anew(self, twice: bool) -> None:
        self.ingest("recreate")
        if twice:
            self.ingest("incremental")

    def ingest(self, mode: Mode) -> None:
        report = self.run(self.library.ingest(self.root, mode))
        assert not report.failures
        assert report.files_processed + report.files_skipped == report.files_discovered
        self.compare()

    def compare(self) -> None:
        self.run(_forget(self.reference))
        self.run(self.reference.ingest(self.root))
        assert self.run(self.library.snapshot()) == self.run(self.reference.snapshot())
        assert self.run(self.library.problems()) == ()

    @invariant()
    def every_lesson_is_whole(self) -> None:
        """Whatever has been killed: no chain is broken, no lesson is half there."""
        broken = [
            problem
            for problem in self.run(self.library.problems())
            if "chunk_index" in problem.rule or "chunk_id" in problem.rule
        ]
        assert not broken

    def teardown(self) -> None:
        self.run(self.library.ingest(self.root))
        self.compare()
        self.run(self.stack.aclose())
        self.runner.close()
        shutil.rmtree(self.folder)


async def _forget(library: Library) -> None:
    for name in await library.index.collections():
        await library.index.remove_book(name, "small")
    await forget_book(library, "small")


CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def test_an_authors_work_leaves_what_a_fresh_ingest_would_give() -> None:
    quick = settings(max_examples=4, stateful_step_count=12, suppress_health_check=CHECKS, derandomize=True)
    run_state_machine_as_test(AuthorAtWork, settings=quick)


@pytest.mark.soak
def test_an_authors_work_for_a_long_time() -> None:
    long = settings(max_examples=150, stateful_step_count=30, suppress_health_check=CHECKS)
    run_state_machine_as_test(AuthorAtWork, settings=long)
