"""`llms.txt` and `llms-full.txt`: over HTTP, and written for a static site by the command."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from tests.cli.conftest import run_process
from tests.support.sample_library import sample_library
from tests.support.serving import BOOK, Service, problem

SAMPLE = Path(__file__).parents[2] / "src" / "bythebook" / "sample_book"


def test_every_lesson_is_listed_under_its_chapter_with_its_address(client: httpx.Client) -> None:
    response = client.get(f"/books/{BOOK}/llms.txt")
    assert response.headers["content-type"].startswith("text/markdown")
    head, quote, *_ = [line for line in response.text.splitlines() if line]
    assert (head, quote) == ("# Physical AI & Humanoid Robotics", "> A book with 37 lessons, language en.")
    _, _, chapter = response.text.partition("## Chapter 1: How robots talk\n")
    assert re.findall(r"^- \[(.+?)\]", chapter.partition("\n## ")[0], re.MULTILINE)[-3:] == [
        "Nodes and the graph",
        "Topics and messages",
        "Services and actions",
    ]
    listed = re.findall(r"\]\((.+?)\)$", response.text, re.MULTILINE)
    modules = client.get(f"/books/{BOOK}").json()["modules"]
    lessons = [lesson for module in modules for chapter in module["chapters"] for lesson in chapter["lessons"]]
    assert sorted(listed) == sorted(lesson["source_url"] for lesson in lessons)


def test_the_whole_text_of_every_lesson_is_there_in_the_order_of_the_list(client: httpx.Client) -> None:
    text = client.get(f"/books/{BOOK}/llms-full.txt").text
    listed = re.findall(r"\]\((.+?)\)$", client.get(f"/books/{BOOK}/llms.txt").text, re.MULTILINE)
    assert re.findall(r"^Source: (.+)$", text, re.MULTILINE) == listed
    for file in SAMPLE.rglob("*.md*"):
        last = file.read_text("utf-8").strip().splitlines()[-1]
        assert last in text, file


def test_a_book_of_another_key_is_not_there(locked: Service) -> None:
    with locked.client() as nobody, locked.client(locked.key("chat", book_id="another")) as other:
        for name in ("llms.txt", "llms-full.txt"):
            problem(nobody.get(f"/books/{BOOK}/{name}"), 401, "key_required")
            problem(other.get(f"/books/{BOOK}/{name}"), 404, "not_found")
            problem(other.get(f"/books/another/{name}"), 404, "not_found")


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
def test_the_command_writes_what_the_server_says(service: Service, client: httpx.Client, folder: Path) -> None:
    data_dir = sample_library(folder)
    told = run_process("llms", folder / "site", data_dir=data_dir)
    assert (told.code, "There is no folder" in told.err) == (2, True)
    (folder / "site").mkdir()
    told = run_process("llms", folder / "site", data_dir=data_dir)
    assert (told.code, told.err) == (0, "")
    assert "37 lessons" in told.out
    for name in ("llms.txt", "llms-full.txt"):
        assert (folder / "site" / name).read_text("utf-8") == client.get(f"/books/{BOOK}/{name}").text
