"""Renders a book's Markdown as HTML that is safe to show, whatever the book contains: no tag, attribute or address of the book's
own reaches the browser. Code is highlighted by classes, formulas become MathML, diagrams stay as their source."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_block_dollar
from mdit_py_plugins.footnote import footnote_plugin
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from bythebook.answering.answer import Sentence
from bythebook.books.inline import with_plain_formulas
from bythebook.books.markdown import HEADING_ID, TITLE, readable
from bythebook.web.render.book_links import BookLinks
from bythebook.web.render.components import FOOTNOTES, admonition, read_components
from bythebook.web.render.directives import read_directives
from bythebook.web.render.mathml import render_formula
from bythebook.web.render.quotes import mark, with_signs
from bythebook.web.render.tags import read_tags

TOP_HEADING = 4
"""The page itself uses the levels above."""
LONGEST_HIGHLIGHTED = 20_000
SAFE_ADDRESSES = ("https://", "http://", "mailto:")
BLOCKS = frozenset({"code", "table", "maths"})
FORMULA_BLOCK = math_block_dollar(allow_labels=False, allow_blank_lines=True)


def render_passage(
    markdown: str, *, preface: str = "", quotes: Iterable[tuple[int, int]] = (), links: BookLinks | None = None
) -> str:
    """Renders a chunk or a lesson. `quotes`: the stretches [start, end) of `markdown` to be marked. `links`: the other files of
    its book."""
    text = preface + with_signs(markdown, quotes)
    parser = _parser()
    env = {"links": links}
    tokens = parser.parse(text, env)
    mark(tokens)
    _level_headings(tokens)
    return str(parser.renderer.render(tokens, parser.options, env))


def render_sentence(sentence: Sentence) -> str:
    """Renders a sentence of an answer, without its markers. Where it is the book's own, word for word, it looks as in the
    book."""
    if sentence.kind in BLOCKS:
        return render_passage(sentence.text)
    source = sentence.text
    for citation in sentence.citations:
        if " ".join(sentence.text.split()) in _readings(citation.quote):
            source = citation.quote
    return str(_parser().renderInline(source))


def _readings(quote: str) -> list[str]:
    """The quote as plain text: its formulas as they are written, and in plain characters, as a sentence of an answer has them."""
    return [" ".join(readable(text).split()) for text in (quote, with_plain_formulas(quote))]


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=SafeRenderer).enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, allow_labels=False)
    parser.block.ruler.at("math_block", _math_block)
    parser.use(read_components)
    parser.use(read_tags)
    parser.use(read_directives)
    parser.use(admon_plugin, render=admonition)
    parser.use(footnote_plugin, inline=False)
    for name, rule in FOOTNOTES.items():
        parser.add_render_rule(name, rule)
    for name in ("math_inline", "math_block"):  # the plugin's own rules would take precedence over the renderer's
        parser.add_render_rule(name, getattr(SafeRenderer, name))
    return parser


def _math_block(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """A formula between `$$`. After one that never ends no other can, so the end is not searched for again."""
    text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
    endless: dict[str, int] = state.env.setdefault("endless_formulas", {})
    if not text.startswith("$$") or line < endless.get(state.src, 0):
        return False
    found = FORMULA_BLOCK(state, line, end_line, silent)
    if not found and "$$" not in text[2:] and not state.is_code_block(line):
        endless[state.src] = end_line
    return found


class SafeRenderer(RendererHTML):
    """Differs from markdown-it's renderer in what must not come from a book (addresses, pictures) and what needs more than a
    tag."""

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        language, _, rest = token.info.strip().partition(" ")
        title = TITLE.search(rest)
        return _figure(token, language.split("{")[0], (title[1] or title[2] or "") if title else "")

    def code_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return _figure(tokens[at], "", "")

    def math_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return render_formula(tokens[at].content.strip(), display=False)

    def math_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        quoted = " quoted" if tokens[at].attrs.get("class") else ""
        formula = render_formula(tokens[at].content.strip(), display=True)
        return f'<div class="formula{quoted}" role="group" aria-label="Formula" tabindex="0">{formula}</div>\n'

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """A picture of the book's folder is fetched by the page, with the reader's key; of other pictures only the text is
        shown."""
        words = self.renderInlineAsText(tokens[at].children, options, env)
        links: BookLinks | None = env.get("links")
        address = str(tokens[at].attrs.get("src", ""))
        path = links.picture(address) if links else None
        shown = f'<span class="picture">{escape(words or posixpath.basename(address) or "picture")}</span>'
        return (
            f'<span class="figure" data-picture="{escape(path)}" data-words="{escape(words)}">{shown}</span>' if path else shown
        )

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """A relative link leads to its lesson. One that leads to no lesson is not shown as a link, because it would be wrong on
        this page."""
        address, inside = _addresses(tokens[at], env)
        if inside:
            return f'<a href="{escape(inside)}">'
        if not address:
            return "<span>"
        return f'<a href="{escape(address)}" target="_blank" rel="noopener noreferrer nofollow">'

    def link_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        depth = 0
        for token in reversed(tokens[:at]):
            depth += {"link_close": 1, "link_open": -1}.get(token.type, 0)
            if depth < 0:
                return "</a>" if any(_addresses(token, env)) else "</span>"
        return "</span>"

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return '<div class="table" role="group" aria-label="Table" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return _cell("th", tokens[at])

    def td_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return _cell("td", tokens[at])


def _addresses(token: Token, env: Any) -> tuple[str, str | None]:
    """The link's address on the web, and in this book."""
    if "inside" in token.meta:
        return "", str(token.meta["inside"])
    address = str(token.attrs.get("href", ""))
    if address.lower().startswith(SAFE_ADDRESSES):
        return address, None
    links: BookLinks | None = env.get("links")
    return "", links.lesson(address) if links else None


def _cell(tag: str, token: Token) -> str:
    """Aligns by class: the page's policy allows no style attribute."""
    side = str(token.attrs.get("style", "")).removeprefix("text-align:")
    spans = "".join(f' {name}="{value}"' for name, value in token.attrs.items() if isinstance(value, int))
    return f'<{tag} class="{side}"{spans}>' if side in {"left", "center", "right"} else f"<{tag}{spans}>"


def _figure(token: Token, language: str, title: str) -> str:
    label = " · ".join(part for part in (title, language) if part)
    caption = f"<figcaption>{escape(label)}</figcaption>" if label else ""
    quoted = " quoted" if token.attrs.get("class") else ""
    code = _highlighted(token.content, language)
    name = escape(f"Code: {label}" if label else "Code")
    block = f'<pre tabindex="0" role="group" aria-label="{name}"><code>{code}</code></pre>'
    return f'<figure class="code{quoted}">{caption}{block}</figure>\n'


def _highlighted(code: str, language: str) -> str:
    if not language or len(code) > LONGEST_HIGHLIGHTED:
        return escape(code)
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def _level_headings(tokens: Sequence[Token]) -> None:
    """Puts headings below the page's own, without a gap, and without the `{#anchor}` that some sites use."""
    headings = [(at, token) for at, token in enumerate(tokens) if token.type in {"heading_open", "heading_close"}]
    top = min((int(token.tag[1]) for _, token in headings), default=1)
    before = TOP_HEADING - 1
    for at, token in headings:
        if token.type == "heading_open":
            before = min(TOP_HEADING + int(token.tag[1]) - top, before + 1, 6)
            words = [child for child in tokens[at + 1].children or [] if child.type == "text"]
            if words:
                words[-1].content = HEADING_ID.sub("", words[-1].content.rstrip()).rstrip()
        token.tag = f"h{before}"
