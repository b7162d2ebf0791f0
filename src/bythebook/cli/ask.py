"""`bythebook ask`: one question, one answer or refusal. Document A."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.cli.options import (
    AsJson,
    ChapterMax,
    ChapterMin,
    DataDir,
    LayerOption,
    LessonNumber,
    Levels,
    Module,
    NoGate,
    Prefix,
    SimilarityThreshold,
    Threshold,
    Tier,
    fields_of,
    reader_filters,
    run_with_library,
    to_json,
)

if TYPE_CHECKING:
    from bythebook.answering.answer import Answer
    from bythebook.operations.runner import OperationRunner
    from bythebook.retrieval.query import SearchResult
    from bythebook.threads.conversation import ThreadEvent
    from bythebook.wiring.reader import Library

LEAST_K, MOST_K = 3, 8


NO_QUESTION = "Nothing was searched. Ask a question about the book."


class CitationForm(StrEnum):
    """Where citations are printed."""

    footer = "footer"
    inline = "inline"


class OutputFormat(StrEnum):
    """Who the output is for."""

    text = "text"
    json = "json"


def run(
    question: Annotated[
        str, typer.Argument(help="Your question, 1 to 1,000 characters; - reads it from a pipe.", show_default=False)
    ],
    book: Annotated[
        list[str] | None,
        typer.Option(
            "--book",
            "-b",
            help="The book's id; repeat it for several, '*' means all: the best grounded one answers. Default: the only book.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="How many passages to use, 3 to 8. Default 5.", show_default=False)] = None,
    similarity_threshold: SimilarityThreshold = 0.0,
    threshold: Threshold = None,
    no_gate: NoGate = False,
    citations: Annotated[
        CitationForm, typer.Option(help="footer: markers, and the sources below; inline: each source inside the answer.")
    ] = CitationForm.footer,
    format: Annotated[OutputFormat, typer.Option(help="text for people, json for programs.")] = OutputFormat.text,
    json: AsJson = False,
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
    """Ask the book a question. Every sentence of the answer comes with the passage that says it."""
    from bythebook.followups.rules import is_small_talk

    text = sys.stdin.read().strip() if question == "-" else question
    if k is not None:
        _check_k(k, "K must be")

    if is_small_talk(text) and not json and format == OutputFormat.text:
        typer.echo(NO_QUESTION)
        return

    named = book or []
    as_json, inline = json or format == OutputFormat.json, citations == CitationForm.inline

    async def ask(library: OperationRunner[Library]) -> ShownTurn:
        from bythebook.answering.assessment import ALL_BOOKS
        from bythebook.operations.reader import OpenBook

        filters = reader_filters(
            tier=tier,
            module=module,
            chapter_min=chapter_min,
            chapter_max=chapter_max,
            lesson=lesson,
            level=level,
            layer=layer,
            prefix=prefix,
        )
        several = len(named) > 1 or ALL_BOOKS in named
        among = await OpenBook.choose_several(library, named) if several else ()
        only = among[0] if among else named[0] if named else None
        opened = await OpenBook.choose(library, only)
        events = opened.follow(
            text,
            among=among,
            limit=k or _check_k(library.settings.agent_top_k, "Give --k, because AGENT_TOP_K must for this command be"),
            threshold=threshold,
            similarity_threshold=similarity_threshold,
            gate=not no_gate,
            **filters,
        )
        return await show(events, quiet=as_json, verbose=verbose, inline=inline)

    shown = run_with_library(ask, data_dir=data_dir, embeds=True, drafts=True)
    if as_json:
        typer.echo(to_json(agent_response(shown.answer, shown.found, inline=inline)))


def _check_k(k: int, must: str) -> int:
    """Checks document A's range, whether it comes from an option or a setting."""
    from bythebook.errors import InvalidInput

    if not LEAST_K <= k <= MOST_K:
        raise InvalidInput(f"{must} {LEAST_K}-{MOST_K}, got {k}.")
    return k


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTurn:
    """A turn that was printed: its answer, and all that was found for it."""

    answer: Answer
    found: tuple[SearchResult, ...]


async def show(events: AsyncIterator[ThreadEvent], *, quiet: bool, verbose: bool = False, inline: bool = False) -> ShownTurn:
    """Follows a turn, prints each sentence as it passes, and returns the answer. `inline`: each source inside the text."""
    from bythebook.answering.answer import Answered, Found, FoundAgain, Refused, SearchBegun, Sentence
    from bythebook.cli.output.answer import print_answer, print_sentence
    from bythebook.cli.output.console import Console

    console = Console(highlight=False, quiet=quiet)
    console.print()
    count, ended = 0, None
    found: tuple[SearchResult, ...] = ()
    async for event in events:
        match event:
            case SearchBegun(asked=was, question=now) if was != now:
                console.print(f"  searching for: {now}\n", style="dim", markup=False)
            case Found() | FoundAgain():
                found += event.results
            case Sentence():
                print_sentence(console, event, first=not count, inline=inline)
                count += 1
            case Answered() | Refused():
                print_answer(console, event.answer, verbose=verbose, inline=inline)
                for note in dict.fromkeys(one.note for one in event.trace.draft if one.note) if verbose and event.trace else ():
                    console.print(f"  words decided in the judge's place: {note}", style="dim", markup=False)
                ended = event.answer
    assert ended is not None, "a turn ends with its answer"
    return ShownTurn(answer=ended, found=found)


def agent_response(answer: Answer, found: Sequence[SearchResult], *, inline: bool = False) -> dict[str, Any]:
    """Documents A's and C's AgentResponse, under their names, and what the answer was made from."""
    from bythebook.answering.answer import inline_text, with_disclaimer
    from bythebook.answering.retrieval_views import assembled_context, grounding_context, retrieval_context, sources

    plain = fields_of(answer)
    if inline and not answer.refused:
        plain["answer"] = with_disclaimer(inline_text(answer.sentences), answer.disclaimer)
    plain["tool_calls"] = [call.tool_name for call in answer.tool_calls]
    plain["retrieval_history"] = answer.tool_calls
    plain["total_time_ms"] = answer.total_time_ms
    plain["content"] = plain["answer"]
    plain["sources"] = sources(answer, found)
    first = found[: answer.tool_calls[0].results_count]
    plain["grounding_context"] = grounding_context(answer, first)
    plain["assembled_context"] = assembled_context(first)
    plain["retrieval_context"] = retrieval_context(answer, first)
    return plain
