"""Resolves the includes of a lesson as its site generator would: mdBook's `{{#include}}`, MyST's and Sphinx' `include` and
`literalinclude`, the snippets and `{!file!}` of MkDocs, FastAPI's `{* … *}`, Quarto's `{{< include >}}`, VitePress' `@include`
and `<<<`, and what a lesson in MDX imports. Opens no file itself; every line keeps the file and the line that it comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bythebook.books.frontmatter import read_frontmatter
from bythebook.books.included_lines import (
    Expansion,
    IncludedLine,
    MissingInclude,
    anchored,
    by_options,
    by_ranges,
    lines_of,
    margin,
    without_anchors,
)

DEEPEST = 10
"""How deep includes may nest, as in mdBook."""
MOST = 1_000
"""Includes in one lesson."""
HINT = re.compile(
    r"\{\{ ?#|\{!|8<-|\{(?:literal)?include\}|(?:literal)?include::|^\{\*|\{\{< *include|@include:|^<<<"
    r"|^import [^\n]+\.mdx?[\"']",
    re.MULTILINE,
)
MDBOOK = re.compile(r"(\\?)\{\{ *#(include|rustdoc_include|playground|playpen) +([^{}\n]+?) *\}\}")
SNIPPET = re.compile(r"([ \t]*)(;?)-{1,}8<-{1,}(?:[ \t]+(?:\"([^\"\n]+)\"|'([^'\n]+)'))?[ \t]*\Z")
MARKDOWN_INCLUDE = re.compile(r"([ \t]*)\{!>?[ \t]*([^\s!]+)[ \t]*!\}[ \t]*\Z")
STAR = re.compile(r"\{\*[ \t]+(\S+)([^\n]*?)\*\}[ \t]*\Z")
STAR_LINES = re.compile(r"\bln\[([\d:, ]*)\]")
DIRECTIVE = re.compile(r"([ \t]*)(`{3,}|~{3,}|:{3,})\{(include|literalinclude)\}[ \t]+(\S[^\n]*?)[ \t]*\Z")
RST = re.compile(r"([ \t]*)\.\.[ \t]+(include|literalinclude)::[ \t]+(\S[^\n]*?)[ \t]*\Z")
OPTION = re.compile(r"[ \t]*:([\w-]+):[ \t]*(.*?)[ \t]*\Z")
SHORTCODE = re.compile(r"\{\{<[ \t]*include[ \t]+[\"']?([^\"'\s{}]+)[\"']?[ \t]*>\}\}[ \t]*\Z")
COMMENT = re.compile(r"<!--[ \t]*@include:[ \t]*([^\s{}]+)[ \t]*(?:\{([\d, -]*)\})?[ \t]*-->[ \t]*\Z")
CODE_IMPORT = re.compile(r"<<<[ \t]+@?([^\s{}#]+)(?:#([\w-]+))?[ \t]*(?:\{[^{}]*\})?[ \t]*(?:\[[^\]]*\])?[ \t]*\Z")
IMPORT = re.compile(r"import[ \t]+([A-Z]\w*)(?:[ \t]*,[ \t]*\{[^{}\n]*\})?[ \t]+from[ \t]+[\"']([^\"'\n]+\.mdx?)[\"'];?[ \t]*\Z")
PARTIAL = re.compile(r"([ \t]*)<([A-Z]\w*)(?:[ \t][^<>\n]*)?/>[ \t]*\Z")
FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})([^`\n]*)\Z")
RANGE = re.compile(r"(\S+?)(?::(\d*)(?::(\d*))?|:([A-Za-z][\w-]*))?\Z")
MARKDOWN = (".md", ".mdx", ".markdown", ".qmd", ".rmd")
LANGUAGES = {"rs": "rust", "py": "python", "js": "javascript", "ts": "typescript", "sh": "bash", "yml": "yaml", "hpp": "cpp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludedFile:
    """A file that was found: its path from the book's root, and its text."""

    path: str
    text: str


Fetch = Callable[[str, str], IncludedFile | str]
"""The file that another names by a path, or the reason why there is none."""
Choose = Callable[[Sequence[IncludedLine]], list[IncludedLine]]
"""Selects lines of a file."""


def expand(path: str, text: str, fetch: Fetch, *, most_characters: int) -> Expansion | None:
    """The lesson with its includes; None where it has none."""
    if not HINT.search(text):
        return None
    one = _Expander(fetch=fetch, room=most_characters)
    lines = tuple(one.lines(lines_of(path, text), (path,), rst=path.lower().endswith(".rst")))
    if not one.files and not one.missing:
        return None
    return Expansion(lines=lines, missing=tuple(one.missing), files=frozenset(one.files))


@dataclass(slots=True)
class _Expander:
    fetch: Fetch
    room: int
    count: int = 0
    files: set[str] = field(default_factory=set)
    missing: list[MissingInclude] = field(default_factory=list)
    imported: dict[tuple[str, str], str] = field(default_factory=dict)
    """The lesson that a file imports under a name."""

    def lines(self, given: Sequence[IncludedLine], stack: tuple[str, ...], *, rst: bool) -> Iterator[IncludedLine]:
        """`stack`: the files that these lines are in, the outermost first."""
        fence, at = "", 0
        while at < len(given):
            line = given[at]
            bare = line.text.rstrip("\r\n")
            found = (
                self._rst(given, at, stack) if rst else self._block(given, at, stack, fence) or self._mdx(line, at, stack, fence)
            )
            if found is not None:
                lines, at = found
                yield from lines
                continue
            opening = FENCE.match(bare)
            if fence and bare.strip(" \t>").startswith(fence) and not bare.strip(" \t>" + fence[0]):
                fence = ""
            elif opening and not fence:
                fence = opening[1]
            yield from [line] if rst else self._within(line, stack)
            at += 1

    def _block(
        self, given: Sequence[IncludedLine], at: int, stack: tuple[str, ...], fence: str
    ) -> tuple[list[IncludedLine], int] | None:
        """What replaces one or more lines that only include a file, and the line to continue with. Code is left alone, except for
        MkDocs' forms, which are included before code is parsed."""
        line, bare = given[at], given[at].text.rstrip("\r\n")
        if match := SNIPPET.match(bare):
            return self._snippet(given, at, match, stack)
        if match := MARKDOWN_INCLUDE.match(bare):
            return _indented(self._text(line.part(line.text.lstrip(" \t")), stack, match[2]), match[1]), at + 1
        if fence:
            return None
        if match := STAR.match(bare):
            chosen = STAR_LINES.search(match[2])
            return self._code(
                line, stack, match[1], lambda found: by_ranges(found, chosen[1], ":") if chosen else list(found)
            ), at + 1
        if match := SHORTCODE.match(bare):
            return self._text(line, stack, match[1]), at + 1
        if match := COMMENT.match(bare):
            span = match[2]
            return self._text(
                line, stack, match[1], lambda found: by_ranges(found, span, ",") if span else without_anchors(found)
            ), at + 1
        if match := CODE_IMPORT.match(bare):
            region = match[2]
            return self._code(line, stack, match[1], lambda found: anchored(found, region) if region else list(found)), at + 1
        if match := DIRECTIVE.match(bare):
            end = next((n for n in range(at + 1, len(given)) if given[n].text.strip() == match[2]), None)
            if end is None:
                return None
            options = _options(given[at + 1 : end])
            return self._directive(line, stack, match[3], match[4], options, match[1]), end + 1
        return None

    def _mdx(self, line: IncludedLine, at: int, stack: tuple[str, ...], fence: str) -> tuple[list[IncludedLine], int] | None:
        """Notes under which name a lesson is imported, and puts it where that name stands as an element of its own."""
        bare = line.text.rstrip("\r\n")
        if fence:
            return None
        if match := IMPORT.match(bare):
            self.imported[line.file, match[1]] = match[2].removeprefix("@site/")
        match = PARTIAL.match(bare)
        target = self.imported.get((line.file, match[2])) if match else None
        return (_indented(self._text(line, stack, target), match[1]), at + 1) if match and target else None

    def _rst(self, given: Sequence[IncludedLine], at: int, stack: tuple[str, ...]) -> tuple[list[IncludedLine], int] | None:
        line = given[at]
        match = RST.match(line.text.rstrip("\r\n"))
        if match is None or match[3].startswith("<"):  # docutils' own files, which hold names of characters
            return None
        end = at + 1
        while end < len(given) and OPTION.match(given[end].text.rstrip()) and len(margin(given[end].text)) > len(match[1]):
            end += 1
        options = _options(given[at + 1 : end])
        taken = self._take(line, stack, match[3], lambda found: by_options(found, options))
        if taken is None:
            return list(given[at:end]), end
        chosen, inner = taken
        blank = line.written("\n")
        if match[2] == "include" and not {"literal", "code"} & options.keys():
            nested = list(self.lines(chosen, inner, rst=True))
            return [blank, *_indented(nested, match[1]), blank], end
        opening = line.written(f"{match[1]}.. code-block:: {_language(match[3], options)}\n")
        return [blank, opening, blank, *_indented(chosen, match[1] + "   "), blank], end

    def _directive(
        self, line: IncludedLine, stack: tuple[str, ...], name: str, target: str, options: Mapping[str, str], indent: str
    ) -> list[IncludedLine]:
        if name == "include" and not {"literal", "code"} & options.keys():
            return _indented(self._text(line, stack, target, lambda found: by_options(found, options)), indent)
        language = _language(target, options)
        return _indented(self._code(line, stack, target, lambda found: by_options(found, options), language), indent)

    def _snippet(
        self, given: Sequence[IncludedLine], at: int, match: re.Match[str], stack: tuple[str, ...]
    ) -> tuple[list[IncludedLine], int] | None:
        if match[2]:  # a semicolon before it has it shown as it is
            return [given[at].part(match[1] + given[at].text[match.end(2) :])], at + 1
        targets, end = [(given[at], match[3] or match[4] or "")], at + 1
        if not targets[0][1]:
            close = next((n for n in range(at + 1, len(given)) if SNIPPET.match(given[n].text.rstrip("\r\n"))), None)
            if close is None:
                return None
            targets, end = [(line, line.text.strip()) for line in given[at + 1 : close]], close + 1
        taken = []
        for line, target in targets:
            if target and not target.startswith(";"):
                taken += self._text(line, stack, *_ranged(target))
        return _indented(taken, match[1]), end

    def _within(self, line: IncludedLine, stack: tuple[str, ...]) -> Iterator[IncludedLine]:
        """Resolves mdBook's includes, which may be anywhere in a line and in code."""
        at = 0
        for match in MDBOOK.finditer(line.text):
            if match[1]:
                continue
            taken = self._mdbook(line, stack, match)
            if taken is None:
                continue
            if match.start() > at:
                yield line.part(line.text[at : match.start()])
            at = match.end()
            if taken:
                *most, last = taken
                yield from most
                yield last.part(last.text.rstrip("\r\n")) if line.text[at:] else last
        if line.text[at:] or not at:
            yield line.part(line.text[at:]) if at else line

    def _mdbook(self, line: IncludedLine, stack: tuple[str, ...], match: re.Match[str]) -> list[IncludedLine] | None:
        target, choose = _ranged(match[3].split()[0])
        if match[2] in ("playground", "playpen"):
            return self._code(line, stack, target, choose)
        taken = self._take(line, stack, target, choose)
        return None if taken is None else list(self.lines(*taken, rst=False))

    def _text(
        self, line: IncludedLine, stack: tuple[str, ...], target: str, choose: Choose = without_anchors
    ) -> list[IncludedLine]:
        """The lines of a file with its own includes. Where there is none, the line that includes it."""
        taken = self._take(line, stack, target, choose)
        return [line] if taken is None else list(self.lines(*taken, rst=False))

    def _code(
        self, line: IncludedLine, stack: tuple[str, ...], target: str, choose: Choose, language: str | None = None
    ) -> list[IncludedLine]:
        taken = self._take(line, stack, target, choose)
        if taken is None:
            return [line]
        chosen = taken[0]
        longest = max((len(run) for one in chosen for run in re.findall(r"`{3,}", one.text)), default=2)
        fence = "`" * (longest + 1)
        opening = line.written(f"{fence}{_language(target, {}) if language is None else language}\n")
        return [opening, *_indented(chosen, ""), line.written(f"{fence}\n")]

    def _take(
        self, line: IncludedLine, stack: tuple[str, ...], target: str, choose: Choose
    ) -> tuple[list[IncludedLine], tuple[str, ...]] | None:
        """The selected lines of a file that may be included here, without its frontmatter, and the files they are in."""
        found = self._allowed(line, stack, target)
        if isinstance(found, str):
            self.missing.append(MissingInclude(file=line.file, line=line.number, target=target, reason=found))
            return None
        self.room -= len(found.text)
        self.files.add(found.path)
        lines = choose(lines_of(found.path, found.text))
        if found.path.lower().endswith(MARKDOWN):
            front = len(lines_of("", found.text[: read_frontmatter(found.text).body_start]))
            lines = [one for one in lines if one.number > front]
        return lines, (*stack, found.path)

    def _allowed(self, line: IncludedLine, stack: tuple[str, ...], target: str) -> IncludedFile | str:
        self.count += 1
        if self.count > MOST:
            return f"the lesson includes more than {MOST:,} files"
        if len(stack) > DEEPEST:
            return f"files include each other {DEEPEST} deep"
        found = self.fetch(line.file, target)
        if isinstance(found, str):
            return found
        if found.path in stack:
            return "it includes itself"
        if len(found.text) > self.room:
            return "the lesson would grow too large"
        return found


def _ranged(target: str) -> tuple[str, Choose]:
    """mdBook's and MkDocs' way to name a part of a file: `file:3`, `file:3:9`, `file::9`, `file:3:`, `file:name`."""
    ranges = re.fullmatch(r"(\S+?):(\d*:\d*(?:,\d*:\d*)+)", target)
    if ranges:
        spans = ranges[2]
        return ranges[1], lambda found: by_ranges(found, spans, ":")
    match = RANGE.match(target)
    if match is None:
        return target, without_anchors
    path, first, last, name = match.groups()
    if name:
        return path, lambda found: anchored(found, name)
    if first is None:
        return path, without_anchors
    span = f"{first}:{last}" if last is not None else f"{first}:{first}"
    return path, lambda found: by_ranges(found, span, ":")


def _options(lines: Sequence[IncludedLine]) -> dict[str, str]:
    found = {}
    for line in lines:
        if match := OPTION.match(line.text.rstrip("\r\n")):
            found[match[1].lower()] = match[2]
    return found


def _language(target: str, options: Mapping[str, str]) -> str:
    ending = target.rpartition("/")[2].rpartition(".")[2].lower() if "." in target else ""
    return options.get("language") or options.get("code") or LANGUAGES.get(ending, ending)


def _indented(lines: Sequence[IncludedLine], indent: str) -> list[IncludedLine]:
    """Each with a line end: the file's last line may have none."""
    ended = [line if line.text.endswith(("\n", "\r")) else line.part(line.text + "\n") for line in lines]
    return [line.part(indent + line.text) if indent and line.text.strip() else line for line in ended]
