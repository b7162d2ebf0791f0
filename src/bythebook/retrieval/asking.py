"""What a question asks for, read off its words. English only: in other languages every question is a plain one."""

from __future__ import annotations

import re
from typing import Literal

Shape = Literal["definition", "number", "cause", "steps", "comparison", "listing", "code", "formula", "example", "plain"]

_QUANTITY = r"many|much|long|far|fast|often|large|big|high|low|deep|wide|old|tall|heavy|quick|quickly|accurate|soon|big"
_SHAPES: tuple[tuple[Shape, re.Pattern[str]], ...] = tuple(
    (shape, re.compile(pattern, re.IGNORECASE))
    for shape, pattern in (
        (
            "comparison",
            r"\b(?:differences?|differs?|different (?:from|than)|distinguish\w*|compare[ds]?|comparison|versus|vs\.?)(?!\w)"
            r"|\b(?:better|worse|rather) than\b|\bthe same (?:as|thing)\b",
        ),
        ("code", r"\b(?:which|what) (?:line|command|code|call|function)s?\b|\b(?:show|give|write)\b.*\b(?:code|script|command|snippet)\b"),
        ("formula", r"\b(?:formulas?|formulae|equations?)\b"),
        ("example", r"\bexamples?\b|\bfor instance\b"),
        ("number", rf"\bhow (?:{_QUANTITY})\b|\b(?:what|which) (?:\w+ )?(?:number|percentage|share|frequency|rate|year|size|distance|speed|value)\b"),
        ("cause", r"\bwhy\b|\bhow come\b|\bwhat (?:is|was|are|were) the (?:reason|cause)s?\b|\bwhat (?:\w+ )?caus(?:es|ed|e)\b|\bfor what reason\b"),
        (
            "listing",
            r"^(?:please )?(?:list|name|enumerate)\b"
            r"|\b(?:which|what) (?:are )?(?:the )?(?:two|three|four|five|six|seven|eight|main|different|kinds|types|parts|steps|stages|states|phases)\b"
            r"|\bwhat are (?:the|some|all)\b",
        ),
        ("steps", r"\bhow (?:do|can|could|should|would|might|must) (?:i|we|you|one|someone)\b|\bhow to\b|\bsteps? (?:to|for)\b|\bhow does one\b"),
        (
            "definition",
            r"^(?:so |and |please )?(?:what|who) (?:exactly )?(?:is|are|was|were)\b|\bwhat'?s\b|\bwhat (?:exactly )?does .* (?:mean|stand for)\b"
            r"|\b(?:define|definition of|meaning of)\b|\bwhat (?:do you|is) (?:mean|meant) by\b|^(?:explain|describe)\b",
        ),
    )
)  # fmt: skip
_END = re.compile(r"(?<=[.!?])\s+")


def asked_for(question: str, language: str) -> Shape:
    """Of several sentences the last question counts; the others tell the circumstances."""
    if not language.casefold().startswith("en"):
        return "plain"
    parts = [part for part in _END.split(question.strip()) if part]
    asked = next((part for part in reversed(parts) if part.endswith("?")), question.strip())
    return next((shape for shape, pattern in _SHAPES if pattern.search(asked)), "plain")
