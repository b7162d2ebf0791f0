"""Build the reader's computation as an ONNX graph without weights, the way scripts/build_granite_graph.py builds the embedder's.

    python -m scripts.reader.graph --out reader.onnx        # after pip install onnx

One passage is read at a time, never padded, so attention needs no mask. Inputs: `ids` [1, tokens] of the question and the
passage, and `pool` [statements, tokens], whose rows take the mean over the tokens of one statement. Output: `scores`, one for
each statement. The word table and the positions are the embedder's own.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from onnx import ModelProto, TensorProto, helper

from scripts.build_granite_graph import FUSED, HIDDEN, LAYERS, Graph, embedding, layer


def build(layers: int = LAYERS) -> ModelProto:
    graph = Graph()
    graph.constant("zero", 0)
    hidden = embedding(graph)
    for number in range(layers):
        hidden = layer(graph, number, hidden, hidden)
    tokens = graph.node("Reshape", [hidden, graph.constant("by_place", -1, HIDDEN)], "tokens")
    first = graph.node("Slice", [tokens, "zero", graph.constant("one", 1), "zero"], "first")
    pooled = graph.node("MatMul", ["pool", tokens], "pooled")
    whole = graph.node("MatMul", [first, graph.weight("head.first.w", HIDDEN, HIDDEN)], "head.first")
    each = graph.node("MatMul", [pooled, graph.weight("head.each.w", HIDDEN, HIDDEN)], "head.each")
    both = graph.node("Add", [graph.node("Add", [each, whole], "head.both"), graph.weight("head.b", HIDDEN)], "head.biased")
    active = graph.node("Tanh", [both], "head.active")
    score = graph.node("MatMul", [active, graph.weight("head.out.w", HIDDEN, 1)], "head.score")
    shifted = graph.node("Add", [score, graph.weight("head.out.b", 1)], "head.shifted")
    graph.node("Reshape", [shifted, graph.constant("flat", -1)], "scores")
    made = helper.make_graph(
        graph.nodes,
        "bythebook-reader",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT32, [1, "tokens"]),
            helper.make_tensor_value_info("pool", TensorProto.FLOAT, ["statements", "tokens"]),
        ],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["statements"])],
        graph.initializers,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=8, producer_name="bythebook")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.out.write_bytes(build().SerializeToString(deterministic=True))
    print(f"{given.out}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
