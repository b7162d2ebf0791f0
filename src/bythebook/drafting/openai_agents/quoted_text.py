"""Reads a draft in lines as it streams: lines that begin with ">" quote the book, and support the sentences after them."""

from __future__ import annotations

import re

from bythebook.drafting.openai_agents.answer_form import END
from bythebook.grounding.sentence_splitter import SentenceSplitter, split_markers

FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
LABEL = re.compile(r"\s*(?:quote|source)\s*:?\s*", re.IGNORECASE)
LONGEST_SENTENCE = 6000
"""Characters after which a sentence counts as ended: it is longer than any answer may be."""


class QuotedText:
    """Takes text, and returns sentences with their quotes and labels, each whole."""

    def __init__(self) -> None:
        self._splitter = SentenceSplitter()
        self._line: list[str] | None = []
        """The line so far, while it may still become a quote or a fence; None once it is text."""
        self._quoting = False
        self._fenced = False
        self._basis = ""
        self._labels: tuple[int, ...] = ()
        self._used = False
        self._waiting = 0

    def feed(self, text: str) -> list[tuple[str, str, tuple[int, ...]]]:
        """Adds text. Returns the sentences that are complete now."""
        found: list[tuple[str, str, tuple[int, ...]]] = []
        for part in re.split(f"(\n|{END})", text):
            found += self._part(part)
        return found

    def flush(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Ends the text. Returns what is left."""
        found = self._end_line("")
        return [*found, *self._given(self._splitter.flush())]

    def _part(self, part: str) -> list[tuple[str, str, tuple[int, ...]]]:
        if part == END:
            found = [*self._end_line(""), *self._given(self._splitter.flush())]
            self._basis, self._labels = "", ()
            return found
        if part == "\n":
            return self._end_line("\n")
        if self._line is None:
            return self._said(part)
        self._line.append(part)
        opening = "".join(self._line).lstrip(" \t")
        if not opening or (opening[0] in "`~" and len(opening) < 3) or self._quoting:
            return []
        if opening[0] == ">" and not self._fenced:
            self._quoting = True
            return self._given(self._splitter.flush())
        if FENCE.match(opening):
            self._fenced = not self._fenced
        held, self._line = "".join(self._line), None
        return self._said(held)

    def _end_line(self, newline: str) -> list[tuple[str, str, tuple[int, ...]]]:
        held, quoting = "".join(self._line or ()), self._quoting
        self._line, self._quoting = [], False
        if not quoting:
            return self._said(held + newline)
        quote, labels = split_markers(LABEL.sub("", held.lstrip(" \t").lstrip("> \t"), count=1))
        goes_on = bool(self._basis) and not self._used
        self._basis = f"{self._basis} \u2026 {quote}" if goes_on else quote
        self._labels = (*self._labels, *labels) if goes_on else labels
        self._used = False
        return []

    def _said(self, text: str) -> list[tuple[str, str, tuple[int, ...]]]:
        self._waiting += len(text)
        found = self._splitter.feed(text) if text else []
        if self._waiting > LONGEST_SENTENCE and not found:
            found = self._splitter.flush()
        return self._given(found)

    def _given(self, sentences: list[str]) -> list[tuple[str, str, tuple[int, ...]]]:
        if sentences:
            self._used, self._waiting = True, 0
        return [(sentence, self._basis.strip("\"'\u201c\u201d "), self._labels) for sentence in sentences]
