"""A passage of the book in a terminal: its place, the words that matched, its link."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.text import Text

from bythebook.books.blocks import read_page
from bythebook.books.markdown import readable, sentences
from bythebook.cli.output.answer import plain, print_block
from bythebook.index.lexical import words

if TYPE_CHECKING:
    from bythebook.books.model import Chunk
    from bythebook.cli.output.console import Console
    from bythebook.retrieval.query import SearchResult

SNIPPET = 420
"""Characters of a passage shown in a list of results: about four lines."""
MARK = "bold yellow"
INDENT = 4
ITEM = re.compile(r"^([ \t]*)[-*+][ \t]+", re.MULTILINE)
UNMARKED = (1, "A2", "L1")
"""The defaults of tier, level and layer, which say nothing about a lesson."""


def where(passage: SearchResult | Chunk) -> Text:
    """The place in the book, broadest first: lesson, then headings."""
    text = Text(passage.page_title, style="bold")
    for heading in passage.heading_path:
        text.append(" › ", style="dim").append(heading)
    return text


def course(passage: SearchResult | Chunk) -> Text:
    """The lesson's place in the course and its audience; nothing where the book has no course."""
    parts = [passage.module] if passage.module else []
    if passage.chapter:
        parts.append(f"chapter {passage.chapter}" + (f": {passage.chapter_title}" if passage.chapter_title else ""))
    if passage.lesson:
        parts.append(f"lesson {passage.lesson}")
    marks = (passage.hardware_tier, passage.proficiency_level, passage.layer)
    if passage.chapter or marks != UNMARKED:
        parts += [f"tier {passage.hardware_tier}", passage.proficiency_level, passage.layer]
    return Text(" · ".join(parts), style="dim")


def marked(text: str, question: str, language: str) -> Text:
    """The text with the question's words marked in it."""
    wanted = {stem for _, _, stem in words(question, language)}
    shown = Text(text)
    for start, end, stem in words(text, language):
        if stem in wanted:
            shown.stylize(MARK, start, end)
    return shown


def snippet(text: str, question: str, language: str) -> str:
    """The stretch of whole sentences with the most words of the question."""
    wanted = {stem for _, _, stem in words(question, language)}
    spans = sentences(text)
    if not spans or len(text) <= SNIPPET:
        return text
    best_start, best_end, best = 0, spans[0][1], -1
    for first, (start, _) in enumerate(spans):
        end = start
        for _, stop in spans[first:]:
            if stop - start > SNIPPET and end > start:
                break
            end = stop
        found = len({stem for _, _, stem in words(text[start:end], language)} & wanted)
        if found > best:
            best_start, best_end, best = start, end, found
    cut = text[best_start:best_end]
    shortened = cut if len(cut) <= SNIPPET * 1.5 else cut[: int(SNIPPET * 1.5)].rsplit(None, 1)[0] + " …"
    return (
        ("… " if best_start else "") + shortened + (" …" if best_end < len(text.rstrip()) and not shortened.endswith("…") else "")
    )


def print_markdown(console: Console, markdown: str) -> None:
    """Text of a book laid out: headings stand out, code and tables keep their form, marks go."""
    page = read_page(markdown, body_start=0, mdx=True)
    for block in page.blocks:
        raw = page.text(block.first, block.end)
        if block.kind in ("fence", "table"):
            print_block(console, raw)
        elif block.kind == "heading":
            console.print(Text(plain(raw), style="bold"))
        elif block.kind == "paragraph" and (words_of_it := plain(raw)):
            console.print(Text(words_of_it))
        elif shown := readable(raw):
            console.print(Text(ITEM.sub(r"\1• ", shown)))
        else:
            continue
        console.print()


class Hit:
    """One search result, as it prints."""

    def __init__(self, result: SearchResult, question: str, language: str) -> None:
        self._result = result
        self._question = question
        self._language = language

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> RenderResult:
        result = self._result
        headline = Text(f"{result.rank:>2}  ", style="bold cyan") + where(result)
        if result.relevance is not None:
            headline.append(f"  relevance {result.relevance:.2f}", style="cyan")
        headline.append(f"  cosine {result.score:.2f}", style="dim")
        yield headline
        body = snippet(plain(result.preface + result.text), self._question, self._language)
        for part in (course(result), marked(body, self._question, self._language)):
            if part:
                yield Padding(part, (0, 0, 0, INDENT))
        if console.is_terminal:
            yield Padding(Text(result.source_url, style="blue", overflow="fold"), (0, 0, 0, INDENT))
        else:  # for a program to follow: whole, on one line
            yield Text(" " * INDENT + result.source_url, overflow="ignore", no_wrap=True)
        yield ""
