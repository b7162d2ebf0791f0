"""Threads written by processes that are killed, and by two at once."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import select

from bythebook.database.engine import Database
from bythebook.database.tables import threads as table
from bythebook.threads.store import ANY_KEY, Threads
from tests.support.databases import opened
from tests.support.library import copy_data
from tests.support.lighthouse import published
from tests.support.soak import soak_size

ROOT = Path(__file__).parents[2]
AT_ONCE = 4
MANY = 10_000


class Trial:
    """A database and copies of the lighthouse; processes that talk with it."""

    def __init__(self, folder: Path, address: str | None) -> None:
        self._folder = folder
        self.address = address or f"sqlite:///{folder / 'shared.db'}"

    def start(self, name: str, turns: int, *thread_ids: str) -> subprocess.Popen[str]:
        copy_data(published() / "data", self._folder / name)
        command = [sys.executable, "-m", "tests.support.talking_child", str(self._folder / name), self.address, name, str(turns)]
        return subprocess.Popen(
            [*command, *thread_ids], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )

    def kill(self, chance: random.Random) -> tuple[int, bool]:
        """Kill a process at a random moment of its turns. How many turns it had been told are kept, and whether it was killed
        in the middle of one."""
        name, thread_ids = uuid4().hex, [str(uuid4()) for _ in range(AT_ONCE)]
        with self.start(name, MANY, *thread_ids) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            told = [process.stdout.readline() for _ in range(chance.randint(1, 4 * AT_ONCE))]
            try:
                process.wait(timeout=chance.uniform(0.0, 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
            told += process.stdout.readlines()
            assert process.stderr.read() == ""
        shutil.rmtree(self._folder / name)  # hundreds of them fill a file system in memory, which ends a process without a word
        last = Counter[str]()
        for line in told:
            thread_id, number = line.split()
            assert int(number) == last[thread_id] + 1
            last[thread_id] += 1
        running = asyncio.run(self.check_whole(last, thread_ids))
        return last.total(), running > 0

    async def check_whole(self, told: Counter[str], thread_ids: Sequence[str] = ()) -> int:
        """Each of these threads (or all) is whole, and has every turn whose reader was told that it ended. How many turns were
        running."""
        async with opened(self.address, self._folder) as database:
            threads = Threads(database)
            for thread in await threads.list(ANY_KEY, limit=MANY):
                if thread_ids and thread.thread_id not in thread_ids:
                    continue  # checked after its own process was killed, and once more at the end
                turns = await threads.turns(thread.thread_id)
                assert [turn.number for turn in turns] == list(range(1, thread.turn_count + 1))
                assert thread.updated_at == turns[-1].created_at
                messages = await threads.messages(thread.thread_id, archived=True)
                assert messages[0].role == "system"
                spoken = [message.content for message in messages if message.spoken]
                assert spoken == [text for turn in turns for text in (turn.asked, turn.answer.answer)]
                assert len(messages) == 1 + 4 * len(turns)
                assert thread.turn_count - told[thread.thread_id] in (
                    (0, 1) if thread.thread_id in told else (thread.turn_count,)
                )
            assert set(told) <= {thread.thread_id for thread in await threads.list(ANY_KEY, limit=MANY)}
            return await _running(database, told)


async def _running(database: Database, told: Counter[str]) -> int:
    held = select(table.c.thread_id).where(table.c.turn_token.is_not(None) & table.c.thread_id.in_(list(told)))
    return len(await database.run(lambda connection: connection.execute(held).all()))


def test_killed_in_the_middle_of_turns_every_thread_is_whole(database_address: str | None, folder: Path) -> None:
    Trial(folder, database_address).kill(random.Random(0))


@pytest.mark.soak
def test_killed_hundreds_of_times_every_thread_is_whole(database_address: str | None, folder: Path) -> None:
    trial, seed = Trial(folder, database_address), random.randrange(10**6)
    kills = [trial.kill(random.Random(seed + number)) for number in range(soak_size(460))]
    asyncio.run(trial.check_whole(Counter()))
    turns, running = sum(kept for kept, _ in kills), sum(in_turn for _, in_turn in kills)
    print(
        f"\n{len(kills)} kills (seed {seed}), {running} in the middle of turns: {turns} turns told, all kept, every thread whole"
    )


def test_two_processes_that_write_one_thread_take_turns(database_address: str | None, folder: Path) -> None:
    trial, thread_id, count = Trial(folder, database_address), str(uuid4()), 4
    with trial.start("ada", count, thread_id) as ada, trial.start("ben", count, thread_id) as ben:
        for process in (ada, ben):
            _, err = process.communicate(timeout=300)
            assert (process.returncode, err) == (0, "")

    async def check() -> None:
        async with opened(trial.address, folder) as database:
            turns = await Threads(database).turns(thread_id)
            assert [turn.number for turn in turns] == list(range(1, 2 * count + 1))
            for name in ("ada", "ben"):
                mine = [turn.asked for turn in turns if name in turn.asked]
                assert mine == [f"Wick of {name} {number}?" for number in range(count)]
            ends = [turn.created_at for turn in turns]
            begun = [message.timestamp for message in await Threads(database).messages(thread_id) if message.role == "tool"]
            assert sorted([*begun, *ends]) == [moment for turn in zip(begun, ends, strict=True) for moment in turn]

    asyncio.run(check())
