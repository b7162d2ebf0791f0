"""How an answer and a refusal look in a terminal: each sentence with its marker, each marker with the words of the book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from bythebook.answers import Answer, Section, Sentence
    from bythebook.grounding.citations import Citation

HEADLINES = {
    "nothing_found": "Nothing found",
    "off_topic": "Not what this book is about",
    "not_in_book": "Not in the book",
    "outside_filters": "Beyond your filters",
    "unsupported": "Could not be backed by the book",
}
QUOTE_LENGTH = 220


def print_sentence(console: Console, sentence: Sentence, *, first: bool) -> None:
    """One checked sentence, as soon as it is there."""
    text = Text()
    block = sentence.kind in {"code", "table", "maths"}
    if sentence.kind == "item":
        text.append("• ", style="dim")
    text.append(sentence.text)
    text.append("".join(f" [{label}]" for label in sentence.labels), style="bold cyan")
    if block and not first:
        console.print()
    console.print(Padding(text, (0, 0, 0, 2)))
    if block:
        console.print()


def print_answer(console: Console, answer: Answer, *, verbose: bool = False) -> None:
    """What follows the sentences: the sources, the confidence; or the refusal whole."""
    if answer.refused:
        console.print(_refusal(answer))
    else:
        console.print()
        for citation in _by_place(answer):
            console.print(_source(citation))
        if answer.disclaimer:
            console.print(Padding(Text(answer.disclaimer, style="yellow"), (0, 0, 1, 2)))
    console.print(Padding(_footer(answer), (0, 0, 0, 2)))
    if verbose:
        console.print(_details(answer))


def _by_place(answer: Answer) -> list[Citation]:
    """Each quote once, in the order of its label."""
    quotes = {(one.label, one.quote): one for sentence in answer.sentences for one in sentence.citations}
    return [quotes[key] for key in sorted(quotes, key=lambda key: (key[0], quotes[key].span.start))]


def _source(citation: Citation) -> RenderableType:
    head = Text(f"[{citation.label}] ", style="bold cyan").append(citation.page_title, style="bold")
    if citation.section:
        head.append(" › ", style="dim").append(citation.section)
    quote = " ".join(citation.quote.split())
    shown = quote if len(quote) <= QUOTE_LENGTH else quote[:QUOTE_LENGTH].rsplit(None, 1)[0] + " …"
    place = f"{citation.source_url}  ({citation.source_file}:{citation.span.first_line})"
    lines = (head, Padding(Text(f"“{shown}”", style="italic"), (0, 0, 0, 4)), Padding(Text(place, style="blue"), (0, 0, 1, 4)))
    return Padding(Group(*lines), (0, 0, 0, 2))


def _refusal(answer: Answer) -> RenderableType:
    parts: list[RenderableType] = [Text(HEADLINES[answer.reason or "unsupported"], style="bold yellow"), Text(answer.answer)]
    if answer.nearest:
        parts += [Text(), Text("Look here" if answer.reason == "outside_filters" else "Nearest sections", style="dim")]
        parts += [_section(section) for section in answer.nearest]
    return Padding(Group(*parts), (0, 0, 1, 2))


def _section(section: Section) -> RenderableType:
    text = Text("· ").append(section.page_title, style="bold")
    for heading in section.heading_path:
        text.append(" › ", style="dim").append(heading)
    course = f"  chapter {section.chapter}, tier {section.hardware_tier}, {section.proficiency_level}, {section.layer}"
    text.append(course if section.chapter else "", style="dim")
    return Group(text, Text(f"  {section.source_url}", style="blue"))


def _footer(answer: Answer) -> Text:
    confidence = answer.confidence
    words = f"confidence {confidence.confidence_level} ({confidence.average_similarity:.2f})"
    return Text(f"{words} · {answer.model} · {answer.total_time_ms:.0f} ms", style="dim")


def _details(answer: Answer) -> RenderableType:
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
    return Padding(Text("\n".join(lines), style="dim"), (0, 0, 0, 2))
