"""`bythebook llms`: llms.txt and llms-full.txt for the book's own site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import BookId, DataDir, choose_book, run_with_resources

if TYPE_CHECKING:
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources

NAMES = ("llms.txt", "llms-full.txt")


def run(
    folder: Annotated[Path, typer.Argument(help="Where to write: the folder of the built site.", show_default=False)],
    book: BookId = None,
    data_dir: DataDir = None,
) -> None:
    """Write llms.txt and llms-full.txt for a static site. The first lists the lessons with their links, the second has all the
    text."""
    from bythebook.errors import InvalidInput

    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder}. Build the site first, and name the folder it is built in.")

    async def write(resources: OperationRunner[Resources]) -> tuple[int, int]:
        from bythebook.operations.contents import full_text, list_text, read_contents, read_texts

        book_id = await choose_book(resources, book)
        contents = await resources.run(read_contents, book_id=book_id)
        texts = resources.follow(read_texts, book_id=book_id)
        parts = [part async for part in full_text(contents, texts, str)]
        written = (list_text(contents, str), "".join(parts))
        for name, text in zip(NAMES, written, strict=True):
            _write(folder / name, text)
        return len(contents.lessons), len(written[1].encode())

    lessons, size = run_with_resources(write, data_dir=data_dir)
    typer.echo(f"Wrote {folder / NAMES[0]} ({lessons:,} lessons) and {folder / NAMES[1]} ({size:,} bytes).")


def _write(file: Path, text: str) -> None:
    """Writes the file in one step, so that a site being served shows the old one or the new one."""
    from bythebook.errors import StorageFailure

    fresh = file.with_name(f".{file.name}.new")
    try:
        fresh.write_text(text, encoding="utf-8", errors="replace")
        fresh.replace(file)
    except OSError as error:
        raise StorageFailure(f"{file} cannot be written ({error.strerror}); make room, or make the folder writable.") from error
