"""`bythebook search`: finds passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import (
    AsJson,
    BookId,
    ChapterMax,
    ChapterMin,
    DataDir,
    LayerOption,
    LessonNumber,
    Levels,
    Module,
    Prefix,
    SimilarityThreshold,
    Tier,
    reader_filters,
    run_with_library,
    to_json,
)

if TYPE_CHECKING:
    from bythebook.operations.reader import Searched
    from bythebook.operations.runner import OperationRunner
    from bythebook.wiring.reader import Library


def run(
    text: Annotated[str, typer.Argument(help="What to look for, in your own words (3 to 1,000 characters).")],
    book: BookId = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many passages, 1 to 20.")] = 5,
    tier: Tier = 1,
    module: Module = None,
    chapter_min: ChapterMin = None,
    chapter_max: ChapterMax = None,
    lesson: LessonNumber = None,
    level: Levels = None,
    layer: LayerOption = None,
    parent: Annotated[str | None, typer.Option(help="Only the lesson with this parent_doc_id.", show_default=False)] = None,
    prefix: Prefix = None,
    similarity_threshold: SimilarityThreshold = 0.0,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Search a book for passages."""

    async def find(library: OperationRunner[Library]) -> Searched:
        from bythebook.operations.reader import OpenBook

        filters = reader_filters(
            tier=tier,
            module=module,
            chapter_min=chapter_min,
            chapter_max=chapter_max,
            lesson=lesson,
            level=level,
            layer=layer,
            parent=parent,
            prefix=prefix,
        )
        opened = await OpenBook.choose(library, book)
        return await opened.find(text, limit=limit, similarity_threshold=similarity_threshold, **filters)

    searched = run_with_library(find, data_dir=data_dir, embeds=True)
    if json:
        typer.echo(to_json(searched.response))
    else:
        print_results(searched, similarity_threshold)


def print_results(searched: Searched, similarity_threshold: float) -> None:
    from bythebook.cli.output.console import Console
    from bythebook.cli.output.passage import Hit

    console = Console(highlight=False)
    response = searched.response
    console.print()
    for result in response.results:
        console.print(Hit(result, response.query, searched.language), crop=False)
    left_out = searched.total_chunks - response.total_found
    if not response.results:
        if response.total_found:
            console.print(f"  No chunk reaches the similarity threshold of {similarity_threshold}.")
        else:
            console.print("  No chunk passes these filters." if left_out else "  The book is empty.")
    if left_out:
        tier = (
            f"; --tier 4 includes every tier, this search is for tier {response.hardware_tier_filter}"
            if response.hardware_tier_filter != 4
            else ""
        )
        size = f"{response.total_found:,} of {searched.total_chunks:,} chunks"
        console.print(f"  [dim]Searched {size}: the filters exclude the rest{tier}.[/]")
