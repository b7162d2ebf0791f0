"""What a thread is about: the phrases of its questions and answers, the likeliest first. English; knows no grammar beyond
lists of small words, so a phrase is a run of words that are none of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bythebook.drafting.draft import Exchange
from bythebook.index.lexical import STOP_WORDS, words

LANGUAGE = "en"
TOKEN = re.compile(r"--?[A-Za-z][\w-]*+(?!['’]\w)|</?\w+/?>|`[^`\n]+`|\w+(?:[-'’./:_]\w+)*(?:\+\+|#)?|[^\w\s]")
DETERMINERS = frozenset({"a", "an", "the", "my", "your", "our", "this", "that", "these", "those", "each", "every", "its"})
# Verbs and adverbs that carry no subject of their own, and nouns that only ask for something about one.
LIGHT = frozenset({
    "able", "about", "above", "across", "act", "actually", "add", "after", "again", "against", "all", "allow",
    "allowed", "almost", "along", "already", "also", "although", "always", "among", "another", "anyone", "anything",
    "anywhere", "apart", "apply", "aren't", "around", "aside", "ask", "asked", "at", "away", "back", "bad", "because",
    "become", "before", "begin", "besides", "best", "better", "between", "big", "both", "bring", "by", "call",
    "called", "can't", "cause", "change", "choose", "clarify", "come", "compare", "continue", "could", "couldn't",
    "define", "describe", "detail", "details", "did", "didn't", "differ", "difference", "different", "does",
    "doesn't", "don't", "done", "down", "during", "each", "easy", "either", "elaborate", "else", "end", "enough",
    "even", "ever", "every", "everything", "exactly", "example", "examples", "explain", "far", "fast", "few", "find",
    "first", "follow", "found", "further", "gave", "get", "give", "given", "go", "goes", "good", "got", "great",
    "had", "happen", "happened", "happening", "happens", "has", "have", "help", "here", "hold", "however",
    "important", "instead", "interesting", "isn't", "it's", "just", "keep", "kind", "kinds", "knew", "know", "known",
    "last", "later", "latter", "least", "leave", "less", "let", "let's", "like", "list", "little", "long", "look",
    "lot", "made", "mainly", "make", "makes", "making", "many", "may", "me", "mean", "means", "meant", "might",
    "more", "most", "much", "must", "name", "named", "near", "need", "needed", "needs", "never", "new", "next", "no",
    "not", "nothing", "now", "off", "often", "ok", "once", "one", "ones", "only", "other", "others", "otherwise",
    "out", "over", "part", "per", "perhaps", "please", "possible", "probably", "put", "quite", "rather", "read",
    "really", "reason", "same", "saw", "say", "says", "second", "see", "seem", "several", "short", "should",
    "shouldn't", "show", "simple", "simpler", "simply", "since", "single", "so", "something", "sometimes", "soon",
    "sort", "sorts", "started", "still", "stop", "take", "taken", "takes", "tell", "than", "that's", "thing",
    "things", "think", "third", "though", "through", "time", "times", "together", "told", "took", "toward", "true",
    "try", "turn", "two", "type", "types", "under", "understand", "until", "up", "upon", "use", "used", "useful",
    "uses", "using", "usually", "very", "via", "want", "wanted", "wasn't", "way", "ways", "well", "went", "what's",
    "whether", "who's", "within", "without", "won't", "wonder", "work", "worked", "works", "worse", "worst",
    "wouldn't", "write", "yes", "yet",
})  # fmt: skip
NAMED_ALONE = re.compile(r"^what(?:['\u2019]s| is| does)\s+an?\s+([\w-]+)(?:\s+mean)?\s*[?.!]*$", re.IGNORECASE)
"""In "What is a list?" the subject is a list, though "list" carries none elsewhere."""
JOINING = frozenset({"of"})
ADDRESSED = frozenset({"i", "we", "you"})
INVERTING = frozenset({"do", "does", "did", "can", "could", "will", "would", "should", "may", "might", "must"})
# What a phrase weighs: in a question 1, in an answer less, and less again with every exchange since. The rest are factors.
ANSWER_WEIGHT, SHORT_ANSWER_WEIGHT, FADING = 0.35, 0.8, 0.6
FIRST, NAME, LONG = 1.7, 1.2, 1.1
LONGEST_PHRASE = 6
SHORT_ANSWER = 7
ANSWER_CHARACTERS = 600
"""How much of an answer is read: its subject comes early."""
ANSWERS_READ = 3
"""How many exchanges have their answers read. If the subject of an older answer mattered, a later question names it."""
CACHED = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A run of words that may be the subject. `text` is as it was written; `definite`: an article stood before it, so that it
    reads well only with one."""

    text: str
    definite: bool
    stems: frozenset[str]
    asked: bool = True
    """Whether it is part of a question, or the whole of a short answer to one."""

    @property
    def named(self) -> str:
        return f"the {self.text}" if self.definite else self.text

    @property
    def proper(self) -> bool:
        """Whether it is a name rather than words of the language."""
        return all(word[:1].isupper() for word in self.text.split() if word not in JOINING)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    text: str
    stems: frozenset[str]
    weight: float
    asked: bool


@lru_cache(maxsize=CACHED)
def stems(text: str, language: str = LANGUAGE) -> frozenset[str]:
    """The stems of content words. Small words never count, not even where there is nothing else."""
    return frozenset(stem for start, end, stem in words(text, language) if not small(text[start:end]))


def small(word: str) -> bool:
    folded = word.casefold().replace("’", "'")
    return folded in STOP_WORDS or folded in LIGHT


@lru_cache(maxsize=CACHED)
def phrases(text: str) -> tuple[Phrase, ...]:
    """Returns every phrase once, in the order of the text."""
    found: dict[frozenset[str], Phrase] = {}
    for definite, run in _runs([match.group() for match in TOKEN.finditer(text)]):
        written = " ".join(run[-LONGEST_PHRASE:])
        phrase = Phrase(text=written, definite=definite, stems=stems(written))
        if any(not stem[0].isdigit() for stem in phrase.stems):
            found.setdefault(phrase.stems, phrase)
    if not found and (alone := NAMED_ALONE.match(text)):
        known = frozenset(stem for _, _, stem in words(alone[1], LANGUAGE))
        found[known] = Phrase(text=alone[1], definite=False, stems=known)
    return tuple(found.values())


def topics(history: Sequence[Exchange], known: str) -> list[Phrase]:
    """The phrases of a thread that `known` does not contain, the likeliest subject first: recent before old, questions before
    answers, and what both mention before what only one does."""
    told = list(_told(history))
    weights: Counter[str] = Counter()
    for said in told:
        for stem in said.stems:
            weights[stem] += said.weight  # type: ignore[assignment]
    seen = stems(known)
    ranked: dict[frozenset[str], tuple[float, Phrase]] = {}
    for turn, said in enumerate(told):
        for number, phrase in enumerate(phrases(said.text)):
            if not phrase.stems <= seen and phrase.stems not in ranked:
                score = sum(weights[stem] for stem in phrase.stems) / len(phrase.stems) * _factor(phrase, turn == number == 0)
                ranked[phrase.stems] = (score, phrase if said.asked else replace(phrase, asked=False))
    return _apart([phrase for _, phrase in sorted(ranked.values(), key=lambda pair: -pair[0])])


def _factor(phrase: Phrase, first: bool) -> float:
    """`first` is the first phrase of the last question."""
    return (FIRST if first else 1.0) * (NAME if phrase.proper else 1.0) * (LONG if len(phrase.stems) > 1 else 1.0)


def _apart(ordered: Iterable[Phrase]) -> list[Phrase]:
    """Leaves out phrases that say nothing beyond better ones."""
    kept: list[Phrase] = []
    said: set[str] = set()
    for phrase in ordered:
        if any(not stem[0].isdigit() for stem in phrase.stems - said):
            kept.append(phrase)
            said |= phrase.stems
    return kept


def _told(history: Sequence[Exchange]) -> Iterator[_Said]:
    """The latest exchange first, its question before its answer. The words of a refusal are left out."""
    fading = 1.0
    for age, exchange in enumerate(reversed(history)):
        answer = exchange.answer[:ANSWER_CHARACTERS] if age < ANSWERS_READ and not exchange.refused else ""
        short = len(answer.split()) <= SHORT_ANSWER
        about = frozenset().union(stems(exchange.question), *(one.stems for one in phrases(exchange.question)))
        yield _Said(text=exchange.question, stems=about, weight=fading, asked=True)
        weight = fading * (SHORT_ANSWER_WEIGHT if short else ANSWER_WEIGHT)
        yield _Said(text=answer, stems=stems(answer), weight=weight, asked=short)
        fading *= FADING


def _runs(tokens: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Runs of words between small ones, and whether an article stood before. A possessive ends its run; what follows "I" or
    "you" is a verb; after "did" and its like, a name is the subject and what follows it is a verb."""
    run: list[str] = []
    definite = inverted = False
    before = ""
    for number, token in enumerate([*tokens, "."]):
        following = tokens[number + 1] if number + 1 < len(tokens) else "."
        ends = small(token) or not any(map(str.isalnum, token)) or before in ADDRESSED
        if run and token in JOINING and not small(following):
            run.append(token)
        elif ends or (inverted and run and run[-1][0].isupper() and token[0].islower()):
            if run:
                yield definite, run
            run, definite, inverted = [], token.casefold() in DETERMINERS, token.casefold() in INVERTING
        else:
            run.append(re.sub(r"['’]s$", "", token))
            if run[-1] != token:
                yield definite, run
                run, definite = [], False
        before = token.casefold()
