"""A sentence held against the stretches of the book that it is said to be, character for character."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bythebook.books.formulas import with_plain_formulas
from bythebook.books.markdown import readable
from bythebook.books.model import Chunk
from bythebook.books.statements import statements
from bythebook.grounding.blocks import find_block
from bythebook.grounding.facts import read
from bythebook.grounding.support import folded


def says_only(text: str, kind: str, quoted: Sequence[tuple[Chunk, int, int]]) -> bool:
    """Whether the sentence is the quoted words, character for character: as the author wrote them, or as they read. Its first
    letter may be raised, words before or after it left out, and a full stop set; a row may name its columns."""
    slices = [chunk.text[start:end] for chunk, start, end in quoted]
    said = folded(text)
    shown = folded(" ".join(readable(words) for words in slices))
    plain = folded(" ".join(readable(with_plain_formulas(words)) for words in slices))
    if not said or said in (folded(" ".join(slices)), shown, plain):
        return bool(said)
    if any(find_block(text, kind, words, chunk.preface) for (chunk, _, _), words in zip(quoted, slices, strict=True)):
        return True
    for form in {said, said[0].lower() + said[1:], said[0].upper() + said[1:]}:
        if re.search(rf"(?<!\w){re.escape(form.removesuffix('.'))}(?!\w)", f"{shown} {plain}"):
            return len(read(said, "en").denials) == len(read(plain, "en").denials)
    return said == folded(" ".join(map(_as_it_reads, quoted)))


def _as_it_reads(quoted: tuple[Chunk, int, int]) -> str:
    chunk, start, end = quoted
    same = (one for one in statements(chunk.preface, chunk.text) if (one.start, one.end) == (start, end))
    return next((one.readable for one in same), "")
