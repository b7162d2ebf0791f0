"""Threads that are no longer kept go while the service runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from bythebook.database.tables import threads
from bythebook.wiring import reader
from tests.support.lighthouse import WICK, copy_published, make_embedder
from tests.support.processes import wait_for
from tests.support.serving import ask, running


def test_a_thread_that_is_old_enough_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "open_embedder", lambda _: make_embedder())
    copy_published(folder)
    with running(folder / "data") as service, service.client() as client:
        ask(client, WICK)
        old = update(threads).values(updated_at=datetime.now(UTC) - timedelta(days=8))
        service.run(service.state.resources.database.run(lambda connection: connection.execute(old)))
        kept = ask(client, WICK)["session_id"]
    with running(folder / "data", keep_threads_days=7) as service, service.client() as client:
        wait_for(lambda: [one["thread_id"] for one in client.get("/threads").json()["threads"]] == [kept])
        assert client.get("/audit").json()["entries"][0]["actor"] == "retention"
