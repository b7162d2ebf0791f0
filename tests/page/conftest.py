"""The page in a real browser, over a real server with the sample book and a hostile one."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import structlog
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from scripts.screenshots import launch
from tests.cli.conftest import run_process
from tests.library import fast_folder
from tests.page.hostile_book import BOOK_ID, write_hostile_book
from tests.sample_library import sample_library
from tests.web.serving import Service, running

WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
SECONDS = 30


@pytest.fixture(autouse=True, scope="package")
def _silence() -> None:
    """What the server in this process would write about itself."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.fixture(scope="package")
def foreign_site() -> Iterator[ForeignSite]:
    """The book's own site, on another origin than the server."""
    with ForeignSite() as site:
        yield site


@pytest.fixture(scope="package")
def library() -> Iterator[Path]:
    """A data folder with the sample book and the hostile one."""
    folder = fast_folder()
    data_dir = sample_library(folder)
    done = run_process("ingest", write_hostile_book(folder / BOOK_ID), data_dir=data_dir)
    assert done.code == 0, done.err
    yield data_dir
    shutil.rmtree(folder)


@pytest.fixture(scope="package")
def service(library: Path, foreign_site: ForeignSite) -> Iterator[Service]:
    with running(library, cors_origins=foreign_site.url, source_roots=str(library.parent)) as there:
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

    def open(path: str = "/", *, base: str = service.url, allowed: tuple[str, ...] = (), **given: object) -> Page:
        context = browser.new_context(base_url=base, **{"viewport": WIDE, **given})  # type: ignore[arg-type]
        context.set_default_timeout(SECONDS * 1000)
        contexts.append(context)
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
    """Serves one page: a lesson of the book, with the tag of the widget. `tag` is set once the server's address is known."""

    def __init__(self) -> None:
        site = self
        self.tag = ""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f'<!doctype html><html lang="en" data-theme="dark"><title>Lesson</title><style>{SITE_STYLE}</style>'
                sent = f"{body}<body><h1>Lesson</h1><button id='own'>Own</button>{site.tag}</body></html>".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: object) -> None:
                """Nothing to say."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

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
