"""Plans an ingestion: compares the book on disk with what is recorded of it. Reads files, writes nothing.

A book is tied to the place it came from: without consent, no other folder takes its place and no run removes more than a third of
it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from bythebook.books.booktoml import FILE_NAME, declares_id, read_book, with_options
from bythebook.books.discovery import SourceFile, discover, passed_over
from bythebook.books.included_lines import MissingInclude
from bythebook.books.lesson import Category, Claim, chapter_titles, read_categories, read_claim
from bythebook.books.model import CHUNKER_VERSION, NO_OPTIONS, Book, BookOptions, BookWarning, Failure, Place, Reading, sha256
from bythebook.books.sandbox import BATCH_CHARACTERS, Sandbox, SandboxCall, Unreadable
from bythebook.books.sites.detection import find_site, shown_files
from bythebook.books.sites.navigation import lesson_order
from bythebook.books.sites.site import Site
from bythebook.errors import InvalidBook, InvalidInput, NeedsConsent
from bythebook.index.state import IngestionRecord, IngestionState
from bythebook.ingestion.readings import FileReader, ReadingStore, ReadLesson, failure_of
from bythebook.ingestion.records import Records
from bythebook.ingestion.request import IngestionRequest

CHECKOUT = re.compile(r".*/checkouts/([0-9a-f]{16})(?:-[0-9a-f]{8})?(?=/|$)")
"""A repository is checked out below the data folder, which may move and may differ between machines. The name begins with a hash
of the repository and its branch; a checkout of one folder has a hash of that folder after it."""
LARGEST_SHARE = 1 / 3

RECORD_VERSION = 2
"""Version of what is stored beside a chunk's text; 2: the sections within it. Lessons recorded under another version are stored
again, not embedded again."""
KEPT_CHARACTERS = 16_000_000
"""Texts read for the plan are kept up to this size, some eight thousand lessons, so that they need not be read a second time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifiedBook:
    """The book of a folder, what is known of it, and what an author should look at."""

    book: Book
    state: IngestionState | None
    warnings: tuple[BookWarning, ...]
    site: Site | None
    options: BookOptions


async def identify(records: Records, root: Path, request: IngestionRequest) -> IdentifiedBook:
    """Finds out which book is in `root`: the id given, the one it declares, the one this folder was ingested under, or its own
    name. What was said of it in an earlier run holds, unless the source has changed."""
    site = await asyncio.to_thread(_site, root)
    book, warnings = await asyncio.to_thread(read_book, root, book_id=request.book_id, site=site)
    source, states = str(await asyncio.to_thread(root.resolve)), await records.books()
    as_others = [state.book_id for state in states if _same(state.source_root, source) and state.book_id != book.book_id]
    state = next((state for state in states if state.book_id == book.book_id), None)
    at_home = state is not None and _same(state.source_root, source)
    if as_others and request.book_id is None and not at_home:
        book = replace(book, book_id=await _earlier_id(root, book, as_others))
        state = next(state for state in states if state.book_id == book.book_id)
    elif as_others and not at_home:
        warnings = (*warnings, _twice(book, as_others))
    if state and not _same(state.source_root, source) and not request.consent.replace:
        raise InvalidInput(_another(book, state, source))
    said = request.options.over(state.options if state and _same(state.source_root, source) else NO_OPTIONS)
    if said != NO_OPTIONS:
        book = with_options(book, said)
    return IdentifiedBook(book=book, state=state, warnings=warnings, site=site, options=said)


def _site(root: Path) -> Site | None:
    return find_site(root, discover(root)[0])


def check_removal(
    book: Book, before: Mapping[str, IngestionRecord], pages: Iterable[PlannedLesson], kept: Collection[str]
) -> None:
    """Raises where more than a third of the lessons would be removed; a single one may. A lesson that only moved, or keeps its
    number, is not counted."""
    there = list(pages)
    paths, hashes = {page.path for page in there}, {page.file_hash for page in there}
    bases = {page.id_base for page in there}
    gone = [
        path
        for path, record in before.items()
        if path not in paths and path not in kept and record.file_hash not in hashes and record.id_base not in bases
    ]
    if len(gone) > max(1, LARGEST_SHARE * len(before)):
        raise NeedsConsent(
            f"This would remove {len(gone):,} of the {len(before):,} lessons of '{book.book_id}', {gone[0]} among them. "
            'Nothing was changed. If you mean that, add --yes ("yes": true in a job).'
        )


def _same(one: str, other: str) -> bool:
    return CHECKOUT.sub(r"\1", one) == CHECKOUT.sub(r"\1", other)


async def _earlier_id(root: Path, book: Book, ids: list[str]) -> str:
    """The id that this folder was ingested under before, which holds unless another is given."""
    if await asyncio.to_thread(declares_id, root):
        raise InvalidInput(
            f"{root / FILE_NAME} calls this book '{book.book_id}', and the folder is in the library as '{ids[0]}'. Rename that "
            f"with 'bythebook books rename {ids[0]} {book.book_id}', or name the one you mean with --book."
        )
    if len(ids) > 1:
        raise InvalidInput(f"{root} is in the library as {' and '.join(ids)}. Say which you mean with --book.")
    return ids[0]


def _twice(book: Book, ids: list[str]) -> BookWarning:
    message = f"this folder is in the library as '{ids[0]}' too: remove one of them with 'bythebook books remove'"
    return BookWarning(source_file="", line=0, field="book", message=f"'{book.book_id}': {message}")


def _another(book: Book, state: IngestionState, source: str) -> str:
    return (
        f"The book '{book.book_id}' comes from {state.source_root}, and this is {source}. Give this one an id of its own with "
        f"--book NEW, or say --replace (\"replace\": true in a job) to put it in the place of '{book.book_id}'."
    )


class PlannedTexts:
    """Texts of lessons between the plan and the parser, each taken out once. A book too large for it is read again, lesson by
    lesson: it need not fit into memory."""

    def __init__(self) -> None:
        self._texts: dict[str, Reading] = {}
        self._room = KEPT_CHARACTERS

    def keep(self, reading: Reading) -> None:
        if len(reading.text) <= self._room:
            self._texts[reading.source_file] = reading
            self._room -= len(reading.text)

    def take(self, path: str) -> Reading | None:
        return self._texts.pop(path, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLesson:
    """A lesson as the plan sees it: its file, its metadata, and what its ids are made from."""

    path: str
    file: str
    """The author's file, which holds this lesson and perhaps others."""
    size: int
    file_hash: str
    claim: Claim
    id_base: str
    chapter_title: str
    fingerprint: str
    read_by: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an ingestion has to do: the book's lessons, and which of them are new, modified or deleted."""

    book: Book
    site: Site | None
    pages: tuple[PlannedLesson, ...]
    new: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    kept: tuple[str, ...]
    """Recorded lessons that cannot be read now: the index keeps what it has of them."""
    failures: tuple[Failure, ...]
    warnings: tuple[BookWarning, ...]

    @property
    def discovered(self) -> int:
        return len(self.pages) + len(self.failures)

    def changed(self) -> list[PlannedLesson]:
        wanted = {*self.new, *self.modified}
        return [page for page in self.pages if page.path in wanted]


def make_plan(
    root: Path,
    book: Book,
    known: Mapping[str, IngestionRecord],
    *,
    book_warnings: Sequence[BookWarning] = (),
    limit_bytes: int,
    sandbox: Sandbox | None = None,
    texts: PlannedTexts | None = None,
    store: ReadingStore | None = None,
    site: Site | None = None,
) -> Plan:
    """Document D's get_changed_files, with one addition: a lesson also counts as modified when something around it changed that
    its chunks show (its chapter's title, the book's address, another file claiming its numbers). The texts of new and modified
    lessons are kept in `texts`."""
    texts = texts or PlannedTexts()
    files, links = discover(root)
    files, outside = shown_files(site, files)
    failures = [Failure(source_file=link.source_file, reason=link.message) for link in links]
    claims: dict[str, tuple[ReadLesson, Claim]] = {}
    reader = FileReader(root=root, limit_bytes=limit_bytes, sandbox=sandbox, store=store or ReadingStore(None))
    for some in _by_size(files):
        read = _Claims(book=book, known=known, reader=reader, sandbox=sandbox, texts=texts)
        claims |= read.claims(some, failures)
    kept = {path: known[path].place for path in known if path not in claims and _within(path, failures)}
    categories = read_categories(root)
    pages, clashes = _pages(book, claims, kept, categories)
    if site:
        positions = {folder: one.position for folder, one in categories.items() if one.position is not None}
        order = lesson_order(site, {page.path: page.claim.weight for page in pages}, positions)
        pages = tuple(replace(page, order=order[page.path]) for page in pages)
    return Plan(
        book=book,
        site=site,
        pages=pages,
        new=tuple(page.path for page in pages if page.path not in known),
        modified=tuple(page.path for page in pages if page.path in known and known[page.path].fingerprint != page.fingerprint),
        deleted=tuple(sorted(path for path in known if path not in claims and path not in kept)),
        kept=tuple(sorted(kept)),
        failures=tuple(sorted(failures, key=lambda failure: failure.source_file)),
        warnings=(*book_warnings, *outside, *passed_over(root), *_not_included(reader.missing), *clashes),
    )


def _not_included(missing: Sequence[MissingInclude]) -> tuple[BookWarning, ...]:
    """Warns once, however many includes could not be read."""
    if not missing:
        return ()
    first, lessons = missing[0], len({one.file for one in missing})
    others = f" (and {len(missing) - 1:,} more, in {lessons:,} {'file' if lessons == 1 else 'files'})" if len(missing) > 1 else ""
    message = f"{first.target} could not be included{others}: {first.reason}. Its text is left out."
    return (BookWarning(source_file=first.file, line=first.line, field="include", message=message),)


def _within(path: str, failures: Sequence[Failure]) -> bool:
    """Whether the lesson, or a folder it lies in, could not be read."""
    return any(path == failure.source_file or path.startswith(failure.source_file + "/") for failure in failures)


def _by_size(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    """Groups files to be read together, so that a whole book need not fit into memory."""
    some: list[SourceFile] = []
    for file in files:
        some.append(file)
        if sum(one.size for one in some) >= BATCH_CHARACTERS:
            yield some
            some = []
    yield some


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claims:
    """Reads what lessons say of themselves, by the child process where there is one."""

    book: Book
    known: Mapping[str, IngestionRecord]
    reader: FileReader
    sandbox: Sandbox | None
    texts: PlannedTexts

    def claims(self, files: Sequence[SourceFile], failures: list[Failure]) -> dict[str, tuple[ReadLesson, Claim]]:
        """Yields claims in the order of the files. A lesson whose record is current need not be read."""
        found: dict[str, tuple[ReadLesson, Claim | SandboxCall[Claim]]] = {}
        for lesson in self.reader.read(files, failures):
            try:
                found[lesson.path] = replace(lesson, reading=None, raw=b""), self._claim(lesson)
            except InvalidBook as error:
                failures.append(Failure(source_file=lesson.path, reason=str(error)))
        given = self._read([claim for _, claim in found.values() if isinstance(claim, SandboxCall)])
        claims = {}
        for path, (lesson, reading) in found.items():
            claim = next(given) if isinstance(reading, SandboxCall) else reading
            if isinstance(claim, Unreadable):
                failures.append(failure_of(path, claim))
            else:
                claims[path] = lesson, claim
        return claims

    def _claim(self, lesson: ReadLesson) -> Claim | SandboxCall[Claim]:
        record = self.known.get(lesson.path)
        if record and record.file_hash == lesson.file_hash and record.fingerprint.startswith(_book_mark(self.book)):
            return Claim(place=record.place, title=record.title, warnings=(), weight=record.weight)
        reading = lesson.text()
        self.texts.keep(reading)
        return SandboxCall(call=partial(read_claim, self.book, lesson.path, reading.text), characters=len(reading.text))

    def _read(self, readings: Sequence[SandboxCall[Claim]]) -> Iterator[Claim | Unreadable]:
        return self.sandbox.run(readings) if self.sandbox else (one.call() for one in readings)


def _pages(
    book: Book,
    claims: Mapping[str, tuple[ReadLesson, Claim]],
    kept: Mapping[str, Place],
    categories: Mapping[str, Category],
) -> tuple[tuple[PlannedLesson, ...], list[BookWarning]]:
    """`kept`: lessons that cannot be read now; they stay in the index and keep their numbers."""
    places = {**kept, **{path: claim.place for path, (_, claim) in claims.items()}}
    claimed = Counter(place.numbers for place in places.values() if place.in_hierarchy)
    titles = chapter_titles(book, {path: claim for path, (_, claim) in claims.items()}, categories)
    pages, clashes = [], []
    for path, (lesson, claim) in claims.items():
        clash = claimed[claim.place.numbers] > 1
        if clash and claim.place.lesson:  # a page without a number claims none
            clashes.append(_clash(path, places, claimed[claim.place.numbers]))
        page = PlannedLesson(
            path=path,
            file=lesson.file,
            size=lesson.size,
            file_hash=lesson.file_hash,
            claim=claim,
            id_base=claim.place.numbers if claim.place.in_hierarchy and not clash else path,
            chapter_title=titles.get(path, ""),
            fingerprint="",
            read_by=lesson.read_by,
        )
        pages.append(replace(page, fingerprint=_fingerprint(book, page)))
    return tuple(pages), clashes


def _clash(path: str, places: Mapping[str, Place], count: int) -> BookWarning:
    mine = places[path]
    other = next(candidate for candidate, place in places.items() if candidate != path and place.numbers == mine.numbers)
    more = f" and {count - 2} more" if count > 2 else ""
    return BookWarning(
        source_file=path,
        line=1,
        field="lesson",
        message=f"claims {mine.numbers}, and so does {other}{more}: give one another number; until then each goes by its path",
    )


def _book_mark(book: Book) -> str:
    """The settings of book.toml that show in a chunk or decide its place. Every fingerprint begins with them."""
    values = asdict(replace(book, title="", modules=dict(book.modules)))
    # Later additions count only where a book uses them, so that the mark of every other book stays the same.
    later = [name for name in ("content", "within", "pages") if not values[name]]
    return sha256(json.dumps({name: value for name, value in values.items() if name not in later}, sort_keys=True))[:16]


def _fingerprint(book: Book, page: PlannedLesson) -> str:
    """Covers everything that this lesson's chunks depend on."""
    parts = [page.file_hash, CHUNKER_VERSION, RECORD_VERSION, page.id_base, page.chapter_title, asdict(page.claim.place)]
    return _book_mark(book) + sha256(json.dumps(parts, sort_keys=True))[:48]
