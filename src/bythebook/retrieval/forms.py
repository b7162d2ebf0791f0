"""The form of a statement: whether it is one that answers such a question, and whether it is one that answers none."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from bythebook.books.statements import Statement
from bythebook.retrieval.question import Shape

FEWEST_WORDS = 4
NUMBER_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|twice|hundred|thousand|million|billion"
TASKS = "use|run|set|add|open|call|create|put|save|start|install|make|check|choose"


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


NUMBER = re.compile(rf"\d|\b(?:{NUMBER_WORDS})\b", re.IGNORECASE)
CAUSE = _words(
    r"because|since|therefore|thus|hence|so that|so|due to|owing to|as a result|caus\w+|reasons?|which is why|leads? to"
    r"|otherwise|in order to|results? in|means that"
)
CONTRAST = re.compile(
    r"\b(?:whereas|while|but|unlike|instead|in contrast|however|differ\w*|than|both|only|rather|not)\b|;", re.IGNORECASE
)
TIME = _words(r"when|whenever|after|before|until|once|if|unless|as (?:soon|long) as|during|since|[12]\d{3}")
EXAMPLE = re.compile(r"\b(?:for example|for instance|such as|e\.g\.|suppose|imagine|consider|if\b)", re.IGNORECASE)
STEP = re.compile(rf"(?:first|then|next|finally|to \w+,|{TASKS})\b", re.IGNORECASE)
LISTED = re.compile(r",[^,]+(?:,| and | or )|:\s")
COPULA = re.compile(
    r"\s(?:is|are|was|were|means?|refers? to|denotes?|describes?|stands for|consists? of|has|have)\s|[:,]\s|\s\(", re.IGNORECASE
)
NEGATED = re.compile(r"\s(?:is|are|was|were)\s+(?:not|no)\b", re.IGNORECASE)

ASKING_SECTION = re.compile(
    r"(?:check|test) your(?:self| )|quiz\b|(?:[\w'-]+ ){0,3}(?:exercises?|problems?|questions?|quiz|assignments?|homework)$"
    r"|(?:knowledge|self)[- ](?:check|test)|(?:learning )?(?:objectives|goals|outcomes)\b"
    r"|what you(?:'ll| will| should) (?:learn|know)|further reading|references$|next steps$",
    re.IGNORECASE,
)
"""Headings of sections that ask, promise or point elsewhere."""
TASK_VERBS = (
    r"true or false|(?:re-?)?explain|name|derive|predict|describe|propose|prove|sketch|discuss|justify|interpret|implement"
    r"|show (?:that|how|me)|give (?:me|both|an?|the|two|three)|state (?:the|whether|which|precisely|how|why|what|in)"
    r"|write (?:the|down|out|an?)|list (?:the|two|three|four|all)|confirm (?:that|the)|in your own words|which of (?:the|these)"
)
TASK = re.compile(rf"(?:[^.:!?]{{1,40}}[.:]\s+)?[\"\u201c]?(?:then |now |next, |also )?(?:{TASK_VERBS})\b", re.IGNORECASE)
"""Set to a student: it repeats what is asked and leaves the answer to him."""
LINK_FIRST = re.compile(r"\**\[[^\]]+\]\([^)]*\)")
"""An entry of a table of contents."""
ABOUT_THE_BOOK = re.compile(
    r"\b(?:this|next|previous|each|every|later|following|first|second|third|last) (?:lesson|chapter|module|section|part)s?\b"
    r"|\blesson to lesson\b|\bthe (?:lessons?|chapters?) (?:on|about)\b|\b(?:first|last) (?:two|three) (?:lessons|chapters)\b",
    re.IGNORECASE,
)
ANNOUNCES = re.compile(
    r"(?:in )?(?:this|these|the (?:following|next))\s+"
    r"(?:page|guide|cheat ?sheet|document|article|tutorial|how-to|lesson|chapter|section|module|walkthrough|recipe|post)s?\b"
    r".{0,80}\b(?:will|helps?|explains?|describes?|covers?|shows?|discuss(?:es)?|provides?|introduces?|walks?|lists?|is about"
    r"|goes over|we|you|aims?|teach(?:es)?|focus(?:es)?|presents?)\b"
    r"|(?:first,? |now,? |next,? |so,? )?let(?:'|\u2019)?s (?:take a|have a|first|now|look|see|start|begin|go|talk|discuss)\b"
    r"|(?:here,? |next,? |now,? |first,? )?(?:we|you)(?:'ll|\u2019ll| will) (?:now |first |also )?(?:see|look|learn|discuss)\b",
    re.IGNORECASE,
)
"""A sentence that promises what others say."""
DIAGRAM = re.compile(r"graph|flowchart|sequenceDiagram|stateDiagram|classDiagram|erDiagram|gantt|mindmap")


def opens_asking(heading: str) -> bool:
    return ASKING_SECTION.match(heading) is not None


def asks(statement: Statement) -> bool:
    """Whether a statement is a question, or a task for the reader, instead of an answer."""
    text = statement.readable
    return text.rstrip("\"'\u201d)").endswith("?") or (statement.kind in ("sentence", "item") and TASK.match(text) is not None)


def says_nothing(statement: Statement, raw: str) -> float:
    """How surely a statement says nothing, 0-1: it points to where something is said, or draws it."""
    text = statement.readable
    if statement.kind == "code" and DIAGRAM.match(text):
        return 1.0
    if LINK_FIRST.match(raw) and statement.kind == "item":
        return 1.0
    if statement.kind in ("sentence", "item") and ANNOUNCES.match(text):
        return 1.0
    if _is_about_the_book(text):
        return 0.5
    if statement.kind in ("sentence", "item") and len(text.split()) < FEWEST_WORDS:
        return 0.5
    return 0.1 if text.endswith(":") else 0.0


@lru_cache(maxsize=8192)
def _is_about_the_book(text: str) -> bool:
    """Remembered: every question asks it of every statement of the chunks that are read."""
    return ABOUT_THE_BOOK.search(text) is not None


def fits(shape: Shape, statement: Statement, raw: str, names: Callable[[str], float]) -> float:  # noqa: C901  one a shape
    """How well the form of a statement suits what is asked for, 0-1. `names` tells how well words name what is asked about."""
    text, kind = statement.readable, statement.kind
    match shape:
        case "definition":
            return _defines(statement, raw, names)
        case "comparison":
            form = 0.5 * (CONTRAST.search(text) is not None) + 0.5 * (kind == "row")
            return max(form, _defines(statement, raw, names))
        case "steps":
            return 1.0 if STEP.match(text) else 0.5 * (kind in ("code", "item"))
        case "listing":
            return 0.5 * (kind in ("item", "row")) + 0.5 * (LISTED.search(text) is not None)
        case "code":
            return float(kind == "code" or "`" in raw)
        case "formula":
            return float(kind == "maths")
        case "number":
            return float(NUMBER.search(text) is not None)
        case "cause":
            return float(CAUSE.search(text) is not None)
        case "time":
            return float(TIME.search(text) is not None)
        case "example":
            return float(EXAMPLE.search(text) is not None)
        case "plain":
            return 0.0


def _defines(statement: Statement, raw: str, names: Callable[[str], float]) -> float:
    """Whether the statement begins with what is asked about and goes on to say what it is. A term is set in bold where it is
    defined."""
    verb = COPULA.search(statement.readable)
    if not verb or statement.kind not in ("sentence", "item", "row") or NEGATED.match(statement.readable, verb.start()):
        return 0.0
    return names(statement.readable[: verb.start()]) * (1.0 if "**" in raw else 0.7)
