"""What HTTP costs: a chat turn and a search over the service, against the same called in process; and many at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from bench.alone import opened
from bench.callers import Request, call
from bench.material import SAMPLE_BOOK, sample_questions
from bench.served import STARTS, Served, seconds_to_ready, served
from bench.table import Table, verdict
from bench.timing import median, milliseconds, percentile
from bench.workshop import Workshop
from bythebook.answering.answerer import Answerer
from bythebook.answering.question import Question
from bythebook.retrieval.query import Scope, SearchQuery
from bythebook.threads.conversation import Asked, Conversation
from bythebook.wiring.author import Resources

OVERHEAD_TARGET_SECONDS = 0.010
THROUGHPUT_TARGET = 0.7
SLOWEST_TARGET = 1.1
READY_TARGET_SECONDS = 3.0
MEMORY_TARGET = 1.1
AT_ONCE = 8
STREAMS = 100
MANY_STREAMS = 1_000
ROUNDS = 9
SIMILARITY = 0.7

Row = tuple[str, ...]
Act = Callable[[str], Awaitable[object]]


def service(workshop: Workshop) -> Table:
    workshop.sample()
    questions = [question.text for question in sample_questions()][:50]
    rows: list[Row] = []
    rows.append(_held("start to ready", seconds_to_ready(workshop), READY_TARGET_SECONDS, "s"))
    with served(workshop) as server:
        rows += asyncio.run(_compared(workshop, server, questions))
        rows.append(_many_streams(server, questions))
        rows.append(_memory(workshop, server, questions))
    return Table(
        title="Service",
        columns=("what", "in process", "over HTTP", "", "target", ""),
        rows=tuple(rows),
        note="The sample book, no model, SQLite, no keys. The server is a process of its own and so are the callers; both share "
        f"the machine. One at a time: {len(questions)} questions in turn, in process without storing them, over HTTP each as a "
        f"stored thread; a chat completion against /chat/run. {STREAMS} streams: what 95 of 100 readers wait at most when all "
        "ask at once, against the time the "
        f"server works for as many when {AT_ONCE} ask at a time, which keeps its cores busy; beside it what the turns alone take "
        f"in process, without HTTP. All three in turn, {ROUNDS} times; medians. {MANY_STREAMS:,} streams: "
        "all are open from the first moment, and none may fail. Memory: of 20 requests one is a stored turn, two are searches "
        "and the others read the book; after a tenth of them, and at the end. "
        f"Ready: the median of {STARTS} starts, with the modules compiled as an installation has them.",
    )


async def _compared(workshop: Workshop, server: Served, questions: Sequence[str]) -> list[Row]:
    async with (
        opened(workshop.data_dir("sample")) as resources,
    ):
        turn, search, stored = _turn(resources.answerer), _search(resources), _stored(resources.conversation)
        await _one_by_one(turn, questions)  # what is made once is made
        call(server.port, _asked("/chat/run", questions), count=len(questions), at_once=1)
        return [
            *await _turns(server, turn, questions),
            await _searches(server, search, questions, count=workshop.sizes.searches),
            *await _streams(server, stored, questions),
        ]


async def _turns(server: Served, turn: Act, questions: Sequence[str]) -> list[Row]:
    """Over /chat/run against in process, and over /v1/chat/completions against /chat/run: all three in turn."""
    direct: list[float] = []
    told: list[float] = []
    completed: list[float] = []
    for _ in range(ROUNDS):
        direct += await _one_by_one(turn, questions)
        told += call(server.port, _asked("/chat/run", questions), count=len(questions), at_once=1).seconds
        completed += call(server.port, _completions(questions), count=len(questions), at_once=1).seconds
    over, more = median(told) - median(direct), median(completed) - median(told)
    return [
        ("a turn, one at a time", milliseconds(median(direct)), milliseconds(median(told)), *_overhead(over)),
        ("the same, as a chat completion of OpenAI's form", "", milliseconds(median(completed)), *_overhead(more)),
    ]


def _overhead(seconds: float) -> tuple[str, str, str]:
    held = verdict(seconds <= OVERHEAD_TARGET_SECONDS)
    return f"{'+' if seconds >= 0 else ''}{milliseconds(seconds)}", f"<= +{milliseconds(OVERHEAD_TARGET_SECONDS)}", held


def _completions(questions: Sequence[str]) -> list[Request]:
    bodies = [{"model": SAMPLE_BOOK, "messages": [{"role": "user", "content": question}]} for question in questions]
    return [Request(path="/v1/chat/completions", body=body) for body in bodies]


async def _searches(server: Served, search: Act, questions: Sequence[str], *, count: int) -> Row:
    texts = [questions[number % len(questions)] for number in range(count)]
    asked = _asked("/search", questions, name="text")
    pairs = []
    for _ in range(ROUNDS):
        in_process = count / await _at_once(search, texts)
        pairs.append((in_process, count / call(server.port, asked, count=count, at_once=AT_ONCE).total_seconds))
    share = median([over_http / in_process for in_process, over_http in pairs])
    rates = [f"{median(rates):.0f}/s" for rates in zip(*pairs, strict=True)]
    held = (f">= {THROUGHPUT_TARGET:.0%}", verdict(share >= THROUGHPUT_TARGET))
    return f"searches, {AT_ONCE} at once", *rates, f"{share:.0%}", *held


async def _streams(server: Served, stored: Act, questions: Sequence[str]) -> list[Row]:
    """Against the server's own work for as many streams, a few of them at a time; and against the turns alone, in process."""
    texts = [questions[number % len(questions)] for number in range(STREAMS)]
    asked = _asked("/chat/stream", questions)
    in_process, few, crowd = [], [], []
    for _ in range(ROUNDS):
        in_process.append(await _at_once(stored, texts, at_once=STREAMS))
        few.append(call(server.port, asked, count=STREAMS, at_once=AT_ONCE).total_seconds)
        crowd.append(percentile(call(server.port, asked, count=STREAMS, at_once=STREAMS).seconds, 0.95))
    share, beside = (median([slow / needed for slow, needed in zip(crowd, work, strict=True)]) for work in (few, in_process))
    held = (f"<= {SLOWEST_TARGET:g} x", verdict(share <= SLOWEST_TARGET))
    return [
        (f"{STREAMS} streams, {AT_ONCE} at a time, all", "", f"{median(few):.1f} s", "", "", ""),
        (f"{STREAMS} streams at once, p95", "", f"{median(crowd):.1f} s", f"{share:.2f} x of these", *held),
        (f"{STREAMS} stored turns at once, all", f"{median(in_process):.1f} s", "", f"p95 is {beside:.2f} x of these", "", ""),
    ]


def _many_streams(server: Served, questions: Sequence[str]) -> Row:
    """One that fails, or does not end as it should, ends the run."""
    told = call(server.port, _asked("/chat/stream", questions), count=MANY_STREAMS, at_once=MANY_STREAMS)
    share = max(told.seconds) / told.total_seconds
    times = ("", f"{max(told.seconds):.1f} s", f"{share:.2f} x of all")
    return f"{MANY_STREAMS:,} streams at once, slowest", *times, "none fails", verdict(len(told.seconds) == MANY_STREAMS)


def _memory(workshop: Workshop, server: Served, questions: Sequence[str]) -> Row:
    """After a tenth of the requests everything that is kept once is kept."""
    count = workshop.sizes.questions
    read = [Request(path=f"/books/{SAMPLE_BOOK}")] * 17
    asked = [
        request
        for turn, search in zip(_asked("/chat/run", questions), _asked("/search", questions, name="text"), strict=True)
        for request in (turn, search, search, *read)
    ]
    call(server.port, asked, count=count // 10, at_once=AT_ONCE)
    before = server.memory_bytes
    call(server.port, asked, count=count - count // 10, at_once=AT_ONCE)
    after = server.memory_bytes
    sizes = (f"{before / 1e6:.0f} MB", f"{after / 1e6:.0f} MB", f"{after / before:.2f} x")
    return f"memory over {count:,} requests", *sizes, f"<= {MEMORY_TARGET:g} x", verdict(after / before <= MEMORY_TARGET)


def _held(what: str, value: float, target: float, unit: str) -> Row:
    return what, "", f"{value:.2f} {unit}", "", f"<= {target:g} {unit}", verdict(value <= target)


def _asked(path: str, questions: Sequence[str], *, name: str = "message") -> list[Request]:
    return [Request(path=path, body={name: question}) for question in questions]


def _turn(answerer: Answerer) -> Act:
    scope = Scope(book_id=SAMPLE_BOOK)

    async def act(text: str) -> object:
        return [event async for event in answerer.answer(Question(text=text, scope=scope, similarity_threshold=SIMILARITY))]

    return act


def _stored(conversation: Conversation) -> Act:
    scope = Scope(book_id=SAMPLE_BOOK)

    async def act(text: str) -> object:
        return [event async for event in conversation.turn(Asked(text=text, scope=scope, similarity_threshold=SIMILARITY))]

    return act


def _search(resources: Resources) -> Act:
    async def act(text: str) -> object:
        return await resources.book_search.search(SearchQuery(text=text, book_id=SAMPLE_BOOK))

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
