"""Splits what a model streams into sentences, with their labels and the quotes that support each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bythebook.drafting.draft import DraftSentence
from bythebook.drafting.openai_agents.answer_form import LONGEST
from bythebook.drafting.openai_agents.labels import nearest_labels
from bythebook.drafting.openai_agents.quoted_text import QuotedText
from bythebook.drafting.openai_agents.unwrapper import Unwrapper
from bythebook.drafting.prompts import NO_INFORMATION, NOT_IN_PASSAGES
from bythebook.grounding.sentence_splitter import kind_of, split_markers
from bythebook.retrieval.evidence import Evidence

ACCORDING = re.compile(
    r"(?:according to|as (?:stated|described|explained|mentioned|noted|shown|defined) in|based on)\s+"
    r"(?:(?:the\s+)?(?:sources?|results?|passages?)\s+)?(?P<markers>\[\d{1,2}\](?:\s*(?:,|and)?\s*\[\d{1,2}\])*)\s*,\s*",
    re.IGNORECASE,
)


class SentenceStream:
    """Takes a run's raw events, and returns sentences. A sentence that the model repeats after a further search is returned once.
    `answered`: whether the model's last message says anything. `call`: the arguments of a search that it wrote out instead of
    making it. `declined`: whether it said, in the agreed form, that the passages do not answer."""

    def __init__(self, evidence: Mapping[int, Evidence], language: str) -> None:
        self.answered = self.declined = False
        self._evidence = evidence
        self._language = language
        self._seen: set[str] = set()
        self._heard = 0
        self._text = QuotedText()
        self._unwrapper = Unwrapper()

    @property
    def call(self) -> str | None:
        return self._unwrapper.call

    def read(self, event: Any) -> list[DraftSentence]:
        if event.type == "response.created":
            self.answered = self.declined = False
            self._unwrapper = Unwrapper()
        if event.type == "response.output_text.delta":
            self._heard += len(event.delta)
            return self._new(self._text.feed(self._unwrapper.feed(event.delta))) if self._heard <= LONGEST else []
        if event.type == "response.completed":
            drafted = self._new([*self._text.feed(self._unwrapper.flush()), *self._text.flush()])
            self.declined = self.declined or self._unwrapper.declined
            return drafted
        return []

    def _new(self, sentences: list[tuple[str, str, tuple[int, ...]]]) -> list[DraftSentence]:
        drafted = []
        for sentence, basis, quoted in sentences:
            text, labels = split_markers(marked_at_its_end(sentence))
            self.answered = self.answered or bool(text)
            if _declines(text):
                self.declined = True
            elif text and text not in self._seen:
                self._seen.add(text)
                labels = labels or quoted or nearest_labels(text, self._evidence.values(), self._language)
                drafted.append(DraftSentence(text=text, labels=labels, kind=kind_of(text), basis=basis))
        return drafted


def _declines(sentence: str) -> bool:
    """Whether this is exactly the agreed line, or document B's sentence for it."""
    said = sentence.strip("`\"'*_. \u2019").replace("\u2019", "'").casefold()
    return said in (NOT_IN_PASSAGES, NO_INFORMATION.casefold())


def marked_at_its_end(sentence: str) -> str:
    """ "According to [1], a node is a process." says no more than "A node is a process [1].", and reads well without markers."""
    opening = ACCORDING.match(sentence)
    if not opening:
        return sentence
    said = sentence[opening.end() :]
    markers = "".join(re.findall(r"\[\d+\]", opening["markers"]))
    return f"{said[:1].upper()}{said[1:]} {markers}"
