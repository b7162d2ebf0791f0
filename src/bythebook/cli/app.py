"""Registers the commands. Help is plain text, because rendering it with rich takes more than twice the time of everything
else."""

from __future__ import annotations

import os

import typer

from bythebook import __version__
from bythebook.cli import (
    ask,
    audit,
    backup,
    books,
    calibration,
    chat,
    check,
    context,
    demo,
    doctor,
    evaluate,
    gaps,
    ingest,
    jobs,
    keys,
    lesson,
    lessons,
    llms,
    mcp,
    model,
    privacy,
    questions,
    restore,
    search,
    serve,
    threads,
    upgrade,
    widget,
    worker,
)

app = typer.Typer(
    name="bythebook",
    help="Turns a textbook into a tutor that answers only from the book and shows the exact passage.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
READ = (demo, ingest, ask, chat, search, context, lesson, lessons, calibration, evaluate, gaps, check)
for module in (*READ, serve, mcp, llms, widget, worker, audit, backup, restore, upgrade, doctor):
    app.command(module.__name__.rpartition(".")[2])(module.run)
for group in (books, questions, jobs, threads, keys, privacy, model):
    app.add_typer(group.app, name=group.__name__.rpartition(".")[2])


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bythebook {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
    no_env_file: bool = typer.Option(False, "--no-env-file", help="Do not read the file .env in this folder."),
) -> None:
    if no_env_file:
        from bythebook.settings import NO_ENV_FILE

        os.environ[NO_ENV_FILE] = "1"


command = typer.main.get_command(app)
"""Made once for a process, not at each call: it takes 30 ms, and the tests call it hundreds of times."""
