"""Teach a reader further, by lines about numbered passages: an hour on two cores, a minute on a GPU.

    python -m scripts.reader.further --start READER.pack --rows rows.npz … --embedder granite.hmsemb --leave-out BOOK … \
        --out NAME.npz
    python -m scripts.reader.export --weights NAME.npz --out NAME.pack

It starts from a reader as `export` packed it, and goes on by questions that somebody wrote (`labels`), mixed with some of the
questions and pairs it was taught by before. Books left out are not taught: the ranking is fitted to them (`scripts.fit_ranker`).
Several runs may follow each other, each from what the one before wrote; the rate of the last falls to nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scripts.reader.train import (
    DECAY,
    DEVICE,
    LAYERS,
    SIZE,
    Reader,
    Row,
    Rows,
    Teaching,
    Variety,
    batch,
    by_question,
    extents,
    read_embedder,
    scores,
)

TOGETHER, BUCKETS = 8, 3
"""Questions whose passages are held in memory at once, and how many lengths of passages are told apart."""
WARMUP, LEAST = 15, 0.02
VARIETY = Variety(removed=0.2, gone=0.06, windowed=0.2, chunks=4)


def read_packed(path: Path) -> dict[str, NDArray[np.float32]]:
    """What `export` wrote, as the numbers that its whole numbers stand for."""
    content = path.read_bytes()
    _, length = struct.unpack_from("<8sQ", content)
    header, at = json.loads(content[16 : 16 + length]), 16 + length
    found = {}
    for entry in header["tensors"]:
        shape, count = entry["shape"], int(np.prod(entry["shape"]))
        if entry["dtype"] == "i8":
            values = np.frombuffer(content, np.int8, count, at).reshape(shape[0], -1, 64).astype(np.float32)
            scales = np.frombuffer(content, np.float32, count // 64, at + count).reshape(shape[0], -1, 1)
            found[entry["name"]] = (values * scales).reshape(shape)
        else:
            found[entry["name"]] = np.frombuffer(content, np.float32, count, at).reshape(shape).copy()
        at += entry["len"]
    return found


def opened(start: Path, embedder: Path) -> Reader:
    """Without dropout in the layers: nearly all it sees is new to it."""
    model = Reader(read_embedder(embedder), dropout=0.0)
    held = model.state_dict()
    if start.suffix == ".npz":
        given = {name: torch.tensor(value).float() for name, value in np.load(start).items() if not name.endswith(".extent")}
    else:
        given = _unpacked(read_packed(start))
    model.load_state_dict(held | {name: value.reshape(held[name].shape) for name, value in given.items()})
    model.to(DEVICE)
    return model


def _unpacked(packed: dict[str, NDArray[np.float32]]) -> dict[str, Tensor]:
    found: dict[str, Any] = {"ln.weight": packed["emb_ln.w"], "ln.bias": packed["emb_ln.b"]}
    for number in range(LAYERS):
        for name in ("qkv", "ao", "aln", "f1", "f2", "fln"):
            weights = packed[f"l{number}.{name}.w"]
            even = packed.get(f"l{number}.{name}.in")  # what `export` took over into the weights
            found[f"layers.{number}.{name}.weight"] = weights if even is None else weights * even
            found[f"layers.{number}.{name}.bias"] = packed[f"l{number}.{name}.b"]
    found["head.0.weight"] = np.concatenate([packed["head.first.w"], packed["head.each.w"]], axis=1)
    found |= {"head.0.bias": packed["head.b"], "head.3.weight": packed["head.out.w"], "head.3.bias": packed["head.out.b"]}
    return {name: torch.tensor(value) for name, value in found.items()}


class Lesson:
    """The rows of one run, mixed anew each time they are through."""

    def __init__(self, held: Rows, leave_out: Sequence[str], old: float, seed: int) -> None:
        self._random, self._old = random.Random(seed), old
        self.written = [row for row in held.rows if row["kind"] == "written" and row["book"] not in leave_out]
        self.left_out = [row for row in held.rows if row["kind"] == "written" and row["book"] in leave_out]
        self.pairs = [row for row in held.rows if row["kind"] == "pair"]
        self.books = [row for row in held.rows if row["kind"] not in ("written", "pair", "stage1", "made")]
        self._waiting: list[Row] = []

    def next(self) -> list[Row]:
        if len(self._waiting) < SIZE:
            self._waiting = [*self.written, *self._some(self.books), *self._some(self.pairs)]
            self._random.shuffle(self._waiting)
        taken, self._waiting = self._waiting[:SIZE], self._waiting[SIZE:]
        return taken

    def _some(self, rows: list[Row]) -> list[Row]:
        return self._random.sample(rows, int(self._old * len(rows)))


def teach(model: Reader, lesson: Lesson, held: Rows, given: argparse.Namespace) -> None:
    teaching = Teaching(held, given.seed, VARIETY)
    others: dict[str, list[Row]] = {}
    for row in lesson.pairs:
        others.setdefault(row["book"], []).append(row["passages"][0])
    taught = [one for one in model.parameters() if one.requires_grad]
    groups = [{"params": [one for one in taught if one.ndim > 1], "weight_decay": DECAY}]
    groups.append({"params": [one for one in taught if one.ndim < 2], "weight_decay": 0.0})
    optimiser = torch.optim.AdamW(groups, given.rate, fused=True)
    began, step = time.time(), 0
    model.train()
    while (done := (time.time() - began) / 60 / given.minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = given.rate * min(1.0, (step + 1) / WARMUP) * max(given.floor, 1 - done)
        optimiser.zero_grad(set_to_none=True)
        rows, total = lesson.next(), 0.0
        for start in range(0, SIZE, TOGETHER):
            together = enumerate(rows[start : start + TOGETHER])
            parts = [(part, number) for number, row in together for part in teaching.example(row, others.get(row["book"], []))]
            if parts:
                loss = _loss(model, parts)
                loss.backward()
                total += float(loss.detach())
        nn.utils.clip_grad_norm_(taught, 1.0)
        optimiser.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step}, loss {total:.3f}, {time.time() - began:.0f} s", flush=True)


def _loss(model: Reader, parts: list[Any]) -> Tensor:
    parts.sort(key=lambda one: len(one[0].ids))
    size = -(-len(parts) // BUCKETS)
    with torch.autocast(DEVICE, torch.bfloat16):
        told = [model(*batch([part for part, _ in parts[at : at + size]])) for at in range(0, len(parts), size)]
    marks = torch.tensor([mark for part, _ in parts for mark in part.marks], device=DEVICE)
    of = torch.tensor([number for part, number in parts for _ in part.marks], device=DEVICE)
    return by_question(torch.cat(told).float(), marks, of, TOGETHER)[0].sum() / SIZE


def figures(model: Reader, held: Rows, rows: Sequence[Row]) -> str:
    found = [(row, *scores(model, held, row)) for row in rows]
    yes = np.array([best for row, best, _ in found if row["answerable"]])
    no = np.array([best for row, best, _ in found if not row["answerable"]])
    first = np.mean([gold for row, _, gold in found if row["answerable"]])
    return f"AUC {(yes[:, None] > no).mean():.3f}, gold first {first:.3f}, of {len(found)} questions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("start", "embedder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--rows", type=Path, nargs="+", required=True)
    parser.add_argument("--leave-out", nargs="*", default=[], help="books that are not taught, and that are scored")
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--floor", type=float, default=LEAST, help="share of the rate that is left at the end")
    parser.add_argument("--old", type=float, default=0.3, help="share of the earlier questions and pairs that are mixed in")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    held = Rows(*given.rows)
    model, lesson = opened(given.start, given.embedder), Lesson(held, given.leave_out, given.old, given.seed)
    teach(model, lesson, held, given)
    model.eval()
    if lesson.left_out:
        print("left out:", figures(model, held, lesson.left_out), flush=True)
    kept: dict[str, Any] = {
        key: value.half().cpu().numpy() for key, value in model.state_dict().items() if not key.startswith(("words", "pos"))
    }
    kept |= extents(model, held, lesson.written)
    np.savez(given.out, **kept)


if __name__ == "__main__":
    main()
