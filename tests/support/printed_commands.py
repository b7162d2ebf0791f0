"""The commands that the documents print in fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"docs/{page.name}" for page in sorted((REPOSITORY / "docs").glob("*.md"))),
)
FENCE = re.compile(r"^ *(?P<ticks>`{3,})(?P<kind>[^`\n]*)\n(?P<text>.*?)^ *(?P=ticks) *$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"\s+#\s.*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What stands between two fences."""

    page: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A line after `$ `, or a whole block of a shell's lines."""

    page: str
    text: str


@cache
def blocks() -> tuple[Block, ...]:
    return tuple(
        Block(page=page, kind=found["kind"].strip(), text=found["text"])
        for page in PAGES
        for found in FENCE.finditer((REPOSITORY / page).read_text("utf-8"))
    )


@cache
def commands() -> tuple[Command, ...]:
    """In the order in which they are printed."""
    return tuple(Command(block.page, text) for block in blocks() for text in _typed(block))


def _typed(block: Block) -> Iterator[str]:
    if block.kind == "sh":
        yield COMMENT.sub("", block.text.rstrip()) if "<<" not in block.text else block.text
    for line in block.text.splitlines() if block.kind == "console" else ():
        if line.startswith("$ "):
            yield COMMENT.sub("", line.removeprefix("$ "))
