"""Inputs made from known ones: cut, doubled, spliced, and with signs put in that mean something to some parser."""

from __future__ import annotations

from pathlib import Path
from random import Random

CORPUS = Path(__file__).parent / "corpus"
LONGEST = 20_000
TOKENS = (
    *("---\n", "+++\n", "```", "~~~", "$$", "$", "|", "\n|---|\n", "> ", "- ", "1. ", "# ", "===\n", "    ", "\t", "\r\n", "\r"),
    *(
        "<",
        ">",
        "</",
        "/>",
        "<!--",
        "-->",
        "<Tabs>",
        "</Tabs>",
        "{",
        "}",
        "{{",
        "}}",
        "{%",
        "%}",
        ":::",
        "!!! ",
        "[^1]",
        "[",
        "](",
    ),
    *(
        ")",
        "![",
        "`",
        "``",
        "*",
        "**",
        "_",
        "\\",
        "&amp;",
        "&#",
        ":",
        ": ",
        "- [",
        "? ",
        "!!python/object:",
        "&a ",
        "*a",
        "<<: *a",
    ),
    *(
        "[1]",
        "[1][2]",
        "<think>",
        "</think>",
        "<tool_call>",
        '{"',
        '":',
        "null",
        "true",
        "-1",
        "1e999",
        "\\u0000",
        "\\ud800",
        '"',
        "'",
    ),
    *(
        "\x00",
        "\x1b[31m",
        "\u202e",
        "\u2028",
        "\ufeff",
        "\U0001f468\u200d\U0001f469",
        "é",
        "e\u0301",
        "الروبوت",
        " ",
        "\n\n",
        "\n",
    ),
)


def seeds(name: str) -> list[str]:
    """The corpus of one target: files separated by a line of `%%`."""
    return (CORPUS / f"{name}.txt").read_text("utf-8").split("\n%%\n")


def mutated(known: list[str], chance: Random) -> str:
    text = chance.choice(known)
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.randint(0, 40))
        match chance.randrange(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:end] + text[start:end] * chance.choice((1, 2, 10, 200)) + text[end:]
            case 2:
                text = text[:start] + chance.choice(TOKENS) * chance.choice((1, 1, 1, 2, 50)) + text[start:]
            case 3:
                other = chance.choice(known)
                text = text[:start] + other[chance.randint(0, len(other)) :]
            case 4:
                text = text[:start] + chr(chance.choice((chance.randrange(32, 127), chance.randrange(0x20, 0xD7FF)))) + text[end:]
            case 5:
                text = text[:start] + text[end:] + text[start:end]
    return text[:LONGEST]
