"""Rewrites follow-ups as standalone questions: a question that refers to the thread is completed with what it refers to.

Works offline, by rules, for English: whether a question refers to what was said before it, and by which words, is found by
pattern, without a tagger. Measured on follow-ups, and on questions that stand alone and must not be taken for one:
bench/followups.py. In other languages it does only what needs no grammar. A standalone question is returned unchanged.
`rewrite` does the same with a model, and falls back on this."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from bythebook.drafting.draft import Exchange
from bythebook.followups.enumerations import with_item
from bythebook.followups.topics import Phrase, phrases, stems, topics
from bythebook.index.lexical import words

OPENING = re.compile(r"^(?:(?:and|but|so|or|also|then|ok(?:ay)?)\b[\s,]*)+(?=[\w\[])", re.IGNORECASE)
LEANING_OPENING = re.compile(r"^(?:(?:ok(?:ay)?|so)\b[\s,]*)?(?:and|but|or|also|then|what about|how about)\b", re.IGNORECASE)
POLITE = (
    r"(?:ok(?:ay)?|thanks?(?:\s+you)?(?:\s+(?:so|very)\s+much|\s+a\s+lot)?|thx|cheers|great|nice|cool|perfect|good|got\s+it|i\s+see|hi|hello"
    r"|hey|(?:good\s*)?bye|good\s+(?:morning|day|evening|night))"
)
SMALL_TALK = re.compile(rf"^\W*{POLITE}(?:[\s,.!]+{POLITE})*\W*$", re.IGNORECASE)


BE = r"(?:is|are|was|were|be|been)"
AUXILIARY = rf"(?:{BE}|do|does|did|can|could|will|would|should|may|might|must|has|have|had)"
BEFORE = rf"(?:{AUXILIARY}|about|like|for|of|from|with|to|after|before|than|by|in|on|at|into|during|and|or|why|how|when|where)"
# "it" that stands for nothing: is it possible to, how long does it take to, what does it mean when, does it rain.
EXPLETIVE = re.compile(
    rf"\bit(?:\s+{BE})?\s+(?:\w+ly\s+|so\s+|not\s+|also\s+)?(?:possible|impossible|necessary|important|true|better|best|safe|good|bad"
    r"|enough|easy|easier|hard|harder|worth|allowed|fine|difficult|useful|wise|wrong|right|common"
    r"|mean|means|take|takes|took|matter|matters|help|make sense"
    r"|makes sense|called|cost|ok|okay)\b.*\b(?:to|that|when|if|whether|for|which|how)\b"
    r"|\bit\s+worth\s+\w+ing\b|\bit\s+(?:rain|snow|get dark|get cold)",
    re.IGNORECASE,
)
# "her" before a noun; before a preposition or a conjunction it is an object.
POSSESSIVE = re.compile(
    r"\b(?:its|their|his|theirs)\b|\bher\b(?=\s+(?!(?:about|after|and|as|at|back|because|before|but|by|during|for|from|if|in|into"
    r"|of|off|on|or|out|over|so|that|the|to|up|when|while|with)\b)[a-z])",
    re.IGNORECASE,
)
PERSON = re.compile(r"\b(?:he|she|him|his|her|hers)\b", re.IGNORECASE)
PEOPLE = frozenset({"he", "she", "him", "his", "her", "hers", "they", "them", "their"})
PERSONAL = re.compile(r"\b(?:it|they|them|he|she|him|her)\b", re.IGNORECASE)
POINTING = re.compile(
    rf"\b(?:this|that|these|those)(?=\s*(?:$|[?.,;!])|\s+(?:{AUXILIARY}|so|not|too|work|mean|happen"
    r"|different|better|worse|in|on|at|for|to|with|as|and|or|when|if|again|then|please)\b)"
    r"|(?:(?<=\bis )|(?<=\bwas )|(?<=n['’]t ))that(?=\s+(?:an?|the)\b)",
    re.IGNORECASE,
)
POINTED_NOUN = re.compile(
    r"\b(?:this|these|those)\s+(?!book\b|chapter\b|lesson\b|course\b|days\b)\w" + rf"|\b{BEFORE}\s+that\s+\w",
    re.IGNORECASE,
)
CHOICE = re.compile(
    r"\b(?:(?:the|which|this|that|another|other|first|second|third|fourth|fifth|last)(?:\s+(?!is\b|are\b|was\b|of\b)[\w-]+)?\s+ones?\b(?!\s+of)"
    r"|the\s+(?:former|latter|two|other|others|second|first)(?=\s*(?:$|[?.,]))"
    r"|the other\s+\w*[^\Ws]\b|both(?=\s*(?:$|[?.,]| of them))"
    r"|(?:the|that)\s+(?:\w+\s+)?(?:kind|type|sort|style)(?=\s*(?:$|[?.,]))|of the two\b)",
    re.IGNORECASE,
)
ELSE = re.compile(r"\b(?:else|any other|anything other|other than that)\b", re.IGNORECASE)
PLACE = re.compile(r"(?<!is )(?<!are )(?<!was )(?<!were )\bthere(?=\s*(?:$|[?.,]))", re.IGNORECASE)
# A noun that is always of something, with nothing after it that says of what.
OF_WHAT = (
    r"(?:advantage|disadvantage|downside|benefit|drawback|limit|limitation|alternative|purpose|reason|cause|consequence|effect"
    r"|result|example|exception|default|formula|equation|price|cost|catch|risk|danger|rule|step|requirement|definition|meaning"
    r"|syntax|order|rest|trade-?off|point)s?"
)
RELATIONAL = re.compile(
    rf"\b(?:the|any|some|an|a|main|other|typical|common|what|which)\s+(?:{OF_WHAT}|differences?)\s*(?:[?.!]|$|with\b|please\b)"
    r"|\bdifference\s+(?:to|from|with)\b|\bcompared?\s*\?*$",
    re.IGNORECASE,
)
OBJECTS = frozenset({"it", "them", "him", "her"})
# Only the subject and the verb of the clause stand before the pronoun: "How does the node find it?". A subject does not act on
# itself under a pronoun's name.
SUBJECT_ONLY = re.compile(
    r"^(?:(?:and|but|so|then)\s+)?(?:(?:(?:what|why|how|when|where|who|which)(?:\s+(?:often|long|fast|exactly|else))?|which\s+[\w-]+)\s+)?"
    r"(?:do|does|did|can|could|will|would|should|may|might|must)(?:n['\u2019]t)?\s+"
    r"(?:(?:i|we|you|one|they)|(?:(?:the|an?|my|your|our|each|every|another|this|that|two|most)\s+)?[\w-]+(?:\s+[\w-]+){0,2}?)\s+"
    r"(?:\w+ly\s+)?(?!(?:the|an?|of|in|on|for|and|or|to|where|when|what|how|why|whether|if|which|that|because|while|until|before|after)\b)\w+"
    r"(?:\s+(?:with|on|to|from|for|about|in|into|of|at|against|without|through))?\s*$",
    re.IGNORECASE,
)
COMPARED = re.compile(
    r"\b(?:differs?|different|compared|(?<=\w\s)compare|better|worse|faster|slower|similar|relate|related|instead|unlike)\s*(?:from|than|to|with|of)?\s*$",
    re.IGNORECASE,
)
SENTENCE_BEFORE = re.compile(r"[.!?:]\s")
CLAUSE = re.compile(r"[,;]|\b(?:and|or|but|when|if|because|while|so)\b", re.IGNORECASE)
REFERRING = re.compile(
    r"\b(?:it|its|that|this|these|those|they|them|their|both|then|there|ones?|such|same|else|others?|instead|again|either|neither)\b",
    re.IGNORECASE,
)
MARKER = re.compile(r"\[\d{1,3}\]")
WHO_DID = re.compile(rf"who\s+(?!{AUXILIARY}\b)\w+", re.IGNORECASE)

LONGEST = 300
OPENING_CHARACTERS = 200
"""How much of an answer is searched for with the follow-up to it."""
SHORT = 9
"""A question of at most this many words may refer to the one before it, if it has a word such as "it". A longer question says
itself what it is about."""
REMEMBERED = 20
"""How many exchanges are read."""
CONTEXT = 3
"""How many phrases of the thread are added to a question in which no word can be replaced by one."""

BESIDE = 1
"""How many are added to a question whose pronoun was replaced by the subject."""

LABELS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
SOURCE = re.compile(
    r"(?:\b(?:the|your)\s+)?(?:\b(?P<ordinal>first|second|third|fourth|fifth)\s+(?:source|reference|citation)\b"
    r"|\b(?:source|reference|citation)\s+(?:number\s+|no\.?\s*)?\[?(?P<number>\d{1,2})\b\]?|(?<![\w\])])\[(?P<label>\d{1,2})\])",
    re.IGNORECASE,
)
MANY = frozenset({"they", "them", "their", "theirs", "these", "those"})
WANTS_MORE = re.compile(r"\b(?:more|details?|else)$", re.IGNORECASE)
WANTS_OF = re.compile(rf"\b(?:the|an?|any|some|main)\s+{OF_WHAT}$", re.IGNORECASE)


def is_small_talk(text: str) -> bool:
    """Whether a reader only says hello or thanks: nothing in the book answers that."""
    return SMALL_TALK.match(text) is not None


def leans(asked: str) -> bool:
    """Whether a question cannot be understood without what was said before it. "Thanks" is not such a question."""
    if is_small_talk(asked):
        return False
    if LEANING_OPENING.match(asked) or not (phrases(asked) or stems(asked)) or open_pronoun(asked):
        return True
    patterns = (CHOICE, ELSE, RELATIONAL, POINTED_NOUN, PLACE)
    return any(not _settled(asked[: match.start()]) for pattern in patterns for match in pattern.finditer(asked))


def open_pronoun(asked: str) -> re.Match[str] | None:
    """The first pronoun with nothing before it in the question that it could stand for; later ones mean the same."""
    found = [match for pattern in (POSSESSIVE, PERSONAL, POINTING) for match in pattern.finditer(asked)]
    return min((match for match in found if _open(asked, match)), key=re.Match.start, default=None)


def _open(asked: str, match: re.Match[str]) -> bool:
    pronoun, before = match.group().casefold(), asked[: match.start()]
    if COMPARED.search(before):
        return True
    if pronoun == "it" and EXPLETIVE.match(asked, match.start()):
        return False
    possessive = POSSESSIVE.match(asked, match.start()) is not None
    if pronoun in OBJECTS and not possessive and SUBJECT_ONLY.match(before):
        return True
    named = any(phrase.proper for phrase in phrases(before))
    if pronoun in PEOPLE and WHO_DID.match(before):
        return False
    if PERSON.fullmatch(pronoun):
        return not named and len(stems(before)) < 3
    return not _settled(before) and not (named and possessive)


def _settled(before: str) -> bool:
    """Whether these words name something that a later word can refer back to."""
    content = [stem for stem in stems(before) if not stem.isdigit()]
    if len(content) >= 2 or (content and (SENTENCE_BEFORE.search(before) or CLAUSE.search(before))):
        return True
    return any(phrase.definite for phrase in phrases(before))


def standalone(question: str, history: Sequence[Exchange], language: str) -> str:
    """The question as it can be searched for without the thread; at most 300 characters where it was changed."""
    asked = " ".join(question.split())
    if not history or not asked:
        return question
    if is_english(language):
        made = _in_thread(asked, _resolved(tuple(history[-REMEMBERED:])))
    else:
        made = _with_sources(asked, history)
        if made == asked and len(words(asked, language)) <= 1:
            made = f"{history[-1].question} {asked}"
    return question if made == asked or len(made) > LONGEST else made[0].upper() + made[1:]


def may_lean(question: str, history: Sequence[Exchange], language: str) -> bool:
    """Whether a question may refer to the thread, as far as rules can tell: in a language that they do not know, every question
    after the first may."""
    asked = " ".join(question.split())
    if not history or not asked:
        return False
    return not is_english(language) or leans(asked) or bool(SOURCE.search(asked))


def said_before(question: str, history: Sequence[Exchange], language: str) -> str:
    """The standalone question before this one and the beginning of its answer, where this one may continue it; else nothing. What
    answers a follow-up is near what answered the question before it more often than rules can tell what it refers to."""
    asked = " ".join(question.split())
    if not history or not asked or not is_english(language) or is_small_talk(asked):
        return ""
    refers = len(asked.split()) <= SHORT and REFERRING.search(asked) is not None
    if not (refers or leans(asked)):
        return ""
    last = _resolved(tuple(history[-REMEMBERED:]))[-1]
    answer = "" if last.refused else " ".join(MARKER.sub(" ", last.answer).split())
    return f"{last.question} {answer[:OPENING_CHARACTERS]}".strip()


def is_english(language: str) -> bool:
    return language.strip().casefold()[:2] == "en"


@lru_cache(maxsize=8)  # a turn asks for it twice, and it takes 5 ms in a long thread
def _resolved(history: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
    """The thread with each question made standalone by those before it, so that its subject is carried on."""
    done: list[Exchange] = []
    for exchange in history:
        done.append(replace(exchange, question=_in_thread(" ".join(exchange.question.split()), done)))
    return tuple(done)


def _in_thread(asked: str, history: Sequence[Exchange]) -> str:
    """Replaces references. References to sources are labels while pronouns are examined: a section's name may hold pronouns of
    its own."""
    if not history:
        return asked
    labelled = SOURCE.sub(lambda match: f"[{_label(match)}]", asked)
    named = _with_sources(_leaning(labelled, history), history)
    return asked if named == labelled or len(named) > LONGEST else named


def _with_sources(asked: str, history: Sequence[Exchange]) -> str:
    """Replaces "the second source", "source 2" and [2] by the sections that the last answer cited."""
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
        return history[-1].question  # the book has no more of it: the same question is asked again
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
    """Whether the sentence stays English with the subject in the pronoun's place. Names are allowed: bands are "they"."""
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
