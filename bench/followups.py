"""Whether a follow-up finds what its human rewrite finds, once the product has made it standalone."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.material import CLAPNQ, CURRICULUM_QUESTIONS, SHARED, Question, curriculum_questions
from bench.ranking import Quality, quality
from bench.retrieval import BM25, OURS, ranks
from bench.table import Table, verdict
from bench.workshop import Workshop
from bythebook.cli.demo import sample_book
from bythebook.drafting.draft import Exchange
from bythebook.followups.rules import standalone

CANARD = SHARED / "questions" / "canard-dev-half.json"
SAMPLED = 500
RECOVERED_TARGET = 0.5
UNCHANGED_TARGET = 0.95
NO_ANSWER = "I don't know."
LANGUAGE = "en"
QUESTIONS = "questions.jsonl"
ASKED, MADE, HUMAN = "as asked", "made standalone", "human rewrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """`lesson` answers it; `dialogue` is the lesson when a whole conversation is one."""

    asked: str
    human: str
    history: tuple[Exchange, ...]
    lesson: str
    dialogue: str = ""

    def forms(self) -> dict[str, str]:
        return {ASKED: self.asked, MADE: standalone(self.asked, self.history, LANGUAGE), HUMAN: self.human}


def followups(workshop: Workshop) -> Table:
    workshop.sample()
    rows = _rows("sample book", workshop, "sample", sample_followups())
    rows += _canard_rows(workshop) if CANARD.exists() else []
    rows += [_unchanged_row("sample book", _alone_in_sample_book())]
    if CURRICULUM_QUESTIONS.exists():
        rows.append(_unchanged_row("curriculum", [question.text for question in curriculum_questions()]))
    if all(path.exists() for path in CLAPNQ):
        rows.append(_unchanged_row("CLAP NQ", [row["input"] for path in CLAPNQ for row in _lines(path)]))
    skipped = "" if CANARD.exists() else f" Left out, because ../shared/data is not there: {CANARD.name}."
    return Table(
        title="Follow-ups",
        columns=("questions", "n", "method", "asked", "recall@1", "recall@5", "MRR@10", "recovered", "target", ""),
        rows=tuple(rows),
        note="Recovered is the share of the gap in MRR between the question as asked and its human rewrite. CANARD has no "
        "passages, so its own answers are the book, each a lesson under its topic; a right answer is that answer, a right "
        "conversation any lesson made of that conversation. The opening topic and heading count as the first exchange. The "
        f"{SAMPLED} questions come from conversations that no rule was written on; the sample book's follow-ups were seen. "
        "CLAP NQ's questions were seen at the end, and one rule added for them (weather's it). Unchanged: questions that "
        f"stand alone, each asked after the one before it; a rewrite there is a false one.{skipped}",
    )


def _canard_rows(workshop: Workshop) -> list[tuple[str, ...]]:
    answers, dialogues = workshop.folder / "books" / "canard-answers", workshop.folder / "books" / "canard-dialogues"
    questions = canard_followups(answers, dialogues)
    sampled = random.Random(0).sample(questions, min(SAMPLED, len(questions), workshop.sizes.questions))
    workshop.ingested("canard-answers", answers)
    workshop.ingested("canard-dialogues", dialogues)
    rows = _rows("CANARD, right answer", workshop, "canard-answers", sampled)
    by_dialogue = [replace(one, lesson=one.dialogue) for one in sampled]
    return rows + _rows("CANARD, right conversation", workshop, "canard-dialogues", by_dialogue)


def _rows(title: str, workshop: Workshop, name: str, questions: Sequence[FollowUp]) -> list[tuple[str, ...]]:
    scored = asyncio.run(_scored(workshop, name, questions))
    rows: list[tuple[str, ...]] = []
    for method in (BM25, OURS):
        recovered = recovery({form: scored[form][method] for form in (ASKED, MADE, HUMAN)})
        for form in (ASKED, MADE, HUMAN):
            figures = scored[form][method]
            cells = (f"{figures.recall_at_1:.3f}", f"{figures.recall_at_5:.3f}", f"{figures.mrr_at_10:.3f}")
            goal = ("", "", "")
            if form == MADE:
                goal = (f"{recovered:.0%}", f">= {RECOVERED_TARGET:.0%}", verdict(recovered >= RECOVERED_TARGET))
            rows.append((title, f"{len(questions):,}", method, form, *cells, *goal))
    return rows


async def _scored(workshop: Workshop, name: str, questions: Sequence[FollowUp]) -> dict[str, dict[str, Quality]]:
    scored = {}
    forms = [question.forms() for question in questions]
    for form in (ASKED, MADE, HUMAN):
        asked = [Question(text=texts[form], lesson=one.lesson) for texts, one in zip(forms, questions, strict=True)]
        found = await ranks(workshop, name, asked)
        scored[form] = {method: quality(found[method]) for method in (BM25, OURS)}
    return scored


def recovery(scored: Mapping[str, Quality]) -> float:
    """How much of what a human rewrite gains is gained; 1 where there is nothing to gain."""
    gap = scored[HUMAN].mrr_at_10 - scored[ASKED].mrr_at_10
    return (scored[MADE].mrr_at_10 - scored[ASKED].mrr_at_10) / gap if gap > 0 else 1.0


def _unchanged_row(title: str, questions: Sequence[str]) -> tuple[str, ...]:
    kept = sum(
        standalone(asked, [Exchange(question=before, answer="")], LANGUAGE) == asked for before, asked in pairwise(questions)
    )
    share = kept / (len(questions) - 1)
    cells = (f"{title}, unchanged", f"{len(questions) - 1:,}", "", MADE, "", "", "", f"{share:.1%} unchanged")
    return (*cells, f">= {UNCHANGED_TARGET:.0%}", verdict(share >= UNCHANGED_TARGET))


def sample_followups() -> list[FollowUp]:
    return [
        FollowUp(asked=row["question"], human=row["standalone"], history=_exchanges(row["history"]), lesson=row["lesson"])
        for row in _lines(sample_book() / QUESTIONS)
        if row["history"]
    ]


def _alone_in_sample_book() -> list[str]:
    return [row["question"] for row in _lines(sample_book() / QUESTIONS) if not row["history"]]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _exchanges(messages: Sequence[Mapping[str, str]]) -> tuple[Exchange, ...]:
    texts = [message["content"] for message in messages]
    return tuple(Exchange(question=question, answer=answer) for question, answer in zip(texts[::2], texts[1::2], strict=True))


def canard_followups(answers: Path, dialogues: Path, *, written_on: bool = False) -> list[FollowUp]:
    """Writes both books. Gives the questions whose answer is known, from every second conversation: the others are the
    ones that rules were written on."""
    kept = []
    for number, turns in enumerate(_conversations()):
        title, heading = turns[0]["History"][:2]
        _write(dialogues / f"{number:03}.md", title, heading, turns[-1]["History"][3::2])
        for turn, after in pairwise(turns):
            answer = after["History"][-1]
            if answer == NO_ANSWER:
                continue
            path = f"{number:03}/{turn['Question_no']:02}.md"
            _write(answers / path, title, heading, [answer])
            if (number % 2 == 1) == written_on:
                kept.append(_follow_up(turn, path, f"{number:03}.md"))
    return kept


def _conversations() -> list[list[dict[str, Any]]]:
    conversations: dict[str, list[dict[str, Any]]] = {}
    for turn in json.loads(CANARD.read_text(encoding="utf-8")):
        conversations.setdefault(turn["QuAC_dialog_id"], []).append(turn)
    return [sorted(turns, key=lambda turn: int(turn["Question_no"])) for turns in conversations.values()]


def _follow_up(turn: Mapping[str, Any], path: str, dialogue: str) -> FollowUp:
    texts = turn["History"]
    history = tuple(Exchange(question=question, answer=answer) for question, answer in zip(texts[::2], texts[1::2], strict=True))
    return FollowUp(asked=turn["Question"], human=turn["Rewrite"], history=history, lesson=path, dialogue=dialogue)


def _write(path: Path, title: str, heading: str, paragraphs: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    front = f"---\ntitle: {json.dumps(title)}\n---"
    path.write_text("\n\n".join([front, f"## {heading}", *paragraphs]) + "\n", encoding="utf-8")
