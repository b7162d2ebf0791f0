"""`bythebook books`: lists the books; shows, renames or removes one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli import printable
from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_database, run_with_resources, to_json

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.index.state import IngestionRecord, IngestionState
    from bythebook.ingestion.shelf import BookHoldings
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources

app = typer.Typer(help="List the books; show, rename or remove one.")
OneBook = Annotated[str, typer.Argument(help="The book's id, as 'books' shows it.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.callback(invoke_without_command=True)
def list_books(context: typer.Context, json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the books, how much of each is in the index, and when it was last updated."""
    if context.invoked_subcommand:
        _check_nothing_before(context.invoked_subcommand, given=json or data_dir is not None)
        return

    async def read(database: Database) -> list[tuple[IngestionState, int]]:
        from bythebook.ingestion.records import Records

        records = Records(database)
        lessons = await records.lesson_counts()
        return [(book, lessons.get(book.book_id, 0)) for book in await records.books()]

    shelf = run_with_database(read, data_dir=data_dir)
    if json:
        typer.echo(to_json([{**fields_of(state), "lessons": lessons} for state, lessons in shelf]))
        return
    _print_shelf(shelf)


@app.command("show")
def show(book: OneBook, json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show a book and its files. Each file has its hash, its chunks, when it was ingested, and whether that was completed."""

    async def read(database: Database) -> tuple[IngestionState, list[IngestionRecord]]:
        from bythebook.ingestion.records import Records
        from bythebook.operations.reader import choose_among

        records, states = Records(database), {state.book_id: state for state in await Records(database).books()}
        state = states[choose_among(states.values(), wanted=book, named_by="its id")]
        found = await records.records(state.book_id, state.collection_name)
        return state, sorted(found.values(), key=lambda one: one.reading_order)

    state, records = run_with_database(read, data_dir=data_dir)
    if json:
        from bythebook.index.state import record_to_plain

        typer.echo(to_json({**fields_of(state), "records": [record_to_plain(record) for record in records]}))
        return
    _print_book(state, records)


@app.command("rename")
def rename(
    book: OneBook,
    new: Annotated[str, typer.Argument(help="Its new id.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Give a book another id. Its threads, jobs, keys and fit go with it; nothing is embedded again."""

    async def work(resources: OperationRunner[Resources]) -> IngestionState:
        from bythebook.operations.books import rename_book

        return await resources.run(rename_book, book_id=book, new_id=new)

    state = run_with_resources(work, data_dir=data_dir)
    typer.echo(
        f"{printable(state.title)} is '{state.book_id}' from now on. Where its book.toml says '{book}', say '{new}' there too."
    )


@app.command("remove")
def remove(
    book: OneBook,
    export: Annotated[
        Path | None, typer.Option("--export", help="First write its threads to this Markdown file.", show_default=False)
    ] = None,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Remove a book for good. Its fit, its embeddings, its threads and its jobs go with it; keys for it alone are revoked. The
    folder it came from stays."""

    async def look(resources: OperationRunner[Resources]) -> BookHoldings:
        from bythebook.operations.books import read_holdings

        return await resources.run(read_holdings, book_id=book)

    async def take(resources: OperationRunner[Resources]) -> BookHoldings:
        from bythebook.operations.books import remove_book

        return await resources.run(remove_book, book_id=book)

    held = run_with_resources(look, data_dir=data_dir)
    if not yes:
        _confirm(held, export)
    if export:
        _export(book, export, data_dir)
    run_with_resources(take, data_dir=data_dir)
    typer.echo(f"Removed {printable(_told(held))}." + (f" Its threads are in {export}." if export else ""))


def _check_nothing_before(command: str, *, given: bool) -> None:
    """An option before the command would be ignored, and another library be used."""
    from bythebook.errors import InvalidInput

    if given:
        raise InvalidInput(f"Options come after the command: bythebook books {command} … --data-dir FOLDER")


def _confirm(held: BookHoldings, export: Path | None) -> None:
    from bythebook.errors import NeedsConsent

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NeedsConsent(f"This would remove {printable(_told(held))} for good. If you mean that, add --yes.")
    kept = "" if export or not held.threads else " Its threads go too; --export FILE keeps them."
    typer.echo(f"This removes {printable(_told(held))} for good.{kept}", err=True)
    if not typer.confirm("Remove it?", err=True):
        raise typer.Exit(1)


def _export(book: str, file: Path, data_dir: Path | None) -> None:
    from bythebook.errors import InvalidInput

    async def read(database: Database) -> str:
        from bythebook.threads.export import book_to_markdown
        from bythebook.threads.store import Threads

        return await book_to_markdown(Threads(database), book)

    text = run_with_database(read, data_dir=data_dir)
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError as error:
        raise InvalidInput(f"{file} is there already, and nothing was removed; name another file.") from error
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written ({error.strerror}), and nothing was removed; name another.") from error


def _told(held: BookHoldings) -> str:
    from bythebook.cli.output.console import counted

    what = [counted(held.lessons, "lesson"), counted(held.chunks, "chunk")]
    what += [
        counted(number, word) for number, word in ((held.threads, "thread"), (held.jobs, "job"), (held.keys, "key")) if number
    ]
    return f"'{held.book_id}' ({held.title}): {', '.join(what)}"


def _print_shelf(shelf: list[tuple[IngestionState, int]]) -> None:
    from rich.markup import escape

    from bythebook.cli.output.console import Console, counted
    from bythebook.errors import NO_BOOK

    console = Console(highlight=False)
    if not shelf:
        console.print(NO_BOOK)
        return
    for state, lessons in shelf:
        held = f"{counted(lessons, 'lesson')}, {counted(state.total_chunks, 'chunk')}, last ingested {_last_ingested(state)}"
        console.print(f"\n[bold]{state.book_id}[/]  {escape(state.title)}", soft_wrap=True)
        console.print(f"  {held}\n  [dim]from {escape(state.source_root)}[/]", soft_wrap=True)


def _print_book(state: IngestionState, records: list[IngestionRecord]) -> None:
    from rich.markup import escape

    from bythebook.cli.output.console import Console, counted, when

    console = Console(highlight=False)
    console.print(f"\n[bold]{escape(state.title)}[/]  [dim]{state.book_id}[/]")
    console.print(f"[dim]from {escape(state.source_root)}, last ingested {_last_ingested(state)}[/]", soft_wrap=True)
    console.print(f"[dim]{counted(len(records), 'lesson')}, {counted(state.total_chunks, 'chunk')}, {state.language}[/]\n")
    for record in records:
        facts = f"{counted(record.chunk_count, 'chunk')} · {record.file_hash[:12]} · {record.status} {when(record.ingested_at)}"
        console.print(f"{escape(record.title or '')}\n  [dim]{escape(record.source_file)}\n  {facts}[/]", soft_wrap=True)


def _last_ingested(state: IngestionState) -> str:
    times = [time for time in (state.last_full_ingest, state.last_incremental_update) if time]
    return max(times).astimezone().strftime("%Y-%m-%d %H:%M") if times else "never"
