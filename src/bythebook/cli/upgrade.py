"""`bythebook upgrade`: brings the data of an earlier version up to this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bythebook.cli import printable
from bythebook.cli.options import DataDir, run_with_resources

if TYPE_CHECKING:
    from bythebook.operations.author import OutdatedBook
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources


def run(data_dir: DataDir = None) -> None:
    """Bring the data of an earlier version up to this one. The database is migrated whenever it is opened; this also
    rebuilds, from their sources, the indexes that an earlier version built differently. Threads, keys and jobs stay."""

    async def look(resources: OperationRunner[Resources]) -> list[OutdatedBook]:
        from bythebook.operations.author import list_outdated

        return await resources.run(list_outdated)

    outdated = run_with_resources(look, data_dir=data_dir)
    if not outdated:
        typer.echo("Everything is up to date.")
        return
    left = [book for book in outdated if not _index_again(book, data_dir)]
    if left:
        raise typer.Exit(1)


def _index_again(book: OutdatedBook, data_dir: Path | None) -> bool:
    """Rebuilds a book's index. Whether that was possible."""
    from bythebook.cli.ingest import ingest
    from bythebook.ingestion.request import IngestionRequest

    if not book.remakable:
        typer.echo(f"✗ {book.book_id}: {printable(book.reason)}")
        return False
    if not Path(book.source_root).exists():
        again = f"bythebook ingest FOLDER --book {book.book_id} --mode recreate --replace"
        typer.echo(f"✗ {book.book_id}: {printable(book.source_root)} is not here. When the book is somewhere else, run: {again}")
        return False

    async def work(resources: OperationRunner[Resources]) -> int:
        report = await ingest(resources, Path(book.source_root), IngestionRequest(book_id=book.book_id, mode="recreate"))
        return report.total_chunks

    chunks = run_with_resources(work, data_dir=data_dir, embeds=True)
    typer.echo(f"✓ {book.book_id}: indexed again, {chunks:,} chunks")
    return True
