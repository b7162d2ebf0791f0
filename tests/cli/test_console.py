"""What a book wrote does not give orders to the terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import bythebook.cli
from bythebook.cli import main, printable
from bythebook.cli.options import to_json
from bythebook.cli.output.console import Console
from tests.cli.conftest import Cli, environment
from tests.support.sample_library import sample_library

HOSTILE = "see\x1b[8mhidden\x1b[0m \x1b]52;c;aGk=\x07 \x9b8m \x85 \u202eback"


def printed(what: object) -> str:
    file = io.StringIO()
    Console(file=file, force_terminal=True, color_system="truecolor", width=200).print(what, style="bold")
    return file.getvalue()


def test_texts_lose_their_control_characters_and_keep_our_styles() -> None:
    table = Table()
    table.add_column("title")
    table.add_row(Text(HOSTILE, style="red"))
    for what in (HOSTILE, Text(HOSTILE), table):
        shown = printed(what)
        for order in ("\x1b[8m", "\x1b]52", "\x07", "\x9b", "\x85", "\u202e"):
            assert order not in shown
        assert "hidden" in shown
        assert "\x1b[1" in shown


def test_json_keeps_the_text_and_shows_no_order() -> None:
    written = to_json({"title": HOSTILE})
    assert json.loads(written)["title"] == HOSTILE
    assert printable(written) == written


def test_an_error_that_quotes_a_book_gives_no_orders(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["bythebook", "ingest", "no\x1b]0;folder\x07"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "folder" in said
    assert "\x1b" not in said


def test_every_command_prints_on_this_console() -> None:
    folder = Path(bythebook.cli.__file__).parent
    others = [path.name for path in folder.rglob("*.py") if "from rich.console import Console\n" in path.read_text("utf-8")]
    assert others == []


def test_a_reader_who_goes_away_ends_a_command_in_silence(tmp_path: Path) -> None:
    """As `bythebook ask … | head -1` does."""
    data_dir = sample_library(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "bythebook", "ask", "What is a node?"],
        stdout=writer,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(data_dir),
        timeout=300,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_table_that_has_no_room_breaks_no_id_name_or_time(shelf: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "the-reading-room-of-the-library-on-the-hill"
    created = shelf("keys", "create", name, "--scope", "chat", "--json")
    assert created.code == 0, created.err
    for width in ("60", "80", "160"):
        monkeypatch.setenv("COLUMNS", width)
        for command, whole in (
            (("keys", "list"), (name, str(json.loads(created.out)["key_id"]))),
            (("audit",), (name, "key created")),
            (("jobs", "list"), ("small", "incremental")),
        ):
            shown = shelf(*command).out
            for words in whole:
                assert words in shown, (width, command, shown)
            assert max(map(len, shown.splitlines())) <= int(width), (width, shown)
