"""The blocks of a page of HTML: which elements hold the book's own words, and what an inline element is as Markdown.

Menus, buttons, line numbers and links to a heading are left out by rules for the generators that make most books' sites; a page
of another generator is read from its `main`, `article` or `body`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from lxml import etree

from bythebook.books.formats.lxml.characters import without_types
from bythebook.books.formats.lxml.mathml import to_tex
from bythebook.books.formats.writer import ANY_SIGN, SPACE, code_span, escaped, subscript, superscript
from bythebook.errors import InvalidBook

Element = Any
HOLDERS = ("body", "main", "article", "section", "div", "td")
"""Elements that may hold the author's text. Rules look only at these: looking at every element of a long page costs as much as
parsing it."""
CONTAINERS: tuple[Callable[[Element], bool], ...] = (
    lambda one: one.tag == "main" and one.get("id") == "quarto-document-content",
    lambda one: "theme-doc-markdown" in one.get("class", "").split(),
    lambda one: one.tag == "article" and "md-content__inner" in one.get("class", "").split(),
    lambda one: one.tag == "article" and "bd-article" in one.get("class", "").split(),
    lambda one: one.get("itemprop") == "articleBody",
    lambda one: one.tag == "article" and one.get("role") == "main",
    lambda one: one.get("id") == "notebook-container",
    lambda one: one.tag == "main" and any(above.get("id") == "content" for above in one.iterancestors()),
    lambda one: one.get("class") == "body" and any(above.get("role") == "main" for above in one.iterancestors()),
    lambda one: one.get("role") == "main",
    lambda one: one.tag == "main",
    lambda one: one.tag == "article",
    lambda one: one.tag == "body",
)
FURNITURE = frozenset({
    "headerlink", "linenos", "linenodiv", "copybtn", "o-tooltip--left", "anchor-link", "hash-link", "anchorjs-link",
    "heading-anchor", "sphinxsidebar", "related", "breadcrumb", "breadcrumbs", "wy-breadcrumbs", "toc", "toctree-wrapper",
    "theme-doc-toc-mobile", "theme-doc-breadcrumbs", "theme-doc-footer", "theme-doc-version-badge", "pagination-nav",
    "prev-next-area", "prev-next-footer", "nav-chapters", "nav-wrapper", "buttons", "clip-button", "katex-html",
    "MathJax_Preview", "MJX_Assistive_MathML", "md-source-file", "md-clipboard", "md-nav", "code-copy-button",
    "visually-hidden", "sr-only", "skip-link", "viewcode-link", "docutils-source", "quarto-title-meta",
    "quarto-secondary-nav", "page-navigation", "rst-footer-buttons", "articleHeader", "back-to-top", "bd-header-article",
    "header-article-items", "output_png", "jp-OutputArea", "output_area", "jp-InputPrompt", "prompt", "jp-OutputPrompt",
    "footnote-backref", "footnote-back", "page-toc", "sidebar-toc", "bottom-of-page", "boring",
    "Contents_element", "Overview_element", "element-contents", "element-shortcontents", "section-toc", "mini-toc", "menu",
    "menu-comment", "summary-letter", "index-cp", "index-fn", "index-vr", "printindex", "copiable-anchor", "copiable-link",
    "nav-panel", "contents-heading", "footnote-ref", "footnote-reference", "footref", "noteref",
    "link-target",
})  # fmt: skip
DROPPED = frozenset({
    "style", "nav", "form", "button", "template", "noscript", "svg", "iframe", "object", "canvas", "video", "audio", "select",
    "input", "textarea", "footer", "link", "meta",
})  # fmt: skip
ROLES = frozenset({"navigation", "search", "contentinfo", "doc-backlink", "doc-noteref"})
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
TELLING = frozenset({"hidden", "aria-hidden", "role", EPUB_TYPE, "epub:type"})
"""Attributes that may say that an element is not part of the page's text."""
INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "math", "q", "ruby", "s", "samp", "script", "small", "span", "strike", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
NUMBER_ALONE = re.compile(r"[\[(]?(?:\d{1,3}|[a-z*†‡])[\])]?")
AROUND = frozenset({"prev", "previous", "next", "up", "home", "start", "contents", "index"})
"""Values of `rel` on links to the pages before, after or above this one."""
NAMED_LINKS = etree.XPath(".//a[@rel or @accesskey]")
HEADING_LINKS = etree.XPath(".//*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6]//a")
BETWEEN_LINKS = frozenset(">»›|·•/ \u00a0\t\r\n")
ROWS_OF_LINKS = etree.XPath(".//*[self::p or self::div or self::span][count(a) > 1]")
CODE = frozenset({"code", "kbd", "samp", "tt"})
SET_APART: dict[str, Callable[[str], str]] = {
    "sup": superscript,
    "sub": subscript,
    "br": lambda _: " ",
    "img": lambda _: "",
}
"""Elements that are not simply their words, and what they are as Markdown."""
SET_IN_HTML = ("em", "i", "var", "sup", "sub", "math", "img")
"""A formula that holds one of these elements is HTML, not TeX: pandoc writes simple formulas so. Its powers must not read as
more digits."""


def main_element(root: Element) -> Element:
    """The element with the author's text."""
    holders = list(root.iter(*HOLDERS))
    for is_container in CONTAINERS:
        found = [one for one in holders if is_container(one) and any(text.strip() for text in one.itertext())]
        if found:
            # of several articles the longest: the others are teasers
            return max(found, key=lambda one: len(words_of(one))) if found[0].tag == "article" else found[0]
    return root


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNames:
    """What the classes of an element say about it."""

    furniture: bool
    formula_with_tex: bool
    formula: bool


@lru_cache(maxsize=4096)
def _class_names(value: str) -> ClassNames:
    """Cached, because a page has few sets of classes and many elements."""
    names = value.split()
    return ClassNames(
        furniture=not FURNITURE.isdisjoint(names),
        formula_with_tex=not {"katex", "katex-display", "MathJax"}.isdisjoint(names),
        formula=not {"math", "arithmatex"}.isdisjoint(names),
    )


def is_furniture(element: Element) -> bool:
    tag = element.tag
    if tag in DROPPED or not isinstance(tag, str):
        return True
    if tag == "script":
        return not element.get("type", "").startswith("math/tex")
    names = element.keys()
    if names:
        if "class" in names and _class_names(element.get("class", "")).furniture:
            return True
        if not TELLING.isdisjoint(names) and _is_set_apart(element):
            return True
    return tag == "sup" and _is_note_number(element)


def _is_set_apart(element: Element) -> bool:
    """Whether it is hidden, or has a role or type that is not text of the page."""
    return (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or element.get("role") in ROLES
        or "noteref" in (element.get(EPUB_TYPE), element.get("epub:type"))
    )


def _is_note_number(element: Element) -> bool:
    """The raised number that links to a footnote."""
    around = [*element.iter("a"), *element.iterancestors("a")]
    return (
        any("#" in one.get("href", "") for one in around)
        and NUMBER_ALONE.fullmatch("".join(element.itertext()).strip()) is not None
    )


def words_of(element: Element) -> str:
    """The text in an element without menus and the like: marks are compared with it."""
    if not len(element):
        return element.text or "" if isinstance(element.tag, str) else ""
    parts: list[str] = []
    _collect(element, parts)
    return "".join(parts)


def _collect(element: Element, parts: list[str]) -> None:
    """Of a formula only its TeX: it is also there as MathML."""
    if element.text:
        parts.append(element.text)
    for child in element:
        if not is_furniture(child):
            formula = tex_of(child)
            if formula is None:
                _collect(child, parts)
            else:
                parts.append(formula)
        if child.tail:
            parts.append(child.tail)


def tex_of(element: Element) -> str | None:
    """The TeX of a formula; None where the element is not one."""
    tag = element.tag
    if tag == "script":
        return str(element.text or "")
    if tag == "math":
        return _annotation(element) or element.get("alttext") or to_tex(element)
    value = element.get("class")
    if not value:
        return None
    classes = _class_names(value)
    if classes.formula_with_tex:
        return _annotation(element)
    if classes.formula and tag in ("span", "div") and next(element.iter(*SET_IN_HTML), None) in (None, element):
        return re.sub(r"\\[()\[\]]", "", "".join(element.itertext())).strip().strip("$")
    return None


def _annotation(element: Element) -> str | None:
    notes = element.xpath(".//*[local-name()='annotation'][contains(@encoding, 'tex')]")
    return str(notes[0].text or "") if notes else None


def is_display(element: Element) -> bool:
    classes = element.get("class", "").split()
    return (
        element.get("display") == "block"
        or "mode=display" in element.get("type", "")
        or not {"katex-display", "display"}.isdisjoint(classes)
        or ("math" in classes and element.tag == "div")
    )


def inline(element: Element, *, whole: bool = True) -> tuple[str, str]:
    """The plain words in an element, with which marks are compared, and the same as Markdown on one line, where spaces and line
    ends are still those of the page. `whole`: nothing else stands in its paragraph."""
    if not len(element):
        text = element.text or ""
        return text, marked(text, whole=whole)
    return inline_pieces(_pieces(element))


def _pieces(element: Element) -> Iterator[str | Element]:
    if element.text:
        yield element.text
    for child in element:
        if not is_furniture(child):
            yield child
        if child.tail:
            yield child.tail


def inline_pieces(pieces: Iterable[str | Element]) -> tuple[str, str]:
    """As `inline`, of texts and inline elements. Both in one walk: looking at its elements is most of what a page costs."""
    words: list[str] = []
    parts: list[str] = []
    _gather(pieces, words, parts)
    return "".join(words), "".join(parts)


def _gather(pieces: Iterable[str | Element], words: list[str], parts: list[str]) -> None:
    """Elements of code that touch are one span: the marks of two would read as others."""
    code = ""
    for piece in pieces:
        if not isinstance(piece, str) and piece.tag in CODE and tex_of(piece) is None:
            said = words_of(piece)
            words.append(said)
            code += said
            continue
        if code and piece != "":
            parts.append(code_span(code))
            code = ""
        if isinstance(piece, str):
            words.append(piece)
            parts.append(marked(piece))
        else:
            _gather_element(piece, words, parts)
    if code:
        parts.append(code_span(code))


def _gather_element(element: Element, words: list[str], parts: list[str]) -> None:
    """An inline element that is not code."""
    formula = tex_of(element)
    if formula is not None:
        words.append(formula)
        parts.append(_formula(formula))
    elif element.tag in SET_APART:
        said = words_of(element)
        words.append(said)
        parts.append(SET_APART[element.tag](spaced(said).strip()))
    elif len(element):
        _gather(_pieces(element), words, parts)
    elif element.text:
        words.append(element.text)
        parts.append(marked(element.text))


def _formula(tex: str) -> str:
    words = " ".join(tex.split())
    return f"${words}$" if words else ""


def marked(text: str, *, whole: bool = False) -> str:
    """Words as Markdown. Most have no sign of it, and their spaces are made single where the whole paragraph is written."""
    return escaped(spaced(text), whole=whole) if ANY_SIGN.search(text) else text


def spaced(text: str | None) -> str:
    return SPACE.sub(" ", text) if text else ""


def parse_html(text: str) -> Element:
    """The tree of a page, however malformed. Raises ValueError where there is no page at all."""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(without_types(text).encode("utf-8", "replace"), parser)
    if root is None:
        raise ValueError("it is empty")
    last = parser.error_log.last_error
    if last is not None and last.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
        raise InvalidBook("its elements are nested deeper than in any page, and the rest was not read; simplify it")
    _drop_navigation(root)
    _drop_signs(root)
    return root


def _drop_signs(root: Element) -> None:
    """Removes the sign behind a heading that links to it, such as "¶", and rows of nothing but links: the way to the page, the
    page in other languages."""
    for link in HEADING_LINKS(root):
        words = "".join(link.itertext()).strip()
        if words and not any(one.isalnum() for one in words):
            link.text = None  # its id may be the heading's
            del link[:]
    for row in ROWS_OF_LINKS(root):
        links = row.findall("a")
        between = "".join((row.text or "", *(one.tail or "" for one in row)))
        alone = len(links) == len(row) and between.strip() and BETWEEN_LINKS.issuperset(between)
        if alone or any(link.get("hreflang") and link.get("rel") == "alternate" for link in links):
            _emptied(row)


def _emptied(element: Element) -> None:
    element.tag, kept = "nav", element.tail
    element.clear()
    element.tail = kept


def _drop_navigation(root: Element) -> None:
    """Removes links to neighbouring pages, which DocBook, Publican and Texinfo put into lists, tables and lines without a
    class."""
    links = [link for link in NAMED_LINKS(root) if _leads_around(link)]
    for link in links:
        panel = None
        for around in link.iterancestors():
            if around.tag in ("body", "main", "article") or not _is_navigation(around):
                break
            panel = around
        if panel is not None and sum(_leads_around(one) for one in panel.iter("a")) > 1:
            _emptied(panel)


def _leads_around(link: Element) -> bool:
    return link.get("rel") in AROUND or link.get("accesskey") in ("p", "n", "u", "h")


def _is_navigation(element: Element) -> bool:
    """Whether it holds only such links, and at most a title."""
    words = list(islice((text.strip() for text in element.itertext()), 60))
    if len(words) == 60 or any(True for _ in element.iter("h1", "h2", "h3", "h4", "h5", "h6", "pre")):
        return False
    links = [link for link in element.iter("a") if "href" in link.attrib]
    linked = sum(len(text.strip()) for link in links for text in link.itertext())
    return all(_leads_around(link) for link in links) and sum(map(len, words)) - linked <= 80
