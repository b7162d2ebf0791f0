"""Asks a model for the questions of a quiz with their answers: one call without tools for all of them.

It is asked for JSON, by a schema where the server supports schemas. What came before a failure or the time limit counts.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from agents import Agent
from agents.exceptions import AgentsException

from bythebook.drafting.completion import QuizCard, QuizDraft, QuizRequest
from bythebook.drafting.draft import DraftSentence, Usage
from bythebook.drafting.openai_agents.answer_form import LONGEST, ObjectStream
from bythebook.drafting.openai_agents.calls import ModelServer, NotStructured, PatientModel
from bythebook.drafting.openai_agents.judge_form import without_thoughts
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.drafting.openai_agents.runs import model_settings, running, usage_of
from bythebook.drafting.prompts import labelled_tool_response, quiz_instructions
from bythebook.errors import BookError, Unavailable

logger = logging.getLogger(__name__)

TEXTS = ("quote", "text", "question")
QUIZ_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["cards"],
    "properties": {
        "cards": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["label", *TEXTS],
                "properties": {"label": {"type": "integer"}, **{name: {"type": "string"} for name in TEXTS}},
            },
        }
    },
}


class QuizWriter:
    """A `WriteQuiz` by a model."""

    def __init__(self, options: AgentOptions, server: ModelServer) -> None:
        self._options = options
        self._server = server

    async def __call__(self, request: QuizRequest) -> QuizDraft:
        try:
            return await self._written(request)
        except NotStructured:  # refused before its first word
            return await self._written(request)

    async def _written(self, request: QuizRequest) -> QuizDraft:
        written: list[str] = []
        heard = 0
        usage: Usage | None = None
        failure: Exception | None = None
        given = labelled_tool_response(request.evidence, f"A quiz of up to {request.count} questions")
        try:
            async with running(self._agent(request), [{"role": "user", "content": given}], max_calls=1) as (run, events):
                async for event in events:
                    if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                        written.append(event.data.delta)
                        heard += len(event.data.delta)
                    if heard > LONGEST:
                        break
            usage = usage_of(run)
        except (AgentsException, BookError) as error:
            failure = error
        cards = _cards("".join(written))
        if failure and not cards:
            raise failure if isinstance(failure, BookError) else self._unusable() from failure
        if failure:
            logger.info("A quiz was not written to its end; its first %d questions count: %s", len(cards), failure)
        elif not cards:
            raise self._unusable()
        return QuizDraft(cards=cards[: request.count], usage=usage)

    def _unusable(self) -> Unavailable:
        return Unavailable(f"The model '{self._options.model}' at {self._server.host} wrote no quiz that can be used")

    def _agent(self, request: QuizRequest) -> Agent[None]:
        options = self._options
        model = PatientModel(
            options.model,
            self._server,
            patience=replace(options.patience, tries=1),
            call_seconds=options.call_seconds,
            total_seconds=options.call_seconds,
        )
        schema = ("quiz", QUIZ_SCHEMA) if self._server.structured else None
        settings = model_settings(options, self._server, schema=schema)
        return Agent(name="quiz writer", instructions=quiz_instructions(request), model=model, model_settings=settings)


def _cards(text: str) -> tuple[QuizCard, ...]:
    """The cards that are complete, whatever is around them."""
    text = without_thoughts(text)
    start = text.find("{")
    found = ObjectStream().feed(text[start:]) if start >= 0 else []
    return tuple(
        QuizCard(
            question=" ".join(one["question"].split()),
            answer=DraftSentence(
                text=" ".join(one["text"].split()), labels=(one["label"],), basis=" ".join(one["quote"].split())
            ),
        )
        for one in found
        if isinstance(one, dict) and type(one.get("label")) is int and all(_filled(one.get(name)) for name in TEXTS)
    )


def _filled(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())
