from __future__ import annotations

import pytest

from bythebook.books.markdown import sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["One thing.", "Another thing!", "A third?", "Last"],
        ["See e.g. the arm, i.e. the limb, cf. Smith et al. (2020).", "Next."],
        ["Pairs match (eg. I and T), ie. Both are near.", "Next."],
        ["Fig. 2.1 shows Eq. (3) and Sec. 4.", "It is 3.5 m. long."],
        ["The U.S. Army paid Dr. Smith and J. R. Jones.", "Then it stopped."],
        ["The answer is no.", "Then it stopped."],
        ["It uses ROS 2.", "Gazebo runs it."],
        ['He said "Stop."', "Then he stopped."],
        ["Wait...", "What?!", "Yes."],
        ["Use `a.b` or a.py to run v1.2.", "**Bold starts.**", "_More._"],
        ["これは文です。", "次の文です。", "終わり"],
        ["هل هذا سؤال؟", "نعم."],
        ["यह एक वाक्य है।", "दूसरा।"],
    ],
)
def test_prose(parts: list[str]) -> None:
    assert split(" ".join(parts)) == parts


def test_a_paragraph_runs_over_its_line_breaks() -> None:
    assert split("The arm\nmoves to\nits goal. It\r\nstops.") == ["The arm\nmoves to\nits goal.", "It\r\nstops."]


def test_lines_of_prose_that_end_with_a_comma_are_no_lines_of_code() -> None:
    prose = "Whenever the lamp meets a fog that was not seen before,\nit is lit by a second keeper,\nwho stays."
    assert split(prose) == [prose]
    assert split("pump(oil,\n  4),\nreturn lamp;") == ["pump(oil,", "4),", "return lamp;"]


def test_lines_that_stand_for_themselves() -> None:
    text = "# Title\nText here\n- one\n- two\n  goes on\n1. first\n| a | b |\n| 1 | 2 |\n\nLast"
    assert split(text) == [
        "# Title", "Text here", "- one", "- two\n  goes on", "1. first", "| a | b |", "| 1 | 2 |", "Last",
    ]  # fmt: skip


def test_lines_of_code_are_units() -> None:
    assert split("Before.\n```py\nx = 1. \ny = 2\n```\nAfter.") == [
        "Before.",
        "```py",
        "x = 1.",
        "y = 2",
        "```",
        "After.",
    ]
    assert split("int a = 1;\nint b = 2;\n") == ["int a = 1;", "int b = 2;"]


def test_nothing() -> None:
    assert sentences("") == sentences(" \n\t\n") == []
