"""Each site builder's own rules. The expected values are what the real builders give."""

from __future__ import annotations

import re

import pytest

from bythebook.books.lesson import read_claim, read_lesson
from bythebook.books.links import Anchors, explicit_id, page_url, slugify
from bythebook.books.model import Book, SiteStyle


def url(site: SiteStyle, path: str, base: str = "https://b.example/docs", **front: str) -> str:
    return page_url(Book(book_id="b", title="B", site=site, base_url=base), path, front)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("index.md", ""),
        ("intro.md", "/intro"),
        ("01-guides/02_start.mdx", "/guides/start"),
        ("1. Setup/03 - my doc.md", "/Setup/my%20doc"),
        ("2021-11-05-news.md", "/2021-11-05-news"),
        ("7.0-release/1.2-notes.md", "/7.0-release/1.2-notes"),
        ("module-1-ros2/chapter-2-x/01-nodes.md", "/module-1-ros2/chapter-2-x/nodes"),
        ("guides/README.md", "/guides"),
        ("01-guides/Index.mdx", "/guides"),
        ("guides/Guides.md", "/guides"),
        ("01-guides/01-guides.md", "/guides"),
        ("01-guides/guides.md", "/guides/guides"),
        ("folder with space/beginner's guide.mdx", "/folder%20with%20space/beginner's%20guide"),
        ("機械/腕.md", "/%E6%A9%9F%E6%A2%B0/%E8%85%95"),
        ("01-.md", "/01-"),
        ("\u0661-a/01\u3000- b.md", "/%D9%A1-a/b"),
    ],
)
def test_docusaurus_pages(path: str, expected: str) -> None:
    assert url("docusaurus", path) == f"https://b.example/docs{expected}"


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ({"slug": "/tabs/"}, "/tabs"),
        ({"slug": "/"}, ""),
        ({"slug": "tabs"}, "/guides/tabs"),
        ({"slug": "./a/b"}, "/guides/a/b"),
        ({"slug": "../up"}, "/up"),
        ({"id": "my-id"}, "/guides/my-id"),
        ({"parse_number_prefixes": "false"}, "/01-guides/02-x"),
        ({"id": "my-id", "slug": "tabs"}, "/guides/tabs"),
    ],
)
def test_docusaurus_slug_and_id(front: dict[str, str], expected: str) -> None:
    assert url("docusaurus", "01-guides/02-x.md", **front) == f"https://b.example/docs{expected}"


@pytest.mark.parametrize(
    ("site", "path", "expected"),
    [
        ("mkdocs", "index.md", "https://b.example/docs/"),
        ("mkdocs", "a/README.md", "https://b.example/docs/a/"),
        ("mkdocs", "a/01-b c.md", "https://b.example/docs/a/01-b%20c/"),
        ("mkdocs", "a/readme.md", "https://b.example/docs/a/readme/"),
        ("mkdocs", "a/Index.md", "https://b.example/docs/a/Index/"),
        ("mdbook", "a/readme.md", "https://b.example/docs/a/index.html"),
        ("mdbook", "README.md", "https://b.example/docs/index.html"),
        ("mdbook", "a/ch01.md", "https://b.example/docs/a/ch01.html"),
        ("mdbook", "a/index.md", "https://b.example/docs/a/index.html"),
        ("plain", "a/b c.md", "https://b.example/docs/a/b%20c.md"),
        ("plain", "100%#?.md", "https://b.example/docs/100%25%23%3F.md"),
    ],
)
def test_other_pages(site: SiteStyle, path: str, expected: str) -> None:
    assert url(site, path) == expected


def test_without_a_base_the_link_is_relative() -> None:
    assert url("docusaurus", "a/01-b.md", base="") == "a/b"
    assert url("docusaurus", "index.md", base="") == "./"
    assert url("mkdocs", "a/b.md", base="") == "a/b/"
    assert url("mkdocs", "index.md", base="/") == "/"
    assert url("docusaurus", "index.md", base="https://b.example") == "https://b.example/"


@pytest.mark.parametrize(
    ("site", "heading", "expected"),
    [
        ("docusaurus", "Hello, World! It's 3.5 m", "hello-world-its-35-m"),
        ("docusaurus", "A & B", "a--b"),
        ("docusaurus", "snake_case — dash-ed", "snake_case--dash-ed"),
        ("docusaurus", "Überblick 中文 Привет", "überblick-中文-привет"),
        ("docusaurus", "x² 🤖 robots", "x--robots"),
        ("plain", "`code()` here", "code-here"),
        ("mkdocs", "A & B -- c", "a-b-c"),
        ("mkdocs", "Überblick 中文", "uberblick"),
        ("mkdocs", "snake_case 3.5", "snake_case-35"),
        ("mdbook", "A & B", "a--b"),
        ("mdbook", "Überblick 中文 x² ΟΔΟΣ İI", "überblick-中文-x²-οδος-ii"),
        ("mdbook", "Hello, World_1", "hello-world_1"),
    ],
)
def test_slugs(site: SiteStyle, heading: str, expected: str) -> None:
    given = Anchors(site).take(heading, 2)
    assert given == expected
    if "`" not in heading:
        assert slugify(site, heading) == expected


def taken(site: SiteStyle, *headings: str, level: int = 2) -> list[str]:
    anchors = Anchors(site, headings)
    return [anchors.take(heading, level) for heading in headings]


def test_repeats_are_counted_as_each_builder_does() -> None:
    assert taken("docusaurus", "A", "A", "A 1", "A") == ["a", "a-1", "a-1-1", "a-2"]
    assert taken("mkdocs", "A", "A", "A", "A_1") == ["a", "a_1", "a_2", "a_3"]
    assert taken("mdbook", "A", "A", "B", "A") == ["a", "a-1", "b", "a-2"]
    assert taken("mkdocs", "中", "文") == ["_1", "_2"]


def test_explicit_ids() -> None:
    headings = ("A {#b}", "A {: #b }", "A {/* #b */}", "A {#b .c}", "A { .c #b }", "A {b}", "A {#b} c", "A { .c }")
    assert [explicit_id("docusaurus", text) for text in headings] == ["b", "b", "b", "b", "b", None, None, None]
    assert [explicit_id(site, "A{#b}") for site in ("docusaurus", "mdbook", "mkdocs")] == ["b", "b", None]
    assert taken("docusaurus", "A {#a}", "A") == ["a", "a"]
    assert taken("mkdocs", "A", "B {#a}") == ["a_1", "a"]


def test_docusaurus_renders_no_id_on_level_one_but_counts_it() -> None:
    anchors = Anchors("docusaurus")
    assert [anchors.take("A", 1), anchors.take("A", 2), anchors.take("B {#b}", 1)] == ["", "a-1", ""]
    assert Anchors("mkdocs").take("A", 1) == "a"


@pytest.mark.parametrize(
    ("heading", "mkdocs", "mdbook"),
    [
        ("Two  spaces, `a  b`", "two-spaces-a-b", "two--spaces-a--b"),
        ("![an arm](arm.png) Arms", "arms", "arms"),
        ('Arm <img src="a.png" alt="an arm"> end', "arm-end", "arm--end"),
        ("Line<br/>break and <kbd>Ctrl</kbd>+<kbd>C</kbd>", "linebreak-and-ctrlc", "linebreak-and-ctrlc"),
        ("An <!-- unseen --> end", "an-end", "an--end"),
        ("{{ macro }} here", "macro-here", "-macro--here"),
        ("[Arm](a.md){ target=_blank } end", "arm-end", "arm-target_blank--end"),
        ("a - b -- c --- `--flag`", "a-b-c-flag", "a---b--c----flag"),
        ("-- lead", "-lead", "-lead"),
        ("Class { .wide }", "class", "class"),
        ("Code `x`{ .py }", "code-x", "code-x"),
        ("Near{#id}", "nearid", "id"),
        ("A note[^1]", "a-note", None),
        ("<code>x_1</code> and *y_2*", "x_1-and-y_2", "x_1-and-y_2"),
    ],
)
def test_only_the_words_a_builder_reads_make_an_anchor(heading: str, mkdocs: str, mdbook: str | None) -> None:
    assert taken("mkdocs", heading) == [mkdocs]
    if mdbook is not None:
        assert taken("mdbook", heading) == [mdbook]


def anchors_of(site: SiteStyle, source: str) -> list[str]:
    """The anchors of the sections of a page, each long enough to be a chunk of its own."""
    source = re.sub(r"(?m)^TEXT$", "A sentence of the section. " * 60, source)
    book = Book(book_id="b", title="B", site=site, base_url="")
    claim = read_claim(book, "a.md", source)
    lesson = read_lesson(book, "a.md", source, file_hash="", claim=claim, id_base="a.md", chapter_title="")
    return [chunk.anchor for chunk in lesson.chunks]


def test_mkdocs_takes_indented_and_two_line_headings_as_text() -> None:
    source = "## Arm\n\nTEXT\n\n  ## B\n\nTEXT\n\nC\nD\n---\n\nTEXT\n\n## B\n\nTEXT\n"
    assert list(dict.fromkeys(anchors_of("mkdocs", source))) == ["arm", "", "b"]
    assert list(dict.fromkeys(anchors_of("mdbook", source))) == ["arm", "b", "c-d", "b-1"]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Multi   spaces", "multi---spaces"),
        ("![an arm](arm.png) Arms", "an-arm-arms"),
        ("<Icon/> leading", "-leading"),
        ('<Icon name="z" label="lbl"/> labelled', "-labelled"),
        ("Text <Icon/>", "text-"),
        ("Line<br/>break", "linebreak"),
        ("ubuntu:latest image", "ubuntu-image"),
        ("x:y:z and std::vector at 10:30am", "xy-and-stdvector-at-1030am"),
        (":smile: `a:b` one **two:three**", "smile-ab-one-two"),
        ("**Bold {#bold-id}**", "bold-id"),
        ("Code `{#code}`", "code"),
    ],
)
def test_docusaurus_reads_a_heading_as_mdx(heading: str, expected: str) -> None:
    assert taken("docusaurus", heading) == [expected]


@pytest.mark.parametrize(
    ("site", "heading", "anchor"),
    [
        ("vitepress", "What's new in 2.0?", "what-s-new-in-2-0"),
        ("vitepress", "2 ways -- `code` & caf\u00e9", "_2-ways-code-cafe"),
        ("vitepress", "Given {#own}", "own"),
        ("hugo", "What's new in 2.0?", "whats-new-in-20"),
        ("hugo", "A [link](/x) & more", "a-link--more"),
        ("hugo", "The _strong_ -- wind", "the-strong--wind"),
        ("hugo", "Given {#own}", "own"),
        ("jekyll", "What's new in 2.0?", "whats-new-in-20"),
        ("jekyll", "A -- B", "a--b"),
        ("quarto", "3. What's new in 2.0?", "whats-new-in-2.0"),
        ("quarto", "1985", "section"),
        ("quarto", "Given {#own}", "own"),
        ("jupyterbook", "3. What's new in 2.0?", "what-s-new-in-2-0"),
        ("jupyterbook", "1985", "id1"),
        ("sphinx", "Straße und Øl", "strasze-und-ol"),
        ("sphinx", "Equal chances [{term}`def<Equal and diverse>`]", "equal-chances-def"),
        ("sphinx", "The `{term}` role", "the-term-role"),
        ("mkdocs", "The {term} `x`", "the-term-x"),
    ],
)
def test_anchors_of_other_generators(site: SiteStyle, heading: str, anchor: str) -> None:
    assert Anchors(site).take(heading, 2) == anchor


@pytest.mark.parametrize(
    ("pages", "url"),
    [("{path}.html", "a/b c.html"), ("{folder}/view/{name}", "a/view/b c"), ("/blob/main/{file}", "blob/main/a/b c.md")],
)
def test_a_pattern_addresses_what_no_generator_does(pages: str, url: str) -> None:
    book = Book(book_id="b", title="B", base_url="https://a.example", pages=pages)
    assert page_url(book, "a/b c.md", {}) == f"https://a.example/{url.replace(' ', '%20')}"
