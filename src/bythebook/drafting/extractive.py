"""The drafter that needs no model: it answers in the book's own sentences, each with the exact words it is taken from.

A single statement may make no sense alone: "It has two fields:" needs the sentence before it and the list after it. So statements
are taken in groups, whole or not at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent

from bythebook.books.markdown import letters, readable
from bythebook.books.model import Chunk
from bythebook.books.statements import Statement, statements
from bythebook.drafting.draft import DraftEvent, DraftRequest, DraftSentence, Quote, SentenceKind
from bythebook.retrieval.answer_shapes import STEP, Shape, asked_for
from bythebook.retrieval.ranker import IDENTIFIER
from bythebook.retrieval.sentence_reader import ReadStatement, SentenceReader
from bythebook.texts import LANGUAGES, page_words

LONGEST_ANSWER = 900
LONGEST_TOGETHER = 600
"""How many characters an answer may have before nothing more is added to its best statement. Questions for several things get
longer answers."""
SEVERAL: tuple[Shape, ...] = ("listing", "steps", "comparison", "code")
LONGEST_BLOCK = 1500
"""How many characters a block may have that is the answer itself. A block that only accompanies a sentence has to fit into the
answer."""
LONGEST_TABLE = 900
MOST_ITEMS = 10
SHORT_LIST, HALF_TOLD = 300, 400
"""How many characters a list may have to be shown whole: with one of its items that cannot stand alone, and with any two of its
items."""
MOST_BEFORE = 1
WANTED_BY: Mapping[str, tuple[Shape, ...]] = {
    "code": ("code", "steps"),
    "row": ("comparison", "listing"),
    "table": ("comparison", "listing"),
    "maths": ("formula",),
}
"""Which questions ask for a whole block."""
LISTED = 0.2
MARGIN, MARGIN_OF_SIGNS, ELSEWHERE = 0.36, 0.2, 0.75
"""How much lower than the best statement a further one may score: where statements are ranked, and where only signs tell; and
the share of that for a statement of another lesson."""
USUAL, BY_LENGTH, WIDEST = 120, 0.7, 2.0
"""A statement with this many characters has exactly that margin. The margin of a longer one is smaller and that of a shorter
one larger, by this power of the ratio of their lengths, and never more than twice as large: the less likely a statement
answers, the less it may cost the reader."""

LEANS = re.compile(
    r"(?:it|its|this|that|these|those|they|their|them|he|she|his|her|such|however|but|and|or|then|therefore|thus|so|hence|both"
    r"|otherwise|instead|also|too|either|neither|moreover|furthermore|similarly|likewise|nevertheless|conversely|in contrast"
    r"|on the other hand|here|there|as a result|for (?:this|that)|in (?:this|that)|at (?:this|that)|because of (?:this|that)"
    r"|the (?:first|second|third|latter|former|other|others|same|rest|result)|another|one of them|each of (?:them|these)"
    r"|whichever)\b",
    re.IGNORECASE,
)
"""How a sentence begins that cannot be understood without the one before it."""
REMEDY = re.compile(
    r"(?:(?:the|one|an?(?: \w+)?) )?(?:solution|workaround|remedy|fix)\b"
    r"|(?:to|you can) (?:fix|solve|resolve|avoid|prevent|work around)\b|this (?:can be|is) (?:fixed|solved|resolved|avoided)\b",
    re.IGNORECASE,
)
REMEDY_WITHIN = 3
NAME_ALONE = re.compile(r"(?:\d[\d.]*\s+)?((?=\S*[A-Za-z])(?=\S*(?:\w[-_./(]\w|\(\)|^[-@./]))[^\s:]+):?\Z")
"""A heading that is nothing but the name of an option, a function or a file, perhaps after a number."""
LONGEST_NAME, LONGEST_VALUE = 60, 60
"""How many characters a heading that is repeated may have, and a value that stands alone under a label."""
CAPTION = re.compile(r"(?:listing|figure|fig\.|table|example|algorithm)\s+[\dA-Z][\dA-Z.-]*(?:\s*[:.|]|\Z)", re.IGNORECASE)
"""A sentence that names the picture, table or code beside it and says nothing by itself."""
STOPPED = re.compile(r"[.!?\u2026\u3002\uff01\uff1f;][\"'\u201d\u2019)\]]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk of the evidence, with its label and its statements."""

    label: int
    chunk: Chunk
    statements: tuple[Statement, ...]

    @classmethod
    def of(cls, label: int, chunk: Chunk) -> Passage:
        return cls(label=label, chunk=chunk, statements=statements(chunk.preface, chunk.text))


Group = frozenset[int]
"""The positions of statements in a passage."""


def compose(shape: Shape, read: Sequence[ReadStatement], passages: Mapping[str, Passage]) -> list[tuple[Passage, Group]]:
    """The statements of an answer: the best, then those that add to it, each with what it needs. Statements that are side by
    side are shown together, the others in the order of the book, lesson by lesson."""
    taken: dict[str, Group] = {}
    length = 0
    found = [_for_listing(one, passages[one.chunk.id]) if shape == "listing" else one for one in read if one.cosine > 0]
    found = [one for one in found if not CAPTION.match(one.statement.readable)] or found
    best: ReadStatement | None = None
    longest = LONGEST_ANSWER if shape in SEVERAL else LONGEST_TOGETHER
    for one in sorted(found, key=lambda each: -each.score):
        passage = passages[one.chunk.id]
        group = complete(passage, passage.statements.index(one.statement), shape)
        new = group - taken.get(one.chunk.id, frozenset())
        size = sum(_size(passage.statements[place]) for place in new)
        if not new or (best and (length + size > longest or one.score < best.score - _margin(one, best, size))):
            continue
        if best and one.statement.kind == "row" and one.coverage < best.coverage:
            continue  # "How many moons has Mars?" is answered by one row of the table of planets
        if _said(passage, new, taken, passages):
            continue
        taken[one.chunk.id] = taken.get(one.chunk.id, frozenset()) | group
        length, best = length + size, best or one
    taken = {id: group | _half_told(passages[id].statements, group) for id, group in taken.items()}
    lessons = list(dict.fromkeys(passages[id].chunk.parent_doc_id for id in taken))
    order = sorted(taken, key=lambda id: (lessons.index(passages[id].chunk.parent_doc_id), passages[id].chunk.chunk_index))
    told = [(passages[id], run) for id in order for run in _side_by_side(taken[id])]
    return sorted(told, key=lambda one: best is None or not _holds(one[0], one[1], best))


def _half_told(found: Sequence[Statement], group: Group) -> set[int]:
    """The other items of short lists from which several are in the answer: two of three conditions are a wrong answer."""
    told = Counter(found[place].block for place in group if found[place].kind == "item")
    lists = (
        {at for at, one in enumerate(found) if one.block == block and one.kind == "item"} for block in told if told[block] > 1
    )
    return set().union(*(items for items in lists if len(items) <= MOST_ITEMS and _total(found, items) <= HALF_TOLD))


def _side_by_side(places: Group) -> Iterator[Group]:
    """Groups of positions without gaps between them."""
    run: list[int] = []
    for place in sorted(places):
        if run and place > run[-1] + 1:
            yield frozenset(run)
            run = []
        run.append(place)
    yield frozenset(run)


def _holds(passage: Passage, run: Group, best: ReadStatement) -> bool:
    return passage.chunk.id == best.chunk.id and any(passage.statements[place] == best.statement for place in run)


def _for_listing(one: ReadStatement, passage: Passage) -> ReadStatement:
    """Where several things are asked for, a list of them is preferred to a sentence about them."""
    place = passage.statements.index(one.statement)
    following = passage.statements[place + 1 : place + 2]
    leads = one.statement.readable.endswith(":") and any(each.kind == "item" for each in following)
    return replace(one, score=one.score + LISTED) if one.statement.kind == "item" or leads else one


def _margin(one: ReadStatement, best: ReadStatement, size: int) -> float:
    near = one.chunk.parent_doc_id == best.chunk.parent_doc_id
    return margin(size, ranked=best.ranked is not None) * (1.0 if near else ELSEWHERE)


def margin(size: int, *, ranked: bool = True) -> float:
    """How much lower than the best statement a statement of `size` characters in the same lesson may score."""
    return (MARGIN if ranked else MARGIN_OF_SIGNS) * min(WIDEST, math.pow(USUAL / max(1, size), BY_LENGTH))


def _size(statement: Statement) -> int:
    return 0 if statement.kind == "table" else len(statement.readable)


def _said(passage: Passage, new: Group, taken: Mapping[str, Group], passages: Mapping[str, Passage]) -> bool:
    """Whether a passage that was used already says all of this in the same words. A book that is in a folder both as HTML and
    as PDF says everything twice, with other quotation marks."""
    known = {_letters(passages[id].statements[place]) for id, group in taken.items() for place in group}
    return all(_letters(passage.statements[place]) in known for place in new)


def _letters(statement: Statement) -> str:
    return letters(statement.readable) or statement.readable  # of a line of signs nothing else is left


def complete(passage: Passage, place: int, shape: Shape) -> Group:
    """The statement with everything it needs; nothing where that cannot be had."""
    found = passage.statements
    one = found[place]
    group = {place}
    if one.kind == "item":
        group |= _list(found, place, shape)
    elif one.kind == "row":
        group |= _table(found, place, shape)
    elif one.kind in ("code", "maths"):
        if len(one.readable) > LONGEST_BLOCK:
            return frozenset()
        group |= _with_introduction(found, place)
    else:
        group |= _before(found, place)
    for each in sorted(group):
        after = _after(found, each, group)
        if after is None:
            group.discard(each)
        else:
            group |= after
    return frozenset(group | _remedy(found, max(group))) if place in group else frozenset()


def _before(found: Sequence[Statement], place: int) -> set[int]:
    """The sentences that a sentence leans on."""
    group: set[int] = set()
    for _ in range(MOST_BEFORE):
        previous = place - 1
        while previous >= 0 and found[previous].kind in ("row", "table"):
            previous -= 1
        if previous < 0 or found[previous].kind in ("heading", "code") or _asks(found[previous]):
            break
        if not _leans(found[place], found[previous]):
            break
        group.add(previous)
        if found[previous].kind == "maths" and previous:
            group |= _with_introduction(found, previous)
        place = previous
    return group


def _leans(one: Statement, previous: Statement) -> bool:
    """Whether the statement leans on what is before it. A small letter continues the paragraph or formula before; a paragraph
    that begins with a small letter begins with a name."""
    goes_on = one.readable[:1].islower() and (previous.block == one.block or previous.kind == "maths")
    return one.kind in ("sentence", "item") and (goes_on or LEANS.match(one.readable) is not None)


def _asks(one: Statement) -> bool:
    return one.readable.endswith("?")


def _remedy(found: Sequence[Statement], place: int) -> set[int]:
    """The remedy for the problem that a statement describes, where the book gives one right after it."""
    for at in range(place + 1, min(place + 1 + REMEDY_WITHIN, len(found))):
        if found[at].kind == "heading":
            break
        if found[at].kind in ("sentence", "item") and REMEDY.match(found[at].readable):
            return {at}
    return set()


def _with_introduction(found: Sequence[Statement], place: int) -> set[int]:
    """The sentence that introduces a block, with the sentences that it leans on itself."""
    previous = place - 1
    if previous >= 0 and found[previous].kind == "sentence" and not _asks(found[previous]):
        return {previous, *_before(found, previous)}
    return set()


def _after(found: Sequence[Statement], place: int, group: set[int]) -> set[int] | None:
    """What a sentence without a full stop leads to; None where nothing that can be shown follows it."""
    one = found[place]
    if one.kind != "sentence" or STOPPED.search(one.readable) or group & {place + 1} or _is_value(found, place):
        return set()
    following = found[place + 1] if place + 1 < len(found) else None
    if following is None or following.kind == "heading":
        return None
    if following.kind in ("code", "maths"):
        if len(following.readable) > LONGEST_ANSWER:
            return None
        explained = place + 2 < len(found) and following.kind == "maths" and found[place + 2].readable.startswith("where ")
        return {place + 1, place + 2} if explained else {place + 1}
    same = {at for at in _block(found, place + 1) if found[at].kind == following.kind}
    if following.kind == "item":
        return same if len(same) <= MOST_ITEMS and _total(found, same) <= LONGEST_ANSWER else None
    if following.kind == "table":
        return same if len(following.readable) <= LONGEST_TABLE else None
    return {place + 1} if one.readable.endswith(":") else set()


def _is_value(found: Sequence[Statement], place: int) -> bool:
    """Whether the statement is all that stands under a label: "0" under "Default value:"."""
    label = found[place - 1] if place else None
    return (
        bool(label and label.kind == "heading" and label.readable.endswith(":")) and len(found[place].readable) <= LONGEST_VALUE
    )


def _list(found: Sequence[Statement], place: int, shape: Shape) -> set[int]:
    """All items of a list if the question asks for a list; otherwise the item, with what introduces it if it needs that."""
    same = {at for at in _block(found, place) if found[at].kind in ("item", "sentence", "code", "maths")}
    first = min(same)
    introduction = _with_introduction(found, first) if first and found[first - 1].readable.endswith(":") else set()
    all_wanted = shape == "listing" or (shape == "steps" and STEP.match(found[place].readable) is not None)
    if all_wanted and len(same) <= MOST_ITEMS and _total(found, same) <= LONGEST_ANSWER:
        return same | introduction
    one = found[place].readable
    if introduction and not _stands(one) and len(same) <= MOST_ITEMS and _total(found, same) <= SHORT_LIST:
        return same | introduction  # "The following are needed:" and one of them is half an answer
    before = set(range(max(first, place - MOST_BEFORE), place)) if LEANS.match(one) else set()
    return before | (introduction if introduction and not _stands(one) else set())


def _stands(text: str) -> bool:
    """Whether an item is a sentence by itself."""
    return text[:1].isupper() and text.endswith((".", "!")) and not LEANS.match(text)


def _table(found: Sequence[Statement], place: int, shape: Shape) -> set[int]:
    """The whole table, if the question may ask for all of it and it is not too long."""
    table = next(at for at in _block(found, place) if found[at].kind == "table")
    return {table} if shape in WANTED_BY["row"] and len(found[table].readable) <= LONGEST_TABLE else set()


def _block(found: Sequence[Statement], place: int) -> Iterator[int]:
    return (at for at, one in enumerate(found) if one.block == found[place].block)


def _total(found: Sequence[Statement], places: set[int]) -> int:
    return sum(len(found[at].readable) for at in places)


HEADER_LINES = 2
READY = ("Explain this.", "Why is that so?")
"""The questions about selected words that the page offers."""
PIECE = 12
"""A sentence is compared with what the reader selected in pieces of this many letters."""
ASKS_FOR_MORE = re.compile(
    r"(?:please )?(?:explain|clarify|why|what does (?:this|that|it) mean|tell me more)\b[^?.]{0,20}[?.!]?\Z", re.IGNORECASE
)
"""Questions that ask for more than the selected words say. The selected words may answer any other question."""
LINE = re.compile(r"[^\n]*\n?")
CELL = re.compile(r"(?<!\\)\|")
WORD = re.compile(r"\w")
QUOTED = re.compile(r"[ \t]*>[ \t]?")
FENCE_NAME = re.compile(r"(`{3,}|~{3,})[ \t]*\{[ \t]*(?:code-cell\}[ \t]*|code-block\}[ \t]*|code\}[ \t]*|\.)([\w+#-]*).*")
"""The name of a language in braces: `{.python .input}`, `{code-cell} python`."""
FOR_A_BUILD = re.compile(r"[ \t]*(?:%%tab\b|#@tab\b|:tags:)")
"""Lines that tell a build where to show the code."""


class ExtractiveDrafter:
    """A `Drafter` without a model. The same request always gives the same draft."""

    model = "extractive"

    def __init__(self, reader: SentenceReader) -> None:
        self._reader = reader

    async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
        """Drafts an answer; what answers best comes first."""
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
        if request.selection and _asks_for_more(request.asked.strip()):
            read = _new_to_the_reader(read, request.selection)
        if not any(one.coverage for one in read):
            return
        told = compose(shape, read, passages)
        said = " ".join((request.question, *(passage.statements[place].readable for passage, group in told for place in group)))
        for passage, group in told:
            over = _headings_for(said.casefold(), passage, min(group))
            said = " ".join((said, *(heading.readable for heading in over)))
            for sentence in _sentences(passage, group, over):
                yield sentence

    async def close(self) -> None:
        """Does nothing: it has opened nothing of its own."""


def _asks_for_more(asked: str) -> bool:
    """Whether the question asks for more than the selected words, also if it is one of those that the page offers, in any
    language."""
    return bool(ASKS_FOR_MORE.match(asked)) or any(asked == page_words(code)[text] for code in LANGUAGES for text in READY)


def _new_to_the_reader(read: tuple[ReadStatement, ...], selection: str) -> tuple[ReadStatement, ...]:
    """The statements without those that the reader selected, because repeating them explains nothing: those of the same lesson
    if one of them has words of the question, or else all others; everything where nothing else is left."""
    known = letters(selection)
    selected = [one for one in read if _repeats(letters(one.statement.readable), known)]
    lessons = {one.chunk.parent_doc_id for one in selected if one.statement.kind != "heading"}
    others = tuple(one for one in read if one not in selected)
    beside = tuple(one for one in others if one.chunk.parent_doc_id in lessons)
    return next((some for some in (beside, others) if any(one.coverage for one in some)), read)


def _repeats(said: str, known: str) -> bool:
    """Whether a statement repeats the selection, which may begin or end within a sentence and has no letters of its formulas."""
    pieces = [said[at : at + PIECE] for at in range(0, len(said), PIECE)]
    return said in known or sum(piece in known for piece in pieces if len(piece) == PIECE) > len(pieces) / 2


def _sentences(passage: Passage, group: Group, over: Sequence[Statement]) -> Iterator[DraftSentence]:
    """The statements of a group as sentences, the first after the headings `over` it."""
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
            told = _sentence(passage, one)
            yield _under(over, told, passage) if over and place == min(group) else told


def _headings_for(said: str, passage: Passage, place: int) -> list[Statement]:
    """The headings without which a statement says too little. That of its section, if it names an option, a function or a file
    that neither the question nor the answer names, `said` being both: "If it is enabled, the link is hidden." And the label over
    a value: "Default value:" over "0"."""
    one = passage.statements[place]
    if one.kind not in ("sentence", "item"):
        return []
    title, above = passage.chunk.section_at(one.start).title, reversed(passage.statements[:place])
    over = next((each for each in above if each.kind == "heading" and each.readable == title), None)
    label = passage.statements[place - 1] if _is_value(passage.statements, place) else None
    named = over if over and _names_more(over, said) else None
    return [each for each in dict.fromkeys((named, label)) if each]


def _names_more(heading: Statement, said: str) -> bool:
    alone = NAME_ALONE.match(heading.readable)
    names = [alone[1]] if alone else IDENTIFIER.findall(heading.readable)
    return bool(names) and len(heading.readable) <= LONGEST_NAME and not any(one.casefold() in said for one in names)


def _under(over: Sequence[Statement], told: DraftSentence, passage: Passage) -> DraftSentence:
    """The sentence after its headings, and all of them quoted."""
    text = ": ".join([*(one.readable.rstrip(": ") for one in over), told.text])
    return replace(told, text=text, quotes=(*(_quote(passage, one) for one in over), *told.quotes))


def _sentence(passage: Passage, one: Statement) -> DraftSentence:
    kinds: dict[str, SentenceKind] = {"sentence": "sentence", "item": "item", "code": "code", "table": "table", "maths": "maths"}
    kind = kinds[one.kind]
    text = one.readable if kind in ("sentence", "item") else _markdown(passage, one)
    return DraftSentence(text=text, labels=(passage.label,), quotes=(_quote(passage, one),), kind=kind)


def _quote(passage: Passage, one: Statement) -> Quote:
    return Quote(label=passage.label, chunk_id=passage.chunk.id, start=one.start, end=one.end)


def _markdown(passage: Passage, one: Statement) -> str:
    """A block as it is written, to be rendered as one. A part of a split block gets back what opened it."""
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
    """The code with the fence that ends it, where the end of a chunk cut it off."""
    mark = block[: len(block) - len(block.lstrip("`~"))]
    return block if not mark or (block.rstrip().endswith(mark) and "\n" in block) else f"{block}\n{mark}"


def _plain_code(block: str) -> str:
    """The code with the name of its language alone, without what a build or a quotation puts before its lines."""
    first, *others = block.splitlines()
    if others and all(line.lstrip().startswith(">") for line in others if line.strip()):
        others = [QUOTED.sub("", line) for line in others]
    lines = [line for line in others if not FOR_A_BUILD.match(line)]
    return "\n".join([FENCE_NAME.sub(r"\1\2", first), *lines])


def _plain_row(line: str) -> str:
    """A table row with the words of its cells. A cell whose words would be read as markup stays as it is written."""
    if "|" not in line or not WORD.search(line):
        return line
    row = []
    for cell in CELL.split(line.strip().lstrip("> \t").strip("|")):
        words = " ".join(readable(cell).split())
        shown = words.replace("|", "\\|")
        row.append(shown if " ".join(readable(shown).split()) == words else cell.strip())
    return f"| {' | '.join(row)} |"


def _table_of(passage: Passage, rows: Sequence[Statement]) -> DraftSentence:
    """Some rows of a table, under its header."""
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
