"""Sphinx's `conf.py`, read as data and never run, and the order that its tables of contents give."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from bythebook.books.sites.generators import read_text
from bythebook.books.sites.site import Site

CONFIG = "conf.py"
SAID = ("project", "language", "html_baseurl", "root_doc", "master_doc")
LONGEST_CONFIG = 200_000
MOST_DOCUMENTS = 5_000
SUFFIXES = (".rst", ".md", ".txt", ".ipynb")
OPENED = re.compile(r"([ \t]*)(?:\.\. toctree::|(`{3,}|:{3,})\{toctree\})")
TITLED = re.compile(r"[^<>]*<([^<>]+)>")


def sphinx(folder: Path) -> Site | None:
    """Reads `conf.py`. Other programs have a file of that name too: one that names no project is not taken for Sphinx's."""
    said = _assigned(read_text(folder, CONFIG) or "")
    if "project" not in said:
        return None
    first = said.get("root_doc") or said.get("master_doc") or "index"
    return Site(
        style="sphinx",
        config=CONFIG,
        folder=folder,
        title=said["project"],
        language=said.get("language", ""),
        base_url=said.get("html_baseurl", "").rstrip("/"),
        entries=tuple(_documents(folder, first)),
    )


def _assigned(source: str) -> dict[str, str]:
    """The texts assigned to these names at the top of the file; computed values are not known."""
    try:
        body = ast.parse(source).body if len(source) <= LONGEST_CONFIG else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for one in body:
        target = one.targets[0] if isinstance(one, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in SAID and isinstance(one, ast.Assign):
            value = one.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[target.id] = value.value
    return found


def _documents(folder: Path, first: str) -> Iterator[str]:
    """Each document once, before those that its tables of contents name."""
    waiting, seen = [first], set[str]()
    while waiting and len(seen) < MOST_DOCUMENTS:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        text = next(filter(None, (read_text(folder, name + suffix) for suffix in SUFFIXES)), "")
        waiting += reversed([_resolved(entry, name) for entry in _toctree(text)])


def _toctree(text: str) -> Iterator[str]:
    """The entries of all tables of contents, in reStructuredText and MyST."""
    indent, fence = "", None
    inside = False
    for line in text.splitlines():
        bare = line.strip()
        outdented = bool(bare) and fence is None and len(line) - len(line.lstrip()) <= len(indent)
        if inside and (bare == fence or outdented):
            inside = False
        if not inside:
            opened = OPENED.match(line)
            if opened:
                inside, indent, fence = True, opened[1], opened[2]
            continue
        titled = TITLED.fullmatch(bare)
        entry = titled[1] if titled else bare
        if entry and entry != "self" and not re.match(r"[:#]|---|\w+:", entry):
            yield entry


def _resolved(entry: str, name: str) -> str:
    """An entry's path, from the folder of the document that names it or from the book's. A pattern stands for its folder."""
    path = posixpath.normpath(posixpath.join("" if entry.startswith("/") else posixpath.dirname(name), entry.lstrip("/")))
    if "*" in path:
        return f"{path.partition('*')[0].rpartition('/')[0]}/"
    return re.sub(r"\.(?:rst|md|ipynb)\Z", "", path)
