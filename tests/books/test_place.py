from __future__ import annotations

import pytest

from bythebook.books.lesson import read_claim
from bythebook.books.model import Book, BookWarning, Place

BOOK = Book(book_id="b", title="B")
DECLARED = Book(book_id="b", title="B", modules={"module-1-x": "ros2"}, max_chapter=20, max_lesson=15)


def place(path: str, source: str = "", book: Book = BOOK) -> Place:
    return read_claim(book, path, source).place


def front(text: str, path: str = "module-1-x/chapter-2-y/03-z.md", book: Book = BOOK) -> tuple[Place, tuple[BookWarning, ...]]:
    claim = read_claim(book, path, f"---\n{text}\n---\n")
    return claim.place, claim.warnings


@pytest.mark.parametrize(
    ("path", "numbers"),
    [
        ("module-1-ros2/chapter-3-arms/02-elbows.md", "ros2:3:2"),
        ("docs/Module_2/ch03/05.md", "module-2:3:5"),
        ("modules/module01/lessons/lesson05_title.md", "module-1:0:5"),
        ("module-1-ros2/chapter-3-arms/index.md", "ros2:3:0"),
        ("module-1-ros2/chapter_3/README.md", "ros2:3:0"),
        ("module-1-ros2/index.md", "ros2:0:0"),
        ("module-1-ros2/02-arms/03-x.md", "ros2:2:3"),
        ("01-intro/02-setup.md", ":1:2"),
        ("01-basics/02-arms/03-x.md", "basics:2:3"),
        ("04-intro.md", ":0:4"),
        ("lesson07.md", ":0:7"),
        ("guides/01-x.md", ":0:0"),
        ("index.md", ":0:0"),
        ("about.md", ":0:0"),
        ("blog/2021-08-21-post.md", ":0:0"),
        ("module-99999999999999999999-x/a.md", "x:0:0"),
    ],
)
def test_paths(path: str, numbers: str) -> None:
    assert place(path).numbers == numbers


def test_a_page_outside_the_hierarchy() -> None:
    assert not place("about.md").in_hierarchy
    assert place("lesson07.md").in_hierarchy


def test_book_toml_names_the_module() -> None:
    assert place("module-1-x/chapter-1-y/01-z.md", book=DECLARED).module == "ros2"
    assert place("docs/module-1-x/01-z.md", book=DECLARED).module == "ros2"


def test_frontmatter_overrides_the_path() -> None:
    found, warnings = front("module: isaac\nchapter: 07\nlesson: 9\nhardware_tier: 3\nproficiency: b1\nlayer: l4")
    assert found == Place(module="isaac", chapter=7, lesson=9, hardware_tier=3, proficiency_level="B1", layer="L4")
    assert warnings == ()


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("chapter: three", "chapter", "three"),
        ("chapter: -1", "chapter", "-1"),
        ("lesson: 1.5", "lesson", "1.5"),
        ("hardware_tier: 9", "hardware_tier", "9"),
        ("proficiency_level: D1", "proficiency_level", "D1"),
        ("layer: deep", "layer", "deep"),
        ("module: '***'", "module", "***"),
        ("chapter: [1, 2]", "chapter", "list"),
    ],
)
def test_a_bad_value_is_told_and_the_path_or_default_used(line: str, field: str, value: str) -> None:
    found, (warning,) = front(f"title: T\n{line}")
    assert found == Place(module="x", chapter=2, lesson=3)
    assert (warning.source_file, warning.line, warning.field) == ("module-1-x/chapter-2-y/03-z.md", 3, field)
    assert value in warning.message


def test_what_the_book_did_not_declare_is_told() -> None:
    found, warnings = front("module: gazebo\nchapter: 21\nlesson: 16", book=DECLARED)
    assert found.numbers == "gazebo:21:16"
    assert sorted(warning.field for warning in warnings) == ["chapter", "lesson", "module"]


def test_broken_frontmatter_is_told_with_its_line() -> None:
    found, (warning,) = front("title: a: b\nchapter: 5")
    assert found.chapter == 5
    assert (warning.field, warning.line) == ("frontmatter", 2)
