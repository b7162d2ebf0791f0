"""A model of 1.5 billion parameters that reads: it teaches the reader, and is never shipped.

Qwen2.5-Coder-1.5B-Instruct (Apache-2.0), the one `make live-model` fetches, read from its file (GGUF) by transformers. It gives
every statement of a passage a score, like the reader, by the state at the statement's end, and can write. Needs torch,
transformers and gguf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

RANK, WEIGHT = 32, 64
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
WRITTEN = 44
"""Tokens of a question, at most."""
AT_ONCE = 384
Scored = tuple[list[int], list[int]]
"""Token ids, and the places where its statements end."""


class Adapter(nn.Module):
    """What is taught beside a matrix that stays as it is."""

    def __init__(self, base: Any) -> None:
        super().__init__()
        given = {"device": base.weight.device, "dtype": torch.float32}
        self.base = base
        self.down = nn.Parameter(torch.randn(RANK, base.in_features, **given) / math.sqrt(base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, RANK, **given))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.base(x) + (x @ self.down.to(x.dtype).T) @ (self.up.to(x.dtype).T * (WEIGHT / RANK))
        return out

    def merged(self) -> Any:
        whole = self.base.weight.data.float() + WEIGHT / RANK * (self.up @ self.down)
        self.base.weight.data = whole.to(self.base.weight.dtype)
        return self.base


class Large:
    def __init__(self, file: Path, device: str) -> None:
        named = {"gguf_file": file.name, "local_files_only": True}
        self.device = device
        self.tokenizer = AutoTokenizer.from_pretrained(file.parent, **named)
        self.model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.bfloat16, **named).to(device)
        self.head = nn.Linear(self.model.config.hidden_size, 1).to(device)
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.constant_(self.head.bias, -2.0)
        self.end: int = self.tokenizer.convert_tokens_to_ids("<|endoftext|>")
        for one in self.model.parameters():
            one.requires_grad_(False)
        self.adapters = [
            (module, name, Adapter(getattr(module, name)))
            for layer in self.model.model.layers
            for module in (layer.self_attn, layer.mlp)
            for name in PROJECTIONS
            if hasattr(module, name)
        ]
        for module, name, adapter in self.adapters:
            setattr(module, name, adapter)

    def ids(self, text: str, most: int = 1000) -> list[int]:
        found: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return found[:most]

    def taught(self) -> list[Any]:
        return [one for _, _, adapter in self.adapters for one in (adapter.down, adapter.up)]

    def merge(self) -> None:
        for module, name, adapter in self.adapters:
            setattr(module, name, adapter.merged())
        self.model.eval()

    def scores(self, parts: Sequence[Scored]) -> Tensor:
        """One for each statement of all parts. What follows a statement is not seen: the model reads one way."""
        states = self._states([ids for ids, _ in parts])
        rows = [number for number, (_, ends) in enumerate(parts) for _ in ends]
        columns = [end for _, ends in parts for end in ends]
        out: Tensor = self.head(states[rows, columns].float()).squeeze(-1)
        return out

    def surprise(self, texts: Sequence[tuple[list[int], list[int]]]) -> Tensor:
        """How unlikely each continuation is after its beginning: the mean over its tokens, summed over the texts."""
        states = self._states([before + after for before, after in texts])
        rows = [number for number, (_, after) in enumerate(texts) for _ in after]
        columns = [len(before) - 1 + place for before, after in texts for place in range(len(after))]
        wanted = torch.tensor([token for _, after in texts for token in after], device=self.device)
        share = torch.tensor([1 / len(after) for _, after in texts for _ in after], device=self.device)
        told = functional.cross_entropy(self.model.lm_head(states[rows, columns]).float(), wanted, reduction="none")
        out: Tensor = (told * share).sum()
        return out

    def write(self, beginnings: Sequence[list[int]]) -> list[str]:
        """Goes on from each beginning, up to the end of a text."""
        out = [""] * len(beginnings)
        order = sorted(range(len(beginnings)), key=lambda place: len(beginnings[place]))
        for start in range(0, len(order), AT_ONCE):
            some = order[start : start + AT_ONCE]
            longest = max(len(beginnings[place]) for place in some)
            ids, seen = np.full((len(some), longest), self.end), np.zeros((len(some), longest), np.int64)
            for row, place in enumerate(some):
                ids[row, longest - len(beginnings[place]) :] = beginnings[place]
                seen[row, longest - len(beginnings[place]) :] = 1
            with torch.no_grad():
                made = self.model.generate(
                    input_ids=torch.from_numpy(ids).to(self.device), attention_mask=torch.from_numpy(seen).to(self.device),
                    max_new_tokens=WRITTEN, do_sample=True, temperature=0.8, top_p=0.95, top_k=0,
                    eos_token_id=self.end, pad_token_id=self.end,
                )  # fmt: skip
            for row, place in zip(made[:, longest:], some, strict=True):
                out[place] = self.tokenizer.decode(row, skip_special_tokens=True).strip()
        return out

    def _states(self, texts: Sequence[list[int]]) -> Tensor:
        """Padded on the right, where a model that reads one way sees nothing of it."""
        longest = -(-max(map(len, texts)) // 8) * 8
        ids = np.full((len(texts), longest), self.end)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
        out: Tensor = self.model.model(input_ids=torch.from_numpy(ids).to(self.device), use_cache=False).last_hidden_state
        return out
