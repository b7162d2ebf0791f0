"""Exports a thread as Markdown, each answer with its quotes. What a book or a reader wrote adds no tags, and only web
addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt

from bythebook.answering.answer import Answer, sources_footer
from bythebook.threads.model import StoredTurn, Thread
from bythebook.threads.store import ANY_KEY, Threads

MOST_THREADS = 1_000_000
CODE = re.compile(r"(?<![\\`])(?P<ticks>`+)(?!`)[^|\n]*?(?<!`)(?P=ticks)(?!`)")
"""A part of a line."""
TAG = re.compile(r"<(?=[A-Za-z/!?])")
ADDRESS = re.compile(r"(?<=\])(?:\((?!https?://)|:(?!\s*https?://))")


def to_markdown(thread: Thread, turns: Sequence[StoredTurn]) -> str:
    parts = [f"# {thread.title or 'Thread'}", f"Book: {thread.book_id} · {thread.created_at:%Y-%m-%d}"]
    for turn in turns:
        parts += _told(turn.answer)
        if turn.stale_since:
            labels = " ".join(f"[{label}]" for label in turn.stale_labels)
            parts.append(f"*Stale: the book no longer contains what {labels} quotes.*")
    return harmless("\n\n".join(parts)) + "\n"


async def book_to_markdown(threads: Threads, book_id: str) -> str:
    """Returns every thread of a book, of all keys, the latest first."""
    listed = await threads.list(ANY_KEY, book_id=book_id, limit=MOST_THREADS)
    return "\n".join([to_markdown(thread, await threads.turns(thread.thread_id)) for thread in listed])


def harmless(markdown: str) -> str:
    """Writes tags as text and disables links that are not web addresses. Code is left as it is."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", markdown)  # as the parser counts them
    made, at = [], 0
    for first, end in _code_blocks(markdown):
        made += [_without_tags("".join(lines[at:first])), "".join(lines[first:end])]
        at = end
    return "".join(made) + _without_tags("".join(lines[at:]))


def _code_blocks(markdown: str) -> list[tuple[int, int]]:
    """The lines of each, as a program that shows Markdown finds them: indented fences, and fences in lists, end elsewhere than it
    seems. Without tags, as what is made of it has none."""
    tokens = MarkdownIt("commonmark", {"html": False}).parse(markdown)
    return [(token.map[0], token.map[1]) for token in tokens if token.type == "fence" and token.map]


def _without_tags(prose: str) -> str:
    made, at = [], 0
    for code in CODE.finditer(prose):
        made += [_escaped(prose[at : code.start()]), code.group()]
        at = code.end()
    return "".join(made) + _escaped(prose[at:])


def _escaped(prose: str) -> str:
    """Escapes by entities, because a backslash could follow another one."""
    return ADDRESS.sub(lambda sign: f"&#{ord(sign[0])};", TAG.sub("&lt;", prose))


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
