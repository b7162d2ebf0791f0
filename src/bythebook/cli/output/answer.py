"""Answers and refusals in a terminal: each sentence with its marker, each marker with the book's words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bythebook.books.blocks import opened, options_end
from bythebook.books.markdown import readable
from bythebook.cli.output.console import Console
from bythebook.texts import texts

if TYPE_CHECKING:
    from bythebook.answering.answer import Answer, Section, Sentence
    from bythebook.grounding.citations import Citation


QUOTE_LENGTH = 220
QUOTE_INDENT = 6


def print_sentence(console: Console, sentence: Sentence, *, first: bool, inline: bool = False) -> None:
    """Prints one checked sentence, with its markers or with document A's citations."""
    from bythebook.answering.answer import inline_citations
    from bythebook.grounding.facts import ENUMERATOR

    markers = Text("" if inline else "".join(f" [{label}]" for label in sentence.labels), style="bold cyan")
    if sentence.kind in BLOCKS:
        if not first:
            console.print()
        print_block(console, sentence.text)
        console.print(_indented(Text(markers.plain.strip(), style="bold cyan"), 4))
    elif sentence.kind == "item":
        marked = ENUMERATOR.match(sentence.text)  # a model writes its own
        number = marked[0].strip() if marked and marked[0].strip()[0].isdigit() else "•"
        console.print(_listed(number, Text(sentence.text[marked.end() if marked else 0 :]).append_text(markers)))
    else:
        console.print(_indented(Text(sentence.text).append_text(markers)))
    if inline:  # on lines of their own: an address that is broken in two cannot be followed
        console.print(Text(f"  {inline_citations(sentence)}", style="cyan"), soft_wrap=True)
    if sentence.kind in BLOCKS:
        console.print()


def print_answer(console: Console, answer: Answer, *, verbose: bool = False, inline: bool = False) -> None:
    """Prints what follows the sentences, sources and confidence; or the whole refusal. `inline`: the sources stood with the
    sentences."""
    if answer.refused:
        _print_refusal(console, answer)
    else:
        console.print()
        for quotes in () if inline else _by_section(answer):
            _print_source(console, quotes)
        if answer.disclaimer:
            console.print(_indented(Text(f"{answer.disclaimer}\n", style="yellow")))
    if lines := _books(answer):
        console.print(_indented(Text("\n".join(lines), style="dim")))
        console.print()
    console.print(_indented(_footer(answer)))
    if verbose:
        console.print(_indented(_details(answer)))


def _by_section(answer: Answer) -> list[dict[tuple[str, str], Citation]]:
    """Each quote once, by its words and place; those of one section together, in the order of their labels and of the book. A
    quote that was printed as a block above is only named."""
    cited = sorted(
        ((one, sentence.kind) for sentence in answer.sentences for one in sentence.citations),
        key=lambda one: (one[0].label, one[0].span.start),
    )
    sections: dict[tuple[int, str], dict[tuple[str, str], Citation]] = {}
    for citation, kind in cited:
        quotes = sections.setdefault((citation.label, citation.source_url), {})
        words = BLOCKS.get(kind) or f"“{_shortened(plain(citation.quote))}”"
        quotes.setdefault((words, citation.where or f"line {citation.span.first_line}"), citation)
    return list(sections.values())


def _print_source(console: Console, quotes: dict[tuple[str, str], Citation]) -> None:
    first = next(iter(quotes.values()))
    console.print(_listed(f"[{first.label}]", _title(first), "bold cyan"))
    places: dict[str, list[str]] = {}
    for words, where in quotes:
        places.setdefault(words, [])
        if where != first.source_url:  # a page without an address: its place is the link below
            places[words].append(where)
    for words, found in places.items():
        console.print(_indented(_quoted(console, words, ", ".join(found)), QUOTE_INDENT))
    _print_link(console, first.source_url, QUOTE_INDENT)
    console.print()


def _title(citation: Citation) -> Text:
    head = Text(citation.page_title, style="bold")
    return head.append(" › ", style="dim").append(citation.section, style="not bold") if citation.section else head


def _quoted(console: Console, words: str, where: str) -> Text:
    """The place follows the quote, on the same line if there is room."""
    lines = Text(words, style="italic").wrap(console, console.width - QUOTE_INDENT)
    if not where:
        return Text("\n").join(lines)
    joint = "  " if lines[-1].cell_len + 2 + len(where) <= console.width - QUOTE_INDENT else "\n"
    return Text("\n").join(lines).append(joint + where, style="dim not italic")


def _shortened(quote: str) -> str:
    return quote if len(quote) <= QUOTE_LENGTH else quote[:QUOTE_LENGTH].rsplit(None, 1)[0] + " …"


def print_passages(console: Console, answer: Answer, passages: Mapping[str, str]) -> None:
    """Prints the whole passages that an answer cites, by their chunks' ids, each with its quotes marked."""
    cited = [one for sentence in answer.sentences for one in sentence.citations]
    for chunk_id in dict.fromkeys(one.chunk_id for one in cited if one.chunk_id in passages):
        quotes = [one for one in cited if one.chunk_id == chunk_id]
        console.print()
        console.print(_listed(f"[{quotes[0].label}]", _title(quotes[0]), "bold cyan"))
        passage = Text(readable(passages[chunk_id]))
        passage.highlight_words([readable(one.quote) for one in quotes], "bold yellow")
        console.print(_indented(passage, QUOTE_INDENT))
        _print_link(console, quotes[0].source_url, QUOTE_INDENT)


def _print_refusal(console: Console, answer: Answer) -> None:
    console.print(_indented(Text(answer.headline, style="bold yellow")))
    console.print(_indented(Text(f"{answer.answer}\n")))
    if answer.nearest:
        said = texts(answer.language)
        console.print(_indented(Text(said.look_here if answer.reason == "outside_filters" else said.nearest, style="dim")))
        for section in answer.nearest:
            console.print(_listed("·", _heading(section)))
            _print_link(console, section.source_url, 4)
        console.print()


def _heading(section: Section) -> Text:
    text = Text(section.page_title, style="bold")
    for heading in section.heading_path:
        text.append(" › ", style="dim").append(heading, style="not bold")
    course = f"  chapter {section.chapter}, tier {section.hardware_tier}, {section.proficiency_level}, {section.layer}"
    return text.append(course if section.chapter else "", style="dim")


def _indented(text: Text, indent: int = 2) -> Padding:
    return Padding(text, (0, 0, 0, indent), expand=False)


def _listed(mark: str, text: Text, style: str = "dim") -> Padding:
    """Indents further lines to the words of the first, not to its bullet."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(mark, style=style), text)
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _print_link(console: Console, url: str, indent: int) -> None:
    """Prints a link whole, on one line: a link that is broken in two cannot be followed."""
    console.print(Text(" " * indent + url, style="blue"), soft_wrap=True)


def _books(answer: Answer) -> list[str]:
    """Which of several books answered, and the assessments of the others."""
    if len(answer.books) < 2:
        return []
    first, *others = answer.books
    lines = [] if answer.refused else [f"from “{first.title}” (--book {first.book_id})"]
    lines += [f"“{one.title}” answers it too: --book {one.book_id}" for one in others if one.answers]
    silent = [f"“{one.title}”" for one in others if not one.answers]
    if silent and not answer.refused:
        lines.append(f"no answer in {' or '.join(silent)}")
    return lines


def _footer(answer: Answer) -> Text:
    confidence = answer.confidence
    words = f"confidence {confidence.confidence_level} ({confidence.average_similarity:.2f})"
    return Text(f"{words} · {answer.model} · {answer.total_time_ms:.0f} ms", style="dim")


def _details(answer: Answer) -> Text:
    confidence = answer.confidence
    lines = [
        f"searched for: {answer.question}",
        f"relevance of {confidence.num_chunks} results: {confidence.min_similarity:.2f} to {confidence.max_similarity:.2f}, "
        f"diversity {confidence.chunk_diversity:.2f}",
        f"retrieval {answer.retrieval_time_ms:.0f} ms, drafting {answer.generation_time_ms:.0f} ms, {answer.tokens_used} tokens",
        *(f"{call.tool_name}: {call.query} ({call.results_count} results)" for call in answer.tool_calls),
        *(f"dropped: {dropped.text} ({dropped.reason})" for dropped in answer.dropped),
    ]
    if answer.detail:
        lines.insert(0, f"reason: {answer.reason}, {answer.detail}")
    return Text("\n".join(lines), style="dim")


FENCES = ("```", "~~~", "$$")
CELL_ENDS = re.compile(r"(?<!\\)\|")
RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
INDENT = 4
BLOCKS = {"code": "the code above", "table": "the table above", "maths": "the formula above"}
"""The kinds of statements that are printed as a block, and how each one's quote is named, because it need not be printed twice.
"""


def plain(markdown: str) -> str:
    """The text on one line."""
    return " ".join(readable(markdown).split())


def print_block(console: Console, markdown: str) -> None:
    table = _table(markdown)
    if table:
        console.print(Padding(table, (0, 0, 0, INDENT)))
        return
    lines = textwrap.dedent(markdown.strip("\n")).rstrip().split("\n")
    if len(lines) > 1 and lines[0].startswith(FENCES):
        first = options_end(lines, 1) if opened(lines[0]) else 1
        lines = lines[first:-1] if lines[-1].startswith(FENCES) else lines[first:]
    shown = textwrap.indent("\n".join(lines).strip().removeprefix("$$").removesuffix("$$").strip("\n"), " " * INDENT)
    console.print(Text(shown), soft_wrap=True)  # what is broken in two can be neither typed nor copied


def _table(markdown: str) -> Table | None:
    """The table; None where the text is no table of pipes."""
    rows = [line for line in markdown.strip().split("\n") if line.strip()]
    if len(rows) < 3 or not RULE.fullmatch(rows[1]) or "|" not in rows[0]:
        return None
    heading, *body = [_cells(row) for row in (rows[0], *rows[2:])]
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for cell in heading:
        table.add_column(Text(cell), overflow="fold")
    for cells in body:
        table.add_row(*(Text(cell) for cell in cells[: len(heading)]))
    return table


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [plain(cell.strip().replace("\\|", "|")) for cell in CELL_ENDS.split(inner)]
