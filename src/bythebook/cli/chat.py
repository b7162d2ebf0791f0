"""`bythebook chat`: a conversation with the book. Documents B and C."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bythebook.cli.options import BookId, DataDir, choose_book, run_with_library

if TYPE_CHECKING:
    from rich.console import Console

    from bythebook.answers import Answer
    from bythebook.drafting.draft import Exchange
    from bythebook.retrieval.query import SearchQuery
    from bythebook.wiring import Library

HELP = """  /sources   the sources of the last answer
  /more      the whole passages behind it
  /filter    who is reading: /filter tier=2 module=ros2 chapter=1-3 level=B1,B2 layer=L2 prefix=module-1 (or: /filter none)
  /new       begin a new conversation
  /quit      end (or Ctrl-D)"""
WELCOME = "Ask the book. /help lists what else you can type."


@dataclass(slots=True)
class Conversation:
    """What the reader and the book have said to each other. Kept while the command runs."""

    query: SearchQuery
    exchanges: list[Exchange] = field(default_factory=list)
    last: Answer | None = None


def run(
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Ask one question and end.", show_default=False)
    ] = None,
    book: BookId = None,
    data_dir: DataDir = None,
) -> None:
    """Talk with the book: follow-ups are understood, every sentence is cited, /help lists the rest."""

    async def talk(library: Library) -> None:
        from bythebook.retrieval.query import SearchQuery

        book_id = await choose_book(library, book)
        state = await library.search.book(book_id)
        query = SearchQuery(
            text="standing in for the question", book_id=book_id, hardware_tier_filter=None, limit=library.settings.agent_top_k
        )
        conversation = Conversation(query=query)
        if question is not None:
            await _turn(library, conversation, question)
            return
        await _loop(library, conversation, state.title)

    run_with_library(talk, data_dir=data_dir, embeds=True)


async def _loop(library: Library, conversation: Conversation, title: str) -> None:
    import asyncio

    from rich.console import Console

    from bythebook.errors import BookError

    _remember_lines()
    console = Console(highlight=False)
    console.print(f"\n{title}", style="bold", markup=False)
    console.print(WELCOME, style="dim", markup=False)
    while True:
        try:
            line = (await asyncio.to_thread(input, "\n› ")).strip()
        except EOFError:
            return
        if not line:
            continue
        try:
            if line.startswith("/"):
                if not _command(console, conversation, line):
                    return
            else:
                await _turn(library, conversation, line)
        except BookError as error:  # the conversation goes on
            console.print(f"  {error}", style="red", markup=False)


async def _turn(library: Library, conversation: Conversation, text: str) -> None:
    """One turn, kept only when it is whole."""
    from rich.console import Console

    from bythebook.answers import sources_footer
    from bythebook.cli.ask import show
    from bythebook.drafting.draft import Exchange
    from bythebook.errors import InvalidInput
    from bythebook.turn import Question

    limit = library.settings.agent_max_turns
    if len(conversation.exchanges) >= limit:
        raise InvalidInput(f"This conversation has had its {limit} questions. Begin another with /new.")
    asked = Question(
        text=text,
        query=conversation.query,
        score_threshold=library.settings.agent_score_threshold,
        score_scale=library.settings.score_scale,
        history=tuple(conversation.exchanges),
    )
    answer = await show(library, asked, quiet=False)
    sources = tuple(" › ".join(filter(None, (one.page_title, one.section))) for one in answer.citations)
    conversation.exchanges.append(Exchange(question=text, answer=answer.answer, sources=sources))
    conversation.last = answer
    for line in sources_footer(answer.citations):
        Console(highlight=False).print(line, style="dim", markup=False, soft_wrap=True)


def _command(console: Console, conversation: Conversation, line: str) -> bool:
    """Do what a /command says. False ends the conversation."""
    word, _, rest = line.partition(" ")
    match word:
        case "/quit" | "/exit":
            return False
        case "/help":
            console.print(HELP, markup=False)
        case "/new":
            conversation.exchanges.clear()
            conversation.last = None
            console.print("  [dim]A new conversation.[/]")
        case "/sources" | "/more":
            _print_sources(console, conversation.last, whole=word == "/more")
        case "/filter":
            _set_filter(console, conversation, rest.strip())
        case _:
            console.print(f"  There is no {word}.\n{HELP}", markup=False)
    return True


def _print_sources(console: Console, answer: Answer | None, *, whole: bool) -> None:
    from bythebook.answers import inline

    if answer is None or not answer.citations:
        console.print("  [dim]There are no sources yet.[/]")
        return
    for sentence in answer.sentences if whole else ():
        for citation in sentence.citations:
            console.print(f"\n  [{citation.label}] {citation.page_title} {citation.section}", style="bold", markup=False)
            console.print(f"  {citation.quote}", markup=False)
    for citation in answer.citations:
        console.print(f"  {inline(citation)}", markup=False, soft_wrap=True)


def _set_filter(console: Console, conversation: Conversation, text: str) -> None:
    from bythebook.retrieval.query import SearchQuery

    query = conversation.query
    if text == "none":
        conversation.query = SearchQuery(text=query.text, book_id=query.book_id, hardware_tier_filter=None, limit=query.limit)
    elif text:
        conversation.query = replace(query, **parse_filter(text))
    shown = {name: value for name, value in _filters(conversation.query).items() if value is not None}
    console.print(
        "  " + (", ".join(f"{name} {value}" for name, value in shown.items()) or "No filter: the whole book."), markup=False
    )


def _filters(query: SearchQuery) -> dict[str, object]:
    return {
        "tier": query.hardware_tier_filter,
        "module": query.module_filter,
        "from chapter": query.chapter_min,
        "to chapter": query.chapter_max,
        "lesson": query.lesson_filter,
        "level": ",".join(query.proficiency_levels) if query.proficiency_levels else None,
        "layer": query.layer_filter,
        "prefix": query.prefix_filter,
    }


def parse_filter(text: str) -> dict[str, Any]:
    """`tier=2 chapter=1-3 level=B1,B2` as fields of a SearchQuery."""
    from bythebook.errors import InvalidInput

    changes: dict[str, Any] = {}
    for part in text.split():
        name, _, value = part.partition("=")
        match name:
            case "tier":
                changes["hardware_tier_filter"] = _number(name, value)
            case "lesson":
                changes["lesson_filter"] = _number(name, value)
            case "chapter":
                first, _, last = value.partition("-")
                changes |= {"chapter_min": _number(name, first), "chapter_max": _number(name, last or first)}
            case "level":
                changes["proficiency_levels"] = tuple(value.upper().split(","))
            case "layer":
                changes["layer_filter"] = value.upper()
            case "module" | "prefix":
                changes[f"{name}_filter"] = value
            case _:
                raise InvalidInput(
                    f"There is no filter '{name}'. There are tier, module, chapter, lesson, level, layer and prefix."
                )
    return changes


def _number(name: str, value: str) -> int:
    from bythebook.errors import InvalidInput

    if not value.isdecimal():
        raise InvalidInput(f"The {name} must be a number, not '{value}'.")
    return int(value)


def _remember_lines() -> None:
    """The arrow keys bring back earlier lines, where the system can."""
    import contextlib

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401
