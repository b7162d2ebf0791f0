"""Holds every link that citations of a book may have against a build of its site.

    python -m scripts.check_links FOLDER BUILT [PATH]

FOLDER is the book with its generator's configuration, BUILT the folder of HTML that the generator made of it. Prints how many
links there are, and those whose page or anchor the build does not have. PATH is where the site lies on its host.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from scripts.count_markup import read_chunks

SHOWN = 20
ID = re.compile(r"""\bid=["']?([^"'\s>]+)""")


@cache
def anchors(page: Path) -> frozenset[str]:
    return frozenset(ID.findall(page.read_text("utf-8", "replace")))


def trouble(url: str, base: str, built: Path) -> str:
    """What the build lacks of this link; empty where it opens."""
    place = urlsplit(url)
    page = built / unquote(place.path).removeprefix(base).lstrip("/")
    page = page / "index.html" if page.is_dir() else page
    if not page.is_file():
        return "no page"
    return "" if not place.fragment or unquote(place.fragment) in anchors(page) else "no anchor"


def all_links(folder: Path) -> list[str]:
    """Every link that a citation of this book may have."""
    return sorted(
        {url for chunk in read_chunks(folder) for url in (chunk.source_url, *(one.source_url for one in chunk.sections))}
    )


def main() -> None:
    folder, built = map(Path, sys.argv[1:3])
    base = sys.argv[3] if len(sys.argv) > 3 else ""
    links = all_links(folder)
    wrong = [(found, url) for url in links if (found := trouble(url, base, built))]
    print(f"{folder.name}: {len(links):,} links, {len(wrong):,} that do not open")
    for found, url in wrong[:SHOWN]:
        print(f"    {found}: {url}")


if __name__ == "__main__":
    main()
