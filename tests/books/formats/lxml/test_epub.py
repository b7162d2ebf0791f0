"""EPUB: its files in the order of the spine, with the titles of its contents; and archives that mean harm."""

from __future__ import annotations

import io
import random
import zipfile

import pytest

from bythebook.books.markdown import readable
from bythebook.errors import InvalidBook
from tests.support.readings import epub, placed, read, zipped

PAGES = {
    "text/cover.xhtml": "<img alt='' src='cover.png'/>",
    "text/ch1.xhtml": "<section id='arms'><h1>Arms</h1><p>An elbow&nbsp;bends.</p><p id='p7'>It carries.</p></section>",
    "text/ch2.xhtml": "<p>Legs walk &amp; run.</p>",
}
LOL = "<!DOCTYPE x [" + "".join(f"<!ENTITY l{n} '{f'&l{n - 1};' * 10 if n else 'lol'}'>" for n in range(9)) + "]>"


def test_each_page_with_words_is_a_lesson_in_the_order_of_the_spine() -> None:
    contents = '<ol><li><a href="text/ch1.xhtml">The arm</a></li><li><a href="text/ch2.xhtml#x">The leg</a></li></ol>'
    arms, legs = read("b/robot.epub", epub(PAGES, contents=contents))
    assert (arms.source_file, arms.title, arms.text) == (
        "b/robot.epub/2-ch1",
        "The arm",
        "# Arms\n\nAn elbow\N{NO-BREAK SPACE}bends.\n\nIt carries.\n\n",
    )
    assert (legs.source_file, legs.title, legs.file) == ("b/robot.epub/3-ch2", "The leg", "b/robot.epub")
    assert placed(arms) == [
        ("Arms", "ch1.xhtml#arms"),
        ("An elbow\N{NO-BREAK SPACE}bends.", "ch1.xhtml#arms"),
        ("It carries.", "ch1.xhtml#p7"),
    ]
    assert placed(legs) == [("Legs walk & run.", "ch2.xhtml, paragraph 1")]


def test_one_changed_chapter_changes_one_lesson() -> None:
    before = read("a.epub", epub(PAGES))
    after = read("a.epub", epub({**PAGES, "text/ch2.xhtml": "<p>Legs stand.</p>"}))
    assert [one.digest == other.digest for one, other in zip(before, after, strict=True)] == [True, False]


def test_entities_that_unfold_without_end_are_never_unfolded() -> None:
    bomb = {"OPS/text/ch1.xhtml": f"{LOL}<html><body><p>Calm &l8; words.</p></body></html>"}
    reading = read("a.epub", epub(PAGES, more=bomb))[0]
    assert reading.text == "Calm … words.\n\n"
    explains = "which only a declaration explains; … stands instead. Write the text itself there."
    assert reading.warnings == (f"OPS/text/ch1.xhtml has &l8;, {explains}",)


def test_an_element_whose_name_ends_with_a_colon_is_read() -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><tp:>An elbow bends.</tp:></body></html>'
    assert "An elbow bends." in read("a.epub", epub(PAGES, more={"OPS/text/ch1.xhtml": page}))[0].text


def test_addresses_that_a_program_prints_after_links_are_not_read() -> None:
    """Sphinx does, for books on paper."""
    link = "<a href='https://a.example/arms'>the policy</a><span class='link-target'> [https://a.example/arms]</span>"
    reading = read("a.epub", epub({**PAGES, "text/ch2.xhtml": f"<p>It follows {link}, mostly.</p>"}))[-1]
    assert readable(reading.text).strip() == "It follows the policy, mostly."
    assert all(mark.exact for mark in reading.marks)


def test_a_table_of_contents_among_the_chapters_is_not_read() -> None:
    """calibre's own guide has one beside the contents that programs read."""
    entries = "".join(f"<li><a href='ch{at}.xhtml'>Of arm {at}</a><ul/></li>" for at in range(1, 5))
    page = f"<h1>Contents</h1><div><ul>{entries}</ul></div>"
    assert [one.source_file for one in read("a.epub", epub({"text/toc.xhtml": page, **PAGES}))] == [
        "a.epub/3-ch1",
        "a.epub/4-ch2",
    ]
    assert len(read("a.epub", epub({"text/toc.xhtml": f"{page}<p>Read it in any order.</p>", **PAGES}))) == 3
    outside = page.replace("href='", "href='https://arms.example/")
    assert len(read("a.epub", epub({"text/see.xhtml": outside, **PAGES}))) == 3


def test_a_page_of_noise_is_named() -> None:
    """As one is whose protection is not declared."""
    with pytest.raises(InvalidBook) as said:
        read("a.epub", epub(PAGES, more={"OPS/text/ch1.xhtml": random.Random(0).randbytes(5_000)}))
    assert str(said.value) == "OPS/text/ch1.xhtml in it is not text: it is damaged or protected; save or download it again"


def test_a_page_that_the_spine_names_again_and_again_is_read_once() -> None:
    twice = zipfile.ZipFile(io.BytesIO(epub(PAGES)))
    members = {name: twice.read(name) for name in twice.namelist()}
    members["OPS/book.opf"] = members["OPS/book.opf"].replace(b'<itemref idref="i0"/>', b'<itemref idref="i0"/>' * 1000)
    assert len(read("a.epub", zipped(members))) == len(read("a.epub", epub(PAGES)))


def encryption(method: str) -> str:
    return f"<encryption><EncryptedData><EncryptionMethod Algorithm='{method}'/></EncryptedData></encryption>"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"PK nonsense", "it is damaged or no EPUB at all"),
        (epub(PAGES)[:-200], "it is damaged or no EPUB at all"),
        (
            epub(PAGES).replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\x6a"),
            "it is damaged or no EPUB at all (zip file version 10.6)",
        ),
        (zipped({"a": "b"}), "META-INF/container.xml is missing in it; save or download it again"),
        (epub({"a.xhtml": "<img src='x'/>"}), "none of its pages holds text"),
        (epub(PAGES, more={"META-INF/encryption.xml": encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")}), "(DRM)"),
        (epub({"a.xhtml": "<p>" + "x" * 60_000_000 + "</p>"}), "it unpacks to more than 50,000,000 bytes at OPS/a.xhtml"),
        (epub({"a.xhtml": "<p>Again and again.</p>" * 100_000}), "OPS/a.xhtml in it repeats itself endlessly"),
    ],
    ids=["no zip", "truncated", "version", "another zip", "pictures", "drm", "bomb", "repeated"],
)
def test_what_cannot_be_read_is_said_in_a_sentence(raw: bytes, says: str) -> None:
    with pytest.raises(InvalidBook) as said:
        read("a.epub", raw)
    assert says in str(said.value)


def test_hidden_fonts_are_no_protection() -> None:
    assert read("a.epub", epub(PAGES, more={"META-INF/encryption.xml": encryption("http://www.idpf.org/2008/embedding")}))
