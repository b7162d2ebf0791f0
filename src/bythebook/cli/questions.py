"""`bythebook questions`: the questions a book is evaluated by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import BookId, DataDir, choose_book, fields_of, run_with_library

if TYPE_CHECKING:
    from bythebook.evaluation.question_drafts import QuestionDraft
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.reader import Library

app = typer.Typer(help="Draft questions for `evaluate`.", no_args_is_help=True)


@app.callback()
def _questions() -> None:
    """Draft questions for `evaluate`."""


@app.command()
def draft(
    book: BookId = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=10_000, help="How many.")] = 40,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write them to this file. Default: print them.", show_default=False)
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Propose questions from the book's own text. They are JSON lines for the book's author to correct."""
    from bythebook.errors import InvalidInput

    async def propose(library: OperationRunner[Library]) -> list[QuestionDraft]:
        from bythebook.operations.evaluation import draft_questions

        return await library.run(draft_questions, book_id=await choose_book(library, book), count=count)

    if output and output.exists():
        raise InvalidInput(f"{output} exists already and is not overwritten; name another file.")
    drafts = run_with_library(propose, data_dir=data_dir)
    lines = "".join(f"{json.dumps(fields_of(one), ensure_ascii=False)}\n" for one in drafts)
    if not output:
        typer.echo(lines, nl=False)
        return
    try:
        output.write_text(lines, "utf-8")
    except OSError as error:
        raise InvalidInput(f"The drafts cannot be written to {output} ({error.strerror}); name another file.") from error
    typer.echo(f'{len(drafts)} drafts in {output}. Correct them, set "checked": true, then: bythebook evaluate {output}')
