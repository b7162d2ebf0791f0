"""How large a text is, in tokens, without a tokenizer: an estimate that errs upwards for prose, code, maths and any script.

Weights are whole tenths of a token, and cutting a text in two never makes the sum smaller, so sizes of parts can be added.
"""

from __future__ import annotations

import re
from functools import lru_cache

TENTHS = 10
SMALL = 100
"""Tokens below which a piece hardly stands alone."""
WORD = re.compile(r"\S+")
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]")
WORD_WEIGHT = 13
"""Document D counts 1.3 tokens a word; no word weighs less."""
NEWLINE_WEIGHT = 6
PLAIN_WORD = 7
"""Letters up to which an English word is one token."""
SCRIPTS = (
    (0x0250, 15),
    (0x0700, 12),
    (0x2000, 20),
    (0x3040, 18),
    (0x3100, 14),
    (0x10000, 27),
)
"""Tenths of tokens a letter takes below each code point. Byte-pair vocabularies are built from English: the further a script is
from it, the more tokens a letter takes."""
EMOJI_WEIGHT = 35


def size(text: str) -> int:
    """Returns the tokens of `text`, rounded up."""
    return -(-weight(text) // TENTHS)


def weight(text: str) -> int:
    """Returns the size of `text` in tenths of tokens. Indentation counts nothing, because what is embedded has none."""
    return sum(map(_word_weight, WORD.findall(text))) + NEWLINE_WEIGHT * text.count("\n")


@lru_cache(maxsize=65536)
def _word_weight(word: str) -> int:
    if len(word) <= PLAIN_WORD and word.isascii() and word.isalpha() and word[1:].islower():
        return WORD_WEIGHT
    per_letter = 3 if word.isascii() else 5
    return max(WORD_WEIGHT, sum(_part_weight(part, per_letter) for part in PART.findall(word)))


def _part_weight(part: str, per_letter: int) -> int:
    first = part[0]
    if not first.isascii():
        code = ord(first)
        return next((letter for below, letter in SCRIPTS if code < below), EMOJI_WEIGHT)
    if first.isalpha():
        return max(TENTHS, per_letter * len(part))
    return max(TENTHS, 5 * len(part)) if first.isdigit() else 8
