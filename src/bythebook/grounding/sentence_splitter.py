"""Splits a stream of text into sentences as it comes, each with the markers that follow it. Knows nothing of evidence.

The result does not depend on how the stream was cut: a decision that the next characters could change waits for them.
"""

from __future__ import annotations

import re
from typing import Literal

from bythebook.books.markdown import ABBREVIATIONS, BEFORE_NUMBERS, LAST_WORD, OPENERS
from bythebook.grounding.markers import MARKER, split_markers

__all__ = ["Kind", "SentenceSplitter", "kind_of", "split_markers"]

Kind = Literal["sentence", "item", "code", "table", "maths"]

LONGEST_QUOTE = 400
"""Characters after which an opened quotation mark, code mark or bracket counts as a stray one."""
ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,9}[.)])[ \t]")
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
OPENINGS = (
    ("blank", re.compile(r"[ \t\r]*(?:\n|\Z)")),
    ("code", FENCE),
    ("table", re.compile(r"[ \t]*\|")),
    ("maths", re.compile(r"[ \t]*\$\$")),
    ("line", re.compile(r"[ \t]*(?:#{1,6}[ \t]|(?:-{3,}|\*{3,}|_{3,}|={3,})(?=\s|\Z))")),
    ("item", ITEM),
)
KNOWN = re.compile(r"[ \t\r]*(?:\S{13}|\S+(?=\s)|\n)")
"""How much of a line must be known to say how it begins."""
EVENT = re.compile(r"[.!?\u2026]+|[\u3002\uff01\uff1f\u0964\u061f\u06d4]+|`+|[\"\u201c\u00ab\u201e]|\n")
CLOSING = {'"': '"', "\u201c": "\u201d", "\u00ab": "\u00bb", "\u201e": "\u201c"}
CLOSERS = re.compile(r"[)\"'\u201d\u2019\u00bb*_]*")
BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


class SentenceSplitter:
    """Releases sentences, list items and blocks whole, with the markers that follow them, and never before they have ended."""

    def __init__(self) -> None:
        self._held = ""
        self._at_line_start = True
        self._decided = 0
        """How far the text was read with certainty: no character is read again with every new piece."""

    def feed(self, text: str) -> list[str]:
        """Adds text. Returns the sentences that are complete now."""
        self._held += text
        return self._release(final=False)

    def flush(self) -> list[str]:
        """Ends the text. Returns what is left."""
        released = self._release(final=True)
        self._held, self._at_line_start, self._decided = "", True, 0
        return released

    def _release(self, *, final: bool) -> list[str]:
        released = []
        while self._skip_space():
            scan = _Scan(self._held, final, self._decided)
            end = scan.end(at_line_start=self._at_line_start)
            if end is None:
                self._decided = scan.decided
                break
            released.append(self._held[:end].rstrip())
            self._held, self._at_line_start, self._decided = self._held[end:], False, 0
        return released

    def _skip_space(self) -> bool:
        rest = self._held.lstrip()
        self._at_line_start = self._at_line_start or "\n" in self._held[: len(self._held) - len(rest)]
        self._held = rest
        return bool(rest)


class _Unknown(Exception):
    """The next characters decide, and they have not come yet."""


class _Scan:
    def __init__(self, text: str, final: bool, decided: int) -> None:
        self.text = text
        self.final = final
        self.decided = decided

    def end(self, *, at_line_start: bool) -> int | None:
        """Where the first sentence ends, including its markers; None while that is undecided."""
        try:
            return self._block(self._opening(0)) if at_line_start else self._prose()
        except _Unknown:
            return None

    def _reach(self, at: int) -> None:
        if at >= len(self.text) and not self.final:
            raise _Unknown

    def _opening(self, at: int) -> str:
        """How the line at `at` begins: the name of a block, or "" for running text."""
        if not self.final and not KNOWN.match(self.text, at):
            raise _Unknown
        return next((name for name, pattern in OPENINGS if pattern.match(self.text, at)), "")

    def _block(self, kind: str) -> int:
        if kind == "code":
            return self._with_markers(self._fenced())
        if kind == "maths":
            close = self.text.find("$$", max(self.decided, self.text.index("$$") + 2))
            if close < 0:
                self.decided = len(self.text) - 1
            self._reach(len(self.text) if close < 0 else 0)
            return self._with_markers(close + 2 if close >= 0 else len(self.text))
        if kind == "line":
            return self._line_end(0)
        if kind in ("table", "item"):
            return self._with_markers(self._lines(kind))
        return self._prose()

    def _fenced(self) -> int:
        opening = FENCE.match(self.text)
        mark = opening[1] if opening else "```"
        ending = r"(?=\r?\n|\Z)" if self.final else r"(?=\r?\n)"
        closing = re.compile(rf"\n[ \t]*{re.escape(mark)}{re.escape(mark[0])}*[ \t]*{ending}").search(self.text, self.decided)
        if not closing:
            self.decided = max(0, self.text.rfind("\n"))
        self._reach(0 if closing else len(self.text))
        return closing.end() if closing else len(self.text)

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        self._reach(len(self.text) if end < 0 else 0)
        return len(self.text) if end < 0 else end

    def _lines(self, kind: str) -> int:
        """The end of the rows of a table, or of an item with the lines that go on with it."""
        end = self._line_end(self.decided)
        while end < len(self.text):
            opening = self._opening(end + 1)
            if (opening != "table") if kind == "table" else bool(opening):
                break
            if kind == "item" and self._marker_line(end) > end:
                break
            self.decided = end + 1
            end = self._line_end(end + 1)
        return end

    def _prose(self) -> int:
        at = self.decided
        while event := EVENT.search(self.text, at):
            self.decided = at
            mark, start, at = event[0], event.start(), event.end()
            if mark == "\n":
                if self._opening(at):
                    return self._with_markers(start)
                if (end := self._marker_line(start)) > start:
                    return end
                continue
            self._reach(at)
            if mark[0] == "`":
                at = self._after_closing(at, mark)
                continue
            if mark in CLOSING:
                after = at if mark == '"' and self.text[start - 1 : start].isalnum() else self._after_closing(at, CLOSING[mark])
                stop = re.search(r"[.!?\u2026]+\Z", self.text[at : after - 1])
                at = after
                if not stop:
                    continue
                start, mark = start + 1 + stop.start(), stop[0]
            stopped = self._after_stop(start, mark, at)
            if stopped is not None:
                return stopped
        self.decided = len(self.text)
        self._reach(len(self.text))
        return len(self.text)

    def _after_closing(self, at: int, mark: str) -> int:
        """The position after the mark that closes what was opened before `at`; `at` itself where none does."""
        window = self.text[at : at + LONGEST_QUOTE]
        blank = BLANK_LINE.search(window)
        pattern = rf"(?<!`){mark}(?!`)" if mark[0] == "`" else re.escape(mark)
        close = re.compile(pattern).search(window)
        if close and not (blank and blank.start() < close.start()):
            self._reach(at + close.end())
            return at + close.end()
        if not blank and len(window) < LONGEST_QUOTE:
            self._reach(len(self.text))
        return at

    def _after_stop(self, start: int, mark: str, at: int) -> int | None:
        """The end of the sentence with its markers, if the stop `mark` at `start` ends one."""
        closers = CLOSERS.match(self.text, at)
        end = closers.end() if closers else at
        self._reach(end)
        if mark == "!" and self._opens_image(start, at):
            return None
        dense = mark[0] not in ".!?\u2026"
        if not dense and end < len(self.text) and not self.text[end].isspace() and self.text[end] not in "[\u3010":
            return None
        if self._abbreviates(start, mark, end):
            return None
        marked = self._with_markers(end)
        if marked > end or dense or end == len(self.text):
            return marked
        return end if self._begins(end, mark) else None

    def _opens_image(self, start: int, at: int) -> bool:
        """Whether the mark begins an image: "![A node](node.svg)", not "Stop![1]"."""
        if (start and not self.text[start - 1].isspace()) or self.text[at : at + 1] != "[":
            return False
        self._reach(min(at + 4, len(self.text)))
        return not re.match(r"\[\d{1,2}\]", self.text[at : at + 4])

    def _begins(self, end: int, mark: str) -> bool:
        """Whether what follows the full stop may begin a sentence."""
        at = end
        while at < len(self.text) and (self.text[at].isspace() or self.text[at] in OPENERS.replace("`", "")):
            at += 1
        self._reach(at)
        if at >= len(self.text) or BLANK_LINE.search(self.text, end, at):
            return True
        if ITEM.match(self.text, at) or not self.text[at].islower():
            return not self.text[end : end + 1].strip() or self.text[end] in "[\u3010"
        return mark[-1] in "!?"

    def _abbreviates(self, start: int, mark: str, end: int) -> bool:
        if mark != ".":
            return False
        found = LAST_WORD.search(self.text[max(0, start - 30) : start])
        word = found[0].strip(".") if found else ""
        if (ABBREVIATIONS.fullmatch(word) and word != "ms") or (len(word) == 1 and word.isupper() and word != "I"):
            following = self.text[end:].lstrip()
            if not following:
                self._reach(len(self.text))
            return bool(following)
        if not BEFORE_NUMBERS.fullmatch(word):
            return False
        following = self.text[end:].lstrip()
        if not following:
            self._reach(len(self.text))
        return following[:1].isdigit() or following[:1] in ("(", "$", "\\")

    def _with_markers(self, end: int) -> int:
        """The position after the markers that follow `end` on its line, or fill the next."""
        at = end
        while True:
            gap = len(self.text[at:]) - len(self.text[at:].lstrip(" \t\r"))
            self._reach(at + gap)
            after = self._marker(at + gap)
            if after == at + gap:
                break
            at = after
        return self._marker_line(at) if self.text[at:].lstrip(" \t\r")[:1] == "\n" else at

    def _marker_line(self, at: int) -> int:
        """The position after markers that fill the next line that is not blank; `at` where there are none."""
        begin = at + len(self.text[at:]) - len(self.text[at:].lstrip())
        self._reach(begin)
        after = begin
        while (next_one := self._marker(after)) > after:
            gap = len(self.text[next_one:]) - len(self.text[next_one:].lstrip(" \t\r"))
            self._reach(next_one + gap)
            after = next_one + gap
        return after if after > begin and self.text[after : after + 1] in ("", "\n") else at

    def _marker(self, at: int) -> int:
        """The position after the marker at `at`; `at` where there is none."""
        opener = self.text[at : at + 1]
        if not opener or opener not in "[\u3010":
            return at
        close = re.compile(r"[\]\u3011\n]").search(self.text, at, at + LONGEST_QUOTE)
        if not close:
            if len(self.text) - at < LONGEST_QUOTE:
                self._reach(len(self.text))
            return at
        self._reach(close.end())
        if self.text[close.end() : close.end() + 1] == "(" and not re.compile(r"[)\s]").search(self.text, close.end()):
            self._reach(len(self.text))
        found = MARKER.match(self.text, at)
        return found.end() if found else at


def kind_of(text: str) -> Kind:
    """The kind of a piece that the splitter released."""
    opening = next((name for name, pattern in OPENINGS if pattern.match(text)), "")
    kinds: dict[str, Kind] = {"code": "code", "table": "table", "maths": "maths", "item": "item"}
    return kinds.get(opening, "sentence")
