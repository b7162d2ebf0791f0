"""The command line: parse, call, print. One module per command; what a command needs is imported when it runs."""

from __future__ import annotations

import sys

import typer

from bythebook import __version__
from bythebook.cli import books, check, context, demo, ingest, lesson, search
from bythebook.errors import BookError, InvalidInput, InvalidSettings

app = typer.Typer(
    name="bythebook",
    help="Turns a textbook into a tutor that answers only from the book and shows the exact passage.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (demo, ingest, search, context, lesson, books, check):
    app.command(module.__name__.rpartition(".")[2])(module.run)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bythebook {__version__}")
        raise typer.Exit


@app.callback()
def _root(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version.")) -> None:
    pass


def main() -> None:
    """Errors meant for a person become one sentence and an exit code: 2 for what was asked wrongly, 1 for the rest."""
    try:
        app()
    except BookError as error:
        print(f"bythebook: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InvalidInput | InvalidSettings) else 1)
    except BrokenPipeError:  # the reader of our output has gone away
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        print("\nbythebook: stopped.", file=sys.stderr)
        sys.exit(130)
