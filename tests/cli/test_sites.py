"""Books of site generators at the command line: what was found out is shown, and lessons are listed in the site's order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.repository import Repository

LESSONS = {"README": "The lamp burns oil.", "glass": "The glass is cleaned with spirit.", "wick": "The wick is trimmed at night."}


def write_mdbook(root: Path, *order: str) -> Path:
    (root / "src").mkdir(parents=True, exist_ok=True)
    (root / "book.toml").write_text('[book]\ntitle = "The Lamp"\n[output.html]\nsite-url = "/lamp/"\n', "utf-8")
    (root / "src" / "SUMMARY.md").write_text("".join(f"- [{name}]({name}.md)\n" for name in order), "utf-8")
    (root / "NOTES.md").write_text("# Notes\n\nNot in the book.\n", "utf-8")
    for name, text in LESSONS.items():
        (root / "src" / f"{name}.md").write_text(f"# About {name}\n\n{text}\n", "utf-8")
    return root


def listed(cli: Cli) -> list[str]:
    return [lesson["source_file"] for lesson in json.loads(cli("lessons", "--json").out)]


def test_an_mdbook_is_read_as_mdbook_reads_it(cli: Cli, folder: Path) -> None:
    book = write_mdbook(folder / "lamp", "README", "wick", "glass")
    outcome = cli("ingest", book)
    assert outcome.code == 0, outcome.err
    assert "The Lamp" in outcome.out
    assert "mdBook · /lamp · en · by book.toml" in outcome.out
    assert "NOTES.md  book.toml makes src/ the book's folder" in outcome.out
    assert listed(cli) == ["src/README.md", "src/wick.md", "src/glass.md"]
    found = json.loads(cli("search", "wick trimmed night", "--json").out)["results"]
    assert found[0]["source_url"].startswith("/lamp/wick.html")


def test_another_order_is_noted_and_nothing_is_done_again(cli: Cli, folder: Path) -> None:
    book = write_mdbook(folder / "lamp", "README", "wick", "glass")
    cli("ingest", book)
    write_mdbook(folder / "lamp", "glass", "wick", "README")
    report = json.loads(cli("ingest", book, "--json").out)
    assert (report["files_processed"], report["chunks_embedded"]) == (0, 0)
    assert listed(cli) == ["src/glass.md", "src/wick.md", "src/README.md"]


def address(cli: Cli) -> str:
    return str(json.loads(cli("search", "wick trimmed night", "--json").out)["results"][0]["source_url"])


def test_what_is_said_at_the_command_line_goes_first_and_holds_for_later_runs(cli: Cli, folder: Path) -> None:
    book = write_mdbook(folder / "lamp", "README", "wick", "glass")
    said = ("--title", "Our Lamp", "--base-url", "https://lamp.example/", "--pages", "{path}", "--language", "pt-BR")
    outcome = cli("ingest", book, *said)
    assert outcome.code == 0, outcome.err
    assert "Our Lamp" in outcome.out
    assert address(cli) == "https://lamp.example/wick"
    outcome = cli("ingest", book)
    assert "Our Lamp" in outcome.out
    assert "mdBook · https://lamp.example · pt-BR · by book.toml" in outcome.out
    assert address(cli) == "https://lamp.example/wick"
    assert "The Lamp" in cli("ingest", book, "--title", "", "--base-url", "", "--pages", "").out
    assert address(cli) == "/lamp/wick.html"


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--site", "sphynx", "must be one of docusaurus, mkdocs"),
        ("--base-url", "lamp.example", "must begin with http://"),
        ("--pages", "{slug}.html", "must be made of {path}, {folder}, {name}, {file}"),
        ("--pages", "index.html", "must be made of"),
        ("--language", "English", "must be a code such as en"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(cli: Cli, folder: Path, option: str, value: str, told: str) -> None:
    outcome = cli("ingest", write_mdbook(folder / "lamp", "README", "wick"), option, value)
    assert outcome.code == 2
    assert f"({option}) {told}" in outcome.sentence()


def test_what_was_passed_over_is_said_and_pages_without_a_number_are_no_warning(cli: Cli, folder: Path) -> None:
    book = folder / "course"
    texts = {
        "1-intro/README.md": "# Intro\n\nThe lamp burns oil.\n",
        "1-intro/assignment.md": "# Assignment\n\nTrim the wick at night.\n",
        "build/01-building.md": "# Building a tower\n\nStone by stone.\n",
        "node_modules/x/README.md": "# x\n",
        "slides.odp": "",
        "more/slides.odp": "",
        "open.md": "---\ntitle: Open\n\nThe door is open at night.\n",
        "book.toml": 'language = "english"\n',
    }
    for path, text in texts.items():
        (book / path).parent.mkdir(parents=True, exist_ok=True)
        (book / path).write_text(text, "utf-8")
    out = cli("ingest", book).out
    assert "claims" not in out
    assert "Passed over" in out
    assert "build/01-building.md  1 Markdown file" in out
    assert "slides.odp  2 .odp files" in out
    assert "node_modules" not in out
    assert "open.md:1  the frontmatter never ends" in out
    assert "book.toml:1  'english' is no code of a language" in out


def test_a_repository_is_ingested_by_its_address_and_again_by_it(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(folder / "lamp-book")
    assert "private" in cli("ingest", repository.url.replace("file://", "http://127.0.0.1")).sentence()
    monkeypatch.setenv("BYTHEBOOK_GIT_PRIVATE", "true")
    outcome = cli("ingest", repository.url)
    assert outcome.code == 0, outcome.err
    assert "7 new" in outcome.out
    (book,) = json.loads(cli("books", "--json").out)
    repository.edit("glossary.md", "# Glossary\n\nActuator: what moves an arm.\n")
    assert "1 changed" in cli("ingest", repository.url).out
    assert [one["book_id"] for one in json.loads(cli("books", "--json").out)] == [book["book_id"]]
    assert "--watch follows a folder" in cli("ingest", repository.url, "--watch").sentence()


def test_a_repository_without_a_name_for_its_book_gives_it_its_own(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTHEBOOK_GIT_PRIVATE", "true")
    repository = Repository(folder / "lamp-book")
    (repository.work / "book.toml").unlink()
    repository.edit("more.md", "# More\n\nOf the same.\n")
    outcome = cli("ingest", repository.url, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["book_id"] == json.loads(cli("ingest", repository.url, "--json").out)["book_id"]
    assert len(json.loads(outcome.out)["book_id"]) != 16
