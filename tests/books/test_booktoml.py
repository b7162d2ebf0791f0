from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from bythebook.books.booktoml import read_book
from bythebook.books.model import Book
from bythebook.errors import InvalidBook, NotFound


def written(root: Path, toml: str) -> Path:
    root.mkdir(exist_ok=True)
    (root / "book.toml").write_text(toml, "utf-8")
    return root


def test_a_folder_without_book_toml_is_named_after_itself(tmp_path: Path) -> None:
    root = tmp_path / "Robot Arms (2nd édition)"
    root.mkdir()
    assert read_book(root) == (Book(book_id="robot-arms-2nd-edition", title=root.name), ())


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("index.rst", ".. _top:\n\n==========\nRobot arms\n==========\n\nWords.\n"),
        ("index.adoc", ":toc:\n\n= Robot arms\nAn Author\n"),
        ("index.en.html", "<html><head><title>Robot arms</title></head></html>"),
        ("index.html", "<html><head><title>Welcome &mdash; Robot arms 1.2 documentation</title></head></html>"),
        ("index.html", "<html><head><title>Robot arms</title></head></html>"),
    ],
)
def test_the_title_comes_from_a_front_page_of_any_format(tmp_path: Path, name: str, page: str) -> None:
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / name).write_text(page)
    book = read_book(tmp_path / "html")[0]
    assert (book.title, book.book_id) == ("Robot arms", "robot-arms")


def test_an_epub_is_called_what_it_says_and_a_damaged_one_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "book_3.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("OPS/package.opf", "<package><metadata><dc:title id='t'>Robot &amp; arm</dc:title></metadata></package>")
    assert read_book(path)[0].title == "Robot & arm"
    path.write_bytes(path.read_bytes()[:40])
    assert read_book(path)[0].title == "book 3"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        (b"(Robot \\(arms\\) of M\\374nchen)", "Robot (arms) of München"),
        (b"<FEFF0052006F0062006F0074>", "Robot"),
        (b"(Microsoft Word - arms.doc)", "book 3"),
        (b"(", "book 3"),
    ],
)
def test_a_pdf_is_called_what_its_properties_say(tmp_path: Path, written: bytes, title: str) -> None:
    path = tmp_path / "book_3.pdf"
    path.write_bytes(
        b"%PDF-1.4\n7 0 obj\n<</Title(An outline's entry)>>\nendobj\n12 0 obj\n<</Title"
        + written
        + b">>\nendobj\ntrailer<</Info 12 0 R>>"
    )
    assert read_book(path)[0].title == title


def test_a_word_file_is_called_what_its_properties_say(tmp_path: Path) -> None:
    path = tmp_path / "book_3.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("docProps/core.xml", "<cp:coreProperties><dc:title>Robot arms</dc:title></cp:coreProperties>")
    assert read_book(path)[0].title == "Robot arms"


def test_the_title_comes_from_the_front_page(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("---\nslug: /\n---\n```\n# code\n```\n# Robot *arms* {#top}\n", "utf-8")
    assert read_book(tmp_path)[0].title == "Robot arms"


@pytest.mark.parametrize(
    ("files", "title"),
    [
        ({"index.md": "---\ntitle: Robot arms\n---\nText.\n\n## Elbows\n"}, "Robot arms"),
        ({"index.md": "---\ntitle: Docs\n---\nText.\n"}, "shelf"),
        ({"README.md": '<h1 align="center">Robot <b>arms</b> &amp; legs</h1>\n\nText.\n'}, "Robot arms & legs"),
        ({"manual.html": "<html><head><title>Robot arms</title></head></html>"}, "Robot arms"),
        ({"manual.md": "# Robot arms\n"}, "Robot arms"),
        ({"manual.md": "# Robot arms\n", "legs.md": "# Legs\n"}, "shelf"),
        ({"glossary.md": "# Glossary\n", "arms/elbow.md": "# Elbows\n"}, "shelf"),
    ],
)
def test_a_title_without_a_heading_of_the_front_page(tmp_path: Path, files: dict[str, str], title: str) -> None:
    for name, text in files.items():
        (tmp_path / "shelf" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shelf" / name).write_text(text, "utf-8")
    assert read_book(tmp_path / "shelf")[0].title == title


def test_every_key_is_read(tmp_path: Path) -> None:
    root = written(
        tmp_path,
        '\ufeffbook_id = "arms"\ntitle = "Arms"\nlanguage = "de"\nbase_url = "https://a.example/docs/"\nsite = "mkdocs"\n'
        'max_chapter = 20\nmax_lesson = 15\n[modules]\n"module-1-ros2" = "ros2"\n',
    )
    (root / "module-1-ros2").mkdir()
    book, warnings = read_book(root)
    assert warnings == ()
    assert book == Book(
        book_id="arms",
        title="Arms",
        language="de",
        base_url="https://a.example/docs",
        site="mkdocs",
        modules={"module-1-ros2": "ros2"},
        max_chapter=20,
        max_lesson=15,
    )


def test_a_declared_module_without_folder_is_a_warning(tmp_path: Path) -> None:
    _, (warning,) = read_book(written(tmp_path, '\n[modules]\n"gone" = "ros2"\n'))
    assert (warning.source_file, warning.line, warning.field) == ("book.toml", 3, "modules")


def test_the_book_id_given_wins(tmp_path: Path) -> None:
    assert read_book(written(tmp_path, 'book_id = "NOT VALID"'), book_id="arms")[0].book_id == "arms"


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("book_id = ", "line 1"),
        ("title = 5", "line 1: 'title' must be text"),
        (
            "\nsite = 'sphynx'",
            "line 2: 'site' must be one of docusaurus, mkdocs, mdbook, vitepress, hugo, jekyll, quarto, jupyterbook, sphinx",
        ),
        ("titel = 'x'", "line 1: 'titel' is not a key"),
        ("max_chapter = -1", "line 1: 'max_chapter' must be a whole number"),
        ("max_lesson = true", "'max_lesson' must be a whole number"),
        ("base_url = 'a.example'", "line 1: 'base_url' must begin"),
        ("modules = 3", "'modules' must be a table"),
        ("[modules]\n'a' = 'Not a slug'", "line 2: 'a' must name a module"),
        ("book_id = 'No Good'", "line 1: book_id 'No Good' must be"),
        ("book_id = '" + "a" * 101 + "'", "must be 1 to 100"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(InvalidBook) as caught:
        read_book(written(tmp_path, toml))
    assert "book.toml" in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_book_id_given_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(InvalidBook, match="book_id given"):
        read_book(tmp_path, book_id="../x")


def test_book_toml_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "book.toml").write_bytes(b'title = "\xff"')
    with pytest.raises(InvalidBook, match="not UTF-8"):
        read_book(tmp_path)


def test_no_folder_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_book(tmp_path / "none")
    (tmp_path / "a.zip").write_text("x")
    with pytest.raises(InvalidBook, match="is not a lesson"):
        read_book(tmp_path / "a.zip")


def test_a_book_of_one_file_is_called_as_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "Robot_arms.ipynb").write_text("{}")
    book, warnings = read_book(tmp_path / "Robot_arms.ipynb")
    assert (book.book_id, book.title, warnings) == ("robot_arms", "Robot arms", ())


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("a = " + "[" * 15_000, "nested too deeply"),
        ("[modules]\n" + ".".join("a" * 3_000) + " = 1", "must name a module"),
        ("#" * 20_000, "larger than 16,000"),
    ],
)
def test_book_toml_of_a_hostile_author_is_an_invalid_book(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(InvalidBook, match=says):
        read_book(written(tmp_path, toml))


def test_book_toml_that_leads_out_of_the_book_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret.toml"
    outside.write_text('title = "A secret"')
    book = tmp_path / "book"
    book.mkdir()
    for target in (outside, Path("/dev/zero")):
        (book / "book.toml").symlink_to(target)
        with pytest.raises(InvalidBook, match="is a link that leads out of the book"):
            read_book(book)
        (book / "book.toml").unlink()
    inside = book / "settings.toml"
    inside.write_text('title = "Linked within"')
    (book / "book.toml").symlink_to(inside)
    assert read_book(book)[0].title == "Linked within"


def test_book_toml_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "book.toml")
    with pytest.raises(InvalidBook, match="not a file that can be read"):
        read_book(tmp_path)


def test_a_front_page_that_leads_out_of_the_book_gives_no_title(tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("# The secret heading")
    book = tmp_path / "lamps"
    book.mkdir()
    (book / "index.md").symlink_to(tmp_path / "private.md")
    assert read_book(book)[0].title == "lamps"
