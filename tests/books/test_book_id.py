"""What a book is called when nobody says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.books.booktoml import default_id, read_book
from tests.support.small_book import write


@pytest.mark.parametrize(
    ("path", "title", "expected"),
    [
        ("robots", "Anything", "robots"),
        ("go", "Anything", "go"),
        ("ros/docs", "Robots, 2nd edition", "robots-2nd-edition"),
        ("ros/docs/en", "Content", "ros"),
        ("ros/content/zh_CN", "", "ros"),
        ("ros/src", "\u673a\u5668\u4eba", "ros"),
    ],
)
def test_a_name_that_says_nothing_gives_way(tmp_path: Path, path: str, title: str, expected: str) -> None:
    root = tmp_path / path
    root.mkdir(parents=True)
    assert default_id(root, title) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://github.com/somebody/walking-robots.git", "walking-robots"),
        ("git@forge.example:somebody/Walking_Robots", "walking_robots"),
        ("https://forge.example/team/docs.git", "clone"),
    ],
)
def test_the_repositorys_name_tells_more_than_docs(tmp_path: Path, address: str, expected: str) -> None:
    write(tmp_path, "clone/.git/config", f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {address}\n')
    write(tmp_path, "clone/docs/index.md", "# Introduction\n")
    assert default_id(tmp_path / "clone" / "docs", "Introduction") == expected


@pytest.mark.parametrize(
    ("path", "title"),
    [("Robots", "Robots"), ("Ros 2/docs", "Ros 2"), ("Ros 2/content/zh_CN", "Ros 2"), ("clone/docs", "walking-robots")],
)
def test_two_folders_of_one_name_have_titles_of_their_own(tmp_path: Path, path: str, title: str) -> None:
    write(tmp_path, "clone/.git/config", '[remote "origin"]\n\turl = https://forge.example/somebody/walking-robots.git\n')
    write(tmp_path, f"{path}/legs.md", "# Legs\n\nA leg has a knee.\n")
    write(tmp_path, f"{path}/arms.md", "# Arms\n\nAn arm has an elbow.\n")
    assert read_book(tmp_path / path)[0].title == title


@pytest.mark.parametrize("config", [None, "[remote\nnonsense", "\x00\xff"])
def test_a_repository_that_cannot_be_read_has_its_folders_name(tmp_path: Path, config: str | None) -> None:
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    if config:
        write(tmp_path, "clone/.git/config", config)
    write(tmp_path, "clone/docs/index.md", "# Introduction\n")
    assert read_book(tmp_path / "clone" / "docs")[0].book_id == "clone"
