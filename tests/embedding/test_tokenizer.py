"""The tokenizer makes the tokens that the library `tokenizers` makes of the same definition."""

from __future__ import annotations

import json
import time
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bythebook.embedding import tokenizer as own
from bythebook.embedding.granite import find_pack, read_pack
from bythebook.embedding.tokenizer import CHARACTERS, Tokenizer, open_tokenizer

TOKENS = json.loads(Path(__file__).with_name("tokens.json").read_bytes())
"""Made by the library, with `python -m scripts.build_tokenizer_tables`."""
PIECES = [
    " ",
    "  ",
    "\n",
    "\t",
    "\u00a0",
    "\u3000",
    "\x85",
    "'",
    "'s",
    "'LL",
    "’",
    "1",
    "²",
    "Ⅷ",
    "一",
    "٣",
    "é",
    "e\u0301",
    "字",
    "ß",
]
PIECES += [
    "😀",
    "\U0001f1eb",
    "𝒙",
    "𝟙",
    "\u200d",
    "\ufeff",
    "a",
    "aa",
    "Th",
    "the",
    "ing",
    "_",
    "-",
    "--",
    "==",
    "/",
    "\\",
    "Ġ",
    "<s>",
    "\x00",
]
KNOWN = st.characters(exclude_categories=["Cs", "Cn"])
"""Without what has no meaning yet: another version of the library may know one."""


@pytest.fixture(scope="module")
def definition() -> bytes:
    return read_pack(find_pack()).tokenizer


@pytest.fixture(scope="module")
def tokenizer(definition: bytes) -> Tokenizer:
    return open_tokenizer(definition)


@pytest.fixture(scope="module")
def library(definition: bytes) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer.from_buffer(definition)
    library.encode_special_tokens = True
    return library


@pytest.mark.parametrize(("text", "ids"), TOKENS, ids=[ascii(text[:20]) for text, _ids in TOKENS])
def test_tokens_are_those_of_the_library(tokenizer: Tokenizer, text: str, ids: list[int]) -> None:
    assert tokenizer.tokens(text) == ids
    assert tokenizer.tokens(text) == ids, "a remembered piece is the same"


@settings(max_examples=300)
@given(st.one_of(st.text(KNOWN), st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.text("ab '\n-é1", max_size=80)))
@example("x" * 3 + " \n " * 5)
def test_any_text_has_the_library_s_tokens(tokenizer: Tokenizer, library: tokenizers.Tokenizer, text: str) -> None:
    assert tokenizer.tokens(text) == library.encode(text, add_special_tokens=False).ids


def test_every_word_of_the_vocabulary_is_what_joining_makes_of_it(definition: bytes, tokenizer: Tokenizer) -> None:
    """So it may be looked up. The others are special, and their signs and letters are pieces of their own."""
    vocabulary = json.loads(definition)["model"]["vocab"]
    spelt = {letter: bytes([byte]) for byte, letter in ((byte, chr(letter)) for byte, letter in own.LETTERS.items())}
    special = {word for word in vocabulary if tokenizer._joined(word) != [vocabulary[word]]}
    assert special == {
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "<mask>",
        "<|endoftext|>",
        *(f"madeupword000{digit}" for digit in range(3)),
    }
    assert all(vocabulary[word] not in tokenizer.tokens(word) for word in special)
    assert set("".join(vocabulary)) == {*spelt}


def test_letters_numbers_and_spaces_are_unicode_s(tokenizer: Tokenizer) -> None:
    kinds = json.loads(CHARACTERS.read_bytes())
    known = {code: kind for kind, stretches in kinds.items() for first, last in stretches for code in range(first, last + 1)}
    unicode = {"L": "letters", "N": "numbers", "Z": "spaces"}
    wrong = [
        hex(code)
        for code in range(0x110000)
        if (category := unicodedata.category(chr(code))) != "Cn" and known.get(code) != unicode.get(category[0])
    ]
    assert wrong == [hex(ord(control)) for control in "\t\n\v\f\r\x85"], "they are spaces, too, and Unicode has them as controls"


def test_a_lone_surrogate_is_a_question_mark(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens("half a pair \ud83e, \udc00\ud800x") == tokenizer.tokens("half a pair ?, ??x")


@pytest.mark.parametrize("text", ["a", "ab", "abcdefghijklmnopqrstuvwxyz", "-", " ", "é", "字", "😀", "'s", "\n "])
def test_a_long_text_without_a_word_takes_time_by_its_length(tokenizer: Tokenizer, text: str) -> None:
    def seconds(characters: int) -> float:
        started = time.process_time()
        tokenizer.tokens(text * (characters // len(text)))
        return time.process_time() - started

    seconds(1_000)
    # Ten times the length; a hundred times the time would be its square.
    assert seconds(100_000) < 30 * max(min(seconds(10_000) for _ in range(3)), 0.002)


def test_what_is_remembered_stays_small(definition: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "REMEMBERED", 10)
    tokenizer = Tokenizer(definition)
    for number in range(100):
        assert tokenizer.tokens(f" {number} {'long' * 20}") == open_tokenizer(definition).tokens(f" {number} {'long' * 20}")
        assert len(tokenizer._remembered) <= 10
    assert max(map(len, tokenizer._remembered)) <= own.REMEMBERED_CHARACTERS
