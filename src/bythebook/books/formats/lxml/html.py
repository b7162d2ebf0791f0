"""Pages of HTML, one lesson each: what a site generator built, or what somebody wrote by hand.

A place is a block of the page, counted from 1, with the nearest id before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bythebook.books.formats.lxml.characters import decode, decoded
from bythebook.books.formats.lxml.elements import (
    INLINE,
    NUMBER_ALONE,
    Element,
    inline,
    inline_pieces,
    is_display,
    is_furniture,
    main_element,
    marked,
    parse_html,
    tex_of,
    words_of,
)
from bythebook.books.formats.writer import MarkdownWriter, escaped
from bythebook.books.model import Reading, SourcePlace

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LANGUAGE = re.compile(r"(?:language-|lang-|highlight-source-|highlight-|hl-|brush:\s*)([\w+#-]+)")
NO_LANGUAGE = frozenset({"default", "none", "text", "plaintext", "notranslate"})
TITLES = frozenset(
    {"admonition-title", "callout-title", "callout-title-container", "admonitionHeading", "alert-heading", "box-title"}
)
TEMPLATE = re.compile(rb"\{%[^%]{1,200}%\}|<\?php|<%=?[^%]{1,200}%>")
SAVED_FROM = re.compile(rb"\s*<!-- saved from url=\(\d+\)(https?://[^\s>]+) -->")
SITE_NAME = re.compile(r"\s+(?:[|»·—–]|-)\s+")
FEWEST_ENTRIES = 3
Piece = str | Any
_LAST_SAID: dict[bytes, list[str]] = {}
"""The words of the page that was read last. Its marks are verified next, and walking a long page again would take as long."""


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    """Reads a page. None for a template, and for a page without words."""
    if TEMPLATE.search(raw, 0, 20_000):
        return ()
    try:
        page = decode(raw)
        root = parse_html(page.text)
    except ValueError:
        return ()
    walker = PageWalker(file=path)
    walker.walk(main_element(root))
    _LAST_SAID.clear()
    _LAST_SAID[raw] = walker.said
    writer = walker.writer
    if not writer.marks:
        return ()
    return (
        Reading(
            source_file=path,
            file=path,
            text=writer.text,
            marks=tuple(writer.marks),
            title=page_title(root),
            anchors=tuple(writer.anchors),
            url=_saved_from(raw),
            warnings=(f"{page.guess}; save it as UTF-8.",) if page.guess else (),
        ),
    )


def _saved_from(raw: bytes) -> str | None:
    """The address in the comment that browsers put before a page they save."""
    found = SAVED_FROM.match(raw)
    return found[1].decode("ascii", "replace") if found else None


def source_texts(raw: bytes) -> Callable[[SourcePlace], str]:
    said = _LAST_SAID.get(raw)
    if said is None:
        walker = PageWalker(file="")
        walker.walk(main_element(parse_html(decoded(raw))))
        said = walker.said
    return lambda place: said[place.number - 1]


def page_title(root: Element) -> str | None:
    """The title without the site's name after it."""
    found = next(root.iter("title"), None)
    words = " ".join((found.text or "").split()) if found is not None else ""
    return SITE_NAME.split(words)[0].strip(" ¶") or None


@dataclass(slots=True)
class PageWalker:
    """Writes a page. `said` has the plain words of every block in order, for comparing marks with."""

    file: str
    part: str = ""
    writer: MarkdownWriter = field(default_factory=MarkdownWriter)
    said: list[str] = field(default_factory=list)
    anchor: str = ""

    def walk(self, element: Element) -> None:
        """Writes all blocks of an element. Text between blocks is a paragraph."""
        run: list[Piece] = [element.text or ""]
        for child in element:
            if not is_furniture(child):
                formula = tex_of(child)
                if _is_inline(child, formula):
                    run.append(child)
                else:
                    self._flush(run)
                    run = []
                    self._block(child, formula)
            run.append(child.tail or "")
        self._flush(run)

    def _flush(self, run: list[Piece]) -> None:
        if len(run) == 1 and isinstance(run[0], str):
            if run[0].strip():
                self.writer.paragraph(marked(run[0], whole=True), self._place(run[0], None))
            return
        elements = [piece for piece in run if not isinstance(piece, str)]
        words, text = inline_pieces(run)
        if not words.strip():
            for piece in elements:
                self._pictures(piece)
            return
        owner = elements[0] if elements else None
        self.writer.paragraph(text, self._place(words, owner))

    def _block(self, element: Element, formula: str | None) -> None:
        tag = element.tag
        if formula is not None:
            self.writer.maths(formula, self._place(formula, element))
        elif tag in HEADINGS:
            self._heading(element)
        elif tag == "pre":
            text = _preformatted(element)
            self.writer.code(text, _language(element), self._place(text, element))
        elif tag in ("ul", "ol", "menu"):
            self._list(element)
        elif tag == "table":
            self._table(element)
        elif tag == "blockquote":
            with self.writer.indented("> ", "> "):
                self._within(element)
        elif tag in ("dt", "summary", "caption") or not TITLES.isdisjoint(element.get("class", "").split()):
            self._title(element)
        elif tag == "img":
            self._pictures(element)
        elif tag != "hr":
            self._within(element)

    def _title(self, element: Element) -> None:
        words, text = inline(element)
        self.writer.title(text, self._place(words, element))

    def _within(self, element: Element) -> None:
        before = self.anchor
        self.anchor = element.get("id") or before
        self.walk(element)
        if element.tag not in ("section", "div", "article", "main"):
            self.anchor = before

    def _heading(self, element: Element) -> None:
        self.anchor = _heading_id(element)
        words, text = inline(element)
        if NUMBER_ALONE.fullmatch(words.strip()) and _leads_back(element):
            return
        self.writer.heading(int(element.tag[1]), text, self._place(words, element), self.anchor)

    def _list(self, element: Element) -> None:
        if _is_contents(element):
            return
        start = element.get("start", "1")
        number = int(start) if start.isdigit() and len(start) < 7 else 1
        for child in element:
            if is_furniture(child):
                continue
            if child.tag != "li":
                self._block(child, tex_of(child))
                continue
            mark = f"{number}. " if element.tag == "ol" else "- "
            number += 1
            with self.writer.indented(mark, " " * len(mark)):
                self._within(child)

    def _table(self, element: Element) -> None:
        """A layout table, such as DocBook's box of a sign, a title and a text, is read as a sequence of its contents; so is
        one with lists or code in its cells."""
        rows = [row for row in _own_rows(element) if not is_furniture(row)]
        cells = [[cell for cell in row if cell.tag in ("td", "th") and not is_furniture(cell)] for row in rows]
        caption = element.find("caption")
        if caption is not None:
            self._title(caption)
        holds_blocks = any(
            one.tag in ("pre", "table", "ul", "ol", "dl") for row in cells for cell in row for one in cell.iterdescendants()
        )
        said = [[inline(cell, whole=False) for cell in row] for row in cells]
        beside = max((sum(bool(words.strip()) for words, _ in row) for row in said), default=0)
        if holds_blocks or element.get("role") == "presentation" or beside < 2:
            for row, held in zip(cells, said, strict=True):
                titles = [cell for cell, (words, _) in zip(row, held, strict=True) if cell.tag == "th" and words.strip()]
                if titles and beside < 2:
                    self._title(titles[0])
                    continue
                for cell in row:
                    self._within(cell)
            return
        made = []
        for row, held in zip(rows, said, strict=True):
            if any(words.strip() for words, _ in held):
                place = self._place("|".join(words for words, _ in held), row)
                made.append(([text for _, text in held], place))
        self.writer.table(made)

    def _pictures(self, element: Element) -> None:
        for picture in element.iter("img"):
            words, source = " ".join(picture.get("alt", "").split()), picture.get("src", "")
            if any(link.get("href", "").startswith("#") for link in picture.iterancestors("a")):
                continue  # an arrow to the top of the page
            if any(one.isalnum() for one in words) and source and not source.startswith("data:"):
                address = source.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
                self.writer.unmarked(f"![{escaped(words)}]({address})")

    def _place(self, words: str, element: Element | None) -> SourcePlace:
        self.said.append(words)
        own = (element.get("id") if element is not None else None) or self.anchor
        return SourcePlace(file=self.file, part=self.part, kind="element", number=len(self.said), label=own)


def _is_inline(element: Element, formula: str | None) -> bool:
    if formula is not None:
        return not is_display(element)
    return element.tag in INLINE and (not len(element) or all(map(_inline_only, element.iterdescendants())))


def _inline_only(element: Element) -> bool:
    return not isinstance(element.tag, str) or element.tag in INLINE or element.getparent().tag == "math" or _in_formula(element)


def _in_formula(element: Element) -> bool:
    return any(tex_of(one) is not None for one in element.iterancestors("math", "span"))


def _leads_back(heading: Element) -> bool:
    """Texinfo sets the number of a footnote as a heading that links to where it is referred to."""
    return any(link.get("href", "").startswith("#") for link in heading.iter("a"))


def _is_contents(element: Element) -> bool:
    """A list of nothing but links within the page is its table of contents."""
    links = [link for link in element.iter("a") if "href" in link.attrib]
    if len(links) < FEWEST_ENTRIES or not all(link.get("href").startswith("#") for link in links):
        return False
    return sum(map(text_length, links)) == text_length(element)


def text_length(element: Element) -> int:
    """Characters that are no spaces."""
    return sum(len("".join(text.split())) for text in element.itertext())


def _own_rows(table: Element) -> Iterator[Element]:
    """The rows of a table, without those of tables in its cells."""
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from child.iterchildren("tr")


def _heading_id(element: Element) -> str:
    """The heading's own id, that of an anchor in it, that of its section, or that of an empty anchor before it."""
    inner = next(
        (one.get("id") or one.get("name") for one in element.iterdescendants("a", "span") if one.get("id") or one.get("name")), ""
    )
    above, beside = element.getparent(), ""
    opens = above is not None and above.tag in ("section", "div")
    for one in element.itersiblings(preceding=True):
        if one.tag in HEADINGS or (words_of(one) + (one.tail or "")).strip():
            opens = False
            break
        beside = beside or one.get("id") or one.get("name") or ""
    return element.get("id") or inner or (above.get("id", "") if opens else "") or beside


def _preformatted(element: Element) -> str:
    for line_break in element.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    return words_of(element).expandtabs(4)


def _language(element: Element) -> str:
    around = [element, *element.iterdescendants("code"), *list(element.iterancestors())[:2]]
    for one in around:
        found = LANGUAGE.search(one.get("class", ""))
        if found and found[1] not in NO_LANGUAGE:
            return "python" if found[1].startswith("ipython") else found[1]
    return ""
