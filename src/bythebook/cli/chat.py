"""`bythebook chat`: a thread with the book. Documents B and C."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.ask import NO_QUESTION
from bythebook.cli.options import BookId, DataDir, NoGate, SimilarityThreshold, Threshold, choose_book, run_with_resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bythebook.answering.answer import Answer
    from bythebook.cli.output.console import Console
    from bythebook.operations.runner import OperationRunner
    from bythebook.retrieval.query import Scope
    from bythebook.wiring.author import Resources

HELP = """  /sources   the sources of the last answer
  /more      the whole passages behind it
  /filter    who is reading: /filter tier=2 module=ros2 chapter=1-3 level=B1,B2 layer=L2 prefix=module-1 (or: /filter none)
  /new       begin a new thread
  /quit      end (or Ctrl-D)"""
NO_SOURCES = "  There are no sources yet."
WELCOME = "Ask the book. /help lists the commands."


@dataclass(slots=True)
class ChatSession:
    """What the command remembers between two lines. The conversation itself is stored in the thread."""

    scope: Scope
    thread_id: str | None = None
    last: Answer | None = None
    score_threshold: float = 0.0
    similarity_threshold: float = 0.0
    gate: bool = True


def run(
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Ask one question and exit.", show_default=False)
    ] = None,
    thread: Annotated[
        str | None, typer.Option(help="Continue this thread; 'threads list' shows the ids.", show_default=False)
    ] = None,
    book: BookId = None,
    similarity_threshold: SimilarityThreshold = 0.0,
    threshold: Threshold = None,
    no_gate: NoGate = False,
    data_dir: DataDir = None,
) -> None:
    """Talk with the book. Follow-ups are understood; /help lists the commands."""

    async def talk(library: OperationRunner[Resources]) -> None:
        from bythebook.operations.reader import read_state

        sitting = await _begin(library, thread, book)
        sitting.score_threshold = library.settings.agent_score_threshold if threshold is None else threshold
        sitting.similarity_threshold, sitting.gate = similarity_threshold, not no_gate
        title = (await library.run(read_state, book_id=sitting.scope.book_id)).title
        if question is not None:
            await _turn(library, sitting, question)
        else:
            await _loop(library, sitting, title)

    run_with_resources(talk, data_dir=data_dir, embeds=True, drafts=True)


async def _begin(library: OperationRunner[Resources], thread_id: str | None, book: str | None) -> ChatSession:
    from bythebook.operations.threads import resume
    from bythebook.retrieval.query import Scope

    limit = library.settings.agent_top_k
    if thread_id is None:
        return ChatSession(scope=Scope(book_id=await choose_book(library, book), limit=limit))
    resumed = await library.run(resume, thread_id=thread_id, book_id=book)
    return ChatSession(scope=Scope(book_id=resumed.book_id, limit=limit), thread_id=resumed.thread_id, last=resumed.last)


async def _loop(library: OperationRunner[Resources], sitting: ChatSession, title: str) -> None:
    from bythebook.cli.output.console import Console
    from bythebook.errors import BookError
    from bythebook.followups.rules import is_small_talk

    _remember_lines()
    console = Console(highlight=False)
    console.print(f"\n{title}", style="bold", markup=False)
    console.print(WELCOME, style="dim", markup=False)
    while True:
        try:
            line = (await _typed("\n› ")).strip()
        except EOFError:
            line = "/quit"
        if not line:
            continue
        try:
            if is_small_talk(line):
                console.print(f"  {NO_QUESTION}", style="dim", markup=False)
            elif not line.startswith("/"):
                await _turn(library, sitting, line)
            elif line == "/more":
                await _print_passages(library, console, sitting)
            elif not _command(console, sitting, line):
                return
        except BookError as error:  # the thread goes on
            console.print(f"  {error}", style="red", markup=False)


async def _typed(prompt: str) -> str:
    """Reads the next line. Ctrl-C ends the wait at once: a pool's thread would be waited for until a line is typed, so the line
    is read in a daemon thread, and the terminal gets back the mode it had before."""
    import asyncio
    import sys
    from threading import Thread

    if not sys.stdin.isatty():  # a pipe ends with the program that writes into it
        return await asyncio.to_thread(input, prompt)
    loop, line = asyncio.get_running_loop(), asyncio.Future[str]()

    def read() -> None:
        try:
            typed = input(prompt)
        except EOFError:
            tell(lambda: line.set_exception(EOFError))
        else:
            tell(lambda: line.set_result(typed))

    def tell(act: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if line.done() else act())

    with _terminal_mode_kept():
        Thread(target=read, daemon=True).start()
        return await line


@contextlib.contextmanager
def _terminal_mode_kept() -> Iterator[None]:
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    before = termios.tcgetattr(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


async def _turn(library: OperationRunner[Resources], sitting: ChatSession, text: str) -> None:
    from bythebook.answering.answer import sources_footer
    from bythebook.cli.ask import show
    from bythebook.cli.output.console import Console
    from bythebook.operations.threads import converse
    from bythebook.threads.conversation import Asked, Opened

    asked = Asked(
        text=text,
        scope=sitting.scope,
        thread_id=sitting.thread_id,
        score_threshold=sitting.score_threshold,
        similarity_threshold=sitting.similarity_threshold,
        gate=sitting.gate,
        score_scale=library.settings.score_scale,
    )
    events = library.follow(converse, asked=asked)
    opened = await anext(events)
    assert isinstance(opened, Opened), "a turn begins with its thread"
    sitting.last = (await show(events, quiet=False)).answer
    sitting.thread_id = opened.thread_id
    console = Console(highlight=False)
    for line in () if console.is_terminal else sources_footer(sitting.last.citations):  # a person has seen each with its quote
        console.print(line, style="dim", markup=False, soft_wrap=True)


def _command(console: Console, sitting: ChatSession, line: str) -> bool:
    """Runs a /command. False ends the chat."""
    word, _, rest = line.partition(" ")
    match word:
        case "/quit" | "/exit":
            if sitting.thread_id:
                later = f"\nContinue later with: bythebook chat --thread {sitting.thread_id}"
                console.print(later, style="dim", markup=False, soft_wrap=True)
            return False
        case "/help":
            console.print(HELP, markup=False)
        case "/new":
            sitting.thread_id, sitting.last = None, None
            console.print("  [dim]A new thread.[/]")
        case "/sources":
            _print_sources(console, sitting.last)
        case "/filter":
            _set_filter(console, sitting, rest.strip())
        case _:
            console.print(f"  There is no command {word}.\n{HELP}", markup=False)
    return True


def _print_sources(console: Console, answer: Answer | None) -> None:
    from bythebook.answering.answer import inline

    if answer is None or not answer.citations:
        console.print(NO_SOURCES, style="dim")
        return
    for citation in answer.citations:
        console.print(f"  {inline(citation)}", markup=False, soft_wrap=True)


async def _print_passages(library: OperationRunner[Resources], console: Console, sitting: ChatSession) -> None:
    """A passage that the book no longer has is left out; its quote was shown with the answer."""
    from bythebook.cli.output.answer import print_passages
    from bythebook.errors import NotFound
    from bythebook.operations.reader import fetch_context

    answer, passages = sitting.last, dict[str, str]()
    if answer is None or not answer.citations:
        console.print(NO_SOURCES, style="dim")
        return
    for chunk_id in {one.chunk_id: None for sentence in answer.sentences for one in sentence.citations}:
        with contextlib.suppress(NotFound):
            context = await library.run(fetch_context, book_id=answer.book_id, chunk_id=chunk_id)
            passages[chunk_id] = context.chunk.text
    print_passages(console, answer, passages)


def _set_filter(console: Console, sitting: ChatSession, text: str) -> None:
    from bythebook.cli.filters import parse_filter, shown_filter

    scope = sitting.scope
    if text == "none":
        sitting.scope = scope.unfiltered
    elif text:
        sitting.scope = replace(scope, **parse_filter(text))
    console.print(f"  {shown_filter(sitting.scope)}", markup=False)


def _remember_lines() -> None:
    """The arrow keys bring back earlier lines, where the system can."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401
