"""The characters of a page, or of a part of a book's file: its encoding, and its declaration of types, which no book needs."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from bythebook.errors import InvalidBook

CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
LATIN_1 = frozenset({"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"})
"""Names that on the web mean Windows' code page, which has more characters."""
WINDOWS = "windows-1252"
BEGINNINGS = (
    (b"\xef\xbb\xbf", 3, "utf-8"),
    (b"\xff\xfe", 2, "utf-16-le"),
    (b"\xfe\xff", 2, "utf-16-be"),
    (b"<\x00", 0, "utf-16-le"),
    (b"\x00<", 0, "utf-16-be"),
)
"""First bytes that tell the encoding, and how many of them are no text."""
STRAY = re.compile("[\udc80-\udcff]+")
BEYOND_ASCII = re.compile("[\x80-\ud7ff\ue000-\U0010ffff]")
CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
MOST_CONTROLS = 0.01
"""From this share of control characters on, a file is not text: a page has none, a picture one in ten."""
DOCTYPE = re.compile(r"<!DOCTYPE", re.IGNORECASE)
TYPES = re.compile(r"[^\[>]*+(?:\[[^\]]*+(?:\](?!\s*>)[^\]]*+)*+\]\s*+)?>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedText:
    """A text, and what had to be guessed about its encoding, in words; "" where nothing had to be."""

    text: str
    guess: str = ""


def decoded(raw: bytes) -> str:
    return decode(raw).text


def decode(raw: bytes) -> DecodedText:
    """UTF-8 where it is that, whatever the page declares, because many declare something else; then the declared encoding, then
    Windows'. Raises InvalidBook for what is not text in any of them."""
    for mark, length, encoding in BEGINNINGS:
        if raw.startswith(mark):
            return _text(raw[length:].decode(encoding, "replace"))
    with suppress(UnicodeDecodeError):
        return _text(raw.decode("utf-8"))
    with_strays = raw.decode("utf-8", "surrogateescape")
    if len(STRAY.findall(with_strays)) < len(BEYOND_ASCII.findall(with_strays)):
        text = STRAY.sub(lambda stray: stray[0].encode("utf-8", "surrogateescape").decode(WINDOWS, "replace"), with_strays)
        return _text(text, "some of it is not UTF-8 as the rest is")
    said = CHARSET.search(raw, 0, 4096)
    named = said[1].decode("ascii", "replace").lower() if said else ""
    try:
        return _text(raw.decode(WINDOWS if named in LATIN_1 else named or "utf-8"))
    except (UnicodeDecodeError, LookupError):
        wrong = f"it is not in the encoding that it names, {named}" if named else "it does not name its encoding"
        return _text(raw.decode(WINDOWS, "replace"), wrong)


def _text(text: str, guess: str = "") -> DecodedText:
    if (guess or "\x00" in text) and len(CONTROL.findall(text)) > MOST_CONTROLS * len(text):
        raise InvalidBook("it is not text; save it again, or take it out of the book")
    return DecodedText(text=text.replace("\x00", ""), guess=f"{guess}, and was read as {WINDOWS}" if guess else "")


def without_types(text: str) -> str:
    """The text without its first declaration of types. Only the first is looked at: a file full of their beginnings would
    otherwise be searched to its end from each."""
    found = DOCTYPE.search(text)
    ended = TYPES.match(text, found.end()) if found else None
    return text[: found.start()] + text[ended.end() :] if found and ended else text
