"""A book's site → a folder of its pages: those that its sitemap lists or its pages link to, fetched once, and again when they
change.

Only pages below that address are fetched, as robots.txt allows; `site_client` fetches each of them.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.robotparser import RobotFileParser

from bythebook.books.booktoml import slug
from bythebook.books.model import sha256
from bythebook.errors import NotFound, Unavailable
from bythebook.ingestion.site_client import AGENT, BUSY, LONGEST_WAIT_SECONDS, REDIRECTED, Fetched, SiteClient, joined, unpacked

MOST_PAGES = 5_000
LARGEST_ROBOTS = 500_000
LONGEST_NAME = 100
MOST_SITEMAPS = 50
MOST_BUSY = 3
LOCATION = re.compile(r"<loc>(?:\s*+<!\[CDATA\[)?([^<]*+)", re.IGNORECASE)
LINK = re.compile(r"""<a\s[^<>]*?href\s*=\s*["']([^"'#?]+)""", re.IGNORECASE)
TITLE = re.compile(r"<title[^<>]*+>([^<]*+)", re.IGNORECASE)
FORGES = frozenset({"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"})
FETCHED = ".fetched.json"
Told = Callable[[int, int], None]


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


class _Visit:
    """One visit to one site."""

    def __init__(self, address: str, folder: Path, tell: Told, over: threading.Event, private: bool) -> None:
        self.client = SiteClient(address, over)
        self.start = address
        self.below = _below(urlsplit(address).path or "/")
        self.root = site_folder(folder, address)
        self.tell = tell
        self.private = private
        self.left_alone = False
        self.busy = 0
        self.known = read_fetched(self.root)
        self.report = FetchReport(root=self.root)

    def run(self) -> FetchReport:
        self.client.connect(private=self.private)
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

    @property
    def stopped(self) -> bool:
        """Whether no more pages are fetched in this visit."""
        return self.left_alone or self.client.is_late

    def _robots(self) -> RobotFileParser:
        robots = RobotFileParser()
        answer = self.client.get(self.client.absolute("/robots.txt"))
        said = answer.body[:LARGEST_ROBOTS].decode("utf-8", "replace")
        robots.parse(said.splitlines() if answer.status == 200 else [])
        return robots

    def _listed(self, robots: RobotFileParser) -> list[str]:
        """The pages of the sitemaps that lie below the address, each once."""
        path = urlsplit(self.start).path
        given = [self.start] if path.endswith((".xml", ".xml.gz")) else []
        queue = deque(given or [self.client.absolute(f"{self.below}sitemap.xml"), *(robots.site_maps() or [])])
        found: dict[str, None] = {}
        seen: set[str] = set()
        while queue and len(seen) < MOST_SITEMAPS:
            sitemap = queue.popleft()
            if sitemap in seen or not self.client.is_here(sitemap):
                continue
            seen.add(sitemap)
            text = _text_of(self.client.get(sitemap))
            listed = (one.strip().removesuffix("]]>").strip() for one in LOCATION.findall(text))
            inside = [joined(sitemap, one) for one in listed if one]
            if "<sitemapindex" in text[:2000]:
                queue.extend(inside)
            else:
                found.update(dict.fromkeys(one for one in inside if self._is_below(one)))
        if given and not found:
            raise NotFound(f"{self.start} lists no page below {self.client.absolute(self.below)}. Is it the book's sitemap?")
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
                target = joined(url, link)
                if target not in seen and len(seen) < 4 * MOST_PAGES and self._is_below(target):
                    seen.add(target)
                    queue.append(target)
        return kept

    def _keep(self, url: str, kept: dict[str, str]) -> bytes:
        """Keeps a page that has not changed, and one that cannot be fetched now."""
        name = self._file_of(url)
        file = self.root / name
        before = self.known.get(url, {}) if file.is_file() else {}
        try:
            answer = None if self.stopped else self.client.get(url, before)
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
                self.report.problems.append(f"{url} leads to {answer.url}, which is not on {self.client.host}; it was not read.")
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
            self.left_alone = True
            self.report.problems.append(
                f"{self.client.host} answers {answer.status}: it wants fewer requests; run it again later to go on."
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
            title = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", html.unescape(named[1])).split()) if named else self.client.host
            said = {"title": title or self.client.host, "base_url": self.client.absolute(self.below)}
            lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in said.items())
            settings.write_text("".join(lines), encoding="utf-8")

    def _is_below(self, url: str) -> bool:
        return self.client.is_here(url) and (urlsplit(url).path or "/").startswith(self.below)

    def _file_of(self, url: str) -> str:
        path = unquote(urlsplit(url).path or "/").removeprefix(self.below)
        parts = [_shortened(re.sub(r"[^\w.-]+", "-", part)) for part in path.split("/")]
        clean = "/".join(part for part in parts[:-1] if part.strip("."))
        name = parts[-1] or "index.html"
        name = name if name.lower().endswith((".html", ".htm")) else f"{name}.html"
        return f"{clean}/{name}" if clean else name


def _shortened(name: str) -> str:
    """Shortens a name to one that a file can have."""
    return name if len(name.encode()) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 4]}-{sha256(name)[:16]}"


def _text_of(answer: Fetched) -> str:
    if answer.status != 200:
        return ""
    body = unpacked(answer.body) if answer.body[:2] == b"\x1f\x8b" else answer.body
    return body.decode("utf-8", "replace")
