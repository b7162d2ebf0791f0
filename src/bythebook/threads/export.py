"""Exports a thread as Markdown, each answer with its quotes. Text of a book or a reader can add no HTML, and only links to web
addresses."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.answering.answer import Answer, sources_footer, with_disclaimer
from bythebook.answering.markdown import harmless
from bythebook.grounding.citations import Citation
from bythebook.threads.model import StoredTurn, Thread
from bythebook.threads.store import ANY_KEY, Threads

MOST_THREADS = 1_000_000


def to_markdown(thread: Thread, turns: Sequence[StoredTurn]) -> str:
    parts = [f"# {thread.title or 'Thread'}", f"Book: {thread.book_id} · {thread.created_at:%Y-%m-%d}"]
    for turn in turns:
        parts += _told(turn.answer)
        if turn.stale_since:
            labels = " ".join(f"[{label}]" for label in turn.stale_labels)
            parts.append(f"*Stale: the book no longer contains what {labels} quotes.*")
    return harmless("\n\n".join(parts)) + "\n"


async def book_to_markdown(threads: Threads, book_id: str) -> str:
    """All threads of a book, of all keys, the latest first."""
    listed = await threads.list(ANY_KEY, book_id=book_id, limit=MOST_THREADS)
    return "\n".join([to_markdown(thread, await threads.turns(thread.thread_id)) for thread in listed])


def _sources(answer: Answer) -> list[Citation]:
    """One source for each number in the text, in order; `answer.citations` has only the first five."""
    cited = {one.label: one for said in reversed(answer.sentences) for one in reversed(said.citations)}
    return [cited[label] for label in sorted(cited)]


def _told(answer: Answer) -> list[str]:
    parts = [f"## {' '.join(answer.query.split())}", with_disclaimer(answer.answer, answer.disclaimer)]
    quotes = {(one.label, one.span.start, " ".join(one.quote.split())) for said in answer.sentences for one in said.citations}
    if quotes:  # those of one source in the order of the book
        parts.append("\n>\n".join(f"> {quote} [{label}]" for label, _, quote in sorted(quotes)))
    if answer.citations:
        parts.append("\n".join(sources_footer(_sources(answer))))
    if answer.nearest:
        parts.append("\n".join(f"- {one.page_title}: {one.source_url}" for one in answer.nearest))
    return parts
