"""A book's site → a folder of its pages: those that its sitemap lists or its pages link to, fetched once, and again when they
change.

Only pages of that host below that address are fetched, as robots.txt allows, slowly, and within limits. A public host cannot
redirect to an address inside the operator's own network.
"""

from __future__ import annotations

import hashlib
import html
import http.client
import json
import re
import socket
import ssl
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from bythebook.books.booktoml import slug
from bythebook.books.model import sha256
from bythebook.errors import InvalidInput, NotFound, Unavailable
from bythebook.ingestion.addresses import is_public

AGENT = "bythebook"
MOST_PAGES = 5_000
LARGEST_PAGE = 5_000_000
LARGEST_SITE = 500_000_000
LARGEST_ROBOTS = 500_000
LONGEST_NAME = 100
MOST_SITEMAPS = 50
MOST_REDIRECTS = 5
TIMEOUT_SECONDS = 20.0
PAGE_SECONDS = 60.0
"""The most that one page may take, however slowly its bytes arrive."""
MOST_SECONDS = 1_800.0
LONGEST_WAIT_SECONDS = 60.0
TRIES = 3
BUSY = (429, 503)
MOST_BUSY = 3
REDIRECTED = (301, 302, 303, 307, 308)
LOCATION = re.compile(r"<loc>(?:\s*+<!\[CDATA\[)?([^<]*+)", re.IGNORECASE)
LINK = re.compile(r"""<a\s[^<>]*?href\s*=\s*["']([^"'#?]+)""", re.IGNORECASE)
TITLE = re.compile(r"<title[^<>]*+>([^<]*+)", re.IGNORECASE)
FORGES = frozenset({"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"})
FETCHED = ".fetched.json"
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An answer of the site."""

    status: int
    url: str
    body: bytes = b""
    kind: str = ""
    etag: str = ""
    modified: str = ""
    wait: float = 0.0
    """Seconds after which a busy site wants to be asked again."""


@dataclass(slots=True, kw_only=True)
class FetchReport:
    """What a visit brought. `root`: the folder with the pages."""

    root: Path
    pages: int = 0
    unchanged: int = 0
    problems: list[str] = field(default_factory=list)


def is_site(text: str) -> bool:
    """Whether this is the address of a site, and not of a git repository: it ends in /, or names a page or a sitemap."""
    parts = urlsplit(text)
    here = parts.scheme.lower() in ("http", "https") and parts.hostname not in FORGES
    return here and parts.path.lower().endswith(("/", ".xml", ".xml.gz", ".html", ".htm"))


def fetch_site(
    address: str,
    folder: Path,
    tell: Told = lambda done, total: None,
    *,
    over: threading.Event | None = None,
    private: bool = True,
) -> FetchReport:
    """Fetches the pages below `address`, or those of the sitemap there, into a folder below `folder`. `over`: nobody waits for
    them any more. `private`: the site itself may be inside a private network."""
    return _Visit(address, folder, tell, over or threading.Event(), private).run()


def site_folder(sites: Path, address: str) -> Path:
    """The folder that holds the pages of this site, below the one for all. Two addresses never share one: where characters of an
    address cannot be used in a name, a hash of the address is added. Folders named by earlier versions are still used."""
    parts = urlsplit(address)
    below = _below(parts.path or "/")
    named = f"{parts.hostname}-{below.strip('/')}"
    plain = slug(named) or "site"
    if plain == named.strip("-") and not parts.port:
        return sites / plain
    earlier = sites / plain
    if any(urlsplit(url).path.startswith(below) for url in read_fetched(earlier)):
        return earlier
    return sites / f"{plain[:90]}-{hashlib.sha256(f'{parts.netloc}{below}'.encode()).hexdigest()[:8]}"


def read_fetched(folder: Path) -> dict[str, dict[str, str]]:
    """The pages that a folder holds, by their addresses."""
    try:
        known = json.loads((folder / FETCHED).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _below(path: str) -> str:
    return path[: path.rindex("/") + 1] if path.endswith((".xml", ".xml.gz", ".html", ".htm")) else path.rstrip("/") + "/"


class VisitOver(Exception):
    """Nobody waits for the pages any more."""


class _Visit:
    """One visit to one site."""

    def __init__(self, address: str, folder: Path, tell: Told, over: threading.Event, private: bool) -> None:
        parts = urlsplit(address)
        if not parts.hostname or parts.username:
            raise InvalidInput(f"'{address}' is not the address of a site; it should look like https://example.org/book/.")
        self.start = address
        self.scheme, self.host, self.port = parts.scheme.lower(), parts.hostname, parts.port
        self.below = _below(parts.path or "/")
        self.root = site_folder(folder, address)
        self.tell = tell
        self.over = over
        self.private = private
        self.private_allowed = False
        self.deadline = time.monotonic() + MOST_SECONDS
        self.left = LARGEST_SITE
        self.stopped = False
        self.busy = 0
        self.known = read_fetched(self.root)
        self.report = FetchReport(root=self.root)

    def run(self) -> FetchReport:
        found = self._resolve(self.host)
        self.private_allowed = not any(map(is_public, found))
        if not self.private and not all(map(is_public, found)):
            meant = "If that is meant, set BYTHEBOOK_GIT_PRIVATE=true."
            raise InvalidInput(f"The site {self.start} is at a private address. {meant}")
        robots = self._robots()
        pages = self._listed(robots)
        allowed = [url for url in pages if robots.can_fetch(AGENT, url)]
        if len(pages) > len(allowed):
            forbidden = len(pages) - len(allowed)
            self.report.problems.append(f"robots.txt forbids programs {forbidden:,} page{'s' * (forbidden > 1)}; not read.")
        kept = self._fetch_all(allowed) if pages else self._follow(robots)
        if not kept and self.stopped:
            raise Unavailable(f"No page of {self.start} was read: {self.report.problems[-1]}")
        if not kept:
            why = f" ({self.report.problems[0].rstrip('.')})" if self.report.problems else ""
            meant = "Give the address of the book's first page or of its sitemap.xml."
            raise NotFound(f"No page of {self.start} can be read{why}. {meant}")
        self._finish(kept)
        return self.report

    def _robots(self) -> RobotFileParser:
        robots = RobotFileParser()
        answer = self._get(self._absolute("/robots.txt"))
        said = answer.body[:LARGEST_ROBOTS].decode("utf-8", "replace")
        robots.parse(said.splitlines() if answer.status == 200 else [])
        return robots

    def _listed(self, robots: RobotFileParser) -> list[str]:
        """The pages of the sitemaps that lie below the address, each once."""
        path = urlsplit(self.start).path
        given = [self.start] if path.endswith((".xml", ".xml.gz")) else []
        queue = deque(given or [self._absolute(f"{self.below}sitemap.xml"), *(robots.site_maps() or [])])
        found: dict[str, None] = {}
        seen: set[str] = set()
        while queue and len(seen) < MOST_SITEMAPS:
            sitemap = queue.popleft()
            if sitemap in seen or not self._is_here(sitemap, below=False):
                continue
            seen.add(sitemap)
            text = _unpacked(self._get(sitemap))
            listed = (one.strip().removesuffix("]]>").strip() for one in LOCATION.findall(text))
            inside = [_joined(sitemap, one) for one in listed if one]
            if "<sitemapindex" in text[:2000]:
                queue.extend(inside)
            else:
                found.update(dict.fromkeys(one for one in inside if self._is_here(one)))
        if given and not found:
            raise NotFound(f"{self.start} lists no page below {self._absolute(self.below)}. Is it the book's sitemap?")
        if len(found) > MOST_PAGES:
            self.report.problems.append(f"the site lists {len(found):,} pages; the first {MOST_PAGES:,} were read.")
        return list(found)[:MOST_PAGES]

    def _fetch_all(self, pages: list[str]) -> dict[str, str]:
        kept: dict[str, str] = {}
        for number, url in enumerate(pages, start=1):
            self.tell(number, len(pages))
            self._keep(url, kept)
        return kept

    def _follow(self, robots: RobotFileParser) -> dict[str, str]:
        """Without a sitemap: follows links from the first page on. Each page is visited once, however often it is linked to."""
        queue, seen, kept = deque([self.start]), {self.start}, dict[str, str]()
        while queue and len(kept) < MOST_PAGES:
            url = queue.popleft()
            self.tell(len(kept), len(kept) + len(queue) + 1)
            body = self._keep(url, kept) if robots.can_fetch(AGENT, url) else b""
            for link in LINK.findall(body.decode("utf-8", "replace")):
                target = _joined(url, link)
                if target not in seen and len(seen) < 4 * MOST_PAGES and self._is_here(target):
                    seen.add(target)
                    queue.append(target)
        return kept

    def _keep(self, url: str, kept: dict[str, str]) -> bytes:
        """Keeps a page that has not changed, and one that cannot be fetched now."""
        name = self._file_of(url)
        file = self.root / name
        before = self.known.get(url, {}) if file.is_file() else {}
        try:
            answer = None if self.stopped else self._get(url, before)
        except Unavailable as error:
            self.report.problems.append(str(error))
            answer = None
        if answer is None or self._is_busy(answer):
            if before:
                kept[url] = name
            return b""
        if answer.status == 304:
            kept[url] = name
            self.report.unchanged += 1
            return file.read_bytes()
        if answer.status != 200 or "html" not in answer.kind:
            if answer.status in REDIRECTED:
                self.report.problems.append(f"{url} leads to {answer.url}, which is not on {self.host}; it was not read.")
            elif answer.status != 200:
                self.report.problems.append(f"{url} answers {answer.status}; it was not read.")
            return b""
        mark = f"<!-- saved from url=({len(answer.url):04}){answer.url} -->\n"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(mark.encode("utf-8", "replace") + answer.body)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            self.report.problems.append(f"{url} has the name of a folder of the site, or below a page; it was not read.")
            return b""
        self.known[url] = {"etag": answer.etag, "modified": answer.modified}
        kept[url] = name
        self.report.pages += 1
        return answer.body

    def _is_busy(self, answer: Fetched) -> bool:
        """Whether the site wants fewer requests. A visit ends when several pages in a row say so, or one says to come back much
        later."""
        if answer.status not in BUSY:
            self.busy = 0
            return False
        self.busy += 1
        if answer.wait > LONGEST_WAIT_SECONDS or self.busy == MOST_BUSY:
            self.stopped = True
            self.report.problems.append(
                f"{self.host} answers {answer.status}: it wants fewer requests; run it again later to go on."
            )
        elif not self.stopped:
            self.report.problems.append(f"{answer.url} answers {answer.status}; run it again later to read it.")
        return True

    def _finish(self, kept: dict[str, str]) -> None:
        """Removes pages that the site no longer has. Writes a `book.toml` with the site's address where the user has none."""
        if self.stopped:  # what was not asked for again may still be there
            kept |= {url: name for url in self.known if (self.root / (name := self._file_of(url))).is_file()} | kept
        names = set(kept.values())
        for file in self.root.rglob("*.html"):
            if file.relative_to(self.root).as_posix() not in names:
                file.unlink()
        self.known = {url: self.known.get(url, {}) for url in kept}
        (self.root / FETCHED).write_text(json.dumps(self.known), encoding="utf-8")
        settings = self.root / "book.toml"
        if not settings.exists():
            first = (self.root / next(iter(kept.values()))).read_text("utf-8", "replace")
            named = TITLE.search(first)
            title = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", html.unescape(named[1])).split()) if named else self.host
            said = {"title": title or self.host, "base_url": self._absolute(self.below)}
            lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in said.items())
            settings.write_text("".join(lines), encoding="utf-8")

    def _absolute(self, path: str) -> str:
        port = f":{self.port}" if self.port else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{port}{path}"

    def _is_here(self, url: str, *, below: bool = True) -> bool:
        try:
            parts = urlsplit(url)
            port = parts.port or 0
        except ValueError:  # an invalid port, or brackets without an address
            return False
        here = parts.scheme in ("http", "https") and parts.hostname == self.host and port in (self.port or 0, 80, 443)
        return here and (not below or (parts.path or "/").startswith(self.below))

    def _file_of(self, url: str) -> str:
        path = unquote(urlsplit(url).path or "/").removeprefix(self.below)
        parts = [_shortened(re.sub(r"[^\w.-]+", "-", part)) for part in path.split("/")]
        clean = "/".join(part for part in parts[:-1] if part.strip("."))
        name = parts[-1] or "index.html"
        name = name if name.lower().endswith((".html", ".htm")) else f"{name}.html"
        return f"{clean}/{name}" if clean else name

    def _get(self, url: str, before: dict[str, str] | None = None) -> Fetched:
        """Fetches one page. Redirects are followed on the same host; a busy server is waited for."""
        here = url
        for _ in range(MOST_REDIRECTS + 1):
            answer, target = self._attempts(here, before or {})
            if target is None:
                return answer
            here = _joined(here, target)
            if not self._is_here(here, below=False):
                return Fetched(status=answer.status, url=here)
        raise Unavailable(f"{url} leads from page to page without an end; it was not read.")

    def _attempts(self, url: str, before: dict[str, str]) -> tuple[Fetched, str | None]:
        for attempt in range(TRIES):
            if self.over.is_set():
                raise VisitOver
            if time.monotonic() > self.deadline:
                self.stopped = True
                raise Unavailable(f"{self.host} takes longer than {MOST_SECONDS / 60:.0f} minutes; run it again to go on.")
            try:
                answer, target = self._request(url, before)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise Unavailable(f"{url} cannot be fetched ({error}); check the address and the network.") from error
            if answer.status not in BUSY or attempt == TRIES - 1 or answer.wait > LONGEST_WAIT_SECONDS:
                return answer, target
            self.over.wait(answer.wait or 2.0**attempt)
        raise AssertionError("the last attempt returns")

    def _request(self, url: str, before: dict[str, str]) -> tuple[Fetched, str | None]:
        parts = urlsplit(url)
        headers = {"User-Agent": AGENT, "Accept": "text/html, application/xml;q=0.9", "Accept-Encoding": "gzip"}
        headers |= {"If-None-Match": before["etag"]} if before.get("etag") else {}
        headers |= {"If-Modified-Since": before["modified"]} if before.get("modified") else {}
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
        with self._connection(parts.scheme, parts.port) as connection:
            connection.request("GET", path, headers={**headers, "Host": parts.netloc.rpartition("@")[2]})
            response = connection.getresponse()
            body = response.read(LARGEST_PAGE + 1)
        if len(body) > LARGEST_PAGE:
            raise ValueError(f"it is larger than {LARGEST_PAGE:,} bytes")
        if response.getheader("Content-Encoding", "") == "gzip":
            body = _gunzip(body)
        self.left -= len(body)
        if self.left < 0:
            raise ValueError(f"the site is larger than {LARGEST_SITE:,} bytes")
        after = response.getheader("Retry-After", "")
        answer = Fetched(
            status=response.status,
            url=url,
            body=body,
            kind=response.getheader("Content-Type", "").lower(),
            etag=response.getheader("ETag", ""),
            modified=response.getheader("Last-Modified", ""),
            wait=float(after) if after.isdigit() else 0.0,
        )
        return answer, response.getheader("Location") if response.status in REDIRECTED else None

    @contextmanager
    def _connection(self, scheme: str, port: int | None) -> Iterator[http.client.HTTPConnection]:
        """A connection to the address that was checked, not to one that the name resolves to a moment later; used for one
        page."""
        address = self._checked_address()
        port = port or {"http": 80}.get(scheme, 443)
        connection = http.client.HTTPConnection(address, port)
        connected = socket.create_connection((address, port), TIMEOUT_SECONDS)
        try:
            if scheme == "https":
                secure = ssl.create_default_context()
                connected = secure.wrap_socket(connected, server_hostname=self.host, do_handshake_on_connect=False)
            with _time_limit(connected):
                if isinstance(connected, ssl.SSLSocket):
                    connected.do_handshake()
                connection.sock = connected
                yield connection
        finally:
            connection.close()
            connected.close()

    def _checked_address(self) -> str:
        found = self._resolve(self.host)
        if not self.private_allowed and not all(map(is_public, found)):
            raise ValueError(f"{self.host} now leads to an address inside a private network")
        return found[0]

    def _resolve(self, host: str) -> list[str]:
        try:
            return [str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        except OSError as error:
            raise Unavailable(f"{host} cannot be found ({error.strerror}); check the address and the network.") from error


@contextmanager
def _time_limit(connected: socket.socket) -> Iterator[None]:
    """Ends the connection when its time is over, whatever is being read from it."""
    over = threading.Event()

    def end() -> None:
        over.set()
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(PAGE_SECONDS, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if over.is_set():
            raise TimeoutError(f"it takes longer than {PAGE_SECONDS:.0f} seconds")


def _joined(base: str, link: str) -> str:
    """The address that a link leads to; nothing where it is not an address."""
    try:
        return urljoin(base, html.unescape(link))
    except ValueError:
        return ""


def _shortened(name: str) -> str:
    """Shortens a name to one that a file can have."""
    return name if len(name.encode()) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 4]}-{sha256(name)[:16]}"


def _unpacked(answer: Fetched) -> str:
    if answer.status != 200:
        return ""
    body = _gunzip(answer.body) if answer.body[:2] == b"\x1f\x8b" else answer.body
    return body.decode("utf-8", "replace")


def _gunzip(body: bytes) -> bytes:
    """Unpacks at most as much as a page may have."""
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        text = unpacker.decompress(body, LARGEST_PAGE)
    except zlib.error as error:
        raise ValueError("what it sends cannot be unpacked") from error
    if unpacker.unconsumed_tail:
        raise ValueError(f"it is larger than {LARGEST_PAGE:,} bytes")
    return text
