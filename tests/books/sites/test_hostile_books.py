"""Books whose files are made to hurt: what orders or describes a book is read in bounds or passed over, and its lessons stay."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bythebook.books.booktoml import read_book
from bythebook.books.discovery import discover
from bythebook.books.sites.detection import find_site
from bythebook.books.sites.navigation import lesson_order
from bythebook.errors import InvalidBook
from tests.support.small_book import write

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
"""Nine references to nine references, nine times."""
LONG = "a" * 300
CONFIGURATIONS = {
    "references to references in MkDocs' navigation": {"mkdocs.yml": f"{LAUGHS}nav: *i\n"},
    "and in Jupyter Book's": {"_toc.yml": f"{LAUGHS}chapters: *i\n"},
    "and in Quarto's": {"_quarto.yml": f"{LAUGHS}book:\n  chapters: *i\n"},
    "a list that holds itself": {"mkdocs.yml": "nav: &a [*a]\n"},
    "a link that never ends": {"SUMMARY.md": "[a](" + "a" * 60_000},
    "a link to a name that no file can have": {"SUMMARY.md": f"- [a]({LONG}.md)\n- [b](docs/one.md)\n"},
    "such a folder": {"mkdocs.yml": f"docs_dir: {LONG}\n"},
    "such a configuration to inherit": {"mkdocs.yml": f"INHERIT: {LONG}\n"},
    "such a sidebar": {"docusaurus.config.js": f"module.exports={{presets:[['c',{{docs:{{sidebarPath:'{LONG}'}}}}]]}}"},
    "a folder with a NUL in its name": {"mkdocs.yml": 'docs_dir: "a\\0b"\n'},
    "a folder listed thousands of times": {"mkdocs.yml": "nav:\n" + "- ./\n- docs/\n" * 4_000},
    "a digit that is no number": {"mkdocs.yml": "site_name: x\n", "docs/2²/three.md": "# Three\n"},
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_that_hurts_is_passed_over(folder: Path, name: str) -> None:
    for path, text in {**CONFIGURATIONS[name], "docs/one.md": "# One\n", "docs/two.md": "# Two\n", ".git/HEAD": ""}.items():
        write(folder, path, text)
    began = time.process_time()
    files, _ = discover(folder)
    site = find_site(folder, files)
    read_book(folder, site=site)
    if site:
        assert set(lesson_order(site, {file.path: None for file in files}, {})) == {file.path for file in files}
    assert time.process_time() - began < 5


def test_a_number_too_long_to_be_read_is_said(folder: Path) -> None:
    write(folder, "book.toml", "max_chapter = " + "9" * 5_000)
    with pytest.raises(InvalidBook, match=r"book\.toml is not valid TOML"):
        read_book(folder)
