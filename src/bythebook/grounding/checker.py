"""Checks every sentence before a reader sees it, and finds the place in the book that supports it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote as quote_url

from bythebook.books.inline import with_plain_formulas
from bythebook.books.links import UNRESERVED
from bythebook.books.markdown import letters, readable, single_spaced
from bythebook.books.model import LINE_END, Chunk, Span, where
from bythebook.books.statements import Statement, statements
from bythebook.grounding.blocks import find_block
from bythebook.grounding.citations import CheckedSentence, Citation, Doubtful, Supported, Unsupported
from bythebook.grounding.facts import ReadText, read
from bythebook.grounding.form import asks, unsafe
from bythebook.grounding.hard_facts import code_lines, hard_objection, prose
from bythebook.grounding.markers import split_markers
from bythebook.grounding.number_objections import has_number, quoted_otherwise
from bythebook.grounding.objections import objection
from bythebook.grounding.quotes import FoundQuote, find_quote, stems_around
from bythebook.grounding.support import CheckedSource, Window, best_windows, checked_source, same_words
from bythebook.retrieval.evidence import Evidence

BLOCKS = ("code", "table", "maths")
NEAR = 0.4
"""If the drafter names no words of the book, the nearest ones must have this share of the sentence's words."""


class Checker:
    """Checks every sentence of a draft against the evidence of one answer. Numbers from the reader's own `question` may be
    repeated where a model judges the meaning."""

    def __init__(self, evidence: Sequence[Evidence], language: str, question: str = "") -> None:
        self._language = language
        self._question = question
        self._evidence: dict[int, Evidence] = {}
        self.extend(evidence)

    def extend(self, evidence: Sequence[Evidence]) -> None:
        """Adds evidence that was found while drafting."""
        self._evidence.update({one.label: one for one in evidence})

    def check(self, sentence: CheckedSentence) -> Supported | Unsupported:
        """The verdict of the program alone."""
        weighed = self._weigh(sentence, "")
        return weighed.by_words if isinstance(weighed, Doubtful) else weighed

    def weigh(self, sentence: CheckedSentence) -> Supported | Unsupported | Doubtful:
        """The program's verdict where it is certain; otherwise the meaning is to be judged."""
        return self._weigh(sentence, self._question)

    def _weigh(self, sentence: CheckedSentence, question: str) -> Supported | Unsupported | Doubtful:
        if sentence.quotes:
            return self._check_quotes(sentence)
        text, marked = split_markers(sentence.text)
        cited = [self._evidence[label] for label in dict.fromkeys((*sentence.labels, *marked)) if label in self._evidence]
        if not cited:
            return Unsupported(text=text, reason="cites nothing that was found")
        if sentence.kind in BLOCKS:
            block = _check_block(text, sentence.kind, cited)
            if isinstance(block, Supported) or sentence.kind == "maths":
                return block
            weighed = self._weigh_words(text, sentence, cited, question)
            if not isinstance(weighed, Doubtful) or (sentence.kind == "table" and sentence.basis and "|" not in sentence.basis):
                return weighed  # a row that rests on prose is a sentence in cells
            return replace(weighed, by_words=block)
        return self._weigh_words(text, sentence, cited, question)

    def _weigh_words(
        self, text: str, sentence: CheckedSentence, cited: Sequence[Evidence], question: str
    ) -> Supported | Unsupported | Doubtful:
        every = [checked_source(chunk, self._language) for one in cited for chunk in one.passages]
        same = self._same(text, cited)
        said = prose(text)
        claim = read(said, self._language)
        basis = sentence.basis or " \u2026 ".join(code_lines(text))
        found = () if same else find_quote(basis, [*every, *self._others(every)])
        every = list(dict.fromkeys((*every, *(one.source for one in found))))
        rests = [_read_quote(one, self._language) for one in found]
        if same:
            reason = unsafe(text, [*every, *self._others(every)]) or asks(text)
        else:
            asked = read(question, self._language)
            reason = hard_objection(text, claim, every, asked, rests) or quoted_otherwise(claim, rests)
        if reason:
            return Unsupported(text=text, reason=reason)
        if same:
            return Supported(text=_as_in_book(text, sentence.kind, same), kind=sentence.kind, citations=(same,))
        if not claim.content:
            return self._bare(text, sentence, claim, every, found, rests)
        windows, share = best_windows(claim, every, most=max(2, len(cited)))
        reason = objection(claim, every, windows, share, rests, stems_around(found))
        return self._rested(text, sentence, every, found, windows, share, reason)

    def _rested(
        self,
        text: str,
        sentence: CheckedSentence,
        sources: Sequence[CheckedSource],
        found: Sequence[FoundQuote],
        windows: Sequence[Window],
        share: float,
        reason: str | None,
    ) -> Unsupported | Doubtful:
        """The sentence with the words of the book that it rests on: those it names, or else the nearest ones."""
        near = bool(windows) and (not reason or (share >= NEAR and not sentence.basis))
        if not found and not near:
            missing = "rests on words that its sources do not have" if sentence.basis else reason or "rests on nothing"
            return Unsupported(text=text, reason=missing)
        quoted = found or [
            FoundQuote(source=one.source, start=one.statements[0].start, end=one.statements[-1].end) for one in windows
        ]
        order = [source.chunk.id for source in sources]
        places = {one.source.chunk.id: order.index(one.source.chunk.id) for one in quoted if one.source.chunk.id in order}
        quoted = sorted(quoted, key=lambda one: places.get(one.source.chunk.id, len(order)))
        return self._doubtful(text, sentence, quoted, reason)

    def _doubtful(self, text: str, sentence: CheckedSentence, quoted: Sequence[FoundQuote], reason: str | None) -> Doubtful:
        citations = self._citations(quoted)
        supported = Supported(text=text, kind=sentence.kind, citations=citations)
        passages = tuple(dict.fromkeys(shown_to_judge(self._evidence[one.label], self._language) for one in citations))
        by_words = Unsupported(text=text, reason=reason) if reason else supported
        return Doubtful(text=text, passages=passages, by_words=by_words, supported=supported)

    def _bare(
        self,
        text: str,
        sentence: CheckedSentence,
        claim: ReadText,
        sources: Sequence[CheckedSource],
        found: Sequence[FoundQuote],
        rests: Sequence[ReadText],
    ) -> Supported | Unsupported | Doubtful:
        """Decides on a sentence that is nothing but a number ("60 m.") or code."""
        if not claim.quantities:
            return self._only_code(text, sentence, sources)
        if found and all(any(has_number(reading, one) for reading in rests) for one in claim.quantities):
            return self._doubtful(text, sentence, found, None)
        return Unsupported(text=text, reason="says nothing that its sources say")

    def _only_code(self, text: str, sentence: CheckedSentence, sources: Sequence[CheckedSource]) -> Supported | Unsupported:
        """Decides on a code block whose lines are all in the sources, though not as one block."""
        found = find_quote(" \u2026 ".join(code_lines(text)), sources)
        if not found:
            return Unsupported(text=text, reason="says nothing that its sources say")
        return Supported(text=text, kind=sentence.kind, citations=self._citations(found))

    def _same(self, text: str, cited: Sequence[Evidence]) -> Citation | None:
        """The place in the book that says exactly this. A model that copies a sentence may give it the wrong label."""
        for one in dict.fromkeys((*(one.label for one in cited), *self._evidence)):
            for chunk in self._evidence[one].passages:
                if place := same_words(text, checked_source(chunk, self._language)):
                    return _citation(self._evidence[one], chunk, *place)
        return None

    def _others(self, sources: Sequence[CheckedSource]) -> list[CheckedSource]:
        """All other evidence: a quote may be from there if the model gave it the wrong label."""
        known = {source.chunk.id for source in sources}
        passages = (chunk for one in self._evidence.values() for chunk in one.passages if chunk.id not in known)
        return [checked_source(chunk, self._language) for chunk in passages]

    def _citations(self, quoted: Sequence[FoundQuote]) -> tuple[Citation, ...]:
        held = {chunk.id: one for one in reversed(self._evidence.values()) for chunk in one.passages}
        return tuple(_citation(held[one.source.chunk.id], one.source.chunk, one.start, one.end) for one in quoted)

    def _check_quotes(self, sentence: CheckedSentence) -> Supported | Unsupported:
        """Decides on a sentence in the book's own words: it may not differ from the stretches that it names."""
        citations, words = [], []
        for quote in sentence.quotes:
            evidence = self._evidence.get(quote.label)
            chunk = next((chunk for chunk in evidence.passages if chunk.id == quote.chunk_id), None) if evidence else None
            if evidence is None or chunk is None or not 0 <= quote.start < quote.end <= len(chunk.text):
                return Unsupported(text=sentence.text, reason="quotes a place that was not found")
            citations.append(_citation(evidence, chunk, quote.start, quote.end))
            words.append((chunk, quote.start, quote.end))
        if not _says_only(sentence.text, sentence.kind, words):
            return Unsupported(text=sentence.text, reason="does not say what it quotes")
        return Supported(text=sentence.text, kind=sentence.kind, citations=tuple(citations))


def _says_only(text: str, kind: str, quoted: Sequence[tuple[Chunk, int, int]]) -> bool:
    """Whether the sentence is the quoted words, character for character: as the author wrote them, or as they read. It may
    begin with a capital, leave out words before or after, and end with a full stop; a row may name its columns, and headings may
    stand before it, each with a colon."""
    slices = [chunk.text[start:end] for chunk, start, end in quoted]
    said = single_spaced(text)
    shown = single_spaced(" ".join(readable(words) for words in slices))
    plain = single_spaced(" ".join(readable(with_plain_formulas(words)) for words in slices))
    if not said or said in (single_spaced(" ".join(slices)), shown, plain):
        return bool(said)
    # Some rows of a table are quoted apart from its header.
    if quoted and find_block(text, kind, "\n".join(slices), quoted[0][0].preface):
        return True
    for form in {said, said[0].lower() + said[1:], said[0].upper() + said[1:]}:
        if re.search(rf"(?<!\w){re.escape(form.removesuffix('.'))}(?!\w)", f"{shown} {plain}"):
            return len(read(said, "en").denials) == len(read(plain, "en").denials)
    whole = [_statement_of(*one) for one in quoted]
    read_as = [one.readable if one else "" for one in whole]
    headed = all(one and one.kind == "heading" for one in whole[:-1])
    under = ": ".join([*(words.rstrip(": ") for words in read_as[:-1]), *read_as[-1:]]) if headed else ""
    return said in (single_spaced(" ".join(read_as)), single_spaced(under))


def _statement_of(chunk: Chunk, start: int, end: int) -> Statement | None:
    """The statement that is exactly this stretch of the chunk."""
    return next((one for one in statements(chunk.preface, chunk.text) if (one.start, one.end) == (start, end)), None)


def _as_in_book(text: str, kind: str, same: Citation) -> str:
    """A copied sentence shown as the book's own sentences are: as it reads, with the full stop that the copy may lack."""
    if kind != "sentence":
        return text
    whole = single_spaced(readable(same.quote))
    return whole if letters(whole) == letters(text) else single_spaced(readable(text))


def shown_to_judge(evidence: Evidence, language: str) -> str:
    """The evidence as a judge of meaning sees it: its place in the book, and its text without paragraphs addressed to a model."""
    first = evidence.first
    place = " > ".join(filter(None, (first.page_title, *first.heading_path)))
    texts = [checked_source(chunk, language).without_planted for chunk in evidence.passages]
    return "\n\n".join([place, first.preface + texts[0], *texts[1:]])


def _read_quote(one: FoundQuote, language: str) -> ReadText:
    return read(one.source.chunk.text[one.start : one.end], language)


def _check_block(text: str, kind: str, cited: Sequence[Evidence]) -> Supported | Unsupported:
    for one in cited:
        for chunk in one.passages:
            found = find_block(text, kind, chunk.text, chunk.preface)
            if found:
                return Supported(text=text, kind=kind, citations=(_citation(one, chunk, *found),))
    return Unsupported(text=text, reason=f"has {kind} that its sources do not have")


def _citation(evidence: Evidence, chunk: Chunk, start: int, end: int) -> Citation:
    quote, section = chunk.text[start:end], chunk.section_at(start)
    opening = quote.find("\n") + 1 if quote.startswith(("```", "~~~")) else 0
    mark = chunk.mark_at(start + opening if chunk.marks else start)  # code that is included stands elsewhere than its fence
    score, relevance = evidence.scores_of(chunk)
    first_line = chunk.span.first_line + len(LINE_END.findall(chunk.text, 0, start))
    return Citation(
        label=evidence.label,
        source_url=_address(section.source_url, mark.place.fragment),
        chapter=f"Chapter {chunk.chapter}: {chunk.chapter_title}" if chunk.chapter_title else "",
        section=section.title or "",
        score=score,
        relevance=relevance,
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
        where=where(mark.place, exact=mark.exact, lesson=chunk.source_file),
        place=mark.place,
    )


def _address(section_url: str, fragment: str) -> str:
    """The link to the place itself, if that is nearer than its heading: the page of a PDF, an element with an id."""
    return f"{section_url.partition('#')[0]}#{quote_url(fragment, safe=UNRESERVED)}" if fragment else section_url
