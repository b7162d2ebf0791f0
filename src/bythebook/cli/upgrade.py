"""`bythebook upgrade`: brings the data of an earlier version up to this one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bythebook.cli import printable
from bythebook.cli.options import DataDir, run_with_resources

if TYPE_CHECKING:
    from bythebook.ingestion.progress import IngestReport
    from bythebook.operations.author import OutdatedBook
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources


def run(data_dir: DataDir = None) -> None:
    """Bring the data of an earlier version up to this one. The database is migrated whenever it is opened; this also
    rebuilds, from their sources, the indexes that an earlier version built differently, and reads the files again that an
    earlier version read differently. Threads, keys and jobs stay."""

    async def look(resources: OperationRunner[Resources]) -> list[OutdatedBook]:
        from bythebook.operations.author import list_outdated

        return await resources.run(list_outdated)

    outdated = run_with_resources(look, data_dir=data_dir)
    if not outdated:
        typer.echo("Everything is up to date.")
        return
    left = [book for book in outdated if not _ingest_again(book, data_dir)]
    if left:
        raise typer.Exit(1)


def _ingest_again(book: OutdatedBook, data_dir: Path | None) -> bool:
    """Ingests a book again from its source. Whether that was possible."""
    from bythebook.cli.ingest import ingest
    from bythebook.cli.output.console import plural
    from bythebook.errors import NeedsConsent
    from bythebook.ingestion.request import IngestionRequest

    if book.mode is None:
        typer.echo(f"✗ {book.book_id}: {printable(book.reason)}")
        return False
    if not Path(book.source_root).exists():
        again = f"bythebook ingest FOLDER --book {book.book_id} --mode {book.mode} --replace"
        why = f"{book.reason}; " if book.usable else ""
        typer.echo(
            f"✗ {book.book_id}: {printable(why + book.source_root)} is not here. If the book is somewhere else, run: {again}"
        )
        return False
    request = IngestionRequest(book_id=book.book_id, mode=book.mode)

    async def work(resources: OperationRunner[Resources]) -> IngestReport:
        return await ingest(resources, Path(book.source_root), request)

    try:
        report = run_with_resources(work, data_dir=data_dir, embeds=True)
    except NeedsConsent as error:
        again = f"bythebook ingest {shlex.quote(book.source_root)} --book {book.book_id} --mode {book.mode} --yes"
        typer.echo(f"✗ {book.book_id}: {printable(f'{error} Run: {again}')}")
        return False
    changed = f"{report.files_modified:,} {plural(report.files_modified, 'lesson')} changed"
    typer.echo(
        f"✓ {book.book_id}: {f'read again, {changed}' if book.usable else 'indexed again'}, {report.total_chunks:,} chunks"
    )
    for failure in report.failures:
        typer.echo(f"✗ {book.book_id}: {printable(failure.reason)}")
    return not report.failures
