"""What a site generator's configuration says about a book, and the generators' names for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bythebook.books.model import SiteStyle

GENERATOR_NAMES: Mapping[SiteStyle, str] = {
    "docusaurus": "Docusaurus",
    "mkdocs": "MkDocs",
    "mdbook": "mdBook",
    "vitepress": "VitePress",
    "hugo": "Hugo",
    "jekyll": "Jekyll",
    "quarto": "Quarto",
    "jupyterbook": "Jupyter Book",
    "sphinx": "Sphinx",
    "plain": "plain files",
}
WITHOUT_ADDRESSES = {"myst.yml": "MyST", "_bookdown.yml": "bookdown"}
"""Generators whose addresses only a build knows, by their configuration: their pages are linked as plain files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A site's configuration. Empty fields are those that it does not set. `folder`: where the site's lessons are. `pages`: the
    pattern of their addresses, if it is not the generator's default. `entries`: the lessons in the site's own order, as it
    names them; a folder ends in "/" and stands for its files that are not named elsewhere."""

    style: SiteStyle
    config: str
    folder: Path
    title: str = ""
    language: str = ""
    base_url: str = ""
    pages: str = ""
    entries: tuple[str, ...] = ()
    content: str = ""
    """`folder` below the book's root; `within`: the book's root below `folder`. At most one of them is set."""
    within: str = ""
