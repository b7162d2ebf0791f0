"""Every command that the documents print is run, or a table here says why not: one that is in neither fails."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main

from bythebook.cli.app import app
from tests.cli.conftest import Cli, cli, embedder, ingested, small_embedder  # noqa: F401  fixtures of the command line
from tests.support.library import copy_library
from tests.support.made_pdf import MadePdf, column
from tests.support.printed_commands import PAGES, REPOSITORY, Command, blocks, commands
from tests.support.small_book import write_small_book

COMMAND_KINDS = {"console", "sh"}
OTHER_KINDS = {"html", "js", "json", "mermaid", "python", "text", "toml", "yaml"}

NOT_RUN = {
    "make demo": "installs into .venv; tests/cli/test_demo.py runs what it runs",
    "make check": "the tests are run by it, or beside it",
    "make unit": "the tests are run by it",
    "make test": "the tests are run by it",
    "source .venv/bin/activate": "the tests run in that environment",
    "pip install .": "needs a package index",
    "bythebook ingest https://github.com/OWNER/REPO/tree/main/docs": "needs a network",
    "bythebook ingest https://example.org/book/": "needs a network",
    "export OPENAI_API_KEY=sk-…": "needs a model that is paid for",
    "export OPENAI_BASE_URL=http://localhost:11434/v1": "needs a model's server",
    "export OPENAI_MODEL=qwen2.5:7b": "needs a model's server",
    "OPENAI_API_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_API_KEY=none open-webui serve": "Open WebUI takes gigabytes",
    "llm keys set tutor": "asks for the key at a terminal",
}
RUN_BY = {
    "bythebook serve": "web/test_serve.py:test_it_says_where_it_is_keeps_questions_to_itself_and_finishes_a_turn_before_it_ends",
    "BYTHEBOOK_CORS_ORIGINS=https://book.example bythebook serve --host 0.0.0.0": (
        "web/test_serve.py:test_a_host_beyond_this_machine_needs_keys"
    ),
    'bythebook ask "How many services and topics is an action built from?"': (
        "test_readme.py:test_the_readme_prints_what_the_command_prints"
    ),
    'llm -m tutor "What is a node?"': "web/completions/test_clients.py:test_llm_prints_the_answer_and_its_sources",
    'llm -c "How do they communicate?"': "web/completions/test_clients.py:test_llm_prints_the_answer_and_its_sources",
    'pg_dump --format=custom --file=library.dump "$DATABASE_URL"': (
        "cli/test_backup.py:test_the_commands_for_postgresql_as_they_are_written"
    ),
    'pg_restore --no-owner --exit-on-error --dbname="$DATABASE_URL" library.dump': (
        "cli/test_backup.py:test_the_commands_for_postgresql_as_they_are_written"
    ),
    "bythebook privacy export --user USER_ID --output data.jsonl": "cli/test_privacy.py:test_a_user_is_exported_and_erased",
    "bythebook privacy erase --user USER_ID": "cli/test_privacy.py:test_a_user_is_exported_and_erased",
    "bythebook backup index.backup": "cli/test_backup.py:test_the_commands_for_postgresql_as_they_are_written",
    "bythebook restore index.backup": "cli/test_backup.py:test_the_commands_for_postgresql_as_they_are_written",
}
STANDS_FOR = {"FOLDER": "path/to/your/book", "physical-ai-robotics": "small"}
"""What a reader puts in place of what is printed."""


def _is_run_here(command: Command) -> bool:
    return command.text not in NOT_RUN | RUN_BY and command.text.startswith(("bythebook ", "make help", "mkdir "))


HERE = {page: [one.text for one in commands() if one.page == page and _is_run_here(one)] for page in PAGES}


def test_no_command_is_left_out() -> None:
    assert {block.kind for block in blocks()} <= COMMAND_KINDS | OTHER_KINDS
    printed = {one.text for one in commands()}
    here = {text for texts in HERE.values() for text in texts}
    curled = {text for text in printed if text.startswith("curl ")}  # tests/web/test_service_document.py
    assert printed - here - curled - NOT_RUN.keys() - RUN_BY.keys() == set()
    assert (NOT_RUN | RUN_BY).keys() - printed == set(), "no page prints these any more"
    for place in RUN_BY.values():
        file, _, name = place.partition(":")
        assert f"def {name}(" in (REPOSITORY / "tests" / file).read_text("utf-8"), place


@pytest.mark.parametrize("page", [page for page, texts in HERE.items() if texts])
def test_a_page_can_be_typed_as_it_stands(page: str, cli: Cli, folder: Path, request: pytest.FixtureRequest) -> None:  # noqa: F811
    """From its first command to its last, in one folder and one library: an empty one if the page ingests a book or makes
    sure of the installation, else one with a book in it."""
    typed = HERE[page]
    book = write_small_book(folder / "path/to/your/book")
    book.with_suffix(".pdf").write_bytes(MadePdf([column("The keeper trims the wick every four hours.")] * 2).write())
    if typed[0].startswith("bythebook ") and not typed[0].startswith(("bythebook ingest", "bythebook doctor")):
        copy_library(request.getfixturevalue("ingested"), folder / "data", root=book)
    for text in typed:
        if not text.startswith("bythebook "):
            subprocess.run(["bash", "-ec", text], cwd=REPOSITORY if text.startswith("make ") else folder, check=True)
            continue
        words = [STANDS_FOR.get(word, word) for word in shlex.split(text)[1:]]
        outcome = cli(*words)
        assert (text, outcome.code, outcome.err) == (text, 0, "")
        assert outcome.out.strip(), text


INLINE = re.compile(r"`bythebook ((?!--)[^`]+)`")


@pytest.mark.parametrize("page", PAGES)
def test_a_command_named_in_a_sentence_exists_with_its_options(page: str) -> None:
    text = (REPOSITORY / page).read_text("utf-8")
    for words in (found.split() for found in INLINE.findall(text)):
        command: Any = typer.main.get_command(app)
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not hasattr(command, "commands") or not words or words[0] == "--help" or command.invoke_without_command, words
        options = {name for one in command.params for name in one.opts} | {"--help"}
        assert {word for word in words if word.startswith("-")} <= options, (page, words)
