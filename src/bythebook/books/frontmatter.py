"""Splits a lesson's source into frontmatter and body. All values are text, as written: `module: 01` stays "01"."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

FENCE = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)")
KEY = re.compile(r"[ \t]*([A-Za-z_][\w-]*)[ \t]*[:=](.*)")
LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
LONGEST = 64_000
"""The longest block that is parsed, in characters. A lesson's own is seldom longer than a thousand."""
LONGEST_TOML = 16_000
"""The TOML parser takes two seconds for the worst case of this length, a key of 8,000 parts, and four times that for twice the
length."""
DEEPEST = 32
"""How deep lists and maps may nest. The YAML parser recurses in C, where nesting too deep ends the process."""
MOST_VALUES = 100_000
"""Values in a block, each counted as often as it is referred to: nine references to nine references are billions in a few
lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontmatter:
    """`values` as text (or lists and maps of it), `lines` says where each key stands, `body_start` where the lesson begins.

    `problem` is why the block did not parse, with its line; then `values` holds what could be read line by line.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    body_start: int = 0
    problem: tuple[int, str] | None = None

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        return value.strip() if isinstance(value, str) and value.strip() else None


def read_frontmatter(source: str) -> Frontmatter:
    """Reads `---` YAML and `+++` TOML. A block that is never closed is a thematic break, not frontmatter."""
    opening = FENCE.match(source)
    if not opening:
        return Frontmatter()
    mark = opening[1]
    closing = re.compile(rf"(?<=[\r\n]){re.escape(mark)}[ \t]*(?:\r\n?|\n|\Z)").search(source, opening.end())
    if not closing:
        return Frontmatter()
    block = source[opening.end() : closing.start()]
    values, problem = _parse(block, mark)
    if values is None:
        if problem is None:
            return Frontmatter()
        values = {key: value for _, key, value in reversed(list(_keys(block)))}
    lines = {key: line for line, key, _ in reversed(list(_keys(block)))}
    return Frontmatter(values=values, lines=lines, body_start=closing.end(), problem=problem)


def is_unclosed(source: str) -> bool:
    """Whether a lesson begins like frontmatter that never ends, which is then read as text."""
    opening = FENCE.match(source)
    if not opening:
        return False
    closing = re.compile(rf"(?<=[\r\n]){re.escape(opening[1])}[ \t]*(?:\r\n?|\n|\Z)")
    return closing.search(source, opening.end()) is None and KEY.match(source, opening.end()) is not None


def load_yaml(text: str) -> Any:
    """YAML as texts, lists and maps of a bounded size and depth; anything beyond that is a YAMLError."""
    if len(text) > LONGEST:
        raise yaml.YAMLError(f"it is longer than {LONGEST:,} characters")
    _check_size(yaml.parse(text, Loader=LOADER))
    return yaml.load(text, Loader=LOADER)


def _check_size(events: Iterator[yaml.Event]) -> None:
    named: dict[str | None, int] = {}
    around: list[tuple[str | None, int]] = []  # the names of the lists and maps that are open, and what was counted before each
    count = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            around.append((event.anchor, count))
            count += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = around.pop()
            named |= {anchor: count - before} if anchor else {}
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in around):
                raise yaml.YAMLError("a value refers to itself")
            count += named.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            count += 1
        if len(around) > DEEPEST:
            raise yaml.YAMLError(f"it is nested more than {DEEPEST} deep")
        if count > MOST_VALUES:
            raise yaml.YAMLError(f"it holds more than {MOST_VALUES:,} values, references counted")


def _load_toml(text: str) -> Any:
    if len(text) > LONGEST_TOML:
        raise ValueError(f"it is longer than {LONGEST_TOML:,} characters")
    try:
        return _texts(tomllib.loads(text))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _parse(block: str, mark: str) -> tuple[dict[str, Any] | None, tuple[int, str] | None]:
    """Returns None and no problem for two thematic breaks around prose, which are not frontmatter."""
    try:
        parsed = load_yaml(block) if mark == "---" else _load_toml(block)
    except (yaml.YAMLError, ValueError) as error:  # a TOML error is a ValueError
        return (None, (_line(error), _reason(error))) if any(_keys(block)) else (None, None)
    if parsed is None or parsed == "":
        return {}, None
    if isinstance(parsed, dict):
        return {str(key): value for key, value in parsed.items()}, None
    return (None, (2, "it is not a list of 'key: value' lines")) if any(_keys(block)) else (None, None)


def _keys(block: str) -> Iterator[tuple[int, str, str]]:
    """Yields the line number, key and value of each line that looks like `key: value`."""
    for number, line in enumerate(re.split(r"\r\n?|\n", block), start=2):
        match = KEY.match(line)
        if match:
            yield number, match[1], match[2].strip().strip("\"'")


def _texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_texts(inner) for inner in value]
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _line(error: Exception) -> int:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return int(mark.line) + 2
    match = re.search(r"line (\d+)", str(error))
    return int(match[1]) + 1 if match else 1


def _reason(error: Exception) -> str:
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return str(reason).split("\n")[0][:120]
