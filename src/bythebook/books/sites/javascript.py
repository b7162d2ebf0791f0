"""The literals in a configuration written in JavaScript or TypeScript. It is scanned and never run, so computed values are not
seen."""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(
    r"""(?P<gap>\s++|//[^\n]*+|/\*.*?(?:\*/|\Z))
    |(?P<text>"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\Z)|'(?:[^'\\\n]|\\.)*+(?:'|(?=\n)|\Z)|`(?:[^`\\]|\\.)*+(?:`|\Z))
    |(?P<word>[\w$]+(?:\.[\w$]+)*)|(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
DEEPEST = 50

Literal = tuple[tuple[str, ...], str]


def literals(source: str) -> Iterator[Literal]:
    """Yields every text, true and false with the keys that lead to it, outermost first. An object or list without a key counts as
    "", except around the whole. The name of a constant stands for its text."""
    names = {"true": "true", "false": "false"}
    for path, value, quoted in _scan(source):
        if quoted:
            names.setdefault(path[-1] if len(path) == 1 else "", value)
        if quoted or value in names:
            yield path, value if quoted else names[value]


def _scan(source: str) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    keys: list[str] = []
    key, before = "", "{"
    tokens = [match for match in TOKEN.finditer(source) if match.lastgroup != "gap"]
    for index, match in enumerate(tokens):
        mark = match[0]
        after = tokens[index + 1][0] if index + 1 < len(tokens) else ""
        if match.lastgroup != "mark":
            named = (after == ":" and before in "{,") or (after in ("=", ":") and not keys)
            value = ESCAPE.sub(r"\1", mark[1:-1]) if match.lastgroup == "text" else mark
            if named:
                key = value
            elif "${" not in value:
                yield (*_inner(keys), *([key] if key else [])), value, match.lastgroup == "text"
        elif mark in "{[":
            keys.append(key)
            key = ""
            if len(keys) > DEEPEST:
                return
        elif mark in "}]":
            key = keys.pop() if keys else ""
        elif mark in ",;":
            key = ""
        before = mark


def _inner(keys: list[str]) -> list[str]:
    """Without what is around the whole: `const config = {`, `export default defineConfig({`, a function's body."""
    start = 1 if keys else 0
    while start < len(keys) and not keys[start]:
        start += 1
    return keys[start:]
