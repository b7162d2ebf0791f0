"""`bythebook widget`: docs/widget.md shows what it prints, and each generator makes the widget's tag of it (`make soak`)."""

from __future__ import annotations

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from bythebook.cli.widget import SiteGenerator, snippet
from tests.cli.conftest import Cli
from tests.support.site_generators import build, generator, site_folder

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "widget.md").read_text("utf-8")
SOURCE = "https://tutor.example/page/widget.js"
HARD = {"book": "physical-ai-robotics", "key": "btb_1_x-y", "label": 'It\'s "our" <book> & {{ more }}'}


class Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script" and "widget.js" in (dict(attrs).get("src") or ""):
            self.found.append(dict(attrs))


def settings_of(html: str) -> dict[str, str | None]:
    """What the widget on this page would be told, by its attributes or its address."""
    read = Scripts()
    read.feed(html)
    (tag,) = read.found
    assert "defer" in tag
    address = urlsplit(tag["src"] or "")
    assert f"{address.scheme}://{address.netloc}{address.path}" == SOURCE
    named = {name.removeprefix("data-"): value for name, value in tag.items() if name.startswith("data-")}
    return {**dict(parse_qsl(address.query)), **named}


def test_the_document_shows_what_the_command_prints(cli: Cli, book: Path) -> None:
    assert "There is no book yet" in cli("widget").sentence()
    assert cli("ingest", book).code == 0
    shown = re.sub(r"```\w+\n", "```\n", PAGE.replace("physical-ai-robotics", "small"))
    for site in SiteGenerator:
        told = cli("widget", "--for", site, "--server", "https://tutor.example/")
        assert told.code == 0
        assert f"```\n{told.out.strip()}\n```" in shown
    for address in ("tutor.example", "ftp://tutor.example", "https://", "https://tutor .example"):
        told = cli("widget", "--server", address)
        assert (told.code, "must begin with http:// or https://" in told.sentence()) == (2, True)
    assert cli("widget", "--for", "wordpress").code == 2
    assert "There is no book 'heavy'" in cli("widget", "--book", "heavy").sentence()


def test_a_text_of_any_kind_reaches_the_widget_as_it_is() -> None:
    assert settings_of(snippet(SiteGenerator.html, SOURCE, HARD)) == HARD
    assert settings_of(snippet(SiteGenerator.mdbook, SOURCE, HARD)) == HARD
    quarto = yaml.safe_load(snippet(SiteGenerator.quarto, SOURCE, HARD))
    assert settings_of(quarto["format"]["html"]["include-in-header"]["text"]) == HARD
    (script,) = yaml.safe_load(snippet(SiteGenerator.mkdocs, SOURCE, HARD))["extra_javascript"]
    assert dict(parse_qsl(urlsplit(script["path"]).query)) == HARD
    ((source, attributes),) = ast.literal_eval(snippet(SiteGenerator.sphinx, SOURCE, HARD).partition(" = ")[2])
    assert (source, attributes["data-label"]) == (SOURCE, HARD["label"])
    docusaurus = snippet(SiteGenerator.docusaurus, SOURCE, HARD).removeprefix("scripts: [{ src:").removesuffix(" }],")
    assert (
        json.loads(f'{{"src":{docusaurus.replace(", defer:", ", " + json.dumps("defer") + ":")}}}')["data-label"] == HARD["label"]
    )


def built(folder: Path, command: list[str], page: str) -> dict[str, str | None]:
    build(folder, command)
    return settings_of((folder / page).read_text("utf-8"))


@pytest.mark.soak
@pytest.mark.parametrize("name", ["mkdocs", "zensical"])
def test_mkdocs_and_zensical_put_it_on_every_page(tmp_path: Path, name: str) -> None:
    command = [generator(name), "build"]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Lesson\n", "utf-8")
    head = "site_name: Book\nsite_url: https://book.example/\n"
    (tmp_path / "mkdocs.yml").write_text(head + snippet(SiteGenerator.mkdocs, SOURCE, HARD) + "\n", "utf-8")
    assert built(tmp_path, command, "site/index.html") == HARD


@pytest.mark.soak
def test_sphinx_puts_it_on_every_page(tmp_path: Path) -> None:
    command = [generator("sphinx-build"), "-q", ".", "_build"]
    (tmp_path / "index.rst").write_text("Lesson\n======\n", "utf-8")
    (tmp_path / "conf.py").write_text(f'project = "Book"\n{snippet(SiteGenerator.sphinx, SOURCE, HARD)}\n', "utf-8")
    assert built(tmp_path, command, "_build/index.html") == HARD


@pytest.mark.soak
def test_mdbook_puts_it_on_every_page(tmp_path: Path) -> None:
    command = [generator("mdbook"), "build"]
    (tmp_path / "src").mkdir()
    (tmp_path / "theme").mkdir()
    (tmp_path / "book.toml").write_text('[book]\ntitle = "Book"\n', "utf-8")
    (tmp_path / "src" / "SUMMARY.md").write_text("- [Lesson](lesson.md)\n", "utf-8")
    (tmp_path / "src" / "lesson.md").write_text("# Lesson\n", "utf-8")
    (tmp_path / "theme" / "head.hbs").write_text(snippet(SiteGenerator.mdbook, SOURCE, HARD), "utf-8")
    assert built(tmp_path, command, "book/lesson.html") == HARD


@pytest.mark.soak
def test_quarto_puts_it_on_every_page(tmp_path: Path) -> None:
    command = [generator("quarto"), "render"]
    (tmp_path / "index.qmd").write_text("# Lesson\n", "utf-8")
    head = 'project:\n  type: website\nwebsite:\n  title: "Book"\n'
    (tmp_path / "_quarto.yml").write_text(head + snippet(SiteGenerator.quarto, SOURCE, HARD) + "\n", "utf-8")
    assert built(tmp_path, command, "_site/index.html") == HARD


@pytest.mark.soak
def test_docusaurus_puts_it_on_every_page() -> None:
    docusaurus = generator("docusaurus")
    with site_folder(docusaurus) as folder:
        assert built(docusaurus_site(folder), [docusaurus, "build"], "build/index.html") == HARD


def docusaurus_site(folder: Path) -> Path:
    (folder / "package.json").write_text("{}", "utf-8")
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text("# Lesson\n", "utf-8")
    lines = (
        'title: "Book", url: "https://book.example", baseUrl: "/", themes: ["@docusaurus/theme-classic"],',
        'plugins: [["@docusaurus/plugin-content-docs", { routeBasePath: "/" }]],',
        snippet(SiteGenerator.docusaurus, SOURCE, HARD),
    )
    (folder / "docusaurus.config.js").write_text("module.exports = {\n" + "\n".join(lines) + "\n};\n", "utf-8")
    return folder
