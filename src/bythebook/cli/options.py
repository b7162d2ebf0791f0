"""Options that several commands share, and the way from them to opened resources."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from bythebook.settings import Settings
    from bythebook.wiring import Library, Resources

T = TypeVar("T")
L = TypeVar("L")

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where index and database live. Default: the system's data folder.", show_default=False),
]
BookId = Annotated[
    str | None, typer.Option("--book", "-b", help="The book's id. Default: the only book there is.", show_default=False)
]
Module = Annotated[str | None, typer.Option(help="Only this module.", show_default=False)]
ChapterMin = Annotated[int | None, typer.Option(help="From this chapter on.", show_default=False)]
ChapterMax = Annotated[int | None, typer.Option(help="Up to this chapter.", show_default=False)]
LessonNumber = Annotated[int | None, typer.Option("--lesson", help="Only lessons with this number.", show_default=False)]
Levels = Annotated[
    list[str] | None, typer.Option("--level", help="Proficiency A1 to C2; repeat for several.", show_default=False)
]
LayerOption = Annotated[str | None, typer.Option("--layer", help="Teaching layer, L1 to L4.", show_default=False)]
Prefix = Annotated[str | None, typer.Option(help="Only lessons whose path or URL begins with this.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def run_with_library(work: Callable[[Library], Coroutine[Any, Any, T]], *, data_dir: Path | None, embeds: bool = False) -> T:
    """Open what a reader needs, do the work, close everything."""
    from bythebook.wiring import open_library

    return _run(lambda settings: open_library(settings, embeds=embeds), work, data_dir)


def run_with_resources(
    work: Callable[[Resources], Coroutine[Any, Any, T]], *, data_dir: Path | None, rehearsal: bool = False, embeds: bool = False
) -> T:
    """The same with what an author needs besides."""
    from bythebook.wiring import open_resources

    return _run(lambda settings: open_resources(settings, rehearsal=rehearsal, embeds=embeds), work, data_dir)


def _run(
    opening: Callable[[Settings], AbstractAsyncContextManager[L]],
    work: Callable[[L], Coroutine[Any, Any, T]],
    data_dir: Path | None,
) -> T:
    import asyncio

    from bythebook.settings import read_settings

    async def opened() -> T:
        async with opening(read_settings(data_dir=data_dir)) as there:
            return await work(there)

    return asyncio.run(opened())


async def choose_book(library: Library, wanted: str | None) -> str:
    """The book that was named; else the configured one; else the only one; else the documents' default."""
    from bythebook.errors import InvalidInput, NotFound
    from bythebook.index.manifest import served_books
    from bythebook.retrieval.query import DEFAULT_BOOK

    if chosen := wanted or library.settings.book:
        return chosen
    there = list(served_books(await library.index.collections()))
    if not there:
        raise NotFound("There is no book yet. Bring one in with 'bythebook ingest FOLDER', or try 'bythebook demo'.")
    if len(there) > 1 and DEFAULT_BOOK not in there:
        raise InvalidInput(f"There are several books: say which with --book ({', '.join(there)}).")
    return there[0] if len(there) == 1 else DEFAULT_BOOK


def to_json(value: object) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False, indent=2)


def fields_of(value: Any) -> dict[str, Any]:
    """A value's own fields, as they are; what stands inside them stays what it is."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
