"""Options that several commands share, and functions that run their work."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from bythebook.cli import CONTROL

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from bythebook.database.engine import Database
    from bythebook.operations.reader import ReaderFilters
    from bythebook.operations.runner import OperationRunner
    from bythebook.settings import Settings
    from bythebook.wiring.author import Resources
    from bythebook.wiring.reader import Library

T = TypeVar("T")
L = TypeVar("L", bound="Library")

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="The folder of the index and database. Default: the system's data folder.", show_default=False
    ),
]
BookId = Annotated[
    str | None,
    typer.Option("--book", "-b", help="The book's id. Default: BYTHEBOOK_BOOK, or else the only book.", show_default=False),
]
BookOrAll = Annotated[str | None, typer.Option("--book", "-b", help="The book's id. Default: all books.", show_default=False)]
Tier = Annotated[int | None, typer.Option(help="Your hardware, 1 to 4: only lessons for this tier and lower.")]
Module = Annotated[str | None, typer.Option(help="Only this module.", show_default=False)]
ChapterMin = Annotated[int | None, typer.Option(help="From this chapter on.", show_default=False)]
ChapterMax = Annotated[int | None, typer.Option(help="Up to this chapter.", show_default=False)]
LessonNumber = Annotated[int | None, typer.Option("--lesson", help="Only lessons with this number.", show_default=False)]
Levels = Annotated[
    list[str] | None, typer.Option("--level", help="Proficiency A1 to C2; repeat for several.", show_default=False)
]
LayerOption = Annotated[str | None, typer.Option("--layer", help="Teaching layer, L1 to L4.", show_default=False)]
Prefix = Annotated[str | None, typer.Option(help="Only lessons whose path or URL begins with this.", show_default=False)]
SimilarityThreshold = Annotated[
    float, typer.Option("--similarity-threshold", help="Leave out passages less relevant than this, 0.0 to 1.0.")
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold", help="Refuse if the best passage is less relevant than this, 0.0 to 1.0. Default 0.3.", show_default=False
    ),
]
NoGate = Annotated[
    bool, typer.Option("--no-gate", help="Let the two thresholds alone decide whether to answer, whatever the confidence.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def run_with_library(
    work: Callable[[OperationRunner[Library]], Coroutine[Any, Any, T]],
    *,
    data_dir: Path | None,
    embeds: bool = False,
    drafts: bool = False,
) -> T:
    """Runs the work with what a reader needs, opened here, or by the server that holds the index. `drafts`: the settings of a
    model are checked before anything is opened."""
    from bythebook.settings import read_settings
    from bythebook.wiring.reader import check_model, open_library

    settings = read_settings(data_dir=data_dir)
    if drafts:
        check_model(settings)
    return _run(lambda settings: open_library(settings, embeds=embeds), work, settings)


def run_with_resources(
    work: Callable[[OperationRunner[Resources]], Coroutine[Any, Any, T]],
    *,
    data_dir: Path | None,
    rehearsal: bool = False,
    embeds: bool = False,
    drafts: bool = False,
) -> T:
    """Runs the work with a library and with what an author needs."""
    from bythebook.settings import read_settings
    from bythebook.wiring.reader import check_model

    settings = read_settings(data_dir=data_dir)
    if drafts:
        check_model(settings)
    return run_with_settings(work, settings, rehearsal=rehearsal, embeds=embeds)


def run_with_settings(
    work: Callable[[OperationRunner[Resources]], Coroutine[Any, Any, T]],
    settings: Settings,
    *,
    rehearsal: bool = False,
    embeds: bool = False,
) -> T:
    """Runs the work in the library that these settings name."""
    from bythebook.wiring.author import open_resources

    return _run(lambda settings: open_resources(settings, rehearsal=rehearsal, embeds=embeds), work, settings)


def run_with_database(work: Callable[[Database], Coroutine[Any, Any, T]], *, data_dir: Path | None) -> T:
    """Runs the work with the database alone, which a server may have open at the same time."""
    from bythebook.settings import read_settings
    from bythebook.wiring.author import open_database

    async def opened() -> T:
        async with open_database(read_settings(data_dir=data_dir)) as database:
            return await work(database)

    return run_async(opened())


def _run(
    opening: Callable[[Settings], AbstractAsyncContextManager[L]],
    work: Callable[[OperationRunner[L]], Coroutine[Any, Any, T]],
    settings: Settings,
) -> T:
    from bythebook.operations.runner import open_runner

    async def opened() -> T:
        async with open_runner(settings, opening) as library:
            return await work(library)

    return run_async(opened())


def run_async(work: Coroutine[Any, Any, T], *, loop_factory: Callable[[], AbstractEventLoop] | None = None) -> T:
    """Runs a command's work in an event loop of its own. The first Ctrl-C cancels it, a second ends it at once.

    asyncio's own runner cancels in the signal handler, between any two instructions: a future that is just being given its result
    is cancelled in the middle of that, and a traceback is printed. Here the event loop cancels, between two of its callbacks.
    """
    import asyncio
    import signal
    import threading

    interrupted = False

    def interrupt(*_signal: object) -> None:
        nonlocal interrupted
        if interrupted:
            raise KeyboardInterrupt
        interrupted = True
        loop.call_soon_threadsafe(task.cancel)

    with contextlib.closing(work), asyncio.Runner(loop_factory=loop_factory) as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        if threading.current_thread() is not threading.main_thread():  # only the main thread hears signals
            return loop.run_until_complete(task)
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            if not interrupted:
                raise
            raise KeyboardInterrupt from None
        finally:
            signal.signal(signal.SIGINT, before)


async def choose_book(library: OperationRunner[Library], wanted: str | None) -> str:
    """The book that was named; else the configured one; else the only one."""
    from bythebook.operations.reader import choose_book

    return await library.run(choose_book, wanted=wanted, configured=library.settings.book)


def reader_filters(
    *,
    tier: int | None = None,
    module: str | None = None,
    chapter_min: int | None = None,
    chapter_max: int | None = None,
    lesson: int | None = None,
    level: list[str] | None = None,
    layer: str | None = None,
    parent: str | None = None,
    prefix: str | None = None,
) -> ReaderFilters:
    """The filters that the options give. Levels and layers may be typed in lower case."""
    return {
        "hardware_tier": tier,
        "module": module,
        "chapter_min": chapter_min,
        "chapter_max": chapter_max,
        "lesson": lesson,
        "proficiency_levels": tuple(one.upper() for one in level) if level else None,
        "layer": layer.upper() if layer else None,
        "parent_doc_id": parent,
        "prefix": prefix,
    }


def to_json(value: object) -> str:
    """JSON for a program; the few control characters that JSON leaves as they are are written as escapes too."""
    return _escaped(json.dumps(value, default=_plain, ensure_ascii=False, indent=2))


def to_line(value: object) -> str:
    """A value as JSON on one line."""
    return _escaped(json.dumps(value, default=_plain, ensure_ascii=False))


def _escaped(written: str) -> str:
    return CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", written)


def fields_of(value: Any) -> dict[str, Any]:
    """Returns a value's own fields, not converted any deeper."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
