"""Calls a model on any OpenAI-compatible server: how long to wait, what is retried, and how errors are worded.

A key is sent in a header and nowhere else: no message or log of this module shows it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import cached_property
from typing import Any, NoReturn, cast

from agents import ModelSettings, OpenAIChatCompletionsModel
from agents.items import TResponseStreamEvent
from openai import APIConnectionError, APIError, APIStatusError, AsyncOpenAI, Omit
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.types.chat import ChatCompletionChunk

from bythebook.drafting.openai_agents.options import OPENAI_HOST, check_key
from bythebook.errors import InvalidSettings, RateLimited, Rejected, Unavailable
from bythebook.retry import (
    MESSAGE_LENGTH,
    TRIED_AGAIN,
    FailedTry,
    Patience,
    checked_key,
    retry_after_seconds,
)

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
MODEL_VARIABLE = "OPENAI_MODEL"
NO_KEY = "none"
"""The SDK requires a key. This one is not sent."""
NO_QUOTA = "insufficient_quota"
RESPONSE_FORMAT = "response_format"
TOOLS = re.compile(r"\b(?:tools?|functions?|tool_choice)\b", re.IGNORECASE)
FORM = re.compile(r"response_format|schema|grammar|json", re.IGNORECASE)
"""Words in the errors of servers that refuse tools, and of those that refuse structured output."""
NO_STRUCTURE = (400, 415, 422, 501)
"""The statuses with which servers refuse structured output. Where something else was wrong, the request without it is refused
too, with its reason."""

WORDS = frozenset({"response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta"})
"""Events with text of the model. After the first of them, the call cannot be repeated."""

Events = AsyncGenerator[TResponseStreamEvent, None]


class CutOff(Exception):
    """The stream ended before the server had said that the answer is complete, or after it said that it is not."""

    def __init__(self, finish_reason: str | None) -> None:
        super().__init__(finish_reason)
        self.finish_reason = finish_reason


class NotStructured(Exception):
    """The server refuses structured output, or tools. The request is then repeated without them."""


class ModelServer(AsyncOpenAI):
    """One server, one key. Its streams raise CutOff unless the answer is complete, which the SDK does not check. `structured` and
    `tools` become false once the server has refused them."""

    def __init__(self, base_url: str, *, key: str, timeout_seconds: float) -> None:
        self.key = checked_key(key, KEY_VARIABLE)
        self.structured = self.tools = True
        super().__init__(api_key=key or NO_KEY, base_url=base_url, timeout=timeout_seconds, max_retries=0)
        self.organization = self.project = None  # the SDK takes them from the environment
        self.host = self.base_url.host
        if self.base_url.scheme not in ("http", "https") or not self.host:
            raise InvalidSettings(f"The model server's address in {URL_VARIABLE} must be like https://host/v1")
        check_key(key, base_url)

    @property
    def is_openai(self) -> bool:
        return self.host == OPENAI_HOST

    @property
    def headers(self) -> dict[str, str | Omit] | None:
        """Without a key, no Authorization is sent."""
        return None if self.key else {"Authorization": Omit()}

    @cached_property
    def chat(self) -> AsyncChat:
        return _Chat(self)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:
        return _Completions(self._client)


class _Completions(AsyncCompletions):
    async def create(self, **given: Any) -> Any:
        return _whole(await super().create(**given))


async def _chunks(stream: Any) -> AsyncIterator[ChatCompletionChunk]:
    """The stream's chunks. A server that cannot stream sends its answer whole, as JSON; that is then the only chunk."""
    if not stream.response.headers.get("Content-Type", "").startswith("application/json"):
        async for chunk in stream:
            yield chunk
        return
    whole = json.loads(await stream.response.aread())
    for choice in whole.get("choices") or ():
        choice["delta"] = choice.pop("message", None) or {}
        for index, call in enumerate(choice["delta"].get("tool_calls") or ()):
            call["index"] = index
    yield ChatCompletionChunk.model_validate({**whole, "object": "chat.completion.chunk"})


async def _whole(stream: Any) -> AsyncIterator[ChatCompletionChunk]:
    finish_reason: str | None = None
    try:
        async for chunk in _chunks(stream):
            for choice in chunk.choices or ():
                finish_reason = choice.finish_reason or finish_reason
            yield chunk
    finally:
        await stream.close()
    if finish_reason in (None, "length"):
        raise CutOff(finish_reason)


class PatientModel(OpenAIChatCompletionsModel):
    """The model for one draft: all its calls share one `deadline` of the event loop's clock. A call is repeated until the model's
    first word has come; after that a failure is final. Raises Rejected, RateLimited or Unavailable."""

    def __init__(self, model: str, server: ModelServer, *, patience: Patience, call_seconds: float, total_seconds: float) -> None:
        super().__init__(model, server)
        self._model_name = model
        self._server = server
        self._patience = patience
        self._call_seconds = call_seconds
        self._total_seconds = total_seconds
        self.deadline = asyncio.get_running_loop().time() + total_seconds

    async def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[TResponseStreamEvent]:
        tries = 0
        while True:
            held: list[TResponseStreamEvent] = []
            begun = False
            try:
                async for event in self._in_time(cast(Events, super().stream_response(*given, **named))):
                    begun = begun or event.type in WORDS
                    held.append(event)
                    while begun and held:
                        yield held.pop(0)
                for event in held:
                    yield event
                return
            except (APIError, CutOff, ValueError) as error:
                self._refuses_structure(error, named, given)
                failure = self._failure(error)
                if begun:
                    raise self._cut_off() from error
            tries += 1
            await self._wait_or_give_up(failure, tries)

    def _refuses_structure(self, error: Exception, named: dict[str, Any], given: tuple[Any, ...]) -> None:
        """Servers word the reason differently: tools where they mention them, else structured output."""
        settings = named.get("model_settings") or next((one for one in given if isinstance(one, ModelSettings)), None)
        body = settings.extra_body if settings else None
        if not isinstance(error, APIStatusError) or error.status_code not in NO_STRUCTURE:
            return
        said = self._said(error)
        with_tools = self._server.tools and settings is not None and settings.tool_choice is not None
        structured = isinstance(body, dict) and RESPONSE_FORMAT in body
        if with_tools and TOOLS.search(said) and not (structured and FORM.search(said)):
            self._server.tools = False
        elif structured:
            self._server.structured = False
        else:
            return
        raise NotStructured from error

    async def _in_time(self, events: Events) -> AsyncIterator[TResponseStreamEvent]:
        ends_at = min(asyncio.get_running_loop().time() + self._call_seconds, self.deadline)
        try:
            async with aclosing(events):
                while True:
                    async with asyncio.timeout_at(ends_at):
                        event = await anext(events)
                    yield event
        except StopAsyncIteration:
            return
        except TimeoutError:
            seconds = self._total_seconds if ends_at == self.deadline else self._call_seconds
            raise Unavailable(
                f"The model '{self._model_name}' at {self._server.host} did not finish within {seconds:g} seconds; "
                "try again, or use a faster one"
            ) from None

    async def _wait_or_give_up(self, failure: FailedTry, tries: int) -> None:
        delay = self._patience.delay(tries, failure.retry_after_seconds)
        out_of_time = asyncio.get_running_loop().time() + delay >= self.deadline
        if tries >= self._patience.tries or out_of_time:
            raise self._given_up(failure, tries)
        await self._patience.sleep(delay)

    def _failure(self, error: APIError | CutOff | ValueError) -> FailedTry:
        """A failure that may pass; anything else is raised."""
        match error:
            case CutOff(finish_reason="length"):
                raise Unavailable(
                    f"The model's answer was cut off at its length limit by {self._server.host}; "
                    "raise or unset max_tokens, or ask for less"
                ) from error
            case CutOff():
                return FailedTry(reason="the answer was cut off")
            case APIStatusError() if error.status_code in TRIED_AGAIN and error.code != NO_QUOTA:
                return FailedTry(
                    reason=f"status {error.status_code}",
                    rate_limited=error.status_code == 429,
                    retry_after_seconds=retry_after_seconds(error.response.headers.get("Retry-After", "")),
                )
            case APIStatusError():
                self._rejected(error)
            case APIConnectionError():
                return FailedTry(reason=type(error.__cause__ or error).__name__)
            case APIError():
                return FailedTry(reason=self._said(error))
        return FailedTry(reason="an answer that cannot be read")

    def _rejected(self, error: APIStatusError) -> NoReturn:
        host, status = self._server.host, error.status_code
        if status in (401, 403):
            wrong = "does not accept the key it was sent" if self._server.key else "asks for a key"
            raise Rejected(f"{host} {wrong}; set {KEY_VARIABLE} to one it accepts") from error
        raise Rejected(
            f"{host} refused the request for the model '{self._model_name}' with status {status} ({self._said(error)}); "
            f"check {MODEL_VARIABLE}, {URL_VARIABLE} and your plan there"
        ) from error

    def _said(self, error: APIError) -> str:
        body = error.body
        said = str(body["message"]) if isinstance(body, dict) and body.get("message") else error.message
        return " ".join(said.split()).replace(self._server.key or "\0", "…")[:MESSAGE_LENGTH]

    def _cut_off(self) -> Unavailable:
        return Unavailable(f"The model's answer was cut off by {self._server.host} in the middle; ask again")

    def _given_up(self, failure: FailedTry, tries: int) -> Unavailable:
        host = self._server.host
        if failure.rate_limited:
            wait = failure.retry_after_seconds
            when = "in a while" if wait is None else f"in {wait:.0f} seconds"
            return RateLimited(
                f"{host} accepts no more requests for now, asked {tries} times; try again {when}", retry_after_seconds=wait
            )
        return Unavailable(
            f"The model at {host} does not answer ({failure.reason}), asked {tries} times; "
            f"check {URL_VARIABLE} and the network, and try again"
        )
