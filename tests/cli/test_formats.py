"""Books that are not Markdown, brought in and asked on the command line: the citation says where in the author's own file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bythebook.books.formats import readers
from tests.books.formats.test_notebook import cell, notebook
from tests.cli.conftest import Cli
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.made_pdf import MadePdf, column
from tests.support.readings import epub
from tests.support.site_server import serving_site

ELBOW = "An elbow bends in one plane and carries the forearm."
QUESTION = "How does an elbow bend in one plane and carry the forearm?"
KNEE = "A knee locks when the leg is straight and bears the weight."


def test_a_notebook_is_ingested_asked_checked_and_edited(cli: Cli, folder: Path, embedder: SmallEmbedder) -> None:
    file = folder / "joints.ipynb"
    cells = [cell("markdown", "# Joints"), cell("code", "bend()"), cell("markdown", f"## Elbow\n\n{ELBOW}")]
    file.write_bytes(notebook(*cells))
    done = cli("ingest", file)
    assert done.code == 0, done.err
    assert "100.0 % of 15 words found again" in " ".join(done.out.split())
    asked = json.loads(cli("ask", QUESTION, "--threshold", "0", "--format", "json").out)
    (citation,) = asked["citations"]
    assert (citation["quote"], citation["where"]) == (ELBOW, "cell 3, line 3")
    assert citation["place"]["number"] == 3
    assert f"“{ELBOW}”  cell 3, line 3" in cli("ask", QUESTION, "--threshold", "0").out
    checked = cli("check")
    assert checked.code == 0
    assert "100.0 % of" in checked.out
    embedded = len(embedder.embedded)
    file.write_bytes(notebook(*cells, cell("markdown", f"## Knee\n\n{KNEE}")))
    assert "joints.ipynb is gone or has changed" in cli("check").out
    assert cli("ingest", file).code == 0
    assert embedded < len(embedder.embedded)
    assert "changed since" not in cli("check").out


def test_what_cannot_be_read_is_named_and_the_rest_goes_in(cli: Cli, folder: Path) -> None:
    book = folder / "mixed"
    book.mkdir()
    (book / "good.ipynb").write_bytes(notebook(cell("markdown", f"# Joints\n\n{ELBOW}")))
    (book / "broken.ipynb").write_bytes(b'{"cells": [')
    (book / "plain.md").write_text(f"# Legs\n\n{KNEE}\n")
    (book / "old.rst").write_bytes("Füße\n====\n".encode("latin-1"))
    done = cli("ingest", book)
    assert done.code == 1
    said = " ".join(done.out.split())
    assert "2 lessons could not be read" in said
    assert "broken.ipynb cannot be read: it ends too early" in said
    assert " old.rst, line 1: this is not UTF-8" in said
    assert {one["source_file"] for one in json.loads(cli("lessons", "--json").out)} == {"good.ipynb", "plain.md"}


def test_a_notebook_of_outputs_without_end_is_named_with_the_remedy(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYTHEBOOK_MAX_FILE_BYTES", "1000")
    book = folder / "outputs"
    book.mkdir()
    printed = {"output_type": "stream", "name": "stdout", "text": "x" * 6000}
    (book / "large.ipynb").write_bytes(notebook({**cell("code", "print()"), "outputs": [printed]}))
    (book / "plain.md").write_text(f"# Legs\n\n{KNEE}\n")
    done = cli("ingest", book, "--dry-run")
    assert done.code == 1
    assert re.search("large.ipynb is larger than 5,000 bytes; .*outputs", " ".join(done.out.split()))


def test_a_pdf_that_takes_longer_than_its_limit_is_named_and_the_rest_goes_in(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is a thousandth of a second, which no PDF is read in."""
    short = tuple(replace(one, seconds=0.001) if one.name == "pdf" else one for one in readers.FORMATS)
    monkeypatch.setattr(readers, "FORMATS", short)
    book = folder / "slow"
    book.mkdir()
    (book / "arms.pdf").write_bytes(MadePdf([column(ELBOW)]).write())
    (book / "legs.md").write_text(f"# Legs\n\n{KNEE}\n")
    done = cli("ingest", book)
    assert done.code == 1
    assert re.search("arms.pdf (takes more than|cannot be read within) 0 seconds", " ".join(done.out.split()))
    assert [one["source_file"] for one in json.loads(cli("lessons", "--json").out)] == ["legs.md"]


def test_a_changed_chapter_of_an_epub_is_embedded_alone_and_a_broken_file_keeps_the_old_lessons(
    cli: Cli, folder: Path, embedder: SmallEmbedder
) -> None:
    pages = {"elbow.xhtml": f"<h1>Elbow</h1><p>{ELBOW}</p>", "knee.xhtml": f"<h1>Knee</h1><p>{KNEE}</p>"}
    file = folder / "robot.epub"
    file.write_bytes(epub(pages))
    assert cli("ingest", file).code == 0
    found = json.loads(cli("search", ELBOW, "--json").out)["results"][0]
    assert (found["source_file"], found["source_url"]) == ("robot.epub/1-elbow", "robot.epub")
    assert "robot.epub/1-elbow, elbow.xhtml, paragraph 1 to elbow.xhtml, paragraph 2" in cli("context", found["id"]).out
    file.write_bytes(epub({**pages, "knee.xhtml": f"<h1>Knee</h1><p>{KNEE} So it is.</p>"}))
    report = json.loads(cli("ingest", file, "--json").out)
    assert (report["files_new"], report["files_modified"], report["chunks_embedded"]) == (0, 1, 1)
    file.write_bytes(b"PK")
    broken = cli("ingest", file)
    assert broken.code == 1
    assert "robot.epub cannot be read: it is damaged" in broken.sentence()
    assert len(json.loads(cli("lessons", "--json").out)) == 2


def test_a_pdf_is_cited_by_its_printed_page_and_linked_by_its_number(cli: Cli, folder: Path) -> None:
    pages = [column("Contents"), column("Joints", size=18, font="bold", top=730) + column(ELBOW), column(KNEE)]
    (folder / "joints.pdf").write_bytes(MadePdf(pages, outline=[(0, "Joints", 1)], roman_pages=1).write())
    assert cli("ingest", "joints.pdf").code == 0
    asked = json.loads(cli("ask", QUESTION, "--threshold", "0", "--no-gate", "--format", "json").out)
    cited = asked["citations"][0]
    assert (cited["quote"], cited["where"], cited["source_url"]) == (ELBOW, "p. 1", "joints.pdf#page=2")
    assert cli("check").code == 0


def test_a_site_is_fetched_ingested_and_linked_by_its_own_addresses(cli: Cli) -> None:
    with serving_site() as site:
        site.page("/book/", "The arm bends.", "/book/elbow")
        site.pages["/book/elbow"] = f"<html><body><h1>Elbow</h1><p>{ELBOW}</p></body></html>".encode()
        done = cli("ingest", f"{site.url}/book/")
        assert done.code == 0, done.err
        assert "2 pages fetched, 0 unchanged" in done.err
        found = json.loads(cli("search", ELBOW, "--json").out)["results"][0]
        assert found["source_url"] == f"{site.url}/book/elbow"
        again = cli("ingest", f"{site.url}/book/")
        assert "0 pages fetched, 2 unchanged" in again.err
        assert "0 new, 0 changed, 0 removed, 2 unchanged" in again.out
    away = cli("ingest", f"{site.url}/book/")
    assert away.code == 1
    assert "cannot be fetched" in away.sentence()
