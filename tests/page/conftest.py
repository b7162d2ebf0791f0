"""The page in a real browser, over a real server with the sample book and a hostile one."""

from __future__ import annotations

import json
import shutil
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from bythebook.texts import LANGUAGES, page_words
from scripts.screenshots import launch
from tests.support.hostile_book import BOOK_ID, shelf
from tests.support.library import copy_data, fast_folder
from tests.support.serving import BOOK, Service, running, silent

MODULES = Path(str(files("bythebook.web") / "page"))
EMPTY = "<!doctype html><html lang=en><title>Empty</title><main></main><div id=announcer></div><div id=toasts></div>"
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
def modules(browser: Browser) -> Iterator[Page]:
    """An empty page with the page's modules and no server: any other request is answered with nothing."""
    context = browser.new_context(base_url="http://localhost:9")
    page = context.new_page()
    page.route("**/*", _module)
    page.goto("/")
    yield page
    context.close()


def _module(route: Route) -> None:
    name = urlsplit(route.request.url).path.rpartition("/")[2]
    if name.startswith("words-") and name[6:-3] in LANGUAGES:
        told = json.dumps(page_words(name[6:-3]))
        route.fulfill(content_type="text/javascript", body=f"export default {told};")
    elif name and (MODULES / name).is_file():
        route.fulfill(path=MODULES / name, content_type="text/javascript")
    else:
        route.fulfill(status=200 if not name else 404, content_type="text/html", body=EMPTY)


@pytest.fixture(scope="package")
def tabs(browser: Browser, service: Service) -> Iterator[Tabs]:
    made = Tabs(browser, service.url)
    yield made
    made.close()


@pytest.fixture
def open_page(browser: Browser, service: Service, tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """Opens a page for a reader of its own: `fresh` in a new browser context, otherwise in a tab that an earlier test has left,
    with nothing kept from it. At the end nothing may have failed in any, and none may have asked another host."""
    used: list[Tab] = []

    def open(
        path: str = "/",
        *,
        base: str = service.url,
        fresh: bool = False,
        first_visit: bool = False,
        phone: bool = False,
        viewport: dict[str, int] | None = None,
        **media: object,
    ) -> Page:
        shared = base == service.url and not fresh and not first_visit
        tab = tabs.take(phone) if shared else new_tab(browser, base, phone=phone, known=not first_visit)
        tab.hosts, tab.shared = (base, service.url, "blob:", "data:"), shared
        used.append(tab)
        if not phone or viewport:
            tab.page.set_viewport_size(viewport or WIDE)  # type: ignore[arg-type]
        if media:
            tab.page.emulate_media(**media)  # type: ignore[arg-type]
        tab.page.goto(path)
        return tab.page

    yield open
    troubles = [one for tab in used for one in tab.troubles]
    for tab in used:
        if tab.shared:
            tabs.give_back(tab)
        else:
            tab.page.context.close()
    assert not troubles


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """The page with the sample book, ready to be asked."""
    page = open_page("/")
    page.locator(".contents").wait_for()
    return page


@dataclass(eq=False, slots=True, kw_only=True)
class Tab:
    """A page of the browser, and what went wrong in it."""

    page: Page
    hosts: tuple[str, ...] = ()
    troubles: list[str] = field(default_factory=list)
    phone: bool = False
    shared: bool = False


def new_tab(browser: Browser, base: str, *, phone: bool, known: bool = True) -> Tab:
    screen: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if phone else {"viewport": WIDE}
    context = browser.new_context(base_url=base, permissions=["clipboard-read", "clipboard-write"], **screen)
    context.set_default_timeout(SECONDS * 1000)
    if known:
        context.add_init_script(KNOWN_READER)
    tab = Tab(page=context.new_page(), phone=phone)

    def trouble(what: str) -> None:
        tab.troubles.append(what)

    tab.page.on("pageerror", lambda error: trouble(f"error: {error}"))
    tab.page.on("dialog", lambda dialog: trouble(f"dialog: {dialog.message}"))
    tab.page.on("request", lambda request: None if request.url.startswith(tab.hosts) else trouble(f"asked {request.url}"))
    return tab


class Tabs:
    """A new browser context costs more than most tests do in one."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._browser, self._url = browser, url
        self._idle: dict[bool, list[Tab]] = {True: [], False: []}

    def take(self, phone: bool) -> Tab:
        return self._idle[phone].pop() if self._idle[phone] else new_tab(self._browser, self._url, phone=phone)

    def give_back(self, tab: Tab) -> None:
        """Nothing of this reader is left for the next one."""
        tab.page.unroute_all()
        tab.page.context.set_offline(False)
        tab.page.goto("/page/icon.svg")
        tab.page.evaluate("() => (localStorage.clear(), sessionStorage.clear())")
        tab.page.emulate_media(media="null", color_scheme="null", reduced_motion="null", forced_colors="null")
        tab.troubles.clear()
        self._idle[tab.phone].append(tab)

    def close(self) -> None:
        for tab in [*self._idle[True], *self._idle[False]]:
            tab.page.context.close()


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
