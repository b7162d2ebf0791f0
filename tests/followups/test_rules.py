"""Follow-ups made standalone offline."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.cli.demo import sample_book
from bythebook.drafting.draft import Exchange
from bythebook.followups.rules import LONGEST, OPENING_CHARACTERS, may_lean, said_before, standalone
from bythebook.index.lexical import words

TIDES = (
    Exchange(
        question="What is a spring tide?",
        answer="It is the tide at new and full moon, when the pull of the sun adds to that of the moon.",
        sources=("Tides > Spring tides", "Sailing and its dangers", "Moon"),
    ),
)
STYLES = (
    Exchange(question="Which sails does a sloop carry?", answer="A sloop carries a mainsail and a jib."),
    Exchange(question="And a ketch?", answer="A ketch carries a mizzen as well."),
)


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ("Is it dangerous?", "Is the spring tide dangerous?"),
        ("How often does that happen?", "How often does the spring tide happen?"),
        ("What is its height?", "What is the spring tide's height?"),
        ("Who discovered it?", "Who discovered the spring tide?"),
        ("Isn't that a danger for harbours?", "Isn't the spring tide a danger for harbours?"),
        ("Which word does the almanac use for it?", "Which word does the almanac use for the spring tide?"),
        ("Explain that again", "Explain the spring tide again"),
        ("how is it different from a neap tide?", "How is the spring tide different from a neap tide?"),
        ("And how does a neap tide differ from that?", "How does a neap tide differ from the spring tide?"),
        ("What are the consequences?", "What are the consequences of the spring tide?"),
        ("Give me an example.", "Give me an example of the spring tide"),
        ("Tell me more", "Tell me more about the spring tide"),
        ("What about harbours?", "What about harbours (spring tide)?"),
        ("And with strong wind?", "With strong wind (spring tide)?"),
        ("Can you draw an example with numbers?", "Can you draw an example with numbers (spring tide)?"),
    ],
)
def test_the_subject_of_the_thread_is_put_in(asked: str, made: str) -> None:
    assert standalone(asked, TIDES, "en").startswith(made)


@pytest.mark.parametrize(
    "asked", ["Why?", "how?", "And?", "Really?", "Why not?", "I don't understand.", "simpler please", "more"]
)
def test_a_question_without_content_gets_the_subject_and_what_the_answer_said(asked: str) -> None:
    made = standalone(asked, TIDES, "en")
    assert "spring tide" in made
    assert "moon" in made


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ("Tell me more about the second source", 'Tell me more about "Sailing and its dangers"'),
        ("What does source 3 say?", 'What does "Moon" say?'),
        ("And [1]?", '"Tides > Spring tides"'),
        ("What does the second source say about it?", 'What does "Sailing and its dangers" say about the spring tide?'),
        ("What does [7] say?", "What does [7] say?"),
        ("What is in cells[2] of a table?", "What is in cells[2] of a table?"),
    ],
)
def test_a_source_is_called_by_its_section(asked: str, made: str) -> None:
    assert standalone(asked, TIDES, "en").startswith(made)


def test_a_source_is_one_of_the_last_answer_that_had_any() -> None:
    thread = (*TIDES, Exchange(question="What is a keel?", answer="", sources=("Keels",)), Exchange(question="Why?", answer=""))
    assert standalone("What does the first source say?", thread, "en") == 'What does "Keels" say?'
    assert standalone("What does the second source say?", thread, "en") == "What does the second source say?"


@pytest.mark.parametrize("asked", ["How is that different from the first one?", "Which of the two is faster?", "And the latter?"])
def test_a_choice_is_offered_all_that_was_spoken_of(asked: str) -> None:
    made = standalone(asked, STYLES, "en")
    assert "ketch" in made
    assert "sloop" in made


def test_the_subject_is_carried_through_follow_ups() -> None:
    thread = (
        *TIDES,
        Exchange(question="How high is it?", answer="Up to sixteen metres in some bays."),
        Exchange(question="And when does it come?", answer="Twice a month."),
        Exchange(question="Is it predictable?", answer="Yes, for years ahead."),
    )
    assert "spring tide" in standalone("Who measures it?", thread, "en")


def test_a_new_question_changes_the_subject() -> None:
    thread = (*TIDES, Exchange(question="What is a bowline?", answer="A knot that makes a loop at the end of a rope."))
    made = standalone("Is it strong?", thread, "en")
    assert made.startswith("Is the bowline strong")


def test_a_person_is_the_one_who_has_a_name() -> None:
    thread = (Exchange(question="Which chart did Maria Rossi draw?", answer="A chart of the northern coast."),)
    assert standalone("When was she born?", thread, "en").startswith("When was Maria Rossi born")


def test_what_would_not_be_english_stands_in_brackets() -> None:
    thread = (Exchange(question="What are tidal currents?", answer="They are streams of water that turn with the tide."),)
    assert standalone("Is it dangerous?", thread, "en") == "Is it dangerous (tidal currents)?"
    assert standalone("Are they dangerous?", thread, "en") == "Are tidal currents dangerous?"


@pytest.mark.parametrize(
    "asked",
    [
        "What is a bowline?",
        "what is the tide table that harbours publish?",
        "Is it possible to sail against the wind?",
        "How long does it take to cross the bay?",
        "What does it mean when a flag is at half-mast?",
        "What is an anchor and how does it hold?",
        "My boat has two masts and they creak. How can I keep them quiet?",
        "Why do sailors say that the wind backs?",
        "Does this book cover knots?",
        "Is it OK to sail without a jib?",
        "How did Grace Darling get her boat to the wreck?",
        "When is it worth taking a reef?",
        "Can a sloop, a ketch and a yawl each be rowed? Compare them.",
        "Are there tides in lakes?",
        "Which is one of the three main knots?",
        "What is the difference between a sloop and a ketch?",
        "What is an example of a square sail?",
        "  Which   knot is best? ",
    ],
)
def test_a_question_that_stands_alone_comes_back_as_it_was(asked: str) -> None:
    assert standalone(asked, TIDES, "en") == asked


def test_without_a_thread_nothing_changes() -> None:
    assert standalone("Why is it so?", (), "en") == "Why is it so?"
    assert standalone("Why is it so?", (Exchange(question="", answer=""),), "en") == "Why is it so?"


def test_the_sample_book_s_own_questions() -> None:
    """Every follow-up is changed but one that rules cannot tell, and no other question is, whatever was asked before it, but
    two that call the robot "it" without having named it."""
    robot = ("What should it do when I ask it to pour something", "how do i make it understand commands in spanish")
    subtle = "Which effects are typically left out of the model?"
    rows = [json.loads(line) for line in (sample_book() / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    alone = [row["question"] for row in rows if not row["history"]]
    for before, asked in pairwise(alone):
        assert standalone(asked, [Exchange(question=before, answer="")], "en") == asked or asked.startswith(robot)
    for row in rows:
        texts = [message["content"] for message in row["history"]]
        thread = [Exchange(question=one, answer=other) for one, other in zip(texts[::2], texts[1::2], strict=True)]
        assert not thread or standalone(row["question"], thread, "en") != row["question"] or row["question"] == subtle


def test_other_languages_are_left_alone_but_for_labels_and_single_words() -> None:
    thread = (Exchange(question="Was ist eine Springflut?", answer="Eine hohe Flut.", sources=("Gezeiten",)),)
    assert standalone("Ist it gut?", thread, "de") == "Ist it gut?"
    assert standalone("Warum ist sie so hoch?", thread, "de") == "Warum ist sie so hoch?"
    assert standalone("Warum?", thread, "de") == "Was ist eine Springflut? Warum?"
    assert standalone("Was steht in [1]?", thread, "de") == 'Was steht in "Gezeiten"?'
    assert standalone("潮汐是什么?", thread, "zh") == "潮汐是什么?"


TEXT = st.text(alphabet="abc itTheywhy?.,[]12 \n\u0000é潮\"'’-", max_size=400)


@given(TEXT, st.lists(st.builds(Exchange, question=TEXT, answer=TEXT, sources=st.tuples(TEXT)), max_size=4))
def test_a_rewrite_is_short_and_made_of_words_that_were_there(asked: str, thread: list[Exchange]) -> None:
    made = standalone(asked, thread, "en")
    if made != asked:
        there = " ".join([asked, "about of the", *(f"{one.question} {one.answer} {' '.join(one.sources)}" for one in thread)])
        assert len(made) <= LONGEST
        assert {stem for _, _, stem in words(made, "de")} <= {stem for _, _, stem in words(there, "de")} | {"s"}


@pytest.mark.parametrize(
    "asked",
    [
        "How does a sailor find it?",
        "Can two boats share it?",
        "How do I correctly predict it?",
        "What does a harbour do with it?",
    ],
)
def test_an_object_is_never_its_own_subject(asked: str) -> None:
    """Only the one who acts stands before the pronoun, so it means something said before."""
    assert "spring tide" in standalone(asked, TIDES, "en")


@pytest.mark.parametrize(
    "asked",
    ["How do I take a reef and shake it out?", "How does a boat know where it is?", "Can I tie a knot before I cut it?"],
)
def test_a_pronoun_whose_noun_stands_before_it_is_left_alone(asked: str) -> None:
    assert standalone(asked, TIDES, "en") == asked


@pytest.mark.parametrize(
    ("asked", "language", "leaning"),
    [
        ("Is it dangerous?", "en", True),
        ("What does the second source say?", "en-GB", True),
        ("What is a bowline?", "en", False),
        ("Was ist ein Anker?", "de", True),
        (" ", "de", False),
    ],
)
def test_whether_a_model_is_worth_asking(asked: str, language: str, leaning: bool) -> None:
    """Of a language that the rules do not know, every question but the first may lean on the thread."""
    assert may_lean(asked, TIDES, language) is leaning
    assert not may_lean(asked, (), language)


REFUSED = "I don't have information about that in the book content. The book was searched (209 chunks)."


def test_the_words_of_a_refusal_are_nobodys_subject() -> None:
    history = [Exchange(question="What is quantum chromodynamics?", answer=REFUSED, refused=True)]
    assert standalone("Tell me more.", history, "en") == "What is quantum chromodynamics?"
    made = standalone("And how is it taught?", history, "en")
    assert "quantum chromodynamics" in made
    for word in ("information", "searched", "chunks", "content"):
        assert word not in made


@pytest.mark.parametrize("said", ["thanks", "Thank you very much!", "ok, thanks", "Great!", "hello", "Good bye."])
def test_small_talk_is_not_about_the_subject(said: str) -> None:
    history = [Exchange(question="What is a node?", answer="A node is a named participant in a ROS 2 system.")]
    assert standalone(said, history, "en") == said


def test_a_small_word_with_an_article_is_a_subject_of_its_own() -> None:
    before = Exchange(question="What is a factor?", answer="A factor is a vector that sorts others into classes.")
    assert standalone("What is a list?", [before], "en") == "What is a list?"
    after = Exchange(question="What is a list?", answer="A list is an ordered collection of objects.")
    assert standalone("Can it be empty?", [before, after], "en").startswith("Can list be empty")


def test_a_follow_up_is_searched_for_with_the_question_before_it_and_how_its_answer_begins() -> None:
    asked, answer = "How do I empty the reservoir?", "It has a tap [1] at its foot. [2]"
    before = Exchange(question=asked, answer=f"{answer} {'Oil is heavy. ' * 100}")
    searched = said_before("And where is that?", [before], "en")
    assert searched.startswith(f"{asked} It has a tap at its foot. Oil is heavy.")
    assert len(searched) <= len(asked) + 1 + OPENING_CHARACTERS
    assert said_before("And where is that?", [replace(before, refused=True)], "en") == asked
    assert said_before("Who may climb the tower at night without a lamp?", [before], "en") == ""
