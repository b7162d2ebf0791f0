"""What a model gets wrong is brought into document B's ranges."""

from __future__ import annotations

import json

import pytest

from bythebook.drafting.openai_agents.search_arguments import SearchArguments, read_arguments


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ('{"query": " a node "}', SearchArguments(query="a node")),
        (
            '{"query": "a node", "top_k": "3", "similarity_threshold": 7}',
            SearchArguments(query="a node", top_k=3, similarity_threshold=1.0),
        ),
        ('{"query": "a node", "top_k": -1, "similarity_threshold": -0.5}', SearchArguments(query="a node", top_k=1)),
        ('{"query": "a node", "top_k": null, "similarity_threshold": NaN}', SearchArguments(query="a node")),
        ('{"query": "a node", "top_k": 1e999}', SearchArguments(query="a node", top_k=20)),
        (json.dumps({"query": "x" * 2000}), SearchArguments(query="x" * 1000)),
        ('{"query": 7}', SearchArguments(query="")),
        ('["a node"]', SearchArguments(query="")),
        ("a node", SearchArguments(query="")),
        ("", SearchArguments(query="")),
    ],
)
def test_reading_arguments(raw: str, read: SearchArguments) -> None:
    assert read_arguments(raw) == read
