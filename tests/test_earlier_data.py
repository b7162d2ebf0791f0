"""Data that an earlier version of the program wrote is read by this one, with nothing lost.

`earlier_data` holds what the commit before the folders were rearranged wrote: a data folder with a book about a lighthouse, a
thread with an answer and a refusal, a thread with a model's answer, a job, a key and a fit; and the same rows as JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import tarfile
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from bythebook.answering.answer import Answer, Answered
from bythebook.answering.trace import Trace
from bythebook.drafting.draft import ToolCall
from bythebook.evaluation.report import Report
from bythebook.index.manifest import Manifest, served_books
from bythebook.jobs.model import source_to_plain
from bythebook.plain import STORED_NAMES, from_plain, to_plain, type_name
from bythebook.settings import read_settings
from bythebook.web.keys import Keys
from bythebook.wiring.author import open_resources
from tests.support.lighthouse import WICK
from tests.support.room import asked

EARLIER = Path(__file__).parent / "earlier_data"
TURNS = ("answered", "refused", "model")
ANSWERED = "11111111-1111-4111-8111-111111111111"
BY_A_MODEL = "22222222-2222-4222-8222-222222222222"


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


def test_a_data_folder_of_before_opens_with_everything_in_it(tmp_path: Path) -> None:
    with tarfile.open(EARLIER / "2026-11-16.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")

    async def story() -> None:
        async with open_resources(read_settings(data_dir=tmp_path / "data"), embeds=True) as resources:
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
