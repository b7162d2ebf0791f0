"""Questions that one sentence answers, in a reader's words: "To declare a cookie, use Cookie." gives "How do I declare a
cookie?". English only, as all drafts are."""

from __future__ import annotations

import re
from collections.abc import Collection

from bythebook.evaluation.heading_questions import SAYS_NOTHING, VERBS

FEWEST_WORDS, MOST_WORDS, MOST_NAMED, LONGEST = 2, 12, 4, 500
LEAST_ANSWER, LEAST_EVENT = 3, 4
"""Words that must be left of a sentence to answer with, and words of something that happens."""
POINTING = SAYS_NOTHING | {
    "e.g", "each", "etc", "he", "her", "here", "his", "i", "its", "just", "me", "my", "she", "so", "some", "such", "their",
    "there", "they", "thing", "things",
}  # fmt: skip
"""A question with one of these words needs what stands around its sentence."""
GENERAL = frozenset({
    "above", "application", "approach", "book", "case", "chapter", "code", "example", "figure", "first", "following",
    "function", "last", "latter", "lesson", "method", "part", "previous", "rest", "result", "same", "second", "section",
    "spec", "system", "table", "user", "value",
})  # fmt: skip
"""A thing with one of these names is one that the sentence before names: "the function"."""
UNNAMED = frozenset({
    "actually", "and", "by", "how", "instead", "many", "not", "or", "our", "that", "to", "us", "we", "what", "when", "which",
    "who",
})  # fmt: skip
"""A phrase with one of these words is no name."""
MINE = {"our": "my", "we": "I", "you": "I", "your": "my", "yours": "mine", "yourself": "myself"}
SAID = {
    "accepts": "accept", "adds": "add", "checks": "check", "contains": "contain", "converts": "convert", "creates": "create",
    "defines": "define", "describes": "describe", "determines": "determine", "expects": "expect", "generates": "generate",
    "handles": "handle", "holds": "hold", "includes": "include", "limits": "limit", "maps": "map", "means": "mean",
    "measures": "measure", "needs": "need", "prevents": "prevent", "provides": "provide", "publishes": "publish",
    "raises": "raise", "receives": "receive", "represents": "represent", "requires": "require", "returns": "return",
    "sends": "send", "stores": "store", "supports": "support", "takes": "take", "tells": "tell", "tracks": "track",
}  # fmt: skip
"""What a thing does, as it is told and as it is asked for."""


def _pattern(written: str) -> re.Pattern[str]:
    return re.compile(written, re.IGNORECASE)


OPENING = r"(?:(?:and|but|so|then|now|also|for example|instead),? )?"
CAN = r"(?:you|we) (?:can|should|must|need to|have to)(?: also| then| just| simply| directly| either)?"
GOAL = rf"(?P<goal>(?:{'|'.join(sorted(VERBS - {'find', 'view'}))})\b[^,;:()]+?)"
NAMED = r"(?P<named>(?:The |An? )?[`\w][^,;:.()?!]{1,40}?)"
CODE = r"(?:[^\W_]+(?:[._]+[^\W_]+)+(?:\(\))?|[^\W_]+\(\)|-?-\w[\w-]+|[A-Z]?[a-z]+[A-Z][^\W_]*)"
"""What is written as in a program."""
REACHED = (
    (_pattern(rf"{OPENING}(?:in order )?to {GOAL}, (?P<answer>.+)"), "How do I {}?"),
    (
        _pattern(
            rf"{OPENING}(?:if|when|whenever) (?:you|we) (?:only |also |just )?(?:want|need|have|would like) to {GOAL}, "
            r"(?P<answer>.+)"
        ),
        "How do I {}?",
    ),
    (_pattern(rf"{OPENING}(?:{CAN} )?use (?P<answer>[^,;:()]+?) to {GOAL}(?:[,;:(].*|[.!]?$)"), "What can I use to {}?"),
    (_pattern(rf"{OPENING}{CAN} {GOAL} (?P<answer>(?:by|with|using|through|via) .+)"), "How do I {}?"),
)
"""Sentences that tell how a goal is reached, and what is asked for it."""
TOLD = (
    (
        _pattern(
            r"(?:this|that|these|it)\b(?: \S+)* (?P<be>is|are) (?:\w+ly |often |also )?called "
            r"(?P<named>(?:(?:the|an?) )?[^,;:.()?!]{3,40})[.!]?$"
        ),
        "What {be} {named}?",
    ),
    (re.compile(rf"(?P<named>{CODE}) ?[-\u2013:] [A-Z][a-z]+s \S+ .+"), "What does {named} do?"),
    (
        re.compile(rf"{NAMED} (?:can|should|must) be (?P<done>\w+(?:ed|t|en|n|de|ne)) (?:by|with|using|through|via) \w.+"),
        "How can {named} be {done}?",
    ),
    (re.compile(rf"{NAMED} (?P<be>is|are) (?:\w+ly |often )?used (?:to|for|as) .+"), "What {be} {named} used for?"),
    (
        re.compile(rf"{NAMED} (?P<be>is|are) (?P<so>(?!(?:to|not|a|an|the|that|what)\b)[^,;:()]+?),? because (?!of ).+"),
        "Why {be} {named} {so}?",
    ),
)
"""Sentences that tell of a thing that they name."""
ADVICE = (
    r"you|we|one|let|please|use|using|consider|check|do|don|make|pick|try|start|keep"
    r"|it(?: is|'s) (?:a good|adv\w+|best|convenient|helpful|important|often|useful)"
)
"""How the rest of a sentence begins that tells what to do and not what happens."""
DONE = {(f"{verb}d" if verb.endswith("e") else f"{verb}ed"): verb for verb in VERBS}
"""What was done, as it is told, and what is done, as it is asked for: "If you declared a model, …"."""
EVENT = _pattern(rf"{OPENING}(?P<when>when|if) (?P<event>[^,;:()?!]+), (?:then )?(?!(?:{ADVICE})\b)(?P<answer>.+)")
LOOSE = _pattern(
    r"\b(?:already|also|check|example|go|imagine|know|learn|like|look|need|prefer|read|remember|see|still|there|think|want"
    r"|you (?:are|aren|come|had|have|were)|you['\u2019]re)\b|^(?:not )?\w+(?:ing|ed)\b"
)
"""An event with one of these words is the reader's, not the subject's."""
SAYS = re.compile(rf"(?:The )?(?P<named>{CODE}) (?:also |always |only |\w+ly )?(?P<says>{'|'.join(SAID)}) (?P<answer>.+)")
HALF = _pattern(
    r"\b(?:read|learn) (?:\w+ )?(?:more|about)\b|\b(?:that|which|because|when|if|while|as)\b|^use .* to\b"
    r"|\b(?:you|we) (?:can|could|may|need|should|will)\b"
)
"""A goal with one of these words is cut off in the middle, or is to read on."""


def asked_by_sentence(sentence: str, names: Collection[str]) -> str | None:
    """What a reader would ask to be told this sentence; None where it does not answer by itself. `names` are words that
    keep their capitals."""
    said = " ".join(sentence.split())
    if said.endswith((":", "?")) or len(said) > LONGEST:
        return None
    for pattern, form in REACHED:
        if match := pattern.match(said):
            goal = _goal(match["goal"], match["answer"], 1 if form.startswith("What") else LEAST_ANSWER)
            return form.format(goal) if goal else None
    for pattern, form in TOLD:
        if match := pattern.match(said):
            named = _named(match["named"], names)
            question = form.format(**{**match.groupdict(), "named": named})
            return question if named and not _points(question) and len(question.split()) <= MOST_WORDS else None
    if match := EVENT.match(said):
        event = "" if LOOSE.search(match["event"]) else _goal(match["event"], match["answer"], LEAST_ANSWER)
        mine = re.sub(r"^I (\w+)", lambda told: f"I {DONE.get(told[1], told[1])}", event)
        return f"What happens {match['when'].lower()} {mine}?" if len(event.split()) >= LEAST_EVENT else None
    match = SAYS.match(said)
    several = match and len(match["answer"].split()) >= LEAST_ANSWER
    return f"What does {match['named']} {SAID[match['says']]}?" if match and several else None


def _goal(goal: str, answer: str, least: int) -> str:
    """The goal as a reader has it, where the rest of the sentence tells how it is reached."""
    words = goal.strip(" .").split()
    whole = FEWEST_WORDS <= len(words) <= MOST_WORDS and len(answer.split()) >= least and not HALF.search(goal)
    return " ".join(MINE.get(word.lower(), word) for word in words) if whole and not _points(goal) else ""


def _named(words: str, names: Collection[str]) -> str:
    """The thing as it is named within a question; empty where it cannot be asked about by itself."""
    first, *rest = words.split()
    article = first.lower() if first.lower() in ("a", "an", "the") else ""
    bare = rest if article else [first, *rest]
    if not 1 <= len(bare) <= MOST_NAMED or _points(words) or {bare[0].lower(), bare[-1].lower()} & GENERAL:
        return ""
    if bare[0].lower().endswith(("ly", "ing")) or UNNAMED & {part.lower() for part in bare}:
        return ""
    if article:
        return f"{article} {' '.join(bare)}"
    kept = first in names or first[1:] != first[1:].lower()
    return words if kept else words[0].lower() + words[1:]


def _points(text: str) -> bool:
    return bool(POINTING & {word.strip(".,`'\"").lower() for word in text.split()})
