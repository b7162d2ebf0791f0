"""reStructuredText: what docutils makes of a file; directives and roles that it does not know are read for their content.

A place is a line of the file. Text that only a build makes, such as the signatures of autodoc, is missing: for that, ingest the
built HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.utils import SystemMessage

from bythebook.books.formats.writer import MarkdownWriter, code_span, escaped, subscript, superscript
from bythebook.books.inline import target_words
from bythebook.books.lesson import decode
from bythebook.books.model import Reading, SourcePlace
from bythebook.errors import InvalidBook

SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 6,
    "auto_id_prefix": "id",
    "doctitle_xform": False,
    "input_encoding": "unicode",
    "_disable_config": True,
    "smart_quotes": False,
    "syntax_highlight": "none",
}
CODE = frozenset({
    "code", "code-block", "sourcecode", "highlight", "parsed-literal", "doctest", "testcode", "prompt", "ipython", "console",
    "jupyter-execute",
})  # fmt: skip
VERSIONS = frozenset({"versionadded", "versionchanged", "versionremoved", "deprecated", "rst-class"})
"""Directives whose argument says nothing by itself."""
NOTHING = frozenset({
    "toctree", "include", "literalinclude", "raw", "image", "automodule", "autoclass", "autofunction", "autoexception",
    "autodata", "automethod", "autoattribute", "autosummary", "contents", "index", "highlight", "currentmodule", "module",
    "only-block", "testsetup", "testcleanup", "meta", "tabularcolumns", "default-role", "sectnum", "csv-table",
    "bibliography",
})  # fmt: skip
"""Directives whose content is in another file or is made by a build."""
DOCUTILS_OWN = (
    "attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning", "admonition", "topic", "sidebar",
    "epigraph", "table", "list-table", "compound", "container", "rubric", "figure", "replace", "unicode", "role",
)  # fmt: skip
ROLE_TARGET = re.compile(r"(?s)(.*?)\s*<[^<>]*>$")
LITERAL = re.compile(r"``(.+?)``", re.DOTALL)
MARKS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r":([\w:+.-]+):`([^`<>]+)`"), lambda role: target_words(role[1], role[2])),
    (re.compile(r"\[(?:\d+|#\w*|\*|[A-Za-z][\w.-]*)\]_"), ""),
    (re.compile(r":[\w:+.-]+:`"), "`"),
    (re.compile(r"`[!~]"), "`"),
    (re.compile(r"\s*<[^<>`]*>`(?:__?)?"), ""),
    (re.compile(r"`__?(?!\w)|(?<=[^\W_])__?(?![\w`])"), ""),
    (re.compile(r"``|`|\*\*|(?<!\\)\*(?=\S)|(?<=[^\s\\])\*|(?<!\w)\|(?=\S)|(?<=\S)\|"), ""),
    (re.compile(r"\\(?:\s|(\S))"), r"\1"),
)
WORDS = re.compile(r"[^\W_]+")


class AnyOption(dict[str, Any]):
    """Accepts every option, as text."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged


class _Generic(Directive):  # type: ignore[misc]
    """A directive that docutils does not know: a box with its argument as title."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = AnyOption(name=directives.unchanged)

    def run(self) -> list[nodes.Node]:
        name = self.name.rpartition(":")[2].lower()
        if name in NOTHING:
            return []
        if name in CODE:
            return [_code(self)]
        if name == "math":
            return [nodes.math_block("", "\n".join([*self.arguments, *self.content]))]
        box = nodes.container()
        first, _, more = (self.arguments[0] if self.arguments else "").partition("\n")
        if first and name not in VERSIONS:
            box += _placed(nodes.rubric("", "", *_parsed(self, first)), self.lineno)
        if more:  # text that continues under the argument without a blank line
            box += _placed(nodes.paragraph("", "", *_parsed(self, " ".join(more.split()))), self.lineno + 1)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def _placed(node: nodes.Element, line: int) -> nodes.Element:
    node.line = line
    return node


def _parsed(directive: Directive, text: str) -> list[nodes.Node]:
    found, _ = directive.state.inline_text(text, directive.lineno)
    return list(found)


def _code(directive: Directive) -> nodes.Node:
    block = nodes.literal_block("", "\n".join(directive.content))
    block["language"] = directive.arguments[0].split()[0] if directive.arguments else ""
    block.line = directive.content_offset + 1
    return block


def _role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = ()) -> Any:
    """The text of a role that docutils does not know, without its target."""
    said = ROLE_TARGET.match(nodes.unescape(text))
    words = said[1] if said and said[1] else target_words(name, nodes.unescape(text))
    kind = nodes.literal if name.rpartition(":")[2] in LITERAL_ROLES else nodes.inline
    return [kind(rawtext, words)], []


LITERAL_ROLES = frozenset({
    "class", "func", "meth", "mod", "attr", "exc", "data", "obj", "const", "file", "command", "option", "envvar", "program",
    "kbd", "samp", "token",
})  # fmt: skip


def _directive(name: str, language: Any, document: Any) -> Any:
    return (KNOWN.get(name.lower(), _Generic), [])


def _find_role(name: str, language: Any, line: int, reporter: Any) -> Any:
    return roles._role_registry.get(name.lower()) or roles._roles.get(name.lower(), _role), []


def _known() -> dict[str, Any]:
    """docutils' own directives for boxes and tables. Its others need what only a build has."""
    return {name: directives.directive(name, _english(), None)[0] for name in DOCUTILS_OWN}


def _english() -> Any:
    from docutils.parsers.rst.languages import en

    return en


KNOWN = _known()


def _tree(text: str) -> nodes.document:
    """Parses a file. docutils' registries are global, so they are restored afterwards. This runs in the child process."""
    before = directives.directive, roles.role
    directives.directive, roles.role = _directive, _find_role
    try:
        return publish_doctree(text, settings_overrides=SETTINGS)
    except (SystemMessage, RecursionError, AttributeError, ValueError) as error:
        raise InvalidBook(f"docutils cannot read it ({str(error)[:100]}); build it to HTML and ingest that") from error
    finally:
        directives.directive, roles.role = before


def read(path: str, raw: bytes) -> tuple[Reading, ...]:
    text = decode(raw, path)
    walker = _TreeWalker(path, text)
    walker.walk(_tree(text))
    return walker.out.readings(path)


def source_texts(raw: bytes) -> Callable[[SourcePlace], str]:
    """Searches for a block from its line on: its words must appear there in order, whatever marks are between them."""
    lines = decode(raw, "").splitlines()

    def text(place: SourcePlace) -> str:
        source = "\n".join(lines[place.number - 1 : place.last])
        return f"{source}\0{bare(source)}"  # code is searched for as it is, prose without its marks

    return text


def bare(source: str) -> str:
    """Lines of reStructuredText without the marks between words."""
    parts = LITERAL.split(source)
    for at in range(0, len(parts), 2):
        for pattern, said in MARKS:
            parts[at] = pattern.sub(said, parts[at])
    return "".join(parts)


UNREAD = (
    nodes.comment, nodes.system_message, nodes.target, nodes.substitution_definition, nodes.image, nodes.label, nodes.docinfo,
    nodes.pending,
)  # fmt: skip


class _TreeWalker:
    """Writes a document's tree."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()
        self.out = MarkdownWriter()
        self.line: int = 1
        self.level = 0

    def walk(self, node: nodes.Node) -> None:
        for child in node.children:
            self._block(child)

    def _block(self, node: nodes.Node) -> None:
        match node:
            case nodes.title() | nodes.rubric() | nodes.term() | nodes.field_name() | nodes.caption():
                self._text(node, title=True)
            case nodes.paragraph() | nodes.line() | nodes.attribution() | nodes.subtitle():
                self._text(node)
            case nodes.literal_block() | nodes.doctest_block():
                text = node.astext()
                self.out.code(text, _language(node), self._place(text, node))
            case nodes.math_block():
                self.out.maths(node.astext(), self._place(node.astext(), node))
            case nodes.Element() if not isinstance(node, UNREAD):
                self._container(node)

    def _container(self, node: nodes.Element) -> None:
        match node:
            case nodes.section():
                self._section(node)
            case nodes.bullet_list():
                self._list(node, ["- "] * len(node.children))
            case nodes.enumerated_list():
                start = int(node.get("start", 1))
                self._list(node, [f"{start + at}. " for at in range(len(node.children))])
            case nodes.block_quote():
                with self.out.indented("> ", "> "):
                    self.walk(node)
            case nodes.table():
                self._table(node)
            case _:
                self.walk(node)

    def _section(self, node: nodes.Element) -> None:
        self.level += 1
        title = node.children[0] if node.children else None
        rest = node.children[1:] if isinstance(title, nodes.title) else node.children
        if isinstance(title, nodes.title):
            anchor = node["ids"][0] if node["ids"] else ""
            self.out.heading(self.level, inline(title), self._place(title.astext(), title), anchor)
        for child in rest:
            self._block(child)
        self.level -= 1

    def _text(self, node: nodes.Element, *, title: bool = False) -> None:
        place = self._place(node.astext(), node)
        if title:
            self.out.title(inline(node), place)
        else:
            self.out.paragraph(" ".join(inline(node).split("\n")), place)

    def _list(self, node: nodes.Element, marks: list[str]) -> None:
        for child, mark in zip(node.children, marks, strict=True):
            with self.out.indented(mark, " " * len(mark)):
                self._block(child)

    def _table(self, node: nodes.Element) -> None:
        """A table with more than a paragraph in its cells is read as a sequence of its contents."""
        rows = list(node.findall(nodes.row))
        cells = [[entry for entry in row.children if isinstance(entry, nodes.entry)] for row in rows]
        for title in (child for child in node.children if isinstance(child, nodes.title)):
            self._text(title, title=True)
        if any(
            len(entry.children) > 1 or any(not isinstance(one, nodes.paragraph) for one in entry.children)
            for row in cells
            for entry in row
        ):
            for entry in (entry for row in cells for entry in row):
                self.walk(entry)
            return
        made = []
        for row in cells:
            words = [" ".join(inline(entry).split()) for entry in row]
            place = self._place(
                " ".join(entry.astext() for entry in row), row[0].children[0] if row and row[0].children else node
            )
            made.append((words, place))
        self.out.table(made)

    def _place(self, text: str, node: nodes.Node) -> SourcePlace:
        """docutils counts the lines of some nodes differently, so the first word is searched for near that line."""
        first = _first_word(text)
        said: int = getattr(node, "line", None) or self._line_above(node)
        at = self._line_with(first, said)
        self.line = at
        last = at + max(0, text.count("\n")) + 1
        while last < len(self.lines) and not _holds(self.lines[at - 1 : last], text) and last - at < 60:
            last += 1
        return SourcePlace(file=self.path, kind="line", number=at, last=last)

    def _line_above(self, node: nodes.Node) -> int:
        above = node.parent
        while above is not None and getattr(above, "line", None) is None:
            above = above.parent
        return max(self.line, int(getattr(above, "line", None) or 1))

    def _line_with(self, word: str, said: int) -> int:
        around: list[int] = [
            said,
            *(said + step for step in (-1, 1, -2, 2, -3, 3)),
            *range(self.line, min(len(self.lines), self.line + 80) + 1),
        ]
        for number in around:
            if 1 <= number <= len(self.lines) and word in self.lines[number - 1]:
                return number
        return min(max(1, said), max(1, len(self.lines)))


def _first_word(text: str) -> str:
    words = WORDS.search(text)
    return words[0] if words else text.strip()[:3]


def _holds(lines: list[str], text: str) -> bool:
    last = WORDS.findall(text)
    return not last or last[-1] in lines[-1]


def _language(node: nodes.Element) -> str:
    named = node.get("language") or next((one for one in node.get("classes", ()) if one not in ("code", "literal-block")), "")
    return named if re.fullmatch(r"[\w+#.-]{1,30}", named or "") and named not in ("none", "text") else ""


def inline(node: nodes.Node) -> str:
    """The content of a node as Markdown on one line."""
    return "".join(_inline_parts(node))


def _inline_parts(node: nodes.Node) -> Iterator[str]:
    for child in node.children:
        match child:
            case nodes.Text():
                yield escaped(child.astext())
            case nodes.literal():
                yield code_span(child.astext())
            case nodes.math():
                yield f"${child.astext()}$"
            case nodes.superscript():
                yield superscript(child.astext())
            case nodes.subscript():
                yield subscript(child.astext())
            case (
                nodes.footnote_reference() | nodes.citation_reference() | nodes.system_message() | nodes.target() | nodes.image()
            ):
                continue
            case nodes.problematic():
                yield escaped(child.astext().strip("`:|*"))
            case _:
                yield inline(child)
