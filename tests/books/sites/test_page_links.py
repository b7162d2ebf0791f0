"""A folder of HTML pages is read in the order that its own links give, however its files are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.books.discovery import discover
from bythebook.books.sites.detection import find_site
from bythebook.books.sites.navigation import lesson_order


def order(root: Path, pages: dict[str, str]) -> list[str]:
    for path, body in pages.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<html><head><title>{path}</title></head><body>{body}</body></html>", encoding="utf-8")
    files, _ = discover(root)
    site = find_site(root, files)
    assert site is None or site.style == "plain"
    places = lesson_order(site, {file.path: None for file in files}, {}) if site else {}
    return sorted(places, key=places.__getitem__)


def test_each_page_names_the_next_and_the_contents_only_the_chapters(tmp_path: Path) -> None:
    """As DocBook writes it: a list of figures links to sections before the contents do, and a title page is outside the chain."""
    pages = {
        "index.html": '<link rel="next" href="storms.html"><a href="about.html">About</a><a href="storms.html">1</a>'
        '<a href="boats.html">2</a><a href="boats-oars.html#fig">Figure</a><a href="https://friends.example/x.html">Friends</a>',
        "storms.html": '<link rel="prev" href="index.html"><link href="storms-winter.html" rel=next>',
        "storms-winter.html": '<a accesskey="n" rel="next" href="storms-autumn.html#top">Next</a>',
        "storms-autumn.html": '<link rel="next" href="boats.html" />',
        "boats.html": "<link rel='next' href='boats-oars.html'>",
        "boats-oars.html": "",
        "about.html": "",
    }
    assert order(tmp_path, pages) == [
        "index.html", "storms.html", "storms-winter.html", "storms-autumn.html", "boats.html", "boats-oars.html", "about.html"
    ]  # fmt: skip


def test_where_next_skips_the_sections_the_contents_order_them(tmp_path: Path) -> None:
    pages = {
        "index.html": '<a href="b.html">1</a><a href="b-2.html">1.1</a><a href="b-1.html">1.2</a><a href="a.html">2</a>',
        "b.html": '<link rel="next" href="a.html">',
        "b-1.html": "",
        "b-2.html": '<link rel="next" href="b-1.html">',
        "a.html": "",
    }
    assert order(tmp_path, pages) == ["index.html", "b.html", "b-2.html", "b-1.html", "a.html"]


def test_a_folders_own_front_page_orders_that_folder(tmp_path: Path) -> None:
    """Links from a site's root, without endings, and to a folder, as sites of pages have them."""
    pages = {
        "index.html": '<a href="/keeper/storms/">1</a><a href="boats/">2</a><!-- <a href="boats/oars.html">old</a> -->',
        "boats/index.html": '<a href="/keeper/storms/">before</a><a href="sails">1</a><a href="oars">2</a>',
        "boats/oars.html": "",
        "boats/sails.html": "",
        "storms/index.html": '<a href="../index.html">up</a><a href="winter.html">1</a><a href="autumn.html">2</a>',
        "storms/autumn.html": "",
        "storms/winter.html": "",
    }
    assert order(tmp_path, pages) == [
        "index.html", "storms/index.html", "storms/winter.html", "storms/autumn.html", "boats/index.html", "boats/sails.html",
        "boats/oars.html",
    ]  # fmt: skip


def test_without_a_front_page_the_first_page_is_the_one_that_no_other_leads_to(tmp_path: Path) -> None:
    pages = {
        "c.html": '<a class="pagination-nav__link--next" href="a.html">Next</a>',
        "a.html": '<a class="nav-next" href="b.html">Next</a>',
        "b.html": '<a class="nav-previous" href="a.html">Previous</a>',
    }
    assert order(tmp_path, pages) == ["c.html", "a.html", "b.html"]


@pytest.mark.parametrize(
    "body", ["", '<a href="https://[broken/a.html">x</a>', '<link rel="next" href="index.html">', "<a href="]
)
def test_links_that_order_nothing_leave_the_names(tmp_path: Path, body: str) -> None:
    assert order(tmp_path, {"index.html": body, "a.html": "", "b.html": ""}) == []


def test_pages_that_lead_in_a_circle_come_once(tmp_path: Path) -> None:
    following = {"index.html": "b.html", "b.html": "a.html", "a.html": "index.html"}
    pages = {path: f'<link rel="next" href="{target}">' for path, target in following.items()}
    assert order(tmp_path, pages) == ["index.html", "b.html", "a.html"]


def test_a_few_pages_beside_other_lessons_order_nothing(tmp_path: Path) -> None:
    for name in ("one.md", "two.md", "three.md"):
        (tmp_path / name).write_text(f"# {name}\n")
    assert order(tmp_path, {"index.html": '<a href="b.html">b</a><a href="a.html">a</a>', "b.html": ""}) == []
