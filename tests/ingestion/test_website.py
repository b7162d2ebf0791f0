"""Sites on the loopback: fetched by sitemap or by links, once, politely and in bounds; and what a site may do wrong."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bythebook.books.booktoml import read_book
from bythebook.errors import InvalidInput, NotFound, Unavailable
from bythebook.ingestion import site_client, website
from bythebook.ingestion.addresses import is_public
from bythebook.ingestion.website import fetch_site, is_site, site_folder
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
    assert report.problems == ["robots.txt forbids programs 1 page; not read."]


def test_a_redirect_to_another_host_or_in_a_circle_is_not_followed(site: Site, tmp_path: Path) -> None:
    site.pages["/book/legs"] = (302, {"Location": "http://169.254.169.254/latest/meta-data"})
    site.pages["/book/arms/"] = (302, {"Location": "/book/arms/"})
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert files(report.root) == ["index.html"]
    assert any("leads from page to page without an end" in problem for problem in report.problems)
    leads = f"{site.url}/book/legs leads to http://169.254.169.254/latest/meta-data, which is not on 127.0.0.1; it was not read."
    assert leads in report.problems


def test_a_busy_site_is_waited_for_and_then_told(site: Site, tmp_path: Path) -> None:
    site.pages["/book/legs"] = (429, {"Retry-After": "0"})
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert site.asked.count("/book/legs") == site_client.TRIES
    (problem,) = report.problems
    assert problem.startswith(f"{site.url}/book/legs answers 429")


def test_a_site_that_stays_busy_is_left_and_what_was_read_before_stays(site: Site, tmp_path: Path) -> None:
    first = fetch_site(f"{site.url}/book/", tmp_path)
    site.pages["/book/"] = (429, {"Retry-After": "3600"})
    site.asked.clear()
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert site.asked == ["/robots.txt", "/book/sitemap.xml", "/book/"]
    (problem,) = report.problems
    assert problem.startswith("127.0.0.1 answers 429")
    assert files(report.root) == files(first.root)
    with pytest.raises(Unavailable, match=r"No page of .* was read: 127\.0\.0\.1 answers 429"):
        fetch_site(f"{site.url}/book/", tmp_path / "other")


def test_a_site_of_too_many_pages_is_cut_and_a_large_page_left_out(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(website, "MOST_PAGES", 2)
    monkeypatch.setattr(site_client, "LARGEST_PAGE", 5_000)
    site.pages["/book/"] = b"x" * 6_000
    site.sitemap("/book/", "/book/legs", "/book/arms/")
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert files(report.root) == ["legs.html"]
    assert "the site lists 3 pages; the first 2 were read." in report.problems
    assert any("it is larger than 5,000 bytes" in problem for problem in report.problems)


def test_a_public_name_that_turns_private_is_not_followed(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    monkeypatch.setattr(site_client.SiteClient, "_resolve", lambda self, host: next(answers, ["127.0.0.1"]))
    with pytest.raises(Unavailable, match="private network"):
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
    with pytest.raises(InvalidInput, match="is not the address of a site"):
        fetch_site("https:///book", tmp_path)
    with pytest.raises(NotFound, match="No page of"):
        fetch_site(f"{site.url}/nothing/", tmp_path)


def test_a_page_made_to_hurt_is_read_in_time(site: Site, tmp_path: Path) -> None:
    """Each of these took minutes: a link, a title and a sitemap's entry that begin again and again and never end."""
    for number, piece in enumerate(("<a ", "<a href ", "<title>", "<title ", "<loc> ")):
        site.pages[f"/book/{number}"] = piece.encode() * 100_000
    site.page("/book/", "The arm bends.", *(f"/book/{number}" for number in range(5)))
    site.pages["/book/sitemap.xml"] = b"<loc>" + b" " * 100_000
    site.pages["/robots.txt"] = b"User-agent: *\n" + b"Disallow: /nowhere\n" * 200_000
    began = time.process_time()
    assert fetch_site(f"{site.url}/book/", tmp_path).pages == 6
    assert time.process_time() - began < 10


def test_links_that_are_none_are_passed_over(site: Site, tmp_path: Path) -> None:
    links = (f"{site.url}9999999/book/", "http://[/book/", "http://[::1/book/", "//[x]/", "x" * 4_000, "/book/" + "y" * 300)
    site.page("/book/", "The arm bends.", *links, "/book/legs", "/book/legs.html/below")
    site.page("/book/legs.html/below", "A knee.")
    site.page("/book/" + "y" * 300, "A page with a long name.")
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert report.pages == 3 + 1
    assert any("it was not read" in problem for problem in report.problems)


def test_a_title_with_control_characters_makes_a_book(site: Site, tmp_path: Path) -> None:
    site.pages["/book/"] = b"<title>A\x7fb\x01 [31mbook</title><p>The arm bends.</p>"
    report = fetch_site(f"{site.url}/book/", tmp_path)
    assert read_book(report.root)[0].title == "A b [31mbook"


def test_a_page_that_comes_in_drops_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps every wait for the next one short."""
    monkeypatch.setattr(site_client, "PAGE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/book/"

        def drip() -> None:
            connected, _ = listening.accept()
            with connected, suppress(OSError):
                connected.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
                while True:
                    connected.sendall(b".")
                    time.sleep(0.05)  # this is what it does

        dripping = threading.Thread(target=drip)
        dripping.start()
        with pytest.raises(Unavailable, match="takes longer than"):
            fetch_site(url, tmp_path)
        dripping.join()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("1.1.1.1", True),
        ("2606:4700::1111", True),
        ("64:ff9b::101:101", True),
        *(
            (one, False)
            for one in ("127.0.0.1", "0.0.0.0", "10.1.2.3", "169.254.169.254", "100.64.0.1", "224.0.0.1", "::1", "::")
        ),
        *(
            (one, False)
            for one in ("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::7f00:1")
        ),
        *((one, False) for one in ("2002:7f00:1::", "2002:a00:1::1", "fe80::1%eth0", "fc00::1", "2001::1", "ff02::1")),
    ],
)
def test_an_address_is_public_by_what_it_leads_to(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_no_two_addresses_share_a_folder_and_earlier_folders_are_used_on(tmp_path: Path) -> None:
    addresses = ("https://a.example/b/c/", "https://a.example/b-c/", "https://a.example/b/c/d/", "https://a.example:8443/b-c/")
    assert len({site_folder(tmp_path, address) for address in addresses}) == len(addresses)
    assert site_folder(tmp_path, addresses[1]) == tmp_path / "a.example-b-c"
    (tmp_path / "a.example-b-c").mkdir()
    (tmp_path / "a.example-b-c" / ".fetched.json").write_text('{"https://a.example/b/c/one.html": {}}')
    assert site_folder(tmp_path, addresses[0]) == tmp_path / "a.example-b-c"  # as it was named before
