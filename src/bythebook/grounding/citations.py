"""Every sentence checked before a reader sees it, and the place in the book that carries it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bythebook.books.formulas import with_plain_formulas
from bythebook.books.markdown import readable
from bythebook.books.model import Chunk, Span
from bythebook.books.statements import statements
from bythebook.grounding.blocks import find_block
from bythebook.grounding.facts import read
from bythebook.grounding.form import unsafe
from bythebook.grounding.markers import split_markers
from bythebook.grounding.objections import objection
from bythebook.grounding.support import CheckedSource, best_windows, folded, read_source, same_words
from bythebook.retrieval.evidence import Evidence

BLOCKS = ("code", "table", "maths")
LINE_END = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """Where the book says it: document A's fields, and the quote with its place in the source file."""

    label: int
    source_url: str
    chapter: str
    section: str
    score: float
    relevance: float
    chunk_index: int
    chunk_id: str
    source_file: str
    page_title: str
    quote: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Supported:
    """A sentence that may be shown: its text without markers, and what it rests on."""

    text: str
    kind: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported:
    """A sentence that must not be shown, and why."""

    text: str
    reason: str


class Quoted(Protocol):
    """`chunk.text[start:end]` of the evidence's passage `chunk_id`."""

    @property
    def label(self) -> int: ...
    @property
    def chunk_id(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class CheckedSentence(Protocol):
    """What is checked: one sentence, item or block of a draft."""

    @property
    def text(self) -> str: ...
    @property
    def labels(self) -> tuple[int, ...]: ...
    @property
    def quotes(self) -> Sequence[Quoted]: ...
    @property
    def kind(self) -> str: ...


class Checker:
    """Holds the evidence of one answer and every sentence of its draft against it."""

    def __init__(self, evidence: Sequence[Evidence], language: str) -> None:
        self._language = language
        self._evidence: dict[int, Evidence] = {}
        self.extend(evidence)

    def extend(self, evidence: Sequence[Evidence]) -> None:
        """More was found while drafting."""
        self._evidence.update({one.label: one for one in evidence})

    def check(self, sentence: CheckedSentence) -> Supported | Unsupported:
        if sentence.quotes:
            return self._check_quotes(sentence)
        text, marked = split_markers(sentence.text)
        cited = [self._evidence[label] for label in dict.fromkeys((*sentence.labels, *marked)) if label in self._evidence]
        if not cited:
            return Unsupported(text=text, reason="cites nothing that was found")
        if sentence.kind in BLOCKS:
            return _check_block(text, sentence.kind, cited)
        return self._check_words(text, sentence.kind, cited)

    def _check_words(self, text: str, kind: str, cited: Sequence[Evidence]) -> Supported | Unsupported:
        sources = {one.label: [read_source(chunk, self._language) for chunk in one.passages] for one in cited}
        every = [source for held in sources.values() for source in held]
        same = _same(text, cited, sources)
        claim = read(text, self._language)
        windows, share = ([], 0.0) if same else best_windows(claim, every, most=max(2, len(cited)))
        reason = unsafe(text, every) if same else objection(text, claim, every, windows, share)
        if reason:
            return Unsupported(text=text, reason=reason)
        found = [
            _citation(one, window.source.chunk, window.statements[0].start, window.statements[-1].end)
            for one in cited
            for window in windows
            if window.source in sources[one.label]
        ]
        return Supported(text=text, kind=kind, citations=(same,) if same else tuple(found))

    def _check_quotes(self, sentence: CheckedSentence) -> Supported | Unsupported:
        """A sentence of the book's own words: nothing in it may differ from the stretches it names."""
        citations, words = [], []
        for quote in sentence.quotes:
            evidence = self._evidence.get(quote.label)
            chunk = next((chunk for chunk in evidence.passages if chunk.id == quote.chunk_id), None) if evidence else None
            if evidence is None or chunk is None or not 0 <= quote.start < quote.end <= len(chunk.text):
                return Unsupported(text=sentence.text, reason="quotes a place that was not found")
            citations.append(_citation(evidence, chunk, quote.start, quote.end))
            words.append((chunk, quote.start, quote.end))
        if not _says(sentence, words):
            return Unsupported(text=sentence.text, reason="does not say what it quotes")
        return Supported(text=sentence.text, kind=sentence.kind, citations=tuple(citations))


def _same(text: str, cited: Sequence[Evidence], sources: Mapping[int, Sequence[CheckedSource]]) -> Citation | None:
    """The place that says exactly this."""
    for one in cited:
        for source in sources[one.label]:
            place = same_words(text, source)
            if place:
                return _citation(one, source.chunk, *place)
    return None


def _check_block(text: str, kind: str, cited: Sequence[Evidence]) -> Supported | Unsupported:
    for one in cited:
        for chunk in one.passages:
            found = find_block(text, kind, chunk.text, chunk.preface)
            if found:
                return Supported(text=text, kind=kind, citations=(_citation(one, chunk, *found),))
    return Unsupported(text=text, reason=f"has {kind} that its sources do not have")


def _says(sentence: CheckedSentence, quoted: Sequence[tuple[Chunk, int, int]]) -> bool:
    """Whether the sentence is the quoted words, character for character: as the author wrote them, or as they read. Its first
    letter may be raised, words before or after it left out, and a full stop set; a row may name its columns."""
    slices = [chunk.text[start:end] for chunk, start, end in quoted]
    said = folded(sentence.text)
    shown = folded(" ".join(readable(words) for words in slices))
    plain = folded(" ".join(readable(with_plain_formulas(words)) for words in slices))
    if not said or said in (folded(" ".join(slices)), shown, plain):
        return bool(said)
    if any(
        find_block(sentence.text, sentence.kind, words, chunk.preface)
        for (chunk, _, _), words in zip(quoted, slices, strict=True)
    ):
        return True
    for form in {said, said[0].lower() + said[1:], said[0].upper() + said[1:]}:
        if re.search(rf"(?<!\w){re.escape(form.removesuffix('.'))}(?!\w)", f"{shown} {plain}"):
            return len(read(said, "en").denials) == len(read(plain, "en").denials)
    return said == folded(" ".join(map(_as_it_reads, quoted)))


def _as_it_reads(quoted: tuple[Chunk, int, int]) -> str:
    chunk, start, end = quoted
    same = (one for one in statements(chunk.preface, chunk.text) if (one.start, one.end) == (start, end))
    return next((one.readable for one in same), "")


def _citation(evidence: Evidence, chunk: Chunk, start: int, end: int) -> Citation:
    quote, section = chunk.text[start:end], chunk.section_at(start)
    first_line = chunk.span.first_line + len(LINE_END.findall(chunk.text, 0, start))
    return Citation(
        label=evidence.label,
        source_url=section.source_url,
        chapter=f"Chapter {chunk.chapter}: {chunk.chapter_title}" if chunk.chapter_title else "",
        section=section.title or "",
        score=evidence.score,
        relevance=evidence.relevance,
        chunk_index=chunk.chunk_index,
        chunk_id=chunk.id,
        source_file=chunk.source_file,
        page_title=chunk.page_title,
        quote=quote,
        span=Span(
            start=chunk.span.start + start,
            end=chunk.span.start + end,
            first_line=first_line,
            last_line=first_line + len(LINE_END.findall(quote)),
        ),
    )
