"""Pack what `train` saved into one small file: matrices in whole numbers with their scales, the rest in float32.

    python -m scripts.reader.export --weights reader_0.npz reader_1.npz --out reader.pack

The layout is that of the embedder's own file, so that `granite.parse_pack` reads it; it holds no tokenizer and no tables. The
matrices of the layers are multiplied in eight bits (see `graph`), so they have one scale for each row. They use seven of the
eight: a processor without VNNI adds two products in sixteen bits, and more would overflow there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC, GROUP = b"BTBREAD1", 64
LAYERS = 6
LARGEST = 63
SHARES = {"qkv": 0.5, "ao": 0.5, "f1": 0.58, "f2": 0.8}
"""How much of the unevenness of what goes into a product its weights take over. Tried: the scores' error is a tenth of their
spread, where it is eight tenths without."""


def renamed(given: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
    """Under the names of the graph. The first layer of the head is cut in two: for the first token and for the statement."""
    out: dict[str, NDArray[np.float32]] = {"emb_ln.w": given["ln.weight"], "emb_ln.b": given["ln.bias"]}
    for number in range(LAYERS):
        for name in ("qkv", "ao", "aln", "f1", "f2", "fln"):
            out[f"l{number}.{name}.w"] = given[f"layers.{number}.{name}.weight"]
            out[f"l{number}.{name}.b"] = given[f"layers.{number}.{name}.bias"]
        for name in SHARES:
            even, divisor = evened(out[f"l{number}.{name}.w"], given[f"layers.{number}.{name}.extent"], SHARES[name])
            out |= {f"l{number}.{name}.w": even, f"l{number}.{name}.in": (1 / divisor).astype(np.float32)}
    first, each = np.split(given["head.0.weight"], 2, axis=1)
    out |= {"head.first.w": first, "head.each.w": each, "head.b": given["head.0.bias"]}
    out |= {"head.out.w": given["head.3.weight"], "head.out.b": given["head.3.bias"]}
    return {name: np.ascontiguousarray(value, np.float32) for name, value in out.items()}


def evened(
    matrix: NDArray[np.float32], extent: NDArray[np.float32], share: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The weights times a value per column of what goes in, and these values. `extent`: the largest that was seen to go in."""
    weights = np.maximum(np.abs(matrix).max(0), 1e-4)
    divisor: NDArray[np.float32] = np.maximum(extent, 1e-3) ** share / weights ** (1 - share)
    return matrix * divisor, divisor


def quantised(matrix: NDArray[np.float32], *, by_row: bool) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    grouped = matrix.reshape(len(matrix), -1, GROUP)
    largest = np.abs(grouped).max(-1)
    scales = np.maximum(largest.max(1, keepdims=True).repeat(largest.shape[1], 1) / LARGEST if by_row else largest / 127, 1e-12)
    values = np.clip(np.rint(grouped / scales[:, :, None]), -127, 127).astype(np.int8)
    return values.reshape(matrix.shape), scales.astype(np.float32)


def packed(tensors: dict[str, NDArray[np.float32]], about: dict[str, Any]) -> bytes:
    entries, blobs = [], []
    for name, value in tensors.items():
        if value.ndim == 2:
            values, scales = quantised(value, by_row=not name.startswith("head."))
            blob, kind = values.tobytes() + scales.tobytes(), "i8"
        else:
            blob, kind = value.tobytes(), "f32"
        entries.append({"name": name, "shape": list(value.shape), "dtype": kind, "len": len(blob)})
        blobs.append(blob)
    header = json.dumps({**about, "tokenizer_len": 0, "tensors": entries}).encode()
    header += b" " * (-(16 + len(header)) % 8)
    return struct.pack("<8sQ", MAGIC, len(header)) + header + b"".join(blobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found = {name: value.astype(np.float32) for path in given.weights for name, value in np.load(path).items()}
    content = packed(renamed(found), {"model": "bythebook-reader", "version": 2})
    given.out.write_bytes(content)
    print(f"{given.out}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
