"""The order of a folder of HTML pages, from their own links: each page's link to the next, and the contents on a front page."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bythebook.books.discovery import read_beside
from bythebook.books.formats.readers import PAGES
from bythebook.books.sites.navigation import natural
from bythebook.books.sites.site import Site
from bythebook.errors import InvalidBook

CONTENTS = ("index", "contents")
"""Names of pages that list the others, the likeliest first; `index.en.html` is one too."""
CHAIN_SHARE = 0.8
LARGEST_PAGE = 10_000_000
LONGEST_TAG = 2_000
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
LINK = re.compile(rf"<(?:a|link)\s([^<>]{{1,{LONGEST_TAG}}})>", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""\b(href|rel|class)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
NEXT = re.compile(r"(?:.*[-_])?next")
"""A class of links to the next page: `next`, `nav-next`, `pagination-nav__link--next`."""
SAVED_FROM = re.compile(r"<!-- saved from url=\(\d+\)(\S+) -->")


def linked_pages(root: Path, paths: Sequence[str]) -> Site | None:
    """A book of these pages in the order that they give each other. None where their links order nothing."""
    book = _Pages(root, paths)
    found: dict[str, None] = {}
    starts = book.fronts() or book.heads()
    for start in starts:
        found.update(dict.fromkeys(book.order(start)))
    return Site(style="plain", config=starts[0], folder=root, entries=tuple(found)) if len(found) > 1 else None


class _Pages:
    """The pages of one folder, each read once: PostgreSQL's manual has more than a thousand."""

    def __init__(self, root: Path, paths: Sequence[str]) -> None:
        self.root = root
        self.paths = sorted(paths, key=natural)
        self.known = frozenset(paths)
        self.read: dict[str, tuple[list[str], str]] = {}

    def fronts(self) -> list[str]:
        """The page of contents in the topmost folder, or one in each of several folders side by side."""
        named = [path for path in self.paths if _stem(path) in CONTENTS]
        top = min((path.count("/") for path in named), default=0)
        best: dict[str, str] = {}
        for path in sorted((path for path in named if path.count("/") == top), key=lambda path: CONTENTS.index(_stem(path))):
            best.setdefault(posixpath.dirname(path), path)
        return sorted(best.values(), key=natural)

    def heads(self) -> list[str]:
        """The pages that link to a next page and that no page links to as its next."""
        reached = {self.next(path) for path in self.paths}
        return [path for path in self.paths if self.next(path) and path not in reached]

    def order(self, front: str) -> list[str]:
        """By the links to the next page, then what only the contents list. Where those links reach far fewer pages than the
        contents, the contents go first: in some manuals "next" means the next section of the same level."""
        chain, listed = list(self._chain(front)), list(self._listed(front))
        return [*chain, *listed] if len(chain) >= CHAIN_SHARE * len(listed) else listed

    def next(self, path: str) -> str:
        return self._links(path)[1]

    def _chain(self, path: str) -> Iterator[str]:
        seen = set[str]()
        while path and path not in seen:
            seen.add(path)
            yield path
            path = self.next(path)

    def _listed(self, front: str) -> Iterator[str]:
        """Pages in the order of the contents, each with those that it leads to and the contents leave out. A folder's own front
        page lists that folder's pages."""
        waiting, seen, contents = [front], set[str](), set[str]()
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            yield path
            is_contents = path == front or _stem(path) == CONTENTS[0]
            below = f"{posixpath.dirname(path)}/" if is_contents and path != front else ""
            links = [one for one in self._links(path)[0] if one.startswith(below)] if is_contents else []
            contents.update(links)
            following = self.next(path)
            waiting += reversed([*links, *([following] if following and following not in contents else [])])

    def _links(self, path: str) -> tuple[list[str], str]:
        """The pages that a page links to, in order, and the one that it names as the next."""
        if path not in self.read:
            links, following = dict[str, None](), ""
            for target, is_next in self._targets(path):
                links[target] = None
                following = following or (target if is_next else "")
            self.read[path] = list(links), following
        return self.read[path]

    def _targets(self, path: str) -> Iterator[tuple[str, bool]]:
        try:
            raw = read_beside(self.root, path, limit_bytes=LARGEST_PAGE) or b""
        except InvalidBook:  # reported where it is read as a lesson
            return
        text = raw.decode("utf-8", "replace")
        saved = SAVED_FROM.match(text)
        host = urlsplit(saved[1]).netloc if saved else ""
        for link in LINK.finditer(COMMENT.sub("", text)):
            said = {name.lower(): html.unescape(one or other or bare) for name, one, other, bare in ATTRIBUTE.findall(link[1])}
            target = self._resolved(said.get("href", ""), path, host)
            if target and target != path:
                is_next = "next" in said.get("rel", "").lower().split()
                yield target, is_next or any(map(NEXT.fullmatch, said.get("class", "").lower().split()))

    def _resolved(self, href: str, path: str, host: str) -> str:
        """The page of this book that a link leads to. An address from the site's root may begin with folders that are not
        here."""
        try:
            parts = urlsplit(href.strip())
        except ValueError:
            return ""
        is_elsewhere = bool(parts.scheme or parts.netloc) and (not host or parts.netloc != host)
        if is_elsewhere or not parts.path:
            return ""
        target = unquote(parts.path)
        if not target.startswith("/"):
            return self._page(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
        names = target.strip("/").split("/")
        return next(filter(None, (self._page("/".join(names[skipped:])) for skipped in range(len(names)))), "")

    def _page(self, target: str) -> str:
        """A file by its path, or by an address without its ending."""
        given = "" if target == "." else target.strip("/")
        forms = (given, *(f"{given}{suffix}" for suffix in PAGES), posixpath.join(given, "index.html"))
        return next((form for form in forms if form in self.known), "")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0].lower()
