"""Rewrites follow-ups as standalone questions: a question that refers to the thread is completed with what it refers to.

Works offline, by rules, for English; in other languages it does only what needs no grammar. A standalone question is returned
unchanged. `rewrite` does the same with a model, and falls back on this."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from bythebook.drafting.draft import Exchange
from bythebook.followups.enumerations import with_item
from bythebook.followups.patterns import CHOICE, OF_WHAT, OPENING, PERSON, POSSESSIVE, leans, open_pronoun
from bythebook.followups.topics import Phrase, stems, topics
from bythebook.index.lexical import words

LONGEST = 300
REMEMBERED = 20
"""How many exchanges are read."""
CONTEXT = 3
"""Phrases of the thread that are added where nothing in the question can be replaced by one."""

BESIDE = 1
"""The same where a pronoun gave way to the subject."""

LABELS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
SOURCE = re.compile(
    r"(?:\b(?:the|your)\s+)?(?:\b(?P<ordinal>first|second|third|fourth|fifth)\s+(?:source|reference|citation)\b"
    r"|\b(?:source|reference|citation)\s+(?:number\s+|no\.?\s*)?\[?(?P<number>\d{1,2})\b\]?|(?<![\w\])])\[(?P<label>\d{1,2})\])",
    re.IGNORECASE,
)
MANY = frozenset({"they", "them", "their", "theirs", "these", "those"})
WANTS_MORE = re.compile(r"\b(?:more|details?|else)$", re.IGNORECASE)
WANTS_OF = re.compile(rf"\b(?:the|an?|any|some|main)\s+{OF_WHAT}$", re.IGNORECASE)


def standalone(question: str, history: Sequence[Exchange], language: str) -> str:
    """The question as it can be searched for without the thread, at most 300 characters where it was changed."""
    asked = " ".join(question.split())
    if not history or not asked:
        return question
    if is_english(language):
        made = _in_thread(asked, _resolved(history))
    else:
        made = _with_sources(asked, history)
        if made == asked and len(words(asked, language)) <= 1:
            made = f"{history[-1].question} {asked}"
    return question if made == asked or len(made) > LONGEST else made[0].upper() + made[1:]


def may_lean(question: str, history: Sequence[Exchange], language: str) -> bool:
    """Whether a question cannot be understood without the thread, as far as rules can tell: of a language they do not know,
    every question after the first may be one."""
    asked = " ".join(question.split())
    if not history or not asked:
        return False
    return not is_english(language) or leans(asked) or bool(SOURCE.search(asked))


def is_english(language: str) -> bool:
    return language.strip().casefold()[:2] == "en"


def _resolved(history: Sequence[Exchange]) -> list[Exchange]:
    """The thread with each question made standalone by those before it, so that the subject is carried on."""
    done: list[Exchange] = []
    for exchange in history[-REMEMBERED:]:
        done.append(replace(exchange, question=_in_thread(" ".join(exchange.question.split()), done)))
    return done


def _in_thread(asked: str, history: Sequence[Exchange]) -> str:
    """References to sources are labels while pronouns are looked at: a section's name may hold pronouns of its own."""
    if not history:
        return asked
    labelled = SOURCE.sub(lambda match: f"[{_label(match)}]", asked)
    named = _with_sources(_leaning(labelled, history), history)
    return asked if named == labelled or len(named) > LONGEST else named


def _with_sources(asked: str, history: Sequence[Exchange]) -> str:
    """Whether written "the second source", "source 2" or [2]: these are the sections that the last answer cited."""
    sources = next((exchange.sources for exchange in reversed(history) if exchange.sources), ())

    def section(match: re.Match[str]) -> str:
        label = _label(match)
        return f'"{sources[label - 1]}"' if sources and label <= len(sources) and label else match.group()

    return SOURCE.sub(section, asked)


def _label(match: re.Match[str]) -> int:
    ordinal = match["ordinal"]
    return LABELS[ordinal.casefold()] if ordinal else int(match["number"] or match["label"])


def _leaning(asked: str, history: Sequence[Exchange]) -> str:
    body = OPENING.sub("", asked)
    if history[-1].refused and WANTS_MORE.search(_parted(body)[0]) and not stems(body):
        return history[-1].question  # of what the book does not have there is no more: the same is asked again
    chosen = with_item(body, history[-1].answer)
    about = topics(history, asked) if chosen != body or leans(asked) else []
    if chosen != body:
        return _bracketed(chosen, [phrase for phrase in about if phrase.asked][:CONTEXT])
    if not about:
        return asked
    pronoun = open_pronoun(body)
    if pronoun is None:
        return _with_context(body, about[:CONTEXT])
    subject = _subject(pronoun.group(), about)
    rest = [phrase for phrase in about if phrase is not subject and phrase.asked][: CONTEXT if CHOICE.search(body) else BESIDE]
    if not _agree(pronoun.group(), subject):
        return _bracketed(body, [subject, *rest])
    named = subject.named + ("'s" if POSSESSIVE.match(body, pronoun.start()) else "")
    return _bracketed(body[: pronoun.start()] + named + body[pronoun.end() :], rest)


def _subject(pronoun: str, about: Sequence[Phrase]) -> Phrase:
    if PERSON.fullmatch(pronoun):
        return next((phrase for phrase in about if phrase.proper), about[0])
    return about[0]


def _agree(pronoun: str, subject: Phrase) -> bool:
    """Whether the sentence stays English with the subject in the pronoun's place. Names are let through: bands are "they"."""
    plural = subject.text.endswith("s") and not subject.text.endswith(("ss", "us", "is"))
    return subject.proper or plural == (pronoun.casefold() in MANY)


def _with_context(body: str, context: Sequence[Phrase]) -> str:
    if stems(body):
        context = [phrase for phrase in context if phrase.asked] or context[:1]
    words_only, end = _parted(body)
    joint = "about" if WANTS_MORE.search(words_only) else "of" if WANTS_OF.search(words_only) else ""
    if joint:
        return _bracketed(f"{words_only} {joint} {context[0].named}{end}", context[1:])
    return _bracketed(body, context)


def _bracketed(made: str, context: Sequence[Phrase]) -> str:
    body, end = _parted(made)
    names = f" ({', '.join(phrase.text for phrase in context)})" if context else ""
    return f"{body}{names}{end}"


def _parted(made: str) -> tuple[str, str]:
    body = made.rstrip(" ?.!")
    return body, made[len(body) :].strip()
