from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from bythebook.books.lesson import (
    Category,
    Claim,
    chapter_titles,
    decode,
    humanised,
    read_categories,
    read_claim,
    read_lesson,
)
from bythebook.books.model import Book, Lesson, Place, SiteStyle, sha256
from bythebook.errors import InvalidBook

PATH = "module-1-ros2/chapter-2-arms/03-elbows.md"
LONG = "The elbow bends. " * 60


def read(source: str, path: str = PATH, site: SiteStyle = "docusaurus") -> Lesson:
    book = Book(book_id="b", title="B", site=site, base_url="https://b.example")
    claim = read_claim(book, path, source)
    base = claim.place.numbers if claim.place.in_hierarchy else path
    return read_lesson(book, path, source, file_hash="h", claim=claim, id_base=base, chapter_title="Arms")


def test_ids_are_those_of_the_document() -> None:
    lesson = read("# Elbows\n\nText of the lesson.")
    namespace = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    (chunk,) = lesson.chunks
    assert chunk.content_hash == sha256(chunk.text)
    assert chunk.id == str(uuid.uuid5(namespace, f"b:ros2:2:3:{chunk.content_hash[:16]}"))
    assert lesson.parent_doc_id == chunk.parent_doc_id == str(uuid.uuid5(namespace, "b:ros2:2:3:parent"))


def test_text_repeated_in_a_lesson_has_ids_of_its_own() -> None:
    first, second, third = read("\n\n".join([f"## A\n\n{LONG}"] * 3)).chunks
    assert first.text == second.text == third.text
    namespace = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    assert third.id == str(uuid.uuid5(namespace, f"b:ros2:2:3:{first.content_hash[:16]}:3"))
    assert [chunk.anchor for chunk in (first, second, third)] == ["a", "a-1", "a-2"]


def test_a_page_outside_the_hierarchy_goes_by_its_path() -> None:
    lesson = read("Some text here.", path="about.md")
    assert lesson.parent_doc_id == str(uuid.uuid5(uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "b:about.md:parent"))


def test_every_chunk_knows_its_lesson() -> None:
    lesson = read("---\ntitle: Elbows\nhardware_tier: 2\n---\n# Elbows\n\nIntro.\n\n## Bend\n\n" + LONG)
    (chunk,) = lesson.chunks
    assert (chunk.module, chunk.chapter, chunk.lesson, chunk.hardware_tier) == ("ros2", 2, 3, 2)
    assert (chunk.page_title, chunk.chapter_title, chunk.source_file, chunk.source_file_hash) == (
        "Elbows",
        "Arms",
        PATH,
        "h",
    )
    assert (chunk.span.first_line, chunk.span.last_line) == (5, 11)


@pytest.mark.parametrize(
    ("site", "urls"),
    [
        ("docusaurus", ["", "#bend", "#bend-1"]),
        ("mkdocs", ["/", "/#bend", "/#bend_1"]),
        ("mdbook", [".html", ".html#bend", ".html#bend-1"]),
        ("plain", [".md", ".md#bend", ".md#bend-1"]),
    ],
)
def test_addresses(site: SiteStyle, urls: list[str]) -> None:
    lesson = read(f"# Elbows\n\n{LONG}\n\n## Bend\n\n{LONG}\n\n## Bend\n\n{LONG}", site=site)
    name = "elbows" if site == "docusaurus" else "03-elbows"
    stem = f"https://b.example/module-1-ros2/chapter-2-arms/{name}"
    assert [chunk.source_url for chunk in lesson.chunks] == [stem + url for url in urls]
    assert [chunk.heading_path for chunk in lesson.chunks] == [(), ("Bend",), ("Bend",)]


def test_a_level_one_heading_that_is_not_the_title_counts() -> None:
    source = f"---\ntitle: Other\n---\n# Elbows\n\n{LONG}\n\n## Bend\n\n{LONG}"
    assert [chunk.heading_path for chunk in read(source).chunks] == [("Elbows",), ("Elbows", "Bend")]
    assert [chunk.anchor for chunk in read(source).chunks] == ["", "bend"]
    assert read(source, site="mkdocs").chunks[0].anchor == "elbows"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: T\n---\n# H", "T"),
        ("---\nsidebar_label: S\n---\n# H *x*", "H x"),
        ("---\nsidebar_label: S\n---\ntext", "S"),
        ("text", "Elbows"),
    ],
)
def test_titles(source: str, title: str) -> None:
    assert read(source).title == title


def test_empty_and_tiny_lessons() -> None:
    assert read("").chunks == read("---\ntitle: T\n---\n \n").chunks == ()
    lesson = read("Tiny.")
    assert [chunk.text for chunk in lesson.chunks] == ["Tiny."]
    assert [warning.field for warning in lesson.warnings] == ["text"]


def test_decoding() -> None:
    assert decode("é".encode(), "a.md") == "é"
    assert decode(b"\xef\xbb\xbf# T", "a.md") == "# T"
    assert decode("# é".encode("utf-16"), "a.md") == "# é"
    assert decode(b"\xfe\xff" + "# é".encode("utf-16-be"), "a.md") == "# é"
    with pytest.raises(InvalidBook, match=r"a\.md, line 2: this is not UTF-8; save the file as UTF-8"):
        decode(b"one\ntwo \xe9\n", "a.md")
    with pytest.raises(InvalidBook, match=r"a\.md looks binary"):
        decode(b"\x89PNG\x00", "a.md")


def claim(title: str | None, lesson: int = 1) -> Claim:
    return Claim(place=Place(module="ros2", chapter=2, lesson=lesson), title=title)


def test_frontmatter_is_parsed_once() -> None:
    """What the claim has read of it is believed; one recorded by an earlier run has read nothing, and it is parsed."""
    book = Book(book_id="b", title="B", base_url="https://b.example", site="docusaurus")
    source = "---\nslug: /here\nhardware_tier: 9\n---\n# Title\n\nThe text of the lesson.\n"
    read = read_claim(book, "a.md", source)
    assert read.front
    moved = replace(read, front=replace(read.front, values={"slug": "/there"}), warnings=())
    recorded = replace(read, front=None, warnings=())
    for claimed, slug, warnings in ((read, "here", 1), (moved, "there", 0), (recorded, "here", 1)):
        made = read_lesson(book, "a.md", source, file_hash="", claim=claimed, id_base="a.md", chapter_title="")
        assert [chunk.source_url for chunk in made.chunks] == [f"https://b.example/{slug}"]
        assert len(made.warnings) == warnings


def labelled(label: str) -> Category:
    return Category(label=label, position=None)


def test_chapter_titles() -> None:
    book = Book(book_id="b", title="B")
    pages = {
        "m/chapter-1-arms/index.md": claim("All about arms", 0),
        "m/chapter-1-arms/01-x.md": claim("X"),
        "m/chapter-1-arms/deep/02-y.md": claim("Y"),
        "m/chapter-2-legs/01-x.md": claim("X"),
        "m/chapter-3-robot-arms/01-x.md": claim("X"),
        "m/chapter-4/01-x.md": claim("X"),
        "m/chapter-5-hands/00-start.md": claim("Hands first", 0),
        "about.md": claim("About"),
    }
    titles = chapter_titles(book, pages, {"m/chapter-1-arms": labelled("no"), "m/chapter-2-legs": labelled("Legs & feet")})
    assert list(titles.values()) == [
        "All about arms", "All about arms", "All about arms", "Legs & feet", "Robot arms", "Chapter 4", "Hands first", "",
    ]  # fmt: skip


def test_categories(tmp_path: Path) -> None:
    for folder, name, text in [
        ("a", "_category_.json", '{"label": "A & a", "position": 1}'),
        ("b/c", "_category_.yml", "label: C\n"),
        ("broken", "_category_.json", "{"),
        ("odd", "_category_.yml", "- x"),
        ("node_modules", "_category_.json", '{"label": "no"}'),
    ]:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_text(text, "utf-8")
    assert read_categories(tmp_path) == {"a": Category(label="A & a", position=1.0), "b/c": labelled("C")}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("chapter-3-robot-arms", "Robot arms"),
        ("03_elbows.md", "Elbows"),
        ("chapter-3", "Chapter 3"),
        ("README.md", "README"),
        ("42", "42"),
    ],
)
def test_names_are_made_readable(name: str, words: str) -> None:
    assert humanised(name) == words


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("_category_.json", "[" * 60_000),
        ("_category_.yml", "label: " + "[" * 60_000),
        ("_category_.yml", "label: A" + " " * 70_000),
    ],
)
def test_a_hostile_category_says_nothing(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_categories(tmp_path) == {}


def test_a_category_that_leads_out_of_the_book_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "private.json").write_text('{"label": "A secret"}')
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_category_.json").symlink_to(tmp_path / "private.json")
    assert read_categories(tmp_path / "book") == {}


SMALL_SECTIONS = """# Nets

## Training

Two nets play against each other until neither wins.

## Mode collapse

Mode collapse means that the generator makes one picture only.

### A remedy

Larger batches help a little.

## Exercises

Train one yourself.
"""


def test_every_sentence_knows_the_section_it_stands_in() -> None:
    (chunk,) = read(SMALL_SECTIONS, path="nets.md").chunks
    places = {
        words: (chunk.section_at(at).heading_path, chunk.section_at(at).source_url)
        for words in ("Two nets", "Mode collapse means", "Larger batches", "Train one")
        if (at := chunk.text.index(words))
    }
    assert places == {
        "Two nets": (("Training",), "https://b.example/nets#training"),
        "Mode collapse means": (("Mode collapse",), "https://b.example/nets#mode-collapse"),
        "Larger batches": (("Mode collapse", "A remedy"), "https://b.example/nets#a-remedy"),
        "Train one": (("Exercises",), "https://b.example/nets#exercises"),
    }


def test_a_chunk_of_one_section_stores_none_beside_it() -> None:
    (chunk,) = read(f"## Bend\n\n{LONG}").chunks
    assert chunk.sections == ()
    assert chunk.section_at(200).heading_path == ("Bend",)


IDS = [
    "7ea97f60-6e01-5a31-89bf-355120ad1678",
    "3c9c2667-43b5-5301-85a7-0a4e80ee414b",
    "08f5b93e-1813-5aec-8db5-240f9c8152eb",
]


def test_chunks_keep_the_ids_they_always_had() -> None:
    """Threads cite them and indexes hold them. These were made before a chunk knew the sections within it."""
    parts = [f"\n## Part {number}\n\n{LONG}\n\nAnd {number}.\n" for number in range(3)]
    lesson = read(SMALL_SECTIONS + "".join(parts), path="nets.md")
    assert [chunk.id for chunk in lesson.chunks] == IDS
