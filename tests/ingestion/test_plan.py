"""What an ingestion has to do: document D's get_changed_files, and what it adds."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bythebook.books.booktoml import read_book
from bythebook.index.state import IngestionRecord
from bythebook.ingestion.plan import Plan, make_plan
from tests.support.small_book import BOOK_TOML, CHAPTER_PAGE, lesson, write

ELBOWS = "module-1-arms/chapter-1-joints/01-elbows.md"
WRISTS = "module-1-arms/chapter-1-joints/02-wrists.md"


def plan(root: Path, known: dict[str, IngestionRecord] | None = None, *, limit_bytes: int = 100_000) -> Plan:
    book, _ = read_book(root)
    return make_plan(root, book, known or {}, limit_bytes=limit_bytes)


def recorded(made: Plan) -> dict[str, IngestionRecord]:
    """The records of a run that carried the plan out."""
    return {
        page.path: IngestionRecord(
            book_id=made.book.book_id,
            source_file=page.path,
            file_hash=page.file_hash,
            fingerprint=page.fingerprint,
            id_base=page.id_base,
            place=page.claim.place,
            title=page.claim.title,
            chunk_ids=("one",),
            ingested_at=datetime.now(UTC),
            warnings=(),
        )
        for page in made.pages
    }


def changes(root: Path, known: dict[str, IngestionRecord]) -> tuple[set[str], set[str], set[str]]:
    made = plan(root, known)
    return set(made.new), set(made.modified), set(made.deleted)


def test_new_modified_deleted_as_document_d_says(book: Path) -> None:
    first = plan(book)
    assert len(first.new) == first.discovered == 7
    known = recorded(first)
    assert changes(book, known) == (set(), set(), set())
    write(book, "new.md", "# New\n\nThis lesson is new.\n")
    write(book, ELBOWS, lesson("Elbows", "Written anew."))
    (book / WRISTS).unlink()
    assert changes(book, known) == ({"new.md"}, {ELBOWS}, {WRISTS})


def test_a_touched_file_is_not_modified(book: Path) -> None:
    known = recorded(plan(book))
    (book / ELBOWS).touch()
    assert changes(book, known) == (set(), set(), set())


def test_a_lesson_is_modified_when_what_surrounds_it_changed(book: Path) -> None:
    known = recorded(plan(book))
    write(book, CHAPTER_PAGE, "# Hinges\n\nThis chapter is about joints of every kind.\n")
    assert changes(book, known) == (set(), {CHAPTER_PAGE, ELBOWS, WRISTS}, set())
    write(book, "book.toml", BOOK_TOML.replace("small.example", "moved.example"))
    assert changes(book, known)[1] == set(known)


def test_the_books_title_shows_in_no_chunk_and_changes_none(book: Path) -> None:
    known = recorded(plan(book))
    write(book, "book.toml", BOOK_TOML.replace("A small book", "A book with another title"))
    assert changes(book, known) == (set(), set(), set())


def test_a_second_file_with_the_same_numbers_moves_both_to_their_paths(book: Path) -> None:
    known = recorded(plan(book))
    twin = "module-1-arms/chapter-1-joints/01-twin.md"
    write(book, twin, "# Twin\n\nA second elbow.\n")
    made = plan(book, known)
    assert (set(made.new), set(made.modified)) == ({twin}, {ELBOWS})
    assert {page.path: page.id_base for page in made.pages if page.path in (twin, ELBOWS)} == {twin: twin, ELBOWS: ELBOWS}
    assert {warning.source_file for warning in made.warnings} == {twin, ELBOWS}


def test_a_lesson_that_cannot_be_read_is_neither_modified_nor_deleted(book: Path) -> None:
    known = recorded(plan(book))
    (book / ELBOWS).write_bytes(b"\x00")
    (book / WRISTS).write_text("x" * 100_001)
    made = plan(book, known)
    assert (made.new, made.modified, made.deleted) == ((), (), ())
    assert made.kept == (ELBOWS, WRISTS)
    assert [failure.source_file for failure in made.failures] == [ELBOWS, WRISTS]
    assert made.discovered == 7


def test_pages_outside_the_hierarchy_go_by_their_path(book: Path) -> None:
    bases = {page.path: page.id_base for page in plan(book).pages}
    assert bases["glossary.md"] == "glossary.md"
    assert bases[ELBOWS] == "arms:1:1"
