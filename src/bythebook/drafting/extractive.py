"""The drafter that needs no model: an answer in the book's own sentences, each with the exact words it is taken from."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from textwrap import dedent

from bythebook.books.markdown import letters, readable
from bythebook.books.statements import Statement
from bythebook.drafting.composition import Group, Passage, compose
from bythebook.drafting.draft import DraftEvent, DraftRequest, DraftSentence, Quote, SentenceKind
from bythebook.retrieval.question import asked_for
from bythebook.retrieval.sentence_reader import ReadStatement, SentenceReader

HEADER_LINES = 2
ASKS_FOR_MORE = re.compile(
    r"(?:please )?(?:explain|clarify|why|what does (?:this|that|it) mean|tell me more)\b[^?.]{0,20}[?.!]?\Z", re.IGNORECASE
)
"""Asks for more than the selected words say. Any other question may be answered by them."""
LINE = re.compile(r"[^\n]*\n?")
CELL = re.compile(r"(?<!\\)\|")
WORD = re.compile(r"\w")
QUOTED = re.compile(r"[ \t]*>[ \t]?")
FENCE_NAME = re.compile(r"(`{3,}|~{3,})[ \t]*\{[ \t]*(?:code-cell\}[ \t]*|code-block\}[ \t]*|code\}[ \t]*|\.)([\w+#-]*).*")
"""`{.python .input}` and `{code-cell} python` name a language."""
FOR_A_BUILD = re.compile(r"[ \t]*(?:%%tab\b|#@tab\b|:tags:)")
"""Lines that tell a build where to show the code."""


class ExtractiveDrafter:
    """A `Drafter`. The same request always gives the same draft."""

    model = "extractive"

    def __init__(self, reader: SentenceReader) -> None:
        self._reader = reader

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        """What answers best comes first."""
        passages: dict[str, Passage] = {}
        ranks: dict[str, int] = {}
        for rank, evidence in enumerate(request.evidence):
            for chunk in evidence.passages:
                passages.setdefault(chunk.id, Passage.of(evidence.label, chunk))
                ranks.setdefault(chunk.id, rank)
        chunks = [passage.chunk for passage in passages.values()]
        shape = asked_for(request.question, request.language)
        read = await self._reader.read(
            request.question,
            chunks,
            request.language,
            ranks=list(ranks.values()),
            rarity=request.rarity,
            embedding=request.embedding,
            by_signs=shape == "formula",  # the ranking has seen hardly a question for one
        )
        if request.selection and ASKS_FOR_MORE.match(request.asked.strip()):
            read = _new_to_the_reader(read, request.selection)
        if not any(one.coverage for one in read):
            return
        for passage, group in compose(shape, read, passages):
            for sentence in _sentences(passage, group):
                yield sentence

    async def close(self) -> None:
        """Nothing of its own is open."""


def _new_to_the_reader(read: tuple[ReadStatement, ...], selection: str) -> tuple[ReadStatement, ...]:
    """Without the statements that the reader selected, since repeating them explains nothing. What the same lesson says comes
    first; all of them, where nothing else is left."""
    known = letters(selection)
    selected = [one for one in read if letters(one.statement.readable) in known]
    lessons = {one.chunk.parent_doc_id for one in selected if one.statement.kind != "heading"}
    others = tuple(one for one in read if one not in selected)
    beside = tuple(one for one in others if one.chunk.parent_doc_id in lessons)
    return next((some for some in (beside, others) if any(one.coverage for one in some)), read)


def _sentences(passage: Passage, group: Group) -> Iterator[DraftSentence]:
    found = passage.statements
    tables = {found[place].block for place in group if found[place].kind == "table"}
    rows: list[Statement] = []
    for place in sorted(group):
        one = found[place]
        if one.kind == "row":
            following = found[place + 1] if place + 1 in group else None
            rows += [one] if one.block not in tables else []
            if rows and (following is None or following.block != one.block):
                yield _table_of(passage, rows)
                rows = []
        elif one.kind != "heading":
            yield _sentence(passage, one)


def _sentence(passage: Passage, one: Statement) -> DraftSentence:
    kinds: dict[str, SentenceKind] = {"sentence": "sentence", "item": "item", "code": "code", "table": "table", "maths": "maths"}
    kind = kinds[one.kind]
    text = one.readable if kind in ("sentence", "item") else _markdown(passage, one)
    return DraftSentence(text=text, labels=(passage.label,), quotes=(_quote(passage, one),), kind=kind)


def _quote(passage: Passage, one: Statement) -> Quote:
    return Quote(label=passage.label, chunk_id=passage.chunk.id, start=one.start, end=one.end)


def _markdown(passage: Passage, one: Statement) -> str:
    """A block as it is written, to be rendered as one; a part of a split block gets back what opened it."""
    text = passage.chunk.text
    start = text.rfind("\n", 0, one.start) + 1
    indented = text[start : one.start] if not text[start : one.start].strip() else ""
    block = dedent(indented + text[one.start : one.end])
    if passage.chunk.preface and one.start == 0 and one.kind in ("table", "code"):
        block = f"{passage.chunk.preface}\n{block}"
    if one.kind == "maths" and not block.startswith("$$"):
        return f"$$\n{one.readable}\n$$"
    if one.kind == "table":
        return "\n".join(map(_plain_row, block.splitlines()))
    return _closed(_plain_code(block)) if one.kind == "code" else block


def _closed(block: str) -> str:
    """Code that a chunk's end cuts off gets the fence that ends it."""
    mark = block[: len(block) - len(block.lstrip("`~"))]
    return block if not mark or (block.rstrip().endswith(mark) and "\n" in block) else f"{block}\n{mark}"


def _plain_code(block: str) -> str:
    """Code with the name of its language alone, without what a build or a quote puts before its lines."""
    first, *others = block.splitlines()
    if others and all(line.lstrip().startswith(">") for line in others if line.strip()):
        others = [QUOTED.sub("", line) for line in others]
    lines = [line for line in others if not FOR_A_BUILD.match(line)]
    return "\n".join([FENCE_NAME.sub(r"\1\2", first), *lines])


def _plain_row(line: str) -> str:
    """A row of a table with the words of its cells. A cell whose words would be read as marks stays as it is written."""
    if "|" not in line or not WORD.search(line):
        return line
    row = []
    for cell in CELL.split(line.strip().lstrip("> \t").strip("|")):
        words = " ".join(readable(cell).split())
        shown = words.replace("|", "\\|")
        row.append(shown if " ".join(readable(shown).split()) == words else cell.strip())
    return f"| {' | '.join(row)} |"


def _table_of(passage: Passage, rows: Sequence[Statement]) -> DraftSentence:
    """Some rows of a table under its header."""
    text = passage.chunk.text
    table = next(one for one in passage.statements if one.kind == "table" and one.block == rows[0].block)
    quotes = [_quote(passage, row) for row in rows]
    if passage.chunk.preface and table.start == 0:
        header = passage.chunk.preface
    else:
        ends = [match.end() for match in LINE.finditer(text, table.start, table.end)]
        header = text[table.start : ends[HEADER_LINES - 1]].rstrip()
        quotes.insert(0, Quote(label=passage.label, chunk_id=passage.chunk.id, start=table.start, end=table.start + len(header)))
    lines = [line.strip(" \t>") for line in header.splitlines()] + [text[row.start : row.end] for row in rows]
    return DraftSentence(text="\n".join(map(_plain_row, lines)), labels=(passage.label,), quotes=tuple(quotes), kind="table")
