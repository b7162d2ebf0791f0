"""What OpenAI's clients are sent: an answer as a completion, whole or in deltas, with its sources as `[1]` markers, as
annotations, as a list at its end and as `search_results`, because each client shows another of these."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bythebook.answering.answer import Answer, Sentence
from bythebook.answering.markdown import LinkOf, after, joined_markdown, opening, title_of_source, to_markdown
from bythebook.grounding.citations import Citation
from bythebook.web.problems import Problem, completion_error
from bythebook.web.stream import Event

DONE = Event(body=b"[DONE]", held=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlCitation:
    """A source at a sentence. `start_index` and `end_index` are those of the sentence in the content."""

    url: str
    title: str
    start_index: int
    end_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """OpenAI's form of a citation."""

    url_citation: UrlCitation
    type: Literal["url_citation"] = "url_citation"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionText:
    """The message of a completion."""

    content: str
    annotations: tuple[Annotation, ...] = ()
    role: Literal["assistant"] = "assistant"
    refusal: None = None
    """Always null: a refusal is content, because most clients show nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionChoice:
    """The only choice of a completion."""

    message: CompletionText
    index: int = 0
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionUsage:
    """What the model's server counted for the whole turn; nothing without a model."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """A source as Perplexity's API gives it, with the quoted words."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """OpenAI's chat completion. `thread_id` is the thread it is stored in."""

    id: str
    created: int
    model: str
    choices: tuple[CompletionChoice, ...]
    usage: CompletionUsage = CompletionUsage()
    search_results: tuple[SourceView, ...] = ()
    thread_id: str | None = None
    object: Literal["chat.completion"] = "chat.completion"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A book as a model. `name` is its title."""

    id: str
    created: int
    name: str
    object: Literal["model"] = "model"
    owned_by: Literal["bythebook"] = "bythebook"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """The books as OpenAI's list of models."""

    data: tuple[ModelEntry, ...]
    object: Literal["list"] = "list"


def completion(answer: Answer, *, id: str, thread_id: str | None, link: LinkOf) -> Completion:
    content = to_markdown(answer, link)
    return Completion(
        id=id,
        created=int(answer.created_at.timestamp()),
        model=answer.book_id,
        choices=(CompletionChoice(message=CompletionText(content=content, annotations=_annotations(answer.sentences, link))),),
        usage=usage(answer),
        search_results=search_results(answer, link),
        thread_id=thread_id,
    )


def plain_completion(content: str, *, id: str, model: str) -> Completion:
    """A completion that no turn belongs to."""
    choice = CompletionChoice(message=CompletionText(content=content))
    return Completion(id=id, created=int(time.time()), model=model, choices=(choice,))


def failed(told: Problem, _: str) -> Event:
    """The last part of a stream that was interrupted."""
    return Event(body=json.dumps(completion_error(told)).encode(), held=True)


def usage(answer: Answer) -> CompletionUsage:
    """Only the sum is known."""
    return CompletionUsage(prompt_tokens=answer.tokens_used, total_tokens=answer.tokens_used)


def search_results(answer: Answer, link: LinkOf) -> tuple[SourceView, ...]:
    return tuple(SourceView(title=title_of_source(one), url=link(one), snippet=one.quote) for one in answer.citations)


def _annotations(sentences: Sequence[Sentence], link: LinkOf) -> tuple[Annotation, ...]:
    """One annotation for each source, in the order of their numbers, at the first sentence that cites it: a client that counts
    them gets the numbers of the markers."""
    found: dict[int, Annotation] = {}
    for place in range(len(sentences)):
        found |= {label: made for label, made in _new(sentences[: place + 1], link).items() if label not in found}
    return tuple(found[label] for label in sorted(found))


def _new(sentences: Sequence[Sentence], link: LinkOf) -> dict[int, Annotation]:
    """The annotations of the last sentence, by label."""
    last, end = sentences[-1], len(joined_markdown(sentences))
    start = end - len(joined_markdown([last]))
    cited: dict[int, Citation] = {}
    for citation in last.citations:
        cited.setdefault(citation.label, citation)
    return {
        label: Annotation(url_citation=UrlCitation(url=link(one), title=title_of_source(one), start_index=start, end_index=end))
        for label, one in cited.items()
    }


@dataclass(slots=True, kw_only=True)
class Deltas:
    """A completion in parts, as they are made."""

    id: str
    model: str
    link: LinkOf
    created: int = field(default_factory=lambda: int(time.time()))
    _sentences: list[Sentence] = field(default_factory=list)
    _annotated: set[int] = field(default_factory=set)

    def begin(self) -> Event:
        return self._delta({"role": "assistant", "content": ""})

    def sentence(self, sentence: Sentence) -> Event:
        before = joined_markdown(self._sentences)
        self._sentences.append(sentence)
        delta: dict[str, Any] = {"content": joined_markdown(self._sentences)[len(before) :]}
        fresh = {label: one for label, one in _new(self._sentences, self.link).items() if label not in self._annotated}
        if fresh:
            first = len(self._annotated)
            delta["annotations"] = [{"index": first + place, **asdict(fresh[label])} for place, label in enumerate(sorted(fresh))]
            self._annotated |= fresh.keys()
        return self._delta(delta)

    def end(self, answer: Answer, *, include_usage: bool, thread_id: str | None) -> list[Event]:
        """The parts after the sentences, and the end. A refusal has no sentences and is sent whole."""
        rest = opening(answer) + answer.answer if answer.refused else ""
        results = [asdict(one) for one in search_results(answer, self.link)]
        counted = asdict(usage(answer)) if include_usage else None
        return self.text(rest + after(answer, self.link), usage=counted, more={"search_results": results, "thread_id": thread_id})

    def text(self, content: str, *, usage: Mapping[str, Any] | None, more: Mapping[str, Any] | None = None) -> list[Event]:
        """The last content and the end."""
        last = self._part([{"index": 0, "delta": {}, "finish_reason": "stop"}], more or {})
        events = [self._delta({"content": content}, held=True)] if content else []
        events.append(last)
        if usage is not None:
            events.append(self._part([], {"usage": usage}))
        return [*events, DONE]

    def _delta(self, delta: Mapping[str, Any], *, held: bool = False) -> Event:
        return self._part([{"index": 0, "delta": delta, "finish_reason": None}], {}, held=held)

    def _part(self, choices: list[dict[str, Any]], more: Mapping[str, Any], *, held: bool = True) -> Event:
        part = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }
        return Event(body=json.dumps(part, ensure_ascii=False).encode(), held=held)
