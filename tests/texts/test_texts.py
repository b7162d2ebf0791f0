"""What readers are told in the book's own language."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from bythebook.texts import LANGUAGES, page_words, texts

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
    assert words.keys() == page_words("de").keys()
    assert all(translated and translated.count("{}") == word.count("{}") for word, translated in words.items())


@pytest.mark.parametrize(
    ("code", "language"), [("de-AT", "de"), ("PT_BR", "pt"), ("zh-Hans", "zh"), ("en-GB", "en"), ("tlh", "en"), ("", "en")]
)
def test_a_language_that_is_not_known_is_told_in_english(code: str, language: str) -> None:
    assert texts(code).language == language
