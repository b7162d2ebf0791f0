"""Pack what `train` saved into one small file: matrices in int8 with a scale for each row and group of 64, the rest in float32.

    python -m scripts.reader.export --weights reader_0.npz reader_1.npz --out reader.pack

The layout is that of the embedder's own file, so that `granite.parse_pack` reads it; it holds no tokenizer and no tables.
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


def renamed(given: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
    """Under the names of the graph. The first layer of the head is cut in two: for the first token and for the statement."""
    out: dict[str, NDArray[np.float32]] = {"emb_ln.w": given["ln.weight"], "emb_ln.b": given["ln.bias"]}
    for number in range(LAYERS):
        for name in ("qkv", "ao", "aln", "f1", "f2", "fln"):
            out[f"l{number}.{name}.w"] = given[f"layers.{number}.{name}.weight"]
            out[f"l{number}.{name}.b"] = given[f"layers.{number}.{name}.bias"]
    first, each = np.split(given["head.0.weight"], 2, axis=1)
    out |= {"head.first.w": first, "head.each.w": each, "head.b": given["head.0.bias"]}
    out |= {"head.out.w": given["head.3.weight"], "head.out.b": given["head.3.bias"]}
    return {name: np.ascontiguousarray(value, np.float32) for name, value in out.items()}


def quantised(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    grouped = matrix.reshape(len(matrix), -1, GROUP)
    scales = np.maximum(np.abs(grouped).max(-1) / 127.0, 1e-12).astype(np.float32)
    values = np.clip(np.rint(grouped / scales[:, :, None]), -127, 127).astype(np.int8)
    return values.reshape(matrix.shape), scales


def packed(tensors: dict[str, NDArray[np.float32]], about: dict[str, Any]) -> bytes:
    entries, blobs = [], []
    for name, value in tensors.items():
        if value.ndim == 2:
            values, scales = quantised(value)
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
    content = packed(renamed(found), {"model": "bythebook-reader", "version": 1})
    given.out.write_bytes(content)
    print(f"{given.out}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
