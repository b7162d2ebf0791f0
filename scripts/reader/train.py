"""Teach the reader. Needs torch, a GPU and what `rows` and `teacher` wrote: eleven minutes for eight readers side by side on one
H200.

    python -m scripts.reader.train --rows rows.npz --made made.npz --embedder granite.hmsemb --leave-out BOOK --out FOLDER
    python -m scripts.reader.train --rows rows.npz --made made_1.npz made_2.npz --embedder granite.hmsemb --out FOLDER

The first line for each book, to be scored by, with what was made without that book; the second makes the one to ship. The model
starts from the embedder's own weights, whose word and position tables stay as they are; it reads a question and a passage at once
and gives a score to each statement of the passage. First it learns by questions of encyclopaedias and stories, then by thousands
of questions that a large model wrote and judged, then by questions of books and by pairs that people wrote.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

HIDDEN, HEADS, LAYERS, INNER = 384, 12, 6, 1536
START, PAD, END = 0, 1, 2
LONGEST = 288
"""Tokens of one passage with its question; statements beyond are not read."""
SIZE = 32
"""Questions in one step."""
DROPOUT, DECAY, WARMUP = 0.1, 0.01, 0.08
FIRST_EPOCHS, FIRST_RATE = 1, 1e-4
MADE_STEPS, MADE_RATE = 1_250, 1.5e-4
EPOCHS, RATE = 7, 1.5e-4
AVERAGED_FROM = 0.7
"""Of the last stage: the weights at the ends of its last epochs are averaged."""
MIXED_IN, MADE_IN = 600, 3_000
"""Questions of the earlier stages that go on in the last."""
SAYS = -1.5
"""A statement that the large model gives more than this may be the answer."""
TYPED, FEWER = 0.25, 0.3
"""How often a question is as one types it, and some chunks are left out."""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variety:
    """How a question is varied each time it is seen: how often the gold statements, or all chunks that hold them, are taken
    away, so that the question has no answer; how often a passage is read in parts; and how many chunks are read at most."""

    removed: float = 0.35
    gone: float = 0.10
    windowed: float = 0.5
    chunks: int = 6


def read_embedder(path: Path) -> dict[str, Tensor]:
    content = path.read_bytes()
    _, length = struct.unpack_from("<8sQ", content)
    header = json.loads(content[16 : 16 + length])
    at = 16 + length + header["tokenizer_len"]
    found = {}
    for entry in header["tensors"]:
        shape, count = entry["shape"], int(np.prod(entry["shape"]))
        if entry["dtype"] == "i8":
            values = np.frombuffer(content, np.int8, count, at).reshape(shape[0], -1, 64).astype(np.float32)
            scales = np.frombuffer(content, np.float32, count // 64, at + count).reshape(shape[0], -1, 1)
            found[entry["name"]] = torch.tensor((values * scales).reshape(shape))
        else:
            found[entry["name"]] = torch.tensor(np.frombuffer(content, np.float32, count, at).reshape(shape).copy())
        at += entry["len"]
    return found


class Layer(nn.Module):
    def __init__(self, weights: dict[str, Tensor], number: int, dropout: float) -> None:
        super().__init__()
        self.qkv, self.ao = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.f1, self.f2 = nn.Linear(HIDDEN, INNER), nn.Linear(INNER, HIDDEN)
        self.aln, self.fln = nn.LayerNorm(HIDDEN, 1e-12), nn.LayerNorm(HIDDEN, 1e-12)
        self.drop = nn.Dropout(dropout)
        for name in ("qkv", "ao", "aln", "f1", "f2", "fln"):
            module = getattr(self, name)
            module.weight.data = weights[f"l{number}.{name}.w"].clone()
            module.bias.data = weights[f"l{number}.{name}.b"].clone()

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        texts, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(texts, tokens, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        attended = attention(q, k, v, mask).transpose(1, 2).reshape(texts, tokens, HIDDEN)
        x = self.aln(x + self.drop(self.ao(attended)))
        out: Tensor = self.fln(x + self.drop(self.f2(functional.gelu(self.f1(x)))))
        return out


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """On a processor, spelled out: a third faster there than the one that is built for accelerators."""
    if q.is_cuda:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5 + torch.where(mask, 0.0, -1e4).to(q.dtype)
    return torch.matmul(torch.softmax(scores, -1, dtype=v.dtype), v)


class Reader(nn.Module):
    """A score for every statement: a small head over the first token and the mean of the statement's tokens."""

    def __init__(self, weights: dict[str, Tensor], dropout: float = DROPOUT) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(weights["word_emb"].clone(), freeze=True)
        self.positions = nn.Embedding.from_pretrained(weights["pos_emb"] + weights["type_emb"][0], freeze=True)
        self.ln = nn.LayerNorm(HIDDEN, 1e-12)
        self.ln.weight.data, self.ln.bias.data = weights["emb_ln.w"].clone(), weights["emb_ln.b"].clone()
        self.layers = nn.ModuleList(Layer(weights, number, dropout) for number in range(LAYERS))
        self.head = nn.Sequential(nn.Linear(2 * HIDDEN, HIDDEN), nn.Tanh(), nn.Dropout(DROPOUT), nn.Linear(HIDDEN, 1))
        self.drop = nn.Dropout(dropout)

    def forward(self, ids: Tensor, owner: Tensor, count: int) -> Tensor:
        """`owner`: the number of the statement, in the whole batch, that a token belongs to, or -1; `count` of them in all."""
        x = self.states(ids)
        inside = owner >= 0
        tokens, belongs = x[inside].float(), owner[inside]
        sums = tokens.new_zeros(count, HIDDEN).index_add(0, belongs, tokens)
        sizes = tokens.new_zeros(count).index_add(0, belongs, tokens.new_ones(len(tokens)))
        text_of = torch.zeros(count, dtype=torch.long, device=ids.device)
        text_of[belongs] = torch.arange(ids.shape[0], device=ids.device)[:, None].expand_as(ids)[inside]
        both = torch.cat([x[:, 0].float()[text_of], sums / sizes.clamp(min=1)[:, None]], -1)
        out: Tensor = self.head(both).squeeze(-1)
        return out

    def states(self, ids: Tensor) -> Tensor:
        seen = ids != PAD
        x: Tensor = self.drop(self.ln(self.words(ids) + self.positions(torch.cumsum(seen, 1) * seen + 1)))
        mask = seen[:, None, None, :]
        mask = mask.expand(-1, 1, ids.shape[1], -1) if ids.is_cuda else mask
        for layer in self.layers:
            x = layer(x, mask)
        return x


@dataclass(frozen=True, slots=True)
class Part:
    """A passage or a piece of one as it is read: its token ids, the statement each belongs to (-1: none), and for every
    statement whether it is gold (1), not to be judged (-1) or neither (0); `soft`: what the large model gives it, where that
    was asked."""

    ids: list[int]
    owner: list[int]
    marks: list[int]
    soft: list[float]


class Rows:
    def __init__(self, *paths: Path) -> None:
        self.texts: list[list[int]] = []
        self.rows: list[Row] = []
        for path in paths:
            held, before = np.load(path), len(self.texts)
            tokens = held["tokens"].astype(np.int64)
            ends = np.cumsum(held["lengths"])
            self.texts += [tokens[end - length : end].tolist() for end, length in zip(ends, held["lengths"], strict=True)]
            self.rows += [_renumbered(row, before) for row in json.loads(held["rows"].tobytes())]

    def part(self, question: int, passage: Row, without: set[int], window: tuple[int, int] | None = None) -> Part:
        """Of a window, its statements are read after the one that stands before them."""
        ids = [START, *self.texts[question], END, END, *self.texts[passage["above"]], END]
        owner, marks, soft = [-1] * len(ids), list[int](), list[float]()
        for place, text in enumerate(passage["said"]):
            if place in without or (window and not window[0] - 1 <= place < window[1]):
                continue
            tokens = self.texts[text][: max(0, LONGEST - len(ids) - 1)]
            if not tokens:
                break
            judged = place not in passage["unread"] and (window is None or place >= window[0])
            ids += [*tokens, END]
            owner += [len(marks) if judged else -1] * len(tokens) + [-1]
            if judged:
                told = passage["soft"][place] if "soft" in passage else 0.0
                unknown = place in passage["maybe"] or told is None
                marks.append(1 if place in passage["gold"] else -1 if unknown else 0)
                soft.append(told or 0.0)
        return Part(ids, owner, marks, soft)


def _renumbered(row: Row, before: int) -> Row:
    """Its texts by their numbers after those of other files."""

    def moved(passages: list[Row]) -> list[Row]:
        return [one | {"above": one["above"] + before, "said": [text + before for text in one["said"]]} for one in passages]

    named = {"q": row["q"] + before, "typed": row["typed"] + before}
    return row | named | {"passages": moved(row["passages"]), "beyond": moved(row["beyond"])}


def batch(parts: list[Part]) -> tuple[Tensor, Tensor, int]:
    longest = -(-max(len(part.ids) for part in parts) // 8) * 8  # what fast attention wants
    ids, owner, count = np.full((len(parts), longest), PAD), np.full((len(parts), longest), -1), 0
    for row, part in enumerate(parts):
        ids[row, : len(part.ids)] = part.ids
        owner[row, : len(part.ids)] = [one + count if one >= 0 else -1 for one in part.owner]
        count += len(part.marks)
    return torch.from_numpy(ids).to(DEVICE), torch.from_numpy(owner).to(DEVICE), count


class Teaching:
    def __init__(self, held: Rows, seed: int, variety: Variety | None = None) -> None:
        self._held, self._random, self._variety = held, random.Random(seed), variety or Variety()

    def run(self, model: Reader, rows: list[Row], steps: int, rate: float, tag: str, averaged: bool) -> None:
        taught = [one for one in model.parameters() if one.requires_grad]
        optimiser = torch.optim.AdamW(taught, rate, weight_decay=DECAY, fused=True)
        pairs: dict[str, list[Row]] = {}
        for row in rows:
            if row["kind"] == "pair":
                pairs.setdefault(row["book"], []).append(row["passages"][0])
        kept: list[dict[str, Tensor]] = []
        began, step = time.time(), 0
        model.train()
        while step < steps:
            self._random.shuffle(rows)
            for start in range(0, len(rows) - SIZE + 1, SIZE)[: steps - step]:
                for group in optimiser.param_groups:
                    group["lr"] = rate * min(1.0, (step + 1) / (WARMUP * steps + 1)) * max(0.02, 1 - step / steps)
                parts = [
                    (part, number)
                    for number, row in enumerate(rows[start : start + SIZE])
                    for part in self.example(row, pairs.get(row["book"], []))
                ]
                made = torch.tensor([row["kind"] == "made" for row in rows[start : start + SIZE]], device=DEVICE)
                loss = self._loss(model, parts, made)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(taught, 1.0)
                optimiser.step()
                step += 1
            print(tag, "step", step, "loss", round(float(loss.detach()), 3), round(time.time() - began), "s", flush=True)
            if averaged and step / steps > AVERAGED_FROM:
                kept.append({name: value.float().clone() for name, value in model.state_dict().items()})
        if kept:
            model.load_state_dict({name: sum(one[name] for one in kept) / len(kept) for name in kept[0]})

    def example(self, row: Row, others: list[Row]) -> list[Part]:
        chance = self._random.random
        passages: list[Row] = row["passages"]
        gold = [one for one in passages if one["gold"]] or row["beyond"][:1]
        asked = row["typed"] if chance() < TYPED else row["q"]
        if row["kind"] == "made":
            return self._made(row, asked)
        dice = chance() if row["answerable"] and gold else 1.0
        often = self._variety
        removed = dice < often.removed
        gone = not removed and dice < often.removed + often.gone and row["kind"] not in ("pair", "stage1")
        own, strange = self._chunks(row, passages, gold, others)
        parts = []
        for one in own + strange:
            # Of another pair's passage nothing is gold here.
            passage = one if one in own else one | {"gold": [], "maybe": []}
            if gone and passage["gold"]:
                continue
            without = {*passage["gold"], *passage["maybe"]} if removed or gone else set()
            windows = self._windows(passage, without) if chance() < often.windowed else [None]
            parts += [self._held.part(asked, passage, without, window) for window in windows]
        return [part for part in parts if part.marks]

    def _made(self, row: Row, asked: int) -> list[Part]:
        """What the large model says of each statement stays true when others are taken away."""
        first, *others = row["passages"]
        if self._random.random() < FEWER:
            others = self._random.sample(others, self._random.randint(0, len(others)))
        removed = self._random.random() < self._variety.removed
        parts = []
        for passage in (first, *others):
            answers = [place for place, told in enumerate(passage["soft"]) if told is not None and told > SAYS]
            without = set(answers) if removed else set()
            windowed = self._random.random() < self._variety.windowed / 2
            windows = self._windows(passage | {"gold": answers}, without) if windowed else [None]
            parts += [self._held.part(asked, passage, without, window) for window in windows]
        return [part for part in parts if part.marks]

    def _chunks(self, row: Row, passages: list[Row], gold: list[Row], others: list[Row]) -> tuple[list[Row], list[Row]]:
        """The question's own passages, and others of its book beside a pair."""
        if row["kind"] == "pair":
            return list(passages), [
                self._random.choice(others) for _ in range(self._random.choice((0, 1, 2, 3)) if others else 0)
            ]
        most = self._variety.chunks
        first, later = passages[: most - 1], passages[most - 1 :]
        taken = [*first, *self._random.sample(later, min(len(later), 1))]
        if gold and not any(one is each for one in taken for each in gold):
            taken[-1] = gold[0]
        if self._random.random() < FEWER:
            kept = [one for one in taken if any(one is each for each in gold)]
            rest = [one for one in taken if not any(one is each for each in gold)]
            taken = kept + self._random.sample(rest, self._random.randint(min(1, len(rest)), len(rest)))
        return taken, []

    def _windows(self, passage: Row, without: set[int]) -> list[tuple[int, int] | None]:
        """Some stretches of a passage's statements, those with gold always among them."""
        size, count = self._random.choice((1, 2, 3, 4)), len(passage["said"])
        starts = range(self._random.randrange(size) - size + 1, count, size)
        cuts = [(max(0, start), start + size) for start in starts if start + size > 0]
        golden = [cut for cut in cuts if any(cut[0] <= place < cut[1] for place in passage["gold"])]
        others = [cut for cut in cuts if cut not in golden and any(place not in without for place in range(*cut))]
        return [*golden, *self._random.sample(others, min(len(others), 3))]

    def _loss(self, model: Reader, parts: list[tuple[Part, int]], made: Tensor) -> Tensor:
        """By the labels; of a question that the large model made, its own softmax is to be met."""
        parts.sort(key=lambda one: len(one[0].ids))
        middle = len(parts) * 5 // 8  # the short ones need less padding by themselves
        with torch.autocast(DEVICE, torch.bfloat16):
            halves = [model(*batch([part for part, _ in half])) for half in (parts[:middle], parts[middle:]) if half]
        scores = torch.cat(halves).float()
        marks = torch.tensor([mark for part, _ in parts for mark in part.marks], device=DEVICE)
        of = torch.tensor([number for part, number in parts for _ in part.marks], device=DEVICE)
        labelled, against = by_question(scores, marks, of, SIZE)
        zeros = torch.zeros(SIZE, device=DEVICE)
        soft = torch.tensor([one for part, _ in parts for one in part.soft], device=DEVICE)
        odds = torch.exp(torch.where(marks == 0, soft, torch.full_like(soft, -1e4)))
        share = odds / (1 + zeros.index_add(0, of, odds))[of]
        met = against - zeros.index_add(0, of, share * torch.where(marks == 0, scores, torch.zeros_like(scores)))
        return torch.where(made, met, labelled).mean()


def by_question(scores: Tensor, marks: Tensor, of: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The loss of each question, whose number is in `of`: softmax over its statements and a null of score 0. Each gold statement
    is held against what is not gold; where there is none, the null is right. Beside it what they were held against."""
    zeros = torch.zeros(count, device=scores.device)
    others = torch.where(marks == 0, scores, torch.full_like(scores, -1e4))
    top = zeros.scatter_reduce(0, of, others.detach(), "amax", include_self=True)
    against = torch.log(zeros.index_add(0, of, torch.exp(others - top[of])) + torch.exp(-top)) + top
    gold = marks == 1
    each = functional.softplus(against[of[gold]] - scores[gold])
    golden = zeros.index_add(0, of[gold], torch.ones_like(each))
    return torch.where(golden > 0, zeros.index_add(0, of[gold], each) / golden.clamp(min=1), against), against


def scores(model: Reader, held: Rows, row: Row, chunks: int = 5) -> tuple[float, bool]:
    """The best score of a question's statements, and whether that statement is gold."""
    parts = [part for part in (held.part(row["q"], one, set()) for one in row["passages"][:chunks]) if part.marks]
    if not parts:
        return -99.0, False
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        found: NDArray[np.float32] = model(*batch(parts)).float().cpu().numpy()
    return float(found.max()), [mark for part in parts for mark in part.marks][int(found.argmax())] == 1


def extents(model: Reader, held: Rows, rows: list[Row]) -> dict[str, NDArray[np.float32]]:
    """The largest values, by column, that go into each product of the layers: `export` needs them to multiply in eight bits."""
    found: dict[str, Tensor] = {}

    def watch(name: str) -> Any:
        def see(_: Any, given: tuple[Tensor]) -> None:
            most = given[0].detach().abs().flatten(0, -2).amax(0).float()
            found[name] = torch.maximum(found.get(name, most), most)

        return see

    names = [f"layers.{number}.{name}" for number in range(LAYERS) for name in ("qkv", "ao", "f1", "f2")]
    watched = [model.get_submodule(name).register_forward_pre_hook(watch(f"{name}.extent")) for name in names]
    for row in random.Random(1).sample(rows, 80):
        scores(model, held, row, 2)
    for one in watched:
        one.remove()
    return {name: value.cpu().numpy() for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "embedder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--made", type=Path, nargs="*", default=[], help="what `teacher` wrote")
    parser.add_argument("--leave-out", default="", help="a book whose questions and pairs are not taught, and that is scored")
    given = parser.parse_args()
    torch.manual_seed(100)
    held = Rows(given.rows, *given.made)
    stage1 = [row for row in held.rows if row["kind"] == "stage1"]
    others = [row for row in held.rows if row["book"] != given.leave_out]
    books = [row for row in others if row["kind"] not in ("stage1", "pair", "made")]
    pairs, made = ([row for row in others if row["kind"] == kind] for kind in ("pair", "made"))
    model, teaching = Reader(read_embedder(given.embedder)).to(DEVICE), Teaching(held, 7)
    teaching.run(model, list(stage1), FIRST_EPOCHS * len(stage1) // SIZE, FIRST_RATE, "first stage", averaged=False)
    if made:
        teaching.run(model, list(made), MADE_STEPS, MADE_RATE, "made questions", averaged=False)
    # What has an answer is seen twice as often, because its answer is often taken away.
    rows = [*books, *(row for row in books if row["answerable"]), *pairs, *random.Random(7).sample(stage1, MIXED_IN)]
    rows += random.Random(8).sample(made, min(len(made), MADE_IN))
    teaching.run(model, rows, EPOCHS * len(rows) // SIZE, RATE, given.leave_out or "all books", averaged=True)
    model.eval()
    name = given.leave_out or "all"
    kept = {key: value.half().cpu().numpy() for key, value in model.state_dict().items() if not key.startswith(("words", "pos"))}
    kept |= extents(model, held, books)
    np.savez(given.out / f"{name}.npz", **kept)
    own = [(row, *scores(model, held, row)) for row in held.rows if row["book"] == name and row["kind"] not in ("pair", "made")]
    yes, no = (
        np.array([best for row, best, _ in own if row["answerable"]]),
        np.array([b for r, b, _ in own if not r["answerable"]]),
    )
    if len(yes) and len(no):
        first = np.mean([gold for row, _, gold in own if row["answerable"]])
        print(f"{name}: AUC {(yes[:, None] > no).mean():.3f}, gold first {first:.3f}")


if __name__ == "__main__":
    main()
