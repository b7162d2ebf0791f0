"""The model's drafter: an agent of the OpenAI Agents SDK at any OpenAI-compatible server.

The program has searched before the model is asked; the agent sees that as a call of its tool and may call it again a few
times. Nothing here judges what the model writes. Importing this module is slow: only `wiring` does, when a model is set.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from agents import Agent, FunctionTool, ModelSettings, RunConfig, Runner, ToolExecutionConfig
from agents.exceptions import AgentsException, MaxTurnsExceeded
from agents.items import TResponseInputItem
from agents.result import RunResultStreaming
from agents.stream_events import StreamEvent

from bythebook.drafting import prompts
from bythebook.drafting.draft import DraftEvent, DraftRequest, DraftSentence, ToolCall, Usage
from bythebook.drafting.labels import nearest_labels
from bythebook.drafting.openai_agents_calls import OPENAI_URL, ModelServer, PatientModel
from bythebook.drafting.search_arguments import MAX_TOP_K, read_arguments
from bythebook.errors import BookError, InvalidSettings, Unavailable
from bythebook.grounding.splitting import SentenceSplitter, kind_of, split_markers
from bythebook.index.remote import Patience
from bythebook.retrieval.evidence import Evidence

logger = logging.getLogger(__name__)

Events = AsyncGenerator[StreamEvent, None]
ToolChoice = Literal["required", "auto", "none"]

DEFAULT_MODEL = "gpt-4o-mini"
MAX_SEARCHES = 3
MAX_CALLS = MAX_SEARCHES + 3
"""Model calls in one draft: one after each further search, the answer, and two for a server that ignores `tool_choice`."""
FIRST_CALL_ID = "call_search_0"
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """All that can be set. Document B's ranges."""

    api_key: str
    base_url: str = OPENAI_URL
    model: str = DEFAULT_MODEL
    system_prompt: str = prompts.SYSTEM_PROMPT
    temperature: float = 0.0
    max_tokens: int | None = None
    tool_name: str = prompts.TOOL_NAME
    tool_choice: ToolChoice = "required"
    history_tokens: int = 6_000
    call_seconds: float = 60.0
    total_seconds: float = 90.0
    patience: Patience = field(default_factory=lambda: Patience(tries=3))

    def __post_init__(self) -> None:
        prompts.checked_system_prompt(self.system_prompt)
        if not self.model.strip():
            raise InvalidSettings("OPENAI_MODEL is empty; name a model, or unset it")
        if not 0.0 <= self.temperature <= 2.0:
            raise InvalidSettings(f"The temperature must be from 0 to 2, not {self.temperature}")
        if self.temperature > 1.0:
            logger.warning("A temperature of %s is above 1: expect sentences that the book does not support", self.temperature)
        if self.max_tokens is not None and self.max_tokens < 1:
            raise InvalidSettings(f"max_tokens must be 1 or more, not {self.max_tokens}")
        if self.tool_choice not in get_args(ToolChoice):
            raise InvalidSettings(f"tool_choice must be one of {', '.join(get_args(ToolChoice))}, not '{self.tool_choice}'")
        if not TOOL_NAME.fullmatch(self.tool_name):
            raise InvalidSettings(f"The tool's name may have 64 letters, digits, '_' and '-', and is '{self.tool_name}'")


class AgentDrafter:
    """A `Drafter`. One for all drafts of a process; drafts may run at the same time."""

    def __init__(self, options: AgentOptions) -> None:
        self._options = options
        self._server = ModelServer(options.base_url, key=options.api_key, timeout_seconds=options.call_seconds)

    @property
    def model(self) -> str:
        return self._options.model

    async def draft(self, request: DraftRequest) -> AsyncGenerator[DraftEvent, None]:
        """Raises Rejected, RateLimited or Unavailable; what was drafted before that is not an answer."""
        tool = SearchTool(request, self._options, self._server)
        run = tool.run(_conversation(request, self._options))
        text = SentenceStream(tool.evidence, request.language)
        events = cast(Events, run.stream_events())
        try:
            async for event in events:
                for call in tool.new_calls():
                    yield call
                if event.type == "raw_response_event":
                    for sentence in text.read(event.data):
                        yield sentence
        except MaxTurnsExceeded as error:
            raise self._unusable("kept searching and wrote no answer") from error
        except AgentsException as error:
            raise self._unusable("answered in a way that cannot be used") from error
        finally:
            await _stop(run, events)
        if not text.answered:
            raise self._unusable("gave an empty answer")
        usage = run.context_wrapper.usage
        if usage.total_tokens:
            yield Usage(prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens)

    async def close(self) -> None:
        await self._server.close()

    def _unusable(self, what: str) -> Unavailable:
        return Unavailable(
            f"The model '{self.model}' at {self._server.host} {what}; ask again, or choose another one with OPENAI_MODEL"
        )


async def _stop(run: RunResultStreaming, events: Events) -> None:
    """However the draft ended, nothing of it goes on in the background. Its events end only once it is cancelled."""
    run.cancel()
    await events.aclose()
    if run.run_loop_task is not None:
        await asyncio.wait({run.run_loop_task})


class SentenceStream:
    """A run's raw events in, sentences out. A sentence the model repeats after a further search comes once. `answered` tells
    whether the model's last message says anything."""

    def __init__(self, evidence: Mapping[int, Evidence], language: str) -> None:
        self.answered = False
        self._evidence = evidence
        self._language = language
        self._seen: set[str] = set()
        self._splitter = SentenceSplitter()

    def read(self, event: Any) -> list[DraftSentence]:
        if event.type == "response.created":
            self.answered = False
        if event.type == "response.output_text.delta":
            return self._new(self._splitter.feed(event.delta))
        if event.type == "response.completed":
            return self._new(self._splitter.flush())
        return []

    def _new(self, sentences: list[str]) -> list[DraftSentence]:
        drafted = []
        for sentence in sentences:
            text, labels = split_markers(sentence)
            self.answered = self.answered or bool(text)
            if text and text not in self._seen:
                self._seen.add(text)
                labels = labels or nearest_labels(text, self._evidence.values(), self._language)
                drafted.append(DraftSentence(text=text, labels=labels, kind=kind_of(text)))
        return drafted


class SearchTool:
    """The agent of one draft and its tool. After the last search it may make, the tool is withdrawn from it."""

    def __init__(self, request: DraftRequest, options: AgentOptions, server: ModelServer) -> None:
        self.evidence = {one.label: one for one in request.evidence}
        self._search_again = request.search_again
        self._left = 0 if options.tool_choice == "none" or request.search_again is None else MAX_SEARCHES
        self._calls: list[ToolCall] = []
        self._name = options.tool_name
        self._model = PatientModel(
            options.model,
            server,
            patience=options.patience,
            call_seconds=options.call_seconds,
            total_seconds=options.total_seconds,
        )
        self._agent: Agent[None] = Agent(
            name="drafter",
            instructions=prompts.instructions(
                request, system_prompt=options.system_prompt, tool_name=options.tool_name, may_search=self._left > 0
            ),
            model=self._model,
            tools=[self._tool()],
            reset_tool_choice=False,
            model_settings=ModelSettings(
                temperature=options.temperature,
                max_tokens=options.max_tokens,
                include_usage=True,
                extra_headers=server.headers,
                # OpenAI keeps what it is sent unless told not to; other servers need not know the field.
                store=False if server.is_openai else None,
                # `required` is met by the search that stands in the conversation already.
                tool_choice="auto" if self._left else "none",
            ),
        )

    def run(self, conversation: list[TResponseInputItem]) -> RunResultStreaming:
        config = RunConfig(
            tracing_disabled=True,
            trace_include_sensitive_data=False,
            tool_not_found_behavior="return_error_to_model",
            tool_execution=ToolExecutionConfig(max_function_tool_concurrency=1),
        )
        return Runner.run_streamed(self._agent, conversation, max_turns=MAX_CALLS, run_config=config)

    def new_calls(self) -> list[ToolCall]:
        """The searches made since this was last asked."""
        made, self._calls = self._calls, []
        return made

    def _tool(self) -> FunctionTool:
        return FunctionTool(
            name=self._name,
            description=prompts.TOOL_DESCRIPTION,
            params_json_schema=prompts.TOOL_PARAMETERS,
            on_invoke_tool=self._invoked,
            strict_json_schema=False,
        )

    async def _invoked(self, _: object, raw_arguments: str) -> str:
        arguments = read_arguments(raw_arguments)
        if self._search_again is None or not self._left:
            logger.warning("The model called %s though it was told not to", self._name)
            return prompts.tool_error("No further search is possible: answer from the results above.", arguments.query)
        self._left -= 1
        if not self._left:
            self._agent.model_settings = replace(self._agent.model_settings, tool_choice="none")
        if not arguments.query:
            return self._failed("The query must not be empty.", arguments.query)
        try:
            async with asyncio.timeout_at(self._model.deadline):
                found = await self._search_again(arguments.query, arguments.top_k, arguments.similarity_threshold)
        except BookError as error:
            return self._failed(str(error), arguments.query)
        except TimeoutError:
            return self._failed("The search took too long.", arguments.query)
        self.evidence |= {one.label: one for one in found}
        average = sum(one.relevance for one in found) / len(found) if found else 0.0
        self._record(arguments.query, len(found), average, None)
        return prompts.labelled_tool_response(found, arguments.query)

    def _failed(self, message: str, query: str) -> str:
        self._record(query, 0, 0.0, message)
        return prompts.tool_error(message, query)

    def _record(self, query: str, count: int, average: float, error: str | None) -> None:
        self._calls.append(ToolCall(tool_name=self._name, query=query, results_count=count, avg_similarity=average, error=error))


def _conversation(request: DraftRequest, options: AgentOptions) -> list[TResponseInputItem]:
    """The thread so far, the question as it was asked, and the program's search as if the model had called for it."""
    items: list[TResponseInputItem] = []
    for exchange in prompts.recent(request.history, options.history_tokens):
        items.append({"role": "user", "content": exchange.question})
        items.append({"role": "assistant", "content": exchange.answer})
    items.append({"role": "user", "content": request.asked})
    arguments = {"query": request.question, "top_k": min(MAX_TOP_K, max(1, len(request.evidence)))}
    items.append(
        {
            "type": "function_call",
            "call_id": FIRST_CALL_ID,
            "name": options.tool_name,
            "arguments": json.dumps(arguments, ensure_ascii=False),
        }
    )
    output = prompts.labelled_tool_response(request.evidence, request.question)
    items.append({"type": "function_call_output", "call_id": FIRST_CALL_ID, "output": output})
    return items
