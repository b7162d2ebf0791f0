"""Questions made from a book, the same every time."""

from __future__ import annotations

from bythebook.ingestion.calibrator import (
    FOREIGN,
    KEPT,
    STOP,
    STRANGE,
    ProbeQuestion,
    choose,
    definitions,
    headings,
    restatements,
)

SENTENCES = [
    ("wicks.md", "A wick is a braid of cotton that lifts oil to the flame."),
    ("wicks.md", "The keeper trims the wick every four hours with scissors that catch the charred crumbs."),
    ("lenses.md", "Salt crystals scratch the polished glass unless somebody rinses them away first."),
    ("fog.md", "The fog signal is an explosive charge fired from a jib above the gallery."),
    ("fog.md", "Does the bell sound from the gallery while nobody watches the far buoy at night?"),
    ("fog.md", "Too short."),
]


def test_definitions_become_what_is_questions() -> None:
    made = list(definitions([*SENTENCES, ("other.md", "A wick is a thread of another kind.")]))
    assert [(one.text, one.lesson) for one in made] == [("What is wick?", "wicks.md"), ("What is fog signal?", "fog.md")]


def test_a_pronoun_is_no_term() -> None:
    assert list(definitions([("a.md", "This is the reason for it."), ("a.md", "There is a wick in it.")])) == []


def test_headings_of_one_lesson_become_questions_and_shared_ones_do_not() -> None:
    titles = [("a.md", "Trimming the wick"), ("b.md", "What you learned"), ("a.md", "What you learned"), ("a.md", "Oil")]
    assert [one.text for one in headings(titles)] == ["What does the book say about trimming the wick?"]


def test_restatements_keep_some_of_the_words_among_others() -> None:
    made = list(restatements(SENTENCES))
    assert {one.source for one in made} == {"statement"}
    own = {lesson: {word.strip(".,?").lower() for name, text in SENTENCES if name == lesson for word in text.split()}
           for lesson, _ in SENTENCES}  # fmt: skip
    for one in made:
        asked = {word.strip("?").lower() for word in one.text.split()} - STOP
        shared = asked & own[one.lesson]
        assert len(shared) >= 3
        assert asked - own[one.lesson], "a reader's own words are missing"
        assert one.estranged is not None
        assert {word.strip("?") for word in one.estranged.lower().split()} & set(STRANGE)
    assert not any("nobody watches" in one.text for one in made)  # a question is not made of a question
    assert 0 < KEPT < 1


def test_the_same_every_time() -> None:
    assert list(restatements(SENTENCES)) == list(restatements(SENTENCES))
    questions = [ProbeQuestion(text=f"What is {number}?", lesson="a.md", source="definition") for number in range(50)]
    assert choose(questions, 10) == choose(list(reversed(questions)), 10)
    assert len({one.text for one in choose(questions, 10)}) == 10
    assert choose(questions, 99) == choose(questions, 50)


def test_other_subjects_are_many_and_different() -> None:
    assert len(FOREIGN) == len(set(FOREIGN)) >= 40
    assert all(text.endswith("?") for text in FOREIGN)
