"""The configuration of books whose chapters are run: Quarto's `_quarto.yml`, Jupyter Book's `_toc.yml` and `_config.yml` or,
since its second version, MyST's `myst.yml`, and bookdown's `_bookdown.yml`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bythebook.books.sites.generators import leaves, read_yaml, text_of
from bythebook.books.sites.site import Site


def quarto(folder: Path) -> Site | None:
    for name in ("_quarto.yml", "_quarto.yaml"):
        values = read_yaml(folder, name)
        if values is None:
            continue
        book, website = values.get("book"), values.get("website")
        about = book if isinstance(book, dict) else website if isinstance(website, dict) else {}
        return Site(
            style="quarto",
            config=name,
            folder=folder,
            title=text_of(about, "title"),
            language=text_of(values, "lang"),
            base_url=text_of(about, "site-url"),
            entries=tuple(leaves([about.get("chapters"), about.get("appendices"), about.get("sidebar")])),
        )
    return None


def jupyter_book(folder: Path) -> Site | None:
    """Its order is that of the files in its table of contents, whatever their groups are called."""
    contents = read_yaml(folder, "_toc.yml")
    if contents is None or not any(key in contents for key in ("root", "chapters", "parts")):
        return None
    config = read_yaml(folder, "_config.yml") or {}
    return Site(
        style="jupyterbook",
        config="_toc.yml",
        folder=folder,
        title=text_of(config, "title"),
        language=text_of(
            config.get("sphinx", {}).get("config", {}) if isinstance(config.get("sphinx"), dict) else {}, "language"
        ),
        base_url=text_of(config.get("html"), "baseurl"),
        entries=tuple(_files(contents)),
    )


def myst(folder: Path) -> Site | None:
    """Only a build knows the addresses of its pages, so links stay relative."""
    values = read_yaml(folder, "myst.yml")
    project = values.get("project") if values else None
    if not isinstance(project, dict):
        return None
    contents = project.get("toc")
    return Site(style="plain", config="myst.yml", folder=folder, title=text_of(project, "title"), entries=tuple(_files(contents)))


def bookdown(folder: Path) -> Site | None:
    """Its pages are named after their headings, so links stay relative. Where it names no files, they are ordered by name."""
    values = read_yaml(folder, "_bookdown.yml")
    if values is None:
        return None
    files = values.get("rmd_files")
    html = files.get("html") if isinstance(files, dict) else files
    return Site(style="plain", config="_bookdown.yml", folder=folder, entries=tuple(leaves(html)))


def _files(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for one in node:
            yield from _files(one)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("root", "file") and isinstance(value, str):
                yield value
            elif key == "glob" and isinstance(value, str):
                yield f"{value.partition('*')[0].rstrip('/')}/"
            else:
                yield from _files(value)
