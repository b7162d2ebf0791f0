"""`bythebook widget`: the lines that put the tutor on the book's own site."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import BookId, DataDir, run_with_database

if TYPE_CHECKING:
    from pathlib import Path

    from bythebook.database.engine import Database


class SiteGenerator(StrEnum):
    """The site generators that `widget` has lines for."""

    docusaurus = "docusaurus"
    mkdocs = "mkdocs"
    sphinx = "sphinx"
    mdbook = "mdbook"
    quarto = "quarto"
    html = "html"


PLACES = {
    SiteGenerator.docusaurus: "In docusaurus.config.js, inside the configuration:",
    SiteGenerator.mkdocs: "In mkdocs.yml (MkDocs, Material for MkDocs, Zensical), with site_url set:",
    SiteGenerator.sphinx: "In conf.py (Sphinx, Jupyter Book 1), with html_baseurl set:",
    SiteGenerator.mdbook: "In theme/head.hbs:",
    SiteGenerator.quarto: "In _quarto.yml (in bookdown: the tag alone, in a file that includes: in_header names):",
    SiteGenerator.html: "In the head of every page:",
}


def run(
    site: Annotated[SiteGenerator, typer.Option("--for", help="What builds the site.")] = SiteGenerator.html,
    server: Annotated[
        str | None,
        typer.Option(help="The tutor's address. Default: that of 'bythebook serve' on this machine.", show_default=False),
    ] = None,
    book: BookId = None,
    key: Annotated[str | None, typer.Option(help="A key with the scope public.", show_default=False)] = None,
    label: Annotated[str | None, typer.Option(help='The button\'s text. Default "Ask the book".', show_default=False)] = None,
    data_dir: DataDir = None,
) -> None:
    """Print the lines that put the tutor on the book's own site."""
    from urllib.parse import urlsplit

    from bythebook.errors import InvalidInput
    from bythebook.settings import read_settings

    settings = read_settings(data_dir=data_dir)
    address = (server or f"http://{settings.host}:{settings.port}").rstrip("/")
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc or any(map(str.isspace, address)):
        raise InvalidInput(f"The tutor's address must begin with http:// or https://, and '{address}' does not.")
    chosen = run_with_database(lambda database: _choose(database, book, data_dir), data_dir=data_dir)
    given = {"book": chosen, "key": key, "label": label}
    typer.echo(PLACES[site], err=True)
    typer.echo(snippet(site, f"{address}/page/widget.js", {name: value for name, value in given.items() if value}))


def snippet(site: SiteGenerator, source: str, given: dict[str, str]) -> str:
    """The lines for this generator. `given` are the widget's settings, by their names without `data-`."""
    named = {f"data-{name}": value for name, value in given.items()}
    match site:
        case SiteGenerator.docusaurus:
            fields = {"src": source, **named, "defer": True}
            inside = ", ".join(f"{_js_name(name)}: {json.dumps(value)}" for name, value in fields.items())
            return f"scripts: [{{ {inside} }}],"
        case SiteGenerator.mkdocs:
            from urllib.parse import urlencode

            return f"extra_javascript:\n  - path: {source}?{urlencode(given)}\n    defer: true"
        case SiteGenerator.sphinx:
            return f"html_js_files = [({json.dumps(source)}, {json.dumps({**named, 'defer': 'defer'})})]"
        case SiteGenerator.quarto:
            tag = _tag(source, named).replace("'", "''")
            return f"format:\n  html:\n    include-in-header:\n      text: '{tag}'"
        case SiteGenerator.mdbook:
            return _tag(source, named).replace("{", "&#123;")  # head.hbs is a Handlebars template, where {{ begins an expression
        case SiteGenerator.html:
            return _tag(source, named)


def _tag(source: str, named: dict[str, str]) -> str:
    from html import escape

    attributes = "".join(f' {name}="{escape(value)}"' for name, value in {"src": source, **named}.items())
    return f"<script{attributes} defer></script>"


def _js_name(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


async def _choose(database: Database, book: str | None, data_dir: Path | None) -> str:
    from bythebook.ingestion.records import Records
    from bythebook.operations.reader import choose_among
    from bythebook.settings import read_settings

    states = await Records(database).books()
    return choose_among(states, wanted=book, configured=read_settings(data_dir=data_dir).book, named_by="--book")
