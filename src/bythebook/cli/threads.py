"""`bythebook threads`: all stored threads of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli import printable
from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_database, to_json

if TYPE_CHECKING:
    from bythebook.cli.output.console import Console
    from bythebook.database.engine import Database
    from bythebook.threads.model import StoredTurn, Thread
    from bythebook.threads.transcript import Transcript

app = typer.Typer(help="List, read, export and delete stored threads.", no_args_is_help=True)
NONE_STALE = "No stored answer is stale: every quote is still in its book."
ThreadId = Annotated[str, typer.Argument(help="The thread's id, as shown by 'threads list'.", show_default=False)]


@app.command("list")
def list_threads(
    book: Annotated[str | None, typer.Option("--book", "-b", help="Only threads of this book.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 20,
    stale: Annotated[
        bool, typer.Option("--stale", help="Only threads with an answer that quotes text the book no longer has.")
    ] = False,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List threads, the last used first."""

    async def work(database: Database) -> list[Thread]:
        from bythebook.threads.store import ANY_KEY, Threads

        return await Threads(database).list(ANY_KEY, book_id=book, limit=limit, stale=stale)

    threads = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json(threads))
        return
    from rich.markup import escape

    from bythebook.cli.output.console import Console, counted, when

    console = Console(highlight=False)
    if not threads:
        console.print(NONE_STALE if stale else "There is no thread yet. 'bythebook chat' starts one.")
        return
    for thread in threads:
        moment = when(thread.updated_at) + (" (archived)" if thread.archived_at else "")
        console.print(f"\n[bold]{thread.thread_id}[/]  {escape(thread.topic_summary or thread.title or '')}", soft_wrap=True)
        turns = f"{escape(thread.book_id)}, {counted(thread.turn_count, 'turn')}, last spoken in {moment}"
        console.print(f"  [dim]{turns}[/]", soft_wrap=True)


@app.command("show")
def show(
    thread_id: ThreadId,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="Every message: the system prompt, each search and what it found, the answers.")
    ] = False,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show a thread. Each question has its answer or refusal, and the sources."""
    if transcript:
        _show_transcript(thread_id, json=json, data_dir=data_dir)
        return
    thread, turns = _read(thread_id, data_dir)
    if json:
        typer.echo(to_json({**fields_of(thread), "turns": [{**fields_of(turn), "asked": turn.asked} for turn in turns]}))
        return
    from bythebook.cli.output.console import Console

    console = Console(highlight=False)
    console.print(f"\n{thread.title} ({thread.book_id})", style="bold", markup=False)
    for turn in turns:
        _print_turn(console, turn)


@app.command("export")
def export(
    thread_id: ThreadId,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write it to this file.", show_default=False)] = None,
    data_dir: DataDir = None,
) -> None:
    """Print a thread as Markdown, each answer with its quotes."""
    from bythebook.errors import StorageFailure
    from bythebook.threads.export import to_markdown

    text = to_markdown(*_read(thread_id, data_dir))
    if output is None:
        typer.echo(printable(text), nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFailure(f"{output} cannot be written ({error.strerror}). Choose another file.") from error


@app.command("delete")
def delete(thread_id: ThreadId, data_dir: DataDir = None) -> None:
    """Delete a thread for good."""

    async def work(database: Database) -> None:
        from bythebook.threads.store import ANY_KEY, Threads

        await Threads(database).delete(thread_id, ANY_KEY)

    run_with_database(work, data_dir=data_dir)
    typer.echo(f"The thread {thread_id} is deleted.")


@app.command("trace")
def trace(
    thread_id: ThreadId,
    turn: Annotated[int | None, typer.Argument(help="The number of the turn. Default: the last.", show_default=False)] = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show how a turn was made. You see what was searched and found, why it was answered or refused, and which sentences were
    dropped."""
    from bythebook.errors import NotFound

    _, turns = _read(thread_id, data_dir)
    chosen = next((one for one in turns if one.number == (turn or turns[-1].number)), None)
    if chosen is None:
        raise NotFound(f"The thread {thread_id} has turns 1 to {turns[-1].number}, and no turn {turn}.")
    if json:
        typer.echo(to_json({**fields_of(chosen), "asked": chosen.asked}))
        return
    from bythebook.cli.output.console import Console

    console = Console(highlight=False)
    _print_turn(console, chosen, verbose=True)
    if chosen.trace is not None:
        from bythebook.cli.output.trace import print_trace

        print_trace(console, chosen.trace)


def _show_transcript(thread_id: str, *, json: bool, data_dir: Path | None) -> None:
    async def work(database: Database) -> Transcript:
        from bythebook.threads.store import ANY_KEY, Threads
        from bythebook.threads.transcript import read_transcript

        threads = Threads(database)
        return await read_transcript(threads, await threads.get(thread_id, ANY_KEY))

    transcript = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json(transcript))
        return
    from bythebook.cli.output.console import Console, when

    console = Console(highlight=False)
    console.print(f"\n{transcript.id}  {transcript.book_id} · {transcript.model}", style="dim", markup=False)
    for message in transcript.messages:
        called = "".join(
            f" → {call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls", ())
        )
        console.print(f"\n{message['role']}", style="bold cyan", markup=False, end="")
        console.print(f"{called}  {when(message['timestamp'])}", style="dim", markup=False)
        if message["content"]:
            console.print(message["content"], markup=False, soft_wrap=True)


def _print_turn(console: Console, turn: StoredTurn, *, verbose: bool = False) -> None:
    from bythebook.cli.output.answer import print_answer, print_sentence
    from bythebook.cli.output.console import when

    console.print(f"\n› {turn.asked}\n", markup=False)
    for sentence in turn.answer.sentences:
        print_sentence(console, sentence, first=sentence is turn.answer.sentences[0])
    print_answer(console, turn.answer, verbose=verbose)
    if turn.stale_since:
        labels = " ".join(f"[{label}]" for label in turn.stale_labels)
        since = f"  Stale: the book no longer contains what {labels} quotes ({when(turn.stale_since)})."
        console.print(since, style="yellow", markup=False)


def _read(thread_id: str, data_dir: Path | None) -> tuple[Thread, tuple[StoredTurn, ...]]:
    async def work(database: Database) -> tuple[Thread, tuple[StoredTurn, ...]]:
        from bythebook.threads.store import ANY_KEY, Threads

        threads = Threads(database)
        thread = await threads.get(thread_id, ANY_KEY)
        return thread, await threads.turns(thread.thread_id)

    return run_with_database(work, data_dir=data_dir)
