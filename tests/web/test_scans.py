"""The page of a PDF as a picture over HTTP, from a book that was ingested as a user ingests it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import run_process
from tests.support.made_pdf import MadePdf, column
from tests.support.serving import running, silent

ELBOW = "An elbow bends in one plane and carries the forearm."


def test_a_quoted_page_is_sent_as_a_picture_and_nothing_else_is(folder: Path) -> None:
    book = folder / "joints"
    book.mkdir()
    (book / "joints.pdf").write_bytes(MadePdf([column("Joints", size=18, font="bold", top=730) + column(ELBOW)]).write())
    (book / "legs.md").write_text("# Legs\n\nA knee locks when the leg is straight.\n")
    assert run_process("ingest", book, data_dir=folder / "data").code == 0
    with silent(), running(folder / "data") as service, service.client() as client:
        found = client.post("/search", json={"text": ELBOW, "book_id": "joints"}).json()["results"][0]
        start = found["text"].index(ELBOW)
        address = f"/page/scans/{found['id']}?book_id=joints&quote={start}-{start + len(ELBOW)}"
        picture = client.get(address)
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
        assert picture.content.startswith(b"\x89PNG")
        (book / "joints.pdf").unlink()
        gone = client.get(address)
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
        other = client.post("/search", json={"text": "A knee locks", "book_id": "joints"}).json()["results"][0]
        assert other["source_file"] == "legs.md"
        assert client.get(f"/page/scans/{other['id']}?book_id=joints").status_code == 404
