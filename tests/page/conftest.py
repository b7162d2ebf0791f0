"""The page in a real browser, over a real server with the sample book and a hostile one."""

from __future__ import annotations

import shutil
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from scripts.screenshots import launch
from tests.support.hostile_book import BOOK_ID, shelf
from tests.support.library import copy_data, fast_folder
from tests.support.serving import BOOK, Service, running, silent

WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
SECONDS = 60
KNOWN_READER = f"""
try {{
    if (!localStorage.getItem("bythebook.book")) localStorage.setItem("bythebook.book", "{BOOK}");
}} catch {{}}
"""
"""Who has chosen a book before comes back to it; who comes for the first time sees the shelf."""


@pytest.fixture(autouse=True, scope="module")
def _silence() -> Iterator[None]:
    with silent():
        yield


@pytest.fixture(scope="package")
def foreign_site() -> Iterator[ForeignSite]:
    """The book's own site, on another origin than the server."""
    with ForeignSite() as site:
        yield site


@pytest.fixture(scope="package")
def prepared() -> Path:
    """The sample book and the hostile one in one library."""
    return shelf()


@pytest.fixture(scope="package")
def hostile_book(prepared: Path) -> Path:
    """Where its lessons are."""
    return prepared / BOOK_ID


@pytest.fixture(scope="package")
def library(prepared: Path) -> Iterator[Path]:
    """A copy to work on."""
    folder = fast_folder()
    yield copy_data(prepared / "data", folder / "data")
    shutil.rmtree(folder)


@pytest.fixture(scope="package")
def service(library: Path, prepared: Path, foreign_site: ForeignSite) -> Iterator[Service]:
    with running(library, cors_origins=foreign_site.url, source_roots=str(prepared)) as there:
        foreign_site.tutor = there.url
        yield there


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Ends with this package: while it lives, nothing else can run an event loop in this thread."""
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, service: Service) -> Iterator[Callable[..., Page]]:
    """Opens a page of its own. At the end nothing may have failed in any, and none may have asked another host."""
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def open(
        path: str = "/", *, base: str = service.url, allowed: tuple[str, ...] = (), first_visit: bool = False, **given: object
    ) -> Page:
        context = browser.new_context(base_url=base, **{"viewport": WIDE, **given})  # type: ignore[arg-type]
        context.set_default_timeout(SECONDS * 1000)
        contexts.append(context)
        if not first_visit:
            context.add_init_script(KNOWN_READER)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        known = (base, service.url, "blob:", "data:", *allowed)
        page.on("request", lambda request: None if request.url.startswith(known) else troubles.append(f"asked {request.url}"))
        page.goto(path)
        return page

    yield open
    for context in contexts:
        context.close()
    assert not troubles


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """The page with the sample book, ready to be asked."""
    page = open_page("/")
    page.locator(".contents").wait_for()
    return page


class ForeignSite:
    """Serves one page: a lesson of the book, with the tag of the widget. Its policy lets in what docs/widget.md names, no more.
    `tutor` and `tag` are set once the server's address is known; `text` is what a test wants to read there."""

    def __init__(self) -> None:
        site = self
        self.tutor = self.tag = self.text = ""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f'<!doctype html><html lang="en" data-theme="dark"><title>Lesson</title><style>{SITE_STYLE}</style>'
                sent = f"{body}<body><h1>Lesson</h1><button id='own'>Own</button>{site.text}{site.tag}</body></html>".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(sent)))
                self.send_header("Content-Security-Policy", site.policy)
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing to say."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def policy(self) -> str:
        own = b64encode(sha256(SITE_STYLE.encode()).digest()).decode()
        return f"default-src 'none'; style-src 'sha256-{own}'; script-src {self.tutor}; connect-src {self.tutor}"

    def __enter__(self) -> ForeignSite:
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


SITE_STYLE = "button { font-size: 77px !important } textarea { display: none !important }"
"""What must not reach into the widget."""
