"""What readers are told in the book's own language."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from bythebook.texts import LANGUAGES, page_words, texts
from tests.support.shown_words import loose_templates, shown_words

ENGLISH = asdict(texts("en"))


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_has_every_text_and_every_word_of_the_page(language: str) -> None:
    said = asdict(texts(language))
    assert said["headlines"].keys() == ENGLISH["headlines"].keys()
    for name, text in said.items():
        assert text
        assert text != ENGLISH[name] or name == "sources"
    assert "{title}" in said["off_topic"]
    words = page_words(language)
    assert words.keys() == page_words("en").keys()
    assert all(translated and translated.count("{}") == word.count("{}") for word, translated in words.items())


def test_every_word_that_the_page_shows_has_a_key_and_every_key_is_shown() -> None:
    shown = {text for _, text in shown_words()}
    known = page_words("en")
    assert {(file, text) for file, text in shown_words() if text not in known} == set()
    assert known.keys() - shown == set()
    assert all(key == text for key, text in known.items())


def test_no_words_stand_in_a_template_that_no_language_can_replace() -> None:
    """Words around a value are told by say`…`; what is left are titles, styles and a header."""
    left = {text for _, text in loose_templates() if ":host {" not in text}
    assert left == {"{} · By the Book", "Bearer {}"}


@pytest.mark.parametrize(
    ("code", "language"), [("de-AT", "de"), ("PT_BR", "pt"), ("zh-Hans", "zh"), ("en-GB", "en"), ("tlh", "en"), ("", "en")]
)
def test_a_language_that_is_not_known_is_told_in_english(code: str, language: str) -> None:
    assert texts(code).language == language
