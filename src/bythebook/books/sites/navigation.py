"""The order of a book's lessons: as its site lists them, else by the numbers in frontmatter, folders and names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from bythebook.books.links import EXTENSION, on_site, without_number
from bythebook.books.sites.site import Site

INDEX_NAMES = frozenset({"index", "readme", "_index"})
DIGITS = re.compile(r"(\d+)")
Weight = tuple[float, tuple[tuple[int, int, str], ...]]
UNWEIGHTED = float("inf")


def lesson_order(site: Site, weights: Mapping[str, float | None], folders: Mapping[str, float]) -> dict[str, int]:
    """The place of each lesson, counted from 1. `weights`: the place among its neighbours in each lesson's frontmatter;
    `folders`: the same for folders that have a file for it."""
    below = {**{folder_of(path): weight for path, weight in weights.items() if weight is not None and is_front(path)}, **folders}
    ordered = sorted(weights, key=lambda path: _key(path, weights[path], below))
    found = _listed(site, {path: _name(site, _shown(site, path)) for path in ordered}) if site.entries else []
    return {path: place for place, path in enumerate(dict.fromkeys([*found, *ordered]), start=1)}


def _listed(site: Site, names: Mapping[str, str]) -> Iterable[str]:
    """`names` of all lessons, in order. Each folder is read once, however often it is listed."""
    named = {name: path for path, name in reversed(list(names.items()))}
    inside: dict[str, list[str]] = {}
    for path, name in names.items():
        parts = name.split("/") if name else []
        for depth in range(len(parts) + 1):
            inside.setdefault("/".join(parts[:depth]), []).append(path)
    entries = dict.fromkeys((_name(site, entry), entry.endswith("/")) for entry in site.entries)
    explicit = {named.get(name) for name, is_folder in entries if not is_folder}
    for name, is_folder in entries:
        if is_folder:
            yield from (path for path in inside.get(name, ()) if path not in explicit)
        elif name in named:
            yield named[name]


def _shown(site: Site, path: str) -> str:
    return on_site(path, content=site.content, within=site.within)


def _name(site: Site, entry: str) -> str:
    """The name that a lesson shares with its entry: without suffix, without `index`, and without numbers if the site drops
    them."""
    path = posixpath.normpath(unquote(entry.partition("#")[0]).strip("/"))
    stem = re.sub(r"\.html$", "", EXTENSION.sub("", path))
    parts = [without_number(part) if site.style == "docusaurus" else part for part in stem.split("/")]
    if parts[-1].lower() in INDEX_NAMES or parts == ["."]:
        parts.pop()
    return "/".join(parts)


def is_front(path: str) -> bool:
    """Whether a lesson is the first page of its folder."""
    return EXTENSION.sub("", path).rpartition("/")[2].lower() in INDEX_NAMES


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _key(path: str, weight: float | None, below: Mapping[str, float]) -> tuple[Weight, ...]:
    """A sort key, level by level. The first page of a folder comes before everything else in it."""
    folders = path.split("/")[:-1]
    levels = [(below.get("/".join(folders[: depth + 1]), UNWEIGHTED), natural(name)) for depth, name in enumerate(folders)]
    own = -1.0 if is_front(path) else UNWEIGHTED if weight is None else weight
    return (*levels, (own, natural(path.rpartition("/")[2])))


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts 9 before 10."""
    return tuple((0, int(part[:12]), "") if part.isdecimal() else (1, 0, part.lower()) for part in DIGITS.split(name) if part)
