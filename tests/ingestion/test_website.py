"""Sites on the loopback: fetched by sitemap or by links, once, politely and in bounds; and what a site may do wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bythebook.errors import InvalidInput, NotFound, Unavailable
from bythebook.ingestion import website
from bythebook.ingestion.website import fetch_site, is_site
from tests.support.site_server import Site, serving_site


@pytest.fixture
def site() -> Iterator[Site]:
    with serving_site() as there:
        there.page("/book/", "The arm bends.", "/book/legs", "/book/arms/", "/elsewhere/", "https://other.example/")
        there.page("/book/arms/", "An elbow bends in one plane.", "/book/")
        there.page("/book/legs", "A knee locks.", "/book/arms/")
        yield there


def files(root: Path) -> list[str]:
    return sorted(file.relative_to(root).as_posix() for file in root.rglob("*.html"))


def test_a_sitemap_is_fetched_and_fetched_again_only_where_it_changed(site: Site, tmp_path: Path) -> None:
    site.sitemap("/book/", "/book/arms/", "/book/legs", "/elsewhere/")
    first = fetch_site(f"{site.url}/book/sitemap.xml", tmp_path)
    assert (first.pages, first.unchanged, files(first.root)) == (3, 0, ["arms/index.html", "index.html", "legs.html"])
    page = (first.root / "legs.html").read_text()
    assert page.startswith(f"<!-- saved from url=({len(site.url) + 10:04}){site.url}/book/legs -->\n<html>")
    site.page("/book/legs", "A knee bends.")
    site.sitemap("/book/", "/book/legs")
    second = fetch_site(f"{site.url}/book/sitemap.xml", tmp_path)
    assert (second.pages, second.unchanged, files(second.root)) == (1, 1, ["index.html", "legs.html"])
    assert 'title = "A book"' in (second.root / "book.toml").read_text()


def test_a_packed_sitemap_of_sitemaps(site: Site, tmp_path: Path) -> None:
    site.sitemap("/book/legs", at="/book/one.xml.gz", packed=True)
    site.pages["/book/sitemap.xml"] = (
        f"<sitemapindex><sitemap><loc>{site.url}/book/one.xml.gz</loc></sitemap></sitemapindex>".encode()
    )
    assert files(fetch_site(f"{site.url}/book/", tmp_path).root) == ["legs.html"]


def test_without_a_sitemap_links_are_followed_once_each_and_never_out(site: Site, tmp_path: Path) -> None:
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert files(report.root) == ["arms/index.html", "index.html", "legs.html"]
    assert site.asked.count("/book/arms/") == 1
    assert "/elsewhere/" not in site.asked


def test_robots_are_obeyed(site: Site, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = b"User-agent: *\nDisallow: /book/legs\n"
    site.sitemap("/book/", "/book/legs")
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert files(report.root) == ["index.html"]
    assert report.problems == ["robots.txt keeps 1 pages to itself; they were not read."]


def test_a_redirect_to_another_host_or_in_a_circle_is_not_followed(site: Site, tmp_path: Path) -> None:
    site.pages["/book/legs"] = (302, {"Location": "http://169.254.169.254/latest/meta-data"})
    site.pages["/book/arms/"] = (302, {"Location": "/book/arms/"})
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert files(report.root) == ["index.html"]
    assert any("leads from page to page without an end" in problem for problem in report.problems)
    assert any("answers 302; it was not read" in problem for problem in report.problems)


def test_a_busy_site_is_waited_for_and_then_told(site: Site, tmp_path: Path) -> None:
    site.pages["/book/legs"] = (429, {"Retry-After": "0"})
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert site.asked.count("/book/legs") == website.TRIES
    assert report.problems == [f"{site.url}/book/legs answers 429; it was not read."]


def test_a_site_of_too_many_pages_is_cut_and_a_large_page_left_out(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(website, "MOST_PAGES", 2)
    monkeypatch.setattr(website, "LARGEST_PAGE", 5_000)
    site.pages["/book/"] = b"x" * 6_000
    site.sitemap("/book/", "/book/legs", "/book/arms/")
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert files(report.root) == ["legs.html"]
    assert "the site lists 3 pages; the first 2 were read." in report.problems
    assert any("it is larger than 5,000 bytes" in problem for problem in report.problems)


def test_a_public_name_that_turns_private_is_not_followed(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    monkeypatch.setattr(website._Visit, "_resolve", lambda self, host: next(answers, ["127.0.0.1"]))
    with pytest.raises(Unavailable, match="now leads to an address inside a private network"):
        fetch_site(f"{site.url}/book/", tmp_path)
    assert site.asked == []


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("https://example.org/book/", True),
        ("https://example.org/sitemap.xml", True),
        ("http://localhost:8000/index.html", True),
        ("https://github.com/owner/repo/", False),
        ("https://git.example.org/owner/repo.git", False),
        ("docs/", False),
    ],
)
def test_a_site_is_told_from_a_repository(address: str, site: bool) -> None:
    assert is_site(address) is site


def test_what_is_no_site_is_said(site: Site, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is no address of a site"):
        fetch_site("https:///book", tmp_path)
    with pytest.raises(NotFound, match="No page of"):
        fetch_site(f"{site.url}/nothing/", tmp_path)
