"""`bythebook ingest`: ingests a book."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bythebook.cli import printable
from bythebook.cli.options import AsJson, DataDir, fields_of, run_async, run_with_resources, to_json

if TYPE_CHECKING:
    from bythebook.cli.output.console import Console
    from bythebook.ingestion.progress import IngestReport
    from bythebook.ingestion.request import Consent, IngestionRequest
    from bythebook.jobs.model import Repository
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources

T = TypeVar("T")
WARNINGS_SHOWN = 5
SECONDS_BETWEEN = 20.0


class IngestMode(StrEnum):
    """Document D's modes, as an option."""

    incremental = "incremental"
    full = "full"
    recreate = "recreate"


def run(
    folder: Annotated[
        str,
        typer.Argument(
            help="The book: a folder of lessons, one file, https://github.com/OWNER/REPO[/tree/BRANCH/FOLDER], or a site's "
            "address that ends in / or names its sitemap.xml.",
            show_default=False,
        ),
    ],
    mode: Annotated[
        IngestMode,
        typer.Option(
            help="incremental: what changed. full: every lesson again. recreate: a new index beside the old, then switch."
        ),
    ] = IngestMode.incremental,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Keep running, and ingest every change as it is saved.")] = False,
    book: Annotated[
        str | None, typer.Option("--book", "-b", help="The book's id; overrides book.toml.", show_default=False)
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Allow this folder to replace the one the book was ingested from.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove more than a third of the book's lessons without asking.")
    ] = False,
    title: Annotated[
        str | None,
        typer.Option(
            help="The book's title. This and the next four override the book's own files and are kept for later runs.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[str | None, typer.Option(help="Its language: en, de, pt-BR …", show_default=False)] = None,
    base_url: Annotated[str | None, typer.Option(help="The address of its site.", show_default=False)] = None,
    site: Annotated[
        str | None,
        typer.Option(
            help="Its site generator: docusaurus, mkdocs, mdbook, vitepress, hugo, jekyll, quarto, jupyterbook, sphinx or plain.",
            show_default=False,
        ),
    ] = None,
    pages: Annotated[
        str | None,
        typer.Option(help="How its pages are addressed: '{path}.html'.", show_default=False),
    ] = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Ingest a book, or update the index after the book was edited."""
    from bythebook.books.model import BookOptions
    from bythebook.errors import InvalidInput
    from bythebook.ingestion.request import Consent, IngestionRequest
    from bythebook.jobs.sources import repository_at

    website = "://" in folder and _is_site(folder)
    repository = None if website else repository_at(folder)
    if watch and (website or repository):
        raise InvalidInput("--watch follows a folder on this machine; to fetch a book again, run the command again.")
    root = _fetched(folder, data_dir, quiet=json) if website else Path(folder).absolute()
    options = BookOptions(title=title, language=language, base_url=base_url, site=site, pages=pages)

    async def bring_in(resources: OperationRunner[Resources], consent: Consent) -> tuple[IngestReport, list[str]]:
        from bythebook.operations.author import list_books

        request = IngestionRequest(book_id=book, mode=mode.value, dry_run=dry_run, consent=consent, options=options)
        done = await ingest(resources, root, request, repository=repository, quiet=json)
        return done, await resources.run(list_books)

    def attempt(consent: Consent) -> tuple[IngestReport, list[str]]:
        work = partial(bring_in, consent=consent)
        return run_with_resources(work, data_dir=data_dir, rehearsal=dry_run, embeds=not dry_run)

    consent = Consent(replace=replace, remove=yes)
    (report, shelf), consent = _with_consent(attempt, consent)
    if json:
        typer.echo(to_json({**fields_of(report), "duration_seconds": report.duration_seconds}))
    else:
        print_report(report)
        _propose(report, shelf)
    if watch and not dry_run:
        _watch(root, book, consent, data_dir)
    if report.failures:
        raise typer.Exit(1)


def _is_site(address: str) -> bool:
    from bythebook.ingestion.website import is_site

    return is_site(address)


def _fetched(address: str, data_dir: Path | None, *, quiet: bool) -> Path:
    """The folder with the pages of a site, fetched now."""
    from rich.progress import Progress

    from bythebook.cli.output.console import Console, plural
    from bythebook.ingestion.website import fetch_site
    from bythebook.settings import read_settings

    console = Console(stderr=True, highlight=False)
    folder = read_settings(data_dir=data_dir).data_dir.expanduser() / "sites"
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("Fetching", total=None)
        found = fetch_site(address, folder, lambda done, total: bar.update(task, completed=done, total=total))
    if not quiet:
        console.print(f"{found.pages:,} {plural(found.pages, 'page')} fetched, {found.unchanged:,} unchanged", style="dim")
        for problem in found.problems[:WARNINGS_SHOWN]:
            console.print(problem, markup=False, soft_wrap=True)
        if len(found.problems) > WARNINGS_SHOWN:
            console.print(f"and {len(found.problems) - WARNINGS_SHOWN:,} more", style="dim")
    return found.root


def _with_consent(attempt: Callable[[Consent], T], consent: Consent) -> tuple[T, Consent]:
    """A person at a terminal is asked for consent; a script must give it by an option."""
    from dataclasses import replace

    from bythebook.errors import NeedsConsent

    try:
        return attempt(consent), consent
    except NeedsConsent as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        typer.echo(f"bythebook: {printable(str(error))}", err=True)
        if not typer.confirm("Remove them?", err=True):
            raise typer.Exit(1) from error
        consent = replace(consent, remove=True)
        return attempt(consent), consent


def _propose(report: IngestReport, shelf: list[str]) -> None:
    """Suggests a question to ask the ingested book, with its id where it is not the only one."""
    if not report.dry_run:
        named = f" --book {report.book_id}" if len(shelf) > 1 else ""
        typer.echo(f'\n  Ask it: bythebook ask{named} "your question"')
    _say_language(report)


def _say_language(report: IngestReport) -> None:
    from bythebook.retrieval.ranker import ranks

    if not ranks(report.language):
        typer.echo("  The reading model knows English only: answers from this book rest on search and its own words.")


def _watch(folder: Path, book: str | None, consent: Consent, data_dir: Path | None) -> None:
    from bythebook.cli.watch import watch
    from bythebook.settings import read_settings

    run_async(watch(read_settings(data_dir=data_dir), folder, book=book, consent=consent))


async def ingest(
    resources: OperationRunner[Resources],
    folder: Path,
    request: IngestionRequest,
    *,
    repository: Repository | None = None,
    quiet: bool = False,
) -> IngestReport:
    """Ingests with a progress bar on a terminal, and with a line now and then in a log."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from bythebook.cli.output.console import Console
    from bythebook.ingestion.progress import Advanced, CalibrationBegun, IngestReport, Planned
    from bythebook.jobs.progress import WaitBegun
    from bythebook.operations.author import publish

    on_terminal = Console(stderr=True).is_terminal
    log = ProgressLog(quiet=quiet or on_terminal)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=32),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]}"),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not on_terminal,
    )
    report = None
    with bar:
        task = bar.add_task("Reading", total=None, done="")
        async for event in resources.follow(publish, root=folder, request=request, repository=repository):
            match event:
                case Planned():
                    bar.update(task, description="Ingesting", total=event.bytes_total or 1, files=event.files_total)
                case Advanced():
                    elapsed = bar.tasks[0].elapsed or 0.0
                    rate = f" · {event.chunks_embedded / elapsed:.0f} chunks/s" if elapsed > 1 and event.chunks_embedded else ""
                    files = f"{event.files_done:,}/{bar.tasks[0].fields['files']:,} lessons"
                    bar.update(task, completed=event.bytes_done, done=f"{files}{rate}")
                    log.tell(f"Ingesting: {files}")
                case WaitBegun():
                    bar.update(task, description="Waiting", done=event.reason)
                    log.tell(f"Waiting: {event.reason}")
                case CalibrationBegun():
                    bar.update(task, description="Calibrating", total=None, done="all lessons are in")
                    log.tell("Calibrating: all lessons are in")
                case IngestReport():
                    report = event
    assert report is not None, "an ingestion ends with its report"
    return report


class ProgressLog:
    """Lines on standard error where that is no terminal, at most one in `SECONDS_BETWEEN`: a log shows that the work
    continues."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._told = time.monotonic()

    def tell(self, line: str) -> None:
        now = time.monotonic()
        if not self._quiet and now - self._told >= SECONDS_BETWEEN:
            self._told = now
            typer.echo(printable(line), err=True)


def print_report(report: IngestReport) -> None:
    from rich.table import Table

    from bythebook.cli.output.console import Console, plural

    console = Console(highlight=False)
    verb = "would be " if report.dry_run else ""
    console.print(
        f"\n[bold]{_escape(report.title)}[/]  [dim]{report.book_id} · {report.mode}{' · dry run' if report.dry_run else ''}[/]\n"
    )
    if report.config:
        console.print(f"  [dim]{_escape(_site(report))}[/]\n", soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(justify="right", style="bold")
    table.add_column()
    lessons = f"{report.files_new:,} new, {report.files_modified:,} changed, {report.files_deleted:,} removed"
    table.add_row(
        f"{report.files_processed:,}",
        f"{plural(report.files_processed, 'lesson')} {verb}ingested [dim]({lessons}, {report.files_skipped:,} unchanged)[/]",
    )
    removed = f"{report.chunks_deleted:,} {verb}removed"
    table.add_row(f"{report.chunks_created:,}", f"{plural(report.chunks_created, 'chunk')} {verb}added, {removed}")
    embedded = f"{plural(report.chunks_embedded, 'text')} {verb}embedded"
    cached = " [dim](the rest came from the cache)[/]" if report.chunks_embedded < report.chunks_created else ""
    table.add_row(f"{report.chunks_embedded:,}", f"{embedded}{cached}")
    if report.words_read:
        share = f"{100 * report.words_exact / report.words_read:.1f} %"
        table.add_row(share, f"of {report.words_read:,} words found again in the files, character for character")
    if not report.dry_run:
        table.add_row(
            f"{report.total_chunks:,}",
            f"{plural(report.total_chunks, 'chunk')} in the index [dim]({report.duration_seconds:.1f} s)[/]",
        )
    console.print(table)
    _print_stale(console, report)
    _print_warnings(console, report)
    _print_failures(console, report)


def _site(report: IngestReport) -> str:
    """The site that was recognised, and in which file."""
    from bythebook.books.sites.site import GENERATOR_NAMES, WITHOUT_ADDRESSES

    known = next((name for style, name in GENERATOR_NAMES.items() if style == report.site), report.site)
    name = WITHOUT_ADDRESSES.get(report.config.rpartition("/")[2], known)
    return " · ".join(filter(None, (name, report.base_url or "no address", report.language, f"by {report.config}")))


def _print_stale(console: Console, report: IngestReport) -> None:
    if report.stale:
        console.print(f"\n  [yellow]{stale_answers(report.stale_answers)}[/]: bythebook threads list --stale")


def stale_answers(count: int) -> str:
    return f"{count:,} stored {'answer cites' if count == 1 else 'answers cite'} text that changed"


def _print_warnings(console: Console, report: IngestReport) -> None:
    """Prints warnings grouped by field, the first few of each with file and line."""
    from bythebook.books.model import PASSED_OVER

    by_field: dict[str, list[str]] = {}
    for warning in report.warnings:
        place = f"{warning.source_file}:{warning.line}" if warning.line else warning.source_file
        by_field.setdefault(warning.field, []).append(f"{_escape(place)}  [dim]{_escape(warning.message)}[/]")
    for field, lines in by_field.items():
        counted = f"[yellow]{len(lines):,} warning{'s' if len(lines) != 1 else ''}[/] about [bold]{field}[/]"
        console.print(f"\n  {'[yellow]Passed over[/]' if field == PASSED_OVER else counted}")
        for line in lines[:WARNINGS_SHOWN]:
            console.print(f"    {line}", soft_wrap=True)
        if len(lines) > WARNINGS_SHOWN:
            console.print(f"    [dim]and {len(lines) - WARNINGS_SHOWN:,} more; --json lists them all[/]")


def _print_failures(console: Console, report: IngestReport) -> None:
    if not report.failures:
        return
    count = len(report.failures)
    kept = "they are not in the new index" if report.mode == "recreate" else "what the index had of this stays in it"
    console.print(f"\n  [red]{count:,} lesson{'s' if count != 1 else ''} could not be read[/]; {kept}")
    for failure in report.failures:
        console.print(f"    {_escape(failure.reason)}", soft_wrap=True)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
