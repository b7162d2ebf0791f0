"""Words that may replace each other in a sentence that says the same, and words that reverse it. English only.

Both lists have everyday words. Names, numbers and technical terms are in neither: they must match exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from bythebook.index.lexical import words

SAME = (
    "produce generate create make build construct form|get obtain receive gain fetch|show display present reveal"
    "|use employ utilize rely|begin start launch|end finish stop complete|talk communicate speak"
    "|submit hand send pass deliver transmit|reach attain achieve|remain stay keep hold maintain retain"
    "|further additional another extra more|below under beneath|above over|back support|become be turn|come get"
    "|need require demand|have contain include hold comprise|consist contain comprise|let allow enable permit"
    "|help aid assist|big large huge great|small little tiny|fast quick rapid|hard difficult complex complicated"
    "|easy simple|choose pick select|find discover locate detect|look see view|say tell state"
    "|give provide supply offer yield|put place insert|set assign define|change alter modify|fix repair solve|try attempt"
    "|want wish|mean signify denote|call name term|work function operate|run execute|also too likewise|only just merely"
    "|usually typically normally generally commonly often|maybe perhaps possibly|about around approximately roughly"
    "|several various many multiple|separate distinct different|whole entire complete full"
    "|main primary chief principal major|important essential crucial key vital|kind type sort"
    "|part piece portion component|way manner method approach|step stage phase|result outcome effect|reason cause"
    "|goal aim purpose|task job work|problem issue trouble difficulty|example instance case|person people human user"
    "|pupil student|teacher instructor|picture image photo|error mistake|speed velocity rate|size dimension"
    "|amount quantity number|level degree|area region zone|near close|similar alike|same identical equal|new fresh recent"
    "|old previous former earlier|next following subsequent|last final|first initial|enough sufficient"
    "|very extremely highly|clear plain|correct right proper accurate|wrong incorrect|increase raise grow rise"
    "|decrease reduce lower shrink|improve enhance|combine join merge unite|divide split separate|add append"
    "|remove delete drop discard|store save|load read|write record|send emit|receive accept|wait pause|move shift travel"
    "|turn rotate|touch contact|describe explain|suggest recommend advise|consider regard treat|know understand"
    "|learn study|teach train|test check verify|measure gauge|compute calculate|depend rely|happen occur arise"
    "|appear emerge show|return give|follow obey|lead guide|cover handle|avoid prevent|protect guard secure|break damage"
    "|connect link attach|match fit suit|compatible work|exist be|behind of|develop build"
)
CONTRARY = (
    "increase decrease|more less|more fewer|higher lower|high low|above below|before after|always never|first last"
    "|left right|faster slower|fast slow|larger smaller|large small|maximum minimum|max min|most least|true false"
    "|open close|start stop|input output|inside outside|positive negative|enable disable|strong weak|strongest weakest"
    "|longer shorter|long short|early late|earlier later|safe dangerous|cheap expensive|heavier lighter|wide narrow"
    "|gain lose|accept reject|front rear|upper lower|push pull|add remove|allow forbid|internal external"
    "|absolute relative|static dynamic|hot cold|up down|publisher subscriber|server client|sender receiver|parent child"
    "|easy hard|easier harder|better worse|best worst|public private|accept decline|synchronous asynchronous"
    "|supervised unsupervised|sparse dense|shallow deep|horizontal vertical|encrypted plain|mandatory optional"
    "|required optional|local global|temporary permanent|slightly much|slightly greatly|slightly considerably"
)
NEARBY = (
    "same different|share different|share separate|include exclude|single multiple|begin end|keep lose|keep remove"
    "|rise fall|increase reduce|raise reduce|innermost outermost|manual automatic|simple complex|similar different"
    "|visible hidden|top bottom|success failure|often rarely|some all|every some|before afterwards|with without"
    "|accept refuse|decline accept|also only"
)
"""Pairs that count against a sentence only where the book says the other word of the same thing."""
MISREAD = re.compile(
    r"\b(?:position\w*|options?|multipl(?:y|ie[ds]|ying|ications?)|relat(?:ed|es?|ing|ion|ions|ional|ionships?)|considerations?"
    r"|publications?|negations?|vertices|successive\w*|weakness\w*|synchroni[sz]\w+|locali[sz]\w+|locales?|highly|mostly|largely"
    r"|hardly|closely|shortly|lasting|rights|open[ -]source|close to|hard[ -](?:cod|drive|dis[ck]|link)\w*|(?:first|last) names?"
    r"|at (?:first|last|least|most|all)|last time|(?:as|so|no|any) long(?:er)?(?: as)?|in short|short for"
    r"|right (?:after|before|now|away)"
    r"|up to|(?:set|look|back|end|pick|clean|sign)(?:s|ed|ting|ing)? up|left (?:out|over|unchanged)"
    r"|(?:above|after) all|all the same|all right)\b",
    re.IGNORECASE,
)
"""Words that share their stem with one of a pair, and phrases in which one of a pair means something else: options are not
optional, and the last time is not the contrary of the first."""
VARIANTS = (("is", "iz"), ("is", ""), ("alis", ""), ("ll", "l"), ("enc", "ens"), ("ys", "yz"), ("tr", "ter"))
"""Ends of British stems, and of American ones: "normalise" has the stem "normalis", "normalize" has "normal"."""


@lru_cache(maxsize=8192)
def spellings(stem: str) -> frozenset[str]:
    """A stem as it is spelled in Britain and in America."""
    found = {stem, re.sub(r"(?<=\w\w\w)our(?=s|ing|ed|able|\Z)", "or", stem)} if len(stem) > 5 else {stem}
    for one, other in (*VARIANTS, *(pair[::-1] for pair in VARIANTS)):
        if len(stem) > len(one) + 2 and stem.endswith(one):
            found.add(stem.removesuffix(one) + other)
    return frozenset(found)


@lru_cache(maxsize=8192)
def synonyms(stem: str) -> frozenset[str]:
    """The stems that may replace a stem, including itself."""
    return _groups().get(stem, frozenset()) | spellings(stem)


def alike(one: str, other: str) -> bool:
    """Whether two stems may replace each other."""
    return other in synonyms(one)


def contraries(stem: str, *, nearby: bool = False) -> frozenset[str]:
    """The stems that mean the contrary of a stem."""
    return _contraries(nearby).get(stem, frozenset())


def misread(texts: Sequence[str]) -> frozenset[str]:
    """The stems that stand in the texts only in words and phrases of `MISREAD`."""
    told = [(text, MISREAD.sub(" ; ", text)) for text in texts]
    if all(text == left for text, left in told):
        return frozenset()
    every, rest = (frozenset(stem for text in some for _, _, stem in words(text, "en")) for some in zip(*told, strict=True))
    return every - rest


@cache
def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for group in SAME.split("|"):
        stems = {_stem(word) for word in group.split()}
        for stem in stems:
            groups.setdefault(stem, set()).update(stems)
    return {stem: frozenset(stems) for stem, stems in groups.items()}


@cache
def _contraries(nearby: bool) -> dict[str, frozenset[str]]:
    pairs: dict[str, set[str]] = {}
    for pair in (f"{CONTRARY}|{NEARBY}" if nearby else CONTRARY).split("|"):
        one, other = (_stem(word) for word in pair.split())
        pairs.setdefault(one, set()).add(other)
        pairs.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in pairs.items()}


def _stem(word: str) -> str:
    found = words(word, "en")
    return found[0][2] if found else word
