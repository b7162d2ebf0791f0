"""An answer as Markdown, for clients that show nothing else: its sentences, then its sources. Also reads such Markdown back from
a client that sends it with the next question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from html import unescape
from urllib.parse import quote

from markdown_it import MarkdownIt

from bythebook.answering.answer import Answer, Section, Sentence, joined, without_disclaimer
from bythebook.drafting.draft import Exchange
from bythebook.grounding.citations import Citation
from bythebook.texts import all_texts, texts

QUOTE_LENGTH = 220
LISTED = re.compile(r"^\d+\. (?:\[(?P<linked>(?:\\.|[^\]\\])+)\]\(|(?P<plain>.+?) \()", re.MULTILINE)

CODE = re.compile(r"(?<![\\`])(?P<ticks>`+)(?!`)[^|\n]*?(?<!`)(?P=ticks)(?!`)")
"""Code in Markdown: a part of a line."""
TAG = re.compile(r"<(?=[A-Za-z/!?])")
NAME = re.compile(r"(?<![\w\\/])__(\w+?)__(?![\w/])")
"""A name in Python such as __init__, which its underscores would make bold."""
ADDRESS = re.compile(r"(?<=\])(?:\((?!https?://)|:(?!\s*https?://))")

LinkOf = Callable[[Citation | Section], str]
"""The address where a reader can open a citation; empty where there is none."""


def web_address(place: Citation | Section) -> str:
    """The address on the book's own site; empty for a book without one."""
    return web_url(place.source_url)


def web_url(source_url: str) -> str:
    return source_url if source_url.startswith(("https://", "http://")) else ""


def link_to(book_id: str, base_url: str) -> LinkOf:
    """Links to the book's own site or, where it has none, to the lesson on the page of the server at `base_url`."""

    def link(place: Citation | Section) -> str:
        heading = place.section if isinstance(place, Citation) else (place.heading_path or ("",))[-1]
        return web_address(place) or page_address(book_id, base_url, place.source_url, heading)

    return link


def page_address(book_id: str, base_url: str, source_url: str, heading: str | None) -> str:
    """Where a server's page shows the lesson; empty without a server."""
    here = "/".join(quote(part, safe="") for part in (book_id, source_url, heading or ""))
    return f"{base_url}#/books/{here}" if base_url else ""


def to_markdown(answer: Answer, link: LinkOf = web_address) -> str:
    """The whole answer, as a reader sees it."""
    text = without_disclaimer(answer.answer, answer.disclaimer)
    return opening(answer) + (joined_markdown(answer.sentences) or harmless(text)) + after(answer, link)


def joined_markdown(sentences: Sequence[Sentence]) -> str:
    """Joins the sentences. They are plain text except for code, tables and formulas: a tag that a book spells out stays text."""
    return joined([replace(one, text=harmless(one.text)) for one in sentences])


def opening(answer: Answer) -> str:
    """The reason, which stands before a refusal."""
    return f"**{answer.headline}**\n\n" if answer.refused else ""


def after(answer: Answer, link: LinkOf = web_address) -> str:
    """What follows the text: a disclaimer, the sources with their quotes; or, after a refusal, the nearest sections."""
    parts = [f"*{answer.disclaimer}*"] if answer.disclaimer else []
    if answer.citations:
        parts.append(
            f"**{texts(answer.language).sources}**\n\n" + "\n".join(_source(one, answer, link) for one in answer.citations)
        )
    if answer.refused and answer.nearest:
        places = "\n".join(f"- {_linked(_place(one), one, link)}" for one in answer.nearest)
        parts.append(f"**{texts(answer.language).nearest}**\n\n{places}")
    return "".join(f"\n\n{part}" for part in parts)


def title_of_source(citation: Citation) -> str:
    return " › ".join(filter(None, (citation.page_title, citation.section)))


def place_of_quote(citation: Citation) -> str:
    """Where in the author's file the quote stands."""
    return citation.where or f"line {citation.span.first_line}"


def quotes_of(answer: Answer, label: int) -> list[Citation]:
    """The distinct quotes of one source, in the book's order."""
    found = {one.quote: one for sentence in answer.sentences for one in sentence.citations if one.label == label}
    return sorted(found.values(), key=lambda one: one.span.start)


def read_exchange(question: str, markdown: str) -> Exchange:
    """Reads an earlier turn back from its question and the answer as `to_markdown` wrote it."""
    text = markdown.replace("\r\n", "\n").strip()
    tail, headed = _tail().search(text), _headed().match(text)
    said = text[headed.end() if headed else 0 : tail.start() if tail else None]
    listed = LISTED.finditer(text, tail.start()) if tail and not headed else ()
    sources = tuple(re.sub(r"\\(.)", r"\1", one["linked"] or one["plain"]).replace("&lt;", "<") for one in listed)
    plain = unescape(said.strip()).replace("\\_\\_", "__")
    return Exchange(question=question, answer=plain, sources=sources, refused=headed is not None)


@cache  # made when first needed: few programs read answers back, and these are all languages
def _tail() -> re.Pattern[str]:
    """Finds where the part after an answer begins."""
    known = all_texts()
    tails = [part for one in known for part in (f"*{one.disclaimer}*", f"**{one.sources}**", f"**{one.nearest}**")]
    notes = [text.partition("{")[0] for one in known for text in (one.part_missing, one.part_left)]
    unsure, missing = ("|".join(map(re.escape, some)) for some in ([one.disclaimer for one in known], notes))
    return re.compile(rf"\n\n(?:{'|'.join(map(re.escape, tails))}|\*(?:(?:{unsure}) )?(?:{missing})[^\n]*\*)(?=\n|$)")


@cache
def _headed() -> re.Pattern[str]:
    """Finds a refusal by its headline."""
    headlines = [headline for one in all_texts() for headline in one.headlines.values()]
    return re.compile(rf"\*\*(?:{'|'.join(map(re.escape, headlines))})\*\*\n\n")


def harmless(markdown: str) -> str:
    """Writes tags as text and disables links that are not web addresses. Code is left as it is."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", markdown)  # as the parser counts them
    made, at = [], 0
    for first, end in _code_blocks(markdown):
        made += [_without_tags("".join(lines[at:first])), "".join(lines[first:end])]
        at = end
    return "".join(made) + _without_tags("".join(lines[at:]))


def _source(citation: Citation, answer: Answer, link: LinkOf) -> str:
    quotes = (f"“{_line(one.quote)}”, {place_of_quote(one)}" for one in quotes_of(answer, citation.label) or [citation])
    return f"{citation.label}. {_linked(title_of_source(citation), citation, link)}: {'; '.join(quotes)}"


def _place(section: Section) -> str:
    return " › ".join((section.page_title, *section.heading_path))


def _linked(title: str, place: Citation | Section, link: LinkOf) -> str:
    shown = _escaped(re.sub(r"([\[\]\\])", r"\\\1", " ".join(title.split())))
    address = link(place)
    return f"[{shown}]({_address(address)})" if address else f"{shown} ({place.source_url})"


def _address(url: str) -> str:
    """The address as it is written between the brackets of a link."""
    return re.sub(r"[\s()<>]", lambda sign: f"%{ord(sign[0]):02X}", url)


def _line(quote: str) -> str:
    line = " ".join(quote.split())
    return _without_tags(line if len(line) <= QUOTE_LENGTH else line[:QUOTE_LENGTH].rsplit(None, 1)[0] + " …")


def _code_blocks(markdown: str) -> list[tuple[int, int]]:
    """The lines of each code block, as a program that shows Markdown finds them: indented fences, and fences in lists, end
    elsewhere than it seems. Without HTML, because the result has none."""
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
    return NAME.sub(r"\\_\\_\1\\_\\_", ADDRESS.sub(lambda sign: f"&#{ord(sign[0])};", TAG.sub("&lt;", prose)))
