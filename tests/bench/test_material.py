from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from bench.alone import ingest, opened
from bench.material import lesson_path, make_book, sample_paragraphs, sample_questions
from bench.standin import StandIn, direction
from bythebook.cli.demo import sample_book
from bythebook.ingestion.progress import IngestReport


def test_made_books_are_the_same_every_time(tmp_path: Path) -> None:
    make_book(tmp_path / "one", lessons=12, sections=2)
    make_book(tmp_path / "other", lessons=12, sections=2)
    paths = [lesson_path(number) for number in range(12)]
    assert len({(tmp_path / "one" / path).read_text() for path in paths}) == 12
    assert all((tmp_path / "one" / path).read_text() == (tmp_path / "other" / path).read_text() for path in paths)


def test_paragraphs_are_prose() -> None:
    paragraphs = sample_paragraphs()
    assert len(paragraphs) > 100
    assert [paragraph for paragraph in paragraphs if "```" in paragraph or paragraph.startswith(("import ", "def "))] == []


def test_lessons_of_a_made_book_never_share_a_path() -> None:
    assert len({lesson_path(number) for number in range(5_000)}) == 5_000


def test_a_made_book_is_read_without_a_warning_and_embedded_once(tmp_path: Path) -> None:
    book = make_book(tmp_path / "book", lessons=6, sections=2)
    embedder = StandIn()

    async def twice() -> tuple[IngestReport, IngestReport]:
        async with opened(tmp_path / "data", embedder) as resources:
            return await ingest(resources, book), await ingest(resources, book)

    first, again = asyncio.run(twice())
    assert (first.files_processed, first.warnings, first.failures) == (6, (), ())
    assert first.chunks_embedded == first.total_chunks == embedder.embedded >= 12
    assert (again.files_skipped, again.chunks_embedded) == (6, 0)


def test_the_gold_lessons_of_the_sample_book_exist() -> None:
    questions = sample_questions()
    assert len(questions) >= 50
    assert [question.lesson for question in questions if not (sample_book() / question.lesson).is_file()] == []


def test_the_stand_in_gives_each_text_its_own_unit_vector() -> None:
    vectors = asyncio.run(StandIn().embed_lessons(["a", "b", "a"]))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[2])
    assert float(vectors[0] @ vectors[1]) < 0.5
    assert np.array_equal(direction("a"), vectors[0])
