"""`bythebook privacy`: exports or erases what is stored about a reader."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import DataDir, run_with_database, to_line

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.threads.personal_data import DataOwner, Erasure

app = typer.Typer(help="Export or erase all that is stored about a key or a user.", no_args_is_help=True)
KeyOption = Annotated[str | None, typer.Option("--key", help="Of this key, by its id.", show_default=False)]
UserOption = Annotated[
    str | None, typer.Option("--user", help="Of this user, as a client's user_id named them.", show_default=False)
]


@app.command("export")
def export(
    key: KeyOption = None,
    user: UserOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this new file.", show_default=False)] = None,
    data_dir: DataDir = None,
) -> None:
    """Write out all that is stored about a key or a user. Each line is one JSON object."""
    owner = _owner(key, user)

    async def work(database: Database) -> list[str]:
        from bythebook.threads.personal_data import PersonalData

        return [to_line(one) async for one in PersonalData(database).export(owner)]

    lines = run_with_database(work, data_dir=data_dir)
    if output is None:
        for line in lines:
            typer.echo(line)
        return
    _write(output, lines)
    typer.echo(f"Wrote {len(lines):,} {'object' if len(lines) == 1 else 'objects'} to {output}.")


@app.command("erase")
def erase(
    key: KeyOption = None,
    user: UserOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Erase all that is stored about a key or a user, for good. A key is revoked and loses its name. Backups are not changed."""
    owner = _owner(key, user)
    if not yes:
        _confirm(user or key or "")

    async def work(database: Database) -> Erasure:
        from bythebook.threads.personal_data import PersonalData

        return await PersonalData(database).erase(owner)

    done = run_with_database(work, data_dir=data_dir)
    typer.echo(
        f"Erased {done.threads:,} {'thread' if done.threads == 1 else 'threads'}{' and the key' if done.key_erased else ''}."
    )


def _owner(key: str | None, user: str | None) -> DataOwner:
    from bythebook.errors import InvalidInput
    from bythebook.threads.personal_data import DataOwner

    if not key and not user:
        raise InvalidInput("Say whose data is meant, with --key KEY_ID or --user USER_ID.")
    return DataOwner(key_id=key, user_id=user)


def _confirm(whose: str) -> None:
    from bythebook.errors import NeedsConsent

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NeedsConsent(f"This would erase all that is stored about '{whose}' for good. If you mean that, add --yes.")
    if not typer.confirm(f"Erase all that is stored about '{whose}' for good?", err=True):
        raise typer.Exit(1)


def _write(file: Path, lines: list[str]) -> None:
    """Makes the file readable for its owner alone: it contains a reader's questions."""
    import os

    from bythebook.errors import InvalidInput

    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.writelines(line + "\n" for line in lines)
    except FileExistsError as error:
        raise InvalidInput(f"{file} is there already; name another file.") from error
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written ({error.strerror}); name another.") from error
