"""A thread to take along: Markdown, each answer with the words of the book it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from bythebook.answers import Answer, sources_footer
from bythebook.threads.model import StoredTurn, Thread


def to_markdown(thread: Thread, turns: Sequence[StoredTurn]) -> str:
    parts = [f"# {thread.title or 'Thread'}", f"Book: {thread.book_id} · {thread.created_at:%Y-%m-%d}"]
    for turn in turns:
        parts += _told(turn.answer)
        if turn.stale_since:
            labels = " ".join(f"[{label}]" for label in turn.stale_labels)
            parts.append(f"*The book has changed since: it no longer says what {labels} quotes.*")
    return "\n\n".join(parts) + "\n"


def _told(answer: Answer) -> list[str]:
    parts = [f"## {' '.join(answer.query.split())}", answer.answer]
    if answer.disclaimer:
        parts.append(f"*{answer.disclaimer}*")
    quotes = {(one.label, one.span.start, " ".join(one.quote.split())) for said in answer.sentences for one in said.citations}
    if quotes:  # those of one source in the order of the book
        parts.append("\n>\n".join(f"> {quote} [{label}]" for label, _, quote in sorted(quotes)))
    if answer.citations:
        parts.append("\n".join(sources_footer(answer.citations)))
    if answer.nearest:
        parts.append("\n".join(f"- {one.page_title}: {one.source_url}" for one in answer.nearest))
    return parts
