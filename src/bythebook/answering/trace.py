"""How a turn came about, beyond what its answer says: what an author reads when an answer is wrong. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bythebook.grounding.verdict import RefusalReason
from bythebook.retrieval.query import SearchQuery

StepName = Literal["follow-up", "search", "verdict", "draft", "check", "store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of the work, and how long it took."""

    name: StepName
    began_at: datetime
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """Who rewrote a question that refers to the thread. `note`: why the model's rewrite was not used, where a model was asked."""

    by: Literal["rules", "model"] | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """A chunk that was found, as retrieval scored it. `label`: the evidence it is part of, where a drafter was shown it."""

    chunk_id: str
    page_title: str
    section: str
    source_url: str
    score: float
    lexical: float
    relevance: float
    label: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What decided whether to draft at all. `subject` is the cosine from which a question is near what the book is about;
    `beyond` the relevance without the reader's filters, where there were any."""

    answerable: bool
    reason: RefusalReason | None
    detail: str
    best: float
    average: float
    top_cosine: float
    subject: float | None
    beyond: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One piece of evidence that the drafter was shown. `label`: the number under which the answer cites it; evidence that is not
    cited gets the numbers after those."""

    label: int
    chunk_ids: tuple[str, ...]
    page_title: str
    section: str
    source_url: str
    score: float
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A sentence of the draft. `dropped`: why it was not shown; None where it is in the answer. `by`: who decided: the program by
    its rules, a judge of meaning, or the words rule in the judge's place; `note` then says why."""

    text: str
    kind: str
    labels: tuple[int, ...]
    dropped: str | None
    by: str = "program"
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """How one turn came about. `query` is the standalone question with the filters it was searched under; `system_prompt` is what
    the model was sent, if one was asked."""

    query: SearchQuery
    score_threshold: float
    similarity_threshold: float
    score_scale: str
    signals: Mapping[str, float]
    considered: tuple[Considered, ...]
    follow_up: FollowUp | None = None
    gate: Gate | None = None
    evidence: tuple[Shown, ...] = ()
    draft: tuple[Drafted, ...] = ()
    steps: tuple[Step, ...] = ()
    system_prompt: str | None = None
