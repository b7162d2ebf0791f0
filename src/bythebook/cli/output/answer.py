"""Answers and refusals in a terminal: each sentence with its marker, each marker with the book's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from bythebook.answering.answer import HEADLINES
from bythebook.cli.output.console import Console

if TYPE_CHECKING:
    from bythebook.answering.answer import Answer, Section, Sentence
    from bythebook.grounding.citations import Citation

QUOTE_LENGTH = 220


def print_sentence(console: Console, sentence: Sentence, *, first: bool, inline: bool = False) -> None:
    """Prints one checked sentence, with its markers or with document A's citations."""
    from bythebook.answering.answer import inline_citations

    text = Text()
    block = sentence.kind in {"code", "table", "maths"}
    if sentence.kind == "item":
        text.append("• ", style="dim")
    text.append(sentence.text)
    if not inline:
        text.append("".join(f" [{label}]" for label in sentence.labels), style="bold cyan")
    if block and not first:
        console.print()
    console.print(_indented(text))
    if inline:  # on lines of their own: an address that is broken in two cannot be followed
        console.print(Text(f"  {inline_citations(sentence)}", style="cyan"), soft_wrap=True)
    if block:
        console.print()


def print_answer(console: Console, answer: Answer, *, verbose: bool = False, inline: bool = False) -> None:
    """Prints what follows the sentences, sources and confidence; or the whole refusal. `inline`: the sources stood with the
    sentences."""
    if answer.refused:
        _print_refusal(console, answer)
    else:
        console.print()
        for citations in () if inline else _by_section(answer):
            _print_source(console, citations)
        if answer.disclaimer:
            console.print(_indented(Text(f"{answer.disclaimer}\n", style="yellow")))
    console.print(_indented(_footer(answer)))
    if verbose:
        console.print(_indented(_details(answer)))


def _by_section(answer: Answer) -> list[list[Citation]]:
    """Each quote once, those of one section together, in the order of their labels and of the book."""
    quotes = {(one.label, one.source_url, one.quote): one for sentence in answer.sentences for one in sentence.citations}
    sections: dict[tuple[int, str], list[Citation]] = {}
    for citation in sorted(quotes.values(), key=lambda one: (one.label, one.span.start)):
        sections.setdefault((citation.label, citation.source_url), []).append(citation)
    return list(sections.values())


def _print_source(console: Console, citations: list[Citation]) -> None:
    first = citations[0]
    head = Text(f"[{first.label}] ", style="bold cyan").append(first.page_title, style="bold")
    if first.section:
        head.append(" › ", style="dim").append(first.section)
    console.print(_indented(head))
    for citation in citations:
        quote = " ".join(citation.quote.split())
        shown = quote if len(quote) <= QUOTE_LENGTH else quote[:QUOTE_LENGTH].rsplit(None, 1)[0] + " …"
        line = Text(f"“{shown}”", style="italic").append(
            f"  {citation.where or f'line {citation.span.first_line}'}", style="dim not italic"
        )
        console.print(_indented(line, 6))
    _print_link(console, first.source_url, 6)
    console.print()


def _print_refusal(console: Console, answer: Answer) -> None:
    console.print(_indented(Text(HEADLINES[answer.reason or "unsupported"], style="bold yellow")))
    console.print(_indented(Text(f"{answer.answer}\n")))
    if answer.nearest:
        console.print(_indented(Text("Look here" if answer.reason == "outside_filters" else "Nearest sections", style="dim")))
        for section in answer.nearest:
            console.print(_indented(_heading(section)))
            _print_link(console, section.source_url, 4)
        console.print()


def _heading(section: Section) -> Text:
    text = Text("· ").append(section.page_title, style="bold")
    for heading in section.heading_path:
        text.append(" › ", style="dim").append(heading)
    course = f"  chapter {section.chapter}, tier {section.hardware_tier}, {section.proficiency_level}, {section.layer}"
    return text.append(course if section.chapter else "", style="dim")


def _indented(text: Text, indent: int = 2) -> Padding:
    return Padding(text, (0, 0, 0, indent), expand=False)


def _print_link(console: Console, url: str, indent: int) -> None:
    """Prints a link whole, on one line: a link that is broken in two cannot be followed."""
    console.print(Text(" " * indent + url, style="blue"), soft_wrap=True)


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
