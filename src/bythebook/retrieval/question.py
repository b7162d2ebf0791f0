"""What a question asks for, read off its words. English only: in other languages every question is a plain one."""

from __future__ import annotations

import re
from typing import Literal

Shape = Literal["definition", "number", "cause", "steps", "comparison", "listing", "code", "formula", "example", "time", "plain"]

QUANTITY = r"many|much|long|far|fast|often|large|big|high|low|deep|wide|old|tall|heavy|quick|quickly|accurate|soon"
MEASURE = r"number|percentage|share|frequency|rate|year|size|distance|speed|value"
SOME = r"two|three|four|five|six|seven|eight|main|different|kinds|types|parts|steps|stages|states|phases"
SEVERAL = (
    r"reasons|causes|types|kinds|ways|methods|symptoms|options|alternatives|advantages|disadvantages|benefits|drawbacks|examples"
    r"|requirements|features|tools|rules|principles|stages|steps|parts|components|properties"
)
VERB = r"(?:does|do|did|can|could|should|would|will|is|are|was|were|have|has|must|may)\b"
PATTERNS: dict[Shape, tuple[str, ...]] = {
    "comparison": (
        r"\b(?:differences?|differs?|different (?:from|than)|distinguish\w*|compare[ds]?|comparison|versus|vs\.?)(?!\w)",
        r"\b(?:better|worse|rather) than\b",
        r"\bthe same (?:as|thing)\b",
    ),
    "code": (
        r"\b(?:which|what) (?:line|command|code|call|function)s?\b",
        r"\b(?:show|give|write)\b.*\b(?:code|script|command|snippet)\b",
    ),
    "formula": (r"\b(?:formulas?|formulae|equations?)\b",),
    "example": (r"\bexamples?\b", r"\bfor instance\b"),
    "number": (rf"\bhow (?:{QUANTITY})\b", rf"\b(?:what|which) (?:\w+ )?(?:{MEASURE})\b"),
    "cause": (
        r"\bwhy\b|\bhow come\b|\bfor what reason\b",
        r"\bwhat (?:is|was|are|were) the (?:\w+ )?(?:reason|cause)s?\b",
        r"\bwhat (?:\w+ )?caus(?:es|ed|e)\b",
    ),
    "listing": (
        r"^(?:please )?(?:list|name|enumerate)\b",
        rf"\b(?:which|what) (?:are )?(?:the )?(?:{SOME})\b",
        r"\bwhat are (?:the|some|all)\b",
        # Which gates does it have? In what ways can it be done?
        rf"\b(?:which|what)(?: (?!{VERB}|happens)[\w'\u2019-]+){{0,3}}? [a-z]+(?<![su])s (?:{VERB}|count|come|exist|belong)\b",
        rf"^(?:\w+ )?(?:{SEVERAL}) (?:for|of|to|in|that|which|a|an|the|possible)\b",
    ),
    "steps": (
        r"\bhow (?:do|can|could|should|would|might|must) (?:i|we|you|one|someone)\b",
        r"\bhow to\b|\bsteps? (?:to|for)\b|\bhow does one\b",
    ),
    "time": (
        r"\bwhen (?:do|does|did|is|are|was|were|will|can|could|should|must|may|am|has|have)\b",
        r"^when\b|\bin (?:what|which) year\b",
    ),
    "definition": (
        r"^(?:so |and |please )?(?:what|who) (?:exactly )?(?:is|are|was|were) (?!the \w+ (?:of|for|to|in|with|behind|if|when)\b)",
        r"\bwhat'?s\b|\bwhat (?:exactly )?does .* (?:mean|stand for)\b|\bwhat (?:do you|is) (?:mean|meant) by\b",
        r"^(?:please )?define\b|\b(?:definition|meaning) of\b|\bwhat (?:exactly )?counts as\b",
        r"^(?:explain|describe) (?!how|why|what|when)",
    ),
}
"""The first that is found counts: "What is the difference between a node and a process?" asks to compare."""
SHAPES = {shape: re.compile("|".join(patterns), re.IGNORECASE) for shape, patterns in PATTERNS.items()}
ASKING = re.compile(
    rf"\bhow (?:{QUANTITY})\b|\bwhat (?:is|are) the differences? between\b|\bgive (?:me )?an example of\b", re.IGNORECASE
)
END = re.compile(r"(?<=[.!?])\s+")


def asked_for(question: str, language: str) -> Shape:
    """Of several sentences the last question counts; the others tell the circumstances."""
    if not language.casefold().startswith("en"):
        return "plain"
    parts = [part for part in END.split(question.strip()) if part]
    asked = next((part for part in reversed(parts) if part.endswith("?")), question.strip())
    return next((shape for shape, pattern in SHAPES.items() if pattern.search(asked)), "plain")


def asked_about(question: str, language: str) -> str:
    """The question without the words that only ask: a sentence that says "many" tells no number."""
    return ASKING.sub(" ", question) if language.casefold().startswith("en") else question
