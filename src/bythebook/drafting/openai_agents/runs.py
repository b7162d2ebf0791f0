"""Runs an agent: the model's settings, the events of a run, and the end of the run once nobody reads its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, cast

from agents import Agent, ModelSettings, RunConfig, Runner, ToolExecutionConfig
from agents.items import TResponseInputItem
from agents.result import RunResultStreaming
from agents.stream_events import StreamEvent

from bythebook.drafting.draft import Usage
from bythebook.drafting.openai_agents.answer_form import response_format
from bythebook.drafting.openai_agents.calls import RESPONSE_FORMAT, ModelServer
from bythebook.drafting.openai_agents.options import AgentOptions

Events = AsyncGenerator[StreamEvent, None]


def model_settings(
    options: AgentOptions,
    server: ModelServer,
    *,
    tool_choice: Literal["auto", "none"] | None = None,
    schema: tuple[str, dict[str, Any]] | None = None,
) -> ModelSettings:
    """The model's settings. `schema`: the name and the JSON schema of the output, where the server supports that."""
    return ModelSettings(
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        include_usage=True,
        extra_headers=server.headers,
        # OpenAI keeps what it is sent unless told not to; other servers need not know the field.
        store=False if server.is_openai else None,
        tool_choice=tool_choice,
        extra_body={RESPONSE_FORMAT: response_format(*schema)} if schema else None,
    )


@asynccontextmanager
async def running(
    agent: Agent[None], given: list[TResponseInputItem], *, max_calls: int
) -> AsyncIterator[tuple[RunResultStreaming, Events]]:
    """The events of a run. However this is left, the run has ended then."""
    config = RunConfig(
        tracing_disabled=True,
        trace_include_sensitive_data=False,
        tool_not_found_behavior="return_error_to_model",
        tool_execution=ToolExecutionConfig(max_function_tool_concurrency=1),
    )
    run = Runner.run_streamed(agent, given, max_turns=max_calls, run_config=config)
    events = cast(Events, run.stream_events())
    try:
        yield run, events
    finally:
        run.cancel()
        await events.aclose()
        if run.run_loop_task is not None:
            await asyncio.wait({run.run_loop_task})


def usage_of(run: RunResultStreaming) -> Usage | None:
    """The tokens that were used; None where the server does not count."""
    used = run.context_wrapper.usage
    return Usage(prompt_tokens=used.input_tokens, completion_tokens=used.output_tokens) if used.total_tokens else None
