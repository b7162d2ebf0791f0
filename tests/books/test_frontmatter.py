from __future__ import annotations

import pytest

from bythebook.books.frontmatter import read_frontmatter


def test_values_stay_text() -> None:
    front = read_frontmatter("---\nmodule: 01\nchapter: 3\ndraft: false\ntags: [a, b]\n---\nBody")
    assert front.values == {"module": "01", "chapter": "3", "draft": "false", "tags": ["a", "b"]}
    assert front.lines["chapter"] == 3
    assert front.problem is None


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_body_starts_after_the_closing_line(newline: str) -> None:
    source = newline.join(["---", "title: T", "---", "", "Body"])
    front = read_frontmatter(source)
    assert source[front.body_start :] == f"{newline}Body"
    assert front.text("title") == "T"


def test_toml() -> None:
    front = read_frontmatter('+++\ntitle = "T"\nweight = 3\ndraft = true\n+++\nBody')
    assert front.values == {"title": "T", "weight": "3", "draft": "true"}


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ("title: a: b: c\nchapter: 2", 2),
        ("title: [\nchapter: 2", 4),
        ("chapter: 2\nx: @bad", 3),
        ("\tchapter: 2\n a: b", 2),
    ],
)
def test_what_is_not_yaml_is_read_line_by_line(block: str, line: int) -> None:
    front = read_frontmatter(f"---\n{block}\n---\nBody")
    assert front.text("chapter") == "2"
    assert front.problem is not None
    assert abs(front.problem[0] - line) <= 1


def test_broken_toml_is_read_line_by_line() -> None:
    front = read_frontmatter("+++\nchapter = 2\ntitle = x y\n+++\n")
    assert front.text("chapter") == "2"
    assert front.problem is not None


@pytest.mark.parametrize(
    "source",
    [
        "",
        "---",
        "---\n",
        "---\ntitle: T\n",
        "Text\n---\na: b\n---\n",
        " ---\na: b\n---\n",
        "---\nJust prose here.\n---\nMore",
    ],
)
def test_no_frontmatter(source: str) -> None:
    front = read_frontmatter(source)
    assert (front.values, front.body_start, front.problem) == ({}, 0, None)


def test_empty_frontmatter_is_taken_off() -> None:
    assert read_frontmatter("---\n---\nBody").body_start == 8


def test_hostile_yaml_does_no_harm() -> None:
    assert read_frontmatter("---\na: !!python/object/apply:os.system [x]\n---\n").values["a"] == ["x"]
    deep = read_frontmatter("---\na: " + "[" * 5000 + "\n---\nBody")
    assert deep.problem is not None


@pytest.mark.parametrize(
    "nested", ["[" * 60_000, "{" * 60_000, "[{a: " * 10_000, "\n" + "".join(" " * n + "a:\n" for n in range(300))]
)
def test_what_is_nested_too_deeply_is_not_parsed(nested: str) -> None:
    """The YAML parser ends the process over it."""
    front = read_frontmatter(f"---\nchapter: 2\nlist: {nested}\n---\nBody")
    assert front.text("chapter") == "2"
    assert front.problem is not None
    assert "nested more than 32 deep" in front.problem[1]


@pytest.mark.parametrize(("mark", "line"), [("---", "key: value\n"), ("+++", 'key = "value"\n')])
def test_what_is_too_long_is_not_parsed(mark: str, line: str) -> None:
    front = read_frontmatter(f"{mark}\n{line * 100_000}{mark}\nBody")
    assert front.text("key") == "value"
    assert front.problem is not None
    assert "is longer than" in front.problem[1]


def test_deep_toml_is_a_problem_of_the_lesson() -> None:
    front = read_frontmatter(f"+++\nchapter = 2\nlist = {'[' * 15_000}\n+++\nBody")
    assert front.text("chapter") == "2"
    assert front.problem is not None
    assert "nested too deeply" in front.problem[1]
