"""What the check does to a strong model's drafts: true sentences with their basis, and corrupted twins of them by kind. And to
the answers that readers of seven books wrote beside their questions, which are true by their writers' word.

No label was given by this program. They lie in ../shared and are read in place.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.material import SHARED
from bench.table import Table, verdict
from bench.unseen import BOOKS
from bench.workshop import Workshop
from bythebook.books.lesson import read_claim, read_lesson
from bythebook.books.model import Book, Chunk, Span, chunk_id, parent_id, sha256
from bythebook.drafting.draft import DraftSentence
from bythebook.grounding.checker import Checker
from bythebook.grounding.citations import Doubtful, Supported, Unsupported
from bythebook.grounding.judgement import Judgement, Opinion, assertions_of, settle
from bythebook.grounding.sentence_splitter import SentenceSplitter, kind_of
from bythebook.retrieval.evidence import Evidence

DRAFTS = SHARED / "drafts"
TRUE, WORDS = "true", "words"
ERRS, SEEDS = 0.05, 20
KINDS = ("number", "code", "negation", "name", "relation", "scope", "condition", "strength", "addition")
BY_PROGRAM = ("number", "code", "negation")
"""Kinds that the program alone must remove."""
TRUE_TARGET, CORRUPTED_TARGET, PROGRAM_TARGET, LOST_TARGET, SURE_TARGET = 0.95, 0.95, 0.90, 0.02, 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A drafted sentence, whether it is true (or how it was corrupted), and what the check made of it."""

    draft: str
    text: str
    basis: str
    how: str
    outcome: Supported | Unsupported

    @property
    def released(self) -> bool:
        return isinstance(self.outcome, Supported)


Answers = Callable[[bool], bool]
"""What a judge answers, by whether the sentence is true."""


def drafts(_: Workshop) -> Table:
    rows = _rows(WORDS, list(judged(None)))
    rows += _rows("judge by labels", list(judged(lambda true: true)))
    erring = [one for seed in range(SEEDS) for one in judged(_errs(seed), run=seed)]
    rows += _rows(f"judge errs in {ERRS:.0%}", erring)
    rows += _reference_rows()
    return Table(
        title="Drafts of a strong model",
        columns=("check", "sentences", "n", "released", "removed", "target", ""),
        rows=tuple(rows),
        note="True sentences and corrupted twins were labelled by whoever wrote the drafts, not by this program. `words` is the "
        "program alone; the judges of meaning stand in for a model and answer by those labels, one of them wrongly in "
        f"{ERRS:.0%} of its answers ({SEEDS} runs with different seeds, counted together). Each sentence comes with the piece "
        "of the book that its writer says it rests on. `sure rules` are those that hold with every judge: numbers, units, names, "
        "code and plain negations; the reference sentences are the answers that seven books' questions come with, each with its "
        "quote, and were written by readers of these books.",
    )


def _errs(seed: int) -> Answers:
    draw = random.Random(seed)
    return lambda true: true != (draw.random() < ERRS)


def judged(answers: Answers | None, *, run: int = 0) -> Iterator[Judged]:
    """Every sentence of every draft, those of one draft together, as a turn has them judged."""
    for row in drafted():
        checker = Checker(evidence_of(row), "en", row["standalone"] or row["question"])
        for corrupted in (False, True):
            found = [one for one in _sentences(row) if (one[0] != TRUE) == corrupted]
            sentences = [
                DraftSentence(text=text, labels=labels, kind=kind_of(text), basis=basis) for _, text, labels, basis in found
            ]
            outcomes = _outcomes(checker, sentences, answers, true=not corrupted)
            for (how, text, _, basis), outcome in zip(found, outcomes, strict=True):
                yield Judged(draft=f"{row['id']} {run}", text=text, basis=basis, how=how, outcome=outcome)


def _outcomes(
    checker: Checker, sentences: Sequence[DraftSentence], answers: Answers | None, *, true: bool
) -> list[Supported | Unsupported]:
    if answers is None:
        return [checker.check(sentence) for sentence in sentences]
    weighed = [checker.weigh(sentence) for sentence in sentences]
    doubtful = [one for one in weighed if isinstance(one, Doubtful)]
    opinions = [Opinion(supported=answers(true), words=claim.passages[0]) for claim in assertions_of(doubtful)]
    settled = iter(settle(doubtful, Judgement(opinions=tuple(opinions))))
    return [next(settled).outcome if isinstance(one, Doubtful) else one for one in weighed]


def _rows(name: str, found: Sequence[Judged]) -> list[tuple[str, ...]]:
    """The program alone answers for the kinds it can know; all of them are the judge's."""
    true, corrupted = [one for one in found if one.how == TRUE], [one for one in found if one.how != TRUE]
    kept, removed = sum(one.released for one in true), sum(not one.released for one in corrupted)
    answers, answered = {one.draft for one in true}, {one.draft for one in true if one.released}
    lost = len(answers) - len(answered)
    goals = [
        (f">= {TRUE_TARGET:.0%} released", verdict(kept >= TRUE_TARGET * len(true))),
        (f"<= {LOST_TARGET:.0%} lost", verdict(lost <= LOST_TARGET * len(answers))),
        (f">= {CORRUPTED_TARGET:.0%} removed", verdict(removed >= CORRUPTED_TARGET * len(corrupted))),
    ]
    goals = goals if name != WORDS else [("", "")] * len(goals)
    return [
        (name, "true", str(len(true)), _share(kept, len(true)), str(len(true) - kept), *goals[0]),
        (name, "right answers", str(len(answers)), _share(len(answered), len(answers)), f"{lost} lost", *goals[1]),
        (name, "corrupted", str(len(corrupted)), str(len(corrupted) - removed), _share(removed, len(corrupted)), *goals[2]),
        *_kinds(name, corrupted),
    ]


def _kinds(name: str, corrupted: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    every, gone = Counter(one.how for one in corrupted), Counter(one.how for one in corrupted if not one.released)
    for kind in KINDS:
        goal = (f">= {PROGRAM_TARGET:.0%} removed", verdict(gone[kind] >= PROGRAM_TARGET * every[kind]))
        shown = goal if kind in BY_PROGRAM else ("", "")
        yield (name, f"- {kind}", str(every[kind]), str(every[kind] - gone[kind]), _share(gone[kind], every[kind]), *shown)


def _reference_rows() -> Iterator[tuple[str, ...]]:
    """What the sure rules, and the program alone, remove of sentences that are true."""
    found = [one for book in BOOKS if (SHARED / "questions" / f"{book}.jsonl").exists() for one in _references(book)]
    for name, removed, target in (
        ("sure rules", sum(isinstance(weighed, Unsupported) for weighed, _ in found), SURE_TARGET),
        (WORDS, sum(isinstance(checked, Unsupported) for _, checked in found), None),
    ):
        goal = ("", "") if target is None else (f"<= {target:.0%} removed", verdict(removed <= target * len(found)))
        released = len(found) - removed
        yield (name, "reference sentences", str(len(found)), _share(released, len(found)), _share(removed, len(found)), *goal)


def _references(book: str) -> Iterator[tuple[Supported | Unsupported | Doubtful, Supported | Unsupported]]:
    for line in (SHARED / "questions" / f"{book}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if not row.get("reference") or not row.get("quote"):
            continue
        held = _quoted(book, row.get("lesson") or row["lessons"][0], row["quote"])
        if not held:
            continue
        evidence = [Evidence(label=n, passages=(one,), score=0.8, relevance=0.8) for n, one in enumerate(held, start=1)]
        checker = Checker(evidence, "en", row.get("standalone") or row["question"])
        splitter = SentenceSplitter()
        for text in filter(str.strip, splitter.feed(row["reference"]) + splitter.flush()):
            labels = tuple(one.label for one in evidence)
            sentence = DraftSentence(text=text.strip(), labels=labels, kind=kind_of(text.strip()), basis=row["quote"])
            yield checker.weigh(sentence), checker.check(sentence)


def _quoted(book: str, lesson: str, quote: str) -> tuple[Chunk, ...]:
    """The chunk that holds the quote, or the two that it runs over."""
    chunks = _lesson(book, lesson)
    letters = _letters(quote)
    whole = next(((chunk,) for chunk in chunks if letters in _letters(chunk.text)), None)
    return whole or next((pair for pair in pairwise(chunks) if letters in _letters("".join(one.text for one in pair))), ())


@lru_cache(maxsize=1024)
def _lesson(book: str, lesson: str) -> tuple[Chunk, ...]:
    source = (SHARED / "books" / book / lesson).read_text(encoding="utf-8")
    described = Book(book_id=book, title=book)
    claim = read_claim(described, lesson, source)
    read = read_lesson(described, lesson, source, file_hash=sha256(source), claim=claim, id_base=lesson, chapter_title="")
    return read.chunks


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _share(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.1%} ({part})"


def drafted() -> Iterator[dict[str, Any]]:
    for path in sorted(DRAFTS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def _sentences(row: dict[str, Any]) -> Iterator[tuple[str, str, tuple[int, ...], str]]:
    for one in row["sentences"]:
        yield TRUE, one["text"], tuple(one["labels"]), one["basis"]
    for one in row["corrupted"]:
        yield one["how"], one["text"], tuple(one["labels"]), row["sentences"][one["of"]]["basis"]


def evidence_of(row: dict[str, Any]) -> list[Evidence]:
    return [
        Evidence(
            label=one["label"],
            passages=(_chunk(one["lesson"], one["title"], one["heading"], one["text"]),),
            score=0.8,
            relevance=0.8,
        )
        for one in row["evidence"]
    ]


@lru_cache(maxsize=4096)
def _chunk(lesson: str, title: str, heading: str, text: str) -> Chunk:
    digest, base = sha256(text), Path(lesson).with_suffix("").as_posix()
    return Chunk(
        id=chunk_id("drafts", base, digest), text=text, preface="", book_id="drafts", module="", chapter=0, lesson=0,
        section_title=heading or None, hardware_tier=1, proficiency_level="A2", layer="L1", source_file=lesson,
        parent_doc_id=parent_id("drafts", base), chunk_index=0, total_chunks=1, prev_chunk_id=None, next_chunk_id=None,
        content_hash=digest, source_file_hash=digest, page_title=title, chapter_title="",
        heading_path=(heading,) if heading else (), anchor="", source_url=f"/{base}",
        span=Span(start=0, end=len(text), first_line=1, last_line=1 + text.count("\n")),
    )  # fmt: skip
