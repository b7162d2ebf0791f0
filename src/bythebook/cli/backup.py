"""`bythebook backup`: the library in one file, while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_resources, to_json

if TYPE_CHECKING:
    from bythebook.operations.backup import BackupReport
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.author import Resources


def run(
    file: Annotated[Path, typer.Argument(help="The file to write. It must not exist.", show_default=False)],
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Write the database and the index to one file. The server may be running. 'bythebook restore' puts the file back."""

    async def work(resources: OperationRunner[Resources]) -> BackupReport:
        from bythebook.operations.backup import back_up

        return await resources.run(back_up, file=file.absolute())

    report = run_with_resources(work, data_dir=data_dir)
    if json:
        typer.echo(to_json({**fields_of(report), "file": str(report.file)}))
        return
    typer.echo(f"Backed up {described(report.counts)} to {report.file} ({report.bytes / 1_000_000:,.1f} MB).")
    if not report.has_database:
        typer.echo("The PostgreSQL database is not in it: back it up with pg_dump, as docs/backup.md shows.")
    if not report.has_index:
        typer.echo("The index on the Qdrant server is not in it: docs/backup.md shows how to back it up, or to rebuild it.")


def described(counts: dict[str, int]) -> str:
    """What a backup holds, in words."""
    from bythebook.cli.output.console import counted

    words = [counted(number, name.removesuffix("s")) for name, number in counts.items() if number or name == "books"]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
