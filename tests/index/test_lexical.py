"""What counts as a word, which words are one term, and what a term weighs."""

from __future__ import annotations

import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.index.lexical import AVERAGE_WORDS, K1, B, Terms, document_terms, query_terms, words

NOTHING = Terms(ids=(), weights=())


def stems(text: str, language: str = "en") -> list[str]:
    return [stem for _, _, stem in words(text, language)]


def meet(question: str, text: str, language: str = "en") -> bool:
    """Whether a question finds a text at all."""
    return bool(set(query_terms(question, language).ids) & set(document_terms(text, language).ids))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Walking robots walk.", ["walk", "robot", "walk"]),
        ("create_publisher", ["create_publisher", "creat", "publish"]),
        ("TwistStamped", ["twiststamp", "twist", "stamp"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("ros2_control", ["ros2_control", "ros", "2", "control"]),
        ("/cmd_vel", ["cmd_vel", "cmd", "vel"]),
        ("__init__", ["__init__", "init"]),
        ("C++ or C#", ["c++", "c#"]),
        ("Python 3.5, v1.2.3", ["python", "3.5", "1.2.3"]),
        ("GPUs", ["gpu"]),
        ("the robot's arm, don’t", ["robot", "arm", "don't"]),
        ("_____ *** ---", []),
        ("ＲＯＳ ﬁne", ["ros", "fine"]),
        ("cafe\u0301", ["café"]),
        ("real-time", ["real", "realtim", "time"]),
        ("Wi-Fi", ["wi", "wifi", "fi"]),
    ],
)
def test_words_and_identifiers(text: str, expected: list[str]) -> None:
    assert stems(text) == expected


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("How do publishers work?", "create_publisher(String, 'chatter', 10)", "en"),
        ("ROS 2", "Install ros2 first.", "en"),
        ("twist stamped message", "TwistStamped", "en"),
        ("cmd_vel", "publishes on /cmd_vel", "en"),
        ("CREATE_PUBLISHER", "create_publisher", "en"),
        ("Häuser", "Das Haus", "de"),
        ("l'arbre", "Un arbre", "fr"),
        ("роботами", "робот идёт", "ru"),
        ("किताबें", "किताबों", "hi"),
        ("歩くロボット", "ロボットは歩く。", "ja"),
        ("猫", "黒猫です", "ja"),
        ("로봇", "로봇은 걷는다", "ko"),
        ("robots", "robots", "xx"),
    ],
)
def test_what_belongs_together_meets(question: str, text: str, language: str) -> None:
    assert meet(question, text, language)


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("C++", "the letter C", "en"),
        ("robots", "robot", "xx"),
        ("hip", "a knee", "en"),
        ("what is it", "", "en"),
        ("犬", "黒猫です", "ja"),
    ],
)
def test_what_does_not_belong_together_does_not_meet(question: str, text: str, language: str) -> None:
    assert not meet(question, text, language)


def test_stop_words_count_only_when_there_is_nothing_else() -> None:
    assert stems("What is the hip?") == ["hip"]
    assert stems("What is it?") == ["what", "is", "it"]
    assert meet("What is it?", "It is what it is.")
    assert query_terms("What is the hip?", "en") == query_terms("hip", "en")


@pytest.mark.parametrize("text", ["", " \n", "*** – …", "\u200d", "🤖"])
def test_no_words_give_no_terms(text: str) -> None:
    assert query_terms(text, "en") == document_terms(text, "en") == NOTHING


def test_a_question_weighs_each_word_once() -> None:
    assert query_terms("hip hip knee", "en").weights == (1.0, 1.0)


def test_a_document_weighs_by_saturation_and_length() -> None:
    def weight(text: str) -> float:
        terms = document_terms(text, "en")
        return terms.weights[terms.ids.index(query_terms("hip", "en").ids[0])]

    assert weight("hip") == pytest.approx((K1 + 1) / (1 + K1 * (1 - B + B * 1 / AVERAGE_WORDS)), rel=1e-6)
    assert weight("hip hip") > weight("hip")
    assert weight("hip hip hip") - weight("hip hip") < weight("hip hip") - weight("hip")
    assert weight("hip " + "knee " * 100) < weight("hip " + "knee " * 10)
    assert weight("hip " * 1000) < K1 + 1


def test_ids_are_the_same_everywhere_and_always() -> None:
    """They are stored: a change here needs a new LEXICAL_VERSION."""
    expected = {
        "hip": 1572856408,
        "create_publisher": 3183634270,
        "creat": 3155457183,
        "publish": 3096759361,
        "関節": 1361513972,
    }
    assert query_terms("hip create_publisher 関節", "en").ids == tuple(sorted(expected.values()))


def test_languages_are_known_by_their_codes() -> None:
    assert stems("walking", "en-GB") == stems("walking", "EN_us") == stems("walking", "en") == ["walk"]
    assert stems("walking", "") == ["walking"]


def test_places_of_words() -> None:
    text = "Das `create_publisher` hüpft"
    assert [text[start:end] for start, end, _ in words(text, "de")] == [
        "Das",
        "create_publisher",
        "create",
        "publisher",
        "hüpft",
    ]


def test_threads_do_not_disturb_each_other() -> None:
    text = " ".join(f"walking{chr(97 + number % 26)}s runners' {number}" for number in range(2000))
    expected = document_terms(text, "en")
    results: list[Terms] = []
    threads = [threading.Thread(target=lambda: results.append(document_terms(text, "en"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


@given(st.text(), st.sampled_from(["en", "de", "ja", "fr", "hi", "xx", ""]))
def test_any_text_gives_ordered_terms_that_engines_can_store(text: str, language: str) -> None:
    for terms in (document_terms(text, language), query_terms(text, language)):
        assert list(terms.ids) == sorted(set(terms.ids))
        assert all(0 <= term < 2**32 for term in terms.ids)
        assert len(terms.ids) == len(terms.weights)
        assert all(weight > 0 and struct.unpack("f", struct.pack("f", weight))[0] == weight for weight in terms.weights)
    assert set(query_terms(text, language).ids) <= set(document_terms(text, language).ids)


@given(st.text(), st.sampled_from(["en", "ja", "fr", "hi"]))
def test_places_lie_in_the_text_and_stand_for_their_stems(text: str, language: str) -> None:
    for start, end, stem in words(text, language):
        assert 0 <= start < end <= len(text)
        assert stem
