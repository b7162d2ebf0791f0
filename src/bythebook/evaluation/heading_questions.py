"""Questions that a heading promises an answer to, in a reader's words: "Changing the default" gives "How do I change the
default?". English only, as all drafts are."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

FEWEST_WORDS, MOST_WORDS, MOST_NAMED = 2, 9, 6
VERBS = frozenset({
    "access", "add", "adjust", "allow", "annotate", "apply", "assemble", "assign", "attach", "authenticate", "authorize",
    "avoid", "build", "calculate", "calibrate", "call", "change", "choose", "clean", "clone", "combine", "compare", "compile",
    "compute", "configure", "connect", "control", "convert", "copy", "create", "customize", "debug", "declare", "define",
    "delete", "deploy", "describe", "detect", "develop", "disable", "display", "document", "download", "edit", "embed",
    "enable", "encrypt", "enforce", "estimate", "evaluate", "execute", "export", "expose", "extend", "extract", "filter",
    "find", "fix", "forbid", "format", "generate", "handle", "hide", "identify", "ignore", "implement", "import", "include",
    "inject", "inspect", "install", "integrate", "join", "launch", "limit", "list", "load", "log", "make", "manage", "measure",
    "merge", "migrate", "minimize", "mock", "modify", "monitor", "mount", "move", "omit", "open", "optimize", "override",
    "package", "parse", "pass", "perform", "pin", "plan", "plot", "prepare", "prevent", "print", "protect", "publish", "raise",
    "read", "receive", "reduce", "register", "reject", "reload", "remove", "rename", "render", "replace", "report", "reproduce",
    "reset", "resolve", "restart", "restrict", "return", "reuse", "review", "rotate", "run", "save", "schedule", "secure",
    "select", "send", "serve", "set", "share", "sign", "simulate", "specify", "split", "start", "stop", "store", "stream",
    "submit", "subscribe", "test", "track", "train", "transform", "tune", "update", "upgrade", "upload", "use", "validate",
    "verify", "view", "visualise", "visualize", "wrap", "write",
})  # fmt: skip
"""What a reader may want to do. A heading that begins with one of them is an instruction."""
NOUNS_TOO = frozenset({
    "access", "call", "change", "control", "copy", "display", "document", "download", "export", "filter", "fix",
    "launch", "limit", "list", "load", "log", "mount", "move", "open", "package", "parse", "pass", "pin", "plan", "plot", "print",
    "raise", "register", "report", "reset", "return", "review", "rotate", "run", "schedule", "secure", "select", "share", "sign",
    "split", "start", "stop", "store", "stream", "test", "track", "transform", "upload", "upgrade", "view",
})  # fmt: skip
"""Verbs that are nouns or adjectives as well: "Package list", "Open access", "Return mode"."""
NAMED_THINGS = frozenset({"build tools", "set types", "test cases", "test results", "use cases"})
"""Headings that read like an instruction and name a thing."""
DETERMINERS = frozenset({
    "a", "additional", "all", "an", "any", "custom", "data", "each", "extra", "from", "in", "into", "more", "multiple", "new",
    "off", "on", "only", "out", "several", "the", "to", "two", "up", "with", "without", "your",
})  # fmt: skip
"""After one of these words, the word before was a verb."""
PREPOSITIONS = frozenset({
    "as", "at", "between", "by", "for", "from", "in", "into", "of", "on", "to", "using", "with", "within", "without",
})  # fmt: skip
DOUBLED = {"log": "logging", "pin": "pinning", "plan": "planning", "plot": "plotting", "reset": "resetting", "run": "running",
           "set": "setting", "split": "splitting", "stop": "stopping", "submit": "submitting"}  # fmt: skip
"""Verbs that double their last letter."""
NUMBER = re.compile(r"^(?:(?:step|part|rule)\s+)?#?\d+(?:\.\d+)*[a-z]?\s*[.):\u2013-]*\s+", re.IGNORECASE)
ASKS = re.compile(
    r"(?:(?:what|who|where|when|why|which) (?:is|are|was|were|does|do|did|can|should)|how (?:does|do|can|should|is|are))\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z][\w'-]*")
PLURAL = re.compile(r"(?:[^aisu]|ie|[aeu]e)s$")
PARTICIPLES = frozenset({"containing", "having", "including", "inside"})
JOINING = frozenset({"and", "i", "not", "or", "vs", "versus", "we", "you"})
NAMES_NOTHING = frozenset({
    "about", "advanced", "available", "basic", "basics", "bonus", "brief", "check", "common", "details", "example",
    "examples", "exercises", "features", "first", "further", "good", "info", "last", "least", "less", "look", "many",
    "matters", "most", "notes", "optional", "pros", "quick", "recipes", "references", "related", "required", "results",
    "second", "see", "separating", "simple", "some", "steps", "technical", "third", "tips", "try", "useful", "works",
})  # fmt: skip
"""Words of headings that order a text, and name nothing in it."""
SAYS_NOTHING = frozenset({
    "above", "again", "another", "anything", "below", "everything", "following", "it", "next", "other", "others", "previous",
    "same", "something", "that", "them", "these", "this", "those",
})  # fmt: skip
"""A heading with one of these words needs what stands around it."""


def asked_by_heading(heading: str, names: Collection[str]) -> str | None:
    """What a reader would ask to be led to this heading; None where the heading alone does not say it. `names` are words that
    keep their capitals."""
    title = NUMBER.sub("", heading).rstrip(" .!:")
    words = title.rstrip("?").split()
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS or ":" in title or SAYS_NOTHING & {word.lower() for word in words}:
        return None
    first, rest = words[0].lower(), " ".join(_plain(word, names) for word in words[1:])
    if f"{first} {words[1].lower()}" in NAMED_THINGS:
        return None
    if title.endswith("?") or ASKS.match(title):
        return f"{words[0].capitalize()} {rest}?" if ASKS.match(title) and len(words) > FEWEST_WORDS else None
    if first == "how" and words[1].lower() == "to":
        return f"How do I {rest.removeprefix('to ')}?" if len(words) > FEWEST_WORDS + 1 and WORD.match(words[2]) else None
    verb = first if first in VERBS else GERUNDS.get(first)
    return f"How do I {verb} {rest}?" if verb and _is_done(first, [word.lower() for word in words[1:]]) else None


def asked_of_subject(heading: str, names: Collection[str]) -> str | None:
    """What a reader would ask of the things that this heading names: "Timing Attacks" gives "What are timing attacks?". None
    where it names none, or says what is done with them. Fewer of these questions find their answer than of the others."""
    words = NUMBER.sub("", heading).rstrip(" .!:").split()
    small = [word.lower() for word in words]
    if not FEWEST_WORDS <= len(words) <= MOST_NAMED or not all(WORD.fullmatch(word) for word in words):
        return None
    if {*small} & (SAYS_NOTHING | JOINING) or small[0] in NAMES_NOTHING or small[0] in DETERMINERS | PREPOSITIONS:
        return None
    if small[0] in VERBS or small[0] in GERUNDS or ASKS.match(heading) or small[0] == "how":
        return None
    thing = next((at for at, word in enumerate(small) if word in PREPOSITIONS | PARTICIPLES), len(small))
    if {*small[:thing]} & DETERMINERS or small[thing - 1] in NAMES_NOTHING or not PLURAL.search(words[thing - 1]):
        return None
    named = " ".join(_plain(word, names) for word in words)
    if thing < len(words) and small[thing] != "of":
        return f"How do {named} work?"
    return f"What are {named}?" if thing == len(words) else f"What are the {named}?"


def _is_done(first: str, rest: Sequence[str]) -> bool:
    """Whether something is done to what follows, as far as that can be told without reading on."""
    if not WORD.match(rest[0]) or rest[0] in ("and", "or"):
        return False
    if first in GERUNDS:  # "Handling errors", but not "Logging cheat sheet"
        thing = next((at for at, word in enumerate(rest) if word in PREPOSITIONS), len(rest))
        several = thing > 0 and rest[thing - 1].endswith("s") and not rest[thing - 1].endswith("ss")
        return rest[0] in DETERMINERS or several
    return first not in NOUNS_TOO or rest[0] in DETERMINERS


def _plain(word: str, names: Collection[str]) -> str:
    """The word as a reader says it within a sentence. Headings capitalise words that are no names."""
    if said := {"you": "I", "your": "my", "yourself": "myself"}.get(word.lower()):
        return said
    capitalised = word == "A" or (word[:1].isupper() and word[1:].islower())
    return word.lower() if capitalised and word.strip(",") not in names else word


def _gerund(verb: str) -> str:
    if verb in DOUBLED:
        return DOUBLED[verb]
    silent = verb.endswith("e") and not verb.endswith("ee")
    return f"{verb[:-1]}ing" if silent else f"{verb}ing"


GERUNDS = {_gerund(verb): verb for verb in VERBS}
"""A heading that names the doing: "Changing the default"."""
