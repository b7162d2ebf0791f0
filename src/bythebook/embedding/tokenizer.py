"""The embedded model's tokenizer: byte-level byte-pair encoding, as GPT-2 and RoBERTa have it, from the model's own definition.

A text is cut into pieces (a word with the space before it, a number, signs, spaces), each piece into bytes, each byte is written
as one letter, and neighbours are joined in the order in which the model learnt to. Special tokens in a text are plain text, and
nothing is normalised. The tokens are those of the library `tokenizers` for the same definition (tests/embedding/tokens.json).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from heapq import heapify, heappop, heappush
from pathlib import Path

CHARACTERS = Path(__file__).with_name("characters.json")
"""First and last of each stretch of letters, numbers and spaces in Unicode 16, as the library has it. Python's own tables change
with its version, and a text's vector must not."""
PLANE_0 = 0xFFFF
BEYOND_PLANE_0 = re.compile("[\U00010000-\U0010ffff]")
REMEMBERED = 100_000
REMEMBERED_CHARACTERS = 50
SEEN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
LETTERS = dict(zip([*SEEN, *sorted({*range(0x100)} - {*SEEN})], [*SEEN, *range(0x100, 0x200)], strict=False))
"""The letter that stands for each byte: its own character where that can be seen."""


class Tokenizer:
    """May be used by many threads at once."""

    def __init__(self, definition: bytes) -> None:
        """`definition` is the JSON that such models are shipped with."""
        model = json.loads(definition)["model"]
        self._vocabulary: dict[str, int] = model["vocab"]
        self._ranks = {pair: rank for rank, pair in enumerate(model["merges"])}
        self._remembered: dict[str, list[int]] = {}

    def tokens(self, text: str) -> list[int]:
        """Returns the ids of the text's tokens, without its start and end. A lone surrogate, which has no UTF-8, is a "?"."""
        found: list[int] = []
        # The whole pattern takes seven times as long, and few texts need it.
        pieces = _pattern(0x10FFFF if BEYOND_PLANE_0.search(text) else PLANE_0).findall(text)
        for piece in pieces:
            found += self._remembered.get(piece) or self._piece(piece)
        return found

    def _piece(self, piece: str) -> list[int]:
        word = piece.encode("utf-8", "replace").decode("latin-1").translate(LETTERS)
        # Every word of the vocabulary that can be a piece is what the joining would make of it.
        tokens = [self._vocabulary[word]] if word in self._vocabulary else self._joined(word)
        if len(piece) <= REMEMBERED_CHARACTERS:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[piece] = tokens
        return tokens

    def _joined(self, word: str) -> list[int]:
        """Joins the pair learnt first, the leftmost of equal ones, until no two neighbours are a pair."""
        parts, end = [*word], len(word)
        after, before = [*range(1, end + 1)], [*range(-1, end - 1)]

        def rank(left: int) -> int | None:
            return self._ranks.get(f"{parts[left]} {parts[after[left]]}") if after[left] < end else None

        pairs = [(found, left) for left in range(end) if (found := rank(left)) is not None]
        heapify(pairs)
        while pairs:
            learnt, left = heappop(pairs)
            if not parts[left] or rank(left) != learnt:
                continue  # one of the two was joined with another meanwhile
            right = after[left]
            parts[left], parts[right] = parts[left] + parts[right], ""
            after[left] = after[right]
            if after[left] < end:
                before[after[left]] = left
            for changed in (before[left], left):
                if changed >= 0 and (found := rank(changed)) is not None:
                    heappush(pairs, (found, changed))
        return [self._vocabulary[part] for part in parts if part]


@lru_cache(maxsize=1)
def open_tokenizer(definition: bytes) -> Tokenizer:
    """The embedder and the reader share one."""
    return Tokenizer(definition)


@lru_cache
def _pattern(last: int) -> re.Pattern[str]:
    """Cuts texts whose characters go up to `last`."""
    classes: dict[str, list[tuple[int, int]]] = json.loads(CHARACTERS.read_bytes())
    letters, numbers, spaces = (
        "".join(f"{chr(first)}-{chr(end)}" for first, end in classes[kind] if first <= last)
        for kind in ("letters", "numbers", "spaces")
    )
    return re.compile(
        rf"'(?:[stmd]|re|ve|ll)| ?[{letters}]+| ?[{numbers}]+| ?[^{spaces}{letters}{numbers}]+"
        rf"|[{spaces}]+(?![^{spaces}])|[{spaces}]+"
    )
