"""`bythebook ask`: one question, one answer or refusal. Document A."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.cli.options import (
    BookId,
    ChapterMax,
    ChapterMin,
    DataDir,
    LayerOption,
    LessonNumber,
    Levels,
    Module,
    Prefix,
    Tier,
    choose_book,
    fields_of,
    reader_scope,
    run_with_library,
    to_json,
)

if TYPE_CHECKING:
    from bythebook.answering.answer import Answer
    from bythebook.operations.runner import OperationRunner
    from bythebook.threads.conversation import ThreadEvent
    from bythebook.wiring.reader import Library

LEAST_K, MOST_K = 3, 8


class OutputFormat(StrEnum):
    text = "text"
    json = "json"


def run(
    question: Annotated[
        str, typer.Argument(help="Your question, 1 to 1,000 characters; - reads it from a pipe.", show_default=False)
    ],
    book: BookId = None,
    k: Annotated[int | None, typer.Option("--k", help="How many passages to use, 3 to 8. Default 5.", show_default=False)] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Refuse if the best passage is less relevant than this, 0.0 to 1.0. Default 0.3.", show_default=False),
    ] = None,
    format: Annotated[OutputFormat, typer.Option(help="text for people, json for programs.")] = OutputFormat.text,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show how the answer was made.")] = False,
    tier: Tier = None,
    module: Module = None,
    chapter_min: ChapterMin = None,
    chapter_max: ChapterMax = None,
    lesson: LessonNumber = None,
    level: Levels = None,
    layer: LayerOption = None,
    prefix: Prefix = None,
    data_dir: DataDir = None,
) -> None:
    """Ask the book. Every sentence of the answer comes with the passage that says it."""
    from bythebook.errors import InvalidInput

    text = sys.stdin.read().strip() if question == "-" else question
    if k is not None and not LEAST_K <= k <= MOST_K:
        raise InvalidInput(f"K must be {LEAST_K}-{MOST_K}, got {k}.")

    async def ask(library: OperationRunner[Library]) -> Answer:
        from bythebook.answering.question import Question
        from bythebook.operations.turns import answer

        settings = library.settings
        scope = reader_scope(
            await choose_book(library, book),
            tier=tier,
            module=module,
            chapter_min=chapter_min,
            chapter_max=chapter_max,
            lesson=lesson,
            level=level,
            layer=layer,
            prefix=prefix,
            limit=k or min(MOST_K, max(LEAST_K, settings.agent_top_k)),
        )
        asked = Question(
            text=text,
            scope=scope,
            score_threshold=settings.agent_score_threshold if threshold is None else threshold,
            score_scale=settings.score_scale,
        )
        return await show(library.follow(answer, question=asked), quiet=format == OutputFormat.json, verbose=verbose)

    answer = run_with_library(ask, data_dir=data_dir, embeds=True)
    if format == OutputFormat.json:
        typer.echo(to_json(agent_response(answer)))


async def show(events: AsyncIterator[ThreadEvent], *, quiet: bool, verbose: bool = False) -> Answer:
    """Follows a turn, prints each sentence as it passes, and returns the answer."""
    from bythebook.answering.answer import Answered, Refused, SearchBegun, Sentence
    from bythebook.cli.output.answer import print_answer, print_sentence
    from bythebook.cli.output.console import Console

    console = Console(highlight=False, quiet=quiet)
    console.print()
    count, ended = 0, None
    async for event in events:
        match event:
            case SearchBegun(asked=was, question=now) if was != now:
                console.print(f"  searching for: {now}\n", style="dim", markup=False)
            case Sentence():
                print_sentence(console, event, first=not count)
                count += 1
            case Answered() | Refused():
                print_answer(console, event.answer, verbose=verbose)
                ended = event.answer
    assert ended is not None, "a turn ends with its answer"
    return ended


def agent_response(answer: Answer) -> dict[str, Any]:
    """Documents A's and C's AgentResponse, under their names."""
    plain = fields_of(answer)
    plain["tool_calls"] = [call.tool_name for call in answer.tool_calls]
    plain["retrieval_history"] = answer.tool_calls
    plain["total_time_ms"] = answer.total_time_ms
    plain["content"] = answer.answer
    plain["sources"] = [
        {"rank": rank, "score": one.score, "source_url": one.source_url, "content": one.quote}
        for rank, one in enumerate(answer.citations, start=1)
    ]
    return plain
