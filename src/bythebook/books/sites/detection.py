"""Finds the site that a book's folder belongs to. Its configuration may be in the folder, above it, or in a subfolder that
usually holds it. A generator's configuration is only read where a file or folder has one of its names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bythebook.books.discovery import SourceFile
from bythebook.books.formats.readers import PAGES
from bythebook.books.model import PASSED_OVER, BookWarning, SiteStyle
from bythebook.books.sites.executable_books import bookdown, jupyter_book, myst, quarto
from bythebook.books.sites.generators import SUMMARY, docusaurus, hugo, jekyll, mdbook, mkdocs, summary, vitepress
from bythebook.books.sites.page_links import linked_pages
from bythebook.books.sites.site import Site
from bythebook.books.sites.sphinx import sphinx

LEVELS_ABOVE = 4
BELOW = ("docs", "doc", "documentation", "website", "site", "book", "guide", "docs/en")
WEB_ADDRESS = re.compile(r"(?:https?://[^\s/]|/)[^\s?#]*")
LEAST_SHARE = 0.5
PARTIALS: Mapping[SiteStyle, str] = {"docusaurus": "Docusaurus", "quarto": "Quarto"}
"""Generators for which `_name` is no page."""
SHORTEST_SUMMARY = 2
Reader = Callable[[Path], Site | None]
READERS: tuple[tuple[Reader, str], ...] = (
    (quarto, r"_quarto\.ya?ml"),
    (jupyter_book, r"_toc\.yml"),
    (myst, r"myst\.yml"),
    (bookdown, r"_bookdown\.yml"),
    (mkdocs, r"mkdocs\.ya?ml"),
    (docusaurus, r"docusaurus\.config\.\w+"),
    (mdbook, r"book\.toml"),
    (vitepress, r"\.vitepress"),
    (hugo, r"(?:hugo|config)(?:\.\w+)?"),
    (jekyll, r"_config\.yml"),
    (sphinx, r"conf\.py"),
)
"""The reader of each generator's configuration, and the name of its file or folder. The first that fits is used."""
ANY_NAME = re.compile("|".join(pattern for _, pattern in READERS), re.IGNORECASE)


def find_site(root: Path, files: Sequence[SourceFile]) -> Site | None:
    """The site that shows at least half of these lessons, by the nearest configuration. Without one, a `SUMMARY.md` alone
    gives the order of a book of plain files, and HTML pages are ordered by their own links."""
    root = root.resolve()
    if not root.is_dir():
        return None
    for folder in _places(root):
        for read in _readers(folder):
            site = read(folder)
            placed = _placed(site, root, folder) if site else None
            if placed and _shows(placed, files):
                return _tidied(placed)
    entries = summary(root) if (root / SUMMARY).is_file() else ()
    if len(entries) >= SHORTEST_SUMMARY:
        return Site(style="plain", config=SUMMARY, folder=root, entries=entries)
    pages = [file.path for file in files if file.path.lower().endswith(PAGES)]
    return linked_pages(root, pages) if len(pages) >= max(2, LEAST_SHARE * len(files)) else None


def shown_files(site: Site | None, files: Sequence[SourceFile]) -> tuple[tuple[SourceFile, ...], tuple[BookWarning, ...]]:
    """The lessons that the site shows, and warnings about the others. A `SUMMARY.md` that gives the order is not a lesson."""
    if site is None:
        return tuple(files), ()
    below = f"{site.content}/" if site.content else ""
    shortest = 1 if site.style == "mdbook" else SHORTEST_SUMMARY
    listing = None if site.within or len(summary(site.folder)) < shortest else below + SUMMARY
    shown = tuple(file for file in files if file.path.startswith(below) and file.path != listing)
    outside = [file.path for file in files if not file.path.startswith(below)]
    partial = [file.path for file in shown if site.style in PARTIALS and "/_" in f"/{file.path.removeprefix(below)}"]
    warnings = []
    if outside:
        others = f" (and {len(outside) - 1:,} more outside {below})" if len(outside) > 1 else ""
        message = f"{site.config} makes {below} the book's folder, so what lies outside it is no lesson{others}."
        warnings.append(BookWarning(source_file=outside[0], line=0, field=PASSED_OVER, message=message))
    if partial:
        others = f" (and {len(partial) - 1:,} more)" if len(partial) > 1 else ""
        message = (
            f"{PARTIALS[site.style]} makes no page of a name that begins with _{others}; it is read where a page includes it."
        )
        warnings.append(BookWarning(source_file=partial[0], line=0, field=PASSED_OVER, message=message))
    return tuple(file for file in shown if file.path not in {*partial}), tuple(warnings)


def _places(root: Path) -> Iterator[Path]:
    """The folder itself, subfolders that usually hold a configuration, and the folders above it up to the repository's top."""
    yield root
    yield from (root / name for name in BELOW if (root / name).is_dir())
    here = root
    for above in root.parents[:LEVELS_ABOVE]:
        if (here / ".git").exists():
            return
        yield above
        here = above


def _readers(folder: Path) -> list[Reader]:
    """The readers with something to read here; all of them where the folder cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if ANY_NAME.fullmatch(entry.name)]
    except OSError:
        return [read for read, _ in READERS]
    return [read for read, pattern in READERS if any(re.fullmatch(pattern, name, re.IGNORECASE) for name in names)]


def _placed(site: Site, root: Path, folder: Path) -> Site | None:
    try:
        lessons = site.folder.resolve()
        if not lessons.is_dir():
            return None
    except (OSError, ValueError, RuntimeError):  # a name that is too long or has a NUL in it, or a link in a circle
        return None
    way = "../" * len(root.relative_to(folder).parts) if root.is_relative_to(folder) else f"{_relative(folder, root)}/"
    shown = way + site.config
    if lessons.is_relative_to(root):
        return replace(site, folder=lessons, config=shown, content=_relative(lessons, root))
    if root.is_relative_to(lessons):
        return replace(site, folder=lessons, config=shown, within=_relative(root, lessons))
    return None


def _relative(path: Path, base: Path) -> str:
    relative = path.relative_to(base).as_posix()
    return "" if relative == "." else relative


def _shows(site: Site, files: Sequence[SourceFile]) -> bool:
    inside = sum(file.path.startswith(f"{site.content}/") for file in files) if site.content else len(files)
    return bool(files) and inside >= LEAST_SHARE * len(files)


def _tidied(site: Site) -> Site:
    """The language without its country; an address only if it is one; the order of a `SUMMARY.md` where there is no other."""
    address = site.base_url.rstrip("/")
    return replace(
        site,
        title=" ".join(site.title.split())[:200],
        language=re.split(r"[-_]", site.language.strip().lower(), maxsplit=1)[0][:20],
        base_url=address if WEB_ADDRESS.fullmatch(address) else "",
        entries=site.entries or summary(site.folder),
    )
