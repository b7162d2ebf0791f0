"""Teach a reader further, by questions with the passages that the product finds for them: half an hour on two cores. Needs torch.

    python -m scripts.reader.further --start READER.pack --embedder granite.hmsemb --rows NAME.json … --before NAME.json … \
        --pairs pairs.json --left-out NAME.json … --out NAME.npz
    python -m scripts.reader.export --weights NAME.npz --out READER.pack

It starts from a reader as `export` packed it. `found` writes the rows: of books whose questions are new to the reader, of books
that taught it before, some of which are asked again, and pairs. Books left out are not taught; it is scored by them.
"""

from __future__ import annotations

import argparse
import json
import math
import random
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
    END,
    LAYERS,
    LONGEST,
    START,
    Part,
    Reader,
    Row,
    batch,
    by_question,
    extents,
    on_device,
    read_embedder,
    read_packed,
)

SIZE, TOGETHER, BUCKETS = 24, 6, 4
"""Questions of a step, questions whose passages are in memory at once, and how many lengths of passages are told apart."""
WARMUP, LEAST = 15, 0.03
AVERAGED_FROM, AVERAGED_EVERY = 0.7, 3
FROZEN = 2
"""Layers, the first ones, that stay as they are: a fifth of the time goes into more questions instead."""
DROPOUT = 0.0
"""The layers' own. A question is seen two or three times in all, and on a processor dropout takes a fifth of the time."""
CHUNKS, NEAREST, CHOSEN_FROM, MOST_WINDOWS = 3, 1, 8, 2
"""Passages read with a question: those that answer, the nearest other, and some of the first eight."""
TYPED, REMOVED, GONE = 0.2, 0.15, 0.08
"""How often a question is as one types it, what answers it is taken away, and so are all passages that hold it."""
SCORED_CHUNKS = 5


def opened(start: Path, embedder: Path) -> Reader:
    model = Reader(read_embedder(embedder), dropout=DROPOUT)
    held, given = model.state_dict(), _unpacked(read_packed(start))
    model.load_state_dict(held | {name: value.reshape(held[name].shape) for name, value in given.items()})
    for module in (model.ln, *model.layers[:FROZEN]):
        module.requires_grad_(False)
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


def parts_of(question: Sequence[int], passage: Row, *, removed: bool = False) -> list[Part]:
    """The passage as the product reads it, in one window or two; `removed`: without what answers."""
    asked = [START, *question, END, END, *passage["above"], END]
    found, ids, owner, marks = list[Part](), [*asked], [-1] * len(asked), list[int]()
    for tokens, is_judged, gold, maybe in passage["said"]:
        if removed and (gold or maybe):
            continue
        if len(ids) + len(tokens) >= LONGEST and marks:
            found.append(Part(ids, owner, marks, [math.nan] * len(marks)))
            ids, owner, marks = [*asked], [-1] * len(asked), []
            if len(found) == MOST_WINDOWS:
                return found
        kept = tokens[: max(0, LONGEST - len(ids) - 1)]
        if not kept:
            break
        ids = [*ids, *kept, END]
        owner = [*owner, *[len(marks) if is_judged else -1] * len(kept), -1]
        if is_judged:
            marks = [*marks, 1 if gold else -1 if maybe else 0]
    return [*found, Part(ids, owner, marks, [math.nan] * len(marks))] if marks else found


def example(row: Row, chance: random.Random) -> list[Part]:
    """A question as it is read once: with some of its passages, at times without what answers it."""
    question = row["typed"] if chance.random() < TYPED else row["q"]
    gold = [one for one in row["found"] if answered(one)] or row["beyond"][:1]
    if row["answerable"] and not gold:
        return []
    dice = chance.random() if row["answerable"] else 1.0
    removed, gone = dice < REMOVED, REMOVED <= dice < REMOVED + GONE and len(row["found"]) > 1
    others = [one for one in row["found"][:CHOSEN_FROM] if one not in gold] if row["kind"] != "pair" else []
    later = others[NEAREST:]
    others = [*others[:NEAREST], *chance.sample(later, min(len(later), CHUNKS - NEAREST - 1))]
    passages = [*([] if gone else gold[:2]), *others][:CHUNKS]
    return [part for one in passages for part in parts_of(question, one, removed=removed or gone)]


def answered(passage: Row) -> bool:
    return any(gold for _, _, gold, _ in passage["said"])


def told(model: Reader, parts: Sequence[tuple[Part, int]]) -> tuple[Tensor, list[tuple[Part, int]]]:
    """The scores of all statements, and the parts in the order of these."""
    ordered = sorted(parts, key=lambda one: len(one[0].ids))
    size = -(-len(ordered) // BUCKETS)
    with torch.autocast(DEVICE, torch.bfloat16):
        starts = range(0, len(ordered), size)
        scores = [model(*on_device(batch([part for part, _ in ordered[at : at + size]]))) for at in starts]
    return torch.cat(scores).float(), ordered


class Mixture:
    """The rows of one epoch after another: all that is new, and some of what was taught before."""

    def __init__(self, given: argparse.Namespace, chance: random.Random) -> None:
        self._chance, self._waiting = chance, list[Row]()
        self.new = _read(given.rows)
        self._before = [(_read(given.before), given.again), (_read([given.pairs] if given.pairs else []), given.paired)]

    def next(self) -> list[Row]:
        if len(self._waiting) < SIZE:
            again = (self._chance.sample(rows, int(share * len(rows))) for rows, share in self._before)
            self._waiting = [*self.new, *(row for rows in again for row in rows)]
            self._chance.shuffle(self._waiting)
        taken, self._waiting = self._waiting[:SIZE], self._waiting[SIZE:]
        return taken


def _read(paths: Sequence[Path]) -> list[Row]:
    return [row for path in paths for row in json.loads(path.read_text("utf-8"))]


def teach(model: Reader, mixture: Mixture, chance: random.Random, *, minutes: float, rate: float) -> None:
    """The rate falls to nearly nothing at the end; the weights of the last part are averaged."""
    taught = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(
        [
            {"params": [one for one in taught if one.ndim > 1], "weight_decay": DECAY},
            {"params": [one for one in taught if one.ndim < 2], "weight_decay": 0.0},
        ]
    )
    mean, averaged, step, began = dict[str, Tensor](), 0, 0, time.time()
    model.train()
    while (done := (time.time() - began) / 60 / minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / WARMUP) * max(LEAST, 1 - done)
        optimiser.zero_grad(set_to_none=True)
        rows, total = mixture.next(), 0.0
        for start in range(0, SIZE, TOGETHER):
            some = enumerate(rows[start : start + TOGETHER])
            if parts := [(part, number) for number, row in some for part in example(row, chance)]:
                scores, ordered = told(model, parts)
                marks = torch.tensor([mark for part, _ in ordered for mark in part.marks], device=DEVICE)
                of = torch.tensor([number for part, number in ordered for _ in part.marks], device=DEVICE)
                loss = by_question(scores, marks, of, TOGETHER).sum() / SIZE
                loss.backward()
                total += float(loss.detach())
        nn.utils.clip_grad_norm_(taught, 1.0)
        optimiser.step()
        step += 1
        if done > AVERAGED_FROM and step % AVERAGED_EVERY == 0:
            averaged += 1
            for name, value in model.state_dict().items():
                mean[name] = mean.get(name, torch.zeros_like(value)) + (value - mean.get(name, 0)) / averaged
        if step % 20 == 0:
            print(f"step {step}, loss {total:.3f}, {time.time() - began:.0f} s", flush=True)
    model.load_state_dict(mean or model.state_dict())


def figures(model: Reader, rows: Sequence[Row]) -> str:
    """How often a question that is answered has a higher score than a near miss, and how often gold comes first."""
    yes, no, first = list[float](), list[float](), list[bool]()
    model.eval()
    for row in rows:
        parts = [(part, 0) for one in row["found"][:SCORED_CHUNKS] for part in parts_of(row["q"], one)]
        if row["kind"] != "foreign" and parts:
            with torch.no_grad():
                scores, ordered = told(model, parts)
            (yes if row["answerable"] else no).append(float(scores.max()))
            marks = [mark for part, _ in ordered for mark in part.marks]
            first += [marks[int(scores.argmax())] == 1] if row["answerable"] else []
    above = (np.array(yes)[:, None] > np.array(no)).mean()
    return f"AUC {above:.3f}, gold first {np.mean(first):.3f}, of {len(yes) + len(no)} questions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("start", "embedder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--rows", type=Path, nargs="+", required=True)
    for name in ("before", "left-out"):
        parser.add_argument(f"--{name}", type=Path, nargs="*", default=[])
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--again", type=float, default=0.5, help="share of the earlier questions that each epoch has")
    parser.add_argument("--paired", type=float, default=0.3, help="share of the pairs that each epoch has")
    parser.add_argument("--minutes", type=float, default=28.0)
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    chance, left_out = random.Random(given.seed), _read(given.left_out)
    model, mixture = opened(given.start, given.embedder), Mixture(given, chance)
    if left_out:
        print("left out, before:", figures(model, left_out), flush=True)
    teach(model, mixture, chance, minutes=given.minutes, rate=given.rate)
    if left_out:
        print("left out, after:", figures(model, left_out), flush=True)
    model.eval()

    def read(row: Row) -> None:
        if parts := [(part, 0) for one in row["found"][:2] for part in parts_of(row["q"], one)]:
            with torch.no_grad():
                told(model, parts)

    kept: dict[str, Any] = {
        key: value.half().cpu().numpy() for key, value in model.state_dict().items() if not key.startswith(("words", "pos"))
    }
    np.savez(given.out, **kept | extents(model, read, mixture.new))


if __name__ == "__main__":
    main()
