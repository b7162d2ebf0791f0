"""Questions about the lighthouse book, as its author would write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.lighthouse import ARC, FOREIGN, LAMP, NEAR, ROCK, TRIMMED, WICK

QUESTIONS: list[dict[str, Any]] = [
    {"id": "wick", "question": WICK, "lesson": f"{LAMP}/01-wicks.md", "quote": TRIMMED, "keywords": ["four hours"]},
    {"id": "lens", "question": "What is a Fresnel lens?", "lesson": "02-lenses", "keywords": ["glass rings"]},
    {"id": "reservoir", "question": "How many litres of rapeseed oil does the reservoir hold?", "lesson": f"{LAMP}/01-wicks.md"},
    {"id": "fog", "question": "What is the fog signal?", "lessons": [f"{ROCK}/02-fog.md"]},
    {
        "id": "often",
        "question": "And how often does it sound?",
        "lesson": f"{ROCK}/02-fog.md",
        "history": [
            {"role": "user", "content": "What is the fog signal?"},
            {"role": "assistant", "content": "The fog signal is an explosive charge fired from a jib above the gallery."},
        ],
    },
    {"id": "arc", "question": ARC, "kind": "beyond_filter", "lesson": f"{LAMP}/04-electric.md", "filters": {"hardware_tier": 1}},
    {"id": "salary", "question": NEAR, "kind": "near"},
    {"id": "bank", "question": FOREIGN, "kind": "foreign", "answerable": False},
    {"id": "open", "question": "What do the birds do?"},
]


def write_questions(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    lines = [json.dumps(row, ensure_ascii=False) for row in (QUESTIONS if rows is None else rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
