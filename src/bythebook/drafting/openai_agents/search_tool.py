"""The agent of one draft: its instructions, and its one tool, which searches the book."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime

from agents import Agent, FunctionTool

from bythebook.drafting import prompts
from bythebook.drafting.draft import DraftRequest, ToolCall
from bythebook.drafting.openai_agents.answer_form import ANSWER_SCHEMA
from bythebook.drafting.openai_agents.calls import ModelServer, PatientModel
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.drafting.openai_agents.runs import model_settings
from bythebook.drafting.openai_agents.search_arguments import read_arguments
from bythebook.errors import BookError

logger = logging.getLogger(__name__)

MAX_SEARCHES = 3
MAX_CALLS = MAX_SEARCHES + 3
"""Model calls in one draft: one after each further search, the answer, and two for a server that ignores `tool_choice`."""


class SearchTool:
    """The agent of one draft and its tool. After the last search that it may make, the tool is taken away."""

    def __init__(self, request: DraftRequest, options: AgentOptions, server: ModelServer) -> None:
        self.evidence = {one.label: one for one in request.evidence}
        self._search_again = request.search_again
        possible = options.tool_choice != "none" and request.search_again is not None
        self._left = MAX_SEARCHES if possible else 0
        self._calls: list[ToolCall] = []
        self._name = options.tool_name
        self._model = PatientModel(
            options.model,
            server,
            patience=options.patience,
            call_seconds=options.call_seconds,
            total_seconds=options.total_seconds,
        )
        self.instructions = prompts.instructions(
            request,
            system_prompt=options.system_prompt,
            tool_name=options.tool_name,
            may_search=self._left > 0 and server.tools,
            structured=server.structured,
        )
        self.agent: Agent[None] = Agent(
            name="drafter",
            instructions=self.instructions,
            model=self._model,
            tools=[self._tool()] if server.tools else [],
            reset_tool_choice=False,
            # `required` is met by the search that stands in the conversation already.
            model_settings=model_settings(
                options,
                server,
                tool_choice=("auto" if self._left else "none") if server.tools else None,
                schema=("answer", ANSWER_SCHEMA) if server.structured else None,
            ),
        )

    @property
    def may_search(self) -> bool:
        return self._left > 0

    def new_calls(self) -> list[ToolCall]:
        """The searches made since the last call of this."""
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
        return await self.search(raw_arguments)

    async def search(self, raw_arguments: str) -> str:
        """The tool's output for these arguments."""
        arguments = read_arguments(raw_arguments)
        if self._search_again is None or not self._left:
            logger.warning("The model called %s though it was told not to", self._name)
            return prompts.tool_error("No further search is possible: answer from the results above.", arguments.query)
        self._left -= 1
        if not self._left:
            self.agent.model_settings = replace(self.agent.model_settings, tool_choice="none")
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
        self._calls.append(
            ToolCall(
                tool_name=self._name,
                query=query,
                results_count=count,
                avg_similarity=average,
                error=error,
                timestamp=datetime.now(UTC),
            )
        )
