from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from bythebook.books.discovery import SourceFile, discover, file_hash, read_source
from bythebook.errors import InvalidBook, NotFound


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("# x", "utf-8")


def found(root: Path) -> list[str]:
    return [file.path for file in discover(root)[0]]


def test_everything_readable_is_found_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/README.MD", "a/_part.mdx", "a/c.markdown", "a/d.txt", "é.md", "a b/c.md")
    assert found(tmp_path) == ["a b/c.md", "a/README.MD", "a/_part.mdx", "a/c.markdown", "b.md", "é.md"]
    assert discover(tmp_path)[0][0] == SourceFile(path="a b/c.md", size=3)


@pytest.mark.parametrize(
    ("setting", "lessons"),
    [
        ('source_suffix = {".txt": "restructuredtext"}', ["docs/a.txt", "docs/ref/b.txt", "notes.md"]),
        ("source_suffix = ['.rst', '.txt']", ["docs/a.txt", "docs/ref/b.txt", "notes.md"]),
        ('source_suffix = ".rst"  # not ".txt"', ["notes.md"]),
    ],
)
def test_texts_are_lessons_where_sphinx_is_told_so(tmp_path: Path, setting: str, lessons: list[str]) -> None:
    write(tmp_path, "notes.md", "read.txt", "docs/a.txt", "docs/ref/b.txt", "docs/requirements.txt", "docs/conf.py")
    (tmp_path / "docs" / "conf.py").write_text(f'project = "Lamps"\n{setting}\n', "utf-8")
    assert found(tmp_path) == lessons


def test_built_and_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.md",
        ".git/b.md",
        "node_modules/b.md",
        "build/b.md",
        "x/dist/b.md",
        "_build/b.md",
        "site-packages/b.md",
        ".b.md",
    )
    assert found(tmp_path) == ["a.md"]


def test_links_inside_the_book_are_followed_others_told(tmp_path: Path) -> None:
    book = tmp_path / "book"
    write(book, "a/one.md", ".shared/two.md")
    write(tmp_path, "outside/three.md")
    (book / "a" / "loop").symlink_to(book)
    (book / "a" / "self.md").symlink_to("self.md")
    (book / "out").symlink_to(tmp_path / "outside")
    (book / "in").symlink_to(book / ".shared")
    (book / "again.md").symlink_to(book / "a" / "one.md")
    files, warnings = discover(book)
    assert [file.path for file in files] == ["a/one.md", "again.md", "in/two.md"]
    assert [(warning.source_file, warning.field, warning.line) for warning in warnings] == [
        ("a/loop", "link", 0),
        ("a/self.md", "link", 0),
        ("out", "link", 0),
    ]


def test_folders_that_link_to_each_other_end(tmp_path: Path) -> None:
    write(tmp_path, "a/one.md", "b/two.md")
    (tmp_path / "a" / "b").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "a").symlink_to(tmp_path / "a")
    assert {"a/one.md", "b/two.md"} <= set(found(tmp_path))


def test_a_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    try:
        (tmp_path / os.fsdecode(b"\xff.md")).write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    files, warnings = discover(tmp_path)
    assert [file.path for file in files] == ["a.md"]
    assert warnings[0].field == "path"


def test_no_book(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        discover(tmp_path / "none")
    with pytest.raises(InvalidBook, match="holds no lesson"):
        discover(tmp_path)
    write(tmp_path, "a.zip")
    with pytest.raises(InvalidBook, match="is not a lesson"):
        discover(tmp_path / "a.zip")


def test_a_book_may_be_one_file(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    assert found(tmp_path / "a.md") == ["a.md"]
    assert read_source(tmp_path / "a.md", "a.md") == (tmp_path / "a.md").read_bytes()


def test_many_files_are_found_quickly(tmp_path: Path) -> None:
    for folder in range(10):
        write(tmp_path, *(f"{folder}/{lesson}.md" for lesson in range(100)))
    began = time.perf_counter()
    assert len(found(tmp_path)) == 1000
    assert time.perf_counter() - began < 1


def test_reading_a_lesson(tmp_path: Path) -> None:
    write(tmp_path, "a/b.md")
    assert read_source(tmp_path, "a/b.md") == b"# x"
    assert file_hash(b"# x") == hashlib.sha256(b"# x").hexdigest()
    with pytest.raises(InvalidBook, match="larger than 2 bytes"):
        read_source(tmp_path, "a/b.md", limit_bytes=2)
    with pytest.raises(InvalidBook, match="vanished"):
        read_source(tmp_path, "a/gone.md")
    with pytest.raises(InvalidBook, match="cannot be read"):
        read_source(tmp_path, "a")
