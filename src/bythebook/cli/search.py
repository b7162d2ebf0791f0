"""`bythebook search`: the right passage."""

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
    choose_book,
    run_with_library,
    to_json,
)

if TYPE_CHECKING:
    from bythebook.retrieval.query import SearchQuery, SearchResponse
    from bythebook.wiring import Library


def run(
    text: Annotated[str, typer.Argument(help="What to look for, in your own words (3 to 1,000 characters).")],
    book: BookId = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many passages, 1 to 20.")] = 5,
    tier: Annotated[int, typer.Option(help="Hardware you have, 1 to 4: lessons for this tier and lower.")] = 1,
    module: Module = None,
    chapter_min: ChapterMin = None,
    chapter_max: ChapterMax = None,
    lesson: LessonNumber = None,
    level: Levels = None,
    layer: LayerOption = None,
    parent: Annotated[str | None, typer.Option(help="Only the lesson with this parent_doc_id.", show_default=False)] = None,
    prefix: Prefix = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Find the passages of a book that say it."""

    async def search(library: Library) -> tuple[SearchQuery, SearchResponse, str, int]:
        from bythebook.index.vectors import Filters
        from bythebook.retrieval.query import SearchQuery

        query = SearchQuery(
            text=text,
            book_id=await choose_book(library, book),
            hardware_tier_filter=tier,
            module_filter=module,
            chapter_min=chapter_min,
            chapter_max=chapter_max,
            lesson_filter=lesson,
            proficiency_levels=tuple(one.upper() for one in level) if level else None,
            layer_filter=layer.upper() if layer else None,
            parent_doc_id=parent,
            prefix_filter=prefix,
            limit=limit,
        )
        response = await library.search.search(query)
        state = await library.search.book(query.book_id)
        everything = await library.index.count(state.collection_name, Filters(book_id=query.book_id))
        return query, response, state.language, everything

    query, response, language, everything = run_with_library(search, data_dir=data_dir, embeds=True)
    if json:
        typer.echo(to_json(response))
    else:
        print_response(query, response, language, everything)


def print_response(query: SearchQuery, response: SearchResponse, language: str, everything: int) -> None:
    from rich.console import Console

    from bythebook.cli.passage import Hit

    console = Console(highlight=False)
    console.print()
    for result in response.results:
        console.print(Hit(result, query.text, language), crop=False)
    left_out = everything - response.total_found
    if not response.results:
        console.print("  Nothing passes these filters." if left_out else "  The book is empty.")
    if left_out:
        tier = (
            f"; --tier 4 lets every tier through, this is tier {query.hardware_tier_filter}"
            if query.hardware_tier_filter != 4
            else ""
        )
        console.print(
            f"  [dim]Searched {response.total_found:,} of {everything:,} chunks: the filters leave out the rest{tier}.[/]"
        )
