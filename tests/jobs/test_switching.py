"""`recreate` while a real service is asked: the old index answers until the new one takes over, and nobody notices."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.cli.conftest import run_process
from tests.support.hall import write_listings
from tests.web.test_serve import client, served

READERS = 2
QUESTION = {"book_id": "small", "text": "turn_2_7 = joint[7] + 2"}


def test_readers_do_not_notice_that_the_index_is_made_anew(tmp_path: Path) -> None:
    book = write_listings(tmp_path / "books" / "small")
    data_dir = tmp_path / "data"
    assert run_process("ingest", book, data_dir=data_dir).code == 0
    with served(data_dir, BYTHEBOOK_SOURCE_ROOTS=str(book.parent)) as service, client(service) as author:
        first, before = found(author), collections(data_dir)
        with asked_all_the_time(service.url) as answers:
            job = author.post("/books/small/jobs", json={"mode": "recreate"}).json()
            ended = followed(author, job["job_id"])
        assert (ended["status"], ended["mode"]) == ("completed", "recreate"), ended
        assert collections(data_dir) != before
        assert first[0] == 200
        assert answers.keys() == {first}
        assert found(author) == first


def found(reader: httpx.Client) -> tuple[int, str]:
    """The status, and what was found or what went wrong."""
    answer = reader.post("/search", json=QUESTION)
    return answer.status_code, " ".join(one["text"] for one in answer.json().get("results", [])) or answer.text


def followed(reader: httpx.Client, job_id: int) -> Any:
    """The job when it has ended."""
    assert reader.get(f"/jobs/{job_id}/events").status_code == 200
    return reader.get(f"/jobs/{job_id}").json()


def collections(data_dir: Path) -> set[str]:
    return {path.name for path in (data_dir / "index").glob("textbook_chunks*")}


@contextmanager
def asked_all_the_time(url: str) -> Iterator[Counter[tuple[int, str]]]:
    """Meanwhile readers ask without pause; what they were told, counted."""
    answers: Counter[tuple[int, str]] = Counter()
    over = threading.Event()

    def read() -> None:
        with httpx.Client(base_url=url, timeout=120, trust_env=False) as reader:
            while not over.is_set():
                answers[found(reader)] += 1

    with ThreadPoolExecutor(READERS) as readers:
        reading = [readers.submit(read) for _ in range(READERS)]
        try:
            yield answers
        finally:
            over.set()
            for one in reading:
                one.result()
