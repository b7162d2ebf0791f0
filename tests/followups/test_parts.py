"""Two questions in one are told apart, and one question is left whole."""

from __future__ import annotations

import pytest

from bythebook.followups.parts import parts
from bythebook.retrieval.query import MAX_TEXT


@pytest.mark.parametrize(
    ("asked", "told_apart"),
    [
        ("What is a topic, and what is a node?", ("What is a topic?", "What is a node?")),
        ("what is a topic and what is a node", ("What is a topic?", "What is a node?")),
        ("What is a topic? What is a node?", ("What is a topic?", "What is a node?")),
        ("What is a node?What is a topic?", ("What is a node?", "What is a topic?")),
        ("Is a topic a channel, and what's a node?", ("Is a topic a channel?", "What's a node?")),
        ("What is a topic? And how does it differ from a service?",
         ("What is a topic?", "How does the topic differ from a service?")),
        ("What is a topic and how does it work?", ("What is a topic?", "How does the topic work?")),
        ("What is a costmap and who invented it?", ("What is a costmap?", "Who invented the costmap?")),
        ("How far does the lidar see; how many points does the camera give?",
         ("How far does the lidar see?", "How many points does the camera give?")),
        ("Who owns a parameter, in which file is it declared, and what happens when a node dies?",
         ("Who owns a parameter, in which file is it declared?", "What happens when a node dies?")),
        ("We run ROS 2 on two robots. What is a topic, and what is a node?",
         ("We run ROS 2 on two robots. What is a topic?", "We run ROS 2 on two robots. What is a node?")),
    ],
)  # fmt: skip
def test_each_question_can_be_understood_alone(asked: str, told_apart: tuple[str, ...]) -> None:
    assert parts(asked, "en") == told_apart


@pytest.mark.parametrize(
    "asked",
    [
        "What is a topic, and why?",
        "What is a topic, which is what nodes publish to?",
        "When and where was the tower built?",
        "What is the difference between a topic and a service?",
        "How do I know when to use a topic and when to use a service?",
        "Should I use a topic or should I use a service?",
        "How much memory does it take in bf16, and how much in 4-bit?",
        "Who publishes map to odom and who odom to base_link?",
        "I use Jazzy. What is a topic? Thanks!",
        "What is a topic? Really?",
        "If a node dies, what happens to its topics?",
        "?",
        "? ?",
        "  ",
    ],
)
def test_one_question_is_left_as_it_is(asked: str) -> None:
    assert parts(asked, "en") == (asked,)


def test_other_languages_are_told_apart_by_their_marks_alone() -> None:
    assert parts("Was ist ein Thema? Was ist ein Knoten?", "de") == ("Was ist ein Thema?", "Was ist ein Knoten?")
    assert parts("什么是主题？什么是节点？", "zh") == ("什么是主题？", "什么是节点？")
    assert parts("Was ist ein Thema, und was ist ein Knoten?", "de") == ("Was ist ein Thema, und was ist ein Knoten?",)


def test_no_part_is_longer_than_a_search_takes() -> None:
    long = f"{'The robot walks. ' * 55}What is a topic, and what is a node?"
    assert all(len(part) <= MAX_TEXT for part in parts(long, "en"))
    assert len(parts("What is a wheel? " * 58, "en")) == 58
