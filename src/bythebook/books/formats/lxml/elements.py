"""The blocks of a page of HTML: which elements hold the book's own words, and what an inline element says as Markdown.

The page's furniture (menus, buttons, line numbers, links to a heading) is left out by rules for the generators that make most
books' sites; a page of another generator is read from its `main`, `article` or `body`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from lxml import etree

from bythebook.books.formats.lxml.mathml import to_tex
from bythebook.books.formats.writer import SPACE, code_span, escaped, subscript, superscript

Element = Any
CONTAINERS = (
    "//main[@id='quarto-document-content']",
    "//*[contains(concat(' ', @class, ' '), ' theme-doc-markdown ')]",
    "//article[contains(concat(' ', @class, ' '), ' md-content__inner ')]",
    "//article[contains(concat(' ', @class, ' '), ' bd-article ')]",
    "//*[@itemprop='articleBody']",
    "//article[@role='main']",
    "//*[@id='notebook-container']",
    "//*[@id='content']//main",
    "//*[@role='main']//*[@class='body']",
    "//*[@role='main']",
    "//main",
    "//article",
    "//body",
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
})  # fmt: skip
DROPPED = frozenset({
    "style", "nav", "form", "button", "template", "noscript", "svg", "iframe", "object", "canvas", "video", "audio", "select",
    "input", "textarea", "footer", "link", "meta",
})  # fmt: skip
NOTE_REFERENCES = frozenset({"footnote-ref", "footnote-reference", "footref", "noteref"})
ROLES = frozenset({"navigation", "search", "contentinfo", "doc-backlink", "doc-noteref"})
INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "math", "q", "ruby", "s", "samp", "script", "small", "span", "strike", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
NUMBER_ALONE = re.compile(r"[\[(]?(?:\d{1,3}|[a-z*†‡])[\])]?")
AROUND = frozenset({"prev", "previous", "next", "up", "home", "start", "contents", "index"})
"""What `rel` says of a link to the page before, after or above this one."""
CODE = frozenset({"code", "kbd", "samp", "tt"})


def main_element(root: Element) -> Element:
    """The element that holds what the author wrote."""
    for path in CONTAINERS:
        found = [one for one in root.xpath(path) if any(text.strip() for text in one.itertext())]
        if found:
            return max(found, key=lambda one: len(words_of(one))) if path == "//article" else found[0]
    return root


def is_furniture(element: Element) -> bool:
    if not isinstance(element.tag, str) or element.tag in DROPPED:
        return True
    if element.tag == "script":
        return not element.get("type", "").startswith("math/tex")
    if not element.attrib and element.tag != "sup":
        return False
    held = element.attrib
    classes = held["class"].split() if "class" in held else []
    if classes and not FURNITURE.isdisjoint(classes):
        return True
    hidden = "hidden" in held or held.get("aria-hidden") == "true"
    return hidden or held.get("role") in ROLES or _is_note_reference(element, classes)


def _is_note_reference(element: Element, classes: list[str]) -> bool:
    """The raised number of a footnote, by the classes and types of pandoc, Sphinx and EPUB."""
    kind = element.get("{http://www.idpf.org/2007/ops}type", "") or element.get("epub:type", "")
    if kind == "noteref" or not NOTE_REFERENCES.isdisjoint(classes):
        return True
    around = [*element.iter("a"), *element.iterancestors("a")] if element.tag == "sup" else []
    links = [one.get("href", "") for one in around]
    return any("#" in link for link in links) and NUMBER_ALONE.fullmatch("".join(element.itertext()).strip()) is not None


def words_of(element: Element) -> str:
    """The text in an element, furniture left out: what a mark is held against."""
    return "".join(_texts(element))


def _texts(element: Element) -> Iterator[str]:
    if element.text and isinstance(element.tag, str):
        yield element.text
    for child in element:
        if not is_furniture(child):
            yield from _formula_or_texts(child)
        if child.tail:
            yield child.tail


def _formula_or_texts(element: Element) -> Iterator[str]:
    """Of a formula its TeX, once: it also stands there as MathML."""
    formula = tex_of(element)
    if formula is None:
        yield from _texts(element)
    else:
        yield formula


def tex_of(element: Element) -> str | None:
    """The TeX of a formula; None where the element is none."""
    if element.tag == "script":
        return str(element.text or "")
    if element.tag == "math":
        notes = element.xpath(".//*[local-name()='annotation'][contains(@encoding, 'tex')]")
        return str(notes[0].text or "") if notes else element.get("alttext") or to_tex(element)
    classes = element.get("class", "").split()
    if "katex" in classes or "MathJax" in classes or "katex-display" in classes:
        notes = element.xpath(".//*[local-name()='annotation'][contains(@encoding, 'tex')]")
        return str(notes[0].text or "") if notes else None
    if "math" in classes and element.tag in ("span", "div") and not any(child.tag == "img" for child in element):
        return re.sub(r"\\[()\[\]]", "", "".join(element.itertext())).strip().strip("$")
    return None


def is_display(element: Element) -> bool:
    classes = element.get("class", "").split()
    return (
        element.get("display") == "block"
        or "mode=display" in element.get("type", "")
        or not {"katex-display", "display"}.isdisjoint(classes)
        or ("math" in classes and element.tag == "div")
    )


def inline(element: Element) -> str:
    """What stands in an element as Markdown on one line."""
    parts = [escaped(spaced(element.text))]
    for child in element:
        if not is_furniture(child):
            parts.append(inline_piece(child))
        parts.append(escaped(spaced(child.tail)))
    return "".join(parts)


def inline_piece(child: Element) -> str:
    """An inline element as Markdown."""
    formula = tex_of(child)
    if formula is not None:
        words = " ".join(formula.split())
        return f"${words}$" if words else ""
    if child.tag in CODE:
        return code_span(words_of(child))
    if child.tag == "sup":
        return superscript(spaced(words_of(child)).strip())
    if child.tag == "sub":
        return subscript(spaced(words_of(child)).strip())
    if child.tag == "br":
        return " "
    if child.tag == "img":
        return ""
    return inline(child)


def spaced(text: str | None) -> str:
    return SPACE.sub(" ", text or "")


def parse_html(raw: bytes) -> Element:
    """The tree of a page, whatever is wrong with it. Raises ValueError where there is no page at all."""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(decoded(raw).encode(), parser)
    if root is None:
        raise ValueError("it is empty")
    _drop_navigation(root)
    return root


def _drop_navigation(root: Element) -> None:
    """Links to the pages around this one, which DocBook, Publican and Texinfo set in lists, tables and lines without a class."""
    links = [link for link in root.iter("a") if _leads_around(link)]
    for link in links:
        panel = None
        for around in link.iterancestors():
            if around.tag in ("body", "main", "article") or not _is_navigation(around):
                break
            panel = around
        if panel is not None and sum(_leads_around(one) for one in panel.iter("a")) > 1:
            panel.tag, kept = "nav", panel.tail
            panel.clear()
            panel.tail = kept


def _leads_around(link: Element) -> bool:
    return link.get("rel") in AROUND or link.get("accesskey") in ("p", "n", "u", "h")


def _is_navigation(element: Element) -> bool:
    """Only links of this kind, and beside them at most a title."""
    words = list(islice((text.strip() for text in element.itertext()), 60))
    if len(words) == 60 or any(True for _ in element.iter("h1", "h2", "h3", "h4", "h5", "h6", "pre")):
        return False
    links = [link for link in element.iter("a") if "href" in link.attrib]
    linked = sum(len(text.strip()) for link in links for text in link.itertext())
    return all(_leads_around(link) for link in links) and sum(map(len, words)) - linked <= 80


CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
LATIN_1 = frozenset({"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"})
"""Names that on the web mean Windows' code page, which has more signs."""


def decoded(raw: bytes) -> str:
    """UTF-8 where it is UTF-8, whatever the page says of itself: many say something else. Then what it says, then Windows'."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace").replace("\x00", "")
    said = CHARSET.search(raw, 0, 4096)
    named = said[1].decode("ascii", "replace").lower() if said else ""
    for name in ("utf-8", named if named not in LATIN_1 else "windows-1252", "windows-1252"):
        try:
            return raw.decode(name).replace("\x00", "")
        except (UnicodeDecodeError, LookupError):
            continue
    return raw.decode("windows-1252", "replace").replace("\x00", "")
