"""The whole lesson is its file: headings, fences and places in it are the author's."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from bythebook.books.discovery import file_hash
from bythebook.books.lesson import read_claim, read_lesson
from bythebook.books.model import Book, Chunk
from bythebook.retrieval.context import whole_text

SAMPLE = Path(str(files("bythebook") / "sample_book"))
DOCUMENTS = Path(__file__).parents[2] / "docs"
LARGEST = 1_000_000
SPLIT_CODE = (
    "# Code\r\n\r\nBefore.  \r\n\r\n```python\r\n"
    + "\r\n".join(f"    step({n})" for n in range(600))
    + "\r\n```\r\n\r\n## After\r\n\r\nWords.\r\n"
)


def chunks_of(root: Path, file: Path) -> tuple[str, list[Chunk]]:
    book = Book(book_id="x", title="x", site="docusaurus")
    path, raw = file.relative_to(root).as_posix(), file.read_bytes()
    source = raw.decode("utf-8")
    claim = read_claim(book, path, source)
    lesson = read_lesson(book, path, source, file_hash=file_hash(raw), claim=claim, id_base=path, chapter_title="")
    return source, list(lesson.chunks)


@pytest.mark.parametrize(("root", "count"), [(SAMPLE, 37), (DOCUMENTS, 10)], ids=["sample book", "docs"])
def test_every_lesson_is_its_file_whether_that_is_at_hand_or_not(root: Path, count: int, folder: Path) -> None:
    lessons = [chunks_of(root, file) for file in sorted(root.rglob("*.md*"))]
    assert len(lessons) >= count
    for source, chunks in lessons:
        start, end = chunks[0].span.start, chunks[-1].span.end
        here, elsewhere = (whole_text(chunks, str(where), limit_bytes=LARGEST) for where in (root, folder))
        assert (here.text, here.start, here.exact) == (source[start:end], start, True)
        assert (elsewhere.text, elsewhere.start, elsewhere.exact) == (source[start:end], start, False)


def test_code_that_was_split_keeps_its_indentation_and_its_line_ends(folder: Path) -> None:
    (folder / "01-code.md").write_text(SPLIT_CODE, "utf-8", newline="")
    _, chunks = chunks_of(folder, folder / "01-code.md")
    assert sum(bool(chunk.preface) for chunk in chunks) >= 2
    assert whole_text(chunks, str(folder / "gone"), limit_bytes=LARGEST).text == SPLIT_CODE.strip()


def test_a_file_that_was_edited_since_is_not_the_lesson_that_was_ingested(folder: Path) -> None:
    file = folder / "01-a.md"
    file.write_text("# Old\n\nOld words.\n", "utf-8")
    _, chunks = chunks_of(folder, file)
    file.write_text("# New\n\nNew words.\n", "utf-8")
    assert whole_text(chunks, str(folder), limit_bytes=LARGEST).text == "# Old\n\nOld words."
