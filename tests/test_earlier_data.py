"""Data that an earlier version of the program wrote is read by this one, with nothing lost.

`earlier_data` holds what the commit before the folders were rearranged wrote: a data folder with a book about a lighthouse, a
thread with an answer and a refusal, a thread with a model's answer, a job, a key and a fit; and the same rows as JSON. The other
archives hold what the last commit of each schema and chunker wrote of the same book, where it could: a thread, a job and a key, a
rating, a shared link and the questions worth asking. The cache of embeddings is left out.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sqlite3
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from bythebook.answering.answer import Answer, Answered
from bythebook.answering.trace import Trace
from bythebook.cli import main
from bythebook.database import engine
from bythebook.database.engine import SCHEMA
from bythebook.drafting.draft import ToolCall
from bythebook.errors import Mismatch
from bythebook.evaluation.report import Report
from bythebook.index.manifest import Manifest, served_books
from bythebook.jobs.model import source_to_plain
from bythebook.operations.author import list_outdated
from bythebook.plain import STORED_NAMES, from_plain, to_plain, type_name
from bythebook.settings import read_settings
from bythebook.threads.reactions import Reactions
from bythebook.threads.store import ANY_KEY
from bythebook.web.keys import Keys
from bythebook.wiring import reader
from bythebook.wiring.author import open_resources
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.library import move_source
from tests.support.lighthouse import WICK, write_lighthouse
from tests.support.room import asked

EARLIER = Path(__file__).parent / "earlier_data"
TURNS = ("answered", "refused", "model")
ANSWERED = "11111111-1111-4111-8111-111111111111"
BY_A_MODEL = "22222222-2222-4222-8222-222222222222"
SHARED = {
    "0007": "F1asxa818Q_yhG5X1HbOulZfYj6iw4Jp",
    "0008": "jmyyH5olr7KMMtnOrBH-B1h3aOkWbyOD",
    "0009": "CtzlDZD0HtRkN7lhnq8uJaPREYQCU9oY",
}
"""The links to a turn that were given out then."""


def stored(name: str) -> Any:
    return json.loads((EARLIER / f"{name}.json").read_text("utf-8"))


def stored_types(kind: Any, seen: set[type]) -> set[type]:
    """`kind` and every dataclass that one of its fields can hold."""
    for argument in get_args(kind):
        stored_types(argument, seen)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind not in seen:
        seen.add(kind)
        for hint in get_type_hints(kind).values():
            stored_types(hint, seen)
    return seen


def test_every_stored_type_has_its_name_in_the_table() -> None:
    kinds: set[type] = set()
    for root in (Answer, Trace, ToolCall, Report):
        stored_types(root, kinds)
    assert {kind.__name__ for kind in kinds} == set(STORED_NAMES)
    assert len(set(STORED_NAMES.values())) == len(STORED_NAMES)


@pytest.mark.parametrize("name", TURNS)
def test_a_stored_turn_is_read_with_every_field(name: str) -> None:
    turn = stored(f"turn_{name}")
    answer, trace = from_plain(Answer, turn["answer"]), from_plain(Trace, turn["trace"])
    assert _within(turn["answer"], to_plain(answer))
    assert _within(turn["trace"], to_plain(trace))


def _within(before: Any, after: Any) -> bool:
    """Whether `after` says all that `before` says; it may say more."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(name in after and _within(held, after[name]) for name, held in before.items())
    if isinstance(before, list):
        return len(before) == len(after) and all(map(_within, before, after))
    return bool(before == after)


def test_a_stored_manifest_is_read_with_its_books_and_fits() -> None:
    manifest = Manifest.from_json(json.dumps(stored("manifest")))
    assert list(served_books({"textbook_chunks": manifest})) == ["light"]
    assert list(manifest.calibration) == ["light"]


def test_names_of_unstored_types_are_their_classes() -> None:
    assert type_name(Path) == "path"


def test_a_data_folder_of_before_opens_with_everything_in_it(folder: Path) -> None:
    with tarfile.open(EARLIER / "2026-11-16.tar.xz") as packed:
        packed.extractall(folder, filter="data")

    async def story() -> None:
        async with open_resources(read_settings(data_dir=folder / "data"), embeds=True) as resources:
            threads = {thread.thread_id: thread for thread in await resources.threads.list(None, book_id="light")}
            assert {name: thread.turn_count for name, thread in threads.items()} == {ANSWERED: 2, BY_A_MODEL: 1}
            (job,) = await resources.jobs.list()
            before = stored("job")
            kept = (
                "job_id",
                "book_id",
                "mode",
                "status",
                "files_total",
                "files_processed",
                "chunks_created",
                "report",
                "attempts",
            )
            assert {name: getattr(job, name) for name in kept} == {name: before[name] for name in kept}
            assert source_to_plain(job.source) == before["source"]
            assert [key.name for key in await Keys(resources.database).list()] == ["golden"]
            events = [event async for event in resources.conversation.turn(asked(WICK, ANSWERED))]
            assert isinstance(events[-1], Answered)
            assert "every four hours" in events[-1].answer.answer
            assert threads[ANSWERED].turn_count + 1 == (await resources.threads.get(ANSWERED, None)).turn_count

    asyncio.run(story())


def unpacked(name: str, folder: Path) -> Path:
    with tarfile.open(EARLIER / f"schema-{name}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder / "data"


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("0001-chunker-1", (0, 0, 0)),
        ("0002-chunker-1", (0, 0, 0)),
        ("0003", (1, 1, 1)),
        ("0004", (1, 1, 1)),
        ("0005", (1, 1, 1)),
        ("0006", (1, 1, 1)),
        ("0007", (1, 1, 1)),
        ("0008", (1, 1, 1)),
        ("0009", (1, 1, 1)),
    ],
)
def test_the_data_of_every_schema_opens_by_itself(folder: Path, name: str, holds: tuple[int, int, int]) -> None:
    data = unpacked(name, folder)

    async def story() -> None:
        async with open_resources(read_settings(data_dir=data)) as resources:
            assert [state.book_id for state in await resources.records.books()] == ["light"]
            threads = await resources.threads.list(ANY_KEY)
            keys, jobs = await Keys(resources.database).list(), await resources.jobs.list()
            assert (len(threads), len(keys), len(jobs)) == holds
            for thread in threads:
                (turn,) = await resources.threads.turns(thread.thread_id)
                assert "every four hours" in turn.answer.answer
            if name in SHARED:
                reactions = Reactions(resources.database)
                assert (await reactions.shared(SHARED[name])).thread_id == threads[0].thread_id
                (wrong,) = await reactions.rated("light", right=False)
                assert wrong.rating.reason == "it says how often, not when"
            assert [thread.metadata for thread in threads] == (
                [{"user_id": "keeper-7"}] if name >= "0006" else [{}] * len(threads)
            )
            outdated = await list_outdated(resources)
            assert [book.mode for book in outdated] == (["recreate"] if "chunker" in name else [])

    asyncio.run(story())
    with closing(sqlite3.connect(data / "bythebook.db")) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [(SCHEMA,)]
        (found,) = database.execute("SELECT count(*) FROM worth_asking").fetchone()
        assert found == (12 if name >= "0009" else 0)


def test_every_schema_has_data_that_it_wrote() -> None:
    migrations = {file.name[:4] for file in Path(engine.__file__).with_name("migrations").glob("versions/0*.py")}
    assert {file.name.removeprefix("schema-")[:4] for file in EARLIER.glob("schema-*")} == migrations


def test_upgrade_indexes_again_what_an_earlier_version_indexed_otherwise(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The small embedder under the real one's name: what matters is the index."""
    data, book = unpacked("0001-chunker-1", folder), folder / "book"
    monkeypatch.setattr(reader, "open_embedder", lambda _: SmallEmbedder("granite-embedding-30m-english@6a1cc247", dimension=384))

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["bythebook", *arguments, "--data-dir", str(data)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out + told.err

    assert "Rebuild it: bythebook upgrade" in run("ask", WICK)[1]
    code, told = run("upgrade")
    assert (code, "/books/lighthouse is not here" in told) == (1, True)
    write_lighthouse(book)
    move_source(data, root=book)
    assert run("upgrade") == (0, "✓ light: indexed again, 11 chunks\n")
    assert "every invariant holds" in run("check")[1]


@pytest.mark.parametrize(
    ("change", "told"),
    [({"chunker_version": 99}, "indexed by a newer version"), ({"compression": "zstd"}, "a newer one made it. Upgrade")],
)
def test_an_index_of_a_newer_version_is_left_alone(folder: Path, change: dict[str, Any], told: str) -> None:
    data = unpacked("0005", folder)
    manifest = data / "index" / "textbook_chunks" / "manifest.json"
    written = json.dumps({**json.loads(manifest.read_text("utf-8")), **change})
    manifest.write_text(written, "utf-8")

    async def story() -> None:
        async with open_resources(read_settings(data_dir=data)) as resources:
            with pytest.raises(Mismatch, match=told):
                await resources.search.served("light")

    asyncio.run(story())
    assert manifest.read_text("utf-8") == written
