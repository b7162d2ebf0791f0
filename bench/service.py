"""What HTTP costs: a chat turn and a search over the service, against the same called in process; and many at once."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.alone import opened
from bench.callers import call
from bench.material import sample_questions
from bench.table import Table, verdict
from bench.timing import median, milliseconds, percentile
from bench.workshop import Workshop
from bythebook.answering import Answering
from bythebook.conversing import Asked, Conversing
from bythebook.retrieval.query import DEFAULT_BOOK, SearchQuery
from bythebook.turn import Question
from bythebook.wiring import Resources

OVERHEAD_TARGET_SECONDS = 0.010
THROUGHPUT_TARGET = 0.7
SLOWEST_TARGET = 1.1
READY_TARGET_SECONDS = 3.0
MEMORY_TARGET = 1.1
AT_ONCE = 8
STREAMS = 100
ROUNDS = 5
SIMILARITY = 0.7

Row = tuple[str, ...]
Act = Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    port: int
    pid: int
    ready_seconds: float

    @property
    def memory_bytes(self) -> int:
        import psutil

        return int(psutil.Process(self.pid).memory_info().rss)


def service(workshop: Workshop) -> Table:
    workshop.sample()
    questions = [question.text for question in sample_questions()][:50]
    rows: list[Row] = []
    with serving(workshop) as server:
        rows.append(_held("start to ready", server.ready_seconds, READY_TARGET_SECONDS, "s"))
        rows += asyncio.run(_compared(workshop, server, questions))
        rows.append(_memory(workshop, server, questions))
    return Table(
        title="Service",
        columns=("what", "in process", "over HTTP", "", "target", ""),
        rows=tuple(rows),
        note="The sample book, no model, SQLite, no keys. The server is a process of its own and so are the callers; both share "
        f"the machine. One at a time: {len(questions)} questions in turn, in process without storing them, over HTTP each as a "
        f"stored thread. {STREAMS} streams: the time that as many stored turns at once take in process, and what 95 of 100 "
        "readers wait for theirs at most. "
        f"In process and over HTTP in turn, {ROUNDS} times; medians.",
    )


@contextmanager
def serving(workshop: Workshop) -> Iterator[Serving]:
    """On a copy of the sample book's data: one process alone holds an index."""
    data_dir = workshop.empty_dir("served")
    shutil.copytree(workshop.data_dir("sample"), data_dir)
    program = Path(sys.executable).with_name("bythebook")
    began = time.perf_counter()
    command = [str(program), "serve", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        address = process.stdout.readline().split()[5]
        yield Serving(port=int(address.rpartition(":")[2]), pid=process.pid, ready_seconds=time.perf_counter() - began)
        process.terminate()


async def _compared(workshop: Workshop, server: Serving, questions: Sequence[str]) -> list[Row]:
    async with (
        opened(workshop.data_dir("sample")) as resources,
        resources.answering() as answering,
        resources.conversing() as conversing,
    ):
        turn, search, stored = _turn(answering), _search(resources), _stored(conversing)
        await _one_by_one(turn, questions)  # what is made once is made
        call(server.port, "/chat/run", _asked(questions), count=len(questions), at_once=1)
        return [
            await _turns(server, turn, questions),
            await _searches(server, search, questions, count=workshop.sizes.searches),
            await _streams(server, stored, questions),
        ]


async def _turns(server: Serving, turn: Act, questions: Sequence[str]) -> Row:
    direct: list[float] = []
    told: list[float] = []
    for _ in range(ROUNDS):
        direct += await _one_by_one(turn, questions)
        told += call(server.port, "/chat/run", _asked(questions), count=len(questions), at_once=1).seconds
    over = median(told) - median(direct)
    held = (f"<= +{milliseconds(OVERHEAD_TARGET_SECONDS)}", verdict(over <= OVERHEAD_TARGET_SECONDS))
    return "a turn, one at a time", milliseconds(median(direct)), milliseconds(median(told)), f"+{milliseconds(over)}", *held


async def _searches(server: Serving, search: Act, questions: Sequence[str], *, count: int) -> Row:
    texts = [questions[number % len(questions)] for number in range(count)]
    bodies = [{"text": text} for text in questions]
    pairs = []
    for _ in range(ROUNDS):
        in_process = count / await _at_once(search, texts)
        pairs.append((in_process, count / call(server.port, "/search", bodies, count=count, at_once=AT_ONCE).total_seconds))
    share = median([over_http / in_process for in_process, over_http in pairs])
    rates = [f"{median(rates):.0f}/s" for rates in zip(*pairs, strict=True)]
    held = (f">= {THROUGHPUT_TARGET:.0%}", verdict(share >= THROUGHPUT_TARGET))
    return f"searches, {AT_ONCE} at once", *rates, f"{share:.0%}", *held


async def _streams(server: Serving, stored: Act, questions: Sequence[str]) -> Row:
    texts = [questions[number % len(questions)] for number in range(STREAMS)]
    pairs = []
    for _ in range(ROUNDS):
        needed = await _at_once(stored, texts, at_once=STREAMS)
        told = call(server.port, "/chat/stream", _asked(questions), count=STREAMS, at_once=STREAMS).seconds
        pairs.append((needed, percentile(told, 0.95)))
    share = median([slow / needed for needed, slow in pairs])
    times = [f"{median(times):.1f} s" for times in zip(*pairs, strict=True)]
    held = (f"<= {SLOWEST_TARGET:g} x", verdict(share <= SLOWEST_TARGET))
    return f"{STREAMS} streams at once, p95", *times, f"{share:.2f} x", *held


def _memory(workshop: Workshop, server: Serving, questions: Sequence[str]) -> Row:
    """After a tenth of the requests everything that is kept once is kept."""
    count = workshop.sizes.questions
    call(server.port, "/chat/run", _asked(questions), count=count // 10, at_once=AT_ONCE)
    before = server.memory_bytes
    call(server.port, "/chat/run", _asked(questions), count=count - count // 10, at_once=AT_ONCE)
    growth = server.memory_bytes / before
    sizes = (f"{before / 1e6:.0f} MB", f"{server.memory_bytes / 1e6:.0f} MB", f"{growth:.2f} x")
    return f"memory over {count:,} turns", *sizes, f"<= {MEMORY_TARGET:g} x", verdict(growth <= MEMORY_TARGET)


def _held(what: str, value: float, target: float, unit: str) -> Row:
    return what, "", f"{value:.2f} {unit}", "", f"<= {target:g} {unit}", verdict(value <= target)


def _asked(questions: Sequence[str]) -> list[dict[str, object]]:
    return [{"message": question} for question in questions]


def _turn(answering: Answering) -> Act:
    query = SearchQuery(text="question", book_id=DEFAULT_BOOK, hardware_tier_filter=None)

    async def act(text: str) -> object:
        return [event async for event in answering.answer(Question(text=text, query=query, similarity_threshold=SIMILARITY))]

    return act


def _stored(conversing: Conversing) -> Act:
    query = SearchQuery(text="question", book_id=DEFAULT_BOOK, hardware_tier_filter=None)

    async def act(text: str) -> object:
        return [event async for event in conversing.turn(Asked(text=text, query=query, similarity_threshold=SIMILARITY))]

    return act


def _search(resources: Resources) -> Act:
    async def act(text: str) -> object:
        return await resources.searching.search(SearchQuery(text=text, book_id=DEFAULT_BOOK))

    return act


async def _one_by_one(act: Act, texts: Sequence[str]) -> list[float]:
    times = []
    for text in texts:
        began = time.perf_counter()
        await act(text)
        times.append(time.perf_counter() - began)
    return times


async def _at_once(act: Act, texts: Sequence[str], *, at_once: int = AT_ONCE) -> float:
    waiting = iter(texts)

    async def one_caller() -> None:
        for text in waiting:
            await act(text)

    began = time.perf_counter()
    await asyncio.gather(*(one_caller() for _ in range(at_once)))
    return time.perf_counter() - began
