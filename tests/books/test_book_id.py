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


@pytest.mark.parametrize("config", [None, "[remote\nnonsense", "\x00\xff"])
def test_a_repository_that_cannot_be_read_has_its_folders_name(tmp_path: Path, config: str | None) -> None:
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    if config:
        write(tmp_path, "clone/.git/config", config)
    write(tmp_path, "clone/docs/index.md", "# Introduction\n")
    assert read_book(tmp_path / "clone" / "docs")[0].book_id == "clone"
