"""Teach the reader. Needs torch, a GPU and what `teacher` wrote: some eight minutes on one H200, also for two readers
side by side.

    python -m scripts.reader.train --rows told.npz --embedder granite.hmsemb --leave-out BOOK … --out NAME.npz

The model starts from the embedder's own weights, whose word and position tables stay as they are; it reads a question and a
passage at once and gives a score to each statement of the passage. First it learns by questions of encyclopaedias and stories,
then by thousands of questions that a large model wrote and judged, then by questions that were written about numbered passages
of manuals, by questions of books and by pairs; there too it is told what the large model says of each statement. Books left out
are not taught, nor pairs of them; it is scored by them at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

HIDDEN, HEADS, LAYERS, INNER = 384, 12, 6, 1536
START, PAD, END = 0, 1, 2
LONGEST = 288
"""Tokens of one passage with its question; statements beyond are not read."""
SIZE = 48
"""Questions in one step."""
DROPOUT, DECAY, WARMUP = 0.1, 0.01, 0.06
FIRST_EPOCHS, FIRST_RATE = 1.0, 1e-4
MADE_EPOCHS, MADE_RATE = 2.0, 1.5e-4
EPOCHS, RATE = 5.0, 1.5e-4
AVERAGED_FROM, AVERAGED_OFTEN = 0.75, 40
"""Of the last stage: the weights of its last quarter are averaged, taken every fortieth of it."""
MIXED_IN, MADE_IN, BOOKS_AGAIN = 600, 6_000, 3
"""Questions of the earlier stages that go on in the last; and how often a book's questions are seen beside written ones."""
TOLD = 0.5
"""Weight of the large model's word beside a label."""
SAYS, DOUBT = -1.5, 1.0
"""A statement that the large model gives more than the first may be the answer; where it gives a near miss more than the second,
that label is not believed."""
TYPED, FEWER = 0.25, 0.3
"""How often a question is as one types it, and some passages are left out."""
WORKERS = 6
"""Processes that make steps ready while the GPU computes."""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
KINDS = ("stage1", "made", "written", "pair")
"""Of rows; those of a book's questions are of other kinds."""
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
    return {name: torch.tensor(value) for name, value in read_packed(path).items()}


def read_packed(path: Path) -> dict[str, NDArray[np.float32]]:
    """What a file of packed weights holds, the embedder's or one that `export` wrote, as the numbers that its whole numbers stand
    for."""
    content = path.read_bytes()
    _, length = struct.unpack_from("<8sQ", content)
    header = json.loads(content[16 : 16 + length])
    at = 16 + length + header.get("tokenizer_len", 0)
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


def read_tokenizer(embedder: Path) -> Tokenizer:
    content = embedder.read_bytes()
    _, length = struct.unpack_from("<8sQ", content)
    size = json.loads(content[16 : 16 + length])["tokenizer_len"]
    tokenizer = Tokenizer.from_str(content[16 + length : 16 + length + size].decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


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
    scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-1, -2)).add_(torch.where(mask, 0.0, -1e4).to(q.dtype))
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
    statement whether it is gold (1), not to be judged (-1) or neither (0); `soft`: what the large model gives it, NaN where it
    was not asked."""

    ids: list[int]
    owner: list[int]
    marks: list[int]
    soft: list[float]


class Rows:
    def __init__(self, path: Path) -> None:
        held = np.load(path)
        tokens, ends = held["tokens"].astype(np.int64), np.cumsum(held["lengths"])
        self.texts: list[list[int]] = [
            tokens[end - length : end].tolist() for end, length in zip(ends, held["lengths"], strict=True)
        ]
        self.rows: list[Row] = json.loads(held["rows"].tobytes())

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
                marks.append(1 if place in passage["gold"] else -1 if place in passage["maybe"] else 0)
                soft.append(told(passage, place))
        return Part(ids, owner, marks, soft)


def told(passage: Row, place: int) -> float:
    found = passage["soft"][place] if "soft" in passage else None
    return math.nan if found is None else float(found)


def believed(row: Row) -> Row:
    """With what the large model takes for an answer, and nobody marked, neither right nor wrong."""
    if row["kind"] == "made":
        return row
    least = SAYS if row["answerable"] else DOUBT

    def doubted(passage: Row) -> Row:
        others = (place for place in range(len(passage["said"])) if place not in passage["gold"])
        return passage | {"maybe": sorted({*passage["maybe"], *(place for place in others if told(passage, place) > least)})}

    return row | {"passages": [doubted(one) for one in row["passages"]], "beyond": [doubted(one) for one in row["beyond"]]}


def batch(parts: Sequence[Part]) -> tuple[Tensor, Tensor, int]:
    longest = -(-max(len(part.ids) for part in parts) // 8) * 8  # what fast attention wants
    ids, owner, count = np.full((len(parts), longest), PAD), np.full((len(parts), longest), -1), 0
    for row, part in enumerate(parts):
        ids[row, : len(part.ids)] = part.ids
        owner[row, : len(part.ids)] = [one + count if one >= 0 else -1 for one in part.owner]
        count += len(part.marks)
    return torch.from_numpy(ids), torch.from_numpy(owner), count


def on_device(given: tuple[Tensor, Tensor, int]) -> tuple[Tensor, Tensor, int]:
    ids, owner, count = given
    return ids.to(DEVICE, non_blocking=True), owner.to(DEVICE, non_blocking=True), count


@dataclass(frozen=True, slots=True)
class Step:
    """What is read at once. Of each statement its mark, what the large model gives it and the number of its question; of each
    question how much the large model's word weighs."""

    halves: list[tuple[Tensor, Tensor, int]]
    marks: Tensor
    soft: Tensor
    of: Tensor
    weight: Tensor


class Steps(Dataset[Step]):
    """The steps of one stage, each made when it is asked for; rows are seen in a new order in every epoch."""

    def __init__(self, held: Rows, rows: Sequence[Row], epochs: float, seed: int) -> None:
        self._variations, self._rows, self._seed = Variations(held, rows), rows, seed
        self._order: list[int] = []
        for epoch in range(math.ceil(epochs)):
            places = [*range(len(rows))]
            random.Random(f"{seed}-{epoch}").shuffle(places)
            self._order += places
        del self._order[int(len(rows) * epochs) :]

    def __len__(self) -> int:
        return len(self._order) // SIZE

    def __getitem__(self, number: int) -> Step:
        self._variations.random = random.Random(f"{self._seed}-step-{number}")
        rows = [self._rows[place] for place in self._order[number * SIZE : (number + 1) * SIZE]]
        parts = [(part, at) for at, row in enumerate(rows) for part in self._variations.example(row)]
        parts.sort(key=lambda one: len(one[0].ids))
        middle = len(parts) * 5 // 8  # the short ones need less padding by themselves
        halves = [batch([part for part, _ in half]) for half in (parts[:middle], parts[middle:]) if half]
        return Step(
            halves,
            torch.tensor([mark for part, _ in parts for mark in part.marks]),
            torch.tensor([one for part, _ in parts for one in part.soft]),
            torch.tensor([at for part, at in parts for _ in part.marks]),
            torch.tensor([1.0 if row["kind"] == "made" else TOLD for row in rows]),
        )


class Variations:
    """A row as it is read once: with some passages left out, read in pieces, or without what answers it."""

    def __init__(self, held: Rows, rows: Sequence[Row], variety: Variety | None = None) -> None:
        self._held, self._variety = held, variety or Variety()
        self.random = random.Random(0)
        self._beside: dict[str, list[Row]] = {}
        for row in rows:
            if row["kind"] == "pair":
                self._beside.setdefault(row["book"], []).append(row["passages"][0])

    def example(self, row: Row) -> list[Part]:
        chance = self.random.random
        asked = row["typed"] if chance() < TYPED else row["q"]
        if row["kind"] == "made":
            return self._made(row, asked)
        gold = [one for one in row["passages"] if one["gold"]] or row["beyond"][:1]
        dice = chance() if row["answerable"] and gold else 1.0
        often = self._variety
        removed = dice < often.removed
        gone = not removed and dice < often.removed + often.gone and row["kind"] not in ("pair", "stage1")
        parts = []
        for passage in self._passages(row, gold):
            if gone and passage["gold"]:
                continue
            without = {*passage["gold"], *passage["maybe"]} if removed or gone else set()
            windows = self._windows(passage, without) if chance() < often.windowed else [None]
            parts += [self._held.part(asked, passage, without, window) for window in windows]
        return [part for part in parts if part.marks]

    def _made(self, row: Row, asked: int) -> list[Part]:
        """What the large model says of each statement stays true when others are taken away."""
        first, *others = row["passages"]
        if self.random.random() < FEWER:
            others = self.random.sample(others, self.random.randint(0, len(others)))
        removed = self.random.random() < self._variety.removed
        parts = []
        for passage in (first, *others):
            answers = [place for place in range(len(passage["said"])) if told(passage, place) > SAYS]
            without = set(answers) if removed else set()
            windowed = self.random.random() < self._variety.windowed / 2
            windows = self._windows(passage | {"gold": answers}, without) if windowed else [None]
            parts += [self._held.part(asked, passage, without, window) for window in windows]
        return [part for part in parts if part.marks]

    def _passages(self, row: Row, gold: list[Row]) -> list[Row]:
        """The question's own, and others of its book beside a pair's."""
        passages: list[Row] = row["passages"]
        if row["kind"] == "pair":
            others = self._beside.get(row["book"], [])
            strange = [self.random.choice(others) for _ in range(self.random.choice((0, 1, 2, 3)) if others else 0)]
            return [*passages, *(_strange(one) for one in strange if one is not passages[0])]
        most = self._variety.chunks
        first, later = passages[: most - 1], passages[most - 1 :]
        taken = [*first, *self.random.sample(later, min(len(later), 1))]
        if gold and not any(one is each for one in taken for each in gold):
            taken[-1] = gold[0]
        if self.random.random() < FEWER:
            kept = [one for one in taken if any(one is each for each in gold)]
            rest = [one for one in taken if not any(one is each for each in gold)]
            taken = kept + self.random.sample(rest, self.random.randint(min(1, len(rest)), len(rest)))
        return taken

    def _windows(self, passage: Row, without: set[int]) -> list[tuple[int, int] | None]:
        """Some stretches of a passage's statements, those with gold always among them."""
        size, count = self.random.choice((1, 2, 3, 4)), len(passage["said"])
        starts = range(self.random.randrange(size) - size + 1, count, size)
        cuts = [(max(0, start), start + size) for start in starts if start + size > 0]
        golden = [cut for cut in cuts if any(cut[0] <= place < cut[1] for place in passage["gold"])]
        others = [cut for cut in cuts if cut not in golden and any(place not in without for place in range(*cut))]
        return [*golden, *self.random.sample(others, min(len(others), 3))]


def _strange(passage: Row) -> Row:
    """Another pair's: nothing is gold in it here, and what the large model gives it is of another question."""
    return passage | {"gold": [], "maybe": [], "soft": [None] * len(passage["said"])}


def teach(model: Reader, steps: Steps, rate: float, tag: str, *, averaged: bool = False, seconds: float = math.inf) -> None:
    """The rate falls to nothing at the last step, or at the end of the time that is given."""
    taught = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(taught, rate, weight_decay=DECAY, fused=DEVICE == "cuda")
    count, often = len(steps), max(1, len(steps) // AVERAGED_OFTEN)
    kept: list[dict[str, Tensor]] = []
    began = time.time()
    model.train()
    for number, step in enumerate(_loaded(steps), 1):
        done = max(number / count, (time.time() - began) / seconds)
        if done > 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, number / (WARMUP * count + 1)) * max(0.02, 1 - done)
        loss = loss_of(model, step)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(taught, 1.0)
        optimiser.step()
        if number % often == 0:
            print(f"{tag}: step {number} of {count}, loss {float(loss.detach()):.3f}, {time.time() - began:.0f} s", flush=True)
            if averaged and done > AVERAGED_FROM:
                kept.append({name: value.float().clone() for name, value in model.state_dict().items()})
    if kept:
        model.load_state_dict({name: sum(one[name] for one in kept) / len(kept) for name in kept[0]})


def _loaded(steps: Steps) -> Iterator[Step]:
    workers = WORKERS if DEVICE == "cuda" else 0
    loader = DataLoader(steps, batch_size=None, num_workers=workers, prefetch_factor=4 if workers else None)
    yield from loader


def loss_of(model: Reader, step: Step) -> Tensor:
    """By the labels, and beside them by what the large model says: of a question that it made, by that alone."""
    with torch.autocast(DEVICE, torch.bfloat16):
        halves = [model(*on_device(half)) for half in step.halves]
    found = torch.cat(halves).float()
    marks, soft, of, weight = (one.to(DEVICE) for one in (step.marks, step.soft, step.of, step.weight))
    known, count = ~torch.isnan(soft), len(weight)
    weight = weight * (torch.zeros_like(weight).index_add(0, of, known.float()) > 0)
    each = (1 - weight) * by_question(found, marks, of, count) + weight * by_teacher(found, soft, known, of, count)
    return each.mean()


def by_question(scores: Tensor, marks: Tensor, of: Tensor, count: int) -> Tensor:
    """The loss of each question, whose number is in `of`: softmax over its statements and a null of score 0. Each gold statement
    is held against what is not gold; where there is none, the null is right."""
    zeros = torch.zeros(count, device=scores.device)
    against, gold = _against(scores, marks == 0, of, count), marks == 1
    each = functional.softplus(against[of[gold]] - scores[gold])
    golden = zeros.index_add(0, of[gold], torch.ones_like(each))
    return torch.where(golden > 0, zeros.index_add(0, of[gold], each) / golden.clamp(min=1), against)


def by_teacher(scores: Tensor, soft: Tensor, known: Tensor, of: Tensor, count: int) -> Tensor:
    """The loss of each question against the large model's softmax over its statements and the null."""
    zeros = torch.zeros(count, device=scores.device)
    odds = torch.exp(torch.where(known, soft, torch.full_like(soft, -1e4)))
    share = odds / (1 + zeros.index_add(0, of, odds))[of]
    return _against(scores, known, of, count) - zeros.index_add(0, of, share * scores)


def _against(scores: Tensor, counted: Tensor, of: Tensor, count: int) -> Tensor:
    """Of each question, the logarithm of all that counts, the null among it."""
    zeros = torch.zeros(count, device=scores.device)
    others = torch.where(counted, scores, torch.full_like(scores, -1e4))
    top = zeros.scatter_reduce(0, of, others.detach(), "amax", include_self=True)
    return torch.log(zeros.index_add(0, of, torch.exp(others - top[of])) + torch.exp(-top)) + top


def scores(model: Reader, held: Rows, row: Row, chunks: int = 5) -> tuple[float, bool]:
    """The best score of a question's statements, and whether that statement is gold."""
    parts = [part for part in (held.part(row["q"], one, set()) for one in row["passages"][:chunks]) if part.marks]
    if not parts:
        return -99.0, False
    with torch.no_grad(), torch.autocast(DEVICE, torch.bfloat16):
        found: NDArray[np.float32] = model(*on_device(batch(parts))).float().cpu().numpy()
    return float(found.max()), [mark for part in parts for mark in part.marks][int(found.argmax())] == 1


def extents(model: Reader, read: Callable[[Row], object], rows: Sequence[Row]) -> dict[str, NDArray[np.float32]]:
    """The largest values, by column, that go into each product of the layers while `read` has the model read some of the rows:
    `export` needs them to multiply in eight bits."""
    found: dict[str, Tensor] = {}

    def watch(name: str) -> Any:
        def see(_: Any, given: tuple[Tensor]) -> None:
            most = given[0].detach().abs().flatten(0, -2).amax(0).float()
            found[name] = torch.maximum(found.get(name, most), most)

        return see

    names = [f"layers.{number}.{name}" for number in range(LAYERS) for name in ("qkv", "ao", "f1", "f2")]
    watched = [model.get_submodule(name).register_forward_pre_hook(watch(f"{name}.extent")) for name in names]
    for row in random.Random(1).sample([*rows], min(len(rows), 80)):
        read(row)
    for one in watched:
        one.remove()
    return {name: value.cpu().numpy() for name, value in found.items()}


def figures(model: Reader, held: Rows, rows: Sequence[Row]) -> str:
    """How often a question that is answered has a higher score than one that is not, and how often gold stands first."""
    found = [(row["answerable"], *scores(model, held, row)) for row in rows]
    yes, no = (np.array([best for answerable, best, _ in found if answerable == wanted]) for wanted in (True, False))
    first = np.mean([gold for answerable, _, gold in found if answerable])
    return f"AUC {(yes[:, None] > no).mean():.3f}, gold first {first:.3f}, of {len(found)} questions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "embedder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=[], help="books that are not taught, and that are scored")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=math.inf, help="for all stages; the last ends when they are over")
    given, began = parser.parse_args(), time.time()
    torch.manual_seed(given.seed)
    held, model = Rows(given.rows), Reader(read_embedder(given.embedder)).to(DEVICE)
    taught = [believed(row) for row in held.rows if row["book"] not in given.leave_out]
    first, made, written, pairs = ([row for row in taught if row["kind"] == kind] for kind in KINDS)
    books = [row for row in taught if row["kind"] not in KINDS]
    teach(model, Steps(held, first, FIRST_EPOCHS, given.seed), FIRST_RATE, "first stage")
    if made:
        teach(model, Steps(held, made, MADE_EPOCHS, given.seed), MADE_RATE, "made questions")
    asked = [*written, *books * BOOKS_AGAIN]
    # What has an answer is seen twice as often, because its answer is often taken away.
    rows = [*asked, *(row for row in asked if row["answerable"]), *pairs]
    some = random.Random(given.seed)
    rows += [*some.sample(first, min(len(first), MIXED_IN)), *some.sample(made, min(len(made), MADE_IN))]
    teach(
        model,
        Steps(held, rows, EPOCHS, given.seed),
        RATE,
        "last stage",
        averaged=True,
        seconds=given.seconds - (time.time() - began),
    )
    model.eval()
    kept: dict[str, Any] = {
        key: value.half().cpu().numpy() for key, value in model.state_dict().items() if not key.startswith(("words", "pos"))
    }
    np.savez(given.out, **kept | extents(model, lambda row: scores(model, held, row, 2), asked))
    left_out = [row for row in held.rows if row["book"] in given.leave_out and row["kind"] not in ("pair", "made")]
    for book in sorted({row["book"] for row in left_out}):
        print(f"{book}: {figures(model, held, [row for row in left_out if row['book'] == book])}", flush=True)
    if left_out:
        print(f"all left out: {figures(model, held, left_out)}", flush=True)


if __name__ == "__main__":
    main()
