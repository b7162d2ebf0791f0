"""What the page fetches beside the API: passages, lessons, pictures."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from pathlib import Path

import httpx

from tests.support.processes import wait_for
from tests.support.serving import BOOK, problem, running

ESCAPE = (
    "../secret.png",
    "/etc/passwd.png",
    "a/../../secret.png",
    "link.png",
    "notes.txt",
    "large.png",
    "folder.png",
    "no\0.png",
)


def test_the_only_book_is_fetched_together_with_the_modules(client: httpx.Client) -> None:
    named = re.findall(r'as="fetch" crossorigin href="([^"]+)"', client.get("/").text)
    assert named == ["/books", f"/books/{BOOK}"]
    assert all(client.get(address).status_code == 200 for address in named)


def test_a_lesson_is_rendered_with_every_heading_of_its_file(client: httpx.Client) -> None:
    book = client.get(f"/books/{BOOK}").json()
    lessons = [one for module in book["modules"] for chapter in module["chapters"] for one in chapter["lessons"]]
    for lesson in lessons:
        read = client.get(f"/page/lessons/{lesson['parent_doc_id']}").json()
        chunks = client.get(f"/lessons/{lesson['parent_doc_id']}").json()["chunks"]
        headings = [title for chunk in chunks for title in {*chunk["heading_path"]}]
        assert read["source_file"] == lesson["source_file"]
        assert all(f">{title}</h" in read["html"] for title in headings if title.isalpha()), lesson["source_file"]


def test_the_page_names_what_it_needs_where_no_key_is_needed(folder: Path) -> None:
    with running(folder) as service, service.client() as client:
        assert re.findall(r'as="fetch" crossorigin href="([^"]+)"', client.get("/").text) == ["/books"]
        service.key("chat")
        wait_for(lambda: 'as="fetch"' not in client.get("/").text)


def test_answers_in_json_are_compressed(client: httpx.Client) -> None:
    assert client.get(f"/books/{BOOK}").headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in client.get("/health/live").headers


def test_a_picture_that_a_notebook_keeps_is_sent(folder: Path) -> None:
    kept = {"foot.png": {"image/png": b64encode(b"a foot").decode()}}
    cells = [
        {"cell_type": "markdown", "source": "# Feet\n\nA robot has a foot. ![A foot](attachment:foot.png)", "attachments": kept}
    ]
    book = folder / "kept"
    book.mkdir()
    (book / "feet.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), "utf-8")
    (folder / "secret.ipynb").write_bytes((book / "feet.ipynb").read_bytes())
    (book / "link.ipynb").symlink_to(folder / "secret.ipynb")
    with running(folder / "data", source_roots=str(folder)) as service, service.client() as client:
        job = client.post("/books/kept/jobs", json={"source": {"folder": str(book)}}).json()
        assert '"completed"' in client.get(f"/jobs/{job['job_id']}/events").text
        lesson = client.get("/books/kept").json()["modules"][0]["chapters"][0]["lessons"][0]
        html = client.get(f"/page/lessons/{lesson['parent_doc_id']}").json()["html"]
        assert 'data-picture="feet.ipynb#foot.png"' in html
        sent = client.get("/page/pictures/kept", params={"path": "feet.ipynb#foot.png"})
        assert (sent.status_code, sent.headers["Content-Type"], sent.content) == (200, "image/png", b"a foot")
        for path in (
            "feet.ipynb#hand.png",
            "feet.ipynb#foot.svg",
            "link.ipynb#foot.png",
            "../secret.ipynb#foot.png",
            "gone.ipynb#a.png",
        ):
            problem(client.get("/page/pictures/kept", params={"path": path}), 404, "not_found")


def test_a_picture_comes_from_the_books_folder_and_nothing_else_does_and_a_label_is_told_in_words(folder: Path) -> None:
    book = folder / "pictured"
    (book / "img").mkdir(parents=True)
    (book / "book.toml").write_text('book_id = "pictured"\n', "utf-8")
    (book / "01-feet.md").write_text("# Feet\n:label:`sec_feet`\n\nA robot has two feet. ![Two feet](img/feet.svg)\n", "utf-8")
    (book / "img" / "feet.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "utf-8")
    (book / "notes.txt").write_text("mine", "utf-8")
    (book / "large.png").write_bytes(b"x" * 5_000_001)
    (book / "folder.png").mkdir()
    (folder / "secret.png").write_bytes(b"secret")
    (book / "link.png").symlink_to(folder / "secret.png")

    with running(folder / "data", source_roots=str(folder)) as service, service.client() as client:
        job = client.post("/books/pictured/jobs", json={"source": {"folder": str(book)}}).json()
        assert '"completed"' in client.get(f"/jobs/{job['job_id']}/events").text
        lesson = client.get("/books/pictured").json()["modules"][0]["chapters"][0]["lessons"][0]
        assert 'data-picture="img/feet.svg"' in client.get(f"/page/lessons/{lesson['parent_doc_id']}").json()["html"]
        sent = client.get("/page/pictures/pictured", params={"path": "img/feet.svg"})
        assert (sent.status_code, sent.headers["Content-Type"]) == (200, "image/svg+xml")
        assert sent.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        for path in ESCAPE:
            problem(client.get("/page/pictures/pictured", params={"path": path}), 404, "not_found")
    with running(folder / "data") as service, service.client() as client:  # no root is set: this machine brought it in itself
        (book / "02-hands.md").write_text("# Hands\n\nMore than :numref:`sec_feet` do; :numref:`sec_gone` is gone.\n", "utf-8")
        job = client.post("/books/pictured/jobs", json={}).json()
        assert '"completed"' in client.get(f"/jobs/{job['job_id']}/events").text
        feet, hands = client.get("/books/pictured").json()["modules"][0]["chapters"][0]["lessons"]
        read = client.get(f"/page/lessons/{hands['parent_doc_id']}").json()["html"]
        assert 'More than <a href="#/books/pictured/lessons/01-feet.md?section=Feet">Feet</a> do; the section is gone.' in read
        assert "sec_feet" not in client.get(f"/page/lessons/{feet['parent_doc_id']}").json()["html"]
