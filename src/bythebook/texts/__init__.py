"""A book's language → the words that its readers are told in it, one file for each language.

May import `errors` and below.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "de", "es", "fr", "pt", "ur", "zh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What a reader is told besides the book's own words. The first three are document A's refusals."""

    language: str
    no_context: str
    low_score: str
    off_topic: str
    """The refusal of a question about another subject, with {title} for the book's title."""
    no_confidence: str
    """How a refusal begins although passages were relevant."""
    declined: str
    unsupported: str
    outside_filters: str
    searched: str
    searched_nearest: str
    """The same, followed by the nearest sections."""
    searched_several: str
    """Where {count} books were searched, and {title} is the one that refuses."""
    disclaimer: str
    part_missing: str
    """Where one of several {questions} asked at once is not answered."""
    part_left: str
    """The same, where it was not looked up, or found no room."""
    headlines: dict[str, str]
    """Each reason to refuse in a few words."""
    sources: str
    nearest: str
    look_here: str


@cache
def texts(language: str) -> Texts:
    """The texts in the language of this code, or else in English."""
    code = language.strip().lower().replace("_", "-").partition("-")[0]
    known = _read(code if code in LANGUAGES else "en")
    return Texts(**known["answers"], language=code if code in LANGUAGES else "en")


@cache
def page_words(language: str) -> dict[str, str]:
    """The page's English words, each with its translation."""
    words: dict[str, str] = _read(language)["page"]
    return words


def all_texts() -> tuple[Texts, ...]:
    return tuple(texts(language) for language in LANGUAGES)


def _read(language: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files(__name__) / f"{language}.json").read_text("utf-8"))
    return found
