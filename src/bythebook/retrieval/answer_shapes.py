"""The shape of an answer: which one a question asks for (a definition, a number, steps …), how well a statement has it, and which
statements answer nothing at all, because they ask, announce or point elsewhere.

English only: in other languages every question is a plain one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Literal

from bythebook.books.statements import Statement

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
"""The first pattern that is found counts: "What is the difference between a node and a process?" asks to compare."""
SHAPES = {shape: re.compile("|".join(patterns), re.IGNORECASE) for shape, patterns in PATTERNS.items()}
END = re.compile(r"(?<=[.!?])\s+")


def asked_for(question: str, language: str) -> Shape:
    """The form that the question asks for. Of several sentences the last question counts; the others describe the
    circumstances."""
    if not language.casefold().startswith("en"):
        return "plain"
    parts = [part for part in END.split(question.strip()) if part]
    asked = next((part for part in reversed(parts) if part.endswith("?")), question.strip())
    return next((shape for shape, pattern in SHAPES.items() if pattern.search(asked)), "plain")


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
"""Headings of sections that ask questions, make promises or point elsewhere."""
TASK_VERBS = (
    r"true or false|(?:re-?)?explain|name|derive|predict|describe|propose|prove|sketch|discuss|justify|interpret|implement"
    r"|show (?:that|how|me)|give (?:me|both|an?|the|two|three)|state (?:the|whether|which|precisely|how|why|what|in)"
    r"|write (?:the|down|out|an?)|list (?:the|two|three|four|all)|confirm (?:that|the)|in your own words|which of (?:the|these)"
)
TASK = re.compile(rf"(?:[^.:!?]{{1,40}}[.:]\s+)?[\"\u201c]?(?:then |now |next, |also )?(?:{TASK_VERBS})\b", re.IGNORECASE)
"""A task for a student: it repeats the question and leaves the answer open."""
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
"""A sentence that announces what others say."""
POINTS = re.compile(
    r"\(?(?:for (?:more|further) (?:details?|information)\b[^.;]{0,60}, )?(?:please )?"
    r"(?:(?:also )?see|refer to|consult)\b[^.;!?]{1,120}[.)]*",
    re.IGNORECASE,
)
"""A sentence that only names the place where something is said: "(See Scope, for details.)"."""
DIAGRAM = re.compile(r"graph|flowchart|sequenceDiagram|stateDiagram|classDiagram|erDiagram|gantt|mindmap")


def opens_asking(heading: str) -> bool:
    return ASKING_SECTION.match(heading) is not None


def asks(statement: Statement) -> bool:
    """Whether a statement is a question or a task for the reader, and not an answer."""
    text = statement.readable
    return text.rstrip("\"'\u201d)").endswith("?") or (statement.kind in ("sentence", "item") and TASK.match(text) is not None)


def says_nothing(statement: Statement, raw: str) -> float:
    """How surely a statement says nothing, 0 to 1: it only points to where something is said, or is drawn with characters."""
    text = statement.readable
    if statement.kind == "code" and DIAGRAM.match(text):
        return 1.0
    if LINK_FIRST.match(raw) and statement.kind == "item":
        return 1.0
    if statement.kind in ("sentence", "item") and (ANNOUNCES.match(text) or POINTS.fullmatch(text)):
        return 1.0
    if _is_about_the_book(text):
        return 0.5
    if statement.kind in ("sentence", "item") and len(text.split()) < FEWEST_WORDS:
        return 0.5
    return 0.1 if text.endswith(":") else 0.0


@lru_cache(maxsize=8192)
def _is_about_the_book(text: str) -> bool:
    """Whether a statement is about the book itself. The result is remembered, because every question asks this of every
    statement of the chunks that are read."""
    return ABOUT_THE_BOOK.search(text) is not None


def fits(shape: Shape, statement: Statement, raw: str, names: Callable[[str], float]) -> float:  # noqa: C901  one a shape
    """How well the form of a statement suits what is asked for, 0 to 1. `names` gives how well words name what is asked about."""
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
    """Whether the statement begins with what is asked about and continues with what that is. A term is in bold where it is
    defined."""
    verb = COPULA.search(statement.readable)
    if not verb or statement.kind not in ("sentence", "item", "row") or NEGATED.match(statement.readable, verb.start()):
        return 0.0
    return names(statement.readable[: verb.start()]) * (1.0 if "**" in raw else 0.7)


COUNTED = re.compile(
    r"\bhow (?:many|much|long|far|fast|often|large|big|high|deep|wide|old|tall|heavy|quick|quickly|steep)\b"
    r"|\b(?:what|which)(?:'s| is| are| was)?(?: the| a| an)?(?: \w+)? "
    r"(?:number|percentage|share|fraction|frequency|rate|size|distance|speed|value|population|amount)\b",
    re.IGNORECASE,
)
DATED = re.compile(r"\bwhen (?:was|were|did)\b|\b(?:what|which) (?:year|date|century|decade)\b", re.IGNORECASE)
DATE = re.compile(
    r"\b[12]\d{3}s?\b|\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:century|year|month|day|after|before|once|until)", re.IGNORECASE
)


def gives(question: str, texts: Collection[str], language: str) -> bool:
    """Whether one of the texts has a number or a time, if the question asks for one. English only."""
    if not language.casefold().startswith("en"):
        return True
    wanted = DATE if DATED.search(question) else NUMBER if COUNTED.search(question) else None
    return wanted is None or any(wanted.search(text) for text in texts)
