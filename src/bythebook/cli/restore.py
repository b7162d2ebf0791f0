"""`bythebook restore`: a backup put back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bythebook.cli.backup import described
from bythebook.cli.options import DataDir


def run(
    file: Annotated[Path, typer.Argument(help="A file that 'bythebook backup' wrote.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Put a backup back into a data folder that holds no library. Every file is compared with its hash first."""
    from bythebook.operations.restore import restore_backup
    from bythebook.settings import read_settings

    settings = read_settings(data_dir=data_dir)
    contents = restore_backup(settings, file)
    made = f"made {contents.made_at.replace('T', ' ').removesuffix('+00:00')} UTC by version {contents.version}"
    typer.echo(f"Restored {described(contents.counts)} to {settings.data_dir.expanduser()} ({made}).")
    typer.echo("To verify every invariant of the index, run: bythebook check")
